"""Relaxed ADMM in edge variables, in which a lost letter does no harm.

What the paper proposes for networks that lose letters (Bastianello, Carli, Schenato and
Todescato, arXiv 1809.09887 and 1901.09252). Every node i keeps a matrix z_ij for each
neighbour j. An iteration minimises the node's own cost in the ball, with a proximal
term,

    x_i = argmin ||T_i - x Y_i||^2 + rho d_i / 2 ||x||^2 - <sum_j z_ij, x>,

and sends 2 rho x_i - z_ij to every neighbour j, which moves its z_ji by a share alpha
towards it when it comes. A lost letter leaves z_ji as it was. Nobody waits for anybody,
and nothing is averaged over the network.

It converges, and it is slow: what a node knows passes to others through the costs of
all nodes between them, so the less the nodes' samples are alike the longer it takes.
After `n_iter` iterations nodes hold different matrices; a training tells how different
(`node_spread`). Every node counts its own iterations, so one that begins after its
neighbours have ended hears nothing more, and ends with them. Where sums are exact
(`dssfn.consensus.push_sum`, resending along a tree), a layer takes one averaging. This
solver is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.ball import least_multiplier
from dssfn.config import Plan
from dssfn.consensus.pace import Pace
from dssfn.parties import Joint, Post
from dssfn.problem import LayerShare
from dssfn.programs import Message, Program

# rho is this share of the mean eigenvalue of a node's G. Among 0.003, 0.01, .. 100 it
# left the smallest mean gap to the optimal cost after 100 iterations: one layer of
# digits and satimage, iid and by class, without loss and with 30 %. (For iid alone 1 is
# better, by class 3 to 10.)
SHARE = 3.0
FIRST_TRIP = 0.2  # seconds that a round trip is assumed to take, until one is known
HEADER = 32  # bytes of a letter beside its matrix

Proximal: TypeAlias = Callable[[Array], Array]
"""Maps the sum of a node's z to its x."""


