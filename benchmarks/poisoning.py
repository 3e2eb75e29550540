"""What a lying member can do: accuracy against the share of rows that are poisoned.

Some rows belong to members that lie; how the other rows are divided does not matter, as
sums are exact. The liars

- give all their rows to one class, or each to another class at random: no bound can
  tell that from rows that are so;
- send the largest sums that the bounds allow, with masks and without: every feature
  speaks for one class as loudly as it can, and the validation errors that they report
  are the worst ones for all ridges but the weakest, so that nothing is smoothed away.
  Without masks each is held to its own rows, with masks all are held to the total.

Beside it stands the accuracy without these rows. Every figure is the mean over seeds 0
to 2, by which the liars' rows and the random matrices are drawn; of hospitals, each of
the four lies in turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.hospitals import read_patients
from dssfn._typing import Array, Integers
from dssfn.config import Plan
from dssfn.consensus import Tree
from dssfn.datasets import load
from dssfn.datasets.hospitals import HOSPITALS
from dssfn.exact.gram import WORD_BITS
from dssfn.exact.gram_bounds import GramBounds
from dssfn.exact.limbs import N_LIMBS, ExactTally
from dssfn.exact.tally_bounds import TallyBounds
from dssfn.influence import Stated
from dssfn.lockstep import Workers
from dssfn.programs import Message, Program
from dssfn.report.numbers import NONE
from dssfn.shard import Shard, one_hot
from dssfn.simulator import run_programs
from dssfn.sum_bounds import JoinedBounds, SumBounds
from dssfn.topology import build_topology
from dssfn.training import Model, train_node

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
SEEDS = range(3)
SIZE = {"members": 3, "width": 200, "n_layers": 3}
TARGET = 0  # the class that liars speak for
SPARE = 0.25  # of the total that masks hide: the honest nodes' sums are in it too
LIES = (
    "rows left out",
    "all of one class",
    "classes at random",
    "largest sums, no masks",
    "largest sums, masks",
)

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Samples to train and to test on, rows are samples."""

    X: Array
    codes: Codes
    X_test: Array
    codes_test: Codes

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1

    def accuracy(self, is_liars: NDArray[np.bool_], lie: str, seed: int) -> float:
        """Return the test accuracy if some rows are the liars', in per cent."""
        codes, honest = self.codes.copy(), np.flatnonzero(~is_liars)
        liars = np.flatnonzero(is_liars)
        if lie == "all of one class":
            codes[liars] = TARGET
        elif lie == "classes at random":
            rng = np.random.default_rng([seed, 1])
            codes[liars] += rng.integers(1, self.n_classes, len(liars))
            codes %= self.n_classes
        if not len(liars) or lie == "rows left out":
            model = train(self, codes, [honest], seed)
        else:
            model = train(self, codes, [honest, liars], seed, lie)
        scores = model.scores(np.ascontiguousarray(self.X_test.T))
        return 100 * float((scores.argmax(axis=0) == self.codes_test).mean())


def train(
    case: Case, codes: Codes, parts: Sequence[Codes], seed: int, lie: str = ""
) -> Model:
    """Train on some rows of each of one node or two, the second of which lies."""
    plan = Plan(
        n_features=case.X.shape[1],
        classes=tuple(range(case.n_classes)),
        seed=seed,
        **SIZE,
    )
    T, X = one_hot(codes, case.n_classes), np.ascontiguousarray(case.X.T)
    n = len(parts)
    shards = [Shard(X[:, rows], T[:, rows]) for rows in parts]
    programs = [
        train_node(shard, plan, n_nodes=n, node=node)
        for node, shard in enumerate(shards)
    ]
    stated: Stated | None = Stated(
        ("honest", "liars")[:n], [shard.weight for shard in shards]
    )
    if lie == "largest sums, no masks":
        programs[1] = lying(programs[1], shards[1].weight)
    elif lie == "largest sums, masks":
        total = sum(shard.weight for shard in shards)
        programs[1], stated = lying(programs[1], SPARE * total), None
    with Workers(n) as workers:
        tree = Tree(build_topology("complete", n))
        return run_programs(programs, tree, workers, stated=stated)[0]


def lying(program: Program[Model], weight: float) -> Program[Model]:
    """Return a program whose sums are the largest that samples of a weight allow."""
    reply: Any = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as stop:
            model: Model = stop.value
            return model
        if isinstance(request, Message) and request.bounds is not None:
            request = replace(request, fill=_filled(request, weight))
        reply = yield request


def _filled(message: Message, weight: float) -> Callable[[Any], None]:
    def fill(into: Integers) -> None:
        message.fill(into)
        for sums, bounds in _parts(into, message.bounds):
            if isinstance(bounds, GramBounds):
                _speak(sums, bounds, weight)
            elif isinstance(bounds, TallyBounds) and _is_of_ridges(bounds):
                _misjudge(sums, bounds, weight)

    return fill


