"""A store of chunks of arrays between two passes: in memory, or in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Protocol, TypeAlias

import numpy as np

from dssfn._typing import Numbers
from dssfn.errors import DataError

Chunk: TypeAlias = tuple[Numbers | None, ...]


class ChunkStore(Protocol):
    """Keeps chunks by their number; a new chunk replaces an old one."""

    def put(self, k: int, chunk: Chunk) -> None:
        """Keep chunk k, whose size never changes once it is there."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks in order."""

    def close(self) -> None:
        """Free the memory or the file."""

    @property
    def n_bytes(self) -> int:
        """The bytes that all chunks take."""


class InMemory:
    """A store of chunks in memory."""

    def __init__(self) -> None:
        self._parts: dict[int, Chunk] = {}

    def put(self, k: int, chunk: Chunk) -> None:
        """Keep chunk k."""
        self._parts[k] = chunk

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks in order."""
        for k in range(len(self._parts)):
            yield self._parts[k]

    def close(self) -> None:
        """Forget all chunks."""
        self._parts.clear()

    @property
    def n_bytes(self) -> int:
        """The bytes that all chunks take."""
        arrays = (A for part in self._parts.values() for A in part if A is not None)
        return sum(A.nbytes for A in arrays)


class InFile:
    """A store of chunks in a file, read and written, not mapped, to bound memory."""

    def __init__(self) -> None:
        self._file: FileIO = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._empty: list[Callable[[], Chunk]] = []  # chunk k's arrays
        self._offsets = [0]

    def put(self, k: int, chunk: Chunk) -> None:
        """Write chunk k to its place."""
        arrays = [values for values in chunk if values is not None]
        if k == len(self._empty):
            self._empty.append(_allocator(chunk))
            n_bytes = sum(values.nbytes for values in arrays)
            self._offsets.append(self._offsets[-1] + n_bytes)
        try:
            self._file.seek(self._offsets[k])
            for values in arrays:
                left = np.ascontiguousarray(values).data.cast("B")
                while left:  # a raw file may take less than it is given
                    left = left[self._file.write(left) :]
        except OSError as exc:
            raise DataError(
                f"Temporary data could not be written to `{tempfile.gettempdir()}` "
                f"({exc.strerror}). Set TMPDIR to a folder with more space, or raise "
                "`memory`."
            ) from exc

    def chunks(self) -> Iterator[Chunk]:
        """Yield all chunks in order."""
        for offset, empty in zip(self._offsets, self._empty, strict=False):
            self._file.seek(offset)
            chunk = empty()
            for values in chunk:
                left = memoryview(b"") if values is None else values.data.cast("B")
                while left:
                    n_read = self._file.readinto(left)
                    assert n_read  # what was written can be read
                    left = left[n_read:]
            yield chunk

    def close(self) -> None:
        """Remove the file, which has no name."""
        self._file.close()

    @property
    def n_bytes(self) -> int:
        """The bytes that all chunks take."""
        return self._offsets[-1]


def _allocator(chunk: Chunk) -> Callable[[], Chunk]:
    """Return a function that makes arrays of the same sizes, and keeps none."""
    kinds = [None if A is None else (A.shape, A.dtype) for A in chunk]
    return lambda: tuple(None if kind is None else np.empty(*kind) for kind in kinds)
