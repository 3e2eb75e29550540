"""An exported model runs where there is nothing but onnxruntime and numpy."""

from __future__ import annotations

import subprocess
import sys
import venv

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split

from dssfn import DSSFNClassifier, SSFNClassifier, SSFNRegressor, to_onnx

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::dssfn.OverfitWarning"),
]

RUN = """
import importlib.util, sys
import numpy as np, onnxruntime

for name in ("dssfn", "sklearn", "onnx", "scipy"):
    assert importlib.util.find_spec(name) is None, name
session = onnxruntime.InferenceSession("model.onnx")
np.save("found.npy", session.run([sys.argv[1]], {"X": np.load("X.npy")})[0])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter in an environment of its own."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, with_pip=True)
    interpreter = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    installed = subprocess.run(
        [interpreter, "-m", "pip", "install", "--quiet", "onnxruntime", "numpy"],
        capture_output=True, text=True,
    )  # fmt: skip
    if installed.returncode:
        pytest.skip(f"onnxruntime cannot be installed: {installed.stderr[-200:]}")
    return interpreter


CASES = {
    "ensemble": (load_wine, SSFNClassifier(random_state=0)),
    "nodes": (load_breast_cancer, DSSFNClassifier(n_nodes=3, random_state=0)),
    "dense": (load_breast_cancer, SSFNClassifier(units="dense", random_state=0)),
    "pictures": (load_digits, SSFNClassifier(image_shape=(8, 8), random_state=0)),
    "fixed": (load_digits, SSFNClassifier(n_layers=4, width=100, random_state=0)),
    "regression": (load_diabetes, SSFNRegressor(random_state=0)),
}


@pytest.mark.parametrize(("load", "model"), CASES.values(), ids=CASES)
def test_onnxruntime_alone_gives_the_same_answers(load, model, python, tmp_path):
    X, y = load(return_X_y=True)
    X, X_test, y, _ = train_test_split(X, y, random_state=0)
    model.fit(X, y)
    (tmp_path / "model.onnx").write_bytes(to_onnx(model))
    np.save(tmp_path / "X.npy", X_test)
    is_regression = isinstance(model, SSFNRegressor)
    name = "prediction" if is_regression else "label"
    ran = subprocess.run(
        [python, "-I", "-c", RUN, name], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    found = np.load(tmp_path / "found.npy")
    wanted = model.predict(X_test)
    np.testing.assert_array_equal(found[:, 0] if is_regression else found, wanted)
