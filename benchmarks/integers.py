"""What integer units are claimed to give: speed, memory, pictures.

All figures are ratios of what was timed in one run, or counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
from onnxruntime import InferenceSession
from sklearn.neural_network import MLPClassifier

from benchmarks.claim import Claim, at_least, at_most
from dssfn import SSFNClassifier
from dssfn.config import Plan
from dssfn.datasets import load, partition
from dssfn.export import to_onnx
from dssfn.features import Features
from dssfn.network import DenseUnits, next_features, random_matrix
from dssfn.shard import Shard, divide, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology

COMMAND = "python -m benchmarks.run"
FIXED = {"n_layers": 20, "width": 1000, "members": 1}
PICTURES = {"image_shape": (28, 28), "width": 2000, "n_layers": 3}


def speed() -> Iterator[Claim]:
    """A whole MNIST training against nothing but its products R_l Y_l."""
    data = load("mnist")
    codes = data.y_train.astype(np.intp)
    parts = partition(codes, 20, "iid", rng=np.random.default_rng(0))
    shards = divide(data.X_train, one_hot(codes, 10), parts)
    plan = Plan(n_features=784, classes=tuple(range(10)), **FIXED)
    ring = build_topology("circular", 20, degree=4)
    X = DenseUnits(plan).first(np.ascontiguousarray(data.X_train.T))
    del data
    R = random_matrix(0, 1, plan.width, len(X))
    Y = next_features(np.zeros((10, X.shape[1])), R, X, gain=plan.gain)

    def bare() -> float:
        spent = 0.0
        for layer in range(1, plan.depth + 1):
            features = X if layer == 1 else Y
            R = random_matrix(0, layer, plan.width, len(features))
            start = time.perf_counter()
            R @ features
            spent += time.perf_counter() - start
        return spent

    before = bare()
    trained = simulate(shards, plan, ring)
    yardstick = (before + bare()) / 2
    what = "MNIST, 20 nodes, 20 layers: time over that of the products R_l Y_l"
    yield at_most(what, trained.seconds / yardstick, 0.65, f"{COMMAND} speed")


def feature_memory() -> Iterator[Claim]:
    """Bytes that a node keeps of a sample's features, integer over dense."""
    rng = np.random.default_rng(0)
    shard = Shard(
        rng.normal(size=(784, 2000)), one_hot(rng.integers(10, size=2000), 10)
    )
    kept = {}
    for units in ("integer", "dense"):
        plan = Plan(n_features=784, classes=tuple(range(10)), units=units, **FIXED)
        with closing(Features(shard, plan)) as features:
            features.share()
            features.advance(np.zeros((10, plan.inputs_of(0))))
            kept[units] = features.kept_bytes / shard.n_samples
    what = "1000 units, 10 classes: bytes of features a sample, over those of dense"
    ratio = kept["integer"] / kept["dense"]
    yield at_most(what, ratio, 1 / 6, f"{COMMAND} feature-memory")


def pictures() -> Iterator[Claim]:
    """MNIST as pictures."""
    data = load("mnist")
    model = SSFNClassifier(**PICTURES, random_state=0)
    model.fit(data.X_train, data.y_train)
    accuracy = 100 * float(model.score(data.X_test, data.y_test))
    given = ", ".join(f"{name}={value}" for name, value in PICTURES.items())
    yield at_least(f"MNIST, {given}: test %", accuracy, 98.5, f"{COMMAND} pictures")


def against_mlp() -> Iterator[Claim]:
    """Time to reach the test accuracy of a multi-layer perceptron, over its time."""
    data = load("mnist")
    mlp = MLPClassifier((100,), early_stopping=True, random_state=0)
    seconds = _timed(lambda: mlp.fit(data.X_train / 255, data.y_train))
    wanted = float(mlp.score(data.X_test / 255, data.y_test))
    codes = data.y_train.astype(np.intp)
    shards = divide(data.X_train, one_hot(codes, 10), [np.arange(len(codes))])
    plan = Plan(n_features=784, classes=tuple(range(10)))
    start, ends = time.perf_counter(), []
    alone = build_topology("complete", 1)
    result = simulate(
        shards,
        plan,
        alone,
        on_layer=lambda record, traffic: ends.append(time.perf_counter() - start),
    )
    truth = data.y_test.astype(np.intp)
    X = np.ascontiguousarray(data.X_test.T)
    found = [
        float((scores.argmax(axis=0) == truth).mean())
        for scores in result.networks[0].staged_scores(X)
    ]
    enough = [end for end, one in zip(ends, found, strict=False) if one >= wanted]
    ratio = enough[0] / seconds if enough else float("inf")
    what = (
        f"MNIST, defaults: time to reach the {100 * wanted:.2f} % of an MLP, over its"
    )
    yield at_most(what, ratio, 2, f"{COMMAND} mlp")


def prediction() -> Iterator[Claim]:
    """A million predictions, over those with dense units, and by onnxruntime."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 30)), rng.integers(3, size=2000)
    many = rng.normal(size=(10**6, 30))
    size = {"n_layers": 3, "width": 200, "members": 4}
    models = {
        units: SSFNClassifier(**size, units=units, random_state=0).fit(X, y)
        for units in ("integer", "dense")
    }
    exported = InferenceSession(to_onnx(models["integer"]))
    batches = np.array_split(many, len(many) // 2048)

    def run_exported() -> None:
        for batch in batches:
            exported.run(["label"], {"X": batch})

    for model in models.values():
        model.predict(many[:5000])
    spent = _timed(lambda: models["integer"].predict(many))
    dense = _timed(lambda: models["dense"].predict(many))
    what = "1e6 rows of 30 columns: time of predictions over that of"
    command = f"{COMMAND} prediction"
    yield at_most(f"{what} dense units", spent / dense, 1, command)
    yield at_most(f"{what} onnxruntime", spent / _timed(run_exported), 2, command)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
