"""What a training leaves: its metrics as typed values, and `result.json`, their file.

A simulation knows everything that is listed here. A node of a real network knows its
own links and what all nodes agreed on, and leaves the rest out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from dssfn._atomic import write_atomically
from dssfn.config import Plan
from dssfn.errors import DataError
from dssfn.json_text import to_json
from dssfn.scores import Scores

MODEL_FILE, RESULT_FILE = "model.safetensors", "result.json"
ONE_FILE_EACH = "one file each"  # how samples are divided if every node has a file


Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A part of `result.json`: unknown keys are refused, unknown values left out."""


class Tried(_Part, frozen=True, kw_only=True):
    """A scale of the inputs and a width that were tried; see `dssfn.records.Tried`."""

    scale: str
    width: Count
    error_db: float


class Layer(_Part, frozen=True, kw_only=True):
    """The network's metrics after one layer.

    Parameters
    ----------
    layer : int
        The number of the layer.
    cost, train_error_db, train_accuracy : float
        Metrics over the training samples of all nodes; a regression has no accuracy.
    iterations : int
        Averagings that the layer took.
    test_accuracy : float, optional
        Accuracy on the test samples; None if there are none.
    rounds, bytes_total : int, optional
        Traffic of the layer over all links; a node does not know it.
    width, ridge, afresh, validation_error_db, validation_accuracy, tried : optional
    unvalidated, unaware : int
        The choices of a network that finds its own size, and what they are based on;
        see `LayerRecord`.
    took_part : tuple of str
        The names of the nodes whose samples it was learned from; empty if all nodes
        took part in all layers.
    """

    layer: int
    cost: float
    train_error_db: float
    train_accuracy: Share | None
    iterations: Count
    test_accuracy: Share | None
    rounds: Count | None = None
    bytes_total: Count | None = None
    width: Count | None = None
    ridge: float | None = None
    afresh: bool = False
    validation_error_db: float | None = None
    validation_accuracy: Share | None = None
    tried: tuple[Tried, ...] = ()
    unvalidated: Count = 0
    unaware: Count = 0
    took_part: tuple[str, ...] = ()


class Stint(_Part, frozen=True, kw_only=True):
    """Averagings that the same nodes took part in, one after the other.

    Parameters
    ----------
    first : int
        The number of the first of them, from 0.
    nodes : tuple of int
        The numbers of the nodes in the plan.
    """

    first: Count
    nodes: tuple[Count, ...]


class Sent(_Part, frozen=True, kw_only=True):
    """Rounds of exchange with all neighbours, and bytes over all directed links."""

    rounds: Count
    bytes_total: Count


class Communication(_Part, frozen=True, kw_only=True):
    """The traffic of a training over all links.

    Parameters
    ----------
    consensus : str
        The scheme that found the averages.
    rounds, bytes_total : int
        Rounds and bytes, as in `Sent`.
    scalars_per_node : int
        Size of the messages, summed over the rounds.
    before_layers : Sent
        The part that nodes agreed on before layer 0: the scale of the inputs.
    after_layers : Sent
        The part after the last layer: how good the model is.
    """

    consensus: str
    rounds: Count
    scalars_per_node: int
    bytes_total: Count
    before_layers: Sent
    after_layers: Sent = Sent(rounds=0, bytes_total=0)


class Posted(_Part, frozen=True, kw_only=True):
    """What was sent over links that are not perfect, and what became of it.

    Parameters
    ----------
    letters, resent, lost, duplicated : int
        Letters, and how many of them were sent again, were lost, and came twice.
    acknowledgements : int
        What was sent beside letters.
    bytes_total : int
        Bytes of all of them.
    layer : int, optional
        The layer that it was about; -1 before layer 0, None for all layers.
    """

    letters: Count
    resent: Count
    lost: Count
    duplicated: Count
    acknowledgements: Count
    bytes_total: Count
    layer: int | None = None


class SimulatedNetwork(_Part, frozen=True, kw_only=True):
    """A training in simulated time.

    Parameters
    ----------
    seconds : float
        Simulated time until the last node had its model.
    scheme : str
        How averages were found.
    lockstep_letters : int
        Letters of the same training over perfect links.
    total : Posted
        What was sent in all.
    layers : tuple of Posted
        The same by layer.
    """

    seconds: float
    scheme: str
    lockstep_letters: Count
    total: Posted
    layers: tuple[Posted, ...]