def _parts(
    sums: Integers, bounds: SumBounds | None
) -> Iterator[tuple[Integers, SumBounds | None]]:
    """Yield the parts of a message that have bounds of one kind."""
    if not isinstance(bounds, JoinedBounds):
        yield sums, bounds
        return
    at = 0
    for size, one in bounds.parts:
        yield from _parts(sums[at : at + size], one)
        at += size


def _speak(sums: Integers, bounds: GramBounds, weight: float) -> None:
    """Let every feature speak for one class, as loudly as its squares allow."""
    words, (_, _, units, C_units) = bounds.layout.split(sums)
    k = len(words) // 2
    (_, high, C_high), (_, low, C_low) = words[:k], words[k:]
    largest = bounds.largest_left * math.sqrt(weight)
    for_class = np.full((bounds.layout.n_outputs, 1), -1.0)
    for_class[TARGET] = 1.0
    diagonal = np.ldexp(_diagonal(high), WORD_BITS) + _diagonal(low)
    loud = np.floor(for_class * (largest * np.sqrt(diagonal)))
    C_high[:] = np.floor(np.ldexp(loud, -WORD_BITS)).astype(np.int64)
    C_low[:] = (loud - np.ldexp(C_high.astype(float), WORD_BITS)).astype(np.int64)
    C_units[:] = np.trunc(for_class * (largest * np.sqrt(_diagonal(units))))


def _diagonal(packed: Integers) -> Array:
    """Return the diagonal of a packed triangle."""
    columns = np.arange(math.isqrt(2 * len(packed)))
    diagonal: Array = packed[columns * (columns + 3) // 2].astype(float)
    return diagonal


def _is_of_ridges(bounds: TallyBounds) -> bool:
    """Return whether a tally has errors and correct answers for all ridges."""
    return len(bounds.high) % 2 == 0 and bool((bounds.high[::2] > 1).all())


def _misjudge(sums: Integers, bounds: TallyBounds, weight: float) -> None:
    """Report the worst errors for all ridges but the first."""
    values = bounds.high * weight
    values[1::2] = 0.0
    values[:2] = 0.0
    tally = ExactTally(len(values))
    tally.add(values[:, None])
    sums[: len(values) * N_LIMBS] = tally.numbers()


def cases() -> dict[str, Case]:
    """Return the data sets whose liars are drawn at random."""
    return {name: _case(load(name)) for name in ("digits", "satimage")}


def _case(data: Any) -> Case:
    classes, codes = np.unique(data.y_train, return_inverse=True)
    return Case(data.X_train, codes, data.X_test, np.searchsorted(classes, data.y_test))


def page() -> Iterator[str]:
    """Yield the lines of the tables."""
    for name, case in cases().items():
        yield from _heading(f"{name}: share of the rows that are the liars'")
        for share in SHARES:
            drawn = [_drawn(case, share, seed) for seed in SEEDS]
            yield _line(f"{share:.0%}", _figures(case, drawn))
        yield ""
    patients = read_patients(None)
    split = patients.split
    hospitals = Case(split.X_train, split.y_train, split.X_test, split.y_test)
    yield from _heading("four hospitals: the one that lies, and its share of the rows")
    for number, name in enumerate(("nobody", *HOSPITALS), start=-1):
        is_liars = patients.train_hospital == number
        label = f"{name}, {is_liars.mean():.0%}"
        yield _line(label, _figures(hospitals, [is_liars] * len(SEEDS)))


def _drawn(case: Case, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which rows are the liars'; a larger share has those of a smaller one."""
    n = len(case.codes)
    order = np.random.default_rng([seed, 0]).permutation(n)
    is_liars = np.zeros(n, dtype=bool)
    is_liars[order[: round(share * n)]] = True
    return is_liars


def _figures(case: Case, drawn: Sequence[NDArray[np.bool_]]) -> list[float]:
    lies = LIES if drawn[0].any() else LIES[:1]
    return [
        float(
            np.mean([case.accuracy(rows, lie, seed) for seed, rows in enumerate(drawn)])
        )
        for lie in lies
    ]


def _heading(what: str) -> Iterator[str]:
    yield f"| {what} | {' | '.join(LIES)} |"
    yield "|---|" + "---|" * len(LIES)


def _line(label: str, figures: Sequence[float]) -> str:
    cells = [f"{one:.1f}" for one in figures] + [NONE] * (len(LIES) - len(figures))
    return f"| {label} | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    for line in page():
        print(line, flush=True)


if __name__ == "__main__":
    main()
