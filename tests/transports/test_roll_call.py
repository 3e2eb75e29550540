"""Roll calls in a network whose links and nodes come and go in any order."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import ProtocolError
from dssfn.topology import build_topology
from dssfn.transports import Group
from dssfn.transports.roll_call import Call, Entry, RollCall


class World:
    """Nodes that hold roll calls, and links that are up or down.

    A link delivers in order what was put into it, and loses it when it goes down.
    """

    def __init__(self, kind, n_nodes, quorum):
        topology = build_topology(kind, n_nodes)
        self.graph = {i: topology.neighbours(i) for i in range(n_nodes)}
        self.quorum = quorum
        self.written = dict.fromkeys(self.graph, 0)  # epochs, as on a disk
        self.calls = {i: RollCall(i, self.graph, quorum) for i in self.graph}
        self.groups = dict.fromkeys(self.graph)  # what each is in
        self.begun = []  # (node, group), in order
        self.up = set()
        self.post = {}

    def connect(self, i, j):
        if (i, j) not in self.up:
            for a, b in ((i, j), (j, i)):
                self.up.add((a, b))
                self.post[a, b] = deque([self.calls[a].table()])

    def cut(self, i, j):
        for arc in ((i, j), (j, i)):
            self.up.discard(arc)
            self.post.pop(arc, None)

    def restart(self, node):
        """A process that ends, and another in its place that has read its epoch."""
        for other in self.graph[node]:
            self.cut(node, other)
        floor = self.written[node] + 1
        self.calls[node] = RollCall(node, self.graph, self.quorum, floor=floor)
        self.groups[node] = None
        for other in self.graph[node]:  # who sees that it was restarted
            group = self.groups[other]
            if group and node in group.members:
                self.leave(other)

    def give_up_waiting(self, node):
        """Whoever is not linked is waited for no longer."""
        links = [j for j in self.graph[node] if (node, j) in self.up]
        if self.calls[node].link(links):
            self.tell(node)

    def boundary(self, node):
        """The end of a layer: those who wait are taken in."""
        group = self.groups[node]
        if group and self.calls[node].newcomers(group):
            self.leave(node)

    def leave(self, node):
        self.groups[node] = None
        if self.calls[node].leave():
            self.tell(node)

    def tell(self, node):
        for other in self.graph[node]:
            if (node, other) in self.up:
                self.post[node, other].append(self.calls[node].table())

    def deliver(self, i, j):
        if self.post.get((i, j)):
            if self.calls[j].hear(self.post[i, j].popleft()):
                self.tell(j)
            self.think(j)

    def think(self, node):
        call, group = self.calls[node], self.groups[node]
        if group and call.is_over(group):
            self.leave(node)
        if self.groups[node] is None:
            before = call.mine.call
            if call.call():
                self.tell(node)
                assert before is None or call.mine.call.epoch > before.epoch
            found = call.found()
            if found:
                self.written[node] = found.epoch
                self.groups[node] = found
                self.begun.append((node, found))

    def settle(self):
        """Deliver all there is, until nothing changes any more."""
        for _ in range(10_000):
            arcs = [arc for arc, letters in self.post.items() if letters]
            if not arcs:
                return
            self.deliver(*arcs[0])
        raise AssertionError("the roll call never ends")


KINDS = st.sampled_from([("circular", 3), ("circular", 5), ("path", 4), ("star", 5)])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_groups_never_overlap_in_an_epoch_and_those_who_stay_find_each_other(data):
    kind, n_nodes = data.draw(KINDS)
    quorum = data.draw(st.integers(n_nodes // 2 + 1, n_nodes))
    world = World(kind, n_nodes, quorum)
    edges = [(i, j) for i in world.graph for j in world.graph[i] if i < j]
    what = st.sampled_from(
        ["connect", "connect", "cut", "restart", "wait", "boundary", "hear", "hear"]
    )
    for _ in range(data.draw(st.integers(0, 60))):
        i, j = data.draw(st.sampled_from(edges))
        match data.draw(what):
            case "connect":
                world.connect(i, j)
            case "cut":
                world.cut(i, j)
            case "restart":
                world.restart(i)
            case "wait":
                world.give_up_waiting(j)
            case "boundary":
                world.boundary(i)
            case "hear":
                for arc in list(world.post):
                    if data.draw(st.booleans()):
                        world.deliver(*arc)
    # From here on nothing changes but what follows.
    for _ in range(2):
        for node in world.graph:
            world.give_up_waiting(node)
        world.settle()
        for node in world.graph:
            world.boundary(node)
            world.think(node)
        world.settle()
    check_safety(world)
    check_all_connected_are_together(world)


def check_safety(world):
    by_epoch = {}
    latest = dict.fromkeys(world.graph, 0)
    for node, group in world.begun:
        assert node in group.members
        assert len(group.members) >= world.quorum
        assert group.epoch > latest[node]  # over restarts, too
        latest[node] = group.epoch
        for member in group.members:
            known = by_epoch.setdefault((group.epoch, member), group)
            assert known == group  # a quorum holds one group by each epoch


def check_all_connected_are_together(world):
    for node in world.graph:
        component, todo = {node}, [node]
        while todo:
            i = todo.pop()
            more = {j for j in world.graph[i] if (i, j) in world.up} - component
            component |= more
            todo.extend(more)
        group = world.groups[node]
        if len(component) >= world.quorum:
            assert group is not None
            assert set(group.members) == component
            assert all(world.groups[other] == group for other in component)
        else:
            assert group is None


def test_a_finished_model_is_handed_over_without_a_quorum():
    world = World("path", 4, 3)
    world.calls[0].finish()
    world.connect(0, 1)
    for node in world.graph:
        world.give_up_waiting(node)
    world.settle()
    assert world.groups[1] == world.groups[0]
    assert world.groups[1].members == (0, 1)


def test_at_first_all_nodes_are_waited_for():
    world = World("circular", 4, 3)
    for i, j in ((0, 1), (1, 2)):
        world.connect(i, j)
    world.settle()
    assert not world.begun
    assert world.calls[0].missing() == [3]
    world.give_up_waiting(0)
    world.give_up_waiting(2)
    world.settle()
    assert {group.members for _, group in world.begun} == {(0, 1, 2)}


def test_a_process_that_comes_after_another_takes_part_in_later_epochs_only():
    graph = {0: (1,), 1: (0,)}
    fresh = RollCall(0, graph, 2)
    before = Entry(0, 57, (1,), floor=4, call=Call(9, 1))
    assert fresh.hear([before])
    assert fresh.mine.version > 57
    assert fresh.mine.floor == 10


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Entry(7, 1, ()), "node 7"),
        (Entry(1, 1, (1,)), "not in the plan"),
        (Entry(1, 1, (2, 0)), "out of order"),
        (Entry(1, 1, (0, 0)), "out of order"),
        (Entry(1, 2**63, ()), "has impossible"),
        (Entry(1, 1, (), floor=-1), "has impossible"),
        (Entry(1, 1, (), call=Call(2**62, 5)), "has impossible"),
    ],
)
def test_entries_that_no_node_can_have_are_refused(entry, text):
    call = RollCall(0, {0: (1, 2), 1: (0, 2), 2: (0, 1)}, 2)
    with pytest.raises(ProtocolError, match=text):
        call.hear([entry])


def test_a_lost_link_ends_a_group_and_an_unused_node_does_not():
    world = World("circular", 4, 3)
    world.connect(0, 1)
    world.connect(1, 2)
    for node in range(3):
        world.give_up_waiting(node)
    world.settle()
    group = world.groups[0]
    assert isinstance(group, Group)
    world.connect(2, 3)
    world.give_up_waiting(2)
    world.settle()
    assert world.groups[0] is group
    assert world.calls[0].newcomers(group) == [3]
    world.cut(0, 1)
    world.give_up_waiting(0)
    assert world.calls[0].is_over(group)


@pytest.mark.parametrize(
    "entry",
    [
        Entry(2, 2**61, (1,), floor=2**61),
        Entry(2, 2**61, (1,), call=Call(2**61, 7)),
        Entry(0, 2**62 - 1, (1,)),
        Entry(0, 2**61, (1,), floor=2**17),
    ],
)
def test_no_forged_number_uses_up_those_that_are_left(entry):
    graph = {0: (1,), 1: (0, 2), 2: (1,)}
    roll, other = RollCall(0, graph, 2, floor=5), RollCall(1, graph, 2, floor=5)
    with pytest.raises(ProtocolError, match="has impossible"):
        roll.hear([entry])
    roll.hear([Entry(0, 2**61, (1,), call=Call(2**16, 7))])
    roll.call()
    assert roll.candidate().epoch <= 2**16 + 1
    other.hear(roll.table())  # which others take
