from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.datasets import PARTITIONS, partition
from dssfn.errors import DataError, PlanError

HOW = st.sampled_from(["iid", "by-class", "dirichlet:1", "dirichlet:1e3"])


@st.composite
def cases(draw):
    """Class codes and a number of nodes that fits them."""
    n_classes = draw(st.integers(1, 5))
    codes = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=60))
    # Sparse nodes make an uneven draw that fills all of them too rare to wait for.
    n_nodes = draw(st.integers(1, max(1, len(codes) // 8)))
    return np.array(codes), n_nodes


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_is_partition(parts, n_samples, n_nodes):
    assert len(parts) == n_nodes
    assert all(len(part) > 0 for part in parts)
    assert all((np.diff(part) > 0).all() for part in parts)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_samples))


@settings(derandomize=True)
@given(case=cases(), how=HOW, seed=st.integers(0, 2**32))
def test_parts_are_sorted_disjoint_non_empty_and_cover_every_sample(case, how, seed):
    codes, n_nodes = case
    parts = partition(codes, n_nodes, how, rng=rng(seed))
    assert_is_partition(parts, len(codes), n_nodes)


@settings(derandomize=True)
@given(case=cases(), how=HOW, seed=st.integers(0, 2**32))
def test_an_equal_generator_gives_an_equal_partition(case, how, seed):
    codes, n_nodes = case
    one = partition(codes, n_nodes, how, rng=rng(seed))
    two = partition(codes, n_nodes, how, rng=rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@settings(derandomize=True)
@given(
    codes=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    how=st.sampled_from(["iid", "by-class"]),
    data=st.data(),
)
def test_sizes_differ_by_at_most_one(codes, how, data):
    n_nodes = data.draw(st.integers(1, len(codes)))
    sizes = [len(part) for part in partition(codes, n_nodes, how, rng=rng())]
    assert max(sizes) - min(sizes) <= 1


@settings(derandomize=True)
@given(case=cases())
def test_by_class_nodes_follow_each_other_in_class_order(case):
    codes, n_nodes = case
    parts = partition(codes, n_nodes, "by-class", rng=rng())
    for before, after in pairwise(parts):
        assert codes[before].max() <= codes[after].min()


def test_by_class_with_a_node_per_class_gives_each_node_one_class():
    codes = rng().permutation(np.repeat(np.arange(5), 12))
    parts = partition(codes, 5, "by-class", rng=rng())
    assert [set(codes[part].tolist()) for part in parts] == [{q} for q in range(5)]


@settings(derandomize=True)
@given(case=cases(), data=st.data())
def test_an_array_of_node_ids_is_obeyed(case, data):
    codes, n_nodes = case
    free = len(codes) - n_nodes
    rest = data.draw(
        st.lists(st.integers(0, n_nodes - 1), min_size=free, max_size=free)
    )
    ids = data.draw(st.permutations([*range(n_nodes), *rest]))
    parts = partition(codes, n_nodes, ids, rng=rng())
    assert_is_partition(parts, len(codes), n_nodes)
    for node, part in enumerate(parts):
        assert (np.array(ids)[part] == node).all()


def test_iid_deals_anew_with_every_seed():
    codes = np.zeros(100, dtype=int)
    one, two = (partition(codes, 2, "iid", rng=rng(seed))[0] for seed in (0, 1))
    assert not np.array_equal(one, two)


def spread(how):
    """Mean share of a node's most frequent class: 1/10 is even, 1 is one class."""
    codes = np.repeat(np.arange(10), 200)
    parts = partition(codes, 8, how, rng=rng(3))
    return np.mean([np.bincount(codes[part]).max() / len(part) for part in parts])


def test_a_smaller_dirichlet_parameter_is_more_uneven():
    assert spread("dirichlet:100") < spread("dirichlet:1") < spread("dirichlet:0.05")


def test_dirichlet_draws_again_until_no_node_is_empty():
    codes = np.repeat(np.arange(3), 4)
    for seed in range(20):
        parts = partition(codes, 4, "dirichlet:0.2", rng=rng(seed))
        assert_is_partition(parts, 12, 4)


@pytest.mark.parametrize("how", ["iid", "by-class", "dirichlet:1", [0]])
def test_more_nodes_than_samples_names_both_numbers(how):
    message = (
        "`n_nodes` must not exceed the number of samples: got 20 nodes for 1 samples."
    )
    with pytest.raises(DataError) as caught:
        partition(np.array([0]), 20, how, rng=rng())
    assert str(caught.value) == message


def test_no_samples_at_all_is_refused():
    with pytest.raises(DataError, match="for 0 samples"):
        partition(np.array([]), 1, "iid", rng=rng())


def test_a_hopeless_dirichlet_draw_says_the_way_out():
    with pytest.raises(DataError, match=r"dirichlet:1e-09 .* Raise A.*fewer nodes"):
        partition(np.zeros(30, dtype=int), 10, "dirichlet:1e-9", rng=rng())


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "", "lots"])
def test_the_dirichlet_parameter_must_be_positive(text):
    with pytest.raises(PlanError, match=r"positive number A.*dirichlet:0.1"):
        partition(np.zeros(4, dtype=int), 2, f"dirichlet:{text}", rng=rng())


@pytest.mark.parametrize(
    ("how", "hint"),
    [
        ("by_class", "Did you mean `by-class`"),
        ("idd", "Did you mean `iid`"),
        ("dirichlet", "Did you mean `dirichlet:0.1`"),
        ("iid:3", "must be one of iid, by-class, dirichlet:A"),
        ("", "must be one of"),
    ],
)
def test_an_unknown_name_is_refused_with_the_near_one(how, hint):
    with pytest.raises(PlanError, match=hint):
        partition(np.zeros(4, dtype=int), 2, how, rng=rng())


@pytest.mark.parametrize("n_nodes", [0, -1, 1.5, True, "2"])
def test_the_number_of_nodes_must_be_a_positive_whole_number(n_nodes):
    with pytest.raises(PlanError, match="`n_nodes` must be a whole number"):
        partition(np.zeros(4, dtype=int), n_nodes, "iid", rng=rng())


@pytest.mark.parametrize("ids", [[0, 1], [[0, 1, 0, 1]], [0.0, 1.0, 0.0, 1.0], None])
def test_node_ids_must_be_one_whole_number_per_sample(ids):
    with pytest.raises(PlanError, match=r"one whole node id per sample.*\(4,\)"):
        partition(np.zeros(4, dtype=int), 2, ids, rng=rng())


@pytest.mark.parametrize("wrong", [-1, 2])
def test_node_ids_out_of_range_are_refused(wrong):
    with pytest.raises(PlanError, match=rf"node ids 0..1, got {wrong}"):
        partition(np.zeros(4, dtype=int), 2, [0, 1, wrong, 0], rng=rng())


def test_a_node_without_samples_is_named():
    with pytest.raises(DataError, match="gives node 1 no samples"):
        partition(np.zeros(4, dtype=int), 3, np.array([0, 2, 2, 0]), rng=rng())


@pytest.mark.parametrize("codes", [np.zeros((2, 2), dtype=int), np.array([0.5, 1.5])])
def test_codes_must_be_a_vector_of_whole_numbers(codes):
    with pytest.raises(DataError, match="`y_codes` must be a vector of whole numbers"):
        partition(codes, 1, "iid", rng=rng())


def test_every_named_way_works():
    for how in PARTITIONS:
        parts = partition(np.arange(6), 2, how.replace("A", "1"), rng=rng())
        assert_is_partition(parts, 6, 2)
