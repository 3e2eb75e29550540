from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dssfn._atomic import make_writable, no_empty_folders, write_atomically
from dssfn.cli.outfolder import out_folder
from dssfn.errors import InputError


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
    make_writable(folder, "out")
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
    make_writable(tmp_path, "out")
    make_writable(tmp_path, "out")
    (first, flags), (second, _) = opened
    assert first != second
    assert flags & os.O_EXCL


def test_a_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError, match=r"`out` must be a writable folder.*Not a directory"
    ):
        make_writable(tmp_path / "file" / "out", "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="`out` must be a writable folder"):
        make_writable(tmp_path, "out")


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX matter")
def test_a_private_folder_is_for_its_owner_alone(tmp_path):
    make_writable(tmp_path / "out", "out", private=True)
    assert (tmp_path / "out").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kept", [[], ["one"]])
def test_a_failure_leaves_no_empty_folder_and_removes_no_full_one(tmp_path, kept):
    path = tmp_path / "a" / "b"

    def fail():
        path.mkdir(parents=True)
        for name in kept:
            (path / name).touch()
        raise RuntimeError

    with pytest.raises(RuntimeError), no_empty_folders(path):
        fail()
    assert [one.name for one in tmp_path.rglob("one")] == kept
    assert (tmp_path / "a").exists() == bool(kept)


def test_what_killed_processes_have_left_is_removed_and_nothing_else(tmp_path):
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    path = tmp_path / "model[1].bin"
    dead = tmp_path / f".{path.name}.{ended.stdout.strip()}.part"
    kept = [
        tmp_path / f".{path.name}.{os.getppid()}.part",  # of a process that lives
        tmp_path / f".{path.name}.mine.part",
        tmp_path / f".other.bin.{ended.stdout.strip()}.part",
        tmp_path / path.name.replace("[1]", "1"),
    ]
    for one in (dead, *kept):
        one.write_bytes(b"half")
    write_atomically(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert not dead.exists()
    assert all(one.exists() for one in kept)
