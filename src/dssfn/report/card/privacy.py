"""What left the nodes in a training, for a model card."""

from __future__ import annotations

from dssfn.config import Plan
from dssfn.report.card.chapter import Chapter
from dssfn.report.numbers import setting
from dssfn.report.table import Table

_MASKED = (
    "Samples and labels do not leave a node. It sends masked sums over its rows: all "
    "nodes receive the totals, and nobody sees the sums of a single node unless all of "
    "its mask partners collude. No noise is added: totals over few rows reveal much "
    "about them, and the model itself reveals something about its training data."
)
_PLAIN = (
    "Samples and labels do not leave a node. It sends sums over its rows to its "
    "neighbours on the graph, and all nodes receive the totals. No noise is added: "
    "sums over few rows reveal much about them, and the model itself reveals something "
    "about its training data."
)
_NOISY = (
    "Samples and labels do not leave a node. It sends sums over its rows, to which it "
    "adds noise and masks: all nodes receive noisy totals, and nobody sees the sums of "
    "a single node unless all of its mask partners collude. With or without any one "
    "row, the probability of any model changes by a factor of at most exp(epsilon), "
    "except with a probability of delta. This also holds against nodes that know "
    "their own noise, up to the number that may collude."
)


def privacy_chapter(plan: Plan, *, secure: bool) -> Chapter:
    """Return what nodes send by this plan, and what they do not.

    Parameters
    ----------
    plan : Plan
        The plan of the training.
    secure : bool
        Whether messages were masked.
    """
    words = [_NOISY if plan.is_private else _MASKED if secure else _PLAIN]
    rules = [
        ("messages are masked", setting(secure)),
        *_budget(plan),
        ("each node's scores are shared", setting(plan.publish_scores)),
    ]
    return Chapter(
        "Privacy",
        words,
        [
            Table("What nodes send", ("message", "what it holds"), _messages(plan)),
            Table("Rules", ("rule", "value"), rules),
        ],
    )


def _budget(plan: Plan) -> list[tuple[str, str]]:
    if plan.epsilon is None:
        return []
    return [
        ("epsilon, delta", f"{plan.epsilon:g}, {plan.delta:g}"),
        ("nodes that may collude", setting(plan.colluders)),
    ]


def _messages(plan: Plan) -> list[tuple[str, str]]:
    if plan.is_private:
        return [
            ("scaling of the inputs", "number of rows; sums and squares; with noise"),
            ("the hidden layer", "sums of products of features, and of classes; noisy"),
            ("training errors", "squared errors and right answers; noisy"),
        ]
    rows = []
    if plan.standardize or plan.has_gaps:
        scaling = "number of rows; sum and squared spread of every feature"
        rows.append(("scaling of the inputs", scaling))
    by_fold = ""
    if plan.finds_size and plan.size != "ssfn":
        by_fold = "; in layer 0 by fold" + ", each of whole nodes" * (
            plan.folds == "nodes"
        )
    products = f"sums of products of features with targets{by_fold}; the squared error"
    rows.append(("every layer", products))
    rows.append(("every layer, to solve it", _SOLVED[_solver(plan)]))
    if by_fold:
        scores = "right answers by class, log loss, and how confident the model was"
        if plan.is_regression:
            scores = "squared and absolute errors; sums and squares of the targets"
        rows.append(("scores, after the last layer", scores))
    return rows


_SOLVED = {
    "gram": "sums of products of features with each other",
    "krylov": "products of these sums with a few agreed vectors",
    "admm": "the node's own solution plus its running difference, in each iteration",
    "auto": "sums of products of features with each other, or products with these",
}


def _solver(plan: Plan) -> str:
    if plan.finds_size or plan.is_exact:
        return "gram"
    return plan.solver if plan.solver in _SOLVED else "auto"
