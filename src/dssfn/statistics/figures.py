"""Figures of tables, as they are shown: what `statistics.json` holds.

A count that is not shown is a few words instead of a number, and a mean or a deviation
is left out.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeAlias

import msgspec

from dssfn._atomic import write_atomically
from dssfn.json_text import to_json

STATISTICS_FILE = "statistics.json"

Count: TypeAlias = int | str
"""A number of rows, or the words in the place of one that is not shown."""

NOT_SHOWN = "not shown"  # of any number of rows


def fewer_than(least: int) -> str:
    """Return the words in the place of a small count, which is not zero."""
    return f"fewer than {least}"


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A part of `statistics.json`; what does not apply is left out."""


class Level(_Part, frozen=True, kw_only=True):
    """A level of a category, true or false, or a class, and the rows that have it."""

    name: str
    count: Count


class Column(_Part, frozen=True, kw_only=True):
    """The figures of one column.

    Parameters
    ----------
    name, kind, unit : str
        As in the schema; the kind of a target may be `class`.
    there : int or str, optional
        How many rows have a number, if it is a column of numbers.
    levels : tuple of Level
        How many rows have each level of anything else.
    other : int or str, optional
        How many rows have another value, if the schema allows it.
    missing : int or str
        How many rows have none.
    mean, deviation : float, optional
        Of the numbers that are there: their mean, and the root of the mean square of
        what they differ from it.
    """

    name: str
    kind: str
    unit: str = ""
    there: Count | None = None
    levels: tuple[Level, ...] = ()
    other: Count | None = None
    missing: Count = 0
    mean: float | None = None
    deviation: float | None = None


class Figures(_Part, frozen=True, kw_only=True):
    """The figures of some rows: how many they are, their columns and their target."""

    rows: Count
    columns: tuple[Column, ...]
    target: Column


class Agreed(_Part, frozen=True, kw_only=True):
    """All that nodes have agreed on, the same to the last byte at each of them.

    Parameters
    ----------
    plan : str
        The fingerprint of their plan.
    nodes : tuple of str
        Their names.
    min_cell : int
        The smallest count but zero that is shown.
    all : Figures
        The figures of all rows of all nodes.
    sites : tuple of Figures
        Those of every node, if the plan publishes them.
    """

    plan: str
    nodes: tuple[str, ...]
    min_cell: int
    all: Figures
    sites: tuple[Figures, ...] = ()

    @property
    def sha256(self) -> str:
        """A digest of it, by which people compare what they have."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


class Remark(_Part, frozen=True, kw_only=True):
    """What is different here in a column."""

    column: str
    text: str


class Statistics(_Part, frozen=True, kw_only=True):
    """What all nodes hold, what this one holds, and what is different here.

    Parameters
    ----------
    node : str
        The name of this node.
    sha256 : str
        The digest of what is agreed.
    agreed : Agreed
        What all nodes have alike.
    here : Figures
        This node's own figures, which nobody else knows.
    stands_out : tuple of Remark
        What is different here.
    made_by : dict
        Versions, as in `result.json`.
    """

    node: str
    sha256: str
    agreed: Agreed
    here: Figures
    stands_out: tuple[Remark, ...]
    made_by: dict[str, str]


def write_statistics(statistics: Statistics, folder: Path) -> None:
    """Write `statistics.json` into a folder, for its owner alone."""
    content = to_json(msgspec.to_builtins(statistics)).encode()
    write_atomically(folder / STATISTICS_FILE, content, private=True)
