"""An exported model runs where there is nothing but onnxruntime and numpy."""

from __future__ import annotations

import subprocess
import sys
import venv

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import train_test_split

from dssfn import (
    DSSFNClassifier,
    SSFNClassifier,
    SSFNRegressor,
    load_network,
    to_onnx,
)
from dssfn.datasets.contents import read_encoded
from tests.support.commands import dssfn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::dssfn.OverfitWarning"),
]

ALONE = """
import importlib.util, sys
import numpy as np, onnxruntime

for name in ("dssfn", "sklearn", "onnx", "scipy", "pandas", "polars"):
    assert importlib.util.find_spec(name) is None, name
session = onnxruntime.InferenceSession("model.onnx")
"""
RUN = f"""
{ALONE}
np.save("found.npy", session.run([sys.argv[1]], {{"X": np.load("X.npy")}})[0])
"""
RUN_TABLE = f"""
{ALONE}
import csv

with open("table.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
feed = {{}}
for one in session.get_inputs():
    texts = [row[one.name] for row in rows]
    is_number = one.type == "tensor(double)"
    values = [float(text or "nan") for text in texts] if is_number else texts
    feed[one.name] = np.array(values).reshape(-1, 1)
names = [one.name for one in session.get_outputs()]
found = (np.array(one.tolist()) for one in session.run(None, feed))  # no objects
np.savez("found.npz", **dict(zip(names, found)))
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


def run(python, folder, *script):
    ran = subprocess.run(
        [python, "-I", "-c", *script], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


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
    run(python, tmp_path, RUN, name)
    found = np.load(tmp_path / "found.npy")
    wanted = model.predict(X_test)
    np.testing.assert_array_equal(found[:, 0] if is_regression else found, wanted)


def table(n):
    """Rows as people write them: gaps, categories, yes and no, an id."""
    rng = np.random.default_rng(0)
    age, sex = rng.normal(50, 12, n).round(), rng.choice(["f", "m", "female"], n)
    is_sick = age + 20 * (sex == "m") + rng.normal(0, 10, n) > 60
    frame = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(n)],
            "age": pd.Series(age).mask(rng.random(n) < 0.2),
            "größe": rng.normal(170, 9, n).round(1),
            "sex": sex,
            "pain": pd.Series(rng.integers(1, 5, n)).mask(rng.random(n) < 0.2),
            "smokes": rng.choice(["yes", "no"], n),
            "dose": (3 * age + 5 * is_sick).round(2),
            "outcome": np.where(is_sick, "sick", "well"),
        }
    )
    return frame.astype({"pain": "Int64"})


SCHEMA = """
[target]
column = "outcome"
classes = ["sick", "well"]
[[columns]]
name = "age"
kind = "number"
missing = true
[[columns]]
name = "größe"
kind = "number"
[[columns]]
name = "sex"
kind = "category"
levels = ["f", "m"]
same = { "female" = "f" }
[[columns]]
name = "pain"
kind = "category"
levels = [1, 2, 3]
other = true
missing = true
[[columns]]
name = "smokes"
kind = "boolean"
[[columns]]
name = "id"
kind = "ignore"
"""


def test_onnxruntime_alone_reads_a_table_as_it_is(python, tmp_path):
    rows = table(500)
    (tmp_path / "schema.toml").write_text(SCHEMA, "utf-8")
    rows[:200].to_csv(tmp_path / "north.csv", index=False)
    rows[200:400].to_csv(tmp_path / "south.csv", index=False)
    rows[400:].to_csv(tmp_path / "table.csv", index=False)
    nodes = [f"--shard={tmp_path / name}.csv" for name in ("north", "south")]
    settings = [f"--schema={tmp_path / 'schema.toml'}", f"--out={tmp_path / 'run'}"]
    model = tmp_path / "run" / "model.safetensors"
    for command in (
        ("simulate", *nodes, *settings),
        ("export", model, tmp_path / "model.onnx"),
    ):
        shown = dssfn(*command)
        assert shown.exit_code == 0, shown.output
    run(python, tmp_path, RUN_TABLE)
    network = load_network(model)
    samples = read_encoded(tmp_path / "table.csv", network.plan.schema)
    scores = network.scores(samples.X.T).T
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["scores"], scores)
        labels = np.array(network.plan.classes)[scores.argmax(axis=1)]
        assert found["label"].tolist() == labels.tolist()


def test_onnxruntime_alone_predicts_numbers_from_the_columns_of_an_estimator(
    python, tmp_path
):
    rows = table(500)
    X, y = rows[["age", "größe", "sex", "pain", "smokes"]], rows["dose"]
    categories = ["sex", "pain", "smokes"]
    model = SSFNRegressor(categorical_features=categories, random_state=0)
    model.fit(X[:400], y[:400])
    (tmp_path / "model.onnx").write_bytes(to_onnx(model))
    X[400:].to_csv(tmp_path / "table.csv", index=False)
    run(python, tmp_path, RUN_TABLE)
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["prediction"][:, 0], model.predict(X[400:]))
