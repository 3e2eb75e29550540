"""Sums over the rows of all nodes, exactly.

All that leaves a node are sums of integers, so that the result is the same to the last
bit however the rows are divided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, Integers, NodeId
from dssfn.exact.limbs import N_LIMBS
from dssfn.programs import Message, Program
from dssfn.scaling import Moments, Weighted, agree_exact_scaling
from dssfn.shard import Samples
from dssfn.statistics.asked import Questions
from dssfn.sum_bounds import CountBounds

CHUNK = 4096  # samples at a time


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over some rows, before anything is hidden.

    Parameters
    ----------
    n_rows : int
        How many they are.
    counts : array of int
        How many of them are in every cell, column by column, the target last.
    means, deviations : arrays
        Those of the numbers of every column that has numbers; zero without any.
    """

    n_rows: int
    counts: Integers
    means: Array
    deviations: Array


def agree_totals(samples: Samples, questions: Questions) -> Program[Totals]:
    """Count the rows of all nodes, and find means and deviations of their numbers.

    Parameters
    ----------
    samples : Samples
        This node's rows, as features.
    questions : Questions
        What is asked of them, alike on all nodes.

    Raises
    ------
    DataError
        A number is too large to be added up exactly.
    """
    n, counts = 0, np.zeros(questions.n_cells, dtype=np.int64)
    for rows in samples.chunks(CHUNK):
        n += rows.X.shape[1]
        counts += questions.counted(rows)
    total = yield Message.of(np.concatenate([[n], counts]), CountBounds())
    found = Moments(0.0, np.empty(0), np.empty(0), np.empty(0, dtype=bool))
    if questions.numbers:

        def values() -> Iterator[Weighted]:
            return ((questions.values(rows), None) for rows in samples.chunks(CHUNK))

        names = [one.name for one in questions.numbers]
        found = yield from agree_exact_scaling(
            values, len(names), has_gaps=True, names=names, of_training=False
        )
    deviations = np.where(found.constant, 0.0, found.scale)
    return Totals(int(total[0]), total[1:], found.shift, deviations)


def agree_rows(mine: Integers, node: NodeId, n_nodes: int) -> Program[Integers]:
    """Show all nodes the same row of numbers of each: they are added to zeros."""
    numbers = np.zeros((n_nodes, len(mine)), dtype=np.int64)
    numbers[node] = mine
    every: Integers = yield Message.of(numbers)
    return every


def largest_sum(questions: Questions, n_nodes: int) -> int:
    """Return how many numbers the largest message of these programs has."""
    n_cells, n_numbers = questions.n_cells, len(questions.numbers)
    return max(
        (1 + 2 * n_numbers) * N_LIMBS,
        (2 * N_LIMBS + 1) * n_numbers,
        n_nodes * (1 + n_cells + 2 * n_numbers),
    )
