"""The parts that pages are made of, as HTML.

Nothing is loaded from anywhere, and nothing runs but the script of a page that renews
itself: the policy in the head of a page forbids all else. All words go through `text`,
because labels and file names are the user's.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple, Protocol

from dssfn.report.table import Table

WHOLE = 20  # letters: a shorter cell stays on one line
DENSE = 8  # columns: more are set closer together
LONG = 12  # rows: a longer table may be divided between sheets of paper

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="{policy}">
{more}<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


_STILL = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_LIVE = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
)
_RELOAD = '<noscript><meta http-equiv="refresh" content="5"></noscript>\n'


@dataclass(frozen=True, slots=True)
class Live:
    """What a page that renews itself has beside others.

    Parameters
    ----------
    style : str
        Rules that follow those of all pages.
    script : str
        The only script that may run.
    """

    style: str
    script: str

    @property
    def policy(self) -> str:
        """The policy by which this style and this script are allowed, and no other."""
        return _LIVE.format(style=_digest(_style(self)), script=_digest(self.script))


def _digest(content: str) -> str:
    found = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(found).decode()}"


def _style(live: Live | None) -> str:
    shared = files("dssfn.report").joinpath("style.css").read_text(encoding="utf-8")
    return f"\n{shared}{live.style if live else ''}"


class Picture(Protocol):
    """The properties of a figure that the page needs."""

    @property
    def name(self) -> str:
        """The name of its place on the page."""

    @property
    def label(self) -> str:
        """A description of the figure, for those who do not see it."""

    @property
    def inline(self) -> str:
        """The figure as SVG."""

    @property
    def width(self) -> int:
        """The points at which its letters have their size."""

    @property
    def is_wide(self) -> bool:
        """Whether it gets a place of its own."""


Pictures = Mapping[str, Picture]


@dataclass(frozen=True, slots=True)
class Headline:
    """A number that matters: its name, its value, and a few words."""

    name: str
    value: str
    words: str


def whole_page(
    title: str,
    eyebrow: str,
    heading: str,
    lead: str,
    headlines: Sequence[Headline],
    sections: Sequence[str],
    version: str,
    warning: str = "",
    live: Live | None = None,
) -> str:
    """Return a page; empty sections are left out."""
    head = _HEAD.format(
        title=text(title),
        style=_style(live),
        policy=live.policy if live else _STILL,
        more=_RELOAD if live else "",
    )
    script = f"<script>{live.script}</script>" if live else ""
    alert = f'<p class="warning">{text(warning)}</p>\n' if warning else ""
    parts = [
        f'{head}<header>\n<p class="eyebrow">{text(eyebrow)}</p>\n'
        f'<h1>{text(heading)}</h1>\n<p class="lead">{text(lead)}</p>\n{alert}</header>',
        _tiles(headlines),
        "<main>",
        *sections,
        "</main>",
        f"<footer>Made by dssfn {text(version)}</footer>",
        script,
    ]
    return "\n".join(part for part in parts if part) + "\n</body>\n</html>\n"


def text(words: object) -> str:
    """Return words as HTML."""
    return html.escape(str(words), quote=True)


def _tiles(headlines: Sequence[Headline]) -> str:
    tiles = "\n".join(
        f'<div><dt>{text(one.name)}</dt><dd class="value{_kind(i, one.value)}">'
        f'{text(one.value)}</dd><dd class="words">{text(one.words)}</dd></div>'
        for i, one in enumerate(headlines)
    )
    if not tiles:
        return ""
    return f'<dl class="headlines of-{len(headlines)}">\n{tiles}\n</dl>'


def _kind(place: int, value: str) -> str:
    return " main" * (not place) + " wordy" * value[:1].isalpha()


class Card(NamedTuple):
    """One part of a section."""

    tag: str
    inner: str
    is_wide: bool = False
    is_long: bool = False
    name: str = ""
    is_beside: bool = False  # a figure alone in its section: words to its left

    def html(self) -> str:
        """Return the part as HTML."""
        kinds = "card" + " wide" * self.is_wide + " long" * self.is_long
        kinds += " beside" * self.is_beside
        place = f' id="{self.name}"' if self.name else ""
        return f'<{self.tag} class="{kinds}"{place}>\n{self.inner}\n</{self.tag}>'


def section(title: str, about: str | Sequence[str], *cards: Card | None) -> str:
    """Return paragraphs and cards in two columns; nothing if there are no cards."""
    shown = [card for card in cards if card]
    if not shown:
        return ""
    kind, shown = _arranged(shown)
    inner = "\n".join(card.html() for card in shown)
    about = [about] if isinstance(about, str) else about
    words = "\n".join(f'<p class="about">{text(part)}</p>' for part in about)
    return (
        f"<section>\n<h2>{text(title)}</h2>\n{words}\n"
        f'<div class="{kind}">\n{inner}\n</div>\n</section>'
    )


def _arranged(cards: Sequence[Card]) -> tuple[str, list[Card]]:
    """Return how cards are put into two columns, and the cards in their order.

    Figures stand in pairs, side by side. Tables, and what cannot be paired, fill one
    column after the other, so that no card is stretched. What is wide comes last,
    unless it is given first.
    """
    start = next((k for k, card in enumerate(cards) if not card.is_wide), len(cards))
    first, others = [*cards[:start]], sorted(cards[start:], key=lambda c: c.is_wide)
    narrow = [card for card in others if not card.is_wide]
    n_figures = sum(card.tag == "figure" for card in narrow)
    if n_figures == len(narrow) and n_figures % 2:
        last = others.index(narrow[-1])
        others[last] = others[last]._replace(is_wide=True, is_beside=True)
    in_pairs = len(narrow) == 1 or (n_figures and (len(narrow) % 2 == 0))
    in_pairs = in_pairs or n_figures == len(narrow)
    return "rows" if in_pairs else "columns", first + others


def figure(pictures: Pictures, name: str, title: str, note: str) -> Card | None:
    """Return a figure with its caption, if it was drawn."""
    picture = pictures.get(name)
    if picture is None:
        return None
    svg = picture.inline.replace(
        "<svg ", f'<svg role="img" aria-label="{text(picture.label)}" ', 1
    )
    if picture.is_wide:
        svg = svg.replace("<svg ", f'<svg style="min-width:{picture.width}px" ', 1)
        svg = scrolled(svg, title)
    caption = f'<h3>{text(title)}</h3><p class="note">{text(note)}</p>'
    inner = f"<figcaption>{caption}</figcaption>\n{svg}"
    return Card("figure", inner, picture.is_wide, name=name)


def scrolled(inner: str, label: str) -> str:
    """Return what may be wider than a phone, to be moved under its edges."""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}">'
        f"\n{inner}\n</div>"
    )


def table_card(table: Table | None, *, is_wide: bool = False) -> Card | None:
    """Return a table in a card, if there is one."""
    if table is None:
        return None
    head = _cells(table, 'th scope="col"', table.head, 0)
    rows = "\n".join(
        f'<tr><th scope="row">{text(row[0])}</th>{_cells(table, "td", row[1:], 1)}</tr>'
        for row in table.rows
    )
    kind = "pairs" if len(table.head) == 2 else "many"
    kind += " dense" * (len(table.head) > DENSE)
    inner = (
        f'<table class="{kind}">\n<caption>{text(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    inner = scrolled(inner, table.caption) if len(table.head) > 2 else inner
    inner += f'\n<p class="below">{text(table.note)}</p>' if table.note else ""
    return Card("div", inner, is_wide, len(table.rows) > LONG)


def _cells(table: Table, tag: str, words: Sequence[str], first: int) -> str:
    """Return the cells of a row from the column `first` on; numbers go to the right."""
    end, cells = tag.split()[0], []
    for column, word in enumerate(words, start=first):
        is_number = column >= table.numeric_from and end == "td" and len(table.head) > 2
        whole = len(word) <= WHOLE or is_number
        kinds = "n" * (column >= table.numeric_from) + " whole" * whole
        cells.append(f'<{tag} class="{kinds.strip()}">{text(word)}</{end}>')
    return "".join(cells)
