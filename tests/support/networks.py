"""Small networks with random weights."""

from __future__ import annotations

import numpy as np

from dssfn.config import Plan
from dssfn.network import Network


def network(seed=0, *, P=3, L=2, width=8, gain=1.0):
    rng = np.random.default_rng(seed)
    sizes = {"n_features": P, "n_layers": L, "width": width}
    plan = Plan(classes=("a", "b"), gain=gain, bias=0.0, **sizes)
    outputs = tuple(rng.normal(size=(2, plan.inputs_of(l))) for l in range(L + 1))
    return Network(plan, outputs, rng.normal(size=P), rng.uniform(0.5, 2, P))
