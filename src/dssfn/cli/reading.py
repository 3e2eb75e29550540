"""The options about data files, which a command takes as one value, `read`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

from dssfn.cli.grouped import grouped
from dssfn.cli.listed import words
from dssfn.cli.options import DATA, option
from dssfn.datasets import ReadOptions
from dssfn.datasets.files import check_formats
from dssfn.errors import PlanError

Columns = Annotated[
    str | None,
    option(
        "Use only these columns as features, such as age,weight.", DATA, "--columns"
    ),
]
Drop = Annotated[
    str | None,
    option("Columns not to use as features, such as note,date.", DATA, "--drop"),
]
Id = Annotated[
    str | None,
    option(
        "The column that identifies the rows; it is not used as a feature.",
        DATA,
        "--id",
    ),
]
Sep = Annotated[
    str | None,
    option("Field separator of a text file: , ; | or tab. Detected by default.", DATA),
]
Decimal = Annotated[
    str | None,
    option("Decimal mark of a text file: . or a comma. Detected by default.", DATA),
]
Encoding = Annotated[
    str | None,
    option(
        "Encoding of a text file: utf-8, utf-16, latin-1, ... Detected by default.",
        DATA,
    ),
]
Sheet = Annotated[
    str | None, option("Which sheet to read, if an XLSX file has several.", DATA)
]


def reads_files(
    command: Callable[..., None],
    *,
    checked: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[..., None]:
    """Give a command the options about data files; it gets them as its `read`.

    Parameters
    ----------
    command : callable
        A function with a parameter ``read: ReadOptions = ALL``.
    checked : callable
        Returns a context in which the options are checked.

    Examples
    --------
    >>> import inspect
    >>> from dssfn.datasets.read_options import ALL
    >>> def show(data: str, read: ReadOptions = ALL, json: bool = False) -> None:
    ...     print(data, read.drop)
    >>> ", ".join(inspect.signature(reads_files(show)).parameters)
    'data, columns, drop, id, sep, decimal, encoding, sheet, json'
    >>> reads_files(show)(data="t.csv", drop="note,day")
    t.csv ('note', 'day')
    """
    return grouped(command, "read", _read_options, checked=checked)


def check_has_file(read: ReadOptions, files: Sequence[Path], what: str) -> None:
    """Refuse options about data files where there is none that they are about."""
    if read.given and not files:
        raise PlanError(f"`--{next(iter(read.given))}` must come with {what}.")
    check_formats(read, files)


def _read_options(
    columns: Columns = None,
    drop: Drop = None,
    id: Id = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
) -> ReadOptions:
    return ReadOptions(
        columns=None if columns is None else tuple(words("--columns", columns)),
        drop=() if drop is None else tuple(words("--drop", drop)),
        id=id,
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        sheet=sheet,
    )
