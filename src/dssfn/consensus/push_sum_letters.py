"""What letters of push-sum say: a table of all nodes, and what the receiver needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Array, Integers, NodeId, Numbers
from dssfn.consensus.mass import Sizes
from dssfn.parties import Post

SIZING, MIXING, FOUND = 0, 1, 2  # how far a node is
HEADER = 32  # bytes of a letter beside its numbers: what it is, of whom, its number
LINE = 17  # bytes of a node's line: how far, fingerprint, sendings, how long held


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What is known of every node; of each line the newest is kept.

    Parameters
    ----------
    levels : array of shape (M,)
        How far each node is.
    prints : array of shape (M,)
        The fingerprint of its masses, from when it knows their grid.
    sendings : array of shape (M,)
        How often it has sent.
    """

    levels: NDArray[np.int8]
    prints: NDArray[np.uint64]
    sendings: NDArray[np.int64]

    @classmethod
    def empty(cls, n_nodes: int) -> Table:
        """Return the table of somebody who knows nothing."""
        return cls(
            np.zeros(n_nodes, np.int8),
            np.zeros(n_nodes, np.uint64),
            np.zeros(n_nodes, np.int64),
        )

    @property
    def is_complete(self) -> bool:
        """Whether all nodes are known to have what is wanted."""
        return bool((self.levels == FOUND).all())

    def merged(self, other: Table) -> Table:
        """Return the newer of two lines for every node."""
        return Table(
            np.maximum(self.levels, other.levels),
            np.maximum(self.prints, other.prints),  # zero until it is known
            np.maximum(self.sendings, other.sendings),
        )

    def with_line(self, node: NodeId, level: int, mark: int, sendings: int) -> Table:
        """Return the table with a node's line of its own."""
        table = Table(self.levels.copy(), self.prints.copy(), self.sendings.copy())
        table.levels[node] = level
        table.prints[node] = mark
        table.sendings[node] = sendings
        return table


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """The sizes of the numbers of some nodes, and which nodes these are, as bits."""

    sizes: Sizes
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """A running sum: all shares that were ever passed, and after how many splits."""

    number: int
    total: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What all nodes wanted to know."""

    values: Numbers


Body: TypeAlias = Lengths | Passed | Outcome | None
"""What a letter carries beside the table."""


class Content(NamedTuple):
    """What a letter says.

    Parameters
    ----------
    step : int
        The number of the averaging that it is about.
    table : Table
        What its sender knows of every node.
    held : array of shape (M,)
        For how many seconds each line has been lying at nodes on its way.
    body : Body
        What else the receiver needs.
    """

    step: int
    table: Table
    held: Array
    body: Body = None

    @property
    def n_bytes(self) -> int:
        """How long it is on the wire."""
        n_nodes = len(self.table.levels)
        n_bytes = HEADER + LINE * n_nodes
        match self.body:
            case Lengths(sizes):
                n_bytes += sizes.nbytes + -(-n_nodes // 8)
            case Passed(_, numbers) | Outcome(numbers):
                n_bytes += numbers.nbytes
        return n_bytes

    def post(self, receiver: NodeId) -> Post:
        """Return the letter to a neighbour; what has only the table is none."""
        return Post(receiver, self, self.n_bytes, is_letter=self.body is not None)
