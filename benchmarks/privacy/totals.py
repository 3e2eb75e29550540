"""What a curious member learns of others from the totals that all nodes receive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.privacy.lone_rows import lone_rows
from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.view import Parts, View, stacked, view_of
from dssfn._typing import Array
from dssfn.datasets import partition
from dssfn.report.table import Table

N_NODES = (2, 3, 10)
SPLITS = {"iid": "at random", "by-class": "by class"}
FEW_ROWS = (1, 2, 5, 20, 50, 100, 200)
RARE = (5, 10, 20, 50)
NODES_WITH_RARE = 10
COMMAND = "python -m benchmarks.privacy totals"


class Errors(NamedTuple):
    """Relative errors of what was found out about a node.

    Parameters
    ----------
    gram : float
        Of the sums of products of its standardised columns.
    means : float
        Of the means of its classes, standardised.
    counts : float
        Of the number of its rows by class.
    """

    gram: float
    means: float
    counts: float


def errors_of(found: Array, truth: Array, view: View) -> Errors:
    """Return the errors of sums of z z^T that were found, beside the true ones."""
    P = len(view.shift)
    forth = np.eye(len(truth))
    forth[1 : P + 1, 0] = -view.shift / view.scale
    forth[1 : P + 1, 1 : P + 1] = np.diag(1 / view.scale)
    (G, means, counts), (true_G, true_means, true_counts) = (
        _parts_of(forth @ one @ forth.T, P) for one in (found, truth)
    )
    has_some = true_counts > 0  # means of other classes are of no rows
    return Errors(
        gram=_relative(G, true_G),
        means=_relative(means[has_some], true_means[has_some]),
        counts=_relative(counts, true_counts),
    )


def _parts_of(H: Array, P: int) -> tuple[Array, Array, Array]:
    """Return products of columns, means by class (Q, P), and counts by class (Q,)."""
    counts = H[0, P + 1 :]
    means = H[P + 1 :, 1 : P + 1] / np.where(counts > 0.5, counts, np.inf)[:, None]
    return H[1 : P + 1, 1 : P + 1], means, counts


def _relative(found: Array, truth: Array) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


class Subtracted(NamedTuple):
    """What the first node finds out about each of the others, on average.

    Parameters
    ----------
    by_totals, by_guess : Errors
        From the totals less its own sums, and from its own rows alone.
    n_read, n_others : float
        Rows of others that it reads without an error, and all rows of others.
    """

    by_totals: Errors
    by_guess: Errors
    n_read: float
    n_others: float


def subtract(rows: LabelledRows, parts: Parts) -> Subtracted:
    """Take the first node's sums from the totals, and divide by the others' number."""
    view, z = view_of(rows, parts), stacked(rows, rows.n_classes)
    own, *truths = (z[part].T @ z[part] for part in parts)
    mean = view.others.sum(axis=0) / len(truths)
    others = np.concatenate(parts[1:])
    return Subtracted(
        by_totals=_average([errors_of(mean, truth, view) for truth in truths]),
        by_guess=_average([errors_of(own, truth, view) for truth in truths]),
        n_read=len(matches(read_all(view, rows), z[others])),
        n_others=len(others),
    )


def _average(errors: Sequence[Errors]) -> Errors:
    return Errors(*np.mean(errors, axis=0).tolist())


def read_all(view: View, rows: LabelledRows) -> Array:
    """Return the rows of other nodes that stand alone in the sums of some fold."""
    return np.vstack(_read_folds(view.others, view, rows))


def _read_folds(by_fold: Array, view: View, rows: LabelledRows) -> list[Array]:
    steps = rows.resolution()
    return [lone_rows(one, steps, view.scale, rows.n_classes) for one in by_fold]


def matches(read: Array, truth: Array) -> NDArray[np.intp]:
    """Return the numbers of the true rows that were read, field by field."""
    if not len(read):
        return np.empty(0, dtype=np.intp)
    away = np.abs(truth[:, None] - read[None]).max(axis=2).min(axis=1)
    return np.flatnonzero(away < 1e-6)


def subtraction_table(sets: Iterable[LabelledRows], n_repeats: int) -> Table:
    """Return what a member finds out by taking its own sums from the totals."""
    lines = []
    for rows in sets:
        for how, n_nodes in product(SPLITS, N_NODES):
            found = [
                subtract(rows, _divided(rows, n_nodes, how, seed))
                for seed in range(n_repeats if how == "iid" else 1)
            ]
            lines.append(_subtraction_line(rows, SPLITS[how], n_nodes, found))
        if rows.site is not None:
            sites = [np.flatnonzero(rows.site == site) for site in np.unique(rows.site)]
            turns = [sites[k:] + sites[:k] for k in range(len(sites))]
            found = [subtract(rows, parts) for parts in turns]
            lines.append(_subtraction_line(rows, "as they are", len(sites), found))
    head = (
        "data", "divided", "nodes", "products, %", "class means, %", "class counts, %",
        "rows read",
    )  # fmt: skip
    note = (
        "The first node estimates the sums of each other node: the totals less its own "
        "sums, divided by the number of other nodes. Shown is the relative error; in "
        "brackets, the error if it took its own sums instead, which needs no totals. "
        "Rows read: rows of all other nodes that it recovers without an error in any "
        f"field. Random divisions: means of {n_repeats}. Sums cut columns off at 32 "
        f"deviations, so those of rare pixels are not exact. `{COMMAND}`"
    )
    return Table("What the totals tell about other nodes", head, lines, 2, note)


def _divided(rows: LabelledRows, n_nodes: int, how: str, seed: int) -> Parts:
    return partition(rows.y, n_nodes, how, rng=np.random.default_rng(seed))


def _subtraction_line(
    rows: LabelledRows, divided: str, n_nodes: int, found: Sequence[Subtracted]
) -> tuple[str, ...]:
    totals = _average([one.by_totals for one in found])
    guess = _average([one.by_guess for one in found])
    n_read, n_others = (
        float(np.mean([getattr(one, name) for one in found]))
        for name in ("n_read", "n_others")
    )
    errors = (
        f"{_percent(mine)} ({_percent(other)})"
        for mine, other in zip(totals, guess, strict=True)
    )
    return (
        rows.name,
        divided,
        str(n_nodes),
        *errors,
        f"{n_read:.3g} of {n_others:.0f}",
    )


def _percent(share: float) -> str:
    """Return a share in per cent, as 0 if it is rounding.

    >>> _percent(1.234), _percent(0.0066), _percent(1e-6)
    ('123', '0.7', '0')
    """
    per_cent = 100 * share
    if per_cent < 0.001:
        return "0"
    return f"{per_cent:.0f}" if per_cent >= 10 else f"{per_cent:.1g}"


class Read(NamedTuple):
    """What was found out about the rows of a node that has few.

    Parameters
    ----------
    rows : float
        The share of its rows that were read without an error in any field.
    fields : float
        The share of fields that are right, where a row that was not read is guessed to
        be the mean of what is left in its fold.
    error : float
        The relative error of the rows, in deviations of the columns.
    """

    rows: float
    fields: float
    error: float


def read_few(by_fold: Array, truth: Array, view: View, rows: LabelledRows) -> Read:
    """Return what sums by fold tell of some rows z, (J, n)."""
    steps, P = rows.resolution(), rows.X.shape[1]
    read = _read_folds(by_fold, view, rows)
    got = matches(np.vstack(read), truth)
    left = np.sum([H - some.T @ some for H, some in zip(by_fold, read, strict=True)], 0)
    guess = left[0, 1 : P + 1] / left[0, 0] if left[0, 0] > 0.5 else view.shift
    found = np.tile(np.rint(guess / steps) * steps, (len(truth), 1))
    X = truth[:, 1 : P + 1]
    found[got] = X[got]
    return Read(
        rows=len(got) / len(truth),
        fields=float((np.abs(found - X) < steps / 2).mean()),
        error=_relative(
            (found - view.shift) / view.scale, (X - view.shift) / view.scale
        ),
    )


def few_rows_table(sets: Iterable[LabelledRows], n_repeats: int) -> Table:
    """Return how well the rows of a node that has few are read from totals."""
    lines = []
    for rows in sets:
        for n_few in FEW_ROWS:
            if 2 * n_few <= len(rows.y):
                draws = [_few_rows(rows, n_few, seed) for seed in range(n_repeats)]
                means = np.mean(draws, axis=0)  # (n_ways, 3)
                cells = (" / ".join(f"{100 * one:.0f}" for one in way) for way in means)
                lines.append((rows.name, str(n_few), *cells))
    ways = (
        *(f"{n_nodes} nodes" for n_nodes in N_NODES),
        "with and without",
        "other seed",
    )
    note = (
        "One node has this number of rows; the others share the rest at random. In per "
        "cent: rows recovered without an error in any field / fields that are right / "
        "relative error, in deviations of the columns. A row that is not recovered is "
        "guessed to be the mean of the rows that are left in the sums. With and "
        "without: the totals of two trainings of ten nodes, the second without this "
        "one. Other seed: the same, where the second training has another seed, which "
        f"changes the folds. Means of {n_repeats} draws. `{COMMAND}`"
    )
    head = ("data", "its rows", *ways)
    return Table("Nodes with few rows", head, lines, 1, note)


def _few_rows(rows: LabelledRows, n_few: int, seed: int) -> list[Read]:
    """Return what is read of some rows that one node has, for every way to read it."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    few, rest = order[:n_few], order[n_few:]
    truth = stacked(rows, rows.n_classes)[few]
    found = []
    for n_nodes in N_NODES:
        parts = [*np.array_split(rest, n_nodes - 1), few]
        view = view_of(rows, parts)
        found.append(read_few(view.others, truth, view, rows))
    without = view_of(rows, parts[:-1]).total
    # Another seed gives other folds: their sums cannot be compared, but that of all.
    anew = view_of(rows, parts[:-1], seed=1).total.sum(axis=0)
    for difference in (view.total - without, (view.total.sum(axis=0) - anew)[None]):
        found.append(read_few(difference, truth, view, rows))
    return found


