"""Which columns of a table are the target and the features."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dssfn.errors import DataError
from dssfn.hints import did_you_mean, listing


def target_column(file: str, names: Sequence[str], target: str | None) -> str:
    """The column of labels, which must be named: a guess would train on the labels."""
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
    """The wanted columns, or all but the target and those that number the rows."""
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
