"""The samples of one file, chunk by chunk: kept in memory, or read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Label
from dssfn.config import Plan
from dssfn.datasets.checks import changed
from dssfn.datasets.files import open_labelled, open_table
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.sample_file import SampleFile
from dssfn.errors import PlanError
from dssfn.schema import Schema
from dssfn.shard import Rows, class_codes, one_hot

# Of a budget, what its samples may take. The features that a training grows from them
# are many times as large, and are what the budget is for.
_SHARE = 8
_BYTES = 8  # of a feature, and of a class number

Answers: TypeAlias = NDArray[Any]
"""Of every sample its class number, as intp, or the number to predict, as float64."""


def room_in(memory: int | None) -> int | None:
    """Return the bytes of samples that a budget allows to keep; None sets no limit."""
    return None if memory is None else memory // _SHARE


class FileSamples:
    """The samples of one file in chunks, for as many passes as a training needs.

    The first pass reads the file and keeps its features and answers, if they fit; later
    passes come from memory. A larger file is read again in every pass, and only
    some megabytes of it are held at a time, whatever its length.

    Parameters
    ----------
    path : str or Path
        A data file, as in `read_table`. Unless its samples are kept, it must not change
        as long as this object is used.
    target : str, optional
        The column of labels, or the array of labels in an NPZ file, there by default
        `y`.
    classes : sequence of labels
        The agreed classes; row q of the targets is for class q. The file may lack some
        of them, but must hold no others.
    features : sequence of str, optional
        These columns are taken by name, in this order; by default all but the target,
        in the order of the file. NPZ has no names; there only their number is checked.
    n_features : int, optional
        How many features there must be.
    memory : int, optional
        The budget in bytes of the node that trains on the samples. They are kept if
        they take at most an eighth of it, at 8 bytes a feature and 8 a label. The
        training plans with the whole budget, so that the two together may exceed it by
        that eighth. By default nothing limits them and they are kept.
    options : ReadOptions
        Which columns to take, and how the file is written, as in `read_table`.

    Raises
    ------
    DataError
        As in `read_labelled`, and if the file is read again and has changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("width,kind\\n1.5,b\\n2,a\\n4,b\\n")
    ...     samples = FileSamples(path, target="kind", classes=["a", "b"])
    ...     [rows.X.tolist() for rows in samples.chunks(2)]
    [[[1.5, 2.0]], [[4.0]]]
    """

    def __init__(
        self,
        path: str | Path,
        *,
        target: str | None = None,
        classes: Sequence[Label],
        features: Sequence[str] | None = None,
        n_features: int | None = None,
        memory: int | None = None,
        options: ReadOptions = ALL,
    ) -> None:
        room = room_in(memory)
        self._use(
            open_labelled(
                path,
                target,
                features=features,
                n_features=n_features,
                options=options,
                room=room,
            ),
            classes,
            room,
        )

    @classmethod
    def of_file(
        cls,
        file: SampleFile,
        classes: Sequence[Label] | None,
        *,
        memory: int | None = None,
    ) -> Self:
        """Return the samples of a labelled file that is open.

        Without classes its labels are numbers to be predicted.
        """
        samples = cls.__new__(cls)
        samples._use(file, classes, room_in(memory))
        return samples

    def _use(
        self, file: SampleFile, classes: Sequence[Label] | None, room: int | None
    ) -> None:
        self._file = file
        self._classes = None if classes is None else tuple(classes)
        if self._classes is not None and (
            not self._classes or len(set(self._classes)) < len(self._classes)
        ):
            raise PlanError(
                f"`classes` must be given and differ, got {self._classes[:8]}."
            )
        n_bytes = self.n_samples * (self.n_features + 1) * _BYTES
        self._fits = room is None or n_bytes <= room
        self._kept: list[tuple[Array, Answers]] | None = None

    @classmethod
    def of_plan(
        cls,
        path: str | Path,
        target: str | None,
        plan: Plan,
        *,
        memory: int | None = None,
        options: ReadOptions = ALL,
    ) -> Self:
        """Return samples with the features and classes that all nodes agreed on."""
        if plan.schema is not None:
            return cls.of_schema(path, plan.schema, memory=memory, options=options)
        return cls(
            path,
            target=target,
            classes=plan.classes,
            features=plan.feature_names,
            n_features=plan.n_features,
            memory=memory,
            options=options,
        )

    @classmethod
    def of_schema(
        cls,
        path: str | Path,
        schema: Schema,
        *,
        memory: int | None = None,
        options: ReadOptions = ALL,
    ) -> Self:
        """Return the samples of a table with the columns that a schema explains."""
        room = room_in(memory)
        file = open_table(path, schema, is_labelled=True, options=options, room=room)
        assert schema.target is not None  # the file was opened with it
        has_classes = schema.target.kind == "class"
        classes = schema.target.classes if has_classes else None
        return cls.of_file(file, classes, memory=memory)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The columns that are taken, in this order; None for NPZ."""
        return self._file.feature_names

    @property
    def dialect(self) -> str:
        """How the file is written; empty for formats that have but one way."""
        return self._file.dialect

    @property
    def n_features(self) -> int:
        """The number of features, P."""
        return self._file.n_features

    @property
    def n_outputs(self) -> int:
        """The number of classes, Q; one if the labels are numbers."""
        return 1 if self._classes is None else len(self._classes)

    @property
    def n_samples(self) -> int:
        """The number of samples, J."""
        return self._file.n_samples

    @property
    def has_gaps(self) -> bool:
        """Whether numbers may be missing, as a schema says."""
        return self._file.has_gaps

    @property
    def weight(self) -> float:
        """The number of samples: the samples of a file have no weights."""
        return float(self.n_samples)

    def chunks(self, size: int) -> Iterator[Rows]:
        """Yield samples and targets in file order; each call is a new pass.

        Parameters
        ----------
        size : int
            Number of samples in every chunk but the last, which holds the rest.

        Yields
        ------
        Rows
            X (P, c), float64 and C-contiguous, which the caller may keep and change;
            T (Q, c), one-hot, or the numbers to predict; no weights.
        """
        if size < 1:
            raise PlanError(f"`size` must be at least 1, got {size}.")
        return self._chunks(size)

    def _chunks(self, size: int) -> Iterator[Rows]:
        """Fill chunks of equal width from blocks of any width."""
        left = self.n_samples  # not yet in a chunk that was begun
        X, y, filled = self._empty(0), self._no_answers(0), 0
        for block_X, block_y in self._blocks():
            start = 0
            while start < len(block_y):
                if filled == len(y):  # begin the next chunk
                    if left == 0:
                        raise changed(self._file.path.name)
                    X, filled = self._empty(min(size, left)), 0
                    y = self._no_answers(X.shape[1])
                    left -= len(y)
                end = min(len(block_y), start + len(y) - filled)
                into = slice(filled, filled + end - start)
                X[:, into] = block_X[:, start:end]
                y[into] = block_y[start:end]
                start, filled = end, into.stop
                if filled == len(y):
                    yield Rows(X, self._targets(y))
        if left or filled < len(y):
            raise changed(self._file.path.name)

    def _blocks(self) -> Iterator[tuple[Array, Answers]]:
        """Yield all samples and their answers, from memory or from the file."""
        if self._kept is not None:
            yield from self._kept
            return
        read = []
        for block in self._file.blocks():
            if len(block.X) != self.n_features:
                raise changed(block.source.name)
            assert block.labels is not None  # the file was opened with a target
            y = block.labels
            if self._classes is not None:
                y = class_codes(y, self._classes, block.source.at)
            if self._fits:
                read.append((block.X, y))
            yield block.X, y
        if self._fits:
            self._kept = read

    def _targets(self, y: Answers) -> Array:
        if self._classes is None:
            numbers: Array = y[None]
            return numbers
        return one_hot(y, self.n_outputs)

    def _empty(self, width: int) -> Array:
        return np.empty((self.n_features, width))

    def _no_answers(self, width: int) -> Answers:
        return np.empty(width, np.float64 if self._classes is None else np.intp)
