"""How good a model is, for its card: figures of all nodes, and of no few rows."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from dssfn.report.card.chapter import Chapter
from dssfn.report.intervals import share_interval
from dssfn.report.numbers import NONE, percent, plural
from dssfn.report.table import Table
from dssfn.report.training.scores import calibration_table, nodes_table, total_table
from dssfn.results import Result
from dssfn.scores import Scores

FEWEST = 5  # rows: figures of fewer are about single rows
UNKNOWN = "It is not known how good the model is: there are no validation scores."


def evaluation_chapter(result: Result | None) -> Chapter:
    """Return how good the model is on samples that a member was not trained on.

    What a node knows of its own samples alone stays with the node.
    """
    title = "Evaluation"
    if result is None:
        return Chapter(title, [UNKNOWN])
    words = _tested(result)
    if result.scores is None or result.scores.total.n < FEWEST:
        return Chapter(title, [*words, UNKNOWN])
    total = result.scores.total
    tables = [_total(result), _calibration(total), _nodes(result)]
    return Chapter(
        title, [_validated(result), *words], [one for one in tables if one is not None]
    )


def _validated(result: Result) -> str:
    if result.settings.folds == "nodes":
        return (
            "Every node's samples are predicted by networks that were trained without "
            "that node. This is how well the model does at an organisation that did "
            "not take part in the training."
        )
    return (
        "On validation samples of all nodes, each predicted by networks of the "
        "ensemble that were not trained on it. The same samples also decided the size "
        "of the network."
    )


def _tested(result: Result) -> list[str]:
    """Return the accuracy on test samples, unless they are one node's own."""
    share, n = result.test_accuracy, result.n_test
    if result.node is not None or share is None or n < FEWEST:
        return []
    return [
        f"Of {plural(n, 'test sample')} that no node was trained on, {percent(share)} "
        f"are predicted right (95 % interval {_interval(share, n)})."
    ]


def _interval(share: float, n: float) -> str:
    low, high = share_interval(share, n)
    return f"{percent(low)} to {percent(high)}"


def _total(result: Result) -> Table | None:
    table = total_table(result)
    if table is None or result.scores is None:
        return None
    total = result.scores.total
    if total.accuracy is None:
        return table
    known = _interval(total.accuracy, total.n)
    rows = [(*row, known if row[0] == "accuracy" else NONE) for row in table.rows]
    note = "Wilson's interval, which assumes that samples are independent."
    return replace(
        table,
        head=(*table.head, "95 % interval"),
        rows=rows,
        note=f"{table.note} {note}".strip(),
    )


def _calibration(total: Scores) -> Table | None:
    bins = tuple(one for one in total.calibration if one.n >= FEWEST)
    if not bins:
        return None
    left = len(total.calibration) - len(bins)
    table = calibration_table(msgspec.structs.replace(total, calibration=bins))
    note = (
        f" {plural(left, 'group')} of fewer than {FEWEST} samples left out."
        if left
        else ""
    )
    return replace(
        table,
        caption="Calibration: right answers by probability",
        note=table.note + note,
    )


def _nodes(result: Result) -> Table | None:
    """Return the figures of each node, if the nodes agreed to tell them."""
    if not result.settings.publish_scores or result.scores is None:
        return None
    enough = tuple(one for one in result.scores.nodes if one.scores.n >= FEWEST)
    scores = msgspec.structs.replace(result.scores, nodes=enough)
    return nodes_table(msgspec.structs.replace(result, scores=scores))
