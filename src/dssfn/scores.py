"""How good predictions are: the figures that a user asks for, and sums behind them.

How this works. A measure turns predictions into sums over samples, and sums into
figures. Sums of several nodes can be added, so all nodes can agree on the figures of
all their samples without showing anybody's own. The area under the ROC curve is the
exception: it needs all predictions side by side, so a node knows its own only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array
from dssfn.records import is_whole, share

N_BINS = 15  # of the largest probability, for the expected calibration error
MOST_CONFUSED = 100  # classes: of more, right answers by class stand for the matrix
MOST_RANKED = 5 * 10**6  # probabilities that are kept to rank samples by them

EMPTY = "there are no samples"
ONE_CLASS = "all samples are of one class"
NO_POSITIVE = "no sample is of the second class"
NO_NEGATIVE = "no sample is of the first class"
TOO_MANY = f"more than {MOST_RANKED} probabilities would have to be kept"
ONE_TARGET = "all targets are equal"
RANKS_NOT_AGREED = "it needs the order of all samples, which no node may know"


class Bin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Samples whose largest probability is about the same.

    Parameters
    ----------
    n : int or float
        How many there are; with weights, the sum of these.
    confidence : float
        The mean of their largest probabilities.
    accuracy : float
        The share of them that is predicted right: of calibrated ones, as many.
    """

    n: int | float
    confidence: float
    accuracy: float


