"""The file of a node's log, and what happens when it is full."""

from __future__ import annotations

import logging
import os
import stat

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.errors import PlanError
from dssfn.node.log_file import LogFile
from dssfn.node.log_tail import LogTail
from dssfn.node.spec import LEAST_LOG, NodeSpec

MAX = 200
TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))
    | st.text("äx€😀", min_size=100, max_size=150)
)


def record_of(text):
    return logging.makeLogRecord({"msg": text, "levelno": logging.INFO})


def write(path, texts, **settings):
    log = LogFile(path, **{"max_bytes": MAX, "backups": 1000, **settings})
    for text in texts:
        log.emit(record_of(text))
    log.close()


def files_of(folder):
    """The files of a log, the oldest first."""
    numbers = {
        int(path.name.removeprefix("node.log").lstrip(".") or 0): path
        for path in folder.iterdir()
    }
    return [numbers[k] for k in sorted(numbers, reverse=True)]


def lines_of(folder):
    return [
        line
        for path in files_of(folder)
        for line in path.read_bytes().decode().split("\n")[:-1]
    ]


@given(TEXTS, st.integers(0, 20))
@settings(max_examples=60)
def test_no_line_is_lost_and_no_file_is_too_large(tmp_path_factory, texts, restart):
    folder = tmp_path_factory.mktemp("log")
    write(folder / "node.log", texts[:restart])
    write(folder / "node.log", texts[restart:])  # after a restart
    assert lines_of(folder) == texts
    for path in files_of(folder):
        size = path.stat().st_size
        assert size <= MAX or path.read_bytes().count(b"\n") == 1


def test_only_the_newest_files_are_kept(tmp_path):
    write(tmp_path / "node.log", [f"{k:099d}" for k in range(20)], backups=2)
    assert [path.name for path in files_of(tmp_path)] == [
        "node.log.2", "node.log.1", "node.log",
    ]  # fmt: skip
    assert [int(line) for line in lines_of(tmp_path)] == list(range(14, 20))


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_all_files_can_be_read_by_their_owner_only(tmp_path):
    before = os.umask(0)
    try:
        write(tmp_path / "node.log", ["x" * 99] * 9)
    finally:
        os.umask(before)
    assert len(files_of(tmp_path)) == 5
    for path in files_of(tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_process_killed_between_two_renames_loses_nothing(tmp_path):
    write(tmp_path / "node.log", [f"{k:099d}" for k in range(6)])
    # As if killed after the first of the renames: no file has the number 1.
    (tmp_path / "node.log.2").rename(tmp_path / "node.log.3")
    (tmp_path / "node.log.1").rename(tmp_path / "node.log.2")
    write(tmp_path / "node.log", [f"{k:099d}" for k in range(6, 10)])
    assert [int(line) for line in lines_of(tmp_path)] == list(range(10))


def test_where_files_cannot_be_renamed_lines_are_still_kept(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    write(tmp_path / "node.log", ["x" * 99] * 9)
    assert lines_of(tmp_path) == ["x" * 99] * 9


def test_the_lines_of_the_status_page_outlive_a_rotation(tmp_path):
    log = logging.Logger("of this test", logging.INFO)
    tail = LogTail(["north"])
    file = LogFile(tmp_path / "node.log", max_bytes=MAX, backups=1)
    log.addHandler(tail)
    log.addHandler(file)
    for layer in range(40):
        log.info("layer %d begins", layer)
    file.close()
    assert len(lines_of(tmp_path)) < 40
    assert [line.text for line in tail.lines()] == [
        f"layer {k} begins" for k in range(40)
    ]


SPEC = NodeSpec(
    name="a", plan="p", data="d", certificate="c", key="k", authorities="ca"
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"log_format": "JSON"}, "`log_format` must be one of text, json, got 'JSON'"),
        ({"log_max_bytes": LEAST_LOG - 1}, "`log_max_bytes` must be at least 4096"),
        ({"log_backups": 0}, r"`log_backups` must lie in 1\.\.1000, got 0"),
        ({"log_backups": 1001}, "got 1001"),
    ],
)
def test_settings_that_no_log_can_follow_are_refused(changes, words):
    with pytest.raises(PlanError, match=words):
        msgspec.structs.replace(SPEC, **changes)
