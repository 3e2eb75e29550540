"""What all nodes of a simulation hold alike is computed and kept once.

Nodes reach a step at different times, but where their results are equal so is all that
they make of them. The first node's results and arithmetic are kept until the last node
has asked for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from dssfn._typing import NodeId
from dssfn.programs import Agreed

MOST_KEPT = (
    4  # different answers: nodes that agree on no more hold numbers of their own
)

Place: TypeAlias = tuple[int, int]  # a step, and the number of what is asked for in it


@dataclass(slots=True)
class _Answers:
    """What was asked for at one place, with its answers, and how many have asked."""

    known: list[tuple[Any, Any]] = field(default_factory=list)
    n_asked: int = 0


class Shared:
    """Results and arithmetic that nodes have in common.

    Parameters
    ----------
    n_nodes : int
        How many nodes ask for everything.
    """

    def __init__(self, n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._places: dict[Place, _Answers] = {}
        self._asked: dict[NodeId, Place] = {}

    def result(self, node: NodeId, step: int, result: Any) -> Any:
        """Return an equal result that another node has found at this step, or this."""
        return self._answer(node, step, result, lambda: result)

    def run(self, node: NodeId, step: int, task: Agreed) -> Any:
        """Return the outcome of a task, which runs once for all that ask for it."""
        return self._answer(node, step, (task.function, task.arguments), task.run)

    def _answer(
        self, node: NodeId, step: int, asked: Any, make: Callable[[], Any]
    ) -> Any:
        last_step, number = self._asked.get(node, (-2, 0))
        place = step, number + 1 if last_step == step else 0
        self._asked[node] = place
        answers = self._places.setdefault(place, _Answers())
        answers.n_asked += 1
        if answers.n_asked == self._n_nodes:
            del self._places[place]
        for known, answer in answers.known:
            if is_same(asked, known):
                return answer
        answer = make()
        if len(answers.known) < MOST_KEPT:
            answers.known.append((asked, answer))
        return answer


def is_same(a: Any, b: Any) -> bool:
    """Return whether two values are equal to the last bit, arrays within them too.

    >>> is_same((1, np.zeros(2)), (1, np.zeros(2))), is_same(np.zeros(2), np.ones(2))
    (True, False)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return _is_same_array(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    if is_dataclass(a):
        names = (one.name for one in fields(a))
        return all(is_same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)


def _is_same_array(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.__array_interface__ == b.__array_interface__:  # the same memory
        return True
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
