"""The paper's solver: consensus ADMM, one averaging of a Q x n matrix per iteration.

The paper's iteration starts at zero, keeps mu, and runs K times. Four options shorten
the way: start where the layer before ended (lossless flow), over-relax, balance mu so
that both residuals fall together, and stop when both are small. The last two let the
nodes decide on agreed numbers, so these must be equal on all nodes to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dssfn._typing import Array
from dssfn.ball import TINY, project_ball, squared_norm
from dssfn.config import Plan
from dssfn.network import lossless_flow
from dssfn.problem import LayerShare
from dssfn.programs import Message, Program

# Among 1, 0.3, 0.1, .. 0.003 this one left the smallest gap to the optimal cost over
# digits, satimage and vowel, raw and standardised, K = 100.
SHARE = 0.3

N_RESIDUALS = 3  # numbers that the residuals are made of

# mu changes by this factor when one residual is more than ten times the other.
FACTOR, APART = 2.0, 10.0


@dataclass(frozen=True, slots=True)
class Admm:
    """Consensus ADMM: every iteration averages a Q x n matrix.

    Parameters
    ----------
    n_iter : int
        K, or with `stop` the most iterations.
    mu : float, optional
        The Lagrangian parameter. Left out, the nodes agree on one first.
    from_lossless : bool
        Start at the lossless-flow point instead of at zero.
    relaxation : float
        Above 1 the O-update goes beyond its minimiser; below 2 it converges.
    balance : bool
        Change mu when one residual is much larger than the other. Needs an
        eigen-decomposition instead of a Cholesky factor, and then changes are free.
    stop : float, optional
        End when both residuals are below this, relative to what they are made of.
    """

    n_iter: int = 100
    mu: float | None = None
    from_lossless: bool = False
    relaxation: float = 1.0
    balance: bool = False
    stop: float | None = None

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer; layer 0 always starts at zero."""
        return cls(
            n_iter=plan.n_iter,
            mu=plan.mu(layer),
            from_lossless=plan.warm_start and layer > 0,
            relaxation=plan.relaxation,
            balance=plan.balance_mu,
            stop=plan.residual_tol,
        )

    @property
    def needs_equal_bits(self) -> bool:
        """Whether nodes decide by their residuals, which must then be the same."""
        return self.balance or self.stop is not None

    def message_size(self, Q: int, n: int) -> int:
        """Return the size of the output matrix."""
        return Q * n

    def largest_message(self, Q: int, n: int) -> int:
        """Return the size of the output matrix with what the residuals are made of."""
        return Q * n + N_RESIDUALS

    def program(self, share: LayerShare, radius: float) -> Program[Array]:
        """Iterate, and return Z, the agreed solution."""
        mu = self.mu
        if mu is None:
            mu = yield from agree_mu(share)
        factors = share.spectral() if self.balance else share.proximal
        solve = factors(mu)
        Z: Array = np.zeros(share.shape)  # (Q, n) the agreed solution
        Lam = np.zeros_like(Z)  # (Q, n) scaled dual, private to this node
        if self.from_lossless:
            Z = lossless_flow(*share.shape)
            Lam = mu * (share.cross() - share.operator()(Z.T).T)  # so that O = Z first
        watching = self.needs_equal_bits
        # What this node adds to the residuals.
        sizes = np.zeros(N_RESIDUALS if watching else 0)
        change = 0.0
        for k in range(self.n_iter):
            O = solve(Z - Lam)  # O-update
            mixed = _relaxed(O, Z, self.relaxation)
            reply = yield Message.of(_joined(mixed + Lam, sizes))
            mean, agreed = _split(reply, Z.shape)
            before, Z = Z, project_ball(mean, radius)  # Z-update
            Lam = Lam + mixed - Z  # dual update
            if not watching:
                continue
            if k > 0:
                primal, dual = _residuals(agreed, change)
                if self.stop is not None and max(primal, dual) <= self.stop:
                    break
                # Only in the first half: a mu that never rests need not converge.
                if self.balance and 2 * k < self.n_iter:
                    scale = _imbalance(primal, dual)
                    mu, Lam = mu * scale, Lam * scale
                    solve = factors(mu) if scale != 1 else solve
            change = squared_norm(Z - before)
            sizes = np.array([squared_norm(O - Z), squared_norm(O), squared_norm(Lam)])
        return Z


def _relaxed(O: Array, Z: Array, relaxation: float) -> Array:
    return O if relaxation == 1 else relaxation * O + (1 - relaxation) * Z


def _joined(values: Array, sizes: Array) -> Array:
    return np.concatenate([values.ravel(), sizes]) if sizes.size else values


def _split(reply: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Undo `_joined` for the average."""
    flat, size = reply.ravel(), math.prod(shape)
    return flat[:size].reshape(shape), flat[size:]


def _imbalance(primal: float, dual: float) -> float:
    """Return the factor by which mu should change."""
    if primal > APART * dual:
        return 1 / FACTOR
    return FACTOR if dual > APART * primal else 1.0


def _residuals(sizes: Array, change: float) -> tuple[float, float]:
    """Return both residuals of the last iteration, relative to their parts."""
    apart, output, Lam = sizes.tolist()
    return (
        math.sqrt(apart / max(output, TINY)),
        math.sqrt(change / max(Lam, TINY)),
    )


def agree_mu(share: LayerShare) -> Program[float]:
    """Agree on a mu that suits the features: 1/mu is SHARE of G_m's mean eigenvalue."""
    trace = yield Message.of(np.array([share.trace()]))
    mean_eigenvalue = float(trace[0]) / share.shape[1]
    return 1 / (SHARE * mean_eigenvalue) if mean_eigenvalue > 0 else 1.0
