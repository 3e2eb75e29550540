"""Epochs: how often, and for whom, all nodes start again together.

How this works. A process that was restarted has lost what it knew, so its neighbours
raise the epoch, every node that hears of a newer epoch follows, and all go back to the
last layer that they share. A faulty or hostile neighbour could ask for that all the
time. So each neighbour has a budget: a few new starts at once, then one in every
deadline. What goes beyond it is refused until the budget allows it. Who makes all
others start again and again, without a further layer ever beginning, is given up by
name.

This module is bookkeeping alone; whoever calls it holds the lock.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from dssfn.errors import ProtocolError
from dssfn.transports.grpc.pace import Budget

# Restarts that a neighbour may know of and this node does not. A process that was just
# started knows of none, so it takes any number that leaves room for many more.
EPOCHS_AHEAD = 2**16
MOST_EPOCHS = 2**48
RESTARTS = 8  # new starts that a neighbour may ask for at once
RESTARTS_IN_VAIN = 10  # new starts for one node without a further layer


@dataclass(slots=True)
class Epochs:
    """The epoch that the training is in, and the newest one.

    Parameters
    ----------
    deadline : float
        The round deadline in seconds.
    members : collection of str
        The names of all nodes.
    """

    deadline: float
    members: Collection[str]
    current: int = 0  # the epoch that the training is in
    newest: int = 0  # the newest epoch of any neighbour
    restarted: str = ""  # the node for which the newest began
    raised_by: str = ""  # the neighbour that reported it
    furthest: int = -1  # the last layer that ever began
    budgets: dict[str, Budget] = field(default_factory=dict)
    in_vain: dict[tuple[str, str], int] = field(default_factory=dict)

    def check(self, epoch: int, *, is_greeting: bool = False) -> None:
        """Refuse an epoch that nobody can have reached."""
        is_fresh = is_greeting and not self.newest
        most = MOST_EPOCHS if is_fresh else self.newest + EPOCHS_AHEAD
        if epoch > most:
            raise ProtocolError(f"attempt {epoch} cannot follow attempt {self.newest}")

    def may_rise(self, neighbour: str, now: float) -> bool:
        """Return whether a neighbour may raise the epoch once more."""
        budget = self.budgets.setdefault(neighbour, Budget(RESTARTS, self.deadline))
        return budget.spend(now)

    def is_newer(self, epoch: int) -> bool:
        """Return whether a letter is of an epoch that this node has not heard of."""
        return epoch > self.newest

    def kept_from(self, epoch: int) -> int:
        """Return the first epoch whose letters are kept, when one of `epoch` comes."""
        return max(self.newest, epoch)

    def rise(self, epoch: int, restarted: str, neighbour: str) -> None:
        """Begin a new epoch for a node that was restarted, as a neighbour says."""
        is_known = restarted in self.members
        self.restarted = restarted if is_known else neighbour
        self.newest, self.raised_by = epoch, neighbour

    def enter(self) -> bool:
        """Go on in the newest epoch, and return whether it is one too many."""
        self.current = self.newest
        who = self.raised_by, self.restarted
        self.in_vain[who] = self.in_vain.get(who, 0) + 1
        return self.in_vain[who] > RESTARTS_IN_VAIN

    def reach(self, layer: int) -> None:
        """Note that a layer begins; if it is a new one, all restarts were worth it."""
        if layer > self.furthest:
            self.furthest = layer
            self.in_vain.clear()

    @property
    def cause(self) -> str:
        """The node for which the newest epoch began, and the neighbour that says so."""
        said = "" if self.restarted == self.raised_by else f", as {self.raised_by} says"
        return f"{self.restarted} was restarted{said}"
