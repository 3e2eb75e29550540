"""How good the model is: for the node that reports, for each node, and for all."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.report.html import Pictures, figure, section, table_card
from dssfn.report.numbers import NONE, amount, clean, count, percent, plural
from dssfn.report.table import Table
from dssfn.results import OwnScores, Result
from dssfn.scores import Scores

MOST_NODES = 60  # rows of a table

_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "calibration_error": "calibration error",
    "r2": "R²",
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
}
_SHARES = (
    "accuracy",
    "balanced_accuracy",
    "sensitivity",
    "specificity",
    "calibration_error",
)
_IN_UNITS = ("mae", "rmse")  # those of the target


def scores_section(result: Result, pictures: Pictures) -> str:
    """Return what is known of how good the model is; nothing if that is not known."""
    parts = (_here(result), _calibration(result, pictures), _all_nodes(result))
    return "\n".join(part for part in parts if part)


def _here(result: Result) -> str:
    here = result.here
    if here is None:
        return ""
    title = "How good is the model here"
    if here.model is None:
        return section(title, "This node does not know.", table_card(_unknown(here)))
    about = [_samples_here(here, result.settings.publish_scores)]
    if here.local is None and "local" in here.missing:
        why = clean(here.missing["local"], 200)
        about.append(f"There is no model of this node alone: {why}")
    return section(
        title,
        [*about, *_two_classes(result)],
        table_card(own_table(result), is_wide=True),
    )


def _calibration(result: Result, pictures: Pictures) -> str:
    if (scores := calibrated(result)) is None:
        return ""
    is_own = result.here is not None and scores is result.here.model
    of = f"{plural(round(scores.n), 'sample')} of {'this node' if is_own else 'all'}"
    return section(
        "Calibration",
        f"Whether probabilities mean what they say, on {of}.",
        figure(
            pictures,
            "calibration",
            "Right answers by probability",
            "On the line, as many predictions are right as their probability says.",
        ),
        table_card(calibration_table(scores)),
    )


def _all_nodes(result: Result) -> str:
    if result.scores is None:
        return ""
    about = "On validation samples of all nodes, each predicted by a member that was "
    about += "not trained on it."
    if result.settings.folds == "nodes":
        about = (
            "Every node's samples are predicted by a member that was trained without "
            "this node: so good is the model at an organisation that it was not "
            "trained on."
        )
    return section(
        "How good is the model for all",
        [about] if result.here else [about, *_two_classes(result)],
        table_card(total_table(result)),
        table_card(nodes_table(result), is_wide=True),
    )


def _two_classes(result: Result) -> list[str]:
    """Return which of two classes is the positive one."""
    if len(result.settings.classes) != 2:
        return []
    first, second = (clean(label, 28) for label in result.settings.classes)
    return [
        f"The positive class is “{second}”: sensitivity is the share of it that is "
        f"found, specificity that of “{first}”."
    ]


def _samples_here(here: OwnScores, published: bool) -> str:
    if here.samples == "test":
        return "On the samples of this node's test file. No other node is told."
    told = "All nodes are told" if published else "No other node is told"
    return (
        "On this node's own samples, each predicted by a member that was not trained "
        f"on it. {told} how good the model is on them."
    )


def _unknown(here: OwnScores) -> Table:
    rows = [("why", clean(here.missing.get("model", NONE), 200))]
    return Table("No figures", ("what", "words"), rows)


def own_table(result: Result) -> Table | None:
    """Return the figures of a node, beside those that it could have alone."""
    here = result.here
    if here is None or here.model is None:
        return None
    constant = "mean" if result.settings.is_regression else "most frequent class"
    columns = {
        "model of all nodes": here.model,
        "of this node alone": here.local,
        constant: here.baseline,
    }
    known = {name: scores for name, scores in columns.items() if scores is not None}
    rows = [
        (_NAMES[name], *(_shown(scores, name) for scores in known.values()))
        for name in _figures_of(here.model)
    ]
    rows.insert(0, ("samples", *(count(scores.n) for scores in known.values())))
    what = {"test": "test sample", "validation": "validation sample"}[here.samples]
    caption = f"On {plural(round(here.model.n), what)} of this node"
    return Table(caption, ("figure", *known), rows, note=_reasons(here.model))


def _figures_of(scores: Scores) -> list[str]:
    """Return the figures that scores of this kind have, known or not."""
    return [
        name
        for name in _NAMES
        if getattr(scores, name) is not None or name in scores.missing
    ]


def _reasons(scores: Scores) -> str:
    """Return why figures are not known."""
    by_reason: dict[str, list[str]] = {}
    for name, why in scores.missing.items():
        by_reason.setdefault(clean(why, 200), []).append(_NAMES.get(name, clean(name)))
    said = [f"No {' and '.join(names)}: {why}." for why, names in by_reason.items()]
    return " ".join(said)


def _shown(scores: Scores, name: str) -> str:
    value: float | None = getattr(scores, name)
    if value is None:
        return NONE
    if name in _SHARES:
        return percent(value)
    if name in _IN_UNITS:
        return amount(value)
    return f"{value:.3f}".replace("-", "−")


def calibration_table(scores: Scores) -> Table:
    """Return how often predictions of about the same probability are right."""
    rows = [
        (percent(one.confidence), percent(one.accuracy), count(one.n))
        for one in scores.calibration
    ]
    head = ("probability", "right", "samples")
    note = f"Mean distance: {percent(scores.calibration_error)}."
    return Table("In numbers", head, rows, note=note)


def calibrated(result: Result) -> Scores | None:
    """Return the scores whose calibration is shown; None if there are none."""
    scores = result.here.model if result.here else None
    if scores is None and result.scores is not None:
        scores = result.scores.total
    return scores if scores is not None and scores.calibration else None


def total_table(result: Result) -> Table | None:
    """Return the figures of all nodes' validation samples."""
    if result.scores is None:
        return None
    total = result.scores.total
    rows = [(_NAMES[name], _shown(total, name)) for name in _figures_of(total)]
    caption = "On validation samples of all nodes"
    rows.insert(0, ("samples", count(total.n)))
    return Table(caption, ("figure", "value"), rows, note=_reasons(total))


def nodes_table(result: Result) -> Table | None:
    """Return a row for every node, where they are known."""
    nodes = result.scores.nodes if result.scores else ()
    if not nodes:
        return None
    names = [name for name in _NAMES if any(_has(one.scores, name) for one in nodes)]
    rows: Sequence[Sequence[str]] = [
        (
            clean(one.node, 28),
            count(one.scores.n),
            *(_shown(one.scores, name) for name in names),
        )
        for one in nodes[:MOST_NODES]
    ]
    left = len(nodes) - len(rows)
    note = f"{plural(left, 'more node')}: see result.json." if left else ""
    head = ("node", "samples", *(_NAMES[name] for name in names))
    return Table("Validation samples node by node", head, rows, note=note)


def _has(scores: Scores, name: str) -> bool:
    return getattr(scores, name) is not None
