"""Threads that take items in turn, each with something of its own.

How this works. Item k goes to lane k mod n, which does its items one after the other.
So what a lane adds up does not depend on which thread is quicker, and no lane waits for
another as long as results are taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lanes:
    """Some lanes; a single one is the thread that calls.

    Parameters
    ----------
    n : int
        How many lanes.
    waiting : int
        How many items of every lane are taken in advance, beside the one that it works
        on.

    Examples
    --------
    >>> lanes = Lanes(2)
    >>> list(lanes.map(lambda lane, item: (lane, item), "abc"))
    [(0, 'a'), (1, 'b'), (0, 'c')]
    >>> lanes.close()
    """

    def __init__(self, n: int, *, waiting: int = 0) -> None:
        self.n = n
        self._most = n * (1 + waiting)
        self._threads = [ThreadPoolExecutor(1) for _ in range(n)] if n > 1 else []

    def map(
        self, work: Callable[[int, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield what the work gives for a lane and an item, in the items' order."""
        if not self._threads:
            yield from (work(0, item) for item in items)
            return
        running: deque[Future[Result]] = deque()
        try:
            for k, item in enumerate(items):
                if len(running) == self._most:
                    yield running.popleft().result()
                lane = k % self.n
                running.append(self._threads[lane].submit(work, lane, item))
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Wait for what is still running, and let the threads go."""
        for thread in self._threads:
            thread.shutdown(cancel_futures=True)
