import numpy as np

from dssfn.datasets import Dataset, load_dataset
from dssfn.experiments import trial


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