class Letter(NamedTuple):
    """What goes from a node to a neighbour.

    Parameters
    ----------
    number : int
        The iteration that it comes from.
    heard : int
        The last iteration of the receiver that the sender has heard of.
    held : float
        How many seconds ago that was.
    is_last : bool
        Whether the sender ends with it.
    values : array of shape (Q, n)
        2 rho x - z.
    """

    number: int
    heard: int
    held: float
    is_last: bool
    values: Array


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Relaxed ADMM in edge variables, for links that lose letters.

    Parameters
    ----------
    n_iter : int
        Iterations of every node.
    mu : float, optional
        1 / rho. Left out, the nodes agree on one first.
    alpha : float
        By how much of the way a letter moves z: half the plan's `relaxation`, so
        between 0 and 1.
    """

    n_iter: int = 100
    mu: float | None = None
    alpha: float = 0.5
    needs_equal_bits = False

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer."""
        return cls(plan.n_iter, plan.mu(layer), plan.relaxation / 2)

    def message_size(self, Q: int, n: int) -> int:
        """Return the size of what is averaged: the trace of G."""
        return 1

    def largest_message(self, Q: int, n: int) -> int:
        """Return the same."""
        return 1

    def program(self, share: LayerShare, radius: float) -> Program[Array]:
        """Agree on rho, let the nodes iterate, and return this node's x."""
        trace = yield Message.of(np.array([share.trace()]))
        mean_eigenvalue = float(trace[0]) / share.shape[1]
        rho = SHARE * mean_eigenvalue or 1.0
        if self.mu is not None:
            rho = 1 / self.mu
        make = partial(self.party, share, radius, rho)
        n = share.shape[1]
        x: Array = yield Joint(make, layer=0, size=n * (n + 1) // 2)
        return x

    def party(
        self,
        share: LayerShare,
        radius: float,
        rho: float,
        node: NodeId,
        step: int,
        neighbours: Sequence[NodeId],
    ) -> RelaxedParty:
        """Return a node's party of one layer."""
        weight = rho * len(neighbours) / 2
        proximal = ball_proximal(share, radius, weight)
        return RelaxedParty(
            neighbours,
            share.shape,
            proximal,
            rho=rho,
            alpha=self.alpha,
            n_iter=self.n_iter,
        )


def ball_proximal(share: LayerShare, radius: float, weight: float) -> Proximal:
    """Return the function from the sum of z to the minimiser in the ball.

    The minimiser is that of ``||T - x Y||^2 + weight ||x||^2 - <z, x>``; the share's
    G is diagonalised once.
    """
    n = share.shape[1]
    G = share.operator()(np.eye(n))
    s, U = np.linalg.eigh((G + G.T) / 2)
    s = np.maximum(s, 0.0) + weight
    CU = share.cross() @ U

    def proximal(z: Array) -> Array:
        A = CU + z @ U / 2
        lam = least_multiplier(s, np.linalg.norm(A, axis=0), radius)
        x: Array = (A / (s + lam)) @ U.T
        return x

    return proximal


class RelaxedParty:
    """One node's side of a layer by relaxed ADMM; a `dssfn.parties.Party`.

    Parameters
    ----------
    neighbours : sequence of int
        Who shares an edge with this node.
    shape : tuple of int
        The shape of x, (Q, n).
    proximal : callable
        The node's own minimisation.
    rho, alpha : float
        The penalty, and the share of the way that a letter moves z.
    n_iter : int
        How often to iterate.
    """

    def __init__(
        self,
        neighbours: Sequence[NodeId],
        shape: tuple[int, int],
        proximal: Proximal,
        *,
        rho: float,
        alpha: float,
        n_iter: int,
    ) -> None:
        self.result: Array | None = None
        self.due: float | None = None
        self.x: Array = np.zeros(shape)
        self._z = {j: np.zeros(shape) for j in neighbours}
        self._proximal, self._rho, self._alpha = proximal, rho, alpha
        self._n_iter, self._number = n_iter, 0
        self._pace = Pace(FIRST_TRIP)
        self._heard = dict.fromkeys(neighbours, (0, 0.0))  # newest letter, and when
        self._fresh: set[NodeId] = set()  # who was heard since the last iteration
        self._ended: set[NodeId] = set()
        self._not_before = 0.0

    @property
    def may_rest(self) -> bool:
        """Whether this node has ended; its neighbours do without it."""
        return self.result is not None

    def begin(self, now: float) -> Sequence[Post]:
        """Start with z = 0."""
        return self._iterate(now)

    def wake(self, now: float) -> Sequence[Post]:
        """Iterate with what has come."""
        return self._iterate(now)

    def hear(self, now: float, sender: NodeId, content: Letter) -> Sequence[Post]:
        """Move z towards what has come, unless it is old, and iterate if all have."""
        if self.result is not None or content.number <= self._heard[sender][0]:
            return ()
        self._heard[sender] = content.number, now
        self._pace.heard(now, content.heard, content.held)
        z = self._z[sender]
        self._z[sender] = z + self._alpha * (content.values - z)
        self._fresh.add(sender)
        if content.is_last:
            self._ended.add(sender)
        if self._fresh | self._ended >= self._z.keys():
            if now >= self._not_before:
                return self._iterate(now)
            self.due = self._not_before
        return ()

    def _iterate(self, now: float) -> list[Post]:
        self._number += 1
        self._fresh.clear()
        self.x = self._proximal(sum(self._z.values(), np.zeros_like(self.x)))
        is_last = self._number == self._n_iter or self._ended >= self._z.keys()
        if is_last:  # also if no letter can come any more
            self.result = self.x
        self._pace.sent(now, self._number)
        self._not_before = now + self._pace.least
        # Iterations are counted, so there is no need to be slow when nobody is heard.
        self.due = None if is_last else now + self._pace.usual
        return [self._post(now, j, is_last) for j in self._z if j not in self._ended]

    def _post(self, now: float, receiver: NodeId, is_last: bool) -> Post:
        number, when = self._heard[receiver]
        values = 2 * self._rho * self.x - self._z[receiver]
        letter = Letter(self._number, number, now - when, is_last, values)
        return Post(receiver, letter, HEADER + values.nbytes)
