"""A text file as UTF-8, whatever its encoding, compressed or not.

How this works. All that follows knows only UTF-8: a file in another encoding is decoded
and encoded again as it is read, a piece at a time, so that a file larger than memory
takes no more of it, nor does a small one that gzip makes large. The encoding is that
of the mark at the start, else the one that is given, else UTF-8 if the whole file is
valid UTF-8, else Windows-1252, in which Western spreadsheets write. A first pass over
the bytes tells, and finds what is no text at all.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dssfn.datasets.dialect import ENCODINGS
from dssfn.datasets.watching import LETTERS, tell
from dssfn.errors import DataError
from dssfn.hints import reason

PACKED = ".gz"
_PIECE = 2**18  # bytes of the file that are decoded at a time
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_GZIP = b"\x1f\x8b"  # how such a file begins
_SAY = "Give its encoding with `--encoding`, or save it again as UTF-8."


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file whose encoding is known.

    Parameters
    ----------
    path : Path
        The file; one that ends in ``.gz`` is unpacked as it is read.
    encoding : str
        One of `ENCODINGS`, but for a mark's sake not ``utf-16``.
    n_marked : int
        Bytes of the mark at the start, which is no text.
    """

    path: Path
    encoding: str = "utf-8"
    n_marked: int = 0

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed."""
        return self.path.suffix.lower() == PACKED

    def open(self) -> IO[bytes]:
        """Open the text, as bytes of UTF-8 without a mark."""
        if self.encoding == "utf-8" and not self.is_packed:
            file = self.path.open("rb")
            file.seek(self.n_marked)
            return file
        return io.BufferedReader(_Recoded(self), _PIECE)

    def share(self, n_bytes: int) -> float | None:
        """Return how much of the file so many bytes of UTF-8 are; None if unknown."""
        if self.is_packed or self.encoding != "utf-8":
            return None
        return min(1.0, (self.n_marked + n_bytes) / max(1, self.path.stat().st_size))

    def raw(self) -> Iterator[bytes]:
        """Yield the bytes behind the mark as they are, unpacked."""
        open_ = gzip.open if self.is_packed else open
        try:
            with open_(self.path, "rb") as file:
                file.read(self.n_marked)
                while piece := file.read(_PIECE):
                    yield piece
        except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
            raise DataError(
                f"`{self.path.name}` is truncated, damaged or not compressed by gzip "
                f"({reason(exc)}). Compress it again."
            ) from exc


class _Recoded(io.RawIOBase):
    """The text of a file, encoded anew as it is read."""

    def __init__(self, text: TextFile) -> None:
        self._pieces = _utf8(text)
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ready = piece
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._pieces.close()
        super().close()


def _utf8(text: TextFile) -> Generator[bytes, None, None]:
    if text.encoding == "utf-8":  # whoever parses it checks it
        yield from text.raw()
        return
    decoder = codecs.getincrementaldecoder(text.encoding)()
    try:
        for piece in text.raw():
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as exc:
        raise DataError(
            f"`{text.path.name}` has changed: it is no longer "
            f"{ENCODINGS[text.encoding]}."
        ) from exc


def find_text(path: Path, given: str | None = None) -> TextFile:
    """Return the text of a file in the encoding that is given or found.

    Parameters
    ----------
    path : Path
        The file.
    given : str, optional
        One of `ENCODINGS`, which must not contradict a mark.

    Raises
    ------
    DataError
        There are bytes that the encoding does not have, or NUL bytes, which are no
        text. The message names the line.
    """
    plain = TextFile(path)
    first = next(plain.raw(), b"")
    if first.startswith(_GZIP):
        raise DataError(
            f"`{path.name}` is compressed by gzip. Decompress it, or let its name end "
            f"in `{PACKED}`."
        )
    for mark, encoding in _MARKS.items():
        if first.startswith(mark):
            if given not in (None, encoding, _family(encoding)):
                raise DataError(
                    f"`{path.name}` begins with the byte order mark of "
                    f"{ENCODINGS[encoding]}, but `--encoding` is {given}. Leave that "
                    "out."
                )
            return _checked(TextFile(path, encoding, len(mark)))
    if given == "utf-16":
        raise DataError(
            f"`{path.name}` has no byte order mark, so its UTF-16 is ambiguous. Give "
            "`--encoding utf-16-le`, as Windows writes it, or `utf-16-be`."
        )
    if given is not None:
        return _checked(TextFile(path, given))
    fault = _first_fault(plain)
    if fault is None:
        return plain
    if fault.is_nul:
        raise _no_text(plain, fault, first)
    if fault.beyond_ascii is not None:
        raise DataError(
            f"`{path.name}`, line {fault.line}: the text is not UTF-8, but line "
            f"{fault.beyond_ascii} is, and not just ASCII. Correct the line, or give "
            "the encoding of the whole file with `--encoding`."
        )
    western = TextFile(path, "windows-1252")
    later = _first_fault(western)
    if later is None:
        return western
    if later.is_nul:
        raise _no_text(western, later, first)
    raise DataError(
        f"`{path.name}`, line {fault.line}: the text is not UTF-8, nor is line "
        f"{later.line} Windows-1252. {_SAY}"
    )


@dataclass(frozen=True, slots=True)
class _Fault:
    """Where a file is no text of its encoding."""

    line: int
    is_nul: bool
    beyond_ascii: int | None
    """The first line before it with a letter that ASCII has not."""


def _family(encoding: str) -> str:
    """Return UTF-16 for both of its orders of bytes."""
    return "utf-16" if encoding.startswith("utf-16") else encoding


def _checked(text: TextFile) -> TextFile:
    fault = _first_fault(text)
    if fault is None:
        return text
    if fault.is_nul:
        raise _no_text(text, fault)
    raise DataError(
        f"`{text.path.name}`, line {fault.line}: the file must be "
        f"{ENCODINGS[text.encoding]} throughout. {_SAY}"
    )


def _first_fault(text: TextFile) -> _Fault | None:
    """Return the first byte that is no text; a pass over the whole file."""
    decoder = codecs.getincrementaldecoder(text.encoding)()
    line, beyond = 1, None
    is_utf8 = text.encoding == "utf-8"
    n_bytes = 0
    for piece in text.raw():
        n_bytes += len(piece)
        tell(text.path, LETTERS, line - 1, text.share(n_bytes))
        is_plain = is_utf8 and piece.isascii() and b"\0" not in piece
        if is_plain and not decoder.getstate()[0]:  # as almost always
            line += piece.count(b"\n")
            continue
        try:
            decoded, is_valid = decoder.decode(piece), True
        except UnicodeDecodeError as exc:
            decoded, is_valid = exc.object[: exc.start].decode(text.encoding), False
        before, nul, _ = decoded.partition("\0")
        if beyond is None and not before.isascii():
            start = next(k for k, letter in enumerate(before) if letter > "\x7f")
            beyond = line + before.count("\n", 0, start)
        line += before.count("\n")
        if nul or not is_valid:
            return _Fault(line, bool(nul), beyond)
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _Fault(line, False, beyond)
    return None


def _no_text(text: TextFile, fault: _Fault, first: bytes = b"") -> DataError:
    where = (
        f"`{text.path.name}`, line {fault.line}: a text file must not have NUL bytes, "
        "got"
    )
    # ASCII in UTF-16 has a NUL for every other byte.
    for encoding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
        if first[start::2].count(0) > len(first) // 4:
            return DataError(
                f"{where} one every other byte. It looks like UTF-16 without a byte "
                f"order mark: give `--encoding {encoding}`, or save it again as "
                "UTF-8."
            )
    return DataError(f"{where} one. Remove it, or save the file again as text.")
