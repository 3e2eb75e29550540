"""A schema proposed from a table: what its columns seem to be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dssfn._typing import Label
from dssfn.datasets.column_survey import survey_columns
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError
from dssfn.schema import Schema, Target
from dssfn.schema.proposal import Seen, propose
from dssfn.schema.values import is_number as is_number_text
from dssfn.schema.values import level_order

MOST_CLASSES_PROPOSED = 100


def propose_schema(
    path: str | Path,
    target: str | None = None,
    groups: Mapping[str, tuple[Label, ...]] = MappingProxyType({}),
    *,
    is_number: bool = False,
    options: ReadOptions = ALL,
) -> tuple[Schema, dict[str, tuple[str, ...]]]:
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
    seen = {one.name: one for one in survey_columns(path, target, options=options)}
    proposals = {name: propose(one) for name, one in seen.items() if name != target}
    columns = tuple(one.column for one in proposals.values())
    remarks = {name: one.remarks for name, one in proposals.items()}
    if target is None:
        return Schema(columns=columns), remarks
    made = _target(path, seen[target], groups, is_number=is_number)
    return Schema(columns=columns, target=made), remarks


def _target(
    path: Path,
    seen: Seen,
    groups: Mapping[str, tuple[Label, ...]],
    *,
    is_number: bool,
) -> Target:
    if is_number:
        return Target(column=seen.name, kind="number")
    if groups:
        return Target(column=seen.name, groups=dict(groups))
    if seen.counts is None or len(seen.counts) > MOST_CLASSES_PROPOSED:
        raise DataError(
            f"`{path.name}`: the target `{seen.name}` has too many values to be "
            "classes. Say --number if they are numbers to be predicted, or group them "
            "by --group."
        )
    texts = sorted(seen.counts, key=level_order)
    classes: tuple[Any, ...] = tuple(texts)
    if seen.kinds == {"boolean"}:
        classes = tuple(text == "true" for text in texts)
    elif seen.kinds == {"whole"} and all(map(is_number_text, texts)):
        classes = tuple(map(int, texts))
    return Target(column=seen.name, classes=classes)
