"""The paper's Algorithm 1, from the view of one node.

`train_node` is a program: it yields a `Message` whenever it needs the average over the
network and receives that average. Whoever drives it (simulator, MPI, gRPC) sees
messages only; samples and labels stay in here. Arithmetic on agreed numbers, which all
nodes do alike, it yields as `Agreed` and receives the result.

The sums that describe a finished layer (cost, correct samples) ride along with the
first message of the next layer, so reporting costs no exchange of its own but for one
after the last layer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from dssfn._typing import Agreed, Array, Program
from dssfn.config import Plan
from dssfn.errors import DataError, NumericalError
from dssfn.network import ROUNDING, Network, grow, inputs
from dssfn.problem import LayerProblem, squared_norm
from dssfn.shard import Shard
from dssfn.solvers import solve_layer

Result = TypeVar("Result")

INPUTS = -1  # the layer number of what is agreed on before layer 0


@dataclass(frozen=True, slots=True)
class Message:
    """One request for an average: everything that leaves a node."""

    layer: int
    values: Array


NodeProgram: TypeAlias = Generator[Message | Agreed, Any, Result]


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """How the whole network stood after one layer, as far as the averages are exact.

    Parameters
    ----------
    layer : int
    cost : float
        sum_m ||T_m - O Y_m||_F^2.
    train_error_db : float
        10 log10(cost / sum_m ||T_m||_F^2).
    train_accuracy : float
        Share of the training samples whose largest output is the right one.
    iterations : int
        Averagings that solving the layer took.
    """

    layer: int
    cost: float
    train_error_db: float
    train_accuracy: float
    iterations: int


def train_node(
    shard: Shard,
    plan: Plan,
    *,
    n_nodes: int,
    on_layer: Callable[[LayerRecord], None] | None = None,
) -> NodeProgram[Network]:
    """Grow the network layer by layer on one node's shard.

    Parameters
    ----------
    shard : Shard
        This node's data; they never leave this program.
    plan : Plan
        What all nodes agreed on.
    n_nodes : int
        M, to turn means into sums.
    on_layer : callable, optional
        Told of every finished layer, once the next one has been solved.
    """
    _check_shard(shard, plan)
    T = shard.T  # (Q, J)
    shift, scale = np.zeros(plan.n_features), np.ones(plan.n_features)
    if plan.standardize:
        scaling = agree_scaling(shard.X)
        (shift, scale), _, _ = yield from _messages(scaling, INPUTS, np.empty(0))
    Y = inputs(plan, shard.X, shift, scale)

    outputs: list[Array] = []
    tally = np.empty(0)  # this node's part of the sums that describe the last layer
    iterations = 0
    for layer in range(plan.n_layers + 1):
        solution = solve_layer(LayerProblem(Y, T), plan, layer)
        O, mean, n_averagings = yield from _messages(solution, layer, tally)
        if on_layer and layer > 0:
            on_layer(_record(layer - 1, n_nodes * mean, iterations))
        outputs.append(O)
        iterations = n_averagings
        scores = O @ Y  # (Q, J), the learned part of the next layer too
        tally = _tally(scores, T)
        if layer < plan.n_layers:
            Y = grow(plan, layer, scores, Y)
    mean = yield _message(plan.n_layers, tally)
    if on_layer:
        on_layer(_record(plan.n_layers, n_nodes * mean, iterations))
    return Network(plan, tuple(outputs), shift, scale)


def agree_scaling(X: Array) -> Program[tuple[Array, Array]]:
    """Mean and standard deviation of every feature over the whole network.

    Two passes, so that a large mean does not drown a small deviation. The third average
    makes the nodes' results equal to rounding, which two averages that are only as
    accurate as asked for do not: scaled differently on every node, data of low rank
    would gain directions that they do not have.
    """
    J = X.shape[1]
    sums = yield np.concatenate([[J], X.sum(axis=1)])
    rough = sums[1:] / sums[0]
    D = X - rough[:, None]
    moments = yield np.concatenate([D.sum(axis=1), (D**2).sum(axis=1)])
    rest, squares = np.split(moments / sums[0], 2)
    shift = rough + rest
    scale = np.sqrt(np.maximum(squares - rest**2, 0.0))
    # Samples and their number are averaged with the same weights, so the mean of a
    # feature that is constant on all nodes is exact, however rough the averages.
    constant = scale <= ROUNDING * np.abs(shift)
    agreed = yield np.concatenate([shift, np.where(constant, 1.0, scale)])
    return agreed[: len(shift)], agreed[len(shift) :]


def _messages(
    program: Program[Result], layer: int, rider: Array
) -> NodeProgram[tuple[Result, Array, int]]:
    """Run a program as labelled messages, the first of which takes a rider along.

    Returns the program's result, the mean of the rider, and the number of averagings.
    """
    values = next(program)
    assert not isinstance(values, Agreed)  # nothing is agreed on yet
    mean = yield _message(layer, np.concatenate([values.ravel(), rider]))
    reply = mean[: values.size].reshape(values.shape)
    mean_rider = mean[values.size :].copy()  # a view would keep all of it alive
    n_averagings = 1
    while True:
        try:
            wanted = program.send(reply)
        except StopIteration as stop:
            return stop.value, mean_rider, n_averagings
        if isinstance(wanted, Agreed):
            reply = yield wanted
        else:
            reply = yield _message(layer, wanted)
            n_averagings += 1


def _message(layer: int, values: Array) -> Message:
    if not np.isfinite(values).all():
        raise NumericalError(
            f"Layer {max(layer, 0)} produced a number that is not finite. Check the "
            "scale of the inputs (or `standardize` them), `mu_input` and `mu_hidden`."
        )
    return Message(layer, values)


def _tally(scores: Array, T: Array) -> Array:
    correct = np.count_nonzero(scores.argmax(axis=0) == T.argmax(axis=0))
    costs = [squared_norm(T - scores), squared_norm(T)]
    return np.array([*costs, correct, T.shape[1]], dtype=float)


def _record(layer: int, totals: Array, iterations: int) -> LayerRecord:
    cost, cost_of_zero, correct, n_samples = totals.tolist()
    smallest = sys.float_info.min
    ratio = max(cost, smallest) / max(cost_of_zero, smallest)
    return LayerRecord(
        layer=layer,
        cost=cost,
        train_error_db=10 * math.log10(max(ratio, smallest)),
        # Counts are whole: what gossip leaves beside them is not information.
        train_accuracy=round(correct) / round(n_samples),
        iterations=iterations,
    )


def _check_shard(shard: Shard, plan: Plan) -> None:
    if len(shard.X) != plan.n_features or len(shard.T) != plan.n_outputs:
        raise DataError(
            f"A shard must have {plan.n_features} features and {plan.n_outputs} target "
            f"rows as the plan says, got {len(shard.X)} and {len(shard.T)}."
        )
