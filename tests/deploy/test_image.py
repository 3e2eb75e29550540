"""deploy/Dockerfile: what an image holds, and that its commands exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib

import pytest

from dssfn.node.spec import NODE_FILE
from tests.support.commands import dssfn
from tests.support.compose import DEPLOY, ROOT

FILE = DEPLOY / "Dockerfile"
TEXT = FILE.read_text(encoding="utf-8").replace("\\\n", " ")


def only(pattern):
    (found,) = re.findall(pattern, TEXT, re.MULTILINE)
    return found


def test_commands_of_the_image_are_those_of_the_program():
    assert json.loads(only(r"^ENTRYPOINT (.*)$")) == ["dssfn"]
    run = json.loads(only(r"^CMD (.*)$"))
    check = json.loads(only(r"^HEALTHCHECK .* CMD (.*)$"))
    assert (check[0], check[-1], run[-1]) == ("dssfn", NODE_FILE, NODE_FILE)
    for words in (run[:-1], check[1:-1]):
        assert dssfn(*words, "--help").exit_code == 0


def test_the_image_runs_as_a_user_of_its_own():
    user, group = only(r"^USER (\d+):(\d+)$")
    assert int(user) > 0
    assert f"useradd --uid {user} --gid {group}" in " ".join(TEXT.split())
    assert only(r"^STOPSIGNAL (.*)$") == "SIGTERM"


def test_extras_and_python_of_the_image_are_those_of_the_package():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = package["project"]["optional-dependencies"]
    assert set(only(r"^ARG EXTRAS=(.*)$").split(",")) <= set(known)
    least = re.search(r">=\s*3\.(\d+)", package["project"]["requires-python"])[1]
    assert int(only(r"^ARG PYTHON=3\.(\d+)$")) >= int(least)


def test_all_that_is_copied_is_sent_to_the_builder_and_little_else():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied = set()
    for words in re.findall(r"^COPY (?!--from)(.*)$", TEXT, re.MULTILINE):
        copied |= {word for word in words.split()[:-1] if not word.startswith("--")}
    assert lines[1] == "*"
    assert sent == copied
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="needs hadolint")
def test_hadolint_finds_nothing():
    done = subprocess.run(["hadolint", FILE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_shellcheck_finds_nothing():
    scripts = [DEPLOY / "restart-on-failure.sh", DEPLOY / "compose/prepare.sh"]
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
