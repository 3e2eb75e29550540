from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from dssfn.ensemble.calibrate import SLOPES, slope_losses
from dssfn.shard import one_hot


@pytest.mark.parametrize("Q", [2, 10, 26])
def test_the_loss_of_a_sample_does_not_depend_on_those_beside_it(Q):
    rng = np.random.default_rng(0)
    S, T = rng.normal(size=(Q, 50)), one_hot(rng.integers(Q, size=50), Q)
    weights = rng.uniform(size=50)
    together = slope_losses(S, T, weights)
    for j in range(50):
        alone = slope_losses(*(A[..., j : j + 1].copy() for A in (S, T, weights)))
        assert alone[:, 0].tobytes() == together[:, j].tobytes()


def test_losses_are_those_of_softmax():
    rng = np.random.default_rng(0)
    S, T = rng.normal(size=(4, 30)), one_hot(rng.integers(4, size=30), 4)
    expected = [-(log_softmax(slope * S, axis=0) * T).sum(axis=0) for slope in SLOPES]
    # a loss is a difference of numbers as large as slope times score
    np.testing.assert_allclose(slope_losses(S, T, None), expected, atol=1e-12)
