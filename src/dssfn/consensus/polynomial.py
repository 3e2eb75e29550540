"""Averaging by a polynomial in H: gossip, Chebyshev, and the exact one.

How this works. A round can only apply H once, and mix the result with what the node
remembers: ``x_{k+1} = a_k H x_k + b_k x_k + c_k x_{k-1}``. After B rounds every node
holds its part of p(H) x for a polynomial p of degree B. The mean survives if p(1) = 1;
the disagreement shrinks by the largest |p| at the other eigenvalues of H, which every
node knows. The three schemes differ in nothing but the coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, NodeId, Numbers
from dssfn.consensus.base import Rounds, Swap, Values, wants_total
from dssfn.errors import PlanError
from dssfn.topology import Topology

# `exact` ends at rounding, whatever was asked for; no scheme gets below this.
BEST_ACCURACY = 1e-13
EQUAL = 1e-11  # eigenvalues this near are one: symmetric graphs have many equal pairs


class Coefficients(NamedTuple):
    """One round: x_{k+1} = mixed * H x_k + own * x_k + before * x_{k-1}."""

    mixed: float
    own: float = 0.0
    before: float = 0.0


class Polynomial:
    """Averaging by a fixed sequence of rounds.

    Parameters
    ----------
    topology : Topology
        The graph and its mixing matrix H.
    plan : sequence of Coefficients
        The coefficients of every round; in each they sum to 1.
    name : str
        The name of the scheme in reports.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> ring = exact(build_topology("circular", 20))
    >>> ring.n_rounds, float(ring.mix(np.arange(20.0), 0)[3].round(12))
    (10, 9.5)
    """

    def __init__(
        self, topology: Topology, plan: Sequence[Coefficients], name: str
    ) -> None:
        self.topology = topology
        self.plan = plan
        self.name = name

    @property
    def is_bitwise(self) -> bool:
        """Whether all nodes end with the same bits: only if there is one node."""
        return self.topology.n_nodes == 1

    @property
    def n_rounds(self) -> int:
        """The number of exchanges with the neighbours in one averaging."""
        return len(self.plan)

    @property
    def n_letters(self) -> int:
        """The number of letters: one per directed link and round."""
        return self.n_rounds * self.topology.n_links

    @property
    def n_queued(self) -> int:
        """The letters of the busiest node, which has most neighbours, in all rounds."""
        return self.n_rounds * max(self.topology.degrees)

    def rounds(self, node: NodeId, value: Numbers, step: int) -> Rounds:
        """Send the value to all neighbours, and combine what came with what is held."""
        self._check_kind(value)
        weights = self.topology.H[node]
        neighbours = self.topology.neighbours(node)
        before = value
        for mixed, own, older in self.plan:
            came = yield Swap(dict.fromkeys(neighbours, value), neighbours)
            held = {node: value, **came}
            # Summed in the order of node ids, so that every driver gives the same bits.
            mean = sum((weights[j] * held[j] for j in sorted(held)), np.zeros(()))
            before, value = value, mixed * mean + own * value + older * before
        return value

    def order(self, step: int) -> Sequence[NodeId]:
        """Return the nodes in the order of their numbers."""
        return range(self.topology.n_nodes)

    def mix(self, values: Values, step: int) -> NDArray[Any]:
        """Return the averages of all nodes, by one product with p(H)."""
        stacked: NDArray[Any] = np.stack([values[node] for node in self.order(step)])
        self._check_kind(stacked)
        if len(stacked) == 1:
            return stacked
        mixed: Array = self._matrix @ stacked.reshape(len(stacked), -1)
        return mixed.reshape(stacked.shape)

    def _check_kind(self, value: Numbers) -> None:
        """Refuse integers, unless a single node holds their total already."""
        if wants_total(value) and self.topology.n_nodes > 1:
            raise PlanError(
                '`consensus` must be "tree" where integers are added up exactly, got '
                f"{self.name!r}, which multiplies by fractions and so rounds."
            )

    @property
    def residual(self) -> float:
        """The share of a random disagreement that is left, rounding included."""
        values = np.random.default_rng(0).normal(size=(self.topology.n_nodes, 4))
        values -= values.mean(axis=0)
        size = float(np.linalg.norm(values)) or 1.0
        left = self._apply(lambda x: self.topology.H @ x, values)
        return float(np.linalg.norm(left)) / size

    def evaluate(self, t: Array) -> Array:
        """Return the polynomial p at some points."""
        return self._apply(lambda p: t * p, np.ones_like(t))

    def _apply(self, H: Callable[[Array], Array], x: Array) -> Array:
        """Return p(H) x for a linear map H."""
        before = x
        for mixed, own, older in self.plan:
            before, x = x, mixed * H(x) + own * x + older * before
        return x

    @cached_property
    def _matrix(self) -> Array:
        """The matrix p(H), computed from p at the eigenvalues of H."""
        eigenvalues, V = np.linalg.eigh(self.topology.H)  # ascending
        # The last eigenvector is the mean, which every p keeps: no rounding there.
        V, p = V[:, :-1], self.evaluate(eigenvalues[:-1])
        matrix: Array = 1.0 / len(V) + (V * p) @ V.T
        return matrix


class Gossip(Polynomial):
    """Repeated mixing x <- H x: the paper's averaging, p(t) = t^B."""

    def __init__(self, topology: Topology, n_rounds: int) -> None:
        super().__init__(topology, _Same(n_rounds), "gossip")

    def evaluate(self, t: Array) -> Array:
        """Return t^B by one power: a long path takes millions of rounds."""
        p: Array = t**self.n_rounds
        return p


