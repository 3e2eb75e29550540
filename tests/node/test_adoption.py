"""What a group goes on from, of all that its members have found."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.node.adoption import MOST, Rules, adopt
from dssfn.node.agreement import STANDING, Assembly
from dssfn.node.course import Course, Stint, members_at
from dssfn.progress import Progress
from dssfn.topology import build_topology
from dssfn.transports import memory_network

PLAN = Plan(
    n_features=2, classes=("a", "b"), n_layers=3, width=4, units="dense", bias=0.0
)


def stage(layer, value=1.0):
    O = np.full((2, PLAN.inputs_of(layer)), value)
    scaling = {"shift": np.zeros(2), "scale": np.ones(2)}
    return {"O": O, **(scaling if layer == 0 else {})}


def course(n_layers, n_totals, stints, value=1.0):
    progress = None
    if n_layers:
        stages = tuple(stage(layer, value) for layer in range(n_layers))
        progress = Progress(stages, (1,) * n_layers, before=2)
    totals = tuple(np.arange(k + 1, dtype=np.int64) for k in range(n_totals))
    return Course(progress, totals, tuple(Stint(*stint) for stint in stints))


class Lying:
    """A transport over which a member states something else of all members."""

    def __init__(self, transport, stated):
        self._transport, self._stated = transport, stated

    def exchange(self, tag, letters, expected):
        if tag.step == STANDING:
            letters = {arc: np.array(self._stated) for arc in letters}
        return self._transport.exchange(tag, letters, expected)


def adopted(courses, kind="path", plan=PLAN, lies=None, quorum=1):
    topology = build_topology(kind, len(courses))
    links = [(i, j) for i in range(len(courses)) for j in topology.neighbours(i)]
    transports = memory_network([[k] for k in range(len(courses))], links, deadline=3)

    if lies is not None:
        transports[-1] = Lying(transports[-1], lies)

    def one(node):
        everybody = Assembly(node, topology, transports[node])
        try:
            return adopt(everybody, courses[node], Rules(plan, 9, quorum), epoch=50)
        except Exception as exc:
            return exc

    with ThreadPoolExecutor(len(courses)) as pool:
        found = list(pool.map(one, range(len(courses))))
    if isinstance(found[0], Exception):
        raise found[0]
    return found


def test_the_later_epoch_counts_and_then_the_longer_course():
    early = course(3, 0, [(0, 1, (0, 1, 2))])
    later = course(2, 1, [(0, 1, (0, 1, 2)), (3, 4, (1, 2))])
    nothing = Course()
    found = adopted([nothing, early, later, nothing])
    assert {one.encoded() for one in found} == {later.encoded()}
    longer = course(2, 2, [(0, 1, (0, 1, 2)), (3, 4, (1, 2))])
    found = adopted([later, nothing, longer])
    assert {one.encoded() for one in found} == {longer.encoded()}


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_all_members_go_on_from_the_furthest_course(data):
    kind = data.draw(st.sampled_from(["path", "star", "complete"]))
    n_nodes = data.draw(st.integers(2, 5))
    known = [Course()]
    for epoch in range(1, 4):  # each goes on from the one before
        first = known[-1].n_found
        before = [(one.first, one.epoch, one.members) for one in known[-1].stints]
        stints = [*before, (first, epoch, (0, epoch))]
        known.append(course(epoch, epoch // 3, stints))
    held = [data.draw(st.sampled_from(known)) for _ in range(n_nodes)]
    best = max(held, key=lambda one: one.place)
    found = adopted(held, kind)
    assert {one.encoded() for one in found} == {best.encoded()}


def test_of_two_that_heard_the_same_totals_the_one_that_solved_a_layer_counts():
    heard = course(1, 1, [(0, 1, (0, 1, 2))])
    solved = course(2, 0, [(0, 1, (0, 1, 2))])
    assert heard.n_found == solved.n_found
    found = adopted([heard, solved, Course()])
    assert {one.encoded() for one in found} == {solved.encoded()}


def test_what_was_found_in_one_epoch_must_be_the_same():
    stints = [(0, 1, (0, 1))]
    with pytest.raises(ProtocolError, match="different results"):
        adopted([course(2, 0, stints), course(2, 0, stints, value=2.0)])


def test_a_course_that_contradicts_what_a_node_has_found_is_refused():
    mine = course(2, 0, [(0, 1, (0, 1))])
    other = course(3, 0, [(0, 1, (0, 1)), (4, 2, (1,))], value=2.0)
    with pytest.raises(ProtocolError, match="numbers of layer 0 that differ"):
        adopted([mine, other])


def test_layers_that_no_training_has_are_refused():
    wrong = course(1, 0, [(0, 1, (0, 1))])
    wrong.progress.stages[0]["O"] = np.ones((7, 7))
    with pytest.raises(ProtocolError, match="no training can produce"):
        adopted([Course(), wrong])
    infinite = course(1, 0, [(0, 1, (0, 1))], value=np.inf)
    with pytest.raises(ProtocolError, match="finite"):
        adopted([Course(), infinite])


def test_a_course_says_who_took_part_in_which_layer():
    found = course(3, 0, [(0, 1, (0, 1, 2)), (3, 2, (0, 1)), (4, 5, (0, 1, 2))])
    assert found.took_part() == [(0, 1, 2), (0, 1), (0, 1, 2)]
    assert members_at(found.stints, 100) == (0, 1, 2)
    assert members_at((), 0) == ()


def test_totals_are_kept_until_their_layer_is_solved():
    before = course(1, 0, [(0, 1, (0, 1))])
    heard = before.heard(np.array([5]), 2, (0,)).heard(np.array([6]), 2, (0,))
    assert heard.n_found == before.n_found + 2
    assert [stint.first for stint in heard.stints] == [0, before.n_found]
    assert heard.only_solved().encoded() == before.encoded()
    solved = heard.solved(heard.progress.then(stage(1), 2))
    assert solved.n_found == heard.n_found
    assert not solved.totals


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 8, b"\xff" * 30, b"\2" + b"\0" * 7 + b"{}"]
)
def test_bytes_that_are_no_course_are_refused(data):
    with pytest.raises(ValueError):
        Course.decoded(data, PLAN)


def test_a_size_that_is_only_stated_takes_no_memory():
    rows = [[-1.0] * 5, [3.0, 2.0, 1.0, MOST - 1, 1.0]]
    with pytest.raises((PeerTimeout, ProtocolError)):
        adopted([Course(), Course()], lies=rows)


@pytest.mark.parametrize(
    "stated",
    [
        [50.0, 1, 1, 8, 8],
        [1, 1, 1, 1e300, 1],
        [1, np.inf, 1, 1, 1],
        [1, 1, 1, 1, np.nan],
        [1, 1, 0.5, 1, 1],
    ],
)
def test_what_no_member_can_state_is_refused(stated):
    with pytest.raises(ProtocolError, match=r"a node (claims|has not said)"):
        adopted([Course(), Course()], lies=[[-1.0] * 5, stated])


def test_nobody_can_state_something_in_the_name_of_another():
    best = [3.0, 7.0, 1.0, 100.0, 1.0]
    with pytest.raises(ProtocolError, match="in this node's name"):
        adopted([Course(), course(1, 0, [(0, 1, (0, 1))])], lies=[best, best])


@pytest.mark.parametrize(
    "stints",
    [
        [],
        [(1, 1, (0, 1))],
        [(0, 1, (0, 1)), (0, 2, (0, 1))],
        [(0, 1, (0, 1)), (4, 2, (0, 1))],
        [(0, 2, (0, 1)), (2, 2, (0, 1))],
        [(0, 1, (0,))],
        [(0, 1, (1, 0))],
        [(0, 1, (0, 9))],
        [(0, 1, (-1, 0))],
    ],
)
def test_a_course_that_no_groups_can_have_found_is_refused(stints):
    with pytest.raises(ProtocolError, match="no training can produce"):
        adopted([Course(), course(2, 0, stints)], quorum=2)
