"""Small random problems for the laws."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dssfn.shard import Shard, one_hot

seeds = st.integers(0, 2**32 - 1)


def random_shards(
    rng: np.random.Generator, *, sizes: list[int], n_features: int, n_classes: int
) -> list[Shard]:
    """Gaussian features, labels that depend on them; nodes may lack classes."""
    J = sum(sizes)
    X = rng.normal(size=(n_features, J)) * rng.uniform(0.1, 3, size=(n_features, 1))
    codes = (rng.normal(size=(n_classes, n_features)) @ X).argmax(axis=0)
    codes[rng.random(J) < 0.2] = rng.integers(n_classes)  # noise
    T = one_hot(codes, n_classes)
    cuts = np.cumsum(sizes)[:-1]
    return [
        Shard(np.ascontiguousarray(x), np.ascontiguousarray(t))
        for x, t in zip(
            np.split(X, cuts, axis=1), np.split(T, cuts, axis=1), strict=True
        )
    ]


def pooled(shards: list[Shard]) -> Shard:
    """All data in one place."""
    return Shard(np.hstack([s.X for s in shards]), np.hstack([s.T for s in shards]))
