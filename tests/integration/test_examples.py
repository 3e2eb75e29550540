import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lab import free_port

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.grpc
def test_three_hospitals_end_with_one_model(tmp_path):
    done = subprocess.run(
        ["bash", str(EXAMPLES / "three_hospitals" / "run.sh"), str(tmp_path / "all")],
        env={**os.environ, "PYTHON": sys.executable, "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    digests = [
        line.split()[0]
        for line in done.stdout.splitlines()
        if line.endswith("/out/model.safetensors") and "  ./" in line
    ]
    assert len(digests) == 3
    assert len(set(digests)) == 1
    assert "malignant" in done.stdout
