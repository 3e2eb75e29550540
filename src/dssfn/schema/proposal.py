"""What a column seems to be, from what was seen of it in one file.

Nothing here is decided for anybody: a proposal is a text that people read and change.
It holds no value of the file but levels of categories and classes, and of the levels
only those that enough rows have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dssfn.schema.columns import Column
from dssfn.schema.values import level_order

FEW_VALUES = 10  # whole numbers with so few values may be codes of a category
MOST_LEVELS_PROPOSED = 50  # of text
FEWEST_ROWS = 5  # of a level that is shown
_ID = re.compile(r"(^|[\W_])(id|uuid|guid|nr|no|number|key|name|index)($|[\W_])", re.I)


@dataclass(slots=True)
class Seen:
    """What was seen of one column.

    Parameters
    ----------
    name : str
        Its name.
    kinds : set of str
        What its values are: "whole", "number", "boolean", "text", "date" or "odd".
    n_rows, n_missing : int
        How many rows there are, and how many of them have no value.
    counts : dict, optional
        The values and how many rows have each; None if they are too many to count.
    n_repeated : int
        How many rows have a value that another row near them has.
    missing_words : set of str
        Words that may say that there is no value, such as "NA".
    """

    name: str
    kinds: set[str] = field(default_factory=set)
    n_rows: int = 0
    n_missing: int = 0
    counts: dict[str, int] | None = field(default_factory=dict)
    n_repeated: int = 0
    missing_words: set[str] = field(default_factory=set)

    @property
    def n_values(self) -> int:
        """How many rows have a value."""
        return self.n_rows - self.n_missing

    @property
    def is_constant(self) -> bool:
        """Whether all rows that have a value have the same."""
        return self.counts is not None and len(self.counts) == 1

    @property
    def are_all_different(self) -> bool:
        """Whether no two rows have the same value, and there are some rows."""
        return self.n_values > FEW_VALUES and self.n_repeated == 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed column, and what was seen."""

    column: Column
    remarks: tuple[str, ...]


def propose(seen: Seen) -> Proposal:
    """Return what a column seems to be, and why.

    Examples
    --------
    >>> seen = Seen("sex", {"text"}, 20, 1, {"f": 10, "m": 9}, 18)
    >>> propose(seen).column.levels, propose(seen).remarks
    (('f', 'm'), ('5 % are missing', 'text with 2 values'))
    """
    settings, why = _kind(seen)
    if seen.is_constant and settings["kind"] != "ignore":
        why += "; it is constant here"
    missing = bool(seen.n_missing) and settings["kind"] != "ignore"
    column = Column(name=seen.name, missing=missing, **settings)
    return Proposal(column, (*gaps(seen), why))


def gaps(seen: Seen) -> tuple[str, ...]:
    """Return what is missing in a column, and what may say so in words.

    >>> for remark in gaps(
    ...     Seen("outcome", {"text"}, 20, 1, {"yes": 10, "NA": 9}, 18, {"NA"})
    ... ):
    ...     print(remark)
    5 % are missing
    there is "NA": if it stands for a missing value, leave these fields empty
    """
    remarks = []
    if seen.n_missing:
        remarks.append(_share(seen.n_missing, seen.n_rows))
    if seen.missing_words:
        words = " and ".join(f'"{one}"' for one in sorted(seen.missing_words))
        remarks.append(
            f"there is {words}: if it stands for a missing value, leave these fields "
            "empty"
        )
    return tuple(remarks)


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    shown = "under 1" if percent < 1 else "over 99" if 99 < percent < 100 else None
    return f"{shown or round(percent)} % are missing"


def _kind(seen: Seen) -> tuple[dict[str, Any], str]:
    """Return the settings of a column, and the reason."""
    kinds = seen.kinds
    if not kinds:
        return {"kind": "ignore"}, "there are no values here"
    if kinds == {"date"}:
        return {"kind": "ignore"}, "dates: convert them to numbers if they matter"
    if kinds - {"whole", "number", "boolean", "text"}:
        return {"kind": "ignore"}, "values that are neither numbers nor text"
    if kinds == {"boolean"}:
        return {"kind": "boolean"}, "true and false"
    if kinds <= {"whole", "number"}:
        return _of_numbers(seen)
    if seen.are_all_different:
        return {"kind": "ignore"}, "text, different in every row, like an id"
    if seen.counts is None or len(seen.counts) > MOST_LEVELS_PROPOSED:
        return {"kind": "ignore"}, "text with many values"
    mixed = "text and numbers" if kinds & {"whole", "number"} else "text"
    return _of_levels(seen.counts, f"{mixed} with {_values(seen.counts)}")


def _of_numbers(seen: Seen) -> tuple[dict[str, Any], str]:
    counts = seen.counts
    if seen.kinds == {"whole"}:
        if seen.are_all_different and _ID.search(seen.name):
            why = "whole numbers, different in every row, and named like an id"
            return {"kind": "ignore"}, why
        if counts is not None and set(counts) == {"0", "1"}:
            return {"kind": "boolean"}, "0 and 1"
        if counts is not None and len(counts) <= FEW_VALUES:
            why = (
                f"whole numbers with {_values(counts)}: if it is a measurement, use "
                "kind number"
            )
            return _of_levels(counts, why)
        return {"kind": "number"}, "whole numbers"
    return {"kind": "number"}, "numbers"


def _values(counts: Mapping[str, int]) -> str:
    return f"{len(counts)} value{'s' if len(counts) > 1 else ''}"


def _of_levels(counts: Mapping[str, int], why: str) -> tuple[dict[str, Any], str]:
    """Return a category, without the levels that only a few rows have."""
    shown = [text for text, count in counts.items() if count >= FEWEST_ROWS]
    rare = len(counts) - len(shown)
    if rare:
        why += f"; {rare} of them in fewer than {FEWEST_ROWS} rows, not shown"
    levels = tuple(sorted(shown, key=level_order))
    return {"kind": "category", "levels": levels, "other": rare > 0}, why
