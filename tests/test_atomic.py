from __future__ import annotations

import os
from pathlib import Path

import pytest

from dssfn._atomic import check_writable
from dssfn.cli.outfolder import out_folder


@pytest.fixture
def victim(tmp_path):
    """A file that nobody may lose, and a folder in which somebody points at it."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "out"
    folder.mkdir()
    for name in (".dssfn-probe", f".probe.{os.getpid()}"):
        (folder / name).symlink_to(victim)
    return victim


def test_a_probe_follows_no_link(victim):
    folder = victim.parent / "out"
    before = set(folder.iterdir())
    check_writable(folder)
    with out_folder(folder):
        pass
    assert victim.read_text() == "precious"
    assert set(folder.iterdir()) == before


def test_a_probe_has_a_name_that_nobody_can_foresee(tmp_path, monkeypatch):
    opened = []
    real = os.open

    def spy(path, flags, *args, **options):
        opened.append((Path(path).name, flags))
        return real(path, flags, *args, **options)

    monkeypatch.setattr("os.open", spy)
    check_writable(tmp_path)
    check_writable(tmp_path)
    (first, flags), (second, _) = opened
    assert first != second
    assert flags & os.O_EXCL


def test_a_folder_that_cannot_be_written_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        check_writable(tmp_path / "none")
