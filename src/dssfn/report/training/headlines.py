"""The first screen of a report: how good, compared to what, who has it, what was sent.

Each headline answers one question of somebody who sees the page for the first time, in
a number and a line of words.
"""

from __future__ import annotations

from collections import Counter

from dssfn.graph_kinds import KINDS
from dssfn.report.html import Headline
from dssfn.report.numbers import (
    NONE,
    clean,
    count,
    decibel,
    percent,
    plural,
    seconds,
    size,
    small,
)
from dssfn.report.training import found
from dssfn.results import Equivalence, Result
from dssfn.scores import Scores

SAME = "Identical"
DIGITS = 8  # of a digest: enough to compare by eye

_DIVIDED = {
    "iid": "divided at random",
    "by-class": "divided by class",
    "one file each": "in one file each",
}


def lead(result: Result) -> str:
    """Return the training in two sentences."""
    settings = result.settings
    network = f"one network with {plural(settings.depth, 'hidden layer')}"
    if found.is_validated(result):
        network = f"an ensemble of {settings.members} networks"
        network += f" with {plural(settings.depth, 'hidden layer')}"
    samples = "" if result.n_train is None else plural(result.n_train, "sample")
    if settings.n_nodes == 1:
        return f"One node trained {network} on {samples}."
    nodes = f"{count(settings.n_nodes)} nodes on {_graph_name(settings.topology)}"
    if result.node is not None:
        trained = f"{clean(result.node)}, one of {nodes}, trained {network} "
        trained += "together with the others. "
    else:
        how = clean(settings.partition)
        trained = f"{nodes} trained {network} together, on {samples} "
        trained += f"{_DIVIDED.get(how, f'divided as {how}')}. "
    return trained + "They sent matrices to their neighbours, and never a sample."


def _graph_name(topology: str) -> str:
    """Return the name of a graph in words, as in "a circular graph of degree 4".

    >>> _graph_name("circular(degree=4)"), _graph_name("roads")
    ('a circular graph of degree 4', 'the graph “roads”')
    """
    kind, _, rest = topology.partition("(degree=")
    if kind not in KINDS:
        return f"the graph “{clean(topology)}”"
    return f"a {kind} graph" + (f" of degree {clean(rest.rstrip(')'))}" if rest else "")


def headlines(result: Result) -> list[Headline]:
    """Return the numbers that matter."""
    parts = _OF_SIMULATION if result.node is None else _OF_NODE
    return [headline for part in parts for headline in part(result)]


def _tested(result: Result) -> list[Headline]:
    n_test, accuracy = result.n_test, result.test_accuracy
    samples = plural(n_test, "test sample") if n_test else "no test samples"
    if result.settings.is_regression:
        scores = result.test_scores
        r2 = None if scores is None else scores.r2
        words = samples if r2 is None else f"on {samples}; {_MEAN}"
        return [Headline("Test R²", _r2(r2), words)]
    words = samples
    if accuracy is not None:
        words = f"{count(accuracy * n_test)} of {samples} right{_by_guessing(result)}"
    return [Headline("Test accuracy", percent(accuracy), words)]


_MEAN = "0 is what predicting the mean gives, 1 is perfect"


def _by_guessing(result: Result) -> str:
    """Return what the most frequent class alone would reach on the test samples."""
    of_class: Counter[int] = Counter()
    for true, _, number in result.confusion or ():
        of_class[true] += number
    if not of_class:
        return ""
    share = max(of_class.values()) / sum(of_class.values())
    return f"; always guessing the most frequent class: {percent(share)}"


def _r2(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}".replace("-", "−")


def _here(result: Result) -> list[Headline]:
    """Return how good the model is for a node, and how good without the others."""
    here = result.here
    if here is None or here.model is None:
        return []
    regression = result.settings.is_regression
    others = {
        "this node alone": here.local,
        "the mean" if regression else "most frequent class": here.baseline,
    }
    known = [f"{name}: {_main(one)}" for name, one in others.items() if one is not None]
    name = "R² here" if regression else "Accuracy here"
    words = f"on this node's {here.samples} samples"
    return [Headline(name, _main(here.model), "; ".join([words, *known]))]


