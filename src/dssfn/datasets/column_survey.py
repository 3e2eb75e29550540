"""What the columns of a file hold, found in one pass, for a schema to be proposed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dssfn.datasets._polars import pl
from dssfn.datasets.column_blocks import with_nulls
from dssfn.datasets.column_samples import surveyed_rows
from dssfn.datasets.columns import offered_columns, target_column
from dssfn.datasets.files import existing_file, open_columns
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.table_values import check_target_numbers
from dssfn.schema.proposal import Seen
from dssfn.schema.values import WORDS_FOR_MISSING, level_text

MOST_COUNTED = 1000  # values of a column
_DATE = r"^\d{4}-\d{1,2}-\d{1,2}|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"


@dataclass(frozen=True, slots=True)
class Survey:
    """What was seen of the columns of a file, and how the file is written."""

    columns: list[Seen]
    dialect: str


def survey_columns(
    path: str | Path, target: str | None = None, *, options: ReadOptions = ALL
) -> Survey:
    """Return what was seen of every column of a file, in the order of the file.

    Parameters
    ----------
    path : str or Path
        A file of named columns.
    target : str, optional
        The column that is to be predicted, which is looked at in any case.
    options : ReadOptions
        How the file is written, and which of the other columns to look at.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("size,kind\\n1.5,b\\n2,a\\n,b\\n")
    ...     survey = survey_columns(path)
    >>> [(one.name, one.kinds, one.n_missing) for one in survey.columns]
    [('size', {'number'}, 1), ('kind', {'text'}, 0)]
    """
    path = existing_file(path)
    file = open_columns(path, options)
    if target is not None:
        target_column(path.name, file.names, target)
    offered = offered_columns(path.name, file.names, options, target, index=file.index)
    wanted = [name for name in file.names if name in {target, *offered}]
    surveyed_rows(file, wanted, 0)
    found = {name: Seen(name) for name in wanted}
    for block in file.columns(wanted):
        for name, seen in found.items():
            _add(seen, block.rows[name])
    return Survey(list(found.values()), file.dialect)


def check_numbers(path: Path, name: str, *, options: ReadOptions = ALL) -> None:
    """Refuse a column with a value that is no number; the first one is shown."""
    file = open_columns(path, options)
    surveyed_rows(file, [name], 0)
    for block in file.columns([name]):
        check_target_numbers(block, name)


def _add(seen: Seen, series: pl.Series) -> None:
    """Take some rows of a column in."""
    series = with_nulls(series)
    seen.n_rows += len(series)
    values = series.drop_nulls()
    seen.n_missing += len(series) - len(values)
    if not len(values):
        return
    kind = _kind(values)
    seen.kinds.add(kind)
    if kind in ("date", "odd"):
        seen.counts = None
        return
    counts = values.value_counts()
    if kind == "text":
        small = values.str.to_lowercase()
        said = values.filter(small.is_in(list(WORDS_FOR_MISSING)))
        seen.missing_words.update(said.unique().to_list())
    seen.n_repeated += len(values) - counts.height
    if seen.counts is None or counts.height > MOST_COUNTED:
        seen.counts = None
        return
    for value, count in counts.iter_rows():
        text = level_text(value)
        seen.counts[text] = seen.counts.get(text, 0) + count
    if len(seen.counts) > MOST_COUNTED:
        seen.counts = None


def _kind(values: pl.Series) -> str:
    dtype = values.dtype
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "whole"
    if dtype.is_numeric():
        numbers = values.cast(pl.Float64)
        return "whole" if bool((numbers == numbers.round()).all()) else "number"
    if dtype.is_temporal():
        return "date"
    if dtype == pl.String:
        return "date" if bool(values.str.contains(_DATE).all()) else "text"
    return "odd"
