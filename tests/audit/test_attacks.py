"""Attacks get everything without masks, and nothing but totals with them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.audit import Wanted, audit_simulated
from dssfn.audit.attacks import attack_on, by_letters, by_total, completed
from dssfn.audit.rows import found_rows
from dssfn.audit.sums import FirstLayer, scaled_error
from dssfn.errors import PlanError
from dssfn.masking import mask_partners
from tests.support.audits import (
    FIXED,
    HEART,
    SOLVERS,
    digits_run,
    heard,
    heart_run,
    heart_schema,
)
from tests.support.trainings import relative

ALL_OF_IT = 1e-8
NOTHING = 0.9
MASKED = {"finds its size": {}, "of fixed size": FIXED}


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    if not HEART.is_dir():
        pytest.skip("needs the folder of real data; set DSSFN_DATA_DIR")
    return heart_schema(tmp_path_factory.mktemp("heart"))


def coalitions(n_nodes):
    """Every set of members and every victim that is not among them."""
    for size in range(1, n_nodes):
        for members in map(frozenset, combinations(range(n_nodes), size)):
            yield from ((members, v) for v in range(n_nodes) if v not in members)


# --- without masks ------------------------------------------------------------------


@pytest.mark.parametrize("name", SOLVERS)
def test_without_masks_the_hub_of_a_star_finds_all_sums_of_every_leaf(name):
    """The hub is also the root of the tree, and every leaf's neighbour."""
    case = heard(digits_run("star", 4, **SOLVERS[name]))
    for leaf in (1, 2, 3):
        assert max(case.letters({0}, leaf)) < ALL_OF_IT


@pytest.mark.parametrize("name", ["gram, gossip", "admm, gossip"])
def test_without_masks_gossip_tells_every_neighbour_all(name):
    case = heard(digits_run("circular", 4, **SOLVERS[name]))
    for node in range(4):
        assert max(case.letters({node}, (node + 1) % 4)) < ALL_OF_IT
        assert case.letters({node}, (node + 2) % 4) is None


@pytest.mark.parametrize("name", ["gram, finds its size", "gram", "krylov", "admm"])
def test_without_masks_the_hub_finds_all_sums_of_a_hospital(name, schema):
    case = heard(heart_run(schema, "star", **SOLVERS[name]))
    for hospital in (1, 2, 3):
        assert max(case.letters({0}, hospital)) < ALL_OF_IT


@pytest.mark.parametrize("name", ["gram, finds its size", "krylov", "admm"])
def test_members_on_both_sides_of_a_node_find_all_of_it(name):
    """On a path the tree is the same in every averaging, but for its root."""
    case = heard(digits_run("path", 5, **SOLVERS[name]))
    assert max(case.letters({1, 3}, 2)) < ALL_OF_IT


def test_what_krylov_shows_of_some_directions_is_right_in_them():
    """On a ring the root rotates, and a neighbour sees some of the products only."""
    case = heard(digits_run("circular", 5, **SOLVERS["krylov"]))
    found = by_letters(case.transcript.seen_by({0}), 1)
    assert found is not None
    assert found.nodes == {1}
    assert 0 < found.sums.share < 0.5
    assert scaled_error(found.sums.G, case.truth[1].G) < NOTHING


def test_a_lone_row_of_a_fold_and_class_is_found_as_it_is():
    run = digits_run("star", 4)
    case = heard(run)
    layer = FirstLayer(case.transcript.plan)
    agreed = case.transcript.agreed
    n_found = 0
    for leaf in (1, 2, 3):
        found = by_letters(case.transcript.seen_by({0}), leaf)
        X, T = run.shards[leaf].X, run.shards[leaf].T
        V = (X - agreed["shift"][:, None]) / agreed["scale"][:, None]
        for label, row in found_rows(layer, found.sums):
            own = V[:, T[label] == 1]
            assert np.abs(own - row[:, None]).max(axis=0).min() < 1e-5
            n_found += 1
    assert n_found > 0


@pytest.mark.parametrize("patience", [0, 3])
def test_krylov_that_loses_patience_sends_all_of_it(patience):
    settings = SOLVERS["krylov"] | {"patience_input": patience}
    case = heard(digits_run("star", 4, **settings))
    assert len(case.transcript.steps) == patience + 1
    assert max(case.letters({0}, 1)) < ALL_OF_IT
    assert by_letters(case.transcript.seen_by({0}), 1).sums.share == 1
    ring = heard(digits_run("circular", 5, **settings))
    for members, victim in coalitions(5):
        by_letters(ring.transcript.seen_by(members), victim)  # whatever it finds


def test_a_solver_that_nobody_knows_an_attack_on_is_refused():
    with pytest.raises(PlanError, match="gram, krylov, admm"):
        attack_on("newton")


def test_admm_that_balances_mu_is_refused():
    case = heard(digits_run("star", 3, **SOLVERS["admm"], balance_mu=True))
    with pytest.raises(PlanError, match="balance_mu"):
        case.letters({0}, 1)


# --- with masks ---------------------------------------------------------------------


@pytest.mark.parametrize("topology", ["star", "circular", "path", "complete"])
@pytest.mark.parametrize("kind", MASKED)
def test_with_masks_no_coalition_finds_anything_in_letters(kind, topology):
    n_nodes = 5
    case = heard(digits_run(topology, n_nodes, **MASKED[kind]), secure=True)
    n_seen = 0
    for members, victim in coalitions(n_nodes):
        errors = case.letters(members, victim)
        if len(members) < n_nodes - 1:
            n_seen += errors is not None
            assert errors is None or min(errors) > NOTHING
            assert case.total(members, victim)[0] > 0.01
        else:  # what is left of the total is the victim
            assert max(case.total(members, victim)) < ALL_OF_IT
    assert n_seen > 0


