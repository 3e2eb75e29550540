"""A solver and an averaging scheme from outside, as docs/extending.md has them."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.consensus import run_rounds
from dssfn.errors import PlanError
from dssfn.planning import settle
from dssfn.registry import AVERAGING, SOLVERS
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.documents import block
from tests.support.strategies import random_shards

RING = build_topology("circular", 5)


@pytest.fixture
def extended(monkeypatch):
    """Both blocks run; afterwards nobody knows the new names any more."""
    for table in (SOLVERS, AVERAGING):
        monkeypatch.setattr(table, "_known", dict(table._known))
    names = {}
    for name in ("solver", "scheme"):
        exec(block("extending.md", name), names)
    return names


def shown(capsys, name, names):
    exec(block("extending.md", name), names)
    return capsys.readouterr().out


def test_a_solver_from_outside_trains_and_reaches_the_optimum(extended, capsys):
    assert float(shown(capsys, "use-solver", extended)) > 0.9
    shards = random_shards(
        np.random.default_rng(0), sizes=[8, 9, 10, 11, 12], n_features=4, n_classes=3
    )
    plan = Plan(
        n_features=4, classes=(0, 1, 2), n_layers=0, n_iter=20_000, units="dense"
    )
    costs = {
        solver: simulate(shards, plan.replace(solver=solver), RING).history[0].cost
        for solver in ("gram", "descent")
    }
    assert costs["descent"] == pytest.approx(costs["gram"], rel=1e-6)


def test_the_messages_of_a_solver_from_outside_decide_the_scheme(extended):
    plan = Plan(
        n_features=4,
        classes=(0, 1, 2),
        n_layers=2,
        width=9,
        solver="descent",
        consensus="gossip",
    )
    assert settle(plan, RING)[1].name == "gossip"
    extended["Descent"].needs_equal_bits = True
    with pytest.raises(PlanError, match="must be tree or auto for this solver"):
        settle(plan, RING)


def test_a_scheme_from_outside_reaches_the_mean_by_rounds_and_at_once(extended, capsys):
    rounds = eval(shown(capsys, "use-scheme", extended))
    assert rounds["chebyshev"] <= rounds["memory"] < rounds["gossip"]
    scheme = AVERAGING["memory"](RING, 1e-10)
    values = np.random.default_rng(0).normal(size=(5, 2, 3))
    by_hand = run_rounds(scheme, dict(enumerate(values)))
    for node in range(5):
        np.testing.assert_allclose(by_hand[node], values.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(
        scheme.mix(values, 0), list(by_hand.values()), atol=1e-12
    )


def test_a_plan_may_name_them(extended):
    plan = Plan(
        n_features=2,
        classes=(0, 1),
        n_layers=2,
        width=9,
        solver="descent",
        consensus="memory",
    )
    assert settle(plan, RING)[0].consensus == "memory"


def test_unknown_and_taken_names_are_refused(extended):
    with pytest.raises(PlanError, match="Did you mean `descent`"):
        Plan(n_features=2, classes=(0, 1), solver="decent")
    with pytest.raises(PlanError, match="already taken"):
        SOLVERS.register("gram", object)
    with pytest.raises(PlanError, match="already taken"):
        AVERAGING.register("auto", object)
