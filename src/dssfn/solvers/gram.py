"""One averaging per layer: agree on Y Y^T and T Y^T, then every node solves exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from dssfn._typing import Array
from dssfn.ball import solve_ball
from dssfn.config import Plan
from dssfn.problem import LayerShare, unpack
from dssfn.programs import Agreed, Message, Program


@dataclass(frozen=True, slots=True)
class Gram:
    """The exact solution from agreed sums, in one averaging per layer.

    The minimiser does not change when G and C are both divided by M, so the means
    serve as the sums.
    """

    needs_equal_bits = False

    @classmethod
    def of_plan(cls, plan: Plan, layer: int, before: Sequence[int] = ()) -> Self:
        """Return the solver of a layer; it has no settings."""
        return cls()

    def message_size(self, Q: int, n: int) -> int:
        """Return the size of C and of the packed triangle of G."""
        return Q * n + n * (n + 1) // 2

    def largest_message(self, Q: int, n: int) -> int:
        """Return the size of the only message."""
        return self.message_size(Q, n)

    def program(self, share: LayerShare, radius: float) -> Program[Array]:
        """Send C and G once, and solve the layer exactly."""
        Q, n = share.shape

        def fill(message: Array) -> None:
            message[: Q * n] = share.cross().ravel()
            message[Q * n :] = share.packed_gram()

        mean = yield Message((self.message_size(Q, n),), fill)
        O: Array = yield Agreed(_solve, (mean, (Q, n), radius))
        return O


def _solve(mean: Array, shape: tuple[int, int], radius: float) -> Array:
    size = math.prod(shape)
    return solve_ball(unpack(mean[size:], shape[1]), mean[:size].reshape(shape), radius)
