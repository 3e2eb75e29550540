"""What happened in a simulated network, event by event, with times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from dssfn._atomic import write_atomically

NodeKind: TypeAlias = Literal[
    "computing", "waiting", "finished", "gave-up", "away", "back", "gone"
]
"""What a node does from now on."""

PostKind: TypeAlias = Literal["sent", "resent", "acknowledged", "received", "lost"]
"""What becomes of what a node sends."""


class Event(NamedTuple):
    """One event.

    Parameters
    ----------
    at : float
        Seconds of simulated time.
    kind : str
        What happened: a `NodeKind` or a `PostKind`.
    node : int
        The node; of what is sent, the sender.
    peer : int
        The receiver of what is sent; -1 where nothing is.
    step, layer : int
        The averaging, and the layer that it is about; -1 before the first.
    n_bytes : int
        The length of what is sent.
    is_letter : bool
        Whether it carries a matrix.
    """

    at: float
    kind: NodeKind | PostKind
    node: int
    peer: int = -1
    step: int = -1
    layer: int = -1
    n_bytes: int = 0
    is_letter: bool = False


@dataclass(slots=True)
class Trace:
    """Events in the order of their times.

    Parameters
    ----------
    keeps_posts : bool
        Whether what is sent is kept too: four events for every letter.
    events : list of Event
        What happened so far.
    """

    keeps_posts: bool = True
    events: list[Event] = field(default_factory=list)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def note(self, event: Event) -> None:
        """Keep an event."""
        if self.keeps_posts or event.peer < 0:
            self.events.append(event)

    def to_jsonl(self) -> str:
        """Return one line of JSON for every event.

        >>> trace = Trace()
        >>> trace.note(Event(0.5, "computing", 3))
        >>> print(trace.to_jsonl(), end="")
        {"at": 0.5, "kind": "computing", "node": 3, "step": -1, "layer": -1}
        """
        return "".join(json.dumps(_fields(event)) + "\n" for event in self.events)


def _fields(event: Event) -> dict[str, object]:
    fields = event._asdict()
    if event.peer < 0:
        for name in ("peer", "n_bytes", "is_letter"):
            del fields[name]
    return fields


def write_trace(events: Trace, path: Path) -> None:
    """Write a trace as lines of JSON."""
    write_atomically(path, events.to_jsonl().encode())


def read_trace(path: Path) -> Iterable[Event]:
    """Return the events of a file that `write_trace` has written."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Event(**json.loads(line)) for line in lines]
