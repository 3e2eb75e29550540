"""A schema proposed from a table: what its columns seem to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dssfn._typing import Label
from dssfn.datasets.column_survey import check_numbers, survey_columns
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError
from dssfn.hints import listing
from dssfn.schema import Schema, Target
from dssfn.schema.proposal import FEWEST_ROWS, Seen, gaps, propose
from dssfn.schema.values import is_number as is_number_text
from dssfn.schema.values import level_order

MOST_CLASSES_PROPOSED = 100
NUMBERS = {"whole", "number"}  # kinds of values


@dataclass(frozen=True, slots=True)
class ProposedSchema:
    """What a table seems to hold.

    Parameters
    ----------
    schema : Schema
        Its columns and its target.
    remarks : dict
        What was seen of every column, for people.
    dialect : str
        How the table is written.
    """

    schema: Schema
    remarks: dict[str, tuple[str, ...]]
    dialect: str


def propose_schema(
    path: str | Path,
    target: str | None = None,
    groups: Mapping[str, tuple[Label, ...]] = MappingProxyType({}),
    *,
    is_number: bool = False,
    options: ReadOptions = ALL,
) -> ProposedSchema:
    """Return the schema that a table seems to have, and what was seen of its columns.

    Parameters
    ----------
    path : str or Path
        The table.
    target : str, optional
        The column that is to be predicted.
    groups : mapping
        The values of every class, if classes are groups of values.
    is_number : bool
        Whether the target is a number.
    options : ReadOptions
        How the table is written, and which columns beside the target it is about.
    """
    path = Path(path)
    survey = survey_columns(path, target, options=options)
    seen = {one.name: one for one in survey.columns}
    proposals = {name: propose(one) for name, one in seen.items() if name != target}
    columns = tuple(one.column for one in proposals.values())
    remarks = {name: one.remarks for name, one in proposals.items()}
    if target is None:
        return ProposedSchema(Schema(columns=columns), remarks, survey.dialect)
    if is_number and seen[target].kinds - NUMBERS:
        check_numbers(path, target, options=options)
    made, said = _target(path, seen[target], groups, is_number=is_number)
    remarks[target] = gaps(seen[target]) + said
    if seen[target].n_missing:
        remarks[target] += ("fill in the missing targets, or remove these rows",)
    schema = Schema(columns=columns, target=made)
    return ProposedSchema(schema, remarks, survey.dialect)


def _target(
    path: Path,
    seen: Seen,
    groups: Mapping[str, tuple[Label, ...]],
    *,
    is_number: bool,
) -> tuple[Target, tuple[str, ...]]:
    """Return the target, and what is said of it."""
    if is_number:
        return Target(column=seen.name, kind="number"), ()
    if groups:
        return Target(column=seen.name, groups=dict(groups)), ()
    texts = _class_texts(path, seen)
    classes: tuple[Any, ...] = tuple(texts)
    if seen.kinds == {"boolean"}:
        classes = tuple(text == "true" for text in texts)
    elif seen.kinds == {"whole"} and all(map(is_number_text, texts)):
        classes = tuple(map(int, texts))
    return Target(column=seen.name, classes=classes), _rare(seen)


def _class_texts(path: Path, seen: Seen) -> list[str]:
    """Return the values that may be classes; those of single rows are none."""
    why = ""
    if "number" in seen.kinds:
        why = "numbers with fractions"
    elif seen.are_all_different:
        why = "a different value in every row"
    elif seen.counts is None or len(seen.counts) > MOST_CLASSES_PROPOSED:
        why = "too many values"
    if why or seen.counts is None:
        raise DataError(
            f"`{path.name}`: the target `{seen.name}` must hold classes, but has "
            f"{why}. Give --number if it is a number to predict, or group the values "
            "with --group."
        )
    if len(seen.counts) < 2:
        raise DataError(
            f"`{path.name}`: the target `{seen.name}` must have at least two classes, "
            f"but here it has {listing(list(seen.counts)) or 'none'}. List all "
            "classes with --group, also those that only others have, such as --group "
            "no=no --group yes=yes."
        )
    return sorted(seen.counts, key=level_order)


def _rare(seen: Seen) -> tuple[str, ...]:
    """Return what is said of classes that few rows have, which are shown all the same.

    A class that is left out would be found only when the table is read.
    """
    n = sum(count < FEWEST_ROWS for count in (seen.counts or {}).values())
    if not n:
        return ()
    some = f"{n} class{'es are' if n > 1 else ' is'}"
    return (
        f"{some} in fewer than {FEWEST_ROWS} rows: if nobody else may know that, "
        "group them (--group), or remove the rows",
    )
