"""Pages of the repository as pages of the site, and links between both.

How this works. Some pages stand at the top of the repository, where people look for
them: the changelog, the security page and others. They are copied to `docs/project/`
before the site is built. Links are written as they must be for a reader of the
repository, as in `../SECURITY.md` or `../src/dssfn/ball.py`. While the site is built,
those to pages lead to pages of the site; a path that is no page is shown as such.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import relpath

from generated import write_page
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COPIED = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "examples/four_hospitals/README.md": "project/four-hospitals.md",
}
"""Files of the repository, and the pages of the site that show them."""

_ELSEWHERE = {"README.md": "index.md", "LICENSE": "project/licence.md"}
_LINK = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`)"  # has no links, whatever it looks like
    r"|(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def site_text(text: str, *, source: Path, page: str) -> str:
    """Return a page with its links as they are on the site.

    Parameters
    ----------
    text : str
        The page in Markdown.
    source : Path
        The file in the repository that its links are relative to.
    page : str
        Where it is on the site, relative to `docs`.
    """

    def linked(match: re.Match[str]) -> str:
        if match["code"]:
            return match.group()
        _, bang, words, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or ":" in path:
            return match.group()
        found = (source.parent / path).resolve()
        place = _page_of(found)
        if place is None:
            return words if words.startswith("`") else f"{words} (`{_name(found)}`)"
        where = relpath(place, str(Path(page).parent))
        if anchor and _name(found) not in _ELSEWHERE:  # those have other headings
            where += f"#{anchor}"
        return f"{bang}[{words}]({where})"

    return _LINK.sub(linked, text)


def _page_of(found: Path) -> str | None:
    """Return where a file of the repository is on the site, if it is there."""
    name = _name(found)
    if name in COPIED or name in _ELSEWHERE:
        return {**COPIED, **_ELSEWHERE}[name]
    return relpath(name, "docs") if name.startswith("docs/") else None


def _name(found: Path) -> str:
    return found.relative_to(ROOT).as_posix() if found.is_relative_to(ROOT) else ""


def _copy(app: Sphinx) -> None:
    (DOCS / "project").mkdir(exist_ok=True)
    for name, page in COPIED.items():
        source = ROOT / name
        text = site_text(source.read_text(encoding="utf-8"), source=source, page=page)
        write_page(DOCS / page, text)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    write_page(DOCS / _ELSEWHERE["LICENSE"], f"# Licence\n\n```text\n{licence}```\n")


def _relink(app: Sphinx, docname: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md" and not docname.startswith(("project/", "reference/dssfn")):
        source[0] = site_text(source[0], source=path, page=f"{docname}.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy pages before the site is built, and change links while it is read."""
    app.connect("builder-inited", _copy)
    app.connect("source-read", _relink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
