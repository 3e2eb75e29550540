"""Schema: the kind of every column of a table, and what is to be predicted.

Nothing in a schema is taken from one node's data at run time: levels and classes are
written down beforehand, alike for all nodes, because a node may lack some of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dssfn._typing import Label
from dssfn.errors import PlanError
from dssfn.hints import listing, unknown
from dssfn.schema.values import level_text

KINDS = ("number", "category", "boolean", "ignore")
TARGET_KINDS = ("class", "number")
MISSING, OTHER = "missing", "other"  # what features of such levels are called
MOST_LEVELS = 1000


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column of a table.

    Parameters
    ----------
    name : str
        Its name in the files.
    kind : {"number", "category", "boolean", "ignore"}
        What it holds.
    levels : tuple of labels
        The values of a category, which become one feature each.
    same : dict
        Other ways to write a level, as in ``{M = "male"}``.
    other : bool
        Whether all values that are no level count as one more; otherwise they are
        errors.
    missing : bool
        Whether values may be missing. A missing number becomes the agreed mean, beside
        a feature that says so; a missing category is one more level.
    low, high : float, optional
        The range of a number, known beforehand and not taken from data, which
        differential privacy needs; see `Plan`.
    unit, note : str
        For people.

    Examples
    --------
    >>> Column(name="sex", kind="category", levels=("f", "m")).feature_names
    ('sex=f', 'sex=m')
    >>> Column(name="age", kind="number", missing=True).feature_names
    ('age', 'age missing')
    """

    name: str
    kind: str
    levels: tuple[Label, ...] = ()
    same: dict[str, Label] = {}
    other: bool = False
    missing: bool = False
    low: float | None = None
    high: float | None = None
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not self.name or self.name != self.name.strip():
            raise PlanError(
                "A column's `name` must not be empty or end in spaces, got "
                f"{self.name!r}."
            )
        if self.kind not in KINDS:
            raise PlanError(
                f"Column `{self.name}`: {unknown('kind', self.kind, KINDS)}"
            )
        if self.kind == "category":
            self._check_levels()
        elif self.levels or self.same or self.other:
            raise PlanError(
                f"Column `{self.name}`: `levels`, `same` and `other` are for a "
                f"category, got them for the kind {self.kind}. Remove them."
            )
        self._check_range()

    def _check_range(self) -> None:
        low, high = self.low, self.high
        if low is None and high is None:
            return
        if self.kind != "number":
            raise PlanError(
                f"Column `{self.name}`: `low` and `high` are for a number, got them "
                f"for the kind {self.kind}. Remove them."
            )
        if low is None or high is None or not math.isfinite(high - low) or low >= high:
            raise PlanError(
                f"Column `{self.name}`: `low` and `high` must both be given, the first "
                f"below the second, got {low} and {high}."
            )

    def _check_levels(self) -> None:
        texts = self.level_texts
        if not texts and not self.other:
            raise PlanError(
                f"Column `{self.name}`: a category must have `levels`, got none."
            )
        if len(texts) > MOST_LEVELS:
            raise PlanError(
                f"Column `{self.name}`: `levels` must be at most {MOST_LEVELS}, got "
                f"{len(texts)}. Group them, or ignore the column."
            )
        _check_differ(f"Column `{self.name}`: `levels`", self.levels)
        _check_differ(f"Column `{self.name}`: what is the `same`", self.same)
        for written, level in self.same.items():
            if level_text(level) not in texts:
                raise PlanError(
                    f"Column `{self.name}`: `same` must lead to one of the levels "
                    f"{listing(texts)}, got {level!r} for {written!r}."
                )
            if level_text(written) in texts:
                raise PlanError(
                    f"Column `{self.name}`: {written!r} is a level itself, so it must "
                    f"not be the same as {level!r}. Remove one of them."
                )

    @property
    def level_texts(self) -> tuple[str, ...]:
        """The levels as text, in which numbers are written in one way."""
        return tuple(level_text(level) for level in self.levels)

    @property
    def is_feature(self) -> bool:
        """Whether the column is used."""
        return self.kind != "ignore"

    @property
    def has_others(self) -> bool:
        """Whether there may be values beside the levels; without levels, all are."""
        return self.other and bool(self.levels)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        return tuple(self._feature_names())

    def _feature_names(self) -> Iterator[str]:
        if self.kind == "ignore":
            return
        if self.kind != "category":
            yield self.name
            if self.missing:
                yield f"{self.name} {MISSING}"
            return
        yield from (f"{self.name}={text}" for text in self.level_texts)
        if self.other:
            yield f"{self.name} {OTHER}"
        if self.missing:
            yield f"{self.name} {MISSING}"

    @property
    def feature_ranges(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest number of each of them; NaN if it is not known."""
        ranges = [(0.0, 1.0)] * len(self.feature_names)
        if self.kind == "number":
            unknown = math.nan
            ranges[0] = (
                unknown if self.low is None else self.low,
                unknown if self.high is None else self.high,
            )
        return tuple(ranges)

    def codes(self) -> dict[str, int]:
        """Return the number of every text that is a level, or the same as one."""
        found = {text: code for code, text in enumerate(self.level_texts)}
        same = {level_text(one): found[level_text(of)] for one, of in self.same.items()}
        return found | same


def _check_differ(what: str, labels: Iterable[Label]) -> None:
    """Refuse labels that are one in files, such as 1 and "1.0"."""
    for text, count in Counter(map(level_text, labels)).items():
        if count > 1:
            raise PlanError(f"{what} must differ, got {text!r} twice.")


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column that is to be predicted.

    Parameters
    ----------
    column : str
        Its name in the files.
    kind : {"class", "number"}
        Whether it holds classes, or numbers.
    classes : tuple of labels
        The classes, in the order of the outputs.
    groups : dict
        The values of every class, if classes are groups of values, as in
        ``{sick = [1, 2, 3, 4], healthy = [0]}``. Each class must have some.
    unit, note : str
        For people.

    Examples
    --------
    >>> Target(column="num", groups={"healthy": (0,), "sick": (1, 2)}).classes
    ('healthy', 'sick')
    """

    column: str
    kind: str = "class"
    classes: tuple[Label, ...] = ()
    groups: dict[str, tuple[Label, ...]] = {}
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in TARGET_KINDS:
            raise PlanError(f"Target: {unknown('kind', self.kind, TARGET_KINDS)}")
        if self.kind == "number":
            if self.classes or self.groups:
                raise PlanError(
                    f"Target `{self.column}`: `classes` and `groups` are for a class, "
                    "got them for a number."
                )
            return
        if self.groups and not self.classes:
            msgspec.structs.force_setattr(self, "classes", tuple(self.groups))
        if len(self.classes) < 2:
            raise PlanError(
                f"Target `{self.column}`: `classes` must name at least two classes, "
                f"got {list(self.classes)}."
            )
        if self.groups:
            self._check_groups()
        else:
            _check_differ(f"Target `{self.column}`: `classes`", self.classes)

    def _check_groups(self) -> None:
        if set(self.groups) != set(self.classes):
            raise PlanError(
                f"Target `{self.column}`: `groups` must give values for all of the "
                f"classes {listing(list(map(str, self.classes)))} and no others, got "
                f"{listing(list(self.groups))}."
            )
        values = Counter(level_text(v) for many in self.groups.values() for v in many)
        twice = [text for text, count in values.items() if count > 1]
        if twice or not all(self.groups.values()):
            raise PlanError(
                f"Target `{self.column}`: `groups` must give every class values of its "
                f"own, got {f'{twice[0]!r} twice' if twice else 'none for a class'}."
            )

    def codes(self) -> dict[str, int]:
        """Return the number of the class of every text that has one."""
        if not self.groups:
            return {level_text(label): code for code, label in enumerate(self.classes)}
        return {
            level_text(value): code
            for code, label in enumerate(self.classes)
            for value in self.groups[str(label)]
        }


class Schema(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of a table and what is to be predicted.

    Parameters
    ----------
    columns : tuple of Column
        The columns, in the order of their features.
    target : Target, optional
        What is to be predicted.

    Examples
    --------
    >>> age = Column(name="age", kind="number")
    >>> pain = Column(name="pain", kind="category", levels=(1, 2), missing=True)
    >>> Schema(columns=(age, pain)).feature_names
    ('age', 'pain=1', 'pain=2', 'pain missing')
    """

    columns: tuple[Column, ...]
    target: Target | None = None

    def __post_init__(self) -> None:
        names = Counter(column.name for column in self.columns)
        if self.target is not None:
            names[self.target.column] += 1
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise PlanError(
                f"A schema must have every column once, got `{twice[0]}` twice."
            )
        features = Counter(self.feature_names)
        if not features:
            raise PlanError("A schema must have a column that is not ignored.")
        alike = [name for name, count in features.items() if count > 1]
        if alike:
            raise PlanError(
                "Two columns of a schema must not give features of the same name, got "
                f"`{alike[0]}` twice. Rename a column."
            )

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that are not ignored."""
        return tuple(column for column in self.columns if column.is_feature)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features that the columns become."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def feature_ranges(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest number of every feature; NaN if it is unknown."""
        return tuple(one for column in self.columns for one in column.feature_ranges)

    @property
    def has_gaps(self) -> bool:
        """Whether numbers may be missing, which take the agreed mean."""
        return any(
            column.missing and column.kind in ("number", "boolean")
            for column in self.columns
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """The column of numbers to predict; none if classes are."""
        if self.target is None or self.target.kind == "class":
            return ()
        return (self.target.column,)

    def column(self, name: str) -> Column:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)

    def with_target(self, target: Target | None) -> Schema:
        """Return the same columns with another target, which may have been ignored."""
        columns = self.columns
        if target is not None:
            columns = tuple(
                one for one in columns if one.is_feature or one.name != target.column
            )
        return msgspec.structs.replace(self, columns=columns, target=target)

    def settings(self) -> dict[str, Any]:
        """Return what a plan has of a schema."""
        names = self.feature_names
        found: dict[str, Any] = {
            "schema": self,
            "feature_names": names,
            "n_features": len(names),
        }
        if self.targets:
            found["targets"] = self.targets
        elif self.target is not None:
            found["classes"] = self.target.classes
        return found
