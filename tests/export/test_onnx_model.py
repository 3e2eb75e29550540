"""What an exported file is: standard, described, the same every time."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import dssfn
from dssfn import SSFNClassifier, load_network, save_network
from dssfn.errors import DataError, InputError
from dssfn.exact.bounds import STEPS
from dssfn.export import onnx_model, to_onnx
from dssfn.modelfile import content_digest
from dssfn.network import LARGEST, Network
from tests.support.networks import ensemble, network
from tests.support.onnx_runs import answers, onnx, onnxruntime, session

MODELS = {
    "fixed": network(),
    "dense": network(units="dense"),
    "ensemble": ensemble(),
    "dense ensemble": ensemble(units="dense"),
    "regression": ensemble(targets=("a", "b")),
    "pictures": ensemble(P=25, image_shape=(5, 5)),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def loaded(model):
    return onnx.load_from_string(to_onnx(model))


def named(classes):
    net = network()
    return Network(net.plan.replace(classes=classes), net.outputs, net.shift, net.scale)


@every_model
def test_files_are_standard(model):
    proto = loaded(model)
    onnx.checker.check_model(proto, full_check=True)  # types and shapes included
    assert [(one.domain, one.version) for one in proto.opset_import] == [("", 17)]
    assert {node.domain for node in proto.graph.node} == {""}


@every_model
def test_equal_models_are_equal_files(model, tmp_path):
    content = to_onnx(model)
    assert to_onnx(model) == content
    save_network(model, tmp_path / "m.safetensors")
    assert to_onnx(load_network(tmp_path / "m.safetensors")) == content


def test_estimators_are_exported_as_their_networks():
    X, y = load_iris(return_X_y=True)
    model = SSFNClassifier(n_layers=1, width=10, random_state=0).fit(X, y)
    assert to_onnx(model) == to_onnx(model.network_) == dssfn.to_onnx(model)


@every_model
@pytest.mark.parametrize("n", [0, 1, 2])
def test_any_number_of_samples_has_answers(model, n):
    plan = model.plan
    X = np.random.default_rng(0).normal(size=(n, plan.n_features))
    for name, found in answers(to_onnx(model), X).items():
        assert found.shape == ((n,) if name == "label" else (n, plan.n_outputs))


@every_model
def test_a_sample_has_the_same_answers_alone_and_among_others(model):
    X = np.random.default_rng(0).normal(size=(600, model.plan.n_features))
    content, key = to_onnx(model), "prediction" if model.plan.targets else "scores"
    every, alone = answers(content, X)[key], answers(content, X[7:8])[key]
    # Real numbers are added up in another order.
    rtol = 0 if model.plan.is_exact else 1e-12
    np.testing.assert_allclose(alone, every[7:8], rtol=rtol)


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        ((3, -7), np.int64),
        (("nein", "möglich"), object),
        ((False, True), bool),
        ((0.5, 2.5), np.float64),
        ((1, "one"), object),  # as numpy has them, and so the estimators
    ],
    ids=str,
)
def test_labels_are_of_the_type_of_the_classes(classes, dtype):
    model = named(classes)
    X = np.random.default_rng(0).normal(size=(40, 3))
    label = answers(to_onnx(model), X)["label"]
    assert label.dtype == dtype
    wanted = np.array(classes)[model.scores(X.T).argmax(axis=0)]
    assert label.tolist() == wanted.tolist()
    assert len(set(label.tolist())) == 2


def test_classes_that_onnx_has_no_type_for_are_refused():
    for classes in ((2**63 + 1, 0), (2**70, 0)):
        with pytest.raises(InputError, match=r"`classes` must be .* with text instead"):
            to_onnx(named(classes))


def test_of_equal_scores_the_first_class_wins_as_everywhere():
    net = network(L=0)
    same = Network(net.plan, (np.ones((2, 3)) / STEPS,), net.shift, net.scale)
    assert set(answers(to_onnx(same), np.eye(3))["label"]) == {"a"}


def test_the_file_says_what_it_is():
    plan = network().plan.replace(feature_names=("age", "bmi", "größe"))
    net = network()
    model = Network(plan, net.outputs, net.shift, net.scale)
    told = session(to_onnx(model)).get_modelmeta().custom_metadata_map
    assert {name: json.loads(text) for name, text in told.items()} == {
        "dssfn_version": dssfn.__version__,
        "model_digest": content_digest(model),
        "classes": ["a", "b"],
        "feature_names": ["age", "bmi", "größe"],
    }
    told = session(to_onnx(ensemble(targets=("x",)))).get_modelmeta()
    assert json.loads(told.custom_metadata_map["targets"]) == ["x"]


def test_integer_units_take_no_large_matrix():
    wide = ensemble(widths=(1000, 1000))
    largest = max(len(one.raw_data) for one in loaded(wide).graph.initializer)
    # The largest is an output matrix of two classes.
    assert largest <= 8 * 2 * 1005
    assert len(to_onnx(wide)) < 400_000


@every_model
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2 * LARGEST])
def test_samples_that_predict_refuses_are_refused(model, bad):
    X = np.random.default_rng(0).normal(size=(5, model.plan.n_features))
    X[3, 1] = bad * (model.scale[1] if np.isfinite(bad) else 1)
    content, outputs = to_onnx(model), list(answers(to_onnx(model), X[:3]))
    with pytest.raises(DataError):
        model.scores(X.T)
    for name in outputs:
        with pytest.raises(Exception, match="X_must_hold_finite_numbers"):
            session(content).run([name], {"X": X})


def test_optimisations_of_the_runtime_change_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for model in (ensemble(), ensemble(targets=("x",)), ensemble(units="dense")):
        content = to_onnx(model)
        plain = onnxruntime.SessionOptions()
        plain.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        )
        unchanged = onnxruntime.InferenceSession(content, plain).run(None, {"X": X})
        for one, two in zip(unchanged, answers(content, X).values(), strict=True):
            if one.dtype == float:
                np.testing.assert_allclose(one, two, rtol=1e-12)
            else:
                assert (one == two).all()


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r'pip install "dssfn\[onnx\]"'):
        to_onnx(network())


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(
        InputError, match=r"must be a Network .* got LogisticRegression"
    ):
        to_onnx(LogisticRegression())
    with pytest.raises(InputError, match="pass the estimator inside it"):
        to_onnx(make_pipeline(SSFNClassifier()))
    with pytest.raises(InputError, match="Call its `fit` first"):
        to_onnx(SSFNClassifier())


def test_a_model_that_the_format_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(onnx_model, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"smaller than 2 GiB.* `units = "):
        to_onnx(network(units="dense", width=30))
