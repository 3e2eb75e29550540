"""Small models with random weights."""

from __future__ import annotations

import numpy as np

from dssfn.config import Plan
from dssfn.ensemble import Ensemble
from dssfn.exact.outputs import rounded_outputs
from dssfn.integer_units import IntegerUnits
from dssfn.network import Network


def network(seed=0, *, P=3, L=2, width=8, gain=1.0, units="auto"):
    """A network of fixed size, whose output matrices suit its units."""
    rng = np.random.default_rng(seed)
    sizes = {"n_features": P, "n_layers": L, "width": width}
    plan = Plan(classes=("a", "b"), gain=gain, bias=0.0, units=units, **sizes)
    outputs = [rng.normal(size=(2, plan.inputs_of(l))) for l in range(L + 1)]
    if plan.is_exact:
        layouts = [IntegerUnits(plan).layout(l, weighted=False) for l in range(L + 1)]
        pairs = zip(outputs, layouts, strict=True)
        outputs = [rounded_outputs(O, layout.n_wide) for O, layout in pairs]
    return Network(plan, tuple(outputs), rng.normal(size=P), rng.uniform(0.5, 2, P))


def ensemble(seed=0, *, P=2, K=2, widths=(3, 4), **settings):
    """Members with layers of these widths; their plan allows for the widest."""
    rng = np.random.default_rng(seed)
    sizes = {"n_layers": len(widths), "width": max(widths, default=1), "members": K}
    labels = {} if "targets" in settings else {"classes": ("a", "b")}
    plan = Plan(n_features=P, **sizes, **labels, **settings)
    Q = plan.n_outputs
    features = [1 + P, *(1 + 2 * Q + width for width in widths)]
    between = [width + Q for width in widths[:-1]]
    return Ensemble(
        plan=plan,
        outputs=tuple(rng.normal(size=(K, Q, n)) for n in features),
        centres=rng.normal(size=(K, Q)),
        means=tuple(rng.normal(size=(K, n)) for n in between),
        deviations=tuple(rng.uniform(0.5, 2, (K, n)) for n in between),
        shift=rng.normal(size=P),
        scale=rng.uniform(0.5, 2, P),
        factors=rng.uniform(0.5, 2, P),
        target_shift=rng.normal(size=Q),
        target_scale=rng.uniform(0.5, 2, Q),
        slope=2.5,
    )
