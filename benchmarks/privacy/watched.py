"""The strongest attack on a private training: it knows all but whether a row is in.

The attacker has all other rows, the plan, and the noisy totals of every release. Of
what the totals differ by from the sums of the other rows, it takes the part in the
direction of what the row would add, divided by the variance of the noise: that is the
logarithm of the likelihood ratio, and nobody can do better. So the bound on epsilon
that follows from it comes near to the true one, given enough trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.privacy.budgets import DELTA, RANGES, private
from benchmarks.privacy.epsilon import epsilon_lower_bound
from benchmarks.privacy.inference import Tell
from benchmarks.privacy.sets import LabelledRows
from dssfn._typing import Array, Integers
from dssfn.config import Plan
from dssfn.integer_units import IntegerFeatures, IntegerUnits
from dssfn.privacy import NoiseSource, budget_of, train_private
from dssfn.privacy.budget import ERRORS, LAYER, SCALING
from dssfn.privacy.clipped_sums import Clipped, sums_of
from dssfn.privacy.moments import Range, moments_of
from dssfn.privacy.program import features_of
from dssfn.privacy.training_errors import errors_of
from dssfn.programs import Agreed
from dssfn.progress import Progress
from dssfn.report.table import Table
from dssfn.shard import Rows, Shard, one_hot

COMMAND = "python -m benchmarks.privacy loss"
EPSILONS = (1.0, 8.0, 50.0)
SEED = 0


@dataclass(frozen=True, slots=True)
class Watched:
    """Trainings with and without one row, and what an attacker makes of their totals.

    Parameters
    ----------
    scores : array of shape (n,)
        The log-likelihood ratio of every training.
    is_member : bool array of shape (n,)
        Whether the row was in.
    """

    scores: Array
    is_member: NDArray[np.bool_]


@dataclass(slots=True)
class Overheard(NoiseSource):
    """A source of noise that keeps what it gave, and its variance."""

    given: dict[str, tuple[Integers, int]] = field(default_factory=dict)

    def share(
        self, name: str, sums: Integers, variance: int, agreed: Sequence[Array] = ()
    ) -> Integers:
        """Return the noise of a release, and keep it."""
        noise = NoiseSource.share(self, name, sums, variance, agreed)
        self.given[name] = noise, variance
        return noise


def watch(plan: Plan, rows: LabelledRows, row: Array, n: int, seed: int) -> Watched:
    """Train n times, for each of which a coin decides whether a row is in.

    Parameters
    ----------
    plan : Plan
        A plan with a budget.
    rows : LabelledRows
        The other rows.
    row : array of shape (P,)
        The row, of class 0.
    n, seed : int
        How many trainings, and where the coins come from.
    """
    T = one_hot(np.append(rows.y, 0), rows.n_classes)
    X = np.vstack([rows.X, row]).T
    with_it, without = Shard(X, T), Shard(X[:, :-1], T[:, :-1])
    alone = Rows(X[:, -1:], T[:, -1:])
    coins = np.random.default_rng(seed).random(n) < 0.5
    scores = [
        _ratio(plan, with_it if is_in else without, alone, is_in=bool(is_in))
        for is_in in coins
    ]
    return Watched(np.array(scores), coins)


def _ratio(plan: Plan, shard: Shard, alone: Rows, *, is_in: bool) -> float:
    """Return the log-likelihood ratio of one training, for the row being in."""
    noise = Overheard(budget_of(plan))
    saved: list[Progress] = []
    program = train_private(
        shard, plan, n_nodes=1, noise=noise, on_progress=saved.append
    )
    reply = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration:
            break
        reply = request.run() if isinstance(request, Agreed) else request.make()
    ratio = 0.0
    for name, change in _changes(plan, saved[-1], alone).items():
        given, variance = noise.given[name]
        seen = given.astype(float) + change * is_in  # totals less the other rows' sums
        ratio += float(seen @ change - change @ change / 2) / variance
    return ratio


def _changes(plan: Plan, progress: Progress, alone: Rows) -> dict[str, Array]:
    """Return what a row adds to the sums of every release."""
    first, last, _ = progress.stages
    limits, Q = Clipped(plan.most_width), plan.n_outputs

    def features(X: Array) -> IntegerFeatures:
        return features_of(X, plan, first)

    made: dict[str, Callable[[], Integers]] = {
        SCALING: lambda: moments_of([alone], Range(*plan.input_range)),
        LAYER: lambda: sums_of([alone], lambda X: features(X).units, Q, limits, 1),
        ERRORS: lambda: errors_of(
            [alone], lambda X: IntegerUnits(plan).scores(1, last["O"], features(X))
        ),
    }
    return {name: make().astype(float) for name, make in made.items()}


def odd_row(low: float, high: float, P: int, seed: int = SEED) -> Array:
    """Return a row that changes the moments as much as one can: all at the ends."""
    return np.random.default_rng(seed).choice([low, high], size=P)


def watched_table(rows: LabelledRows, n: int, tell: Tell) -> Table:
    """Return the epsilon that an attack proves, beside the one that is promised.

    Parameters
    ----------
    rows : LabelledRows
        Pictures of digits.
    n : int
        How many trainings of each epsilon.
    tell : callable
        Hears of every line as soon as it is known.
    """
    lines = []
    P, (low, high) = rows.X.shape[1], RANGES["digits"]
    row = odd_row(low, high, P)
    for epsilon in EPSILONS:
        plan = Plan(
            n_features=P,
            classes=tuple(range(rows.n_classes)),
            **private("digits", epsilon, DELTA),
        )
        found = watch(plan, rows, row, n, SEED)
        proved = epsilon_lower_bound(found.scores, found.is_member, DELTA)
        right = np.mean((found.scores > 0) == found.is_member)
        line = (f"{epsilon:g}", f"{proved:.2f}", f"{100 * right:.1f}")
        tell("  ".join(line))
        lines.append(line)
    head = ("epsilon of the plan", "epsilon that the attack proves", "correct, %")
    note = (
        f"{rows.name}, {len(rows.y):,} rows, with one more row or without it, in {n:,} "
        f"trainings for each epsilon; delta {DELTA:g}. The attacker knows all other "
        "rows and has the totals. Proved: the epsilon that is exceeded with a "
        "confidence of 95 %, by thresholds that were chosen on one half of the "
        "trainings and judged on the "
        f"other. `{COMMAND}`"
    )
    return Table("Privacy loss as measured", head, lines, 0, note)
