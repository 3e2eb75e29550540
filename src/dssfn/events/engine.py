"""Simulated time: the events of all nodes and links, one after the other.

How this works. A heap holds what will happen, by time; what happens at the same time is
taken in the order in which it was foreseen. Nothing else decides the order, so a seed
gives the same events again. A node does its real work the moment its turn comes, and
simulated time passes for it afterwards.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from dssfn._typing import NodeId
from dssfn.events.account import Account
from dssfn.events.conditions import Conditions
from dssfn.events.host import Host, StepPost
from dssfn.events.links import Channel
from dssfn.events.nodes import USUAL, NodeModel, computing_seconds
from dssfn.events.silence import gave_up
from dssfn.parties import Post
from dssfn.trace import Event, NodeKind, PostKind, Trace


class Engine:
    """Runs hosts in simulated time until all of their programs have returned.

    Parameters
    ----------
    hosts : sequence of Host
        All nodes, by their numbers.
    n_samples : sequence of int
        How many samples each of them has.
    conditions : Conditions
        What links and nodes are like.
    trace : Trace
        Keeps what happens.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        n_samples: Sequence[int],
        conditions: Conditions,
        trace: Trace,
    ) -> None:
        self.now, self.account = 0.0, Account()
        self._hosts, self._n_samples = hosts, n_samples
        self._models = [conditions.nodes.get(host.node, USUAL) for host in hosts]
        self._conditions, self._trace = conditions, trace
        self._channels: dict[tuple[NodeId, NodeId], Channel] = {}
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._layers = {-1: -1}  # by step
        self._order = count()
        self._alarms = [math.inf] * len(hosts)  # the next time that a node is woken
        self._n_running = len(hosts)

    def run(self) -> None:
        """Run until all programs have returned.

        If they have not by the deadline, all nodes give up, with a `PeerTimeout` that
        names those that are missing.
        """
        deadline = self._conditions.deadline
        for node, model in enumerate(self._models):
            self._foresee_absences(node, model)
            self._at(model.next_present(0.0), self._start, node)
        while self._n_running and self._heap and self._heap[0][0] <= deadline:
            self.now, _, action, arguments = heapq.heappop(self._heap)
            action(*arguments)
        if self._n_running:
            self.now = deadline
            for host, model in zip(self._hosts, self._models, strict=True):
                if not host.is_finished and model.gone > deadline:
                    self._note("gave-up", host.node)
            raise gave_up(self._hosts, self._models, deadline)

    def _at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        if time < math.inf:
            entry = time, next(self._order), action, arguments
            heapq.heappush(self._heap, entry)

    def _foresee_absences(self, node: NodeId, model: NodeModel) -> None:
        for start, end in model.away:
            if start < model.gone:
                self._at(start, self._note, "away", node)
            if end < model.gone:
                self._at(end, self._note, "back", node)
        self._at(model.gone, self._note, "gone", node)

    def _start(self, node: NodeId) -> None:
        self._hosts[node].run()
        self._compute(node)

    def _compute(self, node: NodeId) -> None:
        """Let time pass until the node's next party begins, unless it has finished."""
        host = self._hosts[node]
        if host.is_finished:
            self._n_running -= 1
            self._note("finished", node)
            return
        assert host.request is not None
        self._layers[host.step + 1] = host.request.layer  # the same for all nodes
        self._note("computing", node, host.step + 1)
        seconds = computing_seconds(
            host.request.size,
            self._n_samples[node],
            self._conditions.seconds_per_number,
        )
        self._at(self._models[node].finish(self.now, seconds), self._begin, node)

    def _begin(self, node: NodeId) -> None:
        if self._is_put_off(node, self._begin):
            return
        host = self._hosts[node]
        posts = host.begin(self.now)
        self._note("waiting", node, host.step)
        self._afterwards(node, posts)

    def _is_put_off(self, node: NodeId, action: Callable[[NodeId], None]) -> bool:
        """Return whether a node is away; it acts when it is back, if it ever is."""
        present = self._models[node].next_present(self.now)
        if present > self.now:
            self._at(present, action, node)
        return present > self.now

    def _wake(self, node: NodeId) -> None:
        if self.now < self._alarms[node]:
            return  # it was woken for something else, or set to a later time
        self._alarms[node] = math.inf
        if self._is_put_off(node, self._wake):
            self._alarms[node] = self._models[node].next_present(self.now)
            return
        self._afterwards(node, self._hosts[node].wake(self.now))

    def _arrive(self, sender: NodeId, node: NodeId, step: int, post: Post) -> None:
        if not self._models[node].is_present(self.now):
            self._lose(sender, step, post)
            return
        self._note_post("received", sender, step, post)
        posts = self._hosts[node].hear(self.now, sender, step, post.content)
        self._afterwards(node, posts)

    def _afterwards(self, node: NodeId, posts: Iterable[StepPost]) -> None:
        """Send what a node has to send, let it go on, and set its alarm."""
        host = self._hosts[node]
        for one in posts:
            self._send(node, one)
        if host.has_found:
            host.go_on()
            self._compute(node)
        due = host.due
        if due is not None and due < self._alarms[node]:
            self._alarms[node] = due
            self._at(max(due, self.now), self._wake, node)

    def _send(self, sender: NodeId, one: StepPost) -> None:
        step, post = one
        arc = sender, post.receiver
        if arc not in self._channels:
            self._channels[arc] = Channel.of(
                self._conditions.links, self._conditions.seed, *arc
            )
        arrivals = self._channels[arc].carry(self.now, post.n_bytes)
        self.account.send(self._layers[step], post, len(arrivals))
        kind: PostKind = "resent" if post.is_resent else "sent"
        kind = kind if post.is_letter else "acknowledged"
        self._note_post(kind, sender, step, post)
        for arrival in arrivals:
            self._at(arrival, self._arrive, sender, post.receiver, step, post)
        if not arrivals:
            self._lose(sender, step, post)

    def _lose(self, sender: NodeId, step: int, post: Post) -> None:
        self.account.lose(self._layers[step], post)
        self._note_post("lost", sender, step, post)

    def _note(self, kind: NodeKind, node: NodeId, step: int = -1) -> None:
        self._trace.note(Event(self.now, kind, node, -1, step, self._layers[step]))

    def _note_post(self, kind: PostKind, sender: NodeId, step: int, post: Post) -> None:
        where = sender, post.receiver, step, self._layers[step]
        what = post.n_bytes, post.is_letter
        self._trace.note(Event(self.now, kind, *where, *what))
