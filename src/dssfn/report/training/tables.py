"""The tables of a report: words and numbers, not yet HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dssfn.report.blocks import Headline
from dssfn.report.table import Table
from dssfn.report.words import (
    amount,
    brief,
    clean,
    count,
    decibel,
    percent,
    plural,
    seconds,
    setting,
    size,
    small,
)

Result = Mapping[str, Any]
MOST_CONFUSIONS = 8

_GROUPS = {
    "Data": ("partition", "n_features", "feature_names", "classes"),
    "Network": (
        "n_nodes", "n_ranks", "topology", "consensus", "tol", "n_rounds", "latency",
        "bandwidth",
    ),
    "Model and training": (),
}  # fmt: skip
_REST = "Model and training"
_OF_ADMM = (
    "n_iter", "mu_input", "mu_hidden", "warm_start", "relaxation", "balance_mu",
    "residual_tol",
)  # fmt: skip
_UNITS = {"latency": "\u202fs", "bandwidth": "\u202fbit/s"}
_NAMES = {
    "n_features": "features", "feature_names": "names of features",
    "n_nodes": "nodes", "n_ranks": "MPI ranks", "tol": "accuracy of an average",
    "n_rounds": "gossip rounds of an average", "n_layers": "hidden layers",
    "latency": "latency of an exchange", "bandwidth": "bandwidth of a link",
    "width": "random units of a layer", "alpha": "alpha, radius / √(2Q)",
    "gain": "gain, norm of the random part", "standardize": "inputs are scaled",
    "bias": "constant input", "n_iter": "iterations of a layer",
    "mu_input": "mu of layer 0", "mu_hidden": "mu of other layers",
    "warm_start": "warm start", "balance_mu": "mu balances residuals",
    "residual_tol": "residuals to stop at", "accuracy": "accuracy of a layer",
    "patience_input": "patience at layer 0", "patience_hidden": "patience",
}  # fmt: skip
_KINDS = (
    "circular", "path", "complete", "star", "grid", "torus", "hypercube", "geometric",
    "regular",
)  # fmt: skip
_DIVIDED = {
    "iid": "divided at random",
    "by-class": "divided by class",
    "one file each": "one file each",
}


def lead(result: Result) -> str:
    """The training in two sentences."""
    settings = result["settings"]
    n_nodes, how = settings["n_nodes"], clean(settings["partition"])
    network = f"one network of {plural(settings['n_layers'], 'hidden layer')}"
    samples = plural(result["n_train"], "sample")
    if n_nodes == 1:
        return f"One node trained {network} on {samples}."
    return (
        f"{count(n_nodes)} nodes on {_graph_name(settings['topology'])} trained "
        f"{network} together, on {samples}, {_DIVIDED.get(how, f'divided as {how}')}. "
        "They sent matrices to their neighbours, and never a sample."
    )


def _graph_name(topology: str) -> str:
    """As in "a circular graph of degree 4".

    >>> _graph_name("circular(degree=4)"), _graph_name("roads")
    ('a circular graph of degree 4', 'the graph “roads”')
    """
    kind, _, rest = topology.partition("(degree=")
    if kind not in _KINDS:
        return f"the graph “{clean(topology)}”"
    return f"a {kind} graph" + (f" of degree {clean(rest.rstrip(')'))}" if rest else "")


def headlines(result: Result) -> list[Headline]:
    """The figures that matter."""
    sent, n_nodes = result["communication"], result["settings"]["n_nodes"]
    a_node = size(sent["bytes_total"] / n_nodes)
    return [
        Headline("Test accuracy", percent(result["test_accuracy"]), _tested(result)),
        Headline(
            "Training error",
            decibel(result["train_error_db"]),
            f"{percent(result['train_accuracy'])} of training samples right",
        ),
        Headline(
            "Exchanges",
            count(sent["rounds"]),
            f"rounds with all neighbours, in {seconds(result['seconds']['training'])}",
        ),
        Headline("Sent over links", size(sent["bytes_total"]), f"{a_node} a node"),
        _one_machine(result["equivalence"]),
    ]


def _tested(result: Result) -> str:
    n_test, accuracy = result["n_test"], result["test_accuracy"]
    if not n_test or accuracy is None:
        return "no test samples"
    return f"{count(accuracy * n_test)} of {plural(n_test, 'test sample')} right"


def _one_machine(equal: Mapping[str, Any]) -> Headline:
    name, gap = "Gap to one machine", equal.get("central_difference")
    if gap is None:
        return Headline(name, "not checked", "asked for by --check-equivalence")
    same = equal.get("prediction_agreement")
    words = "relative, of the output matrix"
    if same is not None:
        words = f"relative; {percent(same)} same predictions"
    return Headline(name, small(gap), words)


def graph_table(result: Result) -> Table:
    """The graph in numbers."""
    settings, graph = result["settings"], result.get("graph") or {}
    rows = [
        ("kind", clean(settings["topology"])),
        ("nodes", count(settings["n_nodes"])),
    ]
    if graph:
        rows.append(("links", count(graph["n_edges"])))
    if graph.get("diameter") is not None:
        rows += [
            ("hops between the farthest two", count(graph["diameter"])),
            ("disagreement left by one gossip round", percent(graph["contraction"])),
        ]
    return Table("The graph in numbers", ("property", "value"), rows)


def layers_table(result: Result) -> Table:
    """One row per layer."""
    head = ["layer", "cost", "error", "training", "test", "averages", "rounds", "sent"]
    rows = [
        (
            str(row["layer"]),
            amount(row["cost"]),
            decibel(row["train_error_db"]),
            percent(row["train_accuracy"]),
            percent(row.get("test_accuracy")),
            count(row["iterations"]),
            count(row["rounds"]),
            size(row["bytes_total"]) if "bytes_total" in row else "–",
        )
        for row in result["layers"]
    ]
    return Table("Layer by layer", head, rows)


def confusions_table(result: Result) -> Table | None:
    """The most frequent mistakes; None where there are none."""
    entries, classes = result.get("confusion") or [], result["settings"]["classes"]
    totals: dict[int, int] = {}
    for true, _, number in entries:
        totals[true] = totals.get(true, 0) + number
    wrong = [entry for entry in entries if entry[0] != entry[1]]
    wrong.sort(key=lambda entry: (-entry[2], entry[0], entry[1]))
    if not wrong:
        return None
    rows = [
        (
            clean(classes[true], 28),
            clean(classes[predicted], 28),
            count(number),
            percent(number / totals[true]),
        )
        for true, predicted, number in wrong[:MOST_CONFUSIONS]
    ]
    head = ("true", "taken for", "samples", "of the class")
    return Table("Most frequent mistakes", head, rows, numeric_from=2)


def classes_table(result: Result) -> Table | None:
    """The classes that are found least often, for want of a matrix."""
    totals: dict[int, int] = {}
    right: dict[int, int] = {}
    for true, predicted, number in result.get("confusion") or []:
        totals[true] = totals.get(true, 0) + number
        right[true] = right.get(true, 0) + number * (true == predicted)
    classes = result["settings"]["classes"]
    worst = sorted(totals, key=lambda code: (right[code] / totals[code], code))
    rows = [
        (
            clean(classes[code], 28),
            count(totals[code]),
            count(right[code]),
            percent(right[code] / totals[code]),
        )
        for code in worst[:MOST_CONFUSIONS]
    ]
    head = ("class", "samples", "found", "of the class")
    return Table("Classes found least often", head, rows) if rows else None


def equivalence_table(result: Result) -> Table:
    """How far apart the models are."""
    equal = result["equivalence"]
    rows = [("largest difference between two nodes", _or_equal(equal["node_spread"]))]
    if equal.get("central_difference") is not None:
        rows += [
            ("output matrix, to one machine", small(equal["central_difference"])),
            ("cost of a layer, to one machine", small(equal["layer_cost_gap"])),
            ("same class as one machine", percent(equal["prediction_agreement"])),
        ]
    return Table("In numbers", ("what", "relative difference"), rows)


def _or_equal(spread: float) -> str:
    return small(spread) if spread else "0, to the last bit"


def traffic_table(result: Result) -> Table:
    """What went over the links, and how it was decided."""
    sent, n_nodes = result["communication"], result["settings"]["n_nodes"]
    rows = [
        ("layers solved by", clean(result["settings"]["solver"])),
        ("averages found by", clean(sent["consensus"])),
        ("exchanges with neighbours", plural(sent["rounds"], "round")),
        (
            "message size, summed over rounds",
            plural(sent["scalars_per_node"], "number"),
        ),
        ("sent over all links", size(sent["bytes_total"])),
        ("sent by a node, on average", size(sent["bytes_total"] / n_nodes)),
        ("time of the training", seconds(result["seconds"]["training"])),
    ]
    return Table("All together", ("what", "how much"), rows)


def settings_tables(result: Result) -> list[Table]:
    """All settings that had a say, in groups."""
    settings = dict(result["settings"])
    if settings.get("solver") != "admm":
        settings = {name: settings[name] for name in settings if name not in _OF_ADMM}
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _GROUPS}
    for name, value in settings.items():
        if value is not None:
            group = next((g for g in _GROUPS if name in _GROUPS[g]), _REST)
            unit = _UNITS.get(name, "")
            groups[group].append((_NAMES.get(name, name), setting(value) + unit))
    return [
        Table(f"Settings: {name.lower()}", ("setting", "value"), rows)
        for name, rows in groups.items()
        if rows
    ]


def versions_table(result: Result) -> Table | None:
    """On what the training ran."""
    made_by = result.get("made_by")
    if not made_by:
        return None
    rows = [(clean(name), clean(value)) for name, value in made_by.items()]
    return Table("Versions", ("part", "version"), rows)


def accuracy_of_averages(result: Result) -> str:
    """What one average is computed to, in words."""
    tol = (result.get("graph") or {}).get("tol")
    return "" if tol is None else f" to {brief(tol)} of the first disagreement"
