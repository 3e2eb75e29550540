"""What an attack is after: a node's Y Y^T and T Y^T of layer 0.

Layer 0 has the inputs, scaled by agreed numbers, and a constant as its features Y. So Y
Y^T holds every product of two columns summed over the node's rows, and T Y^T the rows
of every class, added up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dssfn._typing import Array, Numbers
from dssfn.config import Plan
from dssfn.ensemble.stages import scale_names
from dssfn.ensemble.track import TALLY
from dssfn.ensemble.units import CONSTANT
from dssfn.errors import DataError
from dssfn.exact.bounds import STEPS
from dssfn.exact.gram import Layout, read_products
from dssfn.problem import mirror, unpack
from dssfn.summation import summation_of


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over a node's rows, known or recovered, by the folds that are told apart.

    Parameters
    ----------
    G_by_fold : tuple of arrays of shape (n, n)
        Y Y^T of every fold; of all rows, if no folds are told apart.
    C_by_fold : tuple of arrays of shape (Q, n)
        T Y^T of every fold.
    share : float
        The share of all directions in which Y Y^T is known.
    """

    G_by_fold: tuple[Array, ...]
    C_by_fold: tuple[Array, ...]
    share: float = 1.0

    @property
    def G(self) -> Array:
        """Y Y^T over all rows, of shape (n, n)."""
        total: Array = np.sum(self.G_by_fold, axis=0)
        return total

    @property
    def C(self) -> Array:
        """T Y^T over all rows, of shape (Q, n)."""
        total: Array = np.sum(self.C_by_fold, axis=0)
        return total

    def of_fold(self, fold: int) -> Sums:
        """Return the sums of one fold."""
        return replace(
            self, G_by_fold=(self.G_by_fold[fold],), C_by_fold=(self.C_by_fold[fold],)
        )


@dataclass(frozen=True, slots=True)
class FirstLayer:
    """The features of layer 0 as a plan has them.

    Parameters
    ----------
    plan : Plan
        The plan with nothing left open.
    """

    plan: Plan

    @property
    def n(self) -> int:
        """The number of features."""
        plan = self.plan
        return CONSTANT + plan.n_features if plan.finds_size else plan.inputs_of(0)

    @property
    def inputs(self) -> slice:
        """Where the inputs are among the features."""
        start = CONSTANT if self.plan.finds_size else 0
        return slice(start, start + self.plan.n_features)

    @property
    def constant(self) -> tuple[int, float] | None:
        """Where the constant is among the features, and its value, if there is one."""
        if self.plan.finds_size:
            return 0, 1.0
        return (self.n - 1, self.plan.bias) if self.plan.bias else None

    def features(self, V: Array) -> Array:
        """Return Y (n, J) for scaled inputs V (P, J)."""
        Y: Array = np.empty((self.n, V.shape[1]))
        Y[self.inputs] = V
        if self.constant:
            Y[self.constant[0]] = self.constant[1]
        return Y

    def counts(self, C: Array) -> Array | None:
        """Return how many rows every class has, if there is a constant to tell."""
        return (
            None
            if self.constant is None
            else C[:, self.constant[0]] / (self.constant[1])
        )

    def class_means(self, C: Array) -> Array:
        """Return the mean inputs of every class, (Q, P), as scaled.

        Without a constant nobody knows the number of rows, and these are sums.
        """
        counts = self.counts(C)
        if counts is None:
            return C[:, self.inputs]
        held = np.where(counts == 0, np.inf, counts)
        return C[:, self.inputs] / held[:, None]

    def read(self, values: Numbers) -> Sums:
        """Return the sums that a message of the solver gram holds."""
        plan, Q, n = self.plan, self.plan.n_outputs, self.n
        layout = Layout(Q, n, 0, n)
        size = layout.size if plan.is_exact else Q * n + n * (n + 1) // 2
        rider = 0
        if plan.finds_size:
            per_number = summation_of(plan, 1).per_number
            rider = len(scale_names(plan)) * TALLY * per_number
        n_folds, left = divmod(values.size - rider, size)
        if left or n_folds < 1:
            raise DataError(
                f"A message of layer 0 must have {size} numbers, or a multiple of it, "
                f"and {rider} more; got {values.size}. It belongs to another plan: "
                "give the one that the nodes ran."
            )
        parts = values[: n_folds * size].reshape(n_folds, size)
        if plan.is_exact:
            unit = 1.0 / STEPS**2
            found = [read_products(part, layout) for part in parts]
            return Sums(
                tuple(unit * mirror(one.upper) for one in found),
                tuple(unit * one.C for one in found),
            )
        first, second = (Q * n, 0) if not plan.finds_size else (0, size - Q * n)
        return Sums(
            tuple(unpack(part[first : first + size - Q * n], n) for part in parts),
            tuple(part[second : second + Q * n].reshape(Q, n) for part in parts),
        )


def scaled_error(found: Array | None, truth: Array) -> float:
    """Return the smallest error of what was found over all its multiples.

    It is relative to the norm of the truth: zero if some multiple is the truth, and
    about one for noise, as it is for nothing at all.

    >>> scaled_error(np.array([2.0, 4.0]), np.array([1.0, 2.0]))
    0.0
    >>> scaled_error(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    1.0
    """
    size = float(np.linalg.norm(truth))
    if found is None or not size:
        return 1.0
    largest = float(np.abs(found).max(initial=0.0)) or 1.0
    direction = found / largest
    factor = float(np.vdot(direction, truth)) / max(
        float(np.vdot(direction, direction)), np.finfo(float).tiny
    )
    return float(np.linalg.norm(factor * direction - truth)) / size
