from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dssfn._atomic import check_place, make_writable, no_empty_folders, write_atomically
from dssfn.cli.outfolder import out_folder
from dssfn.errors import DataError, InputError


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


def test_a_file_in_place_of_a_folder_is_called_so(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputError, match=r"folder, got `.*/a\.csv`, which is a file\."):
        make_writable(tmp_path / "a.csv", "--out")


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


@pytest.fixture
def pipe(tmp_path):
    """A named pipe, and somebody who waits at its other end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        yield path, reader


def test_a_pipe_is_written_to_and_stays_a_pipe(pipe):
    path, reader = pipe
    write_atomically(path, b"row")
    assert reader.read() == b"row"
    assert path.is_fifo()
    assert list(path.parent.iterdir()) == [path]


def test_a_link_to_a_pipe_is_written_to(pipe):
    path, reader = pipe
    link = path.with_name("link")
    link.symlink_to(path.name)
    write_atomically(link, b"row")
    assert reader.read() == b"row"
    assert link.is_symlink()
    assert path.is_fifo()


def test_an_open_pipe_without_a_name_is_written_to(tmp_path):
    reader, writer = os.pipe()
    link = tmp_path / "link"
    link.symlink_to(f"/proc/self/fd/{writer}")
    if not link.exists():
        pytest.skip("processes are no files here")
    write_atomically(link, b"row")
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert stream.read() == b"row"


def test_an_open_file_that_has_lost_its_name_is_written_to(tmp_path):
    path, link = tmp_path / "gone", tmp_path / "link"
    with path.open("w+b") as file:
        link.symlink_to(f"/proc/self/fd/{file.fileno()}")
        path.unlink()
        if not link.exists():
            pytest.skip("processes are no files here")
        write_atomically(link, b"row")
        assert file.read() == b"row"
    assert list(tmp_path.iterdir()) == [link]


def test_what_is_private_goes_to_no_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"`.*pipe` must be a file, since .* owner"):
        write_atomically(path, b"secret", private=True)
    assert path.is_fifo()


def test_a_socket_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    path = Path("socket")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        with pytest.raises(OSError, match="'socket'"):
            write_atomically(path, b"row")
    assert path.is_socket()


@pytest.mark.parametrize("private", [False, True])
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path, private):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "target"
    target.write_bytes(b"old")
    middle, link = tmp_path / "middle", tmp_path / "link"
    middle.symlink_to(Path("far") / "target")
    link.symlink_to("middle")
    write_atomically(link, b"new", private=private)
    assert target.read_bytes() == b"new"
    assert link.is_symlink()
    assert middle.is_symlink()
    assert {one.name for one in tmp_path.rglob("*")} == {
        "far", "target", "middle", "link"
    }  # fmt: skip


def test_a_link_that_leads_to_nothing_makes_the_file(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("loop", "symbolic links"),
        ("lost", "No such file"),
        ("folder", "Is a directory"),
        ("none/file", "No such file"),
    ],
)
def test_what_cannot_be_written_is_named_as_it_was_given(tmp_path, name, why):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("none/file")
    (tmp_path / "folder").mkdir()
    before = set(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=f"{why}.*{name}'$"):
        write_atomically(tmp_path / name, b"new")
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["loop", "lost", "folder", "none/file", "file/file"])
def test_where_no_file_can_be_is_refused_before_there_is_one(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("none/file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=f"`--out` must be a file in an .*{name}`"):
        check_place(tmp_path / name, "--out")


def test_a_file_a_pipe_a_link_and_a_new_name_can_be_written(pipe):
    path, _ = pipe
    folder = path.parent
    (folder / "link").symlink_to("new")
    (folder / "file").touch()
    for name in ("pipe", "link", "file", "new"):
        check_place(folder / name, "--out")


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX matter")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions_unless_it_is_private(tmp_path, mode):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path.name)
    path.touch()
    path.chmod(mode)
    for one in (path, link):
        write_atomically(one, b"new")
        assert path.stat().st_mode & 0o777 == mode
    write_atomically(link, b"secret", private=True)
    assert path.stat().st_mode & 0o777 == 0o600