class Scores(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """How good predictions are on some samples; what cannot be known is None.

    Parameters
    ----------
    n : int or float
        The number of samples; with weights, the sum of these.
    accuracy : float, optional
        Share of samples whose class is found.
    balanced_accuracy : float, optional
        Mean over the classes of the share of each that is found.
    auc : float, optional
        Area under the ROC curve; for more than two classes the mean over one against
        the rest, of the classes that there are samples of.
    log_loss : float, optional
        Mean of -log of the probability of the true class.
    sensitivity, specificity : float, optional
        Share of the second and of the first of two classes that is found: the second
        is the positive one.
    calibration_error : float, optional
        Expected calibration error: how far the largest probability is from the share
        of right answers, as a mean over 15 bins of equal width.
    calibration : tuple of Bin
        These bins, without the empty ones.
    r2, mae, rmse : float, optional
        Of a regression: coefficient of determination, mean absolute error and root of
        the mean squared error; means over several outputs.
    missing : dict
        Why a figure is not known, by its name.
    """

    n: int | float
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    sensitivity: float | None = None
    specificity: float | None = None
    calibration_error: float | None = None
    calibration: tuple[Bin, ...] = ()
    r2: float | None = None
    mae: float | None = None
    rmse: float | None = None
    missing: dict[str, str] = {}


class Measure(Protocol):
    """A kind of prediction: how its sums are made, and what follows from them."""

    @property
    def size(self) -> int:
        """How many sums there are."""

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that predictions of this kind have."""

    def sums(self, predicted: Array, T: Array, weights: Array | None) -> Array:
        """Return sums over samples with targets T (Q, J)."""

    def scores(self, sums: Array) -> Scores:
        """Return the figures that follow from sums."""


@dataclass(frozen=True, slots=True)
class ClassMeasure:
    """Probabilities of Q classes, beside one-hot targets.

    Examples
    --------
    >>> measure = ClassMeasure(2)
    >>> P = np.array([[0.9, 0.2, 0.4], [0.1, 0.8, 0.6]])
    >>> T = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> scores = measure.scores(measure.sums(P, T, None))
    >>> scores.n, scores.balanced_accuracy, scores.sensitivity, scores.specificity
    (3, 0.75, 1.0, 0.5)
    """

    n_classes: int

    @property
    def size(self) -> int:
        """How many sums there are."""
        return self._n_answers + 1 + 3 * N_BINS

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures of a classifier."""
        both = ("sensitivity", "specificity") if self.n_classes == 2 else ()
        names = ("accuracy", "balanced_accuracy", "auc", "log_loss")
        return (*names, *both, "calibration_error")

    @property
    def place_of_loss(self) -> int:
        """Which of the sums is the log loss."""
        return self._n_answers

    @property
    def _n_answers(self) -> int:
        Q = self.n_classes
        return Q * Q if Q <= MOST_CONFUSED else 2 * Q

    def sums(self, predicted: Array, T: Array, weights: Array | None) -> Array:
        """Return sums over samples with probabilities and targets of shape (Q, J).

        They are the confusion matrix (true class by predicted class), or for many
        classes the right answers and all samples of each; the log loss; and weight,
        confidence and right answers of the bins.
        """
        J = T.shape[1]
        weights = np.ones(J) if weights is None else weights
        truth, says = T.argmax(axis=0), predicted.argmax(axis=0)
        right, confidence = weights * (truth == says), predicted.max(axis=0, initial=0)
        of_truth = predicted[truth, np.arange(J)]
        loss = -np.log(np.clip(of_truth, np.finfo(float).eps, None))
        # A bin holds its upper end, as in the usual definition.
        bins = np.clip(np.ceil(confidence * N_BINS) - 1, 0, N_BINS - 1).astype(np.intp)
        in_bins = [
            np.bincount(bins, one, N_BINS)
            for one in (weights, weights * confidence, right)
        ]
        answers = self._answers(truth, says, right, weights)
        return np.concatenate([answers, [loss @ weights], *in_bins])

    def _answers(
        self, truth: NDArray[np.intp], says: NDArray[np.intp], right: Array, all_: Array
    ) -> Array:
        Q = self.n_classes
        if Q <= MOST_CONFUSED:
            return np.bincount(truth * Q + says, all_, Q * Q).astype(float)
        return np.concatenate(
            [np.bincount(truth, right, Q), np.bincount(truth, all_, Q)]
        )

    def scores(self, sums: Array) -> Scores:
        """Return the figures that follow from sums; the AUC does not."""
        right, of_class = self.by_class(sums)
        n = float(of_class.sum())
        names = [name for name in self.figures if name != "auc"]
        if not n > 0:
            return Scores(n=0, missing=dict.fromkeys(names, EMPTY))
        found = [
            share(part, whole) if whole > 0 else None
            for part, whole in zip(right.tolist(), of_class.tolist(), strict=True)
        ]
        recalls = [one for one in found if one is not None]
        bins = sums[self._n_answers + 1 :].reshape(3, N_BINS)
        gap = np.abs(bins[1] - bins[2]).sum() / n
        return Scores(
            n=_whole(n),
            accuracy=share(float(right.sum()), n),
            balanced_accuracy=float(np.mean(recalls)),
            log_loss=float(sums[self._n_answers]) / n,
            calibration_error=float(gap),
            calibration=tuple(_bin(*one) for one in bins.T.tolist() if one[0] > 0),
            **(_of_two(*found) if self.n_classes == 2 else {}),
        )

    def by_class(self, sums: Array) -> tuple[Array, Array]:
        """Return the right answers and all samples of each class."""
        Q = self.n_classes
        answers = sums[: self._n_answers]
        if Q > MOST_CONFUSED:
            return answers[:Q], answers[Q:]
        confusion = answers.reshape(Q, Q)
        return confusion.diagonal(), confusion.sum(axis=1)


def _of_two(first: float | None, second: float | None) -> dict[str, Any]:
    """Return specificity and sensitivity, or why one of them is not known."""
    missing = {}
    if second is None:
        missing["sensitivity"] = NO_POSITIVE
    if first is None:
        missing["specificity"] = NO_NEGATIVE
    return {"sensitivity": second, "specificity": first, "missing": missing}


def _bin(n: float, confidence: float, right: float) -> Bin:
    return Bin(n=_whole(n), confidence=confidence / n, accuracy=share(right, n))


def _whole(count: float) -> int | float:
    """Return a count that is whole, but for rounding, as such."""
    nearest = round(count)
    if nearest == 0 < count:  # a small weight, not none
        return count
    return nearest if is_whole(count) else count


@dataclass(frozen=True, slots=True, eq=False)
class TargetMeasure:
    """Predicted numbers beside true ones, the outputs of a regression.

    Parameters
    ----------
    shift, scale : arrays of shape (Q,)
        About the mean and the deviation of the targets. The sums are those of scaled
        targets, so that they can be subtracted from each other.
    """

    shift: Array
    scale: Array

    @property
    def size(self) -> int:
        """How many sums there are."""
        return 1 + 4 * len(self.scale)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures of a regression."""
        return ("r2", "mae", "rmse")

    def sums(self, predicted: Array, T: Array, weights: Array | None) -> Array:
        """Return sums over samples with predictions and targets of shape (Q, J).

        They are the weight, and for every output the squared and the absolute errors,
        the targets and their squares.
        """
        weights = np.ones(T.shape[1]) if weights is None else weights
        T = (T - self.shift[:, None]) / self.scale[:, None]
        errors = T - (predicted - self.shift[:, None]) / self.scale[:, None]
        powers = (errors**2, np.abs(errors), T, T**2)
        return np.concatenate([[weights.sum()], *(one @ weights for one in powers)])

    def scores(self, sums: Array) -> Scores:
        """Return the figures that follow from sums.

        R2 is the mean over those outputs whose targets are not all equal.
        """
        n = float(sums[0])
        if not n > 0:
            return Scores(n=0, missing=dict.fromkeys(self.figures, EMPTY))
        squares, absolute, mean, spread = sums[1:].reshape(4, -1) / n
        variance = spread - mean**2
        # Rounding leaves about this much of the squares of equal targets.
        varies = variance > 1e-12 * np.maximum(spread, 1e-300)
        known = bool(varies.any())
        return Scores(
            n=_whole(n),
            r2=float(np.mean(1 - squares[varies] / variance[varies]))
            if known
            else None,
            mae=float(np.mean(self.scale * absolute)),
            rmse=float(np.mean(self.scale * np.sqrt(squares))),
            missing={} if known else {"r2": ONE_TARGET},
        )


@dataclass(slots=True)
class Tally:
    """The predictions of one model, scored chunk by chunk.

    Parameters
    ----------
    measure : Measure
        The kind of predictions.
    """

    measure: Measure
    sums: Array = field(init=False)
    _kept: list[tuple[Array, NDArray[np.intp], Array]] = field(default_factory=list)
    _n_kept: int = 0

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.measure.size)

    def add(self, predicted: Array, T: Array, weights: Array | None) -> None:
        """Add some samples; arguments as in `Measure.sums`."""
        self.sums += self.measure.sums(predicted, T, weights)
        if "auc" not in self.measure.figures:
            return
        self._n_kept += predicted.size
        if self._n_kept > MOST_RANKED:
            self._kept.clear()
            return
        weights = np.ones(T.shape[1]) if weights is None else weights
        self._kept.append((predicted, T.argmax(axis=0), weights))

    def scores(self) -> Scores:
        """Return the figures of all samples that were added."""
        scores = self.measure.scores(self.sums)
        if "auc" not in self.measure.figures:
            return scores
        area, why = None, EMPTY
        if self._n_kept > MOST_RANKED:
            why = TOO_MANY
        elif self._n_kept:
            parts = zip(*self._kept, strict=True)
            P, truth, weights = (np.concatenate(one, axis=-1) for one in parts)
            area, why = mean_auc(P, truth, weights), ONE_CLASS
        missing = scores.missing if area is not None else scores.missing | {"auc": why}
        return msgspec.structs.replace(scores, auc=area, missing=missing)


def mean_auc(P: Array, truth: NDArray[np.intp], weights: Array) -> float | None:
    """Return the area under the ROC curve, for probabilities P of shape (Q, J).

    Of more than two classes it is the mean over one against the rest; None if there is
    one class only.
    """
    classes = range(len(P)) if len(P) > 2 else [1]
    areas = [auc(P[q], truth == q, weights) for q in classes]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


def auc(values: Array, positive: NDArray[np.bool_], weights: Array) -> float | None:
    """Return how often a positive sample has a larger value than a negative one.

    Equal values count half. Return None if one kind is missing.

    >>> auc(np.array([1.0, 2.0, 2.0]), np.array([False, True, False]), np.ones(3))
    0.75
    """
    _, place = np.unique(values, return_inverse=True)
    ups = np.bincount(place, weights * positive)
    downs = np.bincount(place, weights * ~positive)
    pairs = ups.sum() * downs.sum()
    if not pairs > 0:
        return None
    below = np.cumsum(downs) - downs / 2
    return float(ups @ below / pairs)


def packed(scores: Scores, measure: Measure) -> Array:
    """Return figures as finite numbers: of each its value, and whether it is known.

    >>> packed(Scores(n=3, r2=0.5, mae=1.0), TargetMeasure(np.zeros(1), np.ones(1)))
    array([3. , 0.5, 1. , 0. , 1. , 1. , 0. ])
    """
    values = [getattr(scores, name) for name in measure.figures]
    known = [float(value is not None) for value in values]
    return np.array([scores.n, *(value or 0.0 for value in values), *known])


def n_packed(measure: Measure) -> int:
    """Return how many numbers `packed` returns."""
    return 1 + 2 * len(measure.figures)


def unpacked(numbers: Array, measure: Measure) -> Scores:
    """Return the figures that `packed` has turned into numbers."""
    n, *rest = numbers.tolist()
    names = measure.figures
    values, known = rest[: len(names)], rest[len(names) :]
    found: Mapping[str, Any] = {
        name: value
        for name, value, is_known in zip(names, values, known, strict=True)
        if is_known > 0.5
    }
    return Scores(n=_whole(n), **found)
