"""A trained model as an ONNX file: the graph as bytes, with what describes it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dssfn._version import __version__
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError
from dssfn.export.answers import Answer, add_answers
from dssfn.export.ensemble import add_ensemble
from dssfn.export.fixed_size import add_network
from dssfn.export.graph import Graph, Node
from dssfn.export.inputs import INPUT, add_inputs
from dssfn.modelfile import Trained, content_digest, network_of
from dssfn.training import Model

OPSET, IR_VERSION = 17, 8  # of 2022, which all runtimes of today know
SAMPLES = "N"  # the size that is open
MOST_BYTES = 2**31 - 2**26  # of constants; with operators, the format ends at 2 GiB


def to_onnx(model: Model | Trained) -> bytes:
    """Return a trained model as the content of an ONNX file.

    The graph has all that a prediction takes, from standardisation to calibrated
    probabilities, in standard operators (opset 17): a runtime such as onnxruntime needs
    nothing of this package. Its input is `X`, float64 of shape (N, P) for any N, with
    the features in the order of the plan; those of a table with a schema are encoded,
    and NaN where a number is missing. A classifier answers with `label` (N,),
    `probabilities` and `scores` (N, Q), a regressor with `prediction` (N, Q). Equal
    models give equal bytes.

    Parameters
    ----------
    model : Network, Ensemble or fitted estimator
        The model, as `load_network` returns it, or an estimator that has one.

    Returns
    -------
    bytes
        To be written to a file, or given to `onnxruntime.InferenceSession` as they are;
        `onnx.load_from_string` makes a `ModelProto` of them.

    Raises
    ------
    InputError
        If onnx is not installed, the model is none, or it is too large for the format.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dssfn import SSFNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> content = to_onnx(SSFNClassifier(n_layers=2, width=20).fit(X, y))
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(content)
    >>> label, probabilities, scores = session.run(None, {"X": X[:2]})
    >>> label.tolist()
    [0, 0]
    """
    network = network_of(model)
    onnx = _load_onnx()
    graph = Graph(INPUT)
    X = add_inputs(graph, network.scale, has_gaps=network.plan.has_gaps)
    if isinstance(network, Ensemble):
        scores = add_ensemble(graph, network, X)
    else:
        scores = add_network(graph, network, X)
    answers = add_answers(graph, network, scores)
    _check_size(graph)
    n = network.plan.n_features
    made = model_proto(onnx, graph, n, answers, _properties(network))
    content: bytes = made.SerializeToString(deterministic=True)
    return content


def _load_onnx() -> Any:
    try:
        import onnx
    except ImportError as exc:
        raise InputError(
            "ONNX files are written by the package onnx, which is not installed. "
            'Install it with: pip install "dssfn[onnx]"'
        ) from exc
    return onnx


def _check_size(graph: Graph) -> None:
    n_bytes = sum(values.nbytes for values in graph.constants.values())
    if n_bytes > MOST_BYTES:
        raise InputError(
            f"An ONNX file must be smaller than 2 GiB, and this model takes "
            f"{n_bytes / 2**30:.1f} GiB, most of it for dense random matrices. Train "
            'it with `units = "integer"`, which need none, or with a smaller `width`.'
        )


def model_proto(
    onnx: Any,
    graph: Graph,
    n_features: int,
    answers: list[Answer],
    properties: dict[str, str],
) -> Any:
    """Return the `onnx.ModelProto` of a graph.

    Parameters
    ----------
    onnx : module
        The package, which is imported when it is needed.
    graph : Graph
        The graph, with one input of n_features columns.
    n_features : int
        P.
    answers : list of Answer
        Its outputs.
    properties : dict
        What describes the model, by name.
    """
    helper = onnx.helper

    def described(name: str, dtype: np.dtype[Any], *sizes: int | None) -> Any:
        shape = [SAMPLES, *(size for size in sizes if size is not None)]
        return helper.make_tensor_value_info(name, _type(onnx, dtype), shape)

    made = helper.make_graph(
        [_node_proto(onnx, node) for node in graph.nodes],
        "dssfn",
        [described(INPUT, np.dtype(np.float64), n_features)],
        [described(one.name, one.dtype, one.n_columns) for one in answers],
        [_tensor(onnx, name, values) for name, values in graph.constants.items()],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="dssfn",
        producer_version=__version__,
    )
    helper.set_model_props(model, properties)
    return model


def _properties(network: Model) -> dict[str, str]:
    """Return what describes a model, as JSON; nothing that its file does not have."""
    plan = network.plan
    kind = ("targets", plan.targets) if plan.targets else ("classes", plan.classes)
    told = {
        "dssfn_version": __version__,
        "model_digest": content_digest(network),
        kind[0]: list(kind[1]),
        "feature_names": None if plan.feature_names is None else [*plan.feature_names],
    }
    return {name: msgspec.json.encode(one).decode() for name, one in told.items()}


def _node_proto(onnx: Any, node: Node) -> Any:
    settings = {
        name: _type(onnx, value) if isinstance(value, np.dtype) else value
        for name, value in node.attributes.items()
    }
    return onnx.helper.make_node(
        node.operator, node.inputs, node.outputs, name=node.outputs[0], **settings
    )


def _tensor(onnx: Any, name: str, values: NDArray[Any]) -> Any:
    if values.dtype != object:
        return onnx.numpy_helper.from_array(np.asarray(values, order="C"), name)
    texts = [one.encode() for one in values.tolist()]
    return onnx.helper.make_tensor(name, onnx.TensorProto.STRING, values.shape, texts)


def _type(onnx: Any, dtype: np.dtype[Any]) -> int:
    """Return the number of a type in ONNX; objects are text."""
    if dtype.kind == "O":
        return int(onnx.TensorProto.STRING)
    return int(onnx.helper.np_dtype_to_tensor_dtype(dtype))
