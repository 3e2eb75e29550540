"""No node can send more than its rows allow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.driver import drive
from dssfn.errors import NumericalError, ProtocolError
from dssfn.influence import Stated, check_share
from dssfn.lockstep import Workers
from dssfn.masking import Masks, mask_partners, masks_in_one_place
from dssfn.planning import settle
from dssfn.programs import Message
from dssfn.shard import Shard, one_hot
from dssfn.simulator import run_programs, simulate
from dssfn.topology import build_topology
from dssfn.training import train_node
from dssfn.transports import memory_network
from tests.support.ensembles import draw, plan_of, split
from tests.support.liar import LIES, lying

M, LIAR = 4, 2
NAMES = ("north", "east", "south", "west")


def problem(**of_plan):
    """A plan, its averaging, and shards of four nodes on a path."""
    X, T, _ = draw(np.random.default_rng(3), J=120)
    topology = build_topology("path", M)
    plan = plan_of(X, T, **{"n_layers": 2, "width": 12, "members": 2} | of_plan)
    return *settle(plan, topology), split(X, T, None, np.arange(120) % M), topology


def programs_of(plan, shards, lie, liar=LIAR):
    made = [
        train_node(shard, plan, n_nodes=M, node=node)
        for node, shard in enumerate(shards)
    ]
    made[liar] = lying(made[liar], LIES[lie])
    return made


def stated_by(shards):
    return Stated(NAMES, [shard.weight for shard in shards])


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("members", [1, 2])  # of fixed size, or not
def test_the_simulator_names_a_node_that_sends_more_than_its_rows_give(lie, members):
    plan, averaging, shards, _ = problem(members=members)
    assert plan.is_exact
    assert plan.finds_size == (members > 1)
    programs = programs_of(plan, shards, lie)
    with (
        Workers(M) as workers,
        pytest.raises(ProtocolError, match=r"^south sent sums for .* cannot produce"),
    ):
        run_programs(programs, averaging, workers, stated=stated_by(shards))


@pytest.mark.parametrize("lie", LIES)
def test_with_masks_the_total_shows_that_somebody_lied_and_not_who(lie):
    plan, averaging, shards, _ = problem()
    masks = masks_in_one_place(mask_partners(M))
    programs = programs_of(plan, shards, lie)
    with Workers(M) as workers, pytest.raises(ProtocolError) as caught:
        run_programs(programs, averaging, workers, masks=masks)
    assert "Masks hide which one" in str(caught.value)
    assert not any(name in str(caught.value) for name in NAMES)


def over_hosts(lie, *, masked, liar=LIAR):
    """What every node of a path ends with: an error, or None."""
    plan, averaging, shards, topology = problem()
    programs = programs_of(plan, shards, lie, liar)
    links = [(i, j) for i in range(M) for j in topology.neighbours(i)]
    secrets = masks_in_one_place(mask_partners(M)).secrets

    def host(node, transport):
        given = {"stated": stated_by(shards)}
        if masked:
            given = {"masks": Masks({node: secrets[node]})}
        try:
            drive({node: programs[node]}, averaging, transport, **given)
        except Exception as exc:
            transport.close()
            return exc
        return None

    with ThreadPoolExecutor(M) as pool:
        transports = memory_network([[node] for node in range(M)], links, deadline=20)
        return list(pool.map(host, range(M), transports))


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("liar", [0, 1])
def test_without_masks_the_nodes_beyond_a_link_are_named(lie, liar):
    """A leaf of the path, and a node inside of it."""
    ended = over_hosts(lie, masked=False, liar=liar)
    said = [str(exc) for exc in ended if isinstance(exc, ProtocolError)]
    named = [text for text in said if "sent sums for" in text and "announced" in text]
    assert named
    for text in named:
        assert NAMES[liar] in text.partition(" sent sums")[0]
    if liar == 0:  # its only neighbour sees its sums alone
        assert any(text.startswith("north sent sums") for text in named)


@pytest.mark.parametrize("lie", ["oversized", "weight"])
def test_with_masks_every_honest_node_stops(lie):
    ended = over_hosts(lie, masked=True)
    assert all(ended)
    assert any("Masks hide which one" in str(exc) for exc in ended)


def test_what_was_stated_of_the_nodes_beyond_bounds_their_sums_together():
    plan, _, shards, _ = problem()
    program = train_node(shards[0], plan, n_nodes=M)
    message = next(program)
    assert isinstance(message, Message)
    sums = message.make()
    check_share(message, sums, stated_by(shards), [0], 0)
    with pytest.raises(ProtocolError, match=r"^east, or north behind it, sent sums"):
        check_share(message, sums, stated_by(shards), [0, 1], 1)


def extreme(kind, rng, P, J):
    """Rows that reach all clips, or nearly none."""
    X = {
        "one far away": np.zeros((P, J)),
        "all at the clip": rng.choice([-1e30, 1e30], (P, J)),
        "constant": np.ones((P, J)),
        "tiny": rng.normal(size=(P, J)) * 1e-30,
        "usual": rng.normal(size=(P, J)),
    }[kind]
    if kind == "one far away":
        X[:, 0] = 1e30
    return X


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(
        ["one far away", "all at the clip", "constant", "tiny", "usual"]
    ),
    weights=st.sampled_from(["none", "whole", "fractions", "extreme"]),
    classes=st.sampled_from(["one", "rare", "regression"]),
    plan=st.sampled_from(
        [
            {"members": 2, "n_layers": 2},
            {"members": 2, "n_layers": 1, "class_weight": "balanced"},
            {"members": 2, "n_layers": 1, "class_weight": (0.1, 30.0)},
            {"size": "ssfn", "n_layers": 1},
            {"members": 1, "n_layers": 2},
            {"members": 1, "n_layers": 1, "class_weight": "balanced"},
            {"members": 2, "n_layers": 1, "publish_scores": True},
        ]
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_honest_rows_never_break_a_bound(kind, weights, classes, plan, seed):
    rng = np.random.default_rng(seed)
    P, J = 3, 40
    X = extreme(kind, rng, P, J)
    if classes == "regression":
        plan = {name: value for name, value in plan.items() if name != "class_weight"}
        T, what = rng.normal(size=(1, J)) * 1e6, {"targets": ("t",)}
    else:
        codes = np.zeros(J, dtype=int)
        codes[: 1 if classes == "rare" else 0] = 1
        T, what = one_hot(codes, 2), {"classes": (0, 1)}
    w = {
        "none": None,
        "whole": rng.integers(0, 5, J).astype(float) + (np.arange(J) == 0),
        "fractions": rng.uniform(0.5, 1.5, J),
        "extreme": np.where(rng.random(J) < 0.2, 1e-9, 1.0),
    }[weights]
    owner = rng.integers(0, 3, J)
    owner[:3] = [0, 1, 2]
    shards = [
        Shard(X[:, owner == m], T[:, owner == m], None if w is None else w[owner == m])
        for m in range(3)
    ]
    made = Plan(n_features=P, width=10, units="integer", **what, **plan)
    with suppress(NumericalError):  # rows that all are alike may not be solved for
        simulate(shards, made, build_topology("path", 3), apart=True)


@pytest.mark.parametrize("members", [1, 2])
def test_a_row_beyond_the_clip_of_the_inputs_keeps_the_bounds(members):
    """More than a thousand equal rows leave one of them 32 deviations away."""
    X = np.random.default_rng(0).normal(size=(2, 1500))
    X[:, 7] = 1e9
    T = one_hot(np.arange(1500) % 2, 2)
    shards = split(X, T, None, (np.arange(1500) == 7).astype(int))
    plan = Plan(n_features=2, classes=(0, 1), width=10, n_layers=2, members=members)
    assert plan.is_exact
    simulate(shards, plan, build_topology("complete", 2), apart=True)
