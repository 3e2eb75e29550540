"""Attacks: a node's sums of layer 0, from messages that were sent for them.

How this works. `gram` sends the sums themselves. `krylov` sends T Y^T and then G V for
blocks V that all nodes know, so G is known in all their directions; as it is symmetric
and has no negative eigenvalues, little is missing beyond them. `admm` sends s = O + Lam
in every iteration, and all know Z: so Lam = s - Z of the iteration before, O = s - Lam,
and as O (G + I / mu) = C + (Z - Lam) / mu, every iteration gives Q linear equations in
G and C. From the differences of iterations C falls out, and what is left is G in all
directions in which O has moved.

Where letters give the sum of several nodes only, the same is done to that sum; for
admm, whose messages are no sums of rows, to its mean, as if one node had sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, NodeId, Numbers
from dssfn.audit.isolation import Piece, rest_of_total, smallest_piece
from dssfn.audit.sums import FirstLayer, Sums
from dssfn.audit.views import View
from dssfn.ball import TINY, project_ball
from dssfn.errors import PlanError
from dssfn.solvers.admm import SHARE
from dssfn.solvers.krylov import orthonormal

# Singular values and eigenvalues that are smaller, relative to the largest, tell of
# rounding only.
LEAST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """What an attack has found.

    Parameters
    ----------
    nodes : frozenset of int
        The nodes whose sum it is about; the victim alone, if the attack is good.
    sums : Sums
        Their sums of layer 0, or what the attacker takes for them.
    """

    nodes: frozenset[NodeId]
    sums: Sums


def by_letters(view: View, victim: NodeId) -> Recovered | None:
    """Return what members find out about a node from letters.

    None if letters tell them no more than the total does.
    """
    return _attack(view, lambda step: smallest_piece(view, victim, step))


def by_total(view: View, victim: NodeId) -> Recovered | None:
    """Return what members find out about a node from totals, which nothing hides.

    It is the sum of all other nodes, unless folds are nodes: then layer 0 has a total
    for every fold.
    """
    found = _attack(view, lambda step: rest_of_total(view, step))
    if found is None or view.plan.folds != "nodes":
        return found
    n_folds = len(found.sums.C_by_fold) - 1  # the last one is left out by nobody
    if n_folds < 2:
        return found
    fold = victim % n_folds
    nodes = frozenset(node for node in found.nodes if node % n_folds == fold)
    return Recovered(nodes, found.sums.of_fold(fold))


Pieces = Mapping[int, Numbers]
"""The sum of the messages of the same nodes, by averaging."""


def _attack(view: View, piece_of: Callable[[int], Piece | None]) -> Recovered | None:
    """Attack the sums of the fewest nodes; of equally few, those known most often."""
    attack = attack_on(view.plan.solver)
    known: dict[frozenset[NodeId], dict[int, Numbers]] = {}
    for step in view.steps[:1] if attack is from_gram else view.steps:
        if (piece := piece_of(step)) is not None:
            known.setdefault(piece.nodes, {})[step] = piece.values
    if not known:
        return None
    nodes = min(known, key=lambda one: (len(one), -len(known[one])))
    sums = attack(view, known[nodes], len(nodes))
    return None if sums is None else Recovered(nodes, sums)


def attack_on(solver: str) -> Callable[[View, Pieces, int], Sums | None]:
    """Return the attack on the messages of a solver."""
    if solver not in ATTACKS:
        raise PlanError(
            f"`solver` must be one of {', '.join(ATTACKS)} for an audit, which cannot "
            f"attack other solvers, got {solver!r}."
        )
    return ATTACKS[solver]


def from_gram(view: View, pieces: Pieces, n_nodes: int) -> Sums | None:
    """Return the sums as the only message of layer 0 has them."""
    (values,) = pieces.values()
    return FirstLayer(view.plan).read(values)


def from_krylov(view: View, pieces: Pieces, n_nodes: int) -> Sums | None:
    """Return the sums in all directions of which letters give the product with G."""
    layer, Q = FirstLayer(view.plan), view.plan.n_outputs
    n = layer.n
    first, *images = view.steps
    directions: list[Array] = []  # V, and G V of the piece
    products: list[Array] = []
    V: Array = np.empty((n, 0))
    if view.averages[first].size != Q * n:  # all of it was sent at once
        return layer.read(pieces[first]) if first in pieces else None
    block = orthonormal(view.averages[first].reshape(Q, n).T, V)
    for step in images:
        average = view.averages[step]
        if average.size != block.size:  # patience was lost: all of it was sent
            if step in pieces:
                return layer.read(pieces[step])
            break
        if step in pieces:
            directions.append(block)
            products.append(pieces[step].reshape(block.shape))
        V = np.hstack([V, block])
        block = orthonormal(average.reshape(V.shape[0], -1), V)
    if not directions:
        return None
    known, image = np.hstack(directions), np.hstack(products)
    C = pieces[first].reshape(Q, n) if first in pieces else np.zeros((Q, n))
    return Sums((completed(known, image),), (C,), share=known.shape[1] / n)


def from_admm(view: View, pieces: Pieces, n_nodes: int) -> Sums | None:
    """Return the sums that explain all iterations best."""
    plan, (Q, n) = view.plan, (view.plan.n_outputs, FirstLayer(view.plan).n)
    if plan.balance_mu:
        raise PlanError(
            "`balance_mu` must be off for an audit of admm, which does not track how "
            "mu changes. Leave it out: the messages reveal as much without it."
        )
    steps, mu = list(view.steps), plan.mu(0)
    if mu is None:
        mean_eigenvalue = float(view.averages[steps.pop(0)].ravel()[0]) / n
        mu = 1 / (SHARE * mean_eigenvalue) if mean_eigenvalue > 0 else 1.0
    left: list[Array] = []  # O, and (B - O) / mu of some iterations
    right: list[Array] = []
    Z: Array = np.zeros((Q, n))
    Lam: Array | None = np.zeros((Q, n))  # None where a letter is missing
    for step in steps:
        sent: Array | None = None
        if step in pieces:
            sent = pieces[step][: Q * n].reshape(Q, n) / n_nodes
        if sent is not None and Lam is not None:
            mixed = sent - Lam
            O = (mixed - (1 - plan.relaxation) * Z) / plan.relaxation
            left.append(O)
            right.append((Z - Lam - O) / mu)
        mean = view.averages[step].ravel()[: Q * n].reshape(Q, n)
        Z = project_ball(mean, plan.radius)
        Lam = None if sent is None else sent - Z
    if not left:
        return None
    return _solved(np.stack(left), np.stack(right))


def _solved(O: Array, B: Array) -> Sums:
    """Return G and C with O_k G - C = B_k for iterations k, each of shape (K, Q, n).

    The differences of iterations are about G alone.
    """
    Q, n = O.shape[1:]
    D, E = ((A - A.mean(axis=0)).reshape(-1, n) for A in (O, B))
    U, sizes, Vt = np.linalg.svd(D, full_matrices=False)
    is_known = sizes > LEAST * max(float(sizes[0]), TINY)
    V = Vt[is_known].T
    image = E.T @ (U[:, is_known] / sizes[is_known])
    G = completed(V, image)
    C = (O @ G - B).mean(axis=0)
    return Sums((G,), (C.reshape(Q, n),), share=V.shape[1] / n)


def completed(V: Array, image: Array) -> Array:
    """Return a symmetric G, (n, n), from G V for orthonormal columns V (n, k).

    The part beyond V is the least that a matrix without negative eigenvalues can have,
    which is all of it if there are no more rows than directions.

    >>> G = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    >>> V = np.array([[1.0], [0.0], [0.0]])
    >>> bool(np.allclose(completed(V, G @ V), G))
    True
    """
    inner = V.T @ image
    inner = (inner + inner.T) / 2
    one_side = image @ V.T
    G: Array = one_side + one_side.T - V @ inner @ V.T
    beyond = image - V @ (V.T @ image)
    sizes, U = np.linalg.eigh(inner)
    is_known = sizes > LEAST * max(float(sizes[-1]), TINY)
    root = (beyond @ U[:, is_known]) / np.sqrt(sizes[is_known])
    G += root @ root.T
    return G


ATTACKS: Mapping[str, Callable[[View, Pieces, int], Sums | None]] = {
    "gram": from_gram,
    "krylov": from_krylov,
    "admm": from_admm,
}
"""How every solver is attacked."""
