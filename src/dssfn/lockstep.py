"""Several programs side by side in one process.

Nodes that share a process share its cores, and do the arithmetic on agreed numbers once
where they hold the same ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from dssfn._typing import Numbers
from dssfn.cores import n_cores as usable_cores
from dssfn.errors import PlanError
from dssfn.parties import Joint
from dssfn.programs import Agreed, Message, Program

Result = TypeVar("Result")

Answer: TypeAlias = Callable[[Sequence[Message]], Sequence[Numbers]]
"""Gives every node of this process the average of its message, or the total."""


def drive(
    programs: Sequence[Program[Result]], answer: Answer, workers: Workers
) -> list[Result]:
    """Run programs, which walk in step, until they return, and return their results.

    Parameters
    ----------
    programs : sequence of Program
        One for each node of this process.
    answer : callable
        Receives the messages of all nodes and returns their averages in that order.
    workers : Workers
        Run the nodes side by side.

    Examples
    --------
    >>> def program(value):
    ...     mean = yield Message.of(np.array([value]))
    ...     return float(mean[0])
    >>> def answer(messages):
    ...     return [np.mean([message.make() for message in messages], axis=0)] * 2
    >>> with Workers(2) as workers:
    ...     drive([program(1.0), program(2.0)], answer, workers)
    [1.5, 1.5]
    """
    requests = workers.map(advance, programs, [None] * len(programs))
    while not isinstance(requests[0], Finished):
        if isinstance(requests[0], Agreed):
            replies: Sequence[Any] = _run_agreed(requests, workers)
        elif isinstance(requests[0], Joint):
            raise PlanError(
                "`solver` must work by averaging when nodes run in lockstep; this one "
                "sends messages of its own, which needs simulated time: `dssfn "
                "simulate --loss 0.1`, or `dssfn.events.simulate_events`."
            )
        else:
            replies = answer(requests)
        requests = workers.map(advance, programs, replies)
    return [finished.result for finished in requests]


@dataclass(frozen=True, slots=True)
class Finished(Generic[Result]):
    """The result of a program that has returned.

    Parameters
    ----------
    result : object
        What it returned.
    """

    result: Result


def advance(
    program: Program[Result], reply: Any
) -> Message | Agreed | Joint | Finished[Result]:
    """Let a program run to its next request; a first reply of None starts it."""
    try:
        with np.errstate(all="ignore"):  # every message is checked to be finite
            return program.send(reply)
    except StopIteration as stop:
        return Finished(stop.value)


def _run_agreed(tasks: Sequence[Agreed], workers: Workers) -> list[Any]:
    """Run what the nodes ask for, once if they all ask for the same."""
    if all(_is_same(task, tasks[0]) for task in tasks):
        return [tasks[0].run()] * len(tasks)
    return workers.map(Agreed.run, tasks)


def _is_same(one: Agreed, other: Agreed) -> bool:
    return one.function is other.function and all(
        map(_is_equal, one.arguments, other.arguments)
    )


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):  # the same memory; comparing values would take time
        return bool(a.__array_interface__ == b.__array_interface__)
    return bool(a == b)


class Workers:
    """Threads that run nodes side by side, one per core, with one BLAS thread each.

    A node's matrices are small: threads inside one product wait for each other more
    than they compute, while threads on different nodes never meet.

    Parameters
    ----------
    n_nodes : int
        How many nodes run side by side.
    n_cores : int, optional
        How many cores to use; by default all that this process may use.
    """

    def __init__(self, n_nodes: int, n_cores: int | None = None) -> None:
        n_cores = n_cores or usable_cores()
        self._n_threads = min(n_nodes, n_cores)
        self.threads_per_node = max(1, n_cores // n_nodes)

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._stack.enter_context(threadpool_limits(1, user_api="blas"))
        if self._n_threads > 1:
            self._pool = ThreadPoolExecutor(self._n_threads)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._n_threads > 1:
            self._pool.shutdown(cancel_futures=True)
        self._stack.close()

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Call a function for every node, and return the results."""
        if self._n_threads == 1:
            return list(map(function, *arguments))
        return list(self._pool.map(function, *arguments))

    def ahead(self, functions: Iterable[Callable[[], Any]]) -> Iterator[Any]:
        """Yield results in order, a few of them computed before they are asked for."""
        if self._n_threads == 1:
            yield from (function() for function in functions)
            return
        todo = iter(functions)
        first = islice(todo, 2 * self._n_threads)
        waiting = deque(self._pool.submit(function) for function in first)
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(self._pool.submit(f) for f in islice(todo, 1))
            yield result
            del result