def rare_class_table(sets: Iterable[LabelledRows], n_repeats: int) -> Table:
    """Return how many rows of a rare class a member reads from the totals."""
    lines = []
    for rows in sets:
        for n_rare in RARE:
            shares = [_read_rare(rows, n_rare, seed) for seed in range(n_repeats)]
            n_rows = int((rows.y != 0).sum()) + n_rare
            share = f"{100 * float(np.mean(shares)):.0f}"
            lines.append((rows.name, f"{n_rows:,}", str(n_rare), share))
    head = ("data", "rows of all nodes", "of the rare class", "of these read, %")
    note = (
        f"{NODES_WITH_RARE} nodes with equally many rows, at random. Read: recovered "
        "without an error in any field, by a node that subtracts its own sums from the "
        f"totals; only rows of other nodes count. Means of {n_repeats} draws. "
        f"`{COMMAND}`"
    )
    return Table("Rare classes", head, lines, 1, note)


def _read_rare(rows: LabelledRows, n_rare: int, seed: int) -> float:
    """Return the share of others' rows of a rare class that the first node reads."""
    rng = np.random.default_rng(seed)
    kept = rng.permutation(np.flatnonzero(rows.y == 0))[:n_rare]
    some = rows.some(np.sort(np.concatenate([np.flatnonzero(rows.y != 0), kept])))
    parts = partition(some.y, NODES_WITH_RARE, "iid", rng=rng)
    others = np.concatenate(parts[1:])
    is_rare = others[some.y[others] == 0]
    truth = stacked(some, some.n_classes)[is_rare]
    read = read_all(view_of(some, parts), some)
    return len(matches(read, truth)) / len(truth)
