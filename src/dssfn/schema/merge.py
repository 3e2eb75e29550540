"""Several schemas united, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dssfn._typing import Label
from dssfn.schema.columns import Column, Schema, Target
from dssfn.schema.values import is_number, level_order, level_text

_WRITE_THE_SAME = "Write the same in both."

FEW_LEVELS = 2  # of numbers: too few to tell a category from a number


@dataclass(frozen=True, slots=True)
class Conflict:
    """A contradiction between schemas.

    Parameters
    ----------
    what : str
        What contradicts, as a sentence.
    way_out : str
        What people can do, as a sentence, which several contradictions may share.
    """

    what: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.what} {self.way_out}"


@dataclass(frozen=True, slots=True)
class Merged:
    """The united schema, and what people must decide first.

    Parameters
    ----------
    schema : Schema
        The union; where there are conflicts, it has the first one's word.
    conflicts : tuple of Conflict
        Where the schemas contradict each other.
    """

    schema: Schema
    conflicts: tuple[Conflict, ...]


def merge(schemas: Mapping[str, Schema]) -> Merged:
    """Return the union of schemas, by the names of who made them.

    Columns have the order of the first schema that has them. A column that has gaps
    anywhere may be missing; levels and classes are those of all.

    Examples
    --------
    >>> sex = [Column(name="sex", kind="category", levels=(s,)) for s in ("male", "M")]
    >>> made = {"a": Schema(columns=(sex[0],)), "b": Schema(columns=(sex[1],))}
    >>> merge(made).conflicts[0].what
    'Column `sex`: are `male` (a) and `M` (b) the same?'
    """
    conflicts: list[Conflict] = []
    target = _target(schemas, conflicts)
    columns = []
    for name, there in _by_name(schemas).items():
        if target is not None and name == target.column:
            what = f"but a feature in {', '.join(there)}."
            conflicts.append(
                Conflict(
                    f"Column `{name}` is the target elsewhere, {what}",
                    "Make it the target in all of them, or remove it there.",
                )
            )
            continue
        lacking = [who for who in schemas if who not in there]
        columns.append(_column(name, there, lacking, conflicts))
    return Merged(Schema(columns=tuple(columns), target=target), tuple(conflicts))


def _by_name(schemas: Mapping[str, Schema]) -> dict[str, dict[str, Column]]:
    """Return the columns of every name, by who has them."""
    found: dict[str, dict[str, Column]] = {}
    for who, one in schemas.items():
        for column in one.columns:
            found.setdefault(column.name, {})[who] = column
    return found


def _column(
    name: str,
    there: Mapping[str, Column],
    lacking: Sequence[str],
    conflicts: list[Conflict],
) -> Column:
    used = {who: one for who, one in there.items() if one.is_feature}
    if lacking and used:
        conflicts.append(
            Conflict(
                f"Column `{name}` is missing in {', '.join(lacking)}.",
                "Ignore it in the others; or add it there with its kind and `missing = "
                "true`, and add it to the table with empty fields.",
            )
        )
    if not used:
        return next(iter(there.values()))
    kind = _common_kind(name, used, conflicts)
    first = next(iter(used.values()))
    missing = any(one.missing for one in there.values()) or len(used) < len(there)
    if kind == "category":
        return _category(name, used, missing, conflicts)
    low, high = _range(used.values()) if kind == "number" else (None, None)
    return msgspec.structs.replace(
        first,
        kind=kind,
        levels=(),
        same={},
        other=False,
        missing=missing,
        low=low,
        high=high,
    )


def _range(columns: Iterable[Column]) -> tuple[float | None, float | None]:
    """Return the range that holds those of all columns that have one."""
    known = [column for column in columns if column.low is not None]
    return (
        min((column.low for column in known if column.low is not None), default=None),
        max((column.high for column in known if column.high is not None), default=None),
    )


def _common_kind(
    name: str, used: Mapping[str, Column], conflicts: list[Conflict]
) -> str:
    """Return the kind that all columns can have."""
    kinds = {who: one.kind for who, one in used.items()}
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    has_number = "number" in kinds.values()
    vague = all(
        one.kind != "category" or _are_few_numbers(one) for one in used.values()
    )
    if has_number and vague:
        return "number"
    if not has_number:  # 0 and 1 here, and more levels there
        return "category"
    number = next(who for who, kind in kinds.items() if kind == "number")
    category = next(
        who
        for who, one in used.items()
        if one.kind == "category" and not _are_few_numbers(one)
    )
    conflicts.append(
        Conflict(
            f"Column `{name}` is a number in {number}, but a category in {category}.",
            "Use the same kind in both.",
        )
    )
    return kinds[number]


def _are_few_numbers(column: Column) -> bool:
    return 0 < len(column.levels) <= FEW_LEVELS and all(
        is_number(text) for text in column.level_texts
    )


def _category(
    name: str, used: Mapping[str, Column], missing: bool, conflicts: list[Conflict]
) -> Column:
    levels: dict[str, str] = {}  # and who has it
    same: dict[str, Label] = {}
    for who, one in used.items():
        texts = one.level_texts if one.kind == "category" else ("0", "1")
        for text in texts:
            levels.setdefault(text, who)
        for written, level in one.same.items():
            first = same.setdefault(written, level)
            if level_text(first) != level_text(level):
                conflicts.append(
                    Conflict(
                        f"Column `{name}`: `{written}` is the same as `{first}`, but "
                        f"the same as `{level}` in {who}.",
                        _WRITE_THE_SAME,
                    )
                )
    for text in map(level_text, same):
        levels.pop(text, None)  # a level here that is written in another way there
    _find_alike(name, levels, conflicts)
    return msgspec.structs.replace(
        next(iter(used.values())),
        kind="category",
        levels=tuple(sorted(levels, key=level_order)),
        same=same,
        other=any(one.other for one in used.values()),
        missing=missing,
    )


def _find_alike(
    name: str, levels: Mapping[str, str], conflicts: list[Conflict]
) -> None:
    """Name levels of different schemas that may be two ways to write one."""
    texts = list(levels)
    for k, one in enumerate(texts):
        for other in texts[k + 1 :]:
            if levels[one] != levels[other] and _may_be_same(one, other):
                long, short = sorted((one, other), key=len, reverse=True)
                conflicts.append(
                    Conflict(
                        f"Column `{name}`: are `{one}` ({levels[one]}) and `{other}` "
                        f"({levels[other]}) the same?",
                        f'Write `same = {{ "{short}" = "{long}" }}` in one of them, or '
                        "rename the level.",
                    )
                )


def _may_be_same(one: str, other: str) -> bool:
    """Return whether two levels differ in letters only, or one begins the other."""
    a, b = (text.casefold() for text in sorted((one, other), key=len))
    if not a or is_number(one) or is_number(other):
        return False
    return a == b or (len(a) <= 2 and b.startswith(a) and b.isalpha())


def _target(schemas: Mapping[str, Schema], conflicts: list[Conflict]) -> Target | None:
    found = {who: one.target for who, one in schemas.items() if one.target is not None}
    if not found:
        return None
    (first, target), *others = found.items()
    for who, other in others:
        for field in ("column", "kind", "groups"):
            mine, theirs = getattr(target, field), getattr(other, field)
            if mine != theirs:
                conflicts.append(
                    Conflict(
                        f"The target's `{field}` is {_shown(mine)} in {first}, but "
                        f"{_shown(theirs)} in {who}.",
                        _WRITE_THE_SAME,
                    )
                )
    # By their kinds, too: to Python, true is 1.
    classes = {
        (type(label), label): label for one in found.values() for label in one.classes
    }
    if target.kind == "number" or target.groups:
        return target
    kinds = {kind for kind, _ in classes}
    if len(kinds) > 1:
        types = ", ".join(sorted(kind.__name__ for kind in kinds))
        conflicts.append(
            Conflict(
                f"The classes of the target `{target.column}` have several types: "
                f"{types}.",
                "Use one type.",
            )
        )
        return target
    ordered: Sequence[Any] = sorted(classes.values())
    return msgspec.structs.replace(target, classes=tuple(ordered))


def _shown(value: object) -> str:
    return f"`{value}`" if value else "not given"
