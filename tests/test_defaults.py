"""One source of defaults: whoever leaves a setting out gets what `Plan` has."""

from __future__ import annotations

import inspect

import msgspec
import pytest
from typer.testing import CliRunner

from dssfn import DSSFNClassifier, SSFNClassifier
from dssfn.cli import simulate as simulate_command
from dssfn.cli.main import app
from dssfn.config import Plan
from dssfn.datasets import load_dataset
from dssfn.errors import PlanError
from dssfn.federation import load_federation
from dssfn.presets import PRESETS, resolve
from dssfn.runs import make_plan

GIVEN = ("n_features", "classes", "feature_names")  # by the data


def settings(plan):
    """All settings of a plan but those that the data give."""
    return {k: v for k, v in msgspec.to_builtins(plan).items() if k not in GIVEN}


DEFAULTS = settings(Plan(n_features=2, classes=("no", "yes")))


@pytest.mark.parametrize("estimator", [SSFNClassifier, DSSFNClassifier])
def test_an_estimator_that_is_told_nothing_has_the_defaults_of_the_plan(estimator):
    parameters = inspect.signature(estimator).parameters
    told = {k: parameters[k].default for k in parameters if k in DEFAULTS}
    assert len(told) >= 9
    assert DEFAULTS | resolve("default", told) == DEFAULTS


def test_simulate_that_is_told_nothing_has_the_defaults_of_the_plan(monkeypatch):
    plans = []

    def stop(run, **_):
        plans.append(run.plan)
        raise PlanError("enough seen")

    monkeypatch.setattr(simulate_command, "execute", stop)
    CliRunner().invoke(app, ["simulate", "--data", "iris"])
    assert settings(plans[0]) == DEFAULTS


def test_federation_init_that_is_told_nothing_has_the_defaults_of_the_plan(tmp_path):
    pytest.importorskip("cryptography")
    folder = tmp_path / "fed"
    names = ["--classes", "no,yes", "--features", "age,bmi", "--target", "sick"]
    shown = CliRunner().invoke(
        app, ["federation", "init", str(folder), "--nodes", "a,b,c", *names]
    )
    assert shown.exit_code == 0, shown.output
    plan = load_federation(folder / "plan.toml").training
    # All nodes must end with equal bits, whatever the solver.
    assert settings(plan) == DEFAULTS | {"consensus": "tree"}


def test_a_plan_file_that_leaves_settings_out_has_the_defaults_of_the_plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        '[graph]\nkind = "path"\n[[nodes]]\nname = "a"\n[[nodes]]\nname = "b"\n'
        '[training]\nclasses = ["no", "yes"]\nn_features = 2\n'
    )
    assert settings(load_federation(path).training) == DEFAULTS


def test_the_demo_has_the_defaults_of_the_plan():
    data = load_dataset("iris")
    plan = make_plan(data, **resolve("default", {}))
    assert settings(plan) == DEFAULTS


def test_every_preset_says_the_same_settings_and_the_papers_are_its_own():
    assert PRESETS["default"].keys() == PRESETS["paper"].keys() <= DEFAULTS.keys()
    assert PRESETS["default"]["gain"] == PRESETS["default"]["bias"] == 3.0
    assert PRESETS["paper"] == {
        "n_layers": 20, "width": 1000, "members": 1, "standardize": False, "bias": 0.0,
        "gain": 1.0, "units": "dense", "alpha": 2.0, "solver": "admm",
        "consensus": "gossip", "tol": 1e-10,
    }  # fmt: skip
