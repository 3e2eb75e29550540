"""What leaves a node of a network that finds its own size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.ensemble import choices as rules
from dssfn.ensemble import largest_found
from dssfn.ensemble.calibrate import SLOPES
from dssfn.ensemble.dense import Dense
from dssfn.ensemble.folds import folds_of
from dssfn.ensemble.integer import Integer
from dssfn.ensemble.ridge import message_size
from dssfn.ensemble.track import TALLY
from dssfn.ensemble.units import n_features_of
from dssfn.exact.limbs import N_LIMBS
from dssfn.lockstep import Workers, drive
from dssfn.shard import Shard
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from dssfn.training import train_node
from tests.support.ensembles import draw, plan_of, split
from tests.support.strategies import seeds
from tests.support.totals import all_sums


def messages_of(shards, plan):
    """Every message of every node, as (layer, numbers), and the last progress."""
    sent, seen = [], []

    def answer(messages):
        values = [message.make() for message in messages]
        sent.extend((messages[0].layer, one) for one in values)
        combine = np.sum if messages[0].exact else np.mean
        return [combine(values, axis=0)] * len(values)

    programs = [
        train_node(shard, plan, n_nodes=len(shards), node=m, on_progress=seen.append)
        for m, shard in enumerate(shards)
    ]
    with Workers(len(shards)) as workers:
        drive(programs, answer, workers)
    return sent, seen[-1]


@pytest.fixture
def narrow(monkeypatch):
    """A width that is tried, then one that is taken, and one that is not."""
    monkeypatch.setattr(rules, "widths_for", lambda weight: (5, 10, 20))
    monkeypatch.setattr(rules, "WIDER", 0.0)


def by_layer(sent):
    sizes = {}
    for layer, numbers in sent:
        sizes.setdefault(layer, []).append(numbers.size)
    return sizes


@pytest.mark.parametrize("units", ["integer", "dense"])
def test_a_layer_sends_its_sums_and_errors_and_a_wider_one_its_new_rows(units, narrow):
    X, T, _ = draw(np.random.default_rng(0), J=120)
    plan = plan_of(X, T, members=4, n_layers=2, units=units)
    arithmetic = Integer(plan) if units == "integer" else Dense(plan)
    size, per = arithmetic.size, arithmetic.summation.per_number
    assert per == (N_LIMBS if units == "integer" else 1)
    sent, progress = messages_of([Shard(X, T)], plan)
    P, Q, K, tracks = 4, 3, 4, 2
    n_linear, n_pulls = (len(rules.rules_of(plan, 120).pulls(k)) for k in (0, 1))
    widths = [int(width) for _, width, _ in progress.stages[1]["tries"]]
    assert widths[:2] == [5, 5]  # both scales
    assert len(widths) > 2
    sizes = by_layer(sent)
    rows = P + Q
    # The first has how many samples there are, up to the number of members. Exact ones
    # need not be averaged once more, but have to agree on a usual weight.
    # They also count the samples that are not at the mean.
    last = per * 4 if units == "integer" else 2 * rows
    second = per * 2 * rows + (rows if units == "integer" else 0)
    assert sizes[-1] == [per * (1 + rows) + 1, second, last]
    linear = (K + 1) * size(0, 0, 1 + P)
    assert sizes[0] == [linear + per * tracks * TALLY, per * tracks * n_linear * 2]
    n = [n_features_of(1, P, Q, width) for width in widths[1:]]
    first = tracks * K * size(1, 0, n[0]) + per * tracks * TALLY
    expected = [first, per * tracks * n_pulls * 2]
    for old, new in pairwise(n):
        m = new - old
        border = m * old + m * (m + 1) // 2 + Q * m  # new by old, new by new, and C
        assert size(1, old, new) == border
        expected += [K * border, per * n_pulls * 2]
    assert sizes[1] == expected
    kept = n_features_of(2, P, Q, progress.stages[1]["O"].shape[2] - 1 - 2 * Q)
    layer_2 = [K * size(1, 0, kept) + per * TALLY, per * n_pulls * 2]
    slopes, *scores = sizes[2][2:]
    assert sizes[2][:2] == layer_2
    assert slopes == per * (len(SLOPES) + TALLY)
    assert len(scores) == 1  # how good the model is on validation samples


def test_borders_send_no_number_twice():
    """A layer that grows in steps costs what it would cost at once."""
    Q, ends = 3, [107, 207, 407, 807]
    grown = sum(message_size(Q, *step) for step in pairwise([0, *ends]))
    assert grown == message_size(Q, 0, ends[-1])


def test_the_account_of_traffic_is_what_was_sent(narrow):
    X, T, _ = draw(np.random.default_rng(0), J=120)
    shards = split(X, T, None, np.arange(120) % 4)
    plan = plan_of(X, T, members=3)
    graph = build_topology("circular", 4)
    sent, _ = messages_of(shards, plan)
    result = simulate(shards, plan, graph)
    every = by_layer(sent[:: len(shards)])  # one node's
    assert result.traffic_by_layer.keys() == every.keys()
    for layer, sizes in every.items():
        traffic = result.traffic_by_layer[layer]
        assert traffic.scalars_per_node == 2 * graph.diameter * sum(sizes)
        assert traffic.bytes_total == 8 * 2 * 3 * sum(sizes)  # a tree has three edges


@settings(max_examples=25)
@given(
    seeds,
    st.integers(1, 5),
    st.sampled_from([0, 2, 4]),
    st.fixed_dictionaries(
        {
            "members": st.sampled_from(["auto", 2, 7]),
            "n_layers": st.sampled_from(["auto", 0, 1, 6]),
            "width": st.sampled_from([1, 60]),
            "size": st.sampled_from(["auto", "ssfn"]),
            "folds": st.sampled_from(["rows", "nodes"]),
            "units": st.sampled_from(["integer", "dense"]),
        }
    ),
)
def test_no_letter_is_larger_than_the_largest(seed, P, Q, given_settings):
    if given_settings["size"] == "ssfn":
        given_settings |= {"members": "auto", "folds": "rows"}
    elif given_settings["members"] == "auto":
        given_settings["n_layers"] = "auto"
    rng = np.random.default_rng(seed)
    X, T, weights = draw(rng, P=P, Q=Q, J=40, weighted=True)
    weights /= rng.integers(1, 3)  # whole numbers or not
    plan = plan_of(X, T, seed=seed, **given_settings)
    sent, progress = messages_of(split(X, T, weights, np.arange(40) % 2), plan)
    largest = largest_found(plan, 2)
    assert max(numbers.size for _, numbers in sent) <= largest
    # nodes compare the lowest and the highest of all numbers of the model
    assert 2 * progress.flat().size <= largest


@pytest.mark.parametrize("width", [1, 50, 149, 1000])
def test_no_model_by_ssfns_rule_is_larger_than_the_largest_letter(width):
    """Every layer as wide as can be, found in the most steps."""
    for Q, P, n_layers in ((1, 1, 1), (2, 3, 20), (10, 5, 300)):
        targets = tuple(f"t{q}" for q in range(Q))
        plan = Plan(
            n_features=P, targets=targets, size="ssfn", width=width, n_layers=n_layers
        )
        n = n_features_of(1, P, Q, width)
        steps = max(width // 50, 1)
        hidden = Q * n + 2 * (width + Q) + 3 + 3 * steps
        first = 1 + 3 * P + 3 * Q + Q * (1 + P) + Q + 3
        whole = first + n_layers * hidden + 1 + 1  # picked, and the slope
        assert 2 * whole <= largest_found(plan, 2)


def windows(numbers, size=8):
    """All runs of bytes as long as a number, at whatever place."""
    content = np.ascontiguousarray(numbers).tobytes()
    return {content[k : k + size] for k in range(len(content) - size + 1)}


def has_company(shard, seed):
    """Whether no sample is the only one of its class in a fold of its node.

    The sums of one sample are that sample, whoever makes them.
    """
    folds = folds_of(shard.X, 5, seed)
    groups = shard.T if len(shard.T) > 2 else np.ones((1, shard.n_samples))
    cells = [group[folds == fold].sum() for group in groups for fold in range(5)]
    return min(cells) > 1


def in_company(Q):
    """Shards of three nodes, none of which has a sample that stands alone."""
    for seed in range(100):
        X, T, _ = draw(np.random.default_rng(seed), Q=Q, J=240)
        shards = split(X, T, None, np.arange(240) % 3)
        if all(has_company(shard, seed=0) for shard in shards):
            return X, T, shards
    raise AssertionError("no such samples")


@pytest.mark.parametrize(
    "given_settings",
    [
        {"members": 5},
        {"members": 5, "units": "dense"},
        {"members": 3, "standardize": False},
        {"folds": "nodes"},
        {"size": "ssfn", "width": 50, "n_layers": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("Q", [0, 3])
def test_no_number_of_a_sample_in_company_appears_in_a_message(Q, given_settings):
    X, T, shards = in_company(Q)
    plan = plan_of(X, T, **{"width": 10, "n_layers": "auto"} | given_settings)
    sent, _ = messages_of(shards, plan)
    marks = [X, *([T] if Q == 0 else [])]
    marks += [(A - A.mean(axis=1)[:, None]) / A.std(axis=1)[:, None] for A in marks]
    values = np.concatenate([A.ravel() for A in marks])
    planted = {value.tobytes() for value in values}
    for _, numbers in sent:
        assert not planted & windows(numbers)
        # nor nearly so, whatever rounding has done to it
        found = np.sort(all_sums(numbers))
        if not len(found):
            continue
        place = np.searchsorted(found, values).clip(1, len(found) - 1)
        near = np.minimum(abs(found[place] - values), abs(found[place - 1] - values))
        assert (near > 1e-13 * abs(values)).all()
