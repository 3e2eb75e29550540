"""The progress of a training: what all nodes have agreed on so far, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dssfn._typing import Array

Stage: TypeAlias = Mapping[str, Array]
"""The agreed arrays of one step of a training, by name. One step solves a layer."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """A training that has finished its first stages, with all it needs to go on.

    Parameters
    ----------
    stages : tuple of Stage
        What was agreed on in each stage; there is at least one.
    iterations : tuple of int
        The averagings that each of them took.
    before : int
        Averagings before the first stage.

    Examples
    --------
    >>> progress = Progress(({"O": np.eye(2)}, {"O": np.zeros((2, 2))}), (1, 4))
    >>> len(progress.first(1).stages), progress.n_averagings, progress.flat().size
    (1, 5, 8)
    """

    stages: tuple[Stage, ...]
    iterations: tuple[int, ...]
    before: int = 0

    @property
    def n_averagings(self) -> int:
        """The number of averagings up to here."""
        return self.before + sum(self.iterations)

    @property
    def layers(self) -> tuple[Stage, ...]:
        """The stages that solved a layer: those that hold an output matrix.

        The last stage of a network that finds its size, its scores, is no layer.
        """
        return tuple(stage for stage in self.stages if "O" in stage)

    @property
    def n_layers(self) -> int:
        """The number of layers that are solved."""
        return len(self.layers)

    def first(self, n_stages: int) -> Progress | None:
        """Return the training as it was with fewer stages; None at its start."""
        if n_stages == 0:
            return None
        stages, iterations = self.stages[:n_stages], self.iterations[:n_stages]
        return Progress(stages, iterations, self.before)

    def then(self, stage: Stage, n_averagings: int) -> Progress:
        """Return the training with one more stage."""
        iterations = (*self.iterations, n_averagings)
        return Progress((*self.stages, stage), iterations, self.before)

    def tensors(self) -> dict[str, Array]:
        """Return all arrays by the name and the number of their stage.

        >>> list(Progress(({"O": np.eye(2), "scale": np.ones(2)},), (1,)).tensors())
        ['O.0', 'scale.0']
        """
        return {
            f"{name}.{number}": np.ascontiguousarray(A)
            for number, stage in enumerate(self.stages)
            for name, A in sorted(stage.items())
        }

    def with_tensors(self, tensors: Mapping[str, Array]) -> Progress:
        """Return the same training with other arrays, as `tensors` returns them."""
        stages: list[dict[str, Array]] = [{} for _ in self.iterations]
        for key, A in tensors.items():
            name, _, number = key.rpartition(".")
            stages[int(number)][name] = A
        return Progress(tuple(stages), self.iterations, self.before)

    def flat(self) -> Array:
        """Return all numbers in one vector."""
        return np.concatenate([A.ravel() for A in self.tensors().values()])

    def with_flat(self, values: Array) -> Progress:
        """Return the same training with other numbers, in the order of `flat`."""
        tensors = self.tensors()
        ends = np.cumsum([A.size for A in tensors.values()])[:-1]
        parts = zip(tensors.items(), np.split(values, ends), strict=True)
        return self.with_tensors(
            {key: part.reshape(A.shape) for (key, A), part in parts}
        )
