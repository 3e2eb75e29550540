"""The examples run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data_sets import REAL
from tests.support.lab import free_ports

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.grpc
@pytest.mark.skipif(not (REAL / "heart").is_dir(), reason="needs the hospitals' files")
def test_four_hospitals_end_with_one_model(tmp_path):
    folder = tmp_path / "all"
    done = subprocess.run(
        ["bash", str(EXAMPLES / "four_hospitals" / "run.sh"), str(folder)],
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "PORT": str(free_ports(4)),
            "DSSFN_DATA_DIR": str(REAL),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    digests = [
        line.split()[0]
        for line in done.stdout.splitlines()
        if line.endswith("/out/model.safetensors") and "  ./" in line
    ]
    assert len(digests) == 4
    assert len(set(digests)) == 1
    (total,) = (line for line in done.stdout.splitlines() if line.startswith("all "))
    assert float(total.split()[2]) > 79.5  # per cent: FLamby's pooled training
    for name in ("cleveland", "hungarian", "switzerland", "va"):
        assert (folder / "federation" / name / "out" / "report.html").is_file()
