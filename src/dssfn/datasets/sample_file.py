"""The interface of data files of any format: their samples, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.datasets.checks import Source


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some samples that follow each other in a file."""

    X: Array  # (P, c), in any order in memory
    labels: NDArray[Any] | None  # (c,) as text, bool or int64; None without a target
    source: Source  # names the c samples
    ids: list[str] | None = None  # (c,) what the file calls them, if it was asked


class SampleFile(Protocol):
    """A file that can be read again and again, some samples at a time."""

    path: Path
    target: str | None
    n_samples: int
    n_features: int
    feature_names: tuple[str, ...] | None
    has_gaps: bool
    """Whether features may be missing, as NaN."""
    dialect: str
    """How it is written, where a format has several ways; a line for people."""

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield all labels of a file that was opened with a target, some at a time."""

    def blocks(self) -> Iterator[Block]:
        """Yield all samples, some at a time."""

    def not_numbers(self) -> tuple[str, ...]:
        """Return the features that hold text or anything else that is no number."""

    def in_order(self, features: Sequence[str]) -> Self:
        """Return the same open file, its features in this order if they have names."""
