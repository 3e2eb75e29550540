"""Real nodes with masked messages against the same nodes without masks.

    python -m benchmarks.masked_ring

Five processes on a ring train digits over mutual TLS, in turn with masks and without;
the medians of the nodes' times are compared. The models must be equal.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits

M, N_TURNS = 5, 5
WIDTHS = (300, 1000)
N_LAYERS = 5


def measure_masks(width: int) -> dict[str, float]:
    """Seconds of a training with masks and without, and their ratio."""
    seconds: dict[str, list[float]] = {"masked": [], "plain": []}
    models = set()
    with tempfile.TemporaryDirectory() as folder:
        federation = _federation(Path(folder) / "fed", width)
        for _ in range(N_TURNS):
            for how, secure in (("masked", "true"), ("plain", "false")):
                took, found = _train(federation, secure)
                seconds[how].append(took)
                models |= found
    assert len(models) == 1, "masks must not change the model"
    masked, plain = (statistics.median(seconds[how]) for how in ("masked", "plain"))
    return {"masked": masked, "plain": plain, "ratio": masked / plain}


def _federation(folder: Path, width: int) -> Path:
    X, y = load_digits(return_X_y=True)
    names = [f"n{k}" for k in range(M)]
    features = ",".join(f"p{k}" for k in range(X.shape[1]))
    _dssfn(
        "federation", "init", str(folder), "--nodes", ",".join(names),
        "--classes", ",".join(map(str, range(10))), "--features", features,
        "--target", "digit", "--layers", str(N_LAYERS), "--width", str(width),
        "--members", "1", *_addresses(names),
    )  # fmt: skip
    for k, name in enumerate(names):
        rows = [f"{features},digit"]
        for x, label in zip(X[k::M], y[k::M], strict=True):
            rows.append(",".join([*(f"{value:g}" for value in x), str(label)]))
        (folder / name / "data.csv").write_text("\n".join(rows) + "\n")
        node = folder / name / "node.toml"
        text = node.read_text().replace("# local_model = false", "local_model = false")
        node.write_text(text)
    return folder


def _addresses(names: list[str]) -> list[str]:
    return [
        part
        for name in names
        for part in ("--address", f"{name}=127.0.0.1:{_free_port()}")
    ]


def _train(folder: Path, secure: str) -> tuple[float, set[str]]:
    """Return the median of the nodes' seconds, and the digests of their models."""
    for plan in folder.rglob("plan.toml"):
        plan.write_text(
            re.sub("(?m)^secure = [a-z]+", f"secure = {secure}", plan.read_text())
        )
    outs = [path.parent / "out" for path in sorted(folder.glob("*/node.toml"))]
    for out in outs:
        shutil.rmtree(out, ignore_errors=True)
    nodes = [
        subprocess.Popen(
            [sys.executable, "-m", "dssfn", "node", "run", str(out.parent)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for out in outs
    ]
    for node in nodes:
        assert node.wait(timeout=600) == 0
    results = [json.loads((out / "result.json").read_text()) for out in outs]
    times = [one["seconds"]["total"] for one in results]
    return statistics.median(times), {one["sha256"] for one in results}


def _dssfn(*arguments: str) -> None:
    command = [sys.executable, "-m", "dssfn", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


if __name__ == "__main__":
    for width in WIDTHS:
        print(width, json.dumps(measure_masks(width)))
