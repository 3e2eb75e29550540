"""What a member of a federation receives, read as it can read it.

How this works. Real programs are run, and what the first of the nodes sends and
receives is kept. The first layer's message holds, for every fold of the rows, the sums
of all products of z = (1, x, t): a constant, the columns of a row, and a one for its
class. A member takes its own sums from the totals, and undoes the scaling, which it
knows: that leaves the sums of z z^T over the rows of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.privacy.sets import LabelledRows
from dssfn._typing import Array, Integers
from dssfn.config import Plan
from dssfn.ensemble.choices import members_for
from dssfn.ensemble.integer import Integer
from dssfn.ensemble.model import Ensemble
from dssfn.ensemble.ridge import Sums
from dssfn.ensemble.units import n_features_of
from dssfn.programs import Message
from dssfn.shard import divide, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology

Parts = Sequence[NDArray[np.intp]]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What the first of several nodes has seen when layer 0 is solved.

    Parameters
    ----------
    total, others : arrays of shape (n_folds, n, n)
        Sums of z z^T over all rows, and over those of the other nodes, by fold.
    shift, scale : arrays of shape (P,)
        The agreed mean and deviation of every column.
    """

    total: Array
    others: Array
    shift: Array
    scale: Array


def view_of(rows: LabelledRows, parts: Parts, *, seed: int = 0) -> View:
    """Train on nodes that have these rows, and return what the first has seen.

    The training ends with layer 0; a longer one begins with the same messages.

    Parameters
    ----------
    rows : LabelledRows
        The rows of all nodes.
    parts : sequence of int arrays
        The numbers of each node's rows.
    seed : int
        That of the plan, which all nodes know; folds follow from it.
    """
    P, Q = rows.X.shape[1], rows.n_classes
    members = members_for(len(rows.y))  # as many as a training without size has
    plan = Plan(
        n_features=P,
        classes=tuple(range(Q)),
        n_layers=0,
        members=members,
        seed=seed,
    )
    seen: list[tuple[Integers, Integers]] = []

    def keep(message: Message, total: Any) -> None:
        if message.layer == 0 and not seen:
            seen.append((message.make().astype(np.int64), total))

    shards = divide(rows.X, one_hot(rows.y, Q), parts)
    graph = build_topology("complete", len(parts))
    trained = simulate(shards, plan, graph, apart=True, on_average=keep)
    model = trained.networks[0]
    assert isinstance(model, Ensemble)
    own, total = seen[0]
    n_folds = model.n_members + 1
    total_sums, other_sums = (
        [
            _products(one, model.shift, model.scale)
            for one in read_folds(numbers, Integer(plan), n_folds, P, Q)
        ]
        for numbers in (total, total - own)
    )
    return View(np.stack(total_sums), np.stack(other_sums), model.shift, model.scale)


def read_folds(
    numbers: Integers, arithmetic: Integer, n_folds: int, P: int, Q: int
) -> list[Sums]:
    """Return the sums of layer 0, by fold, of a message that may have a rider."""
    n = n_features_of(0, P, Q, 0)
    size = arithmetic.size(0, 0, n)
    folds = numbers.ravel()[: n_folds * size].reshape(n_folds, size)
    return [arithmetic.read(one, 0, 0, n) for one in folds]


def _products(sums: Sums, shift: Array, scale: Array) -> Array:
    """Return the sum of z z^T, of columns as they were before they were scaled."""
    back = np.eye(1 + len(shift))
    back[1:, 0] = shift
    back[1:, 1:] = np.diag(scale)
    G = back @ sums.whole() @ back.T
    C = sums.C @ back.T
    products: Array = np.block([[G, C.T], [C, np.diag(C[:, 0])]])
    return products


def stacked(rows: LabelledRows, n_classes: int) -> Array:
    """Return z of every row, (J, 1 + P + Q)."""
    z: Array = np.hstack(
        [np.ones((len(rows.y), 1)), rows.X, one_hot(rows.y, n_classes).T]
    )
    return z
