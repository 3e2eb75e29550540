"""How a text file of columns is written: separators, decimal marks, encoding."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between two fields, and its name."""

DECIMALS = {".": "decimal points", ",": "decimal commas"}
"""What may stand before the fraction of a number, and its name."""

ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "windows-1252": "Windows-1252",
    "latin-1": "Latin-1",
    "windows-1250": "Windows-1250",
    "windows-1251": "Windows-1251",
    "windows-1253": "Windows-1253",
    "windows-1254": "Windows-1254",
    "iso-8859-2": "ISO 8859-2",
    "iso-8859-15": "ISO 8859-15",
    "mac-roman": "Mac Roman",
    "shift-jis": "Shift JIS",
    "euc-jp": "EUC-JP",
    "euc-kr": "EUC-KR",
    "gb18030": "GB 18030",
    "big5": "Big5",
}
"""The encodings that can be named, and how they are shown."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing columns as text; the default is that of a CSV file.

    Parameters
    ----------
    separator : str
        What stands between two fields, one of `SEPARATORS`.
    decimal : str
        What stands before the fraction of a number, one of `DECIMALS`.
    encoding : str
        How letters became bytes, one of `ENCODINGS`.
    is_packed : bool
        Whether the file is compressed by gzip.

    Examples
    --------
    >>> print(Dialect(";", ",", "utf-16"))
    semicolons, decimal commas, UTF-16
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    is_packed: bool = False

    def __str__(self) -> str:
        words = [
            SEPARATORS[self.separator],
            DECIMALS[self.decimal],
            ENCODINGS[self.encoding],
        ]
        return ", ".join([*words, "gzip"] if self.is_packed else words)


USUAL = ("", *(str(Dialect(separator)) for separator in (",", "\t")))
"""How most files are written, which need not be said."""


def known_encoding(name: str) -> str | None:
    """Return the encoding that a name stands for, as `ENCODINGS` has it.

    >>> known_encoding("ISO-8859-1"), known_encoding("cp1252"), known_encoding("utf8x")
    ('latin-1', 'windows-1252', None)
    """
    try:
        wanted = codecs.lookup(name).name
    except (LookupError, ValueError):  # a name may even hold a NUL byte
        return None
    if wanted == codecs.lookup("utf-8-sig").name:
        return "utf-8"
    return next((one for one in ENCODINGS if codecs.lookup(one).name == wanted), None)
