"""deploy/systemd: the unit of a node, as systemd itself judges it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from dssfn.exit_codes import WRONG_INPUT
from tests.support.compose import DEPLOY

UNIT = DEPLOY / "systemd/dssfn-node@.service"
MOST_EXPOSED = 1.5  # of 10, by systemd's own measure

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze"
)


@pytest.fixture
def instance(tmp_path):
    """The unit of a node called north, with a program that exists."""
    text = UNIT.read_text(encoding="utf-8")
    program = re.search(r"^ExecStart=(\S+) node run node\.toml$", text, re.M)[1]
    path = tmp_path / "dssfn-node@north.service"
    path.write_text(text.replace(program, shutil.which("true")), encoding="utf-8")
    return path


@needs_systemd
def test_systemd_understands_every_line(instance):
    done = subprocess.run(
        ["systemd-analyze", "verify", instance], capture_output=True, text=True
    )
    own = [line for line in done.stderr.splitlines() if instance.name in line]
    assert own == []
    assert done.returncode == 0, done.stderr


@needs_systemd
def test_the_service_is_hardened(instance):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", instance],
        capture_output=True,
        text=True,
    )
    if "Overall exposure level" not in done.stdout:
        pytest.skip(f"this systemd judges no files: {done.stderr.strip()}")
    (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(level) <= MOST_EXPOSED


def test_wrong_input_is_not_tried_again_and_a_stop_is_no_failure():
    settings = dict(
        line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line
    )
    assert settings["Restart"] == "on-failure"
    assert settings["RestartPreventExitStatus"] == str(WRONG_INPUT)
    assert settings["SuccessExitStatus"] == str(128 + 15)


def test_the_folder_that_can_be_written_to_is_out_of_the_node():
    text = UNIT.read_text(encoding="utf-8")
    (folder,) = re.findall(r"^WorkingDirectory=(.*)$", text, re.M)
    (state,) = re.findall(r"^StateDirectory=(.*)$", text, re.M)
    assert f"/var/lib/{state}" == f"{folder}/out"
    (user,) = re.findall(r"^User=(.*)$", text, re.M)
    assert re.search(
        rf"^u {user} - ", (DEPLOY / "systemd/dssfn.conf").read_text(), re.M
    )
