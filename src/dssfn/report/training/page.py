"""The report of one training: tables and finished figures on one HTML page."""

from __future__ import annotations

from dssfn.report.html import Pictures, figure, section, table_card, whole_page
from dssfn.report.numbers import clean, count, plural
from dssfn.report.training import found, tables
from dssfn.report.training.scores import scores_section
from dssfn.results import Result


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
        _network,
        _learning,
        scores_section,
        _predictions,
        _traffic,
        _equivalence,
        _record,
    )
    return whole_page(
        title=f"{name}: training report",
        eyebrow="dssfn · training report",
        heading=name,
        lead=tables.lead(result),
        headlines=tables.headlines(result),
        sections=[part(result, pictures) for part in parts],
        version=result.made_by.get("dssfn", ""),
        warning=found.warning(result),
    )


def _network(result: Result, pictures: Pictures) -> str:
    to = tables.accuracy_of_averages(result)
    held = "" if result.node else ", who held what"
    return section(
        "The network",
        f"Who talks to whom{held}, and what one average over the graph takes.",
        figure(pictures, "graph", "Nodes and links", "Messages go along links only."),
        figure(
            pictures,
            "held",
            "Who held what",
            "Training samples of every class on every node.",
        ),
        figure(
            pictures,
            "averaging",
            "Ways to average",
            f"Rounds of one average over this graph{to}, by scheme.",
        ),
        table_card(tables.graph_table(result)),
    )


def _learning(result: Result, pictures: Pictures) -> str:
    return section(
        "Learning",
        "Layers are learned one after the other, each as a convex problem that all "
        "nodes solve together. What a network of every depth would reach:",
        figure(
            pictures,
            "cost",
            "Cost",
            "Squared error over all training samples; logarithmic scale.",
        ),
        figure(
            pictures,
            "error",
            "Error",
            "Squared error, relative to that of no network at all. Of validation "
            "samples, by networks that were not trained on them.",
        ),
        figure(
            pictures,
            "accuracy",
            "Accuracy",
            "Share of samples whose class is found after each layer.",
        ),
        table_card(tables.found_table(result)),
        table_card(tables.tried_table(result)),
        table_card(tables.layers_table(result), is_wide=True),
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
        "Predictions",
        about,
        figure(
            pictures,
            "confusion",
            "Confusion matrix",
            "Blue is right, orange is wrong; the stronger, the larger its share of the "
            "row.",
        ),
        table_card(wrong),
        None if "confusion" in pictures else table_card(tables.classes_table(result)),
    )


def _traffic(result: Result, pictures: Pictures) -> str:
    if result.node is not None:
        return section(
            "Traffic",
            "What went over the links of this node, and how long it waited for them.",
            table_card(tables.links_table(result), is_wide=True),
        )
    return section(
        "Traffic",
        "Payload over all links in both directions. What nodes agree on before the "
        "first layer, such as the scale of the inputs, is the bar called start; after "
        "the last one, how good the model is, the one called end.",
        figure(pictures, "traffic", "Sent", "Bytes over all links, layer by layer."),
        table_card(tables.traffic_table(result)),
    )


def _equivalence(result: Result, pictures: Pictures) -> str:
    about = "How far the nodes' models are from each other"
    equal = result.equivalence
    if equal is None or not equal.is_checked:
        about += ". The training was not compared with one machine."
    elif equal.central_difference is None:
        about += (
            ". One machine holding all the data found a network of another size or "
            "input scale, whose matrices cannot be compared with these."
        )
    else:
        about += (
            ", and from the model that one machine holding all the data finds with the "
            "same settings."
        )
    return section(
        "Equivalence",
        about,
        figure(
            pictures,
            "equivalence",
            "Differences",
            "Relative to the size of what is compared; logarithmic scale.",
        ),
        table_card(tables.equivalence_table(result)),
    )


def _record(result: Result, pictures: Pictures) -> str:
    return section(
        "Settings and versions",
        "What was agreed on, and on what it ran. All of it is in result.json.",
        *map(table_card, tables.settings_tables(result)),
        table_card(tables.versions_table(result)),
    )
