"""What a user says of a data file: which columns to take, and how it is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from dssfn.datasets.dialect import DECIMALS, ENCODINGS, SEPARATORS, known_encoding
from dssfn.errors import PlanError
from dssfn.hints import listing, unknown

_WORDS = {"tab": "\t", "\\t": "\t"}  # what is hard to type


class ReadOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to read a data file; what is left out is found in the file.

    Parameters
    ----------
    columns : sequence of str, optional
        The features to take, in this order; by default all columns but the target.
    drop : sequence of str, optional
        Columns that are no features.
    id : str, optional
        A column that names the samples. It is no feature and is carried along, as text.
    sep : str, optional
        What stands between the fields of a text file: ``,``, ``;``, ``|``, or a tab,
        also written ``tab``.
    decimal : str, optional
        What stands before the fraction of a number in a text file: ``.`` or ``,``.
    encoding : str, optional
        How the letters of a text file became bytes, such as ``utf-8``, ``utf-16`` or
        ``latin-1``.
    sheet : str, optional
        The sheet of an XLSX file; needed if several have content.

    Raises
    ------
    PlanError
        A value is none of the known ones, or two of them contradict each other.

    Examples
    --------
    >>> ReadOptions(drop=["note"], sep="tab").given
    {'drop': ('note',), 'sep': '\\t'}
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    id: str | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Check the values, and keep lists of names as tuples."""
        if self.columns is not None:
            force_setattr(self, "columns", _names("columns", self.columns))
        force_setattr(self, "drop", _names("drop", self.drop))
        force_setattr(self, "sep", _WORDS.get(self.sep or "", self.sep))
        for name, value, known in (
            ("sep", self.sep, SEPARATORS),
            ("decimal", self.decimal, DECIMALS),
        ):
            if value is not None and value not in known:
                shown = listing(["tab" if one == "\t" else one for one in known])
                raise PlanError(f"`{name}` must be one of {shown}, got {value!r}.")
        if self.sep is not None and self.sep == self.decimal:
            raise PlanError(
                f"`decimal` must differ from `sep`, got {self.sep!r} twice."
            )
        if self.encoding is not None:
            encoding = known_encoding(self.encoding)
            if encoding is None:
                raise PlanError(unknown("encoding", self.encoding, ENCODINGS))
            force_setattr(self, "encoding", encoding)
        self._check_names()

    @property
    def given(self) -> dict[str, Any]:
        """The options that were not left out."""
        return {
            one.name: value
            for one in msgspec.structs.fields(self)
            if (value := getattr(self, one.name)) != one.default
        }

    @property
    def chooses(self) -> bool:
        """Whether columns are chosen by name."""
        return self.columns is not None or bool(self.drop) or self.id is not None

    def _check_names(self) -> None:
        taken = set(self.columns or ())
        for name in self.drop:
            if name in taken or name == self.id:
                other = "columns" if name in taken else "id"
                raise PlanError(f"`drop` must not name {name!r}, as `{other}` does.")
        if self.id in taken:
            raise PlanError(f"`id` must not name {self.id!r}, as `columns` does.")


def _names(option: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise PlanError(f"`{option}` must be a list of names, got {names!r}.")
    listed = tuple(names)
    seen: set[str] = set()
    for name in listed:
        if name in seen:
            raise PlanError(f"`{option}` must name each only once, got {name!r} twice.")
        seen.add(name)
    return listed


ALL = ReadOptions()
"""All columns, of a file whose dialect is found."""
