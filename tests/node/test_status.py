"""The status of a node, made of what a transport and a training know."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn import Plan, build_topology
from dssfn.records import LayerRecord
from dssfn.status import State, Status
from dssfn.transports import Account, Reason, Sighting, Tag

pytest.importorskip("cryptography", reason="needs the extra dssfn[grpc]")
from dssfn.node.status import SLOW, state_of, status_of

NAMES = ("north", "south", "east", "west")
HERE = Sighting(
    is_up=True,
    was_seen=True,
    since=60.0,
    silent=0.5,
    waited=None,
    layer=2,
    waiting_for=(),
    reason=None,
    n_sent=12,
    n_received=11,
    account=Account(100, 200, 3.0, 1),
)
seconds = st.floats(0, 1e6)
sightings = st.builds(
    Sighting,
    is_up=st.booleans(),
    was_seen=st.booleans(),
    since=seconds,
    silent=seconds,
    waited=st.none() | seconds,
    layer=st.none() | st.integers(-(2**31), 2**31 - 1),
    waiting_for=st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
    reason=st.none() | st.sampled_from(Reason),
    n_sent=st.integers(0, 10**9),
    n_received=st.integers(0, 10**9),
    account=st.builds(Account),
)


def made(seen=None, *, records=(), n_layers=2, at=None, have_met=True, **changes):
    topology = build_topology("path", 4)  # node 1 has 0 and 2 as neighbours
    transport = SimpleNamespace(
        sightings=lambda: seen or {"north": HERE, "east": HERE},
        at=at or Tag(2, 7, 1, ()),
        epoch=0,
        deadline=10.0,
        have_met=have_met,
    )
    training = SimpleNamespace(
        node=1,
        names=NAMES,
        topology=topology,
        plan=Plan(n_features=3, classes=("a", "b"), n_layers=5, width=20),
        transport=transport,
        progress=SimpleNamespace(n_layers=n_layers) if n_layers else None,
        is_complete=False,
        records={record.layer: record for record in records},
        members=changes.pop("members", None),
    )
    for name, value in changes.items():
        setattr(training, name, value)
    ends = datetime.now(UTC) + timedelta(days=12, hours=1)
    return status_of(training, plan="59e9", certificate_ends=ends, seconds=1.5)


@given(sightings, st.floats(0.1, 100))
def test_a_state_follows_from_what_was_seen(one, deadline):
    state, since = state_of(one, deadline)
    assert since >= 0
    assert (state in (State.HERE, State.SLOW)) == one.is_up
    if not one.is_up:
        if one.reason is Reason.FINISHED:
            assert state is State.FINISHED
        else:
            assert (state is State.GONE) == one.was_seen
    elif max(one.silent, one.waited or 0.0) <= SLOW * deadline:
        assert state is State.HERE


@given(sightings.filter(lambda one: one.is_up))
def test_who_waits_for_others_is_not_blamed_for_being_waited_for(one):
    blamed = replace(one, silent=0.0, waiting_for=(), waited=99.0)
    excused = replace(blamed, waiting_for=("west",))
    assert state_of(blamed, 10.0) == (State.SLOW, 99.0)
    assert state_of(excused, 10.0)[0] is State.HERE


@given(st.fixed_dictionaries({"north": sightings, "east": sightings}))
def test_every_node_of_the_plan_is_there_once_and_in_its_order(seen):
    status = made(seen)
    assert [node.name for node in status.nodes] == list(NAMES)
    assert [node.state for node in status.nodes].count(State.THIS) == 1
    assert status.nodes[1].state is State.THIS
    assert status.nodes[3].state is State.UNKNOWN
    assert {one.name for one in status.links} == {"north", "east"}
    waited = [name for name, one in seen.items() if one.waited is not None]
    assert list(status.waits_for) == list(status.nodes[1].waits_for) == waited
    again = msgspec.json.decode(msgspec.json.encode(status), type=Status)
    assert again == status


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_layer_that_the_plan_does_not_have_is_not_shown(layer):
    status = made({"north": replace(HERE, layer=layer), "east": HERE})
    assert status.nodes[0].layer == (layer if 0 <= layer <= 5 else None)


@given(st.floats(1e-3, 1e6), st.lists(st.floats(1.0, 1e3), min_size=1, max_size=5))
def test_nothing_tells_how_many_samples_there_are(n_samples, costs):
    """Costs grow with the samples at the same error in dB; the status does not."""

    def shown(scale):
        records = [
            LayerRecord(k, scale * cost, -3.0 * k, 0.5, 1)
            for k, cost in enumerate(costs)
        ]
        return made(records=records).layers

    first, other = shown(1.0), shown(n_samples)
    for one, same in zip(first, other, strict=True):
        # Both are rounded to four digits, after one division each.
        assert one.relative_cost == pytest.approx(same.relative_cost, rel=2e-3)
        assert one.train_error_db == same.train_error_db


def test_a_cost_of_zero_is_shown_too():
    records = [LayerRecord(k, 0.0, -3000.0, 1.0, 1) for k in range(2)]
    assert [one.relative_cost for one in made(records=records).layers] == [1.0, 1.0]


def test_what_a_node_is_doing_is_told_in_words():
    waits = {"north": replace(HERE, waited=1.0), "east": HERE}
    assert made().doing == "trains layer 2"
    assert made(waits).doing == "trains layer 2; waiting for north"
    assert made(waits, have_met=False).doing == (
        "is connecting to the other nodes; waiting for north"
    )
    begin = made(n_layers=0, at=Tag(-2, 4, 0, ()))
    assert begin.doing == "agrees with the others on how to begin"
    assert begin.layer == 0
    ended = made(n_layers=6, is_complete=True)
    assert ended.doing == "compares its model with the others'"
    assert ended.layer is None


def test_a_wait_that_lasts_counts_already():
    seen = {"north": replace(HERE, waited=4.0), "east": HERE}
    assert [one.seconds_waited for one in made(seen).links] == [7.0, 3.0]


def test_days_of_the_certificate_are_whole_ones():
    assert made().certificate_days == 12


def test_who_takes_part_is_known_of_all_nodes_where_some_may_stay_away():
    gone = replace(HERE, is_up=False)
    status = made({"north": gone, "east": HERE}, members=(1, 2, 3))
    states = {node.name: node.state for node in status.nodes}
    assert states == {
        "north": State.LEFT_OUT,
        "south": State.THIS,
        "east": State.HERE,
        "west": State.HERE,  # no neighbour, but it takes part
    }
    assert [node.takes_part for node in status.nodes] == [False, True, True, True]
