"""Greetings: the first words over a stream, by which two processes find where they are.

Either end says which process it is, which one it knows at the other end, and how many
letters of that one it has. So both learn whether the other end was restarted, and which
letters must be sent again.

This module is bookkeeping alone; whoever calls it holds the lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dssfn.transports.grpc import exchange_pb2 as pb
from dssfn.transports.grpc.epochs import Epochs
from dssfn.transports.grpc.link import Greeting, Link
from dssfn.transports.grpc.reception import Terms
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.wire import PROTOCOL


@dataclass(frozen=True, slots=True)
class Greetings:
    """The first words of a process, and what it makes of those of others.

    Parameters
    ----------
    name : str
        This node's name.
    terms : Terms
        What both ends of a link must agree on.
    incarnation : int
        The random number that tells this process from others of the node.
    epochs : Epochs
        How often all nodes have started again.
    silence : float
        Seconds after which a neighbour that says nothing is taken for dead.
    """

    name: str
    terms: Terms
    incarnation: int
    epochs: Epochs
    silence: float

    def with_epochs(self, epochs: Epochs) -> Greetings:
        """Return the same, of a node that counts epochs in another way."""
        return replace(self, epochs=epochs)

    def say(self, link: Link, agreeing: Sequence[str]) -> bytes:
        """Return the first words to a neighbour.

        Parameters
        ----------
        link : Link
            The link to the neighbour.
        agreeing : sequence of str
            The nodes that are known to follow this node's plan.
        """
        link.n_attempts += 1
        hello = pb.Hello(
            protocol=PROTOCOL,
            node=self.name,
            plan=self.terms.plan,
            random=self.terms.random,
            incarnation=self.incarnation,
            knows=link.peer_incarnation or 0,
            received=link.n_received,
            epoch=self.epochs.newest,
            restarted=self.epochs.restarted,
            agreeing=agreeing,
            attempt=link.n_attempts,
        )
        return bytes(pb.Envelope(hello=hello).SerializeToString())

    def hear(self, link: Link, hello: pb.Hello, now: float) -> bool:
        """Go on with a neighbour where both stand; return whether it was restarted.

        Raises
        ------
        Refused
            If it is connected already as another process, if a later greeting of it was
            heard, or if it makes all nodes start again too often.
        """
        self.epochs.check(hello.epoch, is_greeting=True)
        is_same = hello.incarnation == link.peer_incarnation
        if not is_same and link.is_alive(now, self.silence):
            raise Refused(
                f"{link.name} is already connected, from another process",
                Refusal.CONNECTED,
            )
        if is_same and hello.attempt <= link.peer_attempt:
            raise Refused("a newer greeting from it has already arrived", Refusal.LATE)
        greeting = Greeting(
            hello.incarnation, hello.knows, hello.received, hello.attempt
        )
        is_restarted = link.is_restarted(greeting)
        # If it is in a newer epoch already, that one serves; nothing was sent in it.
        is_newer = hello.epoch > self.epochs.newest
        newest = hello.epoch if is_newer else self.epochs.newest + is_restarted
        is_newer |= is_restarted
        if is_newer and not self.epochs.may_rise(link.name, now):
            raise Refused(
                f"{link.name} makes all nodes start again too often; it is ignored "
                "for now",
                Refusal.TOO_OFTEN,
            )
        link.greet(greeting)
        if is_newer:
            restarted = link.name if is_restarted else hello.restarted
            self.epochs.rise(newest, restarted, link.name)
        return is_restarted
