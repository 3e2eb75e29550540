"""How good the model is: for the node that reports, for each node, and for all."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.report.html import Card, Pictures, figure, section, table_card
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
    parts = (_here(result, pictures), _all_nodes(result, pictures))
    return "\n".join(part for part in parts if part)


def _here(result: Result, pictures: Pictures) -> str:
    here = result.here
    if here is None:
        return ""
    title = "How good is the model here?"
    if here.model is None:
        about = "This node has no scores of its own."
        return section(title, about, table_card(_unknown(here)))
    words = [_samples_here(here, result.settings.publish_scores)]
    if here.local is None and "local" in here.missing:
        why = clean(here.missing["local"], 200)
        words.append(f"No model was trained on this node's samples alone: {why}")
    return section(
        title,
        [*words, *_two_classes(result)],
        table_card(own_table(result), is_wide=True),
        *_calibration(here.model, pictures),
    )


def _all_nodes(result: Result, pictures: Pictures) -> str:
    if result.scores is None:
        return ""
    about = (
        "On validation samples of all nodes, each predicted by networks of the "
        "ensemble that were not trained on it."
    )
    if result.settings.folds == "nodes":
        about = (
            "Every node's samples are predicted by networks that were trained without "
            "that node. This is how well the model does at an organisation that did "
            "not take part in the training."
        )
    total = table_card(total_table(result))
    is_known = result.here is not None and result.here.model is not None
    figure_and_table = () if is_known else _calibration(result.scores.total, pictures)
    return section(
        "How good is the model for all nodes?",
        [about] if result.here else [about, *_two_classes(result)],
        total,
        *figure_and_table,
        table_card(nodes_table(result), is_wide=True),
    )


def _calibration(scores: Scores, pictures: Pictures) -> tuple[Card | None, Card | None]:
    """Return whether probabilities mean what they say, as a figure and as a table."""
    if not scores.calibration:
        return None, None
    return (
        figure(
            pictures,
            "calibration",
            "Can its probabilities be trusted?",
            "When the model says 80 %, it should be right 8 times out of 10. Each mark "
            "is a group of predictions with similar probabilities; the more samples, "
            "the larger. Vertical lines are 95 % intervals. Marks on the dashed line "
            "are well calibrated, marks below it are overconfident.",
        ),
        table_card(calibration_table(scores)),
    )


def _two_classes(result: Result) -> list[str]:
    """Return which of two classes is the positive one."""
    if len(result.settings.classes) != 2:
        return []
    first, second = (clean(label, 28) for label in result.settings.classes)
    return [
        f"The positive class is “{second}”: sensitivity is the share of “{second}” "
        f"that is found, specificity the share of “{first}” that is found."
    ]


def _samples_here(here: OwnScores, published: bool) -> str:
    if here.samples == "test":
        return "On the samples of this node's test file. The scores are never shared."
    told = "All nodes receive the scores." if published else "They are never shared."
    return (
        "On this node's own samples, each predicted by networks of the ensemble that "
        f"were not trained on it. {told}"
    )


def _unknown(here: OwnScores) -> Table:
    rows = [("why", clean(here.missing.get("model", NONE), 200))]
    return Table("No scores", ("what", "words"), rows)


def own_table(result: Result) -> Table | None:
    """Return the scores of a node, beside those that it could have alone."""
    here = result.here
    if here is None or here.model is None:
        return None
    constant = (
        "always the mean"
        if result.settings.is_regression
        else "always the most frequent class"
    )
    columns = {
        "model of all nodes": here.model,
        "this node alone": here.local,
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
    return Table(caption, ("score", *known), rows, note=_reasons(here.model))


def _figures_of(scores: Scores) -> list[str]:
    """Return the names of the scores of this kind, known or not."""
    return [
        name
        for name in _NAMES
        if getattr(scores, name) is not None or name in scores.missing
    ]


def _reasons(scores: Scores) -> str:
    """Return why some scores are not known."""
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
    head = ("mean probability", "right answers", "samples")
    gap = percent(scores.calibration_error)
    note = f"Calibration error (mean distance between the first two columns): {gap}."
    return Table("Probabilities, group by group", head, rows, note=note)


def calibrated(result: Result) -> Scores | None:
    """Return the scores whose calibration is shown; None if there are none."""
    scores = result.here.model if result.here else None
    if scores is None and result.scores is not None:
        scores = result.scores.total
    return scores if scores is not None and scores.calibration else None


def total_table(result: Result) -> Table | None:
    """Return the scores on all nodes' validation samples."""
    if result.scores is None:
        return None
    total = result.scores.total
    rows = [(_NAMES[name], _shown(total, name)) for name in _figures_of(total)]
    caption = "On validation samples of all nodes"
    rows.insert(0, ("samples", count(total.n)))
    return Table(caption, ("score", "value"), rows, note=_reasons(total))


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
    notes = [f"{plural(left, 'more node')}: see result.json."] if left else []
    if any(NONE in row for row in rows):
        alike = (
            "have one target only" if result.settings.is_regression else "lack a class"
        )
        notes.append(f"{NONE}: the node has no validation samples, or they {alike}.")
    head = ("node", "samples", *(_NAMES[name] for name in names))
    return Table("Validation samples, node by node", head, rows, note=" ".join(notes))


def _has(scores: Scores, name: str) -> bool:
    return getattr(scores, name) is not None
