"""The samples of a table whose target is a number, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dssfn.datasets.files import open_table
from dssfn.datasets.samples import room_in
from dssfn.schema import Schema
from dssfn.shard import Rows


class NumberSamples:
    """The samples of one table, with a number to be predicted; read in every pass.

    Parameters
    ----------
    path : str or Path
        A file of named columns.
    schema : Schema
        What they mean; its target is a number.
    memory : int, optional
        The budget in bytes, as in `FileSamples`.

    Examples
    --------
    >>> import tempfile
    >>> from dssfn.schema import Column, Target
    >>> age = Column(name="age", kind="number", missing=True)
    >>> days = Target(column="days", kind="number")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("age,days\\n61,3\\n,4.5\\n")
    ...     samples = NumberSamples(path, Schema(columns=(age,), target=days))
    ...     [rows.T.tolist() for rows in samples.chunks(10)]
    [[[3.0, 4.5]]]
    """

    n_outputs = 1

    def __init__(
        self, path: str | Path, schema: Schema, *, memory: int | None = None
    ) -> None:
        self._file = open_table(path, schema, is_labelled=True, room=room_in(memory))
        self.n_features = self._file.n_features
        self.n_samples = self._file.n_samples

    @property
    def weight(self) -> float:
        """The number of samples: those of a file have no weights."""
        return float(self.n_samples)

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield at most `size` samples at a time, in file order."""
        for block in self._file.blocks():
            assert block.labels is not None  # the file was opened with a target
            T = np.asarray(block.labels, dtype=np.float64)[None]
            for start in range(0, T.shape[1], size):
                some = slice(start, start + size)
                yield Rows(block.X[:, some], T[:, some])
