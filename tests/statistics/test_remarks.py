"""What a node is told of its own rows beside all others."""

from __future__ import annotations

import pytest

from dssfn.statistics.figures import Column, Figures, Level
from dssfn.statistics.remarks import remarks


def number(mean=10.0, deviation=2.0, there=100, missing=0):
    return Column(
        name="x", kind="number", there=there, missing=missing, mean=mean,
        deviation=deviation,
    )  # fmt: skip


def category(*counts, missing=0, other=None):
    levels = tuple(
        Level(name=name, count=n) for name, n in zip("abc", counts, strict=False)
    )
    return Column(
        name="x", kind="category", levels=levels, missing=missing, other=other
    )


TARGET = Column(
    name="y", kind="class", levels=(Level(name="n", count=5), Level(name="y", count=5))
)


def said(here, everybody, n=100, n_all=1000):
    found = remarks(
        Figures(rows=n, columns=(here,), target=TARGET),
        Figures(rows=n_all, columns=(everybody,), target=TARGET),
    )
    return [one.text for one in found if one.column == "x"]


@pytest.mark.parametrize(
    ("here", "everybody", "words"),
    [
        (number(11.0), number(there=1000), []),
        (number(11.1), number(there=1000), ["0.5 deviations above"]),
        (number(4.0), number(there=1000), ["3.0 deviations below"]),
        (number(10.0, 0.0), number(there=1000), ["have the same one here"]),
        (number(4.0), number(None, None, "fewer than 5", "not shown"), []),
        (
            number(None, None, 0, 100),
            number(there=900, missing=100),
            ["no row has a value here", "100 % of the values are missing here"],
        ),
        (number(missing=29, there=71), number(missing=100, there=900), []),
        (
            number(missing=31, there=69),
            number(missing=100, there=900),
            ["31 % of the values are missing here, 10 % at all nodes together"],
        ),
        (
            number(missing=0),
            number(missing=300, there=700),
            ["0 % of the values are missing here, 30 % at all nodes together"],
        ),
        (category(50, 50, 0), category(500, 500, 0), []),
        (category(50, 50, 0), category(500, 400, 100), ["but not here: `c`"]),
        (category(50, 50, 0), category(500, "not shown", "fewer than 5"), [
            "but not here: `c`"
        ]),
        (category(50, 50, 0), category(500, "fewer than 5", "not shown"), []),
        (category(40, 40, 20), category(500, 480, 20), ["only here: `c`"]),
        (category(48, 48, 4), category(500, 496, "fewer than 5"), []),
        (
            category(0, 100, 0),
            category(500, 500, 0),
            ["all rows that have a value have `b` here", "but not here: `a`"],
        ),
        (category(0, 90, 0, other=10), category(0, 900, 0, other=100), []),
    ],
)  # fmt: skip
def test_what_stands_out(here, everybody, words):
    found = said(here, everybody)
    assert len(found) == len(words), found
    for text, some in zip(found, words, strict=True):
        assert some in text
