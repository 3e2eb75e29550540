"""Network: the learned model. Weights, forward pass; no training.

How this works. W_{l+1} = [V_Q O_l; R_{l+1}] has a learned part and a random part.
Only the O_l are kept: V_Q = [I; -I] stacks O_l y and its negative, so O_l y is
computed once; R_{l+1} follows from (seed, l + 1), so it is never sent and never saved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dssfn._typing import Array
from dssfn.calibration import probabilities
from dssfn.config import Plan
from dssfn.cores import n_cores
from dssfn.errors import DataError
from dssfn.exact.bounds import places
from dssfn.exact.structured import random_signs
from dssfn.integer_units import IntegerUnits

CHUNK = 4096  # columns in a forward pass: long enough for BLAS, short for memory
LARGEST = 1e150  # in units of the training data's spread; squares overflow beyond
# Sums over many samples and nodes are not exact to the last bit.
SUMMATION_ERROR = 1000 * float(np.finfo(float).eps)


@lru_cache(maxsize=2)  # nodes in one process walk through the layers together
def random_matrix(
    seed: int, layer: int, rows: int, columns: int, precision: str = "float64"
) -> Array:
    """Return R of a layer: uniform on [-1, 1), drawn from the key (seed, layer).

    The Philox bit generator's stream is fixed by its published definition, whereas
    numpy may change how its distributions draw from it; hence the raw words. The
    first rows do not depend on how many follow.

    >>> random_matrix(0, 1, 2, 3).shape
    (2, 3)
    """
    R = _uniform(seed, layer, rows * columns).reshape(rows, columns)
    R = R.astype(precision, copy=False)
    R.flags.writeable = False
    return R


@lru_cache(maxsize=12)  # as many as the members have in one layer
def member_matrix(seed: int, layer: int, member: int, rows: int, columns: int) -> Array:
    """Return R of a layer of one member; those of member 0 are `random_matrix`'s."""
    key = layer + (member << 32)
    R = _uniform(seed, key, rows * columns).reshape(rows, columns)
    R.flags.writeable = False
    return R


def _uniform(seed: int, layer: int, count: int) -> Array:
    stream = np.random.Philox(key=np.array([seed, layer], dtype=np.uint64))
    numbers: Array = (stream.random_raw(count) >> np.uint64(11)).astype(np.float64)
    numbers *= 2.0**-52  # 53 bits each, on [0, 2)
    numbers -= 1.0
    return numbers


def random_digest(plan: Plan) -> str:
    """Return a digest of all the random matrices, from the first numbers of each."""
    digest = hashlib.sha256()
    for layer in range(1, plan.most_layers + 1):
        if plan.is_exact:
            signs, _ = random_signs(plan.seed, layer, 0, places(plan.n_units), 0)
            digest.update(signs.tobytes())
        else:
            row = _uniform(plan.seed, layer, plan.inputs_of(layer - 1))
            digest.update(row.astype("<f8").tobytes())
    return digest.hexdigest()


def next_features(scores: Array, R: Array, Y: Array, *, gain: float) -> Array:
    """Return Y_{l+1} = relu([O y; -O y; gain * R y / ||R y||]) for the columns y of Y.

    Parameters
    ----------
    scores : array of shape (Q, J)
        O Y, the scores of the layer.
    R : array of shape (width, n)
        The random matrix of the next layer.
    Y : array of shape (n, J)
        The features of the layer.
    gain : float
        Norm that the random part of each column gets before the ReLU.

    Returns
    -------
    array of shape (2Q + width, J)
    """
    Q, J = scores.shape
    grown: Array = np.empty((2 * Q + len(R), J), dtype=Y.dtype)
    grown[:Q] = scores
    np.negative(scores, out=grown[Q : 2 * Q])
    random_part = grown[2 * Q :]
    np.matmul(R, Y, out=random_part)
    norms = np.sqrt(np.einsum("ij,ij->j", random_part, random_part))
    norms[norms == 0] = 1.0  # an all-zero sample stays zero
    random_part *= gain / norms
    np.maximum(grown, 0.0, out=grown)
    return grown


def lossless_flow(Q: int, n: int) -> Array:
    """Return O = [I, -I, 0], which gives back the scores of the layer before."""
    O: Array = np.zeros((Q, n))
    O[:, :Q] = np.eye(Q)
    O[:, Q : 2 * Q] = -np.eye(Q)
    return O


def standardise(X: Array, shift: Array, scale: Array) -> Array:
    """Return (x - shift) / scale for the columns x of X.

    A value that equals the mean up to rounding becomes zero. Otherwise a sample at the
    very centre would keep nothing but rounding errors, which the normalised random part
    of the first layer would blow up to full size, differently on every node. A missing
    value, which is NaN, becomes the mean as well.
    """
    Y: Array = (X - shift[:, None]) / scale[:, None]
    Y[~(np.abs(Y) > rounding_noise(shift, scale)[:, None])] = 0.0
    return Y


def rounding_noise(shift: Array, scale: Array) -> Array:
    """Return up to where standardised values (P,) may be nothing but rounding."""
    noise: Array = SUMMATION_ERROR * (1 + np.abs(shift) / scale)
    return noise


