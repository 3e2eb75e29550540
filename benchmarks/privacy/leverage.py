"""What the totals of a training say of single rows: how much each weighs in them.

How this works. Whoever receives the sum G of f f^T over the training rows, and can make
the features f of a row by itself, can compute f^T G^-1 f, the row's leverage. It is at
most one for a row that is among them, and on average the number of features over that
of rows; for another row it has no bound. With as many features as rows the two are far
apart. Every member of a federation knows all it takes: the plan with its seed, the
scaling, and G, of layer 0 by fold and of hidden layers by member of the ensemble.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.view import read_folds
from dssfn._typing import Array, Integers
from dssfn.config import Plan
from dssfn.ensemble.basis import Basis
from dssfn.ensemble.folds import fold_rule
from dssfn.ensemble.integer import Features, Integer
from dssfn.ensemble.program import grow_ensemble
from dssfn.ensemble.solve import solve_hidden
from dssfn.ensemble.stages import scales_of
from dssfn.ensemble.units import unit_inputs
from dssfn.exact.bounds import LEVELS, STEPS
from dssfn.network import scaled_inputs
from dssfn.programs import Agreed, Message, Program
from dssfn.progress import Stage
from dssfn.shard import Shard, one_hot

N_SCALES = 2  # of the inputs, both of which are tried with layer 1
RIDGE = (
    1e-9  # of the mean square of a feature, where there are fewer rows than features
)


@dataclass(frozen=True, slots=True, eq=False)
class FirstTotals:
    """The totals of layers 0 and 1, and what a member makes features with.

    Parameters
    ----------
    plan : Plan
        The settings of the training, members given.
    stage : Stage
        What all nodes know of layer 0.
    folds : list of arrays of shape (1 + P, 1 + P)
        The totals of layer 0, by fold.
    hidden : list of lists of arrays of shape (n, n)
        Those of layer 1, by scale of the inputs and member.
    """

    plan: Plan
    stage: Stage
    folds: list[Array]
    hidden: list[list[Array]]


def first_totals(rows: LabelledRows, *, seed: int = 0) -> FirstTotals:
    """Train on all rows until layer 1 is solved, and return the totals.

    They are the same for every division of the rows over nodes.
    """
    P, Q = rows.X.shape[1], rows.n_classes
    plan = Plan(n_features=P, classes=tuple(range(Q)), seed=seed)
    stages: list[Stage] = []
    program = grow_ensemble(
        Shard(rows.X.T, one_hot(rows.y, Q)),
        plan,
        n_nodes=1,
        on_progress=lambda progress: stages.append(progress.stages[-1]),
    )
    linear: list[Integers] = []
    hidden: list[list[Array]] = []
    for request, reply in _answered(program):
        if isinstance(request, Message):
            if request.layer == 0:
                linear.append(reply)
            if request.layer > 1:
                break
        elif request.function is solve_hidden:
            hidden.append([sums.whole() for sums in reply.sums])
    K = Basis.from_stage(stages[0]).n_members
    read = read_folds(linear[0], Integer(plan), K + 1, P, Q)
    return FirstTotals(
        plan.replace(members=K),
        stages[0],
        [one.whole() for one in read],
        hidden[:N_SCALES],
    )


def _answered(program: Program[Any]) -> Iterator[tuple[Message | Agreed, Any]]:
    """Run the program of a node that is alone, and yield all it asks and hears."""
    reply: Any = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration:
            return
        reply = request.make() if isinstance(request, Message) else request.run()
        yield request, reply


def log_leverages(totals: FirstTotals, X: Array) -> Array:
    """Return what the totals say of rows X (J, P), as logarithms of leverages.

    Returns
    -------
    array of shape (J, 5)
        The mean leverage in layer 1 for the members that train on the row's fold, with
        the sign changed; the same with the other scale of the inputs; in the row's fold
        of layer 0; and for the member that leaves the fold out, with both scales.
    """
    plan, K = totals.plan, len(totals.folds) - 1
    fold = fold_rule(plan, 0)(X.T)
    basis = Basis.from_stage(totals.stage)
    V = scaled_inputs(plan, X.T, basis.shift, basis.scale)
    linear = Integer(plan).linear(V).wide() / STEPS
    by_fold = np.stack([_leverage(G, linear) for G in totals.folds[:K]])
    seen, left_out = [], []
    for scale, grams in enumerate(totals.hidden):
        logs = np.stack(
            [
                _leverage(G, _features(totals, V, basis, scale, member))
                for member, G in enumerate(grams)
            ]
        )  # (K, J)
        own = _of_fold(logs, fold)
        left_out.append(own)
        seen.append((logs.sum(axis=0) - own) / (K - 1))
    first, *others = seen
    return np.stack([-first, *others, _of_fold(by_fold, fold), *left_out], axis=1)


def _of_fold(by_member: Array, fold: Any) -> Array:
    chosen: Array = by_member[
        np.minimum(fold, len(by_member) - 1), np.arange(len(fold))
    ]
    return chosen


def _features(
    totals: FirstTotals, V: Array, basis: Basis, scale: int, member: int
) -> Array:
    """Return the features of layer 1 of some rows (n, J), as one member has them."""
    plan, stage, arithmetic = totals.plan, totals.stage, Integer(totals.plan)
    S = np.zeros((plan.n_outputs, V.shape[1]))
    S = arithmetic.advanced(S, stage["O"][scale, member], arithmetic.linear(V))
    factors = scales_of(plan, basis)[scale]
    seen = unit_inputs(plan, V, basis.shift, basis.scale, factors)
    inputs = arithmetic.first_inputs(seen)
    n = len(totals.hidden[scale][member])
    width = n - 1 - 2 * plan.n_outputs
    centre = stage["centres"][member]
    made: Features = arithmetic.widened(None, S, centre, inputs, (1, member), width)
    return np.vstack([made.wide() / STEPS, made.units / LEVELS])


def _leverage(G: Array, F: Array) -> Array:
    """Return the logarithm of f^T G^-1 f for every column f of F."""
    n = len(G)
    size = max(np.trace(G), 1.0) / n  # of no rows at all, it is zero
    factor = cho_factor(G + RIDGE * size * np.eye(n), lower=True)
    found: Array = np.log(np.einsum("ij,ij->j", F, cho_solve(factor, F)))
    return found
