"""The columns of a file by name: which there are, the target, the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from dssfn.datasets.dialect import SEPARATORS
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import DataError
from dssfn.hints import did_you_mean, listing, listing_to_the_last
from dssfn.schema import Schema

_BETWEEN = (*SEPARATORS, ":", "/")  # that people write between fields

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


def check_header(names: Sequence[str], where: str, unit: str, decimal: str) -> None:
    """Refuse a line of data above the others; pandas names columns 0, 1, 2, ..."""
    try:
        numbers = [float(name.replace(decimal, ".")) for name in names]
    except ValueError:
        return
    if numbers != list(range(len(names))):
        raise DataError(
            f"{where}: the first {unit} must hold the column names, got numbers "
            f"({listing(names)}). Add a {unit} of names."
        )


def check_width(n_columns: int, path: Path) -> None:
    """Refuse more columns than a file can have whose rows are samples."""
    if n_columns > MOST_COLUMNS:
        raise DataError(
            f"`{path.name}` must have at most {MOST_COLUMNS} columns, got "
            f"{n_columns}. Rows must be samples; is the table transposed? NPZ files "
            "may have more features."
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
            f"{listing_to_the_last(names)}.{_right_separator(names)}"
        )
    if target not in names:
        raise DataError(
            f"`{file}` has no target column `{target}`, {_only(names, target)}"
        )
    return target


def offered_columns(
    file: str,
    names: Sequence[str],
    options: ReadOptions,
    target: str | None,
    *,
    index: Collection[str] = (),
) -> tuple[str, ...]:
    """Return the columns that are features if the options have it their way.

    These are the ones that they name, else all but the target and those that number
    the rows, without those that are dropped or name the samples.
    """
    ids = () if options.id is None else (options.id,)
    known = set(names)
    for option, chosen in (
        ("columns", options.columns or ()),
        ("drop", options.drop),
        ("id", ids),
    ):
        for name in chosen:
            if name not in known:
                raise _no_column(file, names, name, f"which `{option}` names")
            if name == target:
                raise DataError(f"`{option}` must not name the target `{name}`.")
    if options.columns is not None:
        return options.columns
    left_out = {target, *index, *options.drop, *ids}
    return tuple(name for name in names if name not in left_out)


def feature_columns(
    file: str,
    names: Sequence[str],
    target: str | None,
    wanted: Sequence[str] | None,
    *,
    options: ReadOptions = ALL,
    index: Collection[str] = (),
) -> tuple[str, ...]:
    """Return the wanted columns, or all that the options offer."""
    offered = offered_columns(file, names, options, target, index=index)
    if wanted is None:
        wanted = offered
    if not wanted:
        rest = f", only the target `{target}`" if target is not None else ""
        raise DataError(f"`{file}` has no feature columns{rest}.")
    if options.chooses:
        left_out = set(names) - set(offered) - set(index)
        refused = [name for name in wanted if name in left_out and name != target]
        if refused:
            name = refused[0]
            by = "drop" if name in options.drop else "columns"
            raise DataError(
                f"`{file}`: the column `{name}` is needed, but "
                f"`{'id' if name == options.id else by}` leaves it out. Include it, "
                "or leave that option out."
            )
    known = set(names)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise _no_column(file, names, missing[0], "which the model needs")
    return tuple(wanted)


def check_schema_columns(file: str, names: Sequence[str], schema: Schema) -> None:
    """Refuse a table without a column of the schema: it may be misspelt there."""
    known = set(names)
    lacking = next((one for one in schema.used if one.name not in known), None)
    if lacking is None:
        return
    gaps = (
        "allows missing values"
        if lacking.missing
        else "must allow missing values with `missing = true`"
    )
    way_out = (
        "Rename yours; or, if you have no such values, add the column with empty "
        f"fields: the schema {gaps}."
    )
    raise _no_column(file, names, lacking.name, "which the schema has", way_out)


def _no_column(
    file: str, names: Sequence[str], name: str, why: str, way_out: str = ""
) -> DataError:
    only = _only(names, name, way_out)
    return DataError(f"`{file}` has no column `{name}`, {why}, {only}")


def _only(names: Sequence[str], lacking: str, way_out: str = "") -> str:
    """Return the end of a message about a column that is not there.

    >>> _only(["age", "kind"], "knd")
    'only `age`, `kind`. Did you mean `kind`?'
    >>> _only(["age;kind"], "kind")
    'only `age;kind`. Is `sep` the right field separator?'
    """
    more = f" {way_out}" if way_out else ""
    question = _right_separator(names) or more + did_you_mean(lacking, names)
    return f"only {listing_to_the_last(names)}.{question}"


def _right_separator(names: Sequence[str]) -> str:
    """Return a question, to end a message, if all names stand in one column."""
    is_unsplit = len(names) == 1 and any(one in names[0] for one in _BETWEEN)
    return " Is `sep` the right field separator?" if is_unsplit else ""
