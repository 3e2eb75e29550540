import dataclasses

import numpy as np
import pytest

from dssfn.datasets import load_dataset
from dssfn.experiments import trial
from dssfn.experiments.convergence import cost_curves
from dssfn.runs import divided, make_plan
from dssfn.simulator import simulate


@pytest.fixture(scope="module")
def run():
    data = load_dataset("iris", seed=0)
    plan = make_plan(
        data, n_layers=2, width=20, solver="admm", n_iter=15, mu_input=0.1,
        mu_hidden=0.1, consensus="tree",
    )  # fmt: skip
    return divided(data, plan, trial.ring(6, 1), "iid")


def test_the_curve_passes_through_the_cost_of_every_layer(run):
    curve = cost_curves.admm_curve(run)
    result = simulate(run.shards, run.plan, run.topology)
    assert len(curve["cost"]) == 3 * 15 == curve["averagings"][-1]
    at_ends = curve["cost"][14::15]
    np.testing.assert_allclose(at_ends, [r.cost for r in result.history], rtol=1e-8)


def test_the_curve_of_layers_counts_averagings(run):
    plan = run.plan.replace(solver="krylov")
    curve = cost_curves.layer_curve(dataclasses.replace(run, plan=plan))
    assert len(curve["cost"]) == 3
    assert sorted(set(curve["averagings"])) == curve["averagings"]
