"""The report of one training: tables and finished figures on one HTML page."""

from __future__ import annotations

from dssfn.report.html import Pictures, figure, section, table_card, whole_page
from dssfn.report.numbers import clean, count, plural
from dssfn.report.training import found, tables
from dssfn.report.training.headlines import headlines, lead
from dssfn.report.training.scores import scores_section
from dssfn.results import Equivalence, Result


def make_page(result: Result, pictures: Pictures) -> str:
    """Return the report of one training as HTML.

    Parameters
    ----------
    result : Result
        The metrics. Sections whose numbers are missing, as on a node, are left out.
    pictures : mapping
        Figures by name.
    """
    name = clean(result.data or result.node, 80)
    parts = (
        scores_section,
        _predictions,
        _equivalence,
        _learning,
        _network,
        _traffic,
        _record,
    )
    return whole_page(
        title=f"{name}: training report",
        eyebrow="dssfn · training report",
        heading=name,
        lead=lead(result),
        headlines=headlines(result),
        sections=[part(result, pictures) for part in parts],
        version=result.made_by.get("dssfn", ""),
        warning=found.warning(result),
    )


def _network(result: Result, pictures: Pictures) -> str:
    to = tables.accuracy_of_averages(result)
    held = "" if result.node else ", who held which samples"
    return section(
        "The network",
        f"Who talks to whom{held}, and what it takes to find one average over the "
        "graph.",
        figure(
            pictures,
            "graph",
            "Nodes and links",
            "A line is a link. Messages travel along links only, so nodes that are far "
            "apart need more rounds to agree.",
        ),
        figure(
            pictures,
            "held",
            "Who held what",
            "Training samples of each class on each node: the darker, the more. Empty "
            "cells are classes that a node has never seen.",
        ),
        figure(
            pictures,
            "averaging",
            "Ways to average",
            f"Rounds that each scheme needs for one average over this graph{to}. "
            "Shorter is faster.",
        ),
        table_card(tables.graph_table(result)),
    )


def _learning(result: Result, pictures: Pictures) -> str:
    return section(
        "How it learned",
        "Layers are learned one after the other. Each is a convex problem that all "
        "nodes solve together, so there is no back-propagation and no learning rate. "
        "The curves show what a network of each depth reaches.",
        figure(
            pictures,
            "cost",
            "Cost",
            "Squared error summed over all training samples; lower is better. Where "
            "the curve levels off, more layers add little.",
        ),
        figure(
            pictures,
            "error",
            "Error",
            "Squared error, where 0 dB is the error without a network; lower is "
            "better. Validation samples are predicted by networks that did not train "
            "on them: where their curve levels off, more layers stop helping.",
        ),
        figure(
            pictures,
            "accuracy",
            "Accuracy",
            "Share of samples whose class is predicted right after each layer. "
            + _on_gap(result),
        ),
        table_card(tables.found_table(result)),
        table_card(tables.tried_table(result)),
        table_card(tables.layers_table(result), is_wide=True),
    )


def _on_gap(result: Result) -> str:
    if not found.is_validated(result):
        return "A wide gap between training and test samples would be overfitting."
    return (
        "Expect new samples to do as well as validation samples, not as training "
        "samples."
    )


def _predictions(result: Result, pictures: Pictures) -> str:
    if not result.confusion:
        return ""
    wrong = tables.confusions_table(result)
    about = f"On {plural(result.n_test, 'test sample')} that no node was trained on."
    if wrong is None:
        about += " All of them were predicted right."
    elif "confusion" not in pictures:
        n_classes = count(len(result.settings.classes))
        about += f" A matrix of {n_classes} classes would be too large to read."
    return section(
        "Right and wrong predictions",
        about,
        figure(
            pictures,
            "confusion",
            "Confusion matrix",
            "Test samples by true class (rows) and predicted class (columns). Right "
            "answers lie on the blue diagonal; every orange cell is a mistake, the "
            "stronger the more frequent in its row.",
        ),
        table_card(wrong),
        None if "confusion" in pictures else table_card(tables.classes_table(result)),
    )


def _traffic(result: Result, pictures: Pictures) -> str:
    if result.node is not None:
        return section(
            "What was sent",
            "Traffic over the links of this node, and how long it waited for its "
            "neighbours.",
            table_card(tables.links_table(result), is_wide=True),
        )
    return section(
        "What was sent",
        "Payload over all links, in both directions. Nodes send matrices, never "
        "samples or labels.",
        figure(
            pictures,
            "traffic",
            "Layer by layer",
            "Bytes over all links. Before the first layer (start), nodes agree on the "
            "scale of the inputs; after the last one (end), on the scores of the "
            "model.",
        ),
        table_card(tables.traffic_table(result)),
    )


def _equivalence(result: Result, pictures: Pictures) -> str:
    return section(
        "Is it the model of one machine?",
        _compared(result.equivalence),
        figure(
            pictures,
            "equivalence",
            "Differences",
            "Relative differences on a logarithmic scale; small vertical marks show "
            "the size of one rounding error. Anything near them is rounding, not "
            "learning.",
        ),
        table_card(tables.equivalence_table(result)),
    )


def _compared(equal: Equivalence | None) -> str:
    """Return what the models of the nodes were compared with."""
    if equal is None or not equal.is_checked:
        return (
            "How far the nodes' models are from each other. They were not compared "
            "with the model of one machine: --check-equivalence does so."
        )
    if equal.central_difference is None:
        return (
            "How far the nodes' models are from each other. One machine holding all "
            "the data found a network of another size or input scale, whose matrices "
            "cannot be compared with these."
        )
    return (
        "How far the nodes' models are from each other, and from the model that one "
        "machine holding all the data finds with the same settings."
    )


def _record(result: Result, pictures: Pictures) -> str:
    return section(
        "Settings and versions",
        "What the nodes agreed on, and what the training ran on. All of it is in "
        "result.json.",
        *map(table_card, tables.settings_tables(result)),
        table_card(tables.versions_table(result)),
    )
