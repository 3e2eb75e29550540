"""The four hospitals: from a folder, from the cache, or as OpenML writes them."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from dssfn.datasets import hospitals, load_dataset
from dssfn.datasets.hospitals import COLUMNS, HOSPITALS, TARGET
from dssfn.errors import DataError
from tests.support.commands import dssfn, wrong
from tests.support.data_sets import REAL

needs_heart = pytest.mark.skipif(
    not (REAL / "heart").is_dir(), reason="needs the hospitals' files"
)


@pytest.fixture
def no_place(tmp_path, monkeypatch):
    monkeypatch.delenv("DSSFN_DATA_DIR", raising=False)
    monkeypatch.setenv("DSSFN_CACHE_DIR", str(tmp_path / "cache"))


def as_openml_writes(table: bytes, name: str):
    """Words for codes in the first two tables, and other names in the rest."""
    frame = pd.read_csv(io.BytesIO(table))
    target = frame.pop(TARGET)
    if name not in ("cleveland", "hungarian"):
        frame.columns = [f"V{k + 1}" for k in range(len(COLUMNS))]
        return frame, target
    for column, words in hospitals._WORDS.items():
        if column in frame:
            back = {float(code): word for word, code in words.items()}
            frame[column] = frame[column].map(back)
    return frame.sample(frac=1, random_state=0), (target > 0).map(
        {False: "<50", True: ">50_1"}
    )[frame.sample(frac=1, random_state=0).index]


@needs_heart
def test_the_folder_is_taken_as_it_is(tmp_path):
    result = dssfn("data", "heart", "--out", tmp_path / "h")
    assert result.exit_code == 0, result.output
    for name in HOSPITALS:
        written = (tmp_path / "h" / f"{name}.csv").read_bytes()
        assert written == (REAL / "heart" / f"{name}.csv").read_bytes()
    assert "303 rows" in result.stdout


@needs_heart
def test_what_openml_writes_becomes_the_same_patients(no_place, monkeypatch):
    real = hospitals.read_hospitals(REAL)
    asked = []

    def download(name, number):
        asked.append(number)
        return as_openml_writes(real[name], name)

    monkeypatch.setattr(hospitals, "download", download)
    found = hospitals.read_hospitals()
    assert asked == [49, 51, 1513, 1512]
    for name in HOSPITALS:
        digests = {
            hospitals.patients_digest(one[name].decode()) for one in (found, real)
        }
        assert len(digests) == 1
    assert hospitals.read_hospitals() == found  # from the cache
    assert len(asked) == 4


def test_other_patients_are_refused(no_place, monkeypatch):
    frame = pd.DataFrame({column: [1.0, 2.0] for column in COLUMNS})
    with pytest.raises(DataError, match="got 2 others"):
        hospitals.hospital_csv("va", frame, pd.Series([0, 1]))
    with pytest.raises(DataError, match="lacks `chol`"):
        hospitals.hospital_csv("va", frame.drop(columns="chol"), pd.Series([0, 1]))
    frame["thal"] = ["broken", "normal"]
    with pytest.raises(DataError, match="column thal has a value without a meaning"):
        hospitals.hospital_csv("va", frame, pd.Series([0, 1]))


def test_without_a_network_the_way_is_told(no_place, tmp_path, monkeypatch):
    def unreachable(name, number):
        raise DataError("OpenML did not give it.")

    monkeypatch.setattr(hospitals, "download", unreachable)
    said = wrong("data", "heart", "--out", tmp_path / "h")
    assert "doi 10.24432/C52P4X" in said
    assert not (tmp_path / "h").exists()


def test_four_tables_are_no_data_set(no_place):
    with pytest.raises(DataError, match="Write the tables with `dssfn data heart`"):
        load_dataset("heart")


def test_a_named_set_becomes_two_tables(tmp_path):
    folder = tmp_path / "iris"
    result = dssfn("data", "iris", "--out", folder)
    assert result.exit_code == 0, result.output
    data = load_dataset("iris")
    for part, X, y in (
        ("train", data.X_train, data.y_train),
        ("test", data.X_test, data.y_test),
    ):
        frame = pd.read_csv(folder / f"{part}.csv")
        assert frame.pop("label").tolist() == y.tolist()
        assert frame.to_numpy().tolist() == X.tolist()
    assert "new or empty" in wrong("data", "iris", "--out", folder)
    assert "Did you mean" in wrong("data", "irs", "--out", tmp_path / "irs")
