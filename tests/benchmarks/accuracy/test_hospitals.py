"""Four hospitals are prepared and divided as FLamby does it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy import tables
from benchmarks.accuracy.hospitals import read_patients
from tests.support.data_sets import REAL


@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_patients_without_gaps_are_divided_by_hospital():
    patients = read_patients(REAL)
    train, test = map(np.bincount, (patients.train_hospital, patients.test_hospital))
    assert (train + test).tolist() == [303, 261, 46, 130]
    assert train.tolist() == [199, 172, 30, 85]
    assert patients.split.X_train.shape[1] == 13


@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_tables_as_they_are_keep_every_patient_and_column():
    patients = tables.read_patients(REAL)
    assert patients.columns.shape == (920, 13)
    assert np.bincount(patients.hospital).tolist() == [303, 294, 123, 200]
    assert patients.columns.isna().mean().max() > 0.6


@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_every_patient_is_predicted_by_others():
    for model in (tables.LOGISTIC, "logistic alone"):
        metrics = tables.measure("heart", 0, model, REAL)
        assert 0.7 < metrics["accuracy"] < 0.9
        assert 0.7 < metrics["auc"] < 0.95
