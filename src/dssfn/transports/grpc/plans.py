"""Who follows which plan, as far as this node knows.

How this works. Nodes that meet compare their plans. If two plans differ, neither node
can tell which of them is wrong: both name the difference and go on waiting. But every
node also tells its neighbours whom it knows to follow its own plan. A node that agrees
with nobody, while more than half of all nodes follow one other plan, is the one that
differs, and stops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Plans:
    """The plans of all nodes, as far as they are known.

    Parameters
    ----------
    name : str
        This node's name.
    members : collection of str
        The names of all nodes in this node's plan.
    """

    def __init__(self, name: str, members: Collection[str]) -> None:
        self._name = name
        self._members = frozenset(members) | {name}
        self._agreeing: dict[str, frozenset[str]] = {}  # what each neighbour told
        self._differing: dict[str, tuple[bytes, frozenset[str]]] = {}

    def agrees(self, peer: str, told: Iterable[str]) -> None:
        """Note that a neighbour has this node's plan, and whom it knows to have it."""
        self._differing.pop(peer, None)
        self._agreeing[peer] = self._known(peer, told)

    def differs(self, peer: str, plan: bytes, told: Iterable[str]) -> None:
        """Note that a neighbour has another plan, and whom it knows to have that.

        `plan` is a digest.
        """
        self._agreeing.pop(peer, None)
        self._differing[peer] = plan, self._known(peer, told)

    def _known(self, peer: str, told: Iterable[str]) -> frozenset[str]:
        return (frozenset(told) | {peer}) & self._members - {self._name}

    def agreeing(self) -> list[str]:
        """Return the nodes that are known to have this node's plan, itself included."""
        return sorted({self._name}.union(*self._agreeing.values()))

    def majority(self) -> list[str]:
        """Return the nodes of another plan that more than half of all nodes follow.

        The result is empty if there are none, or if somebody agrees with this node.
        """
        if self._agreeing:
            return []
        for plan, _ in self._differing.values():
            camps = [who for other, who in self._differing.values() if other == plan]
            followers = frozenset().union(*camps)
            if 2 * len(followers) > len(self._members):
                return sorted(followers)
        return []
