"""The page: tables and finished figures, put together as one HTML file.

Nothing is loaded from anywhere, and nothing runs: the policy in its head forbids both.
All words go through `_text`, because labels and file names are the user's.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple, Protocol

from dssfn.report import tables
from dssfn.report.tables import Table
from dssfn.report.words import clean, count, plural

Result = Mapping[str, Any]
WHOLE = 18  # letters: a shorter cell stays on one line
LONG = 12  # rows: a longer table may be divided between sheets of paper

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""


class Picture(Protocol):
    """What the page needs of a figure."""

    @property
    def name(self) -> str:
        """Its place on the page."""

    @property
    def label(self) -> str:
        """What it shows, for those who do not see it."""

    @property
    def inline(self) -> str:
        """Its SVG."""

    @property
    def width(self) -> int:
        """Points at which its letters have their size."""

    @property
    def is_wide(self) -> bool:
        """Whether it gets a place of its own."""


Pictures = Mapping[str, Picture]


def make_page(result: Result, pictures: Pictures) -> str:
    """The report of one training.

    Parameters
    ----------
    result : mapping
        As in `result.json`. Sections whose figures are missing are left out.
    pictures : mapping
        Figures by name.
    """
    style = files("dssfn.report").joinpath("style.css").read_text(encoding="utf-8")
    name = clean(result["data"], 80)
    head = _HEAD.format(title=_text(f"{name}: training report"), style=style)
    sections = (_network, _learning, _predictions, _traffic, _equivalence, _record)
    body = [_top(result, name), "<main>"]
    body += [section(result, pictures) for section in sections]
    version = (result.get("made_by") or {}).get("dssfn", "")
    body += ["</main>", f"<footer>Made by dssfn {_text(version)}</footer>"]
    return head + "\n".join(part for part in body if part) + "\n</body>\n</html>\n"


def _text(words: object) -> str:
    return html.escape(str(words), quote=True)


def _top(result: Result, name: str) -> str:
    lead = tables.lead(result)
    tiles = "\n".join(
        f'<div><dt>{_text(one.name)}</dt><dd class="value{_kind(i, one.value)}">'
        f'{_text(one.value)}</dd><dd class="words">{_text(one.words)}</dd></div>'
        for i, one in enumerate(tables.headlines(result))
    )
    return (
        f'<header>\n<p class="eyebrow">dssfn · training report</p>\n'
        f'<h1>{_text(name)}</h1>\n<p class="lead">{_text(lead)}</p>\n</header>\n'
        f'<dl class="headlines">\n{tiles}\n</dl>'
    )


def _kind(place: int, value: str) -> str:
    return " main" * (not place) + " wordy" * value[:1].isalpha()


class Card(NamedTuple):
    """One part of a section."""

    tag: str
    inner: str
    is_wide: bool = False
    more: str = ""

    def html(self) -> str:
        """The part as HTML."""
        kinds = "card" + " wide" * self.is_wide
        return f'<{self.tag} class="{kinds}{self.more}>\n{self.inner}\n</{self.tag}>'


def _section(title: str, about: str, *cards: Card | None) -> str:
    """A section of two columns without holes, unless it would be empty."""
    shown = [card for card in cards if card]
    if not shown:
        return ""
    narrow = [place for place, card in enumerate(shown) if not card.is_wide]
    if len(narrow) % 2:
        shown[narrow[-1]] = shown[narrow[-1]]._replace(is_wide=True)
    shown.sort(key=lambda card: card.is_wide)
    inner = "\n".join(card.html() for card in shown)
    return (
        f'<section>\n<h2>{_text(title)}</h2>\n<p class="about">{_text(about)}</p>\n'
        f'<div class="grid">\n{inner}\n</div>\n</section>'
    )


def _figure(pictures: Pictures, name: str, title: str, note: str) -> Card | None:
    """A figure with its caption, if it was drawn."""
    picture = pictures.get(name)
    if picture is None:
        return None
    svg = picture.inline.replace(
        "<svg ", f'<svg role="img" aria-label="{_text(picture.label)}" ', 1
    )
    if picture.is_wide:
        svg = svg.replace("<svg ", f'<svg style="min-width:{picture.width}px" ', 1)
        svg = _scrolled(svg, title)
    caption = f'<h3>{_text(title)}</h3><p class="note">{_text(note)}</p>'
    inner = f"<figcaption>{caption}</figcaption>\n{svg}"
    return Card("figure", inner, picture.is_wide, f'" id="{name}"')


def _scrolled(inner: str, label: str) -> str:
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(label)}">'
        f"\n{inner}\n</div>"
    )


def _table(table: Table | None, *, is_wide: bool = False) -> Card | None:
    """A table in a card, if there is one."""
    if table is None:
        return None
    head = _cells(table, 'th scope="col"', table.head, 0)
    rows = "\n".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        f"{_cells(table, 'td', row[1:], 1)}</tr>"
        for row in table.rows
    )
    kind = "pairs" if len(table.head) == 2 else "many"
    inner = (
        f'<table class="{kind}">\n<caption>{_text(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    inner = _scrolled(inner, table.caption) if len(table.head) > 2 else inner
    return Card("div", inner, is_wide, " long" * (len(table.rows) > LONG) + '"')


def _cells(table: Table, tag: str, words: Sequence[str], first: int) -> str:
    """Cells of a row, from the column `first` on; numbers go to the right."""
    end, cells = tag.split()[0], []
    for column, word in enumerate(words, start=first):
        kinds = "n" * (column >= table.numeric_from) + " whole" * (len(word) <= WHOLE)
        cells.append(f'<{tag} class="{kinds.strip()}">{_text(word)}</{end}>')
    return "".join(cells)


def _network(result: Result, pictures: Pictures) -> str:
    to = tables.accuracy_of_averages(result)
    return _section(
        "The network",
        "Who talks to whom, who held what, and what one average over the graph takes.",
        _figure(pictures, "graph", "Nodes and links", "Messages go along links only."),
        _figure(
            pictures,
            "held",
            "Who held what",
            "Training samples of every class on every node.",
        ),
        _figure(
            pictures,
            "averaging",
            "Ways to average",
            f"Rounds of one average over this graph{to}, by scheme.",
        ),
        _table(tables.graph_table(result)),
    )


def _learning(result: Result, pictures: Pictures) -> str:
    return _section(
        "Learning",
        "Layers are learned one after the other, each as a convex problem that all "
        "nodes solve together. What a network of every depth would reach:",
        _figure(
            pictures,
            "cost",
            "Cost",
            "Squared error over all training samples; logarithmic scale.",
        ),
        _figure(
            pictures,
            "accuracy",
            "Accuracy",
            "Share of samples whose class is found after each layer.",
        ),
        _table(tables.layers_table(result), is_wide=True),
    )


def _predictions(result: Result, pictures: Pictures) -> str:
    if not result.get("confusion"):
        return ""
    wrong = tables.confusions_table(result)
    about = f"On {plural(result['n_test'], 'test sample')} that no node was trained on."
    if wrong is None:
        about += " All of them were predicted right."
    elif "confusion" not in pictures:
        n_classes = count(len(result["settings"]["classes"]))
        about += f" A matrix of {n_classes} classes would be too large to read."
    return _section(
        "Predictions",
        about,
        _figure(
            pictures,
            "confusion",
            "Confusion matrix",
            "Blue is right, orange is wrong; the stronger, the larger its share of the "
            "row.",
        ),
        _table(wrong),
        None if "confusion" in pictures else _table(tables.classes_table(result)),
    )


def _traffic(result: Result, pictures: Pictures) -> str:
    return _section(
        "Traffic",
        "Payload over all links in both directions. What nodes agree on before the "
        "first layer, such as the scale of the inputs, is the bar called start.",
        _figure(pictures, "traffic", "Sent", "Bytes over all links, layer by layer."),
        _table(tables.traffic_table(result)),
    )


def _equivalence(result: Result, pictures: Pictures) -> str:
    about = "How far the nodes' models are from each other"
    if result["equivalence"].get("central_difference") is None:
        about += ". The training was not compared with one machine."
    else:
        about += (
            ", and from the model that one machine holding all the data finds with the "
            "same settings."
        )
    return _section(
        "Equivalence",
        about,
        _figure(
            pictures,
            "equivalence",
            "Differences",
            "Relative to the size of what is compared; logarithmic scale.",
        ),
        _table(tables.equivalence_table(result)),
    )


def _record(result: Result, pictures: Pictures) -> str:
    return _section(
        "Settings and versions",
        "What was agreed on, and on what it ran. All of it is in result.json.",
        *map(_table, tables.settings_tables(result)),
        _table(tables.versions_table(result)),
    )
