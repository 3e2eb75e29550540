"""What a training computes with: real numbers, or integers whose sums are exact."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Numbers
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.ridge import Sums
from dssfn.sum_bounds import SumBounds
from dssfn.summation import Summation


class Accumulator(Protocol):
    """Sums of products of some features over a node's samples."""

    def add(
        self,
        F: Any,
        T: Array,
        S: Array,
        weights: Array | None,
        rows: NDArray[np.intp],
    ) -> None:
        """Add some samples: features, targets, scores so far, and weights."""

    def merge(self, other: Self) -> None:
        """Add the samples of other sums."""

    def write(self, into: Numbers) -> None:
        """Write the sums as a message carries them."""


class Arithmetic(Protocol):
    """The features of members, and their sums.

    Features F and inputs A of units are whatever an arithmetic makes of them. Scores,
    targets and output matrices are real numbers; an arithmetic that is exact rounds
    them to where their products with features are.
    """

    @property
    def is_exact(self) -> bool:
        """Whether sums do not depend on the order in which samples are added."""

    @property
    def summation(self) -> Summation:
        """How other numbers are summed over samples and nodes."""

    def targets(self, T: Array) -> Array:
        """Return targets as they are used."""

    def centres(self, levels: Array) -> Array:
        """Return the means of scores as they are used."""

    def linear(self, V: Array) -> Any:
        """Return the features of layer 0: a constant and the scaled inputs V (P, c)."""

    def first_inputs(self, V: Array) -> Any:
        """Return the inputs of the units of layer 1, from scaled inputs."""

    def next_inputs(self, F: Any, S: Array, mean: Array, deviation: Array) -> Any:
        """Return the inputs of the next layer's units: units and scores, standardised.

        Parameters
        ----------
        F : features
            Those of this layer.
        S : array of shape (Q, c)
            The scores after this layer.
        mean, deviation : arrays of shape (width + Q,)
            Of the units and the scores, over the member's training samples.
        """

    def widened(
        self,
        F: Any | None,
        S: Array,
        centre: Array,
        A: Any,
        key: tuple[int, int],
        width: int,
    ) -> Any:
        """Return the features of a hidden layer with more units than it has.

        Parameters
        ----------
        F : features, optional
            Those that it has.
        S, centre : arrays of shape (Q, c) and (Q,)
            The scores so far, and their mean over the member's training samples.
        A : inputs
            Those of the units.
        key : tuple of int
            Layer and member.
        width : int
            The number of units.
        """

    def narrowed(self, F: Any, width: int) -> Any:
        """Return the features of a hidden layer with its first units only."""

    def advanced(self, S: Array, O: Array, F: Any) -> Array:
        """Return the scores S + O F."""

    def tried(self, S: Array, outputs: Array, F: Any, rows: NDArray[np.intp]) -> Array:
        """Return the scores of some samples for every output matrix, (.., Q, n)."""

    def sums(self, layer: int, first: int, n: int) -> Accumulator:
        """Return sums of features `first` to n, by all features, over no samples."""

    def size(self, layer: int, first: int, n: int) -> int:
        """Return how many numbers such sums take in a message."""

    def bounds(self, layer: int, first: int, n: int) -> SumBounds | None:
        """Return the bounds of such sums, if they can be held to some."""

    def read(
        self, numbers: Numbers, layer: int, first: int, n: int, old: Sums | None = None
    ) -> Sums:
        """Return the sums over all nodes; `old` has those of the features before."""

    def gains(self, layer: int, n: int) -> Array:
        """Return what features are multiplied by before a ridge is put on, (n,)."""

    def rounded(self, path: Array, layer: int) -> Array:
        """Return output matrices (.., Q, n) that are tried on validation samples."""

    def settled(
        self, layer: int, sums: Sums, pull: Pull, guess: Array, gains: Array
    ) -> Array:
        """Return the output matrix of a layer, for the ridge that was chosen.

        Parameters
        ----------
        layer : int
            Zero, or any other number for a hidden layer.
        sums : Sums
            The agreed sums.
        pull : Pull
            The ridge.
        guess : array of shape (Q, n)
            The output matrix that was tried.
        gains : array of shape (n,)
            What features are multiplied by before the ridge is put on.
        """