class Equivalence(_Part, frozen=True, kw_only=True):
    """Relative distances between models, and to the centralised one if it was trained.

    Parameters
    ----------
    node_spread : float
        Largest distance between the output matrices of two nodes.
    same_choices : bool, optional
        Whether the centralised network has found the same size and scale.
    central_difference : float, optional
        Distance of the output matrix to the centralised one, if it is of that size.
    prediction_agreement : float, optional
        Share of test samples that both models put into the same class.
    layer_cost_gap : float, optional
        Largest difference of a layer's cost.
    """

    node_spread: float
    same_choices: bool | None = None
    central_difference: float | None = None
    prediction_agreement: Share | None = None
    layer_cost_gap: float | None = None

    @property
    def is_checked(self) -> bool:
        """Whether a centralised network was trained to compare with."""
        return self.layer_cost_gap is not None


class AverageCost(_Part, frozen=True, kw_only=True):
    """The cost of one average: rounds, and letters over all links."""

    rounds: Count
    messages: int


class Graph(_Part, frozen=True, kw_only=True):
    """The graph of the nodes; what would take long for a large one is None.

    Parameters
    ----------
    n_edges : int
        How many edges the graph has.
    edges : tuple of pairs, optional
        The two nodes of every edge.
    names : tuple of str
        The names of the nodes, in the order of their numbers, if they have any.
    diameter : int, optional
        Most hops between any two nodes.
    contraction : float, optional
        Share of the disagreement that one gossip round leaves.
    tol : float
        Accuracy of an average that `averaging` is given for.
    averaging : dict, optional
        Cost of one average, by scheme.
    """

    n_edges: int
    edges: tuple[tuple[int, int], ...] | None
    diameter: int | None
    contraction: float | None
    tol: float
    averaging: dict[str, AverageCost] | None
    names: tuple[str, ...] = ()


class NeighbourTraffic(_Part, frozen=True, kw_only=True):
    """The traffic of one link of a node, and how long the node waited for it."""

    bytes_sent: int
    bytes_received: int
    seconds_waited: float
    n_connections: int


class Seconds(_Part, frozen=True, kw_only=True):
    """Wall time from start to end, and that of the training alone where it is known."""

    total: float
    training: float | None = None


class NodeScores(_Part, frozen=True, kw_only=True):
    """How good the model is on the validation samples of one node.

    Parameters
    ----------
    node : str
        Its name; in a simulation its number.
    scores : Scores
        The figures.
    """

    node: str
    scores: Scores


class ValidationScores(_Part, frozen=True, kw_only=True):
    """How good the model is on samples that a member was not trained on.

    Parameters
    ----------
    total : Scores
        On those of all nodes.
    nodes : tuple of NodeScores
        On those of each node, if the plan publishes them or one host knows them all.
    """

    total: Scores
    nodes: tuple[NodeScores, ...] = ()


class OwnScores(_Part, frozen=True, kw_only=True):
    """How good the model is for one node, beside what the node could do alone.

    Parameters
    ----------
    samples : {"test", "validation"}
        Which samples of the node: those of its test file, or those of its training
        samples that a member was not trained on.
    model : Scores, optional
        The model of all nodes.
    local : Scores, optional
        A model with the same settings that was trained on this node's samples alone; of
        validation samples, on those that it has left out too.
    baseline : Scores, optional
        The share of each class among this node's training samples as probabilities, so
        that the most frequent one is predicted; the mean for a regression.
    missing : dict
        Why one of them is not known, by its name.
    """

    samples: Literal["test", "validation"]
    model: Scores | None = None
    local: Scores | None = None
    baseline: Scores | None = None
    missing: dict[str, str] = {}


class Privacy(_Part, frozen=True, kw_only=True):
    """The budget of a private training, and what was spent.

    Parameters
    ----------
    epsilon, delta : float
        What the plan allows.
    spent : float
        The epsilon of all that was released.
    colluders : int
        How many members may put together what they know.
    """

    epsilon: float
    delta: float
    spent: float
    colluders: Count


