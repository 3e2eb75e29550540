"""NPZ archives: named arrays, read whole or by rows, and never unpickled.

What an archive says of its arrays is checked before any memory is taken for them.
"""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from dssfn.datasets.checks import CHARACTER, Source, check_text_length
from dssfn.errors import DataError
from dssfn.hints import listing, reason

# How a damaged archive makes itself known, or one that is encrypted (a RuntimeError) or
# of a later version (a NotImplementedError, which is one too).
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
_MOST_ARRAYS = 1000
_LONGEST_HEADER = 10_000  # bytes; numpy writes some hundred, and parses no more
_ARRAY = b"\x93NUMPY"  # how a bare array begins
_ARCHIVES = b"PK\x03\x04", b"PK\x05\x06"  # and an archive, the second an empty one


def read_npz(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """Return arrays of an NPZ archive by name, never unpickling anything.

    Parameters
    ----------
    path : Path
        An existing file.
    required, optional : tuple of str
        The arrays to read; one of `required` that is not there is a `DataError`.
    """
    with _open_npz(path) as archive:
        _require(archive, required, path)
        wanted = [name for name in required + optional if name in archive.files]
        return {name: _member(archive, name, path) for name in wanted}


def npz_names(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays in an NPZ archive."""
    with _open_npz(path) as archive:
        return tuple(archive.files)


@dataclass(frozen=True, slots=True)
class Header:
    """The description of one array in an NPZ archive, before its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_rows: bool  # one row after the other; Fortran's order is by columns


def npz_headers(path: Path, required: tuple[str, ...]) -> dict[str, Header]:
    """Return shapes and types of arrays in an NPZ archive, without their values."""
    headers = {}
    with _open_npz(path) as archive:
        _require(archive, required, path)
        for name in required:
            with _member_errors(path, name), _open_member(archive, name) as stream:
                headers[name] = _header(stream, _size(archive, name))
    return headers


def npz_rows(path: Path, name: str, n_rows: int) -> Iterator[NDArray[Any]]:
    """Yield one array of an NPZ archive, some rows at a time.

    Each member of the archive is one stream, compressed or not, so that no more than
    `n_rows` rows are ever held.
    """
    with (
        _open_npz(path) as archive,
        _member_errors(path, name),
        _open_member(archive, name) as stream,
    ):
        header = _header(stream, _size(archive, name))
        left, *row = header.shape
        row_bytes = math.prod(row) * header.dtype.itemsize
        while left > 0:
            count = min(n_rows, left)
            raw = stream.read(count * row_bytes)
            if len(raw) < count * row_bytes:
                raise EOFError(f"array `{name}` ends early")
            yield np.frombuffer(raw, dtype=header.dtype).reshape(count, *row)
            left -= count


@contextmanager
def _open_npz(path: Path) -> Iterator[NpzFile]:
    with ExitStack() as stack:
        try:
            # Opened here, because numpy leaves a damaged file open.
            file = stack.enter_context(path.open("rb"))
            _check_start(path, file.read(len(_ARRAY)))
            file.seek(0)
            archive: NpzFile = np.load(file, allow_pickle=False)
        except DataError:
            raise
        except _DAMAGE as exc:
            raise _damaged(path, reason(exc)) from exc
        if len(archive.files) > _MOST_ARRAYS:
            raise DataError(
                f"`{path.name}` must hold at most {_MOST_ARRAYS} arrays, "
                f"got {len(archive.files)}."
            )
        yield archive


def _check_start(path: Path, start: bytes) -> None:
    """Refuse what is no archive: numpy would take it for an array or a pickle."""
    if start == _ARRAY:
        raise DataError(
            f"`{path.name}` holds one bare array, not a named set of arrays. "
            "Write it with `numpy.savez`."
        )
    if not start.startswith(_ARCHIVES):
        raise _damaged(path, "unknown format")


def _require(archive: NpzFile, required: tuple[str, ...], path: Path) -> None:
    for name in required:
        if name not in archive.files:
            raise DataError(
                f"`{path.name}` has no array `{name}`, only {listing(archive.files)}. "
                f"It must hold {listing(required)}."
            )


def _member(archive: NpzFile, name: str, path: Path) -> NDArray[Any]:
    with _member_errors(path, name):
        with _open_member(archive, name) as stream:
            dtype = _header(stream, _size(archive, name)).dtype
        if dtype.kind == "U":
            check_text_length(dtype.itemsize // CHARACTER, Source(path.name), name=name)
        return np.asarray(archive[name])


@contextmanager
def _member_errors(path: Path, name: str) -> Iterator[None]:
    """Turn whatever goes wrong while an array is read into a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except _DAMAGE as exc:
        if "allow_pickle" not in str(exc):
            raise _damaged(path, reason(exc)) from exc
        raise _holds_objects(path, name) from exc


def _open_member(archive: NpzFile, name: str) -> IO[bytes]:
    return _zip_of(archive).open(_full_name(archive, name))


def _size(archive: NpzFile, name: str) -> int:
    """Return how many bytes an array has, its header included."""
    return _zip_of(archive).getinfo(_full_name(archive, name)).file_size


def _full_name(archive: NpzFile, name: str) -> str:
    return name if name in _zip_of(archive).namelist() else f"{name}.npy"


def _zip_of(archive: NpzFile) -> zipfile.ZipFile:
    files = archive.zip
    assert files is not None  # it is as long as the archive is open
    return files


def _header(stream: IO[bytes], size: int) -> Header:
    """Read the start of an array; the stream is then at its first value.

    Nothing that it says is believed that does not fit the size of the whole.
    """
    version = np.lib.format.read_magic(stream)
    length = stream.read(2 if version == (1, 0) else 4)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > _LONGEST_HEADER:
        raise ValueError(f"an array header of {n_bytes} bytes")
    text = io.BytesIO(length + stream.read(n_bytes))
    # Version 3 differs from 2 only in allowing field names beyond Latin-1.
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read(text)
    if dtype.hasobject:
        raise ValueError("allow_pickle is never given")
    if any(n < 0 for n in shape):
        raise ValueError(f"shape {shape}")
    start = np.lib.format.MAGIC_LEN + len(length) + n_bytes
    if start + math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"shape {shape} does not fit {size - start} bytes")
    in_one_line = sum(n > 1 for n in shape) < 2  # then both orders are one
    return Header(shape, dtype, by_rows=in_one_line or not fortran)


def _holds_objects(path: Path, name: str) -> DataError:
    return DataError(
        f"`{path.name}`: array `{name}` holds Python objects, which could run code "
        "when read. Write it with `numpy.savez` from arrays of numbers or text."
    )


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"`{path.name}` is damaged or not an NPZ archive ({why}). Write it again with "
        "`numpy.savez`."
    )