def _main(scores: Scores) -> str:
    return _r2(scores.r2) if scores.accuracy is None else percent(scores.accuracy)


def _without_test(result: Result) -> list[Headline]:
    """Return how good the model is without test samples: validation, or training."""
    if result.train_error_db is None:
        return []
    error, kept = decibel(result.train_error_db), result.kept
    if result.train_accuracy is None:
        if result.scores is None or result.scores.total.r2 is None:
            return [Headline("Training error", error, "0 dB: without a network")]
        words = f"on samples left out of training; {error} on training samples"
        return [Headline("Validation R²", _r2(result.scores.total.r2), words)]
    training = f"{percent(result.train_accuracy)} of the training samples right"
    if kept is None or kept.validation_accuracy is None:
        return [Headline("Training error", error, training)]
    return [
        Headline(
            "Validation accuracy",
            percent(kept.validation_accuracy),
            f"on samples left out of training; {training}",
        )
    ]


def _one_machine(result: Result) -> list[Headline]:
    equal, name = result.equivalence, "Against one machine"
    if equal is None:
        return []
    if not equal.is_checked:
        words = "--check-equivalence trains on all data in one place as well"
        return [Headline(name, "Not checked", words)]
    same = _same_predictions(equal)
    if equal.central_difference is None:
        return [Headline(name, "Another size", f"one machine chose another{same}")]
    if equal.central_difference == 0:
        return [Headline(name, SAME, f"the same model, to the last bit{same}")]
    words = f"relative difference of the output matrices{same}"
    return [Headline(name, small(equal.central_difference), words)]


def _same_predictions(equal: Equivalence) -> str:
    share = equal.prediction_agreement
    return "" if share is None else f"; {percent(share)} of test predictions agree"


def _between_nodes(result: Result) -> list[Headline]:
    equal, n_nodes = result.equivalence, result.settings.n_nodes
    if equal is None or n_nodes == 1:
        return []
    if equal.node_spread == 0:
        words = f"all {count(n_nodes)} hold the same model, to the last bit"
        return [Headline("Between nodes", SAME, words)]
    words = f"largest relative difference between two of {count(n_nodes)} models"
    return [Headline("Between nodes", small(equal.node_spread), words)]


def _model(result: Result) -> list[Headline]:
    """Return the digits by which people compare the models of two nodes."""
    if result.sha256 is None:
        return []
    words = "first digits of its sha256, which is the same on every node"
    return [Headline("Model file", result.sha256[:DIGITS], words)]


def _sent(result: Result) -> list[Headline]:
    sent = result.communication
    if sent is None:
        return []
    words = f"on average; {size(sent.bytes_total)} over all links, in "
    words += f"{plural(sent.rounds, 'round')} and {training_time(result)}"
    a_node = size(sent.bytes_total / result.settings.n_nodes)
    return [Headline("Sent by a node", a_node, words)]


def training_time(result: Result) -> str:
    """Return the wall time of the training itself."""
    training = result.seconds.training
    return NONE if training is None else seconds(training)


def _of_links(result: Result) -> list[Headline]:
    """Return what a node sent and received, and how long it took."""
    links = (result.peers or {}).values()
    sent = sum(link.bytes_sent for link in links)
    received = size(sum(link.bytes_received for link in links))
    words = f"to {plural(len(links), 'neighbour')}; {received} received, in "
    return [
        Headline("Sent by this node", size(sent), words + seconds(result.seconds.total))
    ]


def _budget(result: Result) -> list[Headline]:
    """Return what was spent of privacy, if there was a budget."""
    privacy = result.privacy
    if privacy is None:
        return []
    words = f"epsilon spent, of {privacy.epsilon:g}; delta {privacy.delta:g}"
    return [Headline("Privacy budget", f"{privacy.spent:.3g}", words)]


_OF_NODE = (_here, _without_test, _model, _of_links, _budget)
_OF_SIMULATION = (
    _tested,
    _without_test,
    _one_machine,
    _between_nodes,
    _sent,
    _budget,
)
