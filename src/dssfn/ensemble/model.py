"""Ensemble: the model of a network that found its own size. Forward pass; no training.

Every member is a network with random matrices of its own. All have the same size. The
prediction is the mean of their scores, and their spread says how sure it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.calibration import probabilities
from dssfn.config import Plan
from dssfn.ensemble.arithmetic import Arithmetic
from dssfn.ensemble.calibrate import softmax
from dssfn.ensemble.dense import Dense
from dssfn.ensemble.folds import fold_rule
from dssfn.ensemble.integer import Integer
from dssfn.ensemble.units import CONSTANT, unit_inputs
from dssfn.network import CHUNK, check_columns, in_chunks, scaled_inputs


@dataclass(frozen=True, slots=True)
class Ensemble:
    """K trained members.

    Parameters
    ----------
    plan : Plan
        What the nodes agreed on, with the sizes that were found.
    outputs : tuple of arrays
        Output matrices by layer, (K, Q, 1 + P) and then (K, Q, 1 + 2Q + width); the
        first column belongs to the constant.
    centres : array of shape (K, Q)
        The mean of each member's scores.
    means, deviations : tuples of arrays of shape (K, width + Q)
        What the inputs of the units are standardised by, from layer 2 on.
    shift, scale, factors : arrays of shape (P,)
        The inputs are used as (x - shift) / scale; those of units are multiplied by the
        factors.
    target_shift, target_scale : arrays of shape (Q,)
        Scores are scaled by the second and shifted by the first.
    slope : float
        How steep the probabilities are in the scores, as validation found it.
    """

    plan: Plan
    outputs: tuple[Array, ...]
    centres: Array
    means: tuple[Array, ...]
    deviations: tuple[Array, ...]
    shift: Array
    scale: Array
    factors: Array
    target_shift: Array
    target_scale: Array
    slope: float

    @property
    def output(self) -> Array:
        """The output matrices of the last layer."""
        return self.outputs[-1]

    @property
    def n_members(self) -> int:
        """The number of members, K."""
        return len(self.centres)

    def scores(self, X: Array) -> Array:
        """Return the predicted targets (Q, J) of the samples in X (P, J)."""
        mean: Array = self.member_scores(X).mean(axis=0)
        return mean

    def member_scores(self, X: Array) -> Array:
        """Return the predicted targets of every member, (K, Q, J)."""
        self.check_samples(X)
        Q, J = len(self.target_shift), X.shape[1]
        scores: Array = np.empty((self.n_members, Q, J))

        def predict(columns: slice) -> None:
            for member in range(self.n_members):
                for last in self._staged(X[:, columns], member):
                    scores[member, :, columns] = last

        in_chunks(J, predict)
        return scores

    def validation_scores(self, X: Array, *, node: NodeId = 0) -> Array:
        """Return the scores of training samples by a member that did not see them.

        Those of samples that all members were trained on are NaN.

        Parameters
        ----------
        X : array of shape (P, J)
            Training samples of one node.
        node : int
            The number of that node, by which `folds = "nodes"` leaves samples out.
        """
        self.check_samples(X)
        folds = fold_rule(self.plan, node)(X)
        found: Array = np.full((len(self.target_shift), X.shape[1]), np.nan)
        for member in range(self.n_members):
            left_out = np.flatnonzero(folds == member)
            for start in range(0, len(left_out), CHUNK):
                columns = left_out[start : start + CHUNK]
                *_, found[:, columns] = self._staged(X[:, columns], member)
        return found

    def probabilities(self, scores: Array) -> Array:
        """Return class probabilities (Q, J) for scores (Q, J).

        One member has no validation samples to find a slope by; its probabilities are
        those of a network of fixed size.
        """
        if self.n_members == 1:
            return probabilities(scores.T).T
        return softmax(scores.T, self.slope).T

    def staged_scores(self, X: Array) -> Iterator[Array]:
        """Yield the predicted targets after layer 0, 1, .., L.

        All columns are taken at once, and are not checked: see `check_samples`.
        """
        members = [self._staged(X, member) for member in range(self.n_members)]
        for scores in zip(*members, strict=True):
            yield np.mean(scores, axis=0)

    def check_samples(self, X: Array) -> None:
        """Refuse a wrong number of features, NaN, and values whose squares overflow."""
        check_columns(X, self.scale, has_gaps=self.plan.has_gaps)

    def _staged(self, X: Array, member: int) -> Iterator[Array]:
        plan, centre = self.plan, self.centres[member]
        arithmetic: Arithmetic = Integer(plan) if plan.is_exact else Dense(plan)
        V = scaled_inputs(plan, X, self.shift, self.scale)
        F = arithmetic.linear(V)
        seen = unit_inputs(plan, V, self.shift, self.scale, self.factors)
        A = arithmetic.first_inputs(seen)
        S: Array = np.zeros((len(centre), X.shape[1]))
        for layer, outputs in enumerate(self.outputs):
            if layer > 0:
                if layer > 1:
                    moments = self.means[layer - 2], self.deviations[layer - 2]
                    mean, deviation = (one[member] for one in moments)
                    A = arithmetic.next_inputs(F, S, mean, deviation)
                width = outputs.shape[2] - CONSTANT - 2 * len(S)
                F = arithmetic.widened(None, S, centre, A, (layer, member), width)
            S = arithmetic.advanced(S, outputs[member], F)
            yield self.target_shift[:, None] + self.target_scale[:, None] * S
