"""The scripts of the gallery run as they stand, without a screen and a warning."""

import re
import subprocess
import sys

import pytest

from tests.support.gallery import FOLDER, PATIENCE, SCRIPTS, environment


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_without_a_screen_and_a_warning(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**environment(), "MPLBACKEND": "Agg"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []  # a reader's folder stays as it was


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_tells_its_numbers_by_computing_them(script):
    text = script.read_text("utf-8")
    told = re.findall(r"^# (?!%%).*$", text, flags=re.MULTILINE)
    prose = "\n".join([text.split('"""')[1], *told])
    # Sizes of what is set up are said; results, which have a decimal or a per cent
    # sign, are printed. The meaning of a probability is no result.
    prose = prose.replace("90 % should mean 90 %", "")
    assert re.findall(r"\d+\.\d+|\d+ ?%", prose) == []


def test_there_is_a_heading_for_all_of_them():
    title, line, *_ = (FOLDER / "README.rst").read_text("utf-8").splitlines()
    assert title == "Gallery"
    assert line == "=" * len(title)
    assert len(SCRIPTS) == 7
