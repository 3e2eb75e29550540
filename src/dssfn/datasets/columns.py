"""The columns of a file by name: which there are, the target, the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from dssfn.errors import DataError
from dssfn.hints import did_you_mean, listing

MOST_COLUMNS = 100_000  # each takes kilobytes, however short the file


def checked_names(names: list[str], path: Path) -> list[str]:
    """Return column names without blanks around them; each must exist and differ."""
    check_width(len(names), path)
    names = [name.strip() for name in names]
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"`{path.name}`: column {position} has no name. Name it, or remove it "
                "(from pandas, write with `index=False`)."
            )
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(
                f"`{path.name}`: column names must differ, but `{name}` occurs "
                f"{count} times. Rename or remove one."
            )
    return names


def check_width(n_columns: int, path: Path) -> None:
    """Refuse more columns than a file can have whose rows are samples."""
    if n_columns > MOST_COLUMNS:
        raise DataError(
            f"`{path.name}` must have at most {MOST_COLUMNS} columns, got {n_columns}."
            " Rows are samples; is it on its side? NPZ takes more features."
        )


def places(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the places of the wanted columns, in file order.

    >>> places(["a", "b", "c"], ["c", "a"])
    [0, 2]
    """
    place = {name: k for k, name in enumerate(names)}
    return sorted({place[name] for name in wanted})


def target_column(file: str, names: Sequence[str], target: str | None) -> str:
    """Return the column of labels, which must be named: never guess it."""
    if target is None:
        raise DataError(
            f"`target` must name the column of labels in `{file}`, one of "
            f"{listing(names)}."
        )
    if target not in names:
        raise DataError(
            f"`{file}` has no target column `{target}`, only {listing(names)}."
            f"{did_you_mean(target, names)}"
        )
    return target


def feature_columns(
    file: str,
    names: Sequence[str],
    target: str | None,
    wanted: Sequence[str] | None,
    *,
    index: Collection[str] = (),
) -> tuple[str, ...]:
    """Return the wanted columns, or all but the target and those that number rows."""
    if wanted is None:
        wanted = [name for name in names if name != target and name not in index]
    if not wanted:
        raise DataError(f"`{file}` has no feature columns, only the target `{target}`.")
    known = set(names)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise DataError(
            f"`{file}` has no column `{missing[0]}`, which must be there."
            f"{did_you_mean(missing[0], names)}"
        )
    return tuple(wanted)
