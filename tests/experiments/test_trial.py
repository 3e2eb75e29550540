import numpy as np
import pytest

from dssfn.datasets import Dataset, load_dataset
from dssfn.experiments import convergence, degree, satimage, table2, trial


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
    settings = trial.settings_of("paper", "norb_subset3", 20, quick=False)
    assert (settings["mu_input"], settings["mu_hidden"]) == (1e-2, 1e0)
    assert settings["solver"] == "admm"
    assert (settings["n_layers"], settings["width"]) == (20, 1000)
    assert "mu_input" not in trial.settings_of("default", "mnist", 20, quick=False)


@pytest.mark.parametrize("experiment", [table2, satimage, convergence, degree])
def test_every_full_trial_of_the_paper_can_be_run(experiment, tmp_path, monkeypatch):
    """With made-up samples and a tiny network: the settings are those of the paper."""
    monkeypatch.setattr(trial, "PAPER_SIZE", trial.Size(1, 20))
    rng = np.random.default_rng(0)
    y = np.arange(120) % 6
    X = rng.normal(size=(120, 5)) + y[:, None]
    arrays = {"X_train": X[:80], "y_train": y[:80], "X_test": X[80:], "y_test": y[80:]}
    np.savez(tmp_path / "satimage.npz", **arrays)
    tasks = experiment.tasks(quick=False, seeds=[0], data_dir=tmp_path)
    ours = [task for task in tasks if task.key["data"] == "satimage"]
    found = [task.run() for task in ours if task.key.get("degree", 4) == 4]
    assert len(found) >= 2
    assert all(found)
