import dataclasses
import json

import numpy as np
import pytest

from dssfn.cli.reproduce import EXPERIMENTS
from dssfn.consensus import gossip_rounds
from dssfn.datasets import Dataset, load_dataset
from dssfn.experiments import degree, table2, trial
from dssfn.experiments.convergence import cost_curves as convergence
from dssfn.presets import PAPER_MU
from dssfn.runs import divided, make_plan
from dssfn.simulator import simulate


@pytest.fixture(scope="module")
def experiment():
    data = load_dataset("iris", seed=0)
    plan = make_plan(
        data, n_layers=2, width=20, solver="admm", n_iter=15, mu_input=0.1,
        mu_hidden=0.1, consensus="tree",
    )  # fmt: skip
    return divided(data, plan, trial.ring(6, 1), "iid")


def test_the_curve_passes_through_the_cost_of_every_layer(experiment):
    curve = convergence.admm_curve(experiment)
    result = simulate(experiment.shards, experiment.plan, experiment.topology)
    assert len(curve["cost"]) == 3 * 15 == curve["averagings"][-1]
    at_ends = curve["cost"][14::15]
    np.testing.assert_allclose(at_ends, [r.cost for r in result.history], rtol=1e-8)


def test_the_curve_of_layers_counts_averagings(experiment):
    plan = experiment.plan.replace(solver="krylov")
    curve = convergence.layer_curve(dataclasses.replace(experiment, plan=plan))
    assert len(curve["cost"]) == 3
    assert sorted(set(curve["averagings"])) == curve["averagings"]


def test_every_set_of_table_two_has_published_figures_and_mu():
    for name in table2.SETS:
        figures = table2.published(name, 20)["paper"]
        assert figures["data"] in PAPER_MU
        assert figures["train_error_db"] < 0
    assert table2.published("caltech101_spm", 1)["paper"]["data"] == "caltech101"


@pytest.mark.parametrize("module", EXPERIMENTS.values(), ids=EXPERIMENTS)
@pytest.mark.parametrize("quick", [True, False])
def test_keys_tell_rows_apart_and_say_whether_they_are_quick(module, quick):
    made = module.tasks(quick=quick, seeds=[0, 1])
    keys = [json.dumps(task.key, sort_keys=True) for task in made]
    assert len(set(keys)) == len(keys)
    assert {task.key["quick"] for task in made} == {quick}
    assert {task.experiment for task in made} == {module.EXPERIMENT}
    assert EXPERIMENTS[module.EXPERIMENT] is module


def test_degree_rows_hold_rounds_and_times():
    task = next(
        task
        for task in degree.tasks(quick=True, seeds=[0])
        if task.key.get("degree") == 4 and task.key.get("scheme") == "gossip"
    )
    with pytest.MonkeyPatch.context() as patch:
        digits = load_dataset("digits", seed=0)
        patch.setattr(degree, "data_of", lambda *args, **kwargs: digits)
        figures = task.run()
    assert figures["rounds"] == gossip_rounds(trial.ring(), 1e-10) == 65
    assert figures["seconds_measured"] > 0
    assert figures["seconds_modelled"] > 65 * 0.02


def test_letter_is_divided_anew_for_every_seed_and_keeps_its_sizes(monkeypatch):
    iris = load_dataset("iris", seed=0)
    monkeypatch.setattr(trial, "load_dataset", lambda *args, **kwargs: iris)
    first, second = (
        trial.data_of("letter", seed, quick=False, data_dir=None) for seed in (0, 1)
    )
    assert first.X_train.shape == second.X_train.shape == iris.X_train.shape
    assert not np.array_equal(first.X_train, second.X_train)
    everything = np.sort(np.concatenate([first.X_train, first.X_test]), axis=0)
    whole = np.sort(np.concatenate([iris.X_train, iris.X_test]), axis=0)
    np.testing.assert_array_equal(everything, whole)


def test_inputs_in_range_fill_it_and_a_constant_one_becomes_zero():
    X = np.array([[0.0, 5.0], [4.0, 5.0], [1.0, 5.0]])
    y = np.array([0, 1, 1])
    data = trial.in_range(Dataset("made up", X, y, np.array([[6.0, 7.0]]), y[:1]))
    assert data.X_train.tolist() == [[-1.0, 0.0], [1.0, 0.0], [-0.5, 0.0]]
    assert data.X_test.tolist() == [[2.0, 2.0]]


def test_the_settings_of_a_row_are_the_papers():
    settings = trial.settings_of("paper", "norb_subset3", 20)
    assert (settings["mu_input"], settings["mu_hidden"]) == (1e-2, 1e0)
    assert settings["solver"] == "admm"
    assert "mu_input" not in trial.settings_of("default", "mnist", 20)