class _Same(Sequence[Coefficients]):
    """A sequence that repeats the same round."""

    def __init__(self, n_rounds: int) -> None:
        self._range = range(n_rounds)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: Any) -> Any:
        self._range[index]  # an IndexError ends a loop
        return Coefficients(1.0)


def gossip(topology: Topology, tol: float) -> Gossip:
    """Return the paper's averaging with as many rounds as an accuracy takes."""
    return Gossip(topology, gossip_rounds(topology, tol))


def gossip_rounds(topology: Topology, tol: float) -> int:
    """Return the gossip rounds B that reach an accuracy: contraction^B <= tol.

    >>> from dssfn.topology import build_topology
    >>> gossip_rounds(build_topology("circular", 20, degree=4), 1e-10)
    65
    """
    if topology.n_nodes == 1:
        return 0
    contraction = max(topology.contraction, np.finfo(float).tiny)
    return max(1, math.ceil(math.log(tol) / math.log(contraction)))


def chebyshev(topology: Topology, tol: float) -> Polynomial:
    """Return the polynomial that is smallest on the interval of other eigenvalues.

    On [low, high] that is T_B((2 t - low - high) / (high - low)), divided by its value
    at t = 1; the two-term recursion of the Chebyshev polynomials makes it.
    """
    if topology.n_nodes == 1:
        return Polynomial(topology, [], "chebyshev")
    high, low = float(topology.eigenvalues[1]), float(topology.eigenvalues[-1])
    centre, half = (high + low) / 2, max((high - low) / 2, EQUAL)
    outside = (1 - centre) / half  # where 1 lies; beyond the interval [-1, 1]
    n_rounds = max(1, math.ceil(math.acosh(1 / tol) / math.acosh(outside)))
    plan = [Coefficients(1 / (half * outside), -centre / (half * outside))]
    ratio = 1 / outside  # T_{k-1} / T_k at `outside`, which itself would overflow
    for _ in range(n_rounds - 1):
        following = 1 / (2 * outside - ratio)  # T_k / T_{k+1}
        mixed = 2 * following / half
        plan.append(Coefficients(mixed, -mixed * centre, -following * ratio))
        ratio = following
    return Polynomial(topology, plan, "chebyshev")


def exact(topology: Topology) -> Polynomial:
    """Return the polynomial with a zero at every eigenvalue other than 1.

    One factor (H - t I) / (1 - t) per distinct eigenvalue t, in Leja order: each is as
    far as can be from those before, which keeps the products from growing and rounding
    small.
    """
    zeros = _leja_order(_distinct(topology.eigenvalues[1:]))
    plan = [Coefficients(1 / (1 - zero), -zero / (1 - zero)) for zero in zeros]
    return Polynomial(topology, plan, "exact")


def exact_if_accurate(topology: Topology, tol: float) -> Polynomial | None:
    """Return the exact polynomial, or None if rounding would make it too inaccurate."""
    best = exact(topology)
    return best if best.residual <= max(tol, BEST_ACCURACY) else None


def _distinct(values: Array) -> Array:
    """Return descending values, each group of (nearly) equal ones as its middle."""
    if not len(values):
        return values
    groups = np.split(values, np.flatnonzero(-np.diff(values) > EQUAL) + 1)
    return np.array([group.mean() for group in groups])


def _leja_order(points: Array) -> list[float]:
    chosen: list[float] = []
    left = points
    closeness = -np.abs(points)  # start far from the middle
    while len(left):
        k = int(closeness.argmin())
        chosen.append(float(left[k]))
        left, closeness = np.delete(left, k), np.delete(closeness, k)
        # The product of the distances to all chosen points, as a sum of logarithms.
        gaps = np.log(np.abs(left - chosen[-1]))
        closeness = -gaps if len(chosen) == 1 else closeness - gaps
    return chosen
