"""Four hospitals are prepared and divided as FLamby does it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy.hospitals import read_patients
from dssfn.errors import DataError
from tests.support.data_sets import REAL


@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_patients_without_gaps_are_divided_by_hospital():
    patients = read_patients(REAL)
    train, test = map(np.bincount, (patients.train_hospital, patients.test_hospital))
    assert (train + test).tolist() == [303, 261, 46, 130]
    assert train.tolist() == [199, 172, 30, 85]
    assert patients.split.X_train.shape[1] == 13


def test_a_folder_without_the_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("DSSFN_DATA_DIR", raising=False)
    for folder in (tmp_path, None):
        with pytest.raises(DataError, match="must be in a folder `heart`"):
            read_patients(folder)
