"""One averaging per layer: agree on Y Y^T and T Y^T, then every node solves exactly."""

from __future__ import annotations

import math

from dssfn._typing import Agreed, Array, Deferred, Program
from dssfn.ball import solve_ball
from dssfn.problem import LayerShare, unpack


def gram_size(Q: int, n: int) -> int:
    """Numbers in the message: those of C and of the packed triangle of G."""
    return Q * n + n * (n + 1) // 2


def consensus_gram(local: LayerShare, *, radius: float) -> Program[Array]:
    """Solve one layer over the network; yields n(n+1)/2 + Qn numbers once.

    The minimiser does not change when G and C are both divided by M, so the means
    serve as the sums.
    """
    Q, n = local.shape

    def fill(message: Array) -> None:
        message[: Q * n] = local.cross().ravel()
        message[Q * n :] = local.packed_gram()

    mean = yield Deferred(gram_size(Q, n), fill)
    O: Array = yield Agreed(_solve, (mean, (Q, n), radius))
    return O


def _solve(mean: Array, shape: tuple[int, int], radius: float) -> Array:
    size = math.prod(shape)
    return solve_ball(unpack(mean[size:], shape[1]), mean[:size].reshape(shape), radius)
