from __future__ import annotations

import numpy as np
import pytest

from dssfn.errors import DataError
from dssfn.shard import Pooled, Shard, divide

X, T = np.arange(8.0).reshape(2, 4), np.linspace(-1, 1, 4)[None, :]


def test_a_shard_hands_out_its_weights_with_the_samples_they_belong_to():
    shard = Shard(X, T, weights=[0, 1, 2.5, 4])
    first, second = shard.chunks(3)
    assert first.weights.tolist() == [0, 1, 2.5]
    assert second.X.tolist() == [[3], [7]]
    assert second.T.tolist() == [[1]]
    assert second.weights.tolist() == [4]


def test_weights_add_up_and_a_sample_without_one_counts_once():
    plain, heavy = Shard(X, T), Shard(X, T, weights=[0, 1, 2.5, 4])
    both = Pooled([plain, heavy])
    assert (plain.weight, heavy.weight, both.weight) == (4, 7.5, 11.5)
    assert both.n_samples == 8
    first, second = both.chunks(4)
    assert first.weights is None
    assert second.weights.tolist() == [0, 1, 2.5, 4]


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
    for given in (None, weights):
        shards = divide(rows, T, parts, given)
        for shard, part in zip(shards, parts, strict=True):
            assert shard.X.tolist() == X[:, part].tolist()
            assert shard.T.tolist() == T[:, part].tolist()
            if given is None:
                assert shard.weights is None
            else:
                assert shard.weights.tolist() == weights[part].tolist()
