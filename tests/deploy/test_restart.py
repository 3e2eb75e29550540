"""restart-on-failure: which exit codes start a node again, and how it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests.support.compose import DEPLOY, PATIENCE

SCRIPT = str(DEPLOY / "restart-on-failure.sh")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a script for sh")


def start(tmp_path, command, pause="0"):
    """Run a command of sh, which counts its runs by lines in the file `runs`."""
    return subprocess.Popen(
        ["sh", SCRIPT, "sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "RESTART_SEC": pause},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path, n_lines):
    end = time.monotonic() + PATIENCE
    while not path.exists() or len(path.read_text().splitlines()) < n_lines:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("code", [0, 2])
def test_what_has_finished_or_is_wrong_is_not_started_again(tmp_path, code):
    done = start(tmp_path, f"echo >> runs; exit {code}")
    assert (done.communicate(timeout=PATIENCE)[1], done.returncode) == ("", code)
    assert (tmp_path / "runs").read_text() == "\n"


@pytest.mark.parametrize("failed", ["exit 1", "kill -9 $$"])
def test_what_fails_otherwise_is_started_until_it_succeeds(tmp_path, failed):
    command = f"echo >> runs; [ $(wc -l < runs) -ge 3 ] || {failed}"
    done = start(tmp_path, command)
    said = done.communicate(timeout=PATIENCE)[1]
    assert (done.returncode, said.count("starting again in 0 s")) == (0, 2)
    assert (tmp_path / "runs").read_text() == "\n" * 3


def test_a_stop_reaches_the_command_whose_exit_code_stays(tmp_path):
    trap = "trap 'echo bye >> runs; exit 143' TERM"
    running = start(tmp_path, f"{trap}; echo >> runs; while :; do sleep 0.1; done")
    wait_for(tmp_path / "runs", 1)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 143
    assert (tmp_path / "runs").read_text() == "\nbye\n"


def test_a_stop_between_two_runs_ends_it_at_once(tmp_path):
    running = start(tmp_path, "echo >> runs; exit 1", pause="600")
    wait_for(tmp_path / "runs", 1)
    assert "starting again in 600 s" in running.stderr.readline()
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 143
    assert (tmp_path / "runs").read_text() == "\n"


def test_a_script_without_a_command_says_so():
    done = subprocess.run(["sh", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 2
    assert "a command is missing" in done.stderr


@pytest.mark.parametrize("pause", ["soon", "-1", "1.5"])
def test_a_pause_that_is_no_number_of_seconds_is_refused(tmp_path, pause):
    running = start(tmp_path, "echo >> runs; exit 1", pause=pause)
    _, told = running.communicate(timeout=PATIENCE)
    assert running.returncode == 2
    assert f"whole number of seconds, got {pause}" in told
    assert not (tmp_path / "runs").exists()