class Settings(Plan, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plan, with what was chosen where it said auto, and where it was run.

    Parameters
    ----------
    n_nodes : int
        How many nodes took part.
    topology : str
        Name of the graph.
    partition : str
        How the samples were divided.
    n_ranks : int, optional
        Processes of an MPI job; left out for other trainings.
    found : tuple of str
        Names of the sizes and scales that the network found by itself.
    """

    n_nodes: Annotated[int, msgspec.Meta(ge=1)]
    topology: str
    partition: str
    n_ranks: int | msgspec.UnsetType = msgspec.UNSET
    found: tuple[str, ...] = ()


class Result(_Part, frozen=True, kw_only=True):
    """All metrics of one training.

    Parameters
    ----------
    node : str, optional
        Name of the node that wrote this; None for a training that one host reports on.
    data : str, optional
        Name of the data.
    model, sha256 : str, optional
        A node's model file, and its digest, by which nodes compare their models.
    n_train, n_test : int
        Samples of all nodes. A node does not know the first, and tests on those of its
        own test file.
    train_accuracy, test_accuracy, train_error_db : float, optional
        Metrics of the last layer that is kept; a regression has no accuracy.
    test_scores : Scores, optional
        How good the model is on the test samples; a node has them in `here`.
    scores : ValidationScores, optional
        How good the model is on validation samples, as all nodes agree on it.
    here : OwnScores, optional
        How good the model is for the node that wrote this.
    layers : tuple of Layer
        Metrics of every layer, also of those that were tried and not kept. A node that
        was restarted after the others had left may lack the last one.
    communication, equivalence, graph : optional
        Traffic, distances between models, and the graph, where they are known.
    simulated_network : SimulatedNetwork, optional
        Simulated time and letters, if links or nodes were not perfect.
    secure : bool, optional
        Whether messages were masked, so that nodes have seen totals only.
    privacy : Privacy, optional
        The budget of differential privacy, if the plan has one.
    peers : dict, optional
        A node's traffic by neighbour.
    stints : tuple of Stint
        Who took part in which averagings, if not all nodes took part in all of them;
        `dssfn.simulator.simulate` takes them as `took_part`.
    held : tuple of tuples, optional
        Training samples by node and class, (M, Q).
    confusion : tuple of triples, optional
        True class, predicted class, and how many test samples.
    seconds : Seconds
        Wall time.
    settings : Settings
        The plan, and where it was run.
    made_by : dict
        Versions and machine.
    """

    node: str | None = None
    data: str | None = None
    model: str | None = None
    sha256: str | None = None
    n_train: Count | None = None
    n_test: Count
    train_accuracy: Share | None
    test_accuracy: Share | None
    train_error_db: float | None
    test_scores: Scores | None = None
    scores: ValidationScores | None = None
    here: OwnScores | None = None
    layers: tuple[Layer, ...]
    communication: Communication | None = None
    simulated_network: SimulatedNetwork | None = None
    equivalence: Equivalence | None = None
    graph: Graph | None = None
    secure: bool | None = None
    privacy: Privacy | None = None
    peers: dict[str, NeighbourTraffic] | None = None
    stints: tuple[Stint, ...] = ()
    held: tuple[tuple[int, ...], ...] | None
    confusion: tuple[tuple[int, int, int], ...] | None
    seconds: Seconds
    settings: Settings
    made_by: dict[str, str]

    def __post_init__(self) -> None:
        n_classes, n_nodes = self.settings.n_outputs, self.settings.n_nodes
        confused = [code for entry in self.confusion or () for code in entry[:2]]
        linked = [node for edge in _edges(self.graph) for node in edge]
        _check_numbers("confusion", confused, n_classes)
        _check_numbers("graph.edges", linked, n_nodes)
        for row in self.held or ():
            if len(row) != n_classes:
                raise DataError(
                    f"`held` must have {n_classes} classes in a row, got {len(row)}."
                )

    @property
    def kept(self) -> Layer | None:
        """The last layer that is kept, if its metrics are known."""
        depth = self.settings.depth
        return next((row for row in self.layers if row.layer == depth), None)


def _edges(graph: Graph | None) -> tuple[tuple[int, int], ...]:
    return (graph.edges or ()) if graph else ()


def _check_numbers(name: str, found: Sequence[int], count: int) -> None:
    for one in found:
        if not 0 <= one < count:
            raise DataError(f"`{name}` must be of 0..{count - 1}, got {one}.")


def result_text(result: Result) -> str:
    """Return a result as `result.json` holds it and `--json` prints it."""
    return to_json(msgspec.to_builtins(result))


def write_result(result: Result, folder: Path, *, private: bool = False) -> None:
    """Write `result.json` into a folder; if private, its owner alone can read it."""
    content = result_text(result).encode()
    write_atomically(folder / RESULT_FILE, content, private=private)


def read_result(folder: Path) -> Result:
    """Return the result that a training left in a folder."""
    path = folder / RESULT_FILE
    if not path.is_file():
        why = "there is no such folder."
        if folder.is_dir():
            why = "it has none."
        elif folder.is_file():
            why = f"it is a file. Give its folder, `{folder.parent}`."
        raise DataError(
            f"`DIR` must be a folder with a {RESULT_FILE}, as `dssfn simulate --out "
            f"DIR` writes it, or a node's `out` folder; got `{folder}`: {why}"
        )
    return read_result_file(path)


def read_result_file(path: Path) -> Result:
    """Return the result that a file holds."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise DataError(
            f"`{path}` cannot be read: {exc.strerror}. Give the {RESULT_FILE} that a "
            "training wrote."
        ) from exc
    try:
        return msgspec.convert(json.loads(content), Result)
    except (ValueError, RecursionError, msgspec.ValidationError) as exc:
        raise DataError(
            f"`{path}` must be a file that this version of dssfn wrote, but it cannot "
            f"be read ({exc}). Run the training again with another folder."
        ) from exc
