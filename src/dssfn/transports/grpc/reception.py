"""Who may talk to this node: a neighbour by its certificate, with the same plan.

Nothing of a caller is used before it has passed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dssfn.errors import ProtocolError
from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.wire import PROTOCOL, Rules, decode, excerpt


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that both ends of a link must agree on before any letter.

    Parameters
    ----------
    plan : bytes
        The plan, as it is sent to every neighbour.
    random : str
        Digest of the random matrices.
    differences : callable
        Maps a neighbour's `plan` to all settings that differ: name, mine, theirs.
    rules : Rules
        What a frame may hold.
    members : frozenset of str
        The names of all nodes.
    """

    plan: bytes
    random: str
    differences: Callable[[bytes], Iterator[tuple[str, object, object]]]
    rules: Rules
    members: frozenset[str]


class AnotherPlan(Refused):
    """A neighbour follows another plan; its hello is kept to count who does."""

    def __init__(self, text: str, hello: pb.Hello) -> None:
        super().__init__(text, Refusal.ANOTHER_PLAN)
        self.hello = hello


@dataclass(frozen=True, slots=True)
class Reception:
    """The checks of those who call.

    Parameters
    ----------
    name : str
        This node's name.
    neighbours : collection of str
        The names of the neighbours.
    terms : Terms
        What both ends of a link must agree on.
    """

    name: str
    neighbours: Collection[str]
    terms: Terms

    @property
    def longest_plan(self) -> int:
        """The most bytes of a plan that is looked at, be it another node's."""
        return 2 * len(self.terms.plan) + 65536

    def check_names(self, names: Collection[str]) -> str:
        """Return the neighbour that a certificate is for; any other one is refused."""
        found = [name for name in names if name in self.neighbours]
        if not found:
            shown = excerpt(", ".join(names)) or "nobody"
            raise Refused(
                f"{shown} is not a neighbour of {self.name}", Refusal.NO_NEIGHBOUR
            )
        return found[0]

    def check_hello(self, data: bytes, names: Collection[str]) -> pb.Hello:
        """Return a neighbour's first words, if they agree with this node's.

        Parameters
        ----------
        data : bytes
            The bytes that came.
        names : collection of str
            The names on its certificate.

        Raises
        ------
        Refused
            If this is nobody to talk to; `AnotherPlan` if it is, with another plan.
        """
        envelope = decode(data)
        if envelope.WhichOneof("content") != "hello":
            raise ProtocolError("it did not say hello first")
        hello = envelope.hello
        if hello.node not in names:
            raise Refused(
                f"it claims to be {excerpt(hello.node[:80])!r}, but its certificate "
                f"is for {excerpt(', '.join(names)) or 'nobody'}",
                Refusal.ANOTHER_NAME,
            )
        self.check_names([hello.node])
        if not hello.incarnation:
            raise ProtocolError("its hello has no incarnation")
        if len(hello.plan) + len(hello.random) > self.longest_plan:
            raise ProtocolError("its hello is too long")
        for field, mine, theirs in self._differences(hello):
            raise AnotherPlan(
                f"{self.name} and {hello.node} do not agree: `{excerpt(field)}` is "
                f"{excerpt(repr(mine))} at {self.name} and "
                f"{excerpt(repr(theirs))} at {hello.node}",
                hello,
            )
        return hello

    def _differences(self, hello: pb.Hello) -> Iterator[tuple[str, object, object]]:
        if hello.protocol != PROTOCOL:
            yield "protocol", PROTOCOL, hello.protocol
        if hello.plan != self.terms.plan:
            yield from self.terms.differences(hello.plan)
        if hello.random != self.terms.random:
            yield "digest of the random matrices", self.terms.random, hello.random