def test_with_masks_no_coalition_of_hospitals_finds_anything_in_letters(schema):
    case = heard(heart_run(schema, "star"), secure=True)
    for members, victim in coalitions(4):
        errors = case.letters(members, victim)
        if len(members) < 3:
            assert errors is None or min(errors) > NOTHING
        else:
            assert max(case.total(members, victim)) < ALL_OF_IT


def test_members_take_away_the_masks_that_they_share():
    """What is left of two nodes whose every other partner attacks is their own."""
    run = digits_run("path", 5, **FIXED)
    masked, plain = heard(run, secure=True), heard(run)
    for members, victim in coalitions(5):
        one, other = (
            by_total(case.transcript.seen_by(members), victim)
            for case in (masked, plain)
        )
        assert np.array_equal(one.sums.G, other.sums.G)


def test_masks_of_some_partners_hide_nothing_from_all_of_them():
    """Of more than 16 nodes each has fewer partners than there are others."""
    partners = frozenset(mask_partners(18)[7])
    assert len(partners) < 17
    run = digits_run("complete", 18, **FIXED)
    case = heard(run, secure=True)
    assert max(case.letters(partners, 7)) < ALL_OF_IT
    assert min(case.letters(partners - {min(partners)}, 7)) > NOTHING


def test_members_who_cut_two_partners_off_from_all_others_find_their_sum():
    """In the sum of both, the masks that they share with each other cancel."""
    partners = mask_partners(40)
    one, other = 7, partners[7][-1]
    around = {0, *partners[one], *partners[other]} - {one, other}
    assert len(around) < 37
    case = heard(digits_run("star", 40, **FIXED), secure=True)
    found = by_letters(case.transcript.seen_by(around), one)
    assert found.nodes == {one, other}
    true = case.truth[one].G + case.truth[other].G
    assert scaled_error(found.sums.G, true) < ALL_OF_IT
    fewer = around - {max(around)}
    assert min(case.letters(fewer, one)) > NOTHING


def test_folds_that_are_nodes_are_told_by_the_total():
    case = heard(digits_run("circular", 4, folds="nodes"), secure=True)
    for members, victim in (({0}, 1), ({0}, 2), ({3}, 0)):
        assert max(case.total(members, victim)) < ALL_OF_IT


# --- the truth ----------------------------------------------------------------------


# Integer units have inputs in steps of 2^-17.
@pytest.mark.parametrize(
    ("name", "rounding"),
    [("gram, finds its size", 1e-5), ("gram", 1e-5), ("krylov", 1e-12)],
)
def test_the_truth_is_what_the_rows_give_by_hand(name, rounding):
    run = digits_run("star", 4, **SOLVERS[name])
    case = heard(run)
    pooled = np.hstack([shard.X for shard in run.shards])
    deviation = pooled.std(axis=1)
    deviation[deviation == 0] = 1.0
    for shard, sums in zip(run.shards, case.truth, strict=True):
        Z = (shard.X - pooled.mean(axis=1)[:, None]) / deviation[:, None]
        ones = np.ones((1, shard.n_samples))
        Y = np.vstack([ones, Z] if name.endswith("size") else [Z, 3.0 * ones])
        assert np.abs(Y).max() < 32  # beyond which integer units do not go
        assert relative(sums.G, Y @ Y.T) < rounding
        assert relative(sums.C, shard.T @ Y.T) < rounding


def test_messages_of_the_training_are_the_truth():
    """What a node wanted summed, as it left the program, is the sum over its rows."""
    case = heard(digits_run("star", 4, **FIXED))
    plan, step = case.transcript.plan, case.transcript.steps[0]
    for node in range(4):
        sums = FirstLayer(plan).read(case.transcript.own[step, node])
        assert relative(sums.G, case.truth[node].G) < 1e-14


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**31))
def test_a_matrix_of_few_rows_is_completed_from_as_many_directions(rows, k, seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(8, rows))
    G = Y @ Y.T
    V = np.linalg.qr(rng.normal(size=(8, k)))[0]
    found = completed(V, G @ V)
    assert np.allclose(found @ V, G @ V, atol=1e-9 * np.abs(G).max())
    assert np.allclose(found, found.T)
    if k >= rows and np.linalg.cond(V.T @ Y) < 1e3:
        assert relative(found, G) < 1e-6


@given(st.floats(1e-6, 1e6), st.booleans(), st.integers(0, 2**31))
def test_errors_do_not_depend_on_the_scale_of_what_was_found(size, negative, seed):
    G = np.random.default_rng(seed).normal(size=(4, 4))
    assert scaled_error((-size if negative else size) * G, G) < 1e-12
    assert scaled_error(None, G) == 1.0
    assert scaled_error(np.zeros((4, 4)), G) == 1.0


def test_noise_has_an_error_of_about_one():
    rng = np.random.default_rng(0)
    noise, G = rng.normal(size=(2, 60, 60))
    assert 0.99 < scaled_error(noise, G) <= 1.0


def test_a_graph_of_two_has_no_secret_from_each_other():
    case = heard(digits_run("path", 2, **FIXED), secure=True)
    assert case.letters({0}, 1) is None
    assert max(case.total({0}, 1)) < ALL_OF_IT


def test_sums_with_noise_are_not_for_these_attacks():
    run = digits_run("star", 3, epsilon=1.0, input_low=0.0, input_high=16.0)
    with pytest.raises(PlanError, match="an audit attacks exact sums"):
        audit_simulated(run, Wanted())
