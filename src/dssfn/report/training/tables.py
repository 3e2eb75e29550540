"""The tables of a training's report: words and numbers, not yet HTML."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dssfn.report.numbers import (
    NONE,
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
from dssfn.report.table import Table
from dssfn.report.training import found
from dssfn.report.training.headlines import training_time
from dssfn.results import Layer, Result

MOST_CONFUSIONS = 8
MOST_TRIED = 24  # rows of what was tried
RIDGE = "Ridge: how strongly a layer is regularised, as validation chose it."
MOST_NAMED = 6  # nodes that took part in a layer

_GROUPS = {
    "Data": ("partition", "n_features", "feature_names", "classes", "targets"),
    "Network": (
        "n_nodes", "n_ranks", "topology", "consensus", "tol", "n_rounds", "latency",
        "bandwidth",
    ),
    "Model and training": (),
}  # fmt: skip
_OF_THE_NETWORK = ("n_nodes", "topology", "partition")  # these come first
_REST = "Model and training"
_OF_ADMM = (
    "n_iter", "mu_input", "mu_hidden", "warm_start", "relaxation", "balance_mu",
    "residual_tol",
)  # fmt: skip
# What means nothing to a network that found its size, and to one of given size.
_OF_GIVEN = ("alpha", "accuracy", "patience_input", "patience_hidden")
_OF_FOUND = ("members", "ridge", "scale", "folds", "size", "publish_scores")
_OF_PRIVACY = ("delta", "colluders")  # a plan without a budget has them as well
_UNITS = {"latency": "\u202fs", "bandwidth": "\u202fbit/s"}
_NAMES = {
    "n_features": "features", "feature_names": "feature names",
    "n_nodes": "nodes", "n_ranks": "MPI ranks", "tol": "accuracy of an average",
    "n_rounds": "gossip rounds of an average", "n_layers": "hidden layers",
    "latency": "assumed latency of a link", "bandwidth": "assumed bandwidth of a link",
    "width": "random units of a layer", "alpha": "alpha, radius / √(2Q)",
    "gain": "gain, scale of the random units", "standardize": "inputs are scaled",
    "bias": "constant input", "n_iter": "iterations of a layer",
    "mu_input": "mu of layer 0", "mu_hidden": "mu of other layers",
    "warm_start": "warm start", "balance_mu": "mu balances residuals",
    "residual_tol": "stops at residuals of", "accuracy": "accuracy of a layer",
    "patience_input": "patience at layer 0", "patience_hidden": "patience",
    "ridge": "ridge, regularisation strength", "scale": "scale of the inputs",
    "folds": "what a member leaves out", "size": "how the size is found",
    "class_weight": "weights of classes",
    "publish_scores": "each node's scores are published",
    "units": "arithmetic of the units", "members": "networks in the ensemble",
    "solver": "layers solved by", "consensus": "averages found by",
    "seed": "random seed", "topology": "graph", "partition": "samples are divided",
    "image_shape": "shape of an image",
}  # fmt: skip


def graph_table(result: Result) -> Table:
    """Return the graph in numbers."""
    settings, graph = result.settings, result.graph
    rows = [("kind", clean(settings.topology)), ("nodes", count(settings.n_nodes))]
    if graph is not None:
        rows.append(("links", count(graph.n_edges)))
    if graph is not None and graph.diameter is not None:
        rows += [
            ("hops between the two farthest nodes", count(graph.diameter)),
            ("disagreement left by one gossip round", percent(graph.contraction)),
        ]
    return Table("The graph in numbers", ("property", "value"), rows)


def layers_table(result: Result) -> Table:
    """Return a table with one row per layer."""
    rows = [_layer_cells(row, result) for row in result.layers]
    head = list(rows[0]) if rows else ["layer"]
    afresh = f"* {found.AFRESH}." if any(row.afresh for row in result.layers) else ""
    ridge = RIDGE if "ridge" in head else ""
    notes = filter(None, (ridge, afresh, beside_layers(result)))
    lines = [list(cells.values()) for cells in rows]
    return Table("Layer by layer", head, lines, note=" ".join(notes))


def beside_layers(result: Result) -> str:
    """Return the rounds outside the layers in words; nothing if there are none."""
    sent = result.communication
    if sent is None:
        return ""
    parts = {
        "to agree on the input scaling": sent.before_layers.rounds,
        "to score the model": sent.after_layers.rounds,
    }
    told = [f"{plural(n, 'round')} {what}" for what, n in parts.items() if n]
    return f"Outside the layers: {', '.join(told)}." if told else ""


def _layer_cells(row: Layer, result: Result) -> dict[str, str]:
    """Return the cells of one layer by the names of their columns."""
    cells = {"layer": str(row.layer)}
    if result.settings.finds_size:
        cells["layer"] += ", not kept" * (row.layer > result.settings.depth)
        cells["random units"] = NONE if row.width is None else count(row.width)
        ridge = NONE if row.ridge is None else brief(float(f"{row.ridge:.1e}"))
        cells["ridge"] = ridge + "*" * row.afresh
    else:
        cells["cost"] = amount(row.cost)
    cells["training error"] = decibel(row.train_error_db)
    if row.validation_error_db is not None:
        cells["validation error"] = decibel(row.validation_error_db)
    if not result.settings.is_regression:
        cells["training accuracy"] = percent(row.train_accuracy)
        if row.validation_error_db is not None:
            cells["validation accuracy"] = percent(row.validation_accuracy)
        if result.node is None:
            cells["test accuracy"] = percent(row.test_accuracy)
    cells["averages"] = count(row.iterations)
    if result.node is None:
        cells["rounds"], cells["sent"] = _traffic_of(row)
    if result.stints:
        cells["took part"] = taking_part(row.took_part, result.settings.n_nodes)
    return cells


def taking_part(names: Sequence[str], n_nodes: int) -> str:
    """Return the nodes whose samples a layer was learned from, in a few words.

    >>> taking_part(["a", "b"], 3), taking_part(["a"] * 12, 20), taking_part("abc", 3)
    ('a, b', '12 of 20', 'all')
    """
    if len(names) == n_nodes:
        return "all"
    few = len(names) <= MOST_NAMED
    return ", ".join(names) if few else f"{len(names)} of {n_nodes}"


def found_table(result: Result) -> Table | None:
    """Return the size that the network found; None if it was given."""
    if not result.settings.finds_size:
        return None
    rows = [
        ("networks in the ensemble", found.members(result)),
        ("scale of the inputs", found.input_scale(result)),
        ("width", found.width(result)),
        ("depth", found.depth(result)),
    ]
    return Table("The size that was found", ("what", "found"), rows)


def tried_table(result: Result) -> Table | None:
    """Return the scales and widths that were tried; None if there was no choice."""
    rows, some = [], []
    for layer in result.layers:
        for place, one in enumerate(layer.tried, start=1):
            taken = (one.scale, one.width) == (result.settings.scale, layer.width)
            cells = (
                str(layer.layer),
                one.scale,
                count(one.width),
                decibel(one.error_db),
                "chosen" if taken else "",
            )
            rows.append(cells)
            if taken or place == len(layer.tried):
                some.append(cells)
    if not rows:
        return None
    few = len(rows) <= MOST_TRIED
    return Table(
        "What was tried",
        ("layer", "input scale", "units", f"{found.judged_by(result)} error", "result"),
        rows if few else some[:MOST_TRIED],
        numeric_from=2,
        note=""
        if few
        else "For each layer, the width that was chosen and the last one.",
    )


def _traffic_of(row: Layer) -> list[str]:
    if row.rounds is None or row.bytes_total is None:
        return [NONE, NONE]
    return [count(row.rounds), size(row.bytes_total)]


def confusions_table(result: Result) -> Table | None:
    """Return the most frequent mistakes; None where there are none."""
    entries, classes = result.confusion or (), result.settings.classes
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
    head = ("true class", "predicted", "samples", "share of the class")
    return Table("Most frequent mistakes", head, rows, numeric_from=2)


def classes_table(result: Result) -> Table | None:
    """Return the classes that are found least often, where a matrix is too large."""
    totals: dict[int, int] = {}
    right: dict[int, int] = {}
    for true, predicted, number in result.confusion or ():
        totals[true] = totals.get(true, 0) + number
        right[true] = right.get(true, 0) + number * (true == predicted)
    classes = result.settings.classes
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
    head = ("class", "samples", "found", "share of the class")
    return Table("Classes found least often", head, rows) if rows else None


def equivalence_table(result: Result) -> Table | None:
    """Return how far apart the models are; None where that is not known."""
    equal = result.equivalence
    if equal is None:
        return None
    rows = [("between any two nodes", _or_equal(equal.node_spread))]
    if equal.same_choices is not None:
        rows.append(("same size as one machine", setting(equal.same_choices)))
    if equal.central_difference is not None:
        gap = _or_equal(equal.central_difference)
        rows.append(("output matrix, from one machine", gap))
    if equal.layer_cost_gap is not None:
        rows.append(
            ("cost of a layer, from one machine", _or_equal(equal.layer_cost_gap))
        )
    if equal.is_checked and equal.prediction_agreement is not None:
        share = percent(equal.prediction_agreement)
        rows.append(("same prediction as one machine", f"{share} of the test samples"))
    return Table("Relative differences", ("what", "relative difference"), rows)


def _or_equal(spread: float) -> str:
    return small(spread) if spread else "0, to the last bit"


PERFECT_LINKS = (
    "* over lossy or slow links, in simulated time; the lines above say what the same "
    "training needs over perfect links."
)


def traffic_table(result: Result) -> Table | None:
    """Return the traffic over all links and the scheme; None where it is not known."""
    sent = result.communication
    if sent is None:
        return None
    rows = [
        ("layers solved by", clean(result.settings.solver)),
        ("averages found by", clean(sent.consensus)),
        ("exchanges with neighbours", plural(sent.rounds, "round")),
        ("message size, summed over rounds", plural(sent.scalars_per_node, "number")),
        ("sent over all links", size(sent.bytes_total)),
        (
            "sent by a node, on average",
            size(sent.bytes_total / result.settings.n_nodes),
        ),
        ("training time", training_time(result)),
        *_simulated(result),
    ]
    note = "" if result.simulated_network is None else PERFECT_LINKS
    return Table("In total", ("what", "how much"), rows, note=note)


def _simulated(result: Result) -> list[tuple[str, str]]:
    """Return what links and nodes that are not perfect have cost."""
    network = result.simulated_network
    if network is None:
        return []
    sent, needed = network.total, max(network.lockstep_letters, 1)
    return [
        ("simulated time", seconds(network.seconds)),
        ("messages sent*", count(sent.letters)),
        ("per message over perfect links*", f"{sent.letters / needed:.2f}"),
        ("messages sent again*", count(sent.resent)),
        ("messages lost*", count(sent.lost)),
        ("acknowledgements*", count(sent.acknowledgements)),
        ("sent in total*", size(sent.bytes_total)),
    ]


def links_table(result: Result) -> Table | None:
    """Return the traffic of a node by neighbour; None for a training of one host."""
    if not result.peers:
        return None
    rows = [
        (
            clean(name, 28),
            size(link.bytes_sent),
            size(link.bytes_received),
            seconds(link.seconds_waited),
            count(link.n_connections),
        )
        for name, link in result.peers.items()
    ]
    head = ("neighbour", "sent", "received", "time waited", "connections")
    return Table("Link by link", head, rows)


def settings_tables(result: Result) -> list[Table]:
    """Return all settings that were used, in groups."""
    given = msgspec.to_builtins(result.settings)
    first = [name for name in _OF_THE_NETWORK if name in given]
    settings = {name: given.pop(name) for name in first} | given
    hidden = {"found", "schema"} | without_meaning(
        finds_size=result.settings.finds_size, solver=result.settings.solver
    )
    hidden |= set() if result.settings.is_private else set(_OF_PRIVACY)
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _GROUPS}
    for name, value in settings.items():
        if value not in (None, [], ()) and name not in hidden:
            group = next((g for g in _GROUPS if name in _GROUPS[g]), _REST)
            more = _UNITS.get(name, "") + " (found)" * (name in result.settings.found)
            groups[group].append((_NAMES.get(name, name), setting(value) + more))
    return [
        Table(f"Settings: {name.lower()}", ("setting", "value"), rows)
        for name, rows in groups.items()
        if rows
    ]


def without_meaning(*, finds_size: bool, solver: str) -> set[str]:
    """Return the settings that mean nothing to a network of this kind.

    >>> "ridge" in without_meaning(finds_size=False, solver="gram")
    True
    """
    hidden = set(_OF_GIVEN if finds_size else _OF_FOUND)
    return hidden if solver == "admm" else hidden | set(_OF_ADMM)


def versions_table(result: Result) -> Table:
    """Return the versions and the machine of the training."""
    rows = [(clean(name), clean(value)) for name, value in result.made_by.items()]
    return Table("Versions", ("part", "version"), rows)


def accuracy_of_averages(result: Result) -> str:
    """Return how accurate one average is, in words."""
    if result.graph is None:
        return ""
    return f" to {brief(result.graph.tol)} of the first disagreement"