def scaled_inputs(plan: Plan, X: Array, shift: Array, scale: Array) -> Array:
    """Return the inputs of the plan: standardised, or as they are.

    A missing number becomes the mean, which `shift` holds in both cases.
    """
    if plan.standardize:
        return standardise(X, shift, scale)
    return np.where(np.isnan(X), shift[:, None], X) if plan.has_gaps else X


@dataclass(frozen=True, slots=True)
class DenseUnits:
    """Features as real numbers, from dense random matrices: arrays Y (n, c)."""

    plan: Plan

    def first(self, V: Array) -> Array:
        """Return Y_0: scaled inputs V (P, c), and a constant if the plan has one."""
        plan = self.plan
        if plan.bias:
            V = np.vstack([V, np.full((1, V.shape[1]), plan.bias)])
        return V.astype(plan.precision, copy=False)

    def scores(self, layer: int, O: Array, Y: Array) -> Array:
        """Return O Y, (Q, c)."""
        scores: Array = O.astype(self.plan.precision, copy=False) @ Y
        return scores

    def following(self, layer: int, scores: Array, Y: Array) -> Array:
        """Return the features of layer + 1 from those of `layer` and their scores."""
        plan = self.plan
        R = random_matrix(plan.seed, layer + 1, plan.most_width, len(Y), plan.precision)
        return next_features(scores, R, Y, gain=plan.gain)


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network.

    Parameters
    ----------
    plan : Plan
        What the nodes agreed on, including the seed of the random matrices.
    outputs : tuple of arrays
        O_0 of shape (Q, P), or (Q, P + 1) with a bias, then O_1 .. O_L of shape (Q, n).
    shift, scale : arrays of shape (P,)
        The inputs are used as (x - shift) / scale, if the plan standardises them.
    target_shift, target_scale : arrays of shape (Q,)
        Predictions of a regression are multiplied by `target_scale` and shifted by
        `target_shift`; if left out, they are the last layer's outputs.

    Examples
    --------
    Samples are columns here:

    >>> from sklearn.datasets import load_iris
    >>> from dssfn import SSFNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(n_layers=2, width=20, random_state=0).fit(X, y)
    >>> model.network_.scores(X[:5].T).shape
    (3, 5)
    """

    plan: Plan
    outputs: tuple[Array, ...]
    shift: Array
    scale: Array
    target_shift: Array = field(default_factory=lambda: np.zeros(1))
    target_scale: Array = field(default_factory=lambda: np.ones(1))

    @property
    def output(self) -> Array:
        """The output matrix of the last layer, O_L."""
        return self.outputs[-1]

    @property
    def n_members(self) -> int:
        """The number of members: a network of fixed size is its only one."""
        return 1

    def member_scores(self, X: Array) -> Array:
        """Return the predicted targets of every member, (1, Q, J)."""
        return self.scores(X)[None]

    def scores(self, X: Array) -> Array:
        """Return the predicted targets (Q, J) of the samples in X (P, J)."""
        self.check_samples(X)
        scores: Array = np.empty((self.plan.n_outputs, X.shape[1]))

        def predict(columns: slice) -> None:
            for last in self.staged_scores(X[:, columns]):
                scores[:, columns] = last

        in_chunks(X.shape[1], predict)
        return scores

    def probabilities(self, scores: Array) -> Array:
        """Return class probabilities (Q, J) for scores (Q, J)."""
        return probabilities(scores.T).T

    def staged_scores(self, X: Array) -> Iterator[Array]:
        """Yield the predicted targets after layer 0, 1, .., L.

        All columns are taken at once, and are not checked: see `check_samples`.
        """
        plan = self.plan
        units = IntegerUnits(plan) if plan.is_exact else DenseUnits(plan)
        Y: Any = units.first(scaled_inputs(plan, X, self.shift, self.scale))
        for layer, O in enumerate(self.outputs):
            scores = units.scores(layer, O, Y)
            yield self._in_their_unit(scores) if plan.is_regression else scores
            if layer < plan.depth:
                Y = units.following(layer, scores, Y)

    def _in_their_unit(self, scores: Array) -> Array:
        return self.target_shift[:, None] + self.target_scale[:, None] * scores

    def check_samples(self, X: Array) -> None:
        """Refuse a wrong number of features, NaN, and values whose squares overflow."""
        check_columns(X, self.scale, has_gaps=self.plan.has_gaps)


def in_chunks(n_samples: int, work: Callable[[slice], None]) -> None:
    """Do some work for all samples, chunk by chunk; every core takes one at a time."""
    chunks = [slice(start, start + CHUNK) for start in range(0, n_samples, CHUNK)]
    n_threads = min(len(chunks), n_cores())
    if n_threads < 2:
        for columns in chunks:
            work(columns)
        return
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(n_threads) as pool,
    ):
        for _ in pool.map(work, chunks):
            pass


def check_columns(X: Array, scale: Array, *, has_gaps: bool = False) -> None:
    """Refuse samples that a model with inputs of this scale (P,) cannot predict."""
    if X.ndim != 2 or len(X) != len(scale):
        raise DataError(f"`X` must have {len(scale)} features, got shape {X.shape}.")
    fits = np.abs(X) < LARGEST * scale[:, None]
    if has_gaps:
        fits |= np.isnan(X)
    if not fits.all():
        feature, sample = np.argwhere(~fits)[0]
        raise DataError(
            f"Sample {sample + 1}, feature {feature + 1}: {X[feature, sample]:g} "
            "is too far from the training data to be used. Correct it."
        )
