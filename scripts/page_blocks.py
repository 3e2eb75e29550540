"""Pages of the documentation: their code blocks, headings, links, and what they need.

A page under docs/tutorials/ is a session: its blocks run one after the other, and a
block of text directly after a block of code is what that code prints. Other pages opt
in with the comment that also says what a session needs:

    <!-- session: needs grpc, matplotlib, data/heart; ports 7400-7403, 9401 -->

A block that begins with ```python not-run (or ```shell not-run) is shown only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
COMMENT = re.compile(r"<!-- session(?:: (.*?))? -->")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")  # not https:
RUN = ("python", "shell")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, other words of its first line, code, and place."""

    language: str
    words: tuple[str, ...]
    code: str
    first: int  # number of the line with the opening fence, from 1
    last: int  # that of the closing one


@dataclass(frozen=True)
class Step:
    """A block that runs, and the block of what it prints, if the page has one."""

    run: Block
    shown: Block | None


def every_page() -> list[Path]:
    """Return README and all pages of docs that are written by hand."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(page for page in pages if not is_generated(page))]


def is_generated(path: Path) -> bool:
    """Whether a file is made by the build of the site, in a folder that Git ignores."""
    lines = read(ROOT / ".gitignore").splitlines()
    made = [ROOT / line.strip("/") for line in lines if line.startswith("/docs/")]
    return any(folder in path.parents for folder in made)


def is_session(page: Path) -> bool:
    """Whether the blocks of a page run as one session."""
    return TUTORIALS in page.parents or bool(COMMENT.search(read(page)))


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found: list[Block] = []
    lines = text.splitlines()
    opened = 0
    for number, line in enumerate(lines, start=1):
        if not opened and line.startswith("```"):
            opened = number
        elif opened and line == "```":
            language, *words = lines[opened - 1].strip("` ").split() or [""]
            code = "\n".join(lines[opened : number - 1])
            found.append(Block(language, tuple(words), code, opened, number))
            opened = 0
    return found


def steps_of(text: str) -> list[Step]:
    """Return what runs in a session, in order, each with what it prints."""
    lines, blocks = text.splitlines(), blocks_of(text)
    steps = []
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.language not in RUN or "not-run" in block.words:
            continue
        between = lines[block.last : after.first - 1] if after else ["the end"]
        directly = after and after.language == "text" and not any(between)
        steps.append(Step(block, after if directly else None))
    return steps


def needs_of(text: str) -> list[str]:
    """Return the modules, and files of the data folder, that a session needs."""
    return _said(text, "needs")


def ports_of(text: str) -> list[int]:
    """Return the ports that a page names, for which a session takes free ones."""
    ports: list[int] = []
    for given in _said(text, "ports"):
        low, _, high = given.partition("-")
        ports += range(int(low), int(high or low) + 1)
    return ports


def _said(text: str, what: str) -> list[str]:
    comment = COMMENT.search(text)
    parts = comment[1].split(";") if comment and comment[1] else []
    for word, *rest in (part.split(maxsplit=1) for part in parts):
        if word == what:
            return [one.strip() for one in rest[0].split(",")]
    return []


def anchors_of(text: str) -> set[str]:
    """Return the anchors of a page's headings, as Git hosts name them.

    >>> sorted(anchors_of("# What's new\\n\\n## `dssfn` and R²\\n\\n## What's new\\n"))
    ['dssfn-and-r²', 'whats-new', 'whats-new-1']
    """
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.*?)(?: +#+)?$", FENCE.sub("", text), re.M):
        plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)  # links by their text
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        if seen[slug]:
            seen[f"{slug}-{seen[slug]}"] = 0
    return set(seen)


def links_of(text: str) -> list[tuple[str, str]]:
    """Return the links within the project: a path, or none for the page, and an anchor.

    >>> links_of("[a](b.md#c), [here](#d), [out](https://example.org)")
    [('b.md', 'c'), ('', 'd')]
    """
    return LINK.findall(FENCE.sub("", text))
