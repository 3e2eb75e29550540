"""A chapter of a model card, as Markdown and as HTML.

Words and tables are the same in both. All of them are escaped: names of columns,
levels, classes and nodes are the user's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dssfn.report.html import Card, section, table_card, text, whole_page
from dssfn.report.table import Table

TO_FILL_IN = "To be filled in"
TITLE = "Model card"

# What begins or ends something in Markdown, or in the HTML that it may hold.
_MARKS = re.compile(r"([\\`*_\[\]<>|&~$#])")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of a model card.

    Parameters
    ----------
    title : str
        Its heading.
    words : sequence of str
        Paragraphs.
    tables : sequence of Table
        What follows them.
    question : str
        What somebody has to answer who knows what the model is for; a chapter that has
        one is marked as not yet filled in.
    """

    title: str
    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    question: str = ""


def escaped(words: str) -> str:
    """Return words that Markdown shows as they are.

    >>> print(escaped("a|b <i>_x_"))
    a\\|b \\<i\\>\\_x\\_
    """
    return _MARKS.sub(r"\\\1", words)


def to_markdown(lead: str, chapters: Sequence[Chapter]) -> str:
    """Return a card as Markdown."""
    parts = [f"# {TITLE}\n", f"{escaped(lead)}\n"]
    for chapter in chapters:
        parts.append(f"## {escaped(chapter.title)}\n")
        parts += [f"{escaped(words)}\n" for words in chapter.words]
        if chapter.question:
            parts.append(f"> **{TO_FILL_IN}:** {escaped(chapter.question)}\n")
        parts += [_escaped_table(table).markdown() for table in chapter.tables]
    return "\n".join(parts)


def _escaped_table(table: Table) -> Table:
    return replace(
        table,
        caption=escaped(table.caption),
        head=[escaped(word) for word in table.head],
        rows=[[escaped(word) for word in row] for row in table.rows],
        note=escaped(table.note),
    )


def to_html(lead: str, chapters: Sequence[Chapter], version: str) -> str:
    """Return a card as a page of its own."""
    return whole_page(
        title=TITLE,
        eyebrow="dssfn · model card",
        heading=TITLE,
        lead=lead,
        headlines=[],
        sections=[_section(chapter) for chapter in chapters],
        version=version,
    )


def _section(chapter: Chapter) -> str:
    cards = [table_card(one, is_wide=len(one.head) > 2) for one in chapter.tables]
    if chapter.question:
        words = f"<p><strong>{TO_FILL_IN}:</strong> {text(chapter.question)}</p>"
        cards.insert(0, Card("div", words, is_wide=True))
    if cards:
        return section(chapter.title, chapter.words, *cards)
    words = "\n".join(f"<p>{text(one)}</p>" for one in chapter.words)
    return section(chapter.title, [], Card("div", words, is_wide=True))
