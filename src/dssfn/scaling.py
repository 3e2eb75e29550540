"""Mean and deviation of every feature, agreed on over the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers
from dssfn.errors import DataError
from dssfn.exact.bounds import MOST_NODE_SAMPLES, MOST_SAMPLES, check_samples
from dssfn.exact.limbs import N_LIMBS, ExactTally
from dssfn.exact.tally_bounds import TallyBounds
from dssfn.network import SUMMATION_ERROR
from dssfn.programs import Message, Program
from dssfn.shard import Rows
from dssfn.sum_bounds import CountBounds, JoinedBounds

NO_WEIGHT = (
    "`sample_weight` must be positive for some samples; it is zero for those of all "
    "nodes."
)

ONE: Array = np.ones(1)
LARGEST, SMALLEST = 2.0**127, 2.0**-118  # squares of them still have their digits

Weighted: TypeAlias = tuple[Array, Array | None]  # features (P, c) and weights (c,)


class Moments(NamedTuple):
    """The agreed moments of some features, over the samples that have them.

    Parameters
    ----------
    weight : float
        The mean over the nodes of their samples' weight.
    shift : array of shape (P,)
        The mean of every feature; zero if no sample has it.
    scale : array of shape (P,)
        Its standard deviation; one if it is constant.
    constant : array of shape (P,)
        Whether it is.
    """

    weight: float
    shift: Array
    scale: Array
    constant: NDArray[np.bool_]


def agree_scaling(
    rows: Callable[[], Iterable[Weighted]], weight: float, *, has_gaps: bool = False
) -> Program[Moments]:
    """Agree on mean and standard deviation of every feature over the network.

    Two passes, so that a large mean does not drown a small deviation. The third average
    makes the nodes' results equal to rounding, which two averages that are only as
    accurate as asked for do not: scaled differently on every node, data of low rank
    would gain directions that they do not have.

    Parameters
    ----------
    rows : callable
        Returns samples and their weights, (P, c) at a time.
    weight : float
        The sum of this node's weights: without weights, the number of its samples.
    has_gaps : bool
        Whether numbers may be missing, as NaN.
    """

    def first(X: Array, weights: Array | None) -> Array:
        if not has_gaps:
            return _sum(X, weights)
        values, there = _without_gaps(X)
        return np.concatenate([_sum(values, weights), _sum(there, weights)])

    total = sum((first(X, weights) for X, weights in rows()), np.zeros(()))
    means = yield Message.of(np.concatenate([[weight], total]))
    if not means[0] > 0:
        raise DataError(NO_WEIGHT)
    sums, counted = _halves(means[1:]) if has_gaps else (means[1:], means[:1])
    counted = np.where(counted > 0, counted, 1.0)
    rough = sums / counted

    def second(X: Array, weights: Array | None) -> Array:
        D = X - rough[:, None]
        return _moments(_without_gaps(D)[0] if has_gaps else D, weights)

    mine = sum((second(X, weights) for X, weights in rows()), np.zeros(()))
    moments = yield Message.of(mine)
    rest, squares = (half / counted for half in _halves(moments))
    found = _moments_of(float(means[0]), rough, rest, squares)
    agreed = yield Message.of(np.concatenate([found.shift, found.scale]))
    shift, scale = _halves(agreed)
    return found._replace(shift=shift, scale=scale)


class _Place(NamedTuple):
    """How a message names a feature, and what else helps if it is one of a training."""

    names: Sequence[str] | None
    of_training: bool

    def of(self, is_wrong: NDArray[np.bool_]) -> tuple[str, str]:
        """Return the first feature that is wrong, and the other way out."""
        feature = int(np.flatnonzero(is_wrong)[0])
        column = feature + 1 if self.names is None else f"`{self.names[feature]}`"
        other_way = ', or use `units = "dense"`' if self.of_training else ""
        return f"Column {column}", other_way


def agree_exact_scaling(
    rows: Callable[[], Iterable[Weighted]],
    n: int,
    n_threads: int = 1,
    *,
    has_gaps: bool = False,
    names: Sequence[str] | None = None,
    of_training: bool = True,
    n_shares: int = 0,
    is_elastic: bool = False,
) -> Program[Moments]:
    """Agree on mean and standard deviation of n features, exactly.

    No bit of them depends on who holds which sample; the weight is that of all nodes.

    Parameters
    ----------
    rows : callable
        Returns samples and their weights, (n, c) at a time.
    n, n_threads : int
        The number of features, and how many threads take samples.
    has_gaps : bool
        Whether numbers may be missing, as NaN.
    names : sequence of str, optional
        What the features are called in messages; by default they are numbered.
    of_training : bool
        Whether they are those of a training, which may do without exact sums.
    n_shares : int
        The last features, which lie between zero and one as those of classes do.
    is_elastic : bool
        Whether nodes may come and go between the first sums and the second. Then the
        moments are those of the nodes that were there for the second.
    """
    place = _Place(names, of_training)

    def first(X: Array, weights: Array | None) -> Integers:
        values, there = _without_gaps(X) if has_gaps else (X, X[:0])
        _check(values, place)
        tally = ExactTally(1 + len(values) + len(there))
        tally.add(np.vstack([np.ones(X.shape[1]), values, there]), weights)
        return tally.numbers()

    mine = _total(first, rows(), n_threads)
    message = Message.of(mine, _first_bounds(n, n_shares, has_gaps=has_gaps))
    weight, *sums = ExactTally.read((yield message))
    if not weight > 0:
        raise DataError(NO_WEIGHT)
    counted: Array = np.array(sums[n:]) if has_gaps else np.full(n, weight)
    counted[counted <= 0] = 1.0  # of a feature that no sample has
    rough: Array = np.array(sums[:n]) / counted
    rounding = SUMMATION_ERROR * np.abs(rough)[:, None]

    def second(X: Array, weights: Array | None) -> Integers:
        D = X - rough[:, None]
        if has_gaps:
            D, _ = _without_gaps(D)
        tally = ExactTally(2 * n + is_elastic)
        ones = np.ones((int(is_elastic), X.shape[1]))
        tally.add(np.vstack([D, D**2, ones]), weights)
        counts = True if weights is None else weights > 0
        # How many samples are not at the mean.
        apart = np.count_nonzero((np.abs(D) > rounding) & counts, axis=1)
        return np.concatenate([tally.numbers(), apart])

    mine = _total(second, rows(), n_threads)
    known = math.inf if is_elastic else float(weight)
    reply = yield Message.of(mine, _second_bounds(n, n_shares, known, is_elastic))
    about_mean = ExactTally.read(reply[:-n])
    if is_elastic:
        about_mean, weight_then = about_mean[:-1], float(about_mean[-1])
        if not weight_then > 0:
            raise DataError(NO_WEIGHT)
        counted, weight = counted * (weight_then / weight), weight_then
    rest, squares = (half / counted for half in _halves(about_mean))
    found = _moments_of(float(weight), rough, rest, squares)
    _check_deviations(found, squares, reply[-n:], place)
    return found


def _first_bounds(n: int, n_shares: int, *, has_gaps: bool) -> TallyBounds:
    """Return the bounds of the weight, the sums, and the weights that have no gap.

    Numbers are below 2^127, see `_check`.
    """
    high: Array = np.full(1 + n, LARGEST)
    high[1 + n - n_shares :] = 1.0
    low = -high
    low[1 + n - n_shares :] = 0.0
    low[0], high[0] = 1.0, 1.0
    there = n if has_gaps else 0
    return TallyBounds(
        np.append(low, np.zeros(there)),
        np.append(high, np.ones(there)),
        is_stated=True,
    )


def _second_bounds(
    n: int, n_shares: int, weight: float, is_elastic: bool
) -> JoinedBounds:
    """Return the bounds of sums about the mean, of their squares, and of counts.

    A mean is no larger than the largest number, so that none is twice that away. Where
    nodes come and go, the weight of the samples follows the squares.
    """
    apart: Array = np.full(n, 2 * LARGEST)
    apart[n - n_shares :] = 1.0
    ones = np.ones(int(is_elastic))
    low = np.concatenate([-apart, np.zeros(n), ones])
    moments = TallyBounds(low, np.concatenate([apart, apart**2, ones]), weight)
    return JoinedBounds([(len(low) * N_LIMBS, moments), (n, CountBounds(MOST_SAMPLES))])


def _without_gaps(X: Array) -> tuple[Array, Array]:
    """Return numbers with zeros where they are missing, and whether they are there."""
    is_gap = np.isnan(X)
    return np.where(is_gap, 0.0, X), (~is_gap).astype(np.float64)


def _halves(values: Array) -> tuple[Array, Array]:
    half = len(values) // 2
    return values[:half], values[half:]


def _total(
    work: Callable[[Array, Array | None], Integers],
    rows: Iterable[Weighted],
    n_threads: int,
) -> Integers:
    """Return the sum of what some work gives for all samples."""
    items = iter(rows)
    total: Integers = work(*next(items))
    with ThreadPoolExecutor(n_threads) as pool:
        while batch := list(islice(items, n_threads)):
            for part in pool.map(lambda one: work(*one), batch):
                total = total + part
    return total


def _check_deviations(
    found: Moments, squares: Array, apart: Integers, place: _Place
) -> None:
    """Refuse features that vary by so little that no digit of their squares is left."""
    is_lost = (apart > 0) & (squares < SMALLEST**2)
    is_lost &= SUMMATION_ERROR * np.abs(found.shift) < SMALLEST
    if is_lost.any():
        column, other_way = place.of(is_lost)
        raise DataError(
            f"{column}: numbers must vary by more than 2^-118, about 3e-36, so that "
            "sums of their squares are exact, or not at all; these vary by less. Use "
            f"another unit for the column{other_way}."
        )


def agree_usual_weight(
    chunks: Iterable[Rows], weight: float = math.inf, factors: Array = ONE
) -> Program[int | None]:
    """Agree on a usual weight, as a power of two; None if all are whole numbers.

    It is the mean weight of samples that are drawn by their weights. Samples that count
    several times must not be more than one node may have, and are weighted otherwise.

    Parameters
    ----------
    chunks : iterable of Rows
        This node's samples, with the weights that are used.
    weight : float
        How much the samples of all nodes weigh as they came, if that is known.
    factors : array
        What weights may have been multiplied by.
    """
    tally = ExactTally(4)
    for rows in chunks:
        w = np.ones(rows.X.shape[1]) if rows.weights is None else rows.weights
        tally.add(np.stack([w, w**2, w != 1, w != np.rint(w)]).astype(float))
    low, high = np.zeros(4), np.full(4, np.inf)
    low[0], high[0] = factors.min(), factors.max()
    reply = yield Message.of(tally.numbers(), TallyBounds(low, high, weight))
    total, squares, n_weighted, n_fractions = ExactTally.read(reply).tolist()
    if n_weighted == 0:
        check_samples(total)
        return None
    if n_fractions == 0 and total <= MOST_NODE_SAMPLES:
        return None
    if not squares > 0:
        raise DataError(
            "`sample_weight` must be above 1e-42 for some samples, so that sums of its "
            "squares are exact; all are smaller. Multiply them by a common factor, or "
            'use `units = "dense"`.'
        )
    return math.frexp(squares / total)[1] - 1


def check_summable(X: Array, names: Sequence[str] | None) -> None:
    """Refuse features (P, c) that a training cannot add up exactly; NaN is a gap."""
    _check(X, _Place(names, of_training=True))


def _check(X: Array, place: _Place) -> None:
    """Refuse numbers whose squares cannot be added up exactly."""
    fits = ~(np.abs(X) >= LARGEST)
    if not fits.all():
        column, other_way = place.of(np.any(~fits, axis=1))
        raise DataError(
            f"{column}: numbers must be below 2^127, about 1.7e38, so that their sums "
            "are exact; some are larger. Correct them, or use another unit for the "
            f"column{other_way}."
        )


def _moments_of(weight: float, rough: Array, rest: Array, squares: Array) -> Moments:
    """Return the moments that follow from those about a rough mean.

    Parameters
    ----------
    weight : float
        The weight of the samples.
    rough : array of shape (P,)
        About the mean of every feature.
    rest, squares : arrays of shape (P,)
        The means of x - rough and of its square.
    """
    shift = rough + rest
    scale = np.sqrt(np.maximum(squares - rest**2, 0.0))
    # Samples and their number are averaged with the same weights, so the mean of a
    # feature that is constant on all nodes is exact, however rough the averages.
    constant = scale <= SUMMATION_ERROR * np.abs(shift)
    return Moments(weight, shift, np.where(constant, 1.0, scale), constant)


def _sum(X: Array, weights: Array | None) -> Array:
    total: Array = X.sum(axis=1) if weights is None else X @ weights
    return total


def _moments(D: Array, weights: Array | None) -> Array:
    return np.concatenate([_sum(D, weights), _sum(D**2, weights)])
