"""What every node computes from agreed sums: the solutions of a layer, for all members.

Members are independent, so they are solved side by side on all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dssfn._typing import Array, Numbers
from dssfn.cores import n_cores
from dssfn.ensemble.arithmetic import Arithmetic
from dssfn.ensemble.choices import Pull
from dssfn.ensemble.ridge import Sums, next_moments, ridge_path
from dssfn.ensemble.units import CONSTANT
from dssfn.network import SUMMATION_ERROR

Task = TypeVar("Task")

LARGE = 64  # features, from which on a second thread is worth starting


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A layer, solved for all ridges.

    Parameters
    ----------
    sums : tuple of Sums
        The sums of every member.
    paths : tuple of arrays of shape (n_pulls, Q, n)
        The output matrices of every member, by ridge.
    gains : array of shape (n,)
        What the features were multiplied by before a ridge was put on.
    """

    sums: tuple[Sums, ...]
    paths: tuple[Array, ...]
    gains: Array

    def levels(self) -> Array:
        """Return what the constant alone would predict, (K, Q)."""
        return np.stack([sums.level[:, 0] for sums in self.sums])


def solve_linear(
    arithmetic: Arithmetic,
    numbers: Numbers,
    n_members: int,
    n: int,
    scales: tuple[tuple[float, ...], ...],
    pulls: tuple[Pull, ...],
    has_classes: bool,
) -> tuple[tuple[Solved, ...], tuple[int, int]]:
    """Solve layer 0 for every scale of the inputs, and see what the folds lack.

    Parameters
    ----------
    arithmetic : Arithmetic
        Reads the message.
    numbers : array
        The sums by fold, the last of which may be one that no member leaves out.
    n_members, n : int
        The number of members, K, and that of features.
    scales : tuple of tuples
        What the inputs are multiplied by before a ridge is put on.
    pulls : tuple of Pull
        The ridges to solve for.
    has_classes : bool
        Whether the targets are classes.

    Returns
    -------
    tuple of Solved
        By scale.
    tuple of int
        How many members leave no sample out, and how many are trained without any
        sample of some class.
    """
    parts = numbers.reshape(n_members + 1, -1)
    total = parts.sum(axis=0)
    folds = [arithmetic.read(part, 0, 0, n) for part in parts]
    members = [arithmetic.read(total - parts[k], 0, 0, n) for k in range(n_members)]
    found = []
    for scale in scales:
        gains = np.concatenate([np.ones(CONSTANT), scale])
        found.append(_solve(arithmetic, 0, members, pulls, gains))
    return tuple(found), _gaps(folds, members, has_classes=has_classes)


def _gaps(
    folds: Sequence[Sums], members: Sequence[Sums], *, has_classes: bool
) -> tuple[int, int]:
    """Return how many members leave no sample out, and how many miss a class."""
    if len(members) == 1:
        return 0, 0  # trained on all samples
    unvalidated = sum(folds[k].weight <= 0 for k in range(len(members)))
    if not has_classes:
        return unvalidated, 0
    # The targets by the constant: the weight of each class.
    total = np.sum([fold.C[:, 0] for fold in folds], axis=0)
    trained = np.stack([member.C[:, 0] for member in members])
    misses = (total > 0) & (trained <= SUMMATION_ERROR * total)
    return unvalidated, int(np.count_nonzero(misses.any(axis=1)))


def solve_hidden(
    arithmetic: Arithmetic,
    numbers: Numbers,
    n_members: int,
    border: tuple[int, int],
    old: Solved | None,
    pulls: tuple[Pull, ...],
) -> Solved:
    """Solve a hidden layer; with `old`, the message has new rows of wider sums.

    Parameters
    ----------
    arithmetic : Arithmetic
        Reads the message.
    numbers : array
        The sums by member.
    n_members : int
        K.
    border : tuple of int
        The first of the features that the message is about, and the end.
    old : Solved, optional
        The layer before it was made wider.
    pulls : tuple of Pull
        The ridges to solve for.
    """
    parts = numbers.reshape(n_members, -1)
    before = old.sums if old else (None,) * n_members
    sums = [
        arithmetic.read(part, 1, *border, narrow)
        for part, narrow in zip(parts, before, strict=True)
    ]
    return _solve(arithmetic, 1, sums, pulls, arithmetic.gains(1, border[1]))


def settle(
    arithmetic: Arithmetic, layer: int, solved: Solved, choice: int, pull: Pull
) -> tuple[Array, ...]:
    """Return the output matrices of all members for the ridge that was chosen."""

    def one(member: tuple[Sums, Array]) -> Array:
        sums, path = member
        return arithmetic.settled(layer, sums, pull, path[choice], solved.gains)

    members = zip(solved.sums, solved.paths, strict=True)
    return tuple(_side_by_side(len(solved.gains))(one, members))


def moments_of(solved: Solved, outputs: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return means and deviations of units and scores of all members, (K, width + Q).

    The means of the scores are counted from the members' centres.
    """
    moments = map(next_moments, solved.sums, outputs)
    means, deviations = zip(*moments, strict=True)
    return np.stack(means), np.stack(deviations)


def training_cost(solved: Solved, cost_before: float) -> float:
    """Return the squared error on the training samples of one member.

    It is that of the layer before, less what O takes off, in units of the sums; of an
    error that vanishes, rounding is all that such a difference could tell.
    """
    (sums,), (path,) = solved.sums, solved.paths
    O, H = path[0], sums.whole()
    cost = float(cost_before - 2 * np.sum(O * sums.C) + np.sum(O @ H * O))
    return max(cost, SUMMATION_ERROR * cost_before)


def _solve(
    arithmetic: Arithmetic,
    layer: int,
    sums: list[Sums],
    pulls: tuple[Pull, ...],
    gains: Array,
) -> Solved:
    def one(sums: Sums) -> Array:
        path = ridge_path(sums.scaled(gains), pulls) * gains
        return arithmetic.rounded(path, layer)

    paths = _side_by_side(len(gains))(one, sums)
    return Solved(tuple(sums), tuple(paths), gains)


def _side_by_side(
    n: int,
) -> Callable[[Callable[[Task], Array], Iterable[Task]], Iterable[Array]]:
    """Return a `map` that uses all cores where matrices are large enough."""
    if n < LARGE or n_cores() == 1:
        return map

    def run(function: Callable[[Task], Array], many: Iterable[Task]) -> list[Array]:
        with ThreadPoolExecutor(n_cores()) as pool:
            return list(pool.map(function, many))

    return run
