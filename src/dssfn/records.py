"""The record of one layer: metrics of the whole network, made from agreed sums."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from dssfn._typing import Array

NOISE = 1e-6  # of a count that was found by gossip
# Accuracy that is lost on samples that were not trained on; less is usual, and no
# reason to warn.
OVERFITTED = 0.05


@dataclass(frozen=True, slots=True)
class Tried:
    """A scale of the inputs and a width that were tried, and the error they gave.

    Parameters
    ----------
    scale : str
        "columns" or "common".
    width : int
        The number of random units.
    error_db : float
        The error on validation samples; for SSFN's rule, that of training.
    """

    scale: str
    width: int
    error_db: float


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """Metrics of one layer over all nodes, up to the accuracy of the averages.

    Parameters
    ----------
    layer : int
        The number of the layer.
    cost : float
        sum_m ||T_m - O Y_m||_F^2.
    train_error_db : float
        10 log10(cost / sum_m ||T_m||_F^2); -313 if there is no error at all.
    train_accuracy : float, optional
        Share of the training samples that are classified correctly; None for a
        regression. Sample weights count here, class weights do not.
    iterations : int
        Number of averagings that solving the layer took.
    width, ridge : optional
        The number of random units, and the ridge in units of the mean eigenvalue of the
        layer's Gram matrix, as chosen by validation. A ridge of None keeps the previous
        layer as it is.
    afresh : bool
        Whether the ridge pulls towards the mean of the scores instead of towards the
        previous layer.
    validation_error_db, validation_accuracy : float, optional
        The same metrics for samples that a member was not trained on; a regression has
        no accuracy.
    tried : tuple of Tried
        Everything that was tried in this layer, if scale or width had to be chosen.
    unvalidated, unaware : int
        Of layer 0: the number of members that left no sample out, as their fold is
        empty, and the number of members that were trained without any sample of some
        class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dssfn import SSFNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(n_layers=2, width=20, random_state=0).fit(X, y)
    >>> [record.layer for record in model.history_]
    [0, 1, 2]
    """

    layer: int
    cost: float
    train_error_db: float
    train_accuracy: float | None
    iterations: int
    width: int | None = None
    ridge: float | None = None
    afresh: bool = False
    validation_error_db: float | None = None
    validation_accuracy: float | None = None
    tried: tuple[Tried, ...] = ()
    unvalidated: int = 0
    unaware: int = 0


def record_of(
    layer: int, totals: Array, iterations: int, *, has_classes: bool, **found: Any
) -> LayerRecord:
    """Return the record of a layer.

    Parameters
    ----------
    layer, iterations : int
        As in `LayerRecord`.
    totals : array of shape (4,)
        Over all samples: the cost, the cost of O = 0, the correct ones and all.
    has_classes : bool
        Whether samples can be correct, which those of a regression cannot.
    found : optional
        What a network that finds its own size knows beside it.
    """
    cost, cost_of_zero, correct, n_samples = totals.tolist()
    return LayerRecord(
        layer=layer,
        cost=cost,
        train_error_db=decibel(cost, cost_of_zero),
        train_accuracy=share(correct, n_samples) if has_classes else None,
        iterations=iterations,
        **found,
    )


# A smaller share of a sum of squares, -313 dB, is nothing but rounding in float64.
NO_ERROR = sys.float_info.epsilon**2


def decibel(cost: float, of: float) -> float:
    """Return 10 log10(cost / of), at least -313 dB: no error at all counts as that.

    >>> decibel(1.0, 100.0), round(decibel(0.0, 100.0))
    (-20.0, -313)
    """
    ratio = cost / of if of > 0 else math.inf if cost > 0 else 1.0
    return 10 * math.log10(min(max(ratio, NO_ERROR), sys.float_info.max))


class Described(Protocol):
    """What a layer must tell to be warned of."""

    @property
    def layer(self) -> int:
        """Its number."""

    @property
    def ridge(self) -> float | None:
        """The ridge, if there is one."""

    @property
    def train_accuracy(self) -> float | None:
        """Accuracy on training samples; None for a regression."""

    @property
    def validation_accuracy(self) -> float | None:
        """Accuracy on samples that were left out."""

    @property
    def validation_error_db(self) -> float | None:
        """Error on samples that were left out."""

    @property
    def unvalidated(self) -> int:
        """Members that left no sample out."""


def warning_about(kept: Described) -> str:
    """Return what users should know of a model whose last layer is this one.

    Its training accuracy may promise too much, or it may have learned nothing.
    """
    is_found = kept.validation_error_db is not None or kept.unvalidated > 0
    if is_found and kept.layer == 0 and kept.ridge is None:
        return (
            "The model predicts the same for every sample: nothing that was tried "
            "does better on samples that were left out. If many samples are "
            "identical, note that identical ones are left out together; `members = 1` "
            "with numbers for `n_layers` and `width` leaves none out."
        )
    training, validation = kept.train_accuracy, kept.validation_accuracy
    if training is None or validation is None or training < 1 - NOISE:
        return ""
    if validation < 1 - OVERFITTED:
        return (
            "All training samples are classified correctly, but only "
            f"{validation:.1%} of those that a member was not trained on. Expect the "
            "latter for new samples. More samples may help, or fewer features."
        )
    return ""


def is_whole(count: float) -> bool:
    """Return whether a count differs from a whole number by what gossip leaves."""
    return abs(count - round(count)) <= NOISE * max(count, 1.0)


def share(part: float, whole: float) -> float:
    """Return part / whole of two counts, which may be sums of weights.

    Counts are whole: what gossip leaves beside them is not information.

    >>> share(1.0000000001, 4.0), share(0.5, 0.75) == 2 / 3
    (0.25, True)
    """
    if round(whole) > 0 and is_whole(part) and is_whole(whole):
        part, whole = round(part), round(whole)
    return float(min(max(part / whole, 0.0), 1.0)) if whole > 0 else 0.0
