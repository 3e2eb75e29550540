from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.errors import DataError
from dssfn.shard import Joined, Pooled, Shard, divide
from dssfn.training import check_samples

X, T = np.arange(8.0).reshape(2, 4), np.linspace(-1, 1, 4)[None, :]


def test_a_shard_hands_out_its_weights_with_the_samples_they_belong_to():
    shard = Shard(X, T, weights=[0, 1, 2.5, 4])
    first, second = shard.chunks(3)  # of about equal lengths
    assert first.weights.tolist() == [0, 1]
    assert second.X.tolist() == [[2, 3], [6, 7]]
    assert second.T.tolist() == [T[0, 2:].tolist()]
    assert second.weights.tolist() == [2.5, 4]


def test_weights_add_up_and_a_sample_without_one_counts_once():
    plain, heavy = Shard(X, T), Shard(X, T, weights=[0, 1, 2.5, 4])
    both = Pooled([plain, heavy])
    assert (plain.weight, heavy.weight, both.weight) == (4, 7.5, 11.5)
    assert both.n_samples == 8
    first, second = both.chunks(4)
    assert first.weights is None
    assert second.weights.tolist() == [0, 1, 2.5, 4]


def test_pooled_samples_have_gaps_if_those_of_any_node_have():
    plain, gappy = Shard(X, T), Shard(np.full_like(X, np.nan), T, has_gaps=True)
    assert not Pooled([plain, plain]).has_gaps
    assert Pooled([plain, gappy]).has_gaps
    plan = Plan(n_features=2, targets=("t",))
    with pytest.raises(DataError, match="must not have missing values"):
        check_samples(Pooled([plain, gappy]), plan)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=6),
    st.integers(1, 20),
)
def test_joined_shards_come_in_useful_chunks_in_their_order(parts, size):
    shards, start = [], 0
    for n, has_weights in parts:
        numbers = np.arange(start, start + n, dtype=float)
        weights = numbers / 2 if has_weights else None
        shards.append(Shard(np.stack([numbers, -numbers]), 3 * numbers[None], weights))
        start += n
    joined = Joined(shards)
    for _ in range(2):  # every call is a new pass
        chunks = list(joined.chunks(size))
        lengths = [rows.X.shape[1] for rows in chunks]
        assert 1 <= min(lengths) <= max(lengths) <= size
        pairs = itertools.pairwise(lengths)
        assert all(2 * a >= size or a + b > size for a, b in pairs)
        found = np.hstack([rows.X for rows in chunks])
        assert found.tolist() == np.hstack([one.X for one in shards]).tolist()
        T = np.hstack([rows.T for rows in chunks])
        assert T.tolist() == np.hstack([one.T for one in shards]).tolist()
        expected = np.concatenate(
            [np.ones(one.n_samples) if one.weights is None else one.weights
             for one in shards]
        )  # fmt: skip
        weights = [
            np.ones(n) if rows.weights is None else rows.weights
            for n, rows in zip(lengths, chunks, strict=True)
        ]
        assert np.concatenate(weights).tolist() == expected.tolist()
    if not any(has_weights for _, has_weights in parts):
        assert all(rows.weights is None for rows in chunks)
    assert joined.n_samples == start
    assert joined.weight == pytest.approx(expected.sum(), rel=1e-15)


def test_a_shard_may_weigh_nothing():
    assert Shard(X, T, weights=np.zeros(4)).weight == 0


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ([1, 2], r"hold one number for each of the 4 samples, got shape \(2,\)"),
        (
            [[1, 2, 3, 4]],
            r"hold one number for each of the 4 samples, got shape \(1, 4\)",
        ),
        ([1, 2, np.nan, 4], "be finite, got NaN or infinity"),
        ([1, 2, np.inf, 4], "be finite, got NaN or infinity"),
        ([1, 0, -0.5, 4], "not be negative, got -0.5 for sample 3.* has weight 0"),
        (["1", "heavy", "1", "1"], "hold numbers"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, error):
    with pytest.raises(DataError, match=f"`weights` must {error}"):
        Shard(X, T, weights=weights)


def test_dividing_gives_every_node_its_samples_targets_and_weights():
    rows, weights = X.T, np.array([1.0, 2.0, 0.5, 4.0])
    parts = [np.array([2]), np.array([0, 1, 3])]
    for given_weights in (None, weights):
        shards = divide(rows, T, parts, given_weights)
        for shard, part in zip(shards, parts, strict=True):
            assert shard.X.tolist() == X[:, part].tolist()
            assert shard.T.tolist() == T[:, part].tolist()
            if given_weights is None:
                assert shard.weights is None
            else:
                assert shard.weights.tolist() == weights[part].tolist()
