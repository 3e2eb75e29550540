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
_LONE = {"local": "No model of this node alone: ", "model": "No figures: "}


def scores_section(result: Result, pictures: Pictures) -> str:
    """Return the section about how good the model is; nothing if that is not known."""
    here = result.here
    return section(
        "How good is the model" + (" here" if here else ""),
        _about(result),
        table_card(own_table(result), is_wide=True),
        figure(
            pictures,
            "calibration",
            "Calibration",
            "Share of right answers by the probability that was given: on the line, a "
            "probability means what it says.",
        ),
        table_card(calibration_table(result)),
        table_card(total_table(result)),
        table_card(nodes_table(result), is_wide=True),
    )


def _about(result: Result) -> list[str]:
    """Return what must be known to read the tables."""
    said = []
    if here := result.here:
        said.append(_samples_here(here, result.settings.publish_scores))
        said += [_LONE.get(name, "") + clean(why, 200) for name, why in _why(here)]
    if result.scores is not None and result.settings.folds == "nodes":
        said.append(
            "Every node's samples are predicted by a member that was trained without "
            "this node: so good is the model at an organisation that it was not "
            "trained on."
        )
    elif result.scores is not None and here is None:
        said.append("Each sample is predicted by a member that was not trained on it.")
    if len(result.settings.classes) == 2 and said:
        first, second = (clean(label, 28) for label in result.settings.classes)
        said.append(
            f"Sensitivity is the share of “{second}” that is found, specificity that "
            f"of “{first}”."
        )
    return said


def _samples_here(here: OwnScores, published: bool) -> str:
    if here.samples == "test":
        return "On the samples of this node's test file. Nobody else knows the figures."
    known = "All nodes know" if published else "Nobody else knows"
    return (
        "On this node's own samples, each predicted by a member that was not trained "
        f"on it. {known} how good the model is on them."
    )


def _why(here: OwnScores) -> list[tuple[str, str]]:
    return [(name, why) for name, why in here.missing.items() if name in _LONE]


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


def calibration_table(result: Result) -> Table | None:
    """Return how often predictions of about the same probability are right."""
    scores = calibrated(result)
    if scores is None:
        return None
    rows = [
        (percent(one.confidence), percent(one.accuracy), count(one.n))
        for one in scores.calibration
    ]
    head = ("probability", "right", "samples")
    note = f"Mean distance: {percent(scores.calibration_error)}."
    return Table("Probabilities and right answers", head, rows, 0, note=note)


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
