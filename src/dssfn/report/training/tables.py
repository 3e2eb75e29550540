"""The tables of a training's report: words and numbers, not yet HTML."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dssfn.report.html import Headline
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
from dssfn.results import Equivalence, Layer, Result

MOST_CONFUSIONS = 8
MOST_TRIED = 24  # rows of what was tried
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
_UNITS = {"latency": "\u202fs", "bandwidth": "\u202fbit/s"}
_NAMES = {
    "n_features": "features", "feature_names": "names of features",
    "n_nodes": "nodes", "n_ranks": "MPI ranks", "tol": "accuracy of an average",
    "n_rounds": "gossip rounds of an average", "n_layers": "hidden layers",
    "latency": "latency of an exchange", "bandwidth": "bandwidth of a link",
    "width": "random units of a layer", "alpha": "alpha, radius / √(2Q)",
    "gain": "gain, scale of the random units", "standardize": "inputs are scaled",
    "bias": "constant input", "n_iter": "iterations of a layer",
    "mu_input": "mu of layer 0", "mu_hidden": "mu of other layers",
    "warm_start": "warm start", "balance_mu": "mu balances residuals",
    "residual_tol": "residuals to stop at", "accuracy": "accuracy of a layer",
    "patience_input": "patience at layer 0", "patience_hidden": "patience",
    "ridge": "ridge, regularisation strength", "scale": "scale of the inputs",
    "folds": "what a member leaves out", "size": "how the size is found",
    "class_weight": "weights of classes",
    "publish_scores": "nodes' own scores are published",
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
    """Return the training in two sentences."""
    settings = result.settings
    network = f"one network of {plural(settings.depth, 'hidden layer')}"
    if found.is_validated(result):
        network = f"an ensemble of {settings.members} networks"
        network += f" of {plural(settings.depth, 'hidden layer')}"
    samples = "" if result.n_train is None else plural(result.n_train, "sample")
    if settings.n_nodes == 1:
        return f"One node trained {network} on {samples}."
    nodes = f"{count(settings.n_nodes)} nodes on {_graph_name(settings.topology)}"
    if result.node is not None:
        trained = f"{clean(result.node)}, one of {nodes}, trained {network} "
        trained += "together with the others. "
    else:
        how = clean(settings.partition)
        trained = f"{nodes} trained {network} together, on {samples}, "
        trained += f"{_DIVIDED.get(how, f'divided as {how}')}. "
    return trained + "They sent matrices to their neighbours, and never a sample."


def _graph_name(topology: str) -> str:
    """Return the name of a graph in words, as in "a circular graph of degree 4".

    >>> _graph_name("circular(degree=4)"), _graph_name("roads")
    ('a circular graph of degree 4', 'the graph “roads”')
    """
    kind, _, rest = topology.partition("(degree=")
    if kind not in _KINDS:
        return f"the graph “{clean(topology)}”"
    return f"a {kind} graph" + (f" of degree {clean(rest.rstrip(')'))}" if rest else "")


def headlines(result: Result) -> list[Headline]:
    """Return the numbers that matter."""
    error = _training_error(result)
    if result.node is not None:
        return [*error, *_of_links(result), *_budget(result)]
    return [
        _tested(result),
        *error,
        *_of_traffic(result),
        *_one_machine(result.equivalence),
        *_budget(result),
    ]


def _budget(result: Result) -> list[Headline]:
    """Return what was spent of privacy, if there was a budget."""
    privacy = result.privacy
    if privacy is None:
        return []
    words = f"epsilon spent of {privacy.epsilon:g}; delta {privacy.delta:g}"
    return [Headline("Privacy", f"{privacy.spent:.3g}", words)]


def _training_error(result: Result) -> list[Headline]:
    if result.train_error_db is None:
        return []
    kept = result.kept
    if result.train_accuracy is None:
        return _error_of_numbers(result, result.train_error_db)
    words = f"{percent(result.train_accuracy)} of training samples right"
    if kept is not None and kept.validation_accuracy is not None:
        share = percent(kept.validation_accuracy)
        return [Headline("Validation accuracy", share, words)]
    return [Headline("Training error", decibel(result.train_error_db), words)]


def _error_of_numbers(result: Result, train_error_db: float) -> list[Headline]:
    """Return how good a regression is, on validation samples if there are any."""
    words = f"{decibel(train_error_db)} on training samples"
    if result.scores is None or result.scores.total.r2 is None:
        return [Headline("Training error", decibel(train_error_db), "")]
    return [Headline("Validation R²", f"{result.scores.total.r2:.3f}", words)]


def _of_links(result: Result) -> list[Headline]:
    """Return what a node sent and received, and how long it took."""
    links = (result.peers or {}).values()
    sent = sum(link.bytes_sent for link in links)
    received = sum(link.bytes_received for link in links)
    with_all = f"to {plural(len(links), 'neighbour')}; {size(received)} received"
    return [
        Headline("Sent", size(sent), with_all),
        Headline("Time", seconds(result.seconds.total), "from start to end"),
    ]


def _of_traffic(result: Result) -> list[Headline]:
    sent = result.communication
    if sent is None:
        return []
    a_node = size(sent.bytes_total / result.settings.n_nodes)
    words = f"rounds with all neighbours, in {_training_time(result)}"
    return [
        Headline("Exchanges", count(sent.rounds), words),
        Headline("Sent over links", size(sent.bytes_total), f"{a_node} a node"),
    ]


def _training_time(result: Result) -> str:
    training = result.seconds.training
    return NONE if training is None else seconds(training)


def _tested(result: Result) -> Headline:
    n_test, accuracy, scores = result.n_test, result.test_accuracy, result.test_scores
    samples = plural(n_test, "test sample") if n_test else "no test samples"
    if result.settings.is_regression:
        r2 = NONE if scores is None or scores.r2 is None else f"{scores.r2:.3f}"
        return Headline("Test R²", r2, samples)
    words = samples
    if accuracy is not None:
        words = f"{count(accuracy * n_test)} of {samples} right"
    return Headline("Test accuracy", percent(accuracy), words)


def _one_machine(equal: Equivalence | None) -> list[Headline]:
    name = "Gap to one machine"
    if equal is None:
        return []
    if not equal.is_checked:
        return [Headline(name, "not checked", "asked for by --check-equivalence")]
    same = f"{percent(equal.prediction_agreement)} same predictions"
    if equal.central_difference is None:
        words = "was found there"
        if equal.prediction_agreement is not None:
            words += f"; {same}"
        return [Headline(name, "another size", words)]
    words = "relative, of the output matrix"
    if equal.prediction_agreement is not None:
        words = f"relative; {same}"
    return [Headline(name, small(equal.central_difference), words)]


def graph_table(result: Result) -> Table:
    """Return the graph in numbers."""
    settings, graph = result.settings, result.graph
    rows = [("kind", clean(settings.topology)), ("nodes", count(settings.n_nodes))]
    if graph is not None:
        rows.append(("links", count(graph.n_edges)))
    if graph is not None and graph.diameter is not None:
        rows += [
            ("hops between the farthest two", count(graph.diameter)),
            ("disagreement left by one gossip round", percent(graph.contraction)),
        ]
    return Table("The graph in numbers", ("property", "value"), rows)


def layers_table(result: Result) -> Table:
    """Return a table with one row per layer."""
    rows = [_layer_cells(row, result) for row in result.layers]
    head = list(rows[0]) if rows else ["layer"]
    afresh = f"* {found.AFRESH}." if any(row.afresh for row in result.layers) else ""
    notes = filter(None, (afresh, beside_layers(result)))
    lines = [list(cells.values()) for cells in rows]
    return Table("Layer by layer", head, lines, note=" ".join(notes))


def beside_layers(result: Result) -> str:
    """Return the rounds that are of no layer, in words; nothing if there are none."""
    sent = result.communication
    if sent is None:
        return ""
    parts = {"inputs": sent.before_layers.rounds, "scores": sent.after_layers.rounds}
    told = [f"{plural(n, 'round')} for the {what}" for what, n in parts.items() if n]
    return f"Beside the layers: {', '.join(told)}." if told else ""


def _layer_cells(row: Layer, result: Result) -> dict[str, str]:
    """Return the cells of one layer by the names of their columns."""
    cells = {"layer": str(row.layer)}
    if result.settings.finds_size:
        cells["layer"] += ", not kept" * (row.layer > result.settings.depth)
        cells["units"] = NONE if row.width is None else count(row.width)
        cells["ridge"] = NONE if row.ridge is None else small(row.ridge)
        cells["ridge"] += "*" * row.afresh
    else:
        cells["cost"] = amount(row.cost)
    cells["error"] = decibel(row.train_error_db)
    if row.validation_error_db is not None:
        cells["validation error"] = decibel(row.validation_error_db)
    if not result.settings.is_regression:
        cells["training"] = percent(row.train_accuracy)
        if row.validation_error_db is not None:
            cells["validation"] = percent(row.validation_accuracy)
        if result.node is None:
            cells["test"] = percent(row.test_accuracy)
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
        ("members", found.members(result)),
        ("scale", found.input_scale(result)),
        ("width", found.width(result)),
        ("depth", found.depth(result)),
    ]
    return Table("The size of the network", ("what", "found"), rows)


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
                "taken" if taken else "",
            )
            rows.append(cells)
            if taken or place == len(layer.tried):
                some.append(cells)
    if not rows:
        return None
    few = len(rows) <= MOST_TRIED
    return Table(
        "What was tried",
        ("layer", "input scale", "units", f"{found.judged_by(result)} error", ""),
        rows if few else some[:MOST_TRIED],
        numeric_from=2,
        note="" if few else "Of a layer, the width that was taken and the last one.",
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
    head = ("true", "taken for", "samples", "of the class")
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
    head = ("class", "samples", "found", "of the class")
    return Table("Classes found least often", head, rows) if rows else None


def equivalence_table(result: Result) -> Table | None:
    """Return how far apart the models are; None where that is not known."""
    equal = result.equivalence
    if equal is None:
        return None
    rows = [("largest difference between two nodes", _or_equal(equal.node_spread))]
    if equal.same_choices is not None:
        rows.append(("same size as one machine", setting(equal.same_choices)))
    if equal.central_difference is not None:
        gap = _or_equal(equal.central_difference)
        rows.append(("output matrix, to one machine", gap))
    if equal.layer_cost_gap is not None:
        rows += [
            ("cost of a layer, to one machine", _or_equal(equal.layer_cost_gap)),
            ("same class as one machine", percent(equal.prediction_agreement)),
        ]
    return Table("In numbers", ("what", "relative difference"), rows)


def _or_equal(spread: float) -> str:
    return small(spread) if spread else "0, to the last bit"


PERFECT_LINKS = (
    "* over links that lose or delay letters, in simulated time; what stands above is "
    "what the same training takes over perfect links."
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
        ("time of the training", _training_time(result)),
        *_simulated(result),
    ]
    note = "" if result.simulated_network is None else PERFECT_LINKS
    return Table("All together", ("what", "how much"), rows, note=note)


def _simulated(result: Result) -> list[tuple[str, str]]:
    """Return what links and nodes that are not perfect have cost."""
    network = result.simulated_network
    if network is None:
        return []
    sent, needed = network.total, max(network.lockstep_letters, 1)
    return [
        ("simulated time", seconds(network.seconds)),
        ("letters sent*", count(sent.letters)),
        ("for each over perfect links*", f"{sent.letters / needed:.2f}"),
        ("sent again*", count(sent.resent)),
        ("lost*", count(sent.lost)),
        ("acknowledgements*", count(sent.acknowledgements)),
        ("sent with all of these*", size(sent.bytes_total)),
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
    head = ("neighbour", "sent", "received", "waited for", "connections")
    return Table("Link by link", head, rows)


def settings_tables(result: Result) -> list[Table]:
    """Return all settings that were used, in groups."""
    given = msgspec.to_builtins(result.settings)
    first = [name for name in _OF_THE_NETWORK if name in given]
    settings = {name: given.pop(name) for name in first} | given
    hidden = {"found"} | without_meaning(
        finds_size=result.settings.finds_size, solver=result.settings.solver
    )
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
