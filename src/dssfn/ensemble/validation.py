"""How good the finished model is on validation samples, as all nodes agree on it.

Every node scores each of its samples by the member that was not trained on it, and the
sums of all nodes are agreed on. Nobody is told a single node's figures, unless the plan
publishes them: then a message has a row for every node, which is filled by its owner
and zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.config import Plan
from dssfn.ensemble.basis import Basis
from dssfn.ensemble.calibrate import softmax
from dssfn.progress import Stage
from dssfn.scores import (
    RANKS_NOT_AGREED,
    ClassMeasure,
    Measure,
    Scores,
    Tally,
    TargetMeasure,
    n_packed,
    packed,
    unpacked,
)

SUMS, BY_NODE = "scores", "node_scores"  # names of arrays of the last stage


@dataclass(frozen=True, slots=True)
class AgreedScores:
    """How good the model is on validation samples.

    Parameters
    ----------
    total : Scores
        On those of all nodes.
    by_node : tuple of Scores
        On those of each node; empty if the plan does not publish them.
    """

    total: Scores
    by_node: tuple[Scores, ...] = ()


def measure_of(plan: Plan, target_shift: Array, target_scale: Array) -> Measure:
    """Return how predictions of a plan are measured."""
    if plan.is_regression:
        return TargetMeasure(target_shift, target_scale)
    return ClassMeasure(plan.n_outputs)


def score_message(
    rows: Iterable[tuple[Array, Array, Array | None]],
    plan: Plan,
    basis: Basis,
    *,
    slope: float,
    node: NodeId,
    n_nodes: int,
) -> Array:
    """Return what a node has averaged: its sums, and its row if that is published.

    Parameters
    ----------
    rows : iterable
        Scores, targets and weights of validation samples, as the basis has them.
    plan : Plan
        What all nodes agreed on.
    basis : Basis
        The scale of the targets, and the factors that classes are weighed by. The
        samples count here as they came, without these.
    slope : float
        How steep the probabilities are.
    node, n_nodes : int
        The number of this node, and of all.
    """
    measure = _measure(plan, basis)
    tally = Tally(measure)
    shift, scale = basis.target_shift[:, None], basis.target_scale[:, None]
    for S, T, weights in rows:
        if plan.is_regression:
            tally.add(shift + scale * S, shift + scale * T, weights)
        else:
            given = basis.targets.counted(T, weights)
            tally.add(softmax(S.T, slope).T, T, given)
    published: Array = np.zeros(
        (n_nodes if plan.publish_scores else 0, n_packed(measure))
    )
    if plan.publish_scores:
        published[node] = packed(tally.scores(), measure)
    return np.concatenate([tally.sums, published.ravel()])


def score_stage(totals: Array, plan: Plan, basis: Basis) -> dict[str, Array]:
    """Return the arrays of a stage for the sums of all nodes' messages."""
    measure = _measure(plan, basis)
    stage = {SUMS: totals[: measure.size]}
    if plan.publish_scores:
        stage[BY_NODE] = totals[measure.size :].reshape(-1, n_packed(measure))
    return stage


def agreed_scores(plan: Plan, stage: Stage, basis: Basis) -> AgreedScores | None:
    """Return the figures that the last stage holds; None if it has none."""
    if SUMS not in stage:
        return None
    measure = _measure(plan, basis)
    total = measure.scores(stage[SUMS])
    if "auc" in measure.figures:
        missing = {**total.missing, "auc": RANKS_NOT_AGREED}
        total = msgspec.structs.replace(total, missing=missing)
    return AgreedScores(
        total, tuple(unpacked(row, measure) for row in stage.get(BY_NODE, ()))
    )


def check_score_stage(plan: Plan, stage: Stage) -> None:
    """Refuse sums and rows that no training with this plan has, with a ValueError."""
    Q = plan.n_outputs
    measure = measure_of(plan, np.zeros(Q), np.ones(Q))
    rows = stage.get(BY_NODE, np.empty((0, n_packed(measure))))
    sums = stage.get(SUMS, np.empty(measure.size))
    if sums.shape != (measure.size,) or rows.shape[1:] != (n_packed(measure),):
        raise ValueError("its scores are not those of the plan")


def most_score_numbers(plan: Plan, n_nodes: int) -> int:
    """Return how many numbers a message about scores has."""
    Q = plan.n_outputs
    measure = measure_of(plan, np.zeros(Q), np.ones(Q))
    return measure.size + plan.publish_scores * n_nodes * n_packed(measure)


def _measure(plan: Plan, basis: Basis) -> Measure:
    return measure_of(plan, basis.target_shift, basis.target_scale)
