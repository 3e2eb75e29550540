"""Plans of small trainings, and how two of them are compared."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dssfn.config import Plan
from dssfn.topology import build_topology

DATA = Path(os.environ.get("DSSFN_DATA_DIR", "no data folder is set"))
ALONE = build_topology("complete", 1)


def plan_for(shards, **settings):
    Q = len(shards[0].T)
    base = {"n_features": len(shards[0].X), "classes": tuple(range(Q))}
    base |= {"n_layers": 3, "width": 15, "gain": 1.0, "bias": 0.0}  # as in the paper
    return Plan(**base | settings)


def relative(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


def assert_never_rises(history):
    costs = np.array([record.cost for record in history])
    of_zero = costs / 10 ** (np.array([r.train_error_db for r in history]) / 10)
    # The normal equations know a cost to rounding of ||T||^2.
    assert (np.diff(costs) <= 1e-12 * of_zero[1:]).all(), costs
