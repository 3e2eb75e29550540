"""A trained model as an ONNX file: the graph as bytes, with what describes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dssfn._version import __version__
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError
from dssfn.export.answers import add_answers
from dssfn.export.columns import add_columns, column_ports, column_properties
from dssfn.export.ensemble import add_ensemble
from dssfn.export.fixed_size import add_network
from dssfn.export.graph import Graph, Node, Port
from dssfn.export.inputs import add_matrix, matrix_port
from dssfn.modelfile import Trained, content_digest, network_of
from dssfn.training import Model

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # of 2022, which all runtimes of today know
ML, ML_OPERATORS = "ai.onnx.ml", ("LabelEncoder",)  # that look text up
SAMPLES = "N"  # the size that is open
MOST_BYTES = 2**31 - 2**26  # of constants; with operators, the format ends at 2 GiB


def to_onnx(model: Model | Trained, *, encoded: bool = False) -> bytes:
    """Return a trained model as the content of an ONNX file.

    The file holds everything that a prediction needs, from standardisation to
    calibrated probabilities, in standard operators (opset 17), so a runtime such as
    onnxruntime does not need this package. Its input is `X`, float64 of shape (N, P)
    for any N, with the features in the order of the plan. A model of a table with a
    schema has an input of shape (N, 1) for each column that is used, by the column's
    name: float64 for a number, NaN where it is missing, and text for a category and for
    true and false, empty where it is missing. A classifier returns `label` (N,),
    `probabilities` and `scores` (N, Q), a regressor `prediction` (N, Q); if a column
    has the same name as an output, the output's name gets an underscore appended. Equal
    models give equal bytes.

    Inputs that the model refuses make the run fail, too. A value that is not a level is
    refused by a model from a file, and counts as missing for an estimator.

    Parameters
    ----------
    model : Network, Ensemble or fitted estimator
        The model, as `load_network` returns it, or an estimator that has one.
    encoded : bool
        Whether the input is `X` even if there is a schema: the features that the
        columns are encoded as, NaN where a number is missing. This needs no text
        inputs, which some runtimes lack.

    Returns
    -------
    bytes
        The content of the file. `onnxruntime.InferenceSession` takes it as it is, and
        `onnx.load_from_string` turns it into a `ModelProto`.

    Raises
    ------
    InputError
        If onnx is not installed, `model` is not a trained model, or it is too large for
        the format.

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
    return exported(model, encoded=encoded).content


class Exported(NamedTuple):
    """The content of an ONNX file, and what the graph takes and gives."""

    content: bytes
    inputs: list[Port]
    outputs: list[Port]


def exported(model: Model | Trained, *, encoded: bool) -> Exported:
    """Return a model as `to_onnx` does it, with its inputs and outputs."""
    network = network_of(model)
    onnx = _load_onnx()
    plan, told = network.plan, _properties(network)
    schema = None if encoded else plan.schema
    if schema is None:
        inputs = [matrix_port(plan)]
        graph = Graph(inputs[0].name)
        X = add_matrix(graph, plan, network.scale)
    else:
        inputs = column_ports(schema)
        graph = Graph(*(one.name for one in inputs))
        takes_unseen = network is not model
        X = add_columns(graph, schema, network.scale, takes_unseen=takes_unseen)
        told |= column_properties(schema, takes_unseen=takes_unseen)
    if isinstance(network, Ensemble):
        scores = add_ensemble(graph, network, X)
    else:
        scores = add_network(graph, network, X)
    answers = add_answers(graph, network, scores)
    _check_size(graph)
    made = model_proto(onnx, graph, inputs, answers, told)
    return Exported(made.SerializeToString(deterministic=True), inputs, answers)


def _load_onnx() -> Any:
    try:
        import onnx
    except ImportError as exc:
        raise InputError(
            "To write ONNX files, the package onnx is needed, which is not installed. "
            'Install it with: pip install "dssfn[onnx]"'
        ) from exc
    return onnx


def _check_size(graph: Graph) -> None:
    n_bytes = sum(values.nbytes for values in graph.constants.values())
    if n_bytes > MOST_BYTES:
        raise InputError(
            "An ONNX file must be smaller than 2 GiB, but this model takes "
            f"{n_bytes / 2**30:.1f} GiB, most of it for dense random matrices. Train "
            'it with `units = "integer"`, which needs none, or with a smaller '
            "`width`."
        )


def model_proto(
    onnx: Any,
    graph: Graph,
    inputs: list[Port],
    answers: list[Port],
    properties: dict[str, Any],
) -> Any:
    """Return the `onnx.ModelProto` of a graph.

    Parameters
    ----------
    onnx : module
        The package, which is imported when it is needed.
    graph : Graph
        The graph.
    inputs : list of Port
        Its inputs.
    answers : list of Port
        Its outputs.
    properties : dict
        What describes the model, by name; it is written as JSON.
    """
    helper = onnx.helper

    def described(port: Port) -> Any:
        shape = [SAMPLES, *([] if port.n_columns is None else [port.n_columns])]
        return helper.make_tensor_value_info(port.name, _type(onnx, port.dtype), shape)

    has_text = any(node.operator in ML_OPERATORS for node in graph.nodes)
    opsets = {"": OPSET} | ({ML: ML_OPSET} if has_text else {})
    made = helper.make_graph(
        [_node_proto(onnx, node) for node in graph.nodes],
        "dssfn",
        [described(one) for one in inputs],
        [described(one) for one in answers],
        [_tensor(onnx, name, values) for name, values in graph.constants.items()],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid(*one) for one in opsets.items()],
        ir_version=IR_VERSION,
        producer_name="dssfn",
        producer_version=__version__,
    )
    texts = {key: msgspec.json.encode(one).decode() for key, one in properties.items()}
    helper.set_model_props(model, texts)
    return model


def _properties(network: Model) -> dict[str, Any]:
    """Return what describes a model; nothing that its file does not have."""
    plan = network.plan
    kind = ("targets", plan.targets) if plan.targets else ("classes", plan.classes)
    return {
        "dssfn_version": __version__,
        "model_digest": content_digest(network),
        kind[0]: list(kind[1]),
        "feature_names": None if plan.feature_names is None else [*plan.feature_names],
    }


def _node_proto(onnx: Any, node: Node) -> Any:
    settings = {
        name: _type(onnx, value) if isinstance(value, np.dtype) else value
        for name, value in node.attributes.items()
    }
    return onnx.helper.make_node(
        node.operator,
        node.inputs,
        node.outputs,
        name=node.outputs[0],
        domain=ML if node.operator in ML_OPERATORS else None,
        **settings,
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
