"""The page of a running node, which renews itself and needs nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files

from dssfn.report.html import (
    Card,
    Headline,
    Live,
    figure,
    section,
    table_card,
    whole_page,
)
from dssfn.report.numbers import clean, count, plural, seconds
from dssfn.report.status.curves import draw_cost, draw_error
from dssfn.report.status.graph import draw_graph, legend, uses_numbers
from dssfn.report.status.tables import links_table, log_table, nodes_table, some_names
from dssfn.status import JSON, State, Status

SOON = 30  # days: a certificate that ends within them is warned of


def _read(name: str) -> str:
    folder = files("dssfn.report.status")
    return folder.joinpath(name).read_text(encoding="utf-8")


LIVE = Live(style=_read("status.css"), script=_read("refresh.js"))
POLICY = f"{LIVE.policy}; frame-ancestors 'none'"
"""The Content-Security-Policy under which the page is to be served."""


def make_status_page(status: Status) -> str:
    """Return the status of a node as HTML."""
    name = clean(status.node, 80)
    return whole_page(
        title=f"{name}: {place(status)}",
        eyebrow="dssfn · status of a node",
        heading=name,
        lead=f"This node {status.doing}.",
        headlines=_headlines(status),
        sections=[
            _network(status),
            _learning(status),
            _traffic(status),
            _log(status),
        ],
        version=f"{status.version} at {status.made_at[11:19]} UTC; as JSON: {JSON}",
        warning=warning(status),
        live=LIVE,
    )


def place(status: Status) -> str:
    """Return where the training is, in a few words."""
    if status.layer is None:
        return "all layers are done" if status.solved else "before the first layer"
    return f"layer {status.layer}{of_depth(status)}"


def of_depth(status: Status) -> str:
    """Return the number of the last layer, if it is known."""
    return "" if status.depth is None else f" of {status.depth}"


def warning(status: Status) -> str:
    """Return what needs attention; nothing if all is well."""
    if status.certificate_days < 0:
        ended = status.certificate_ends
        return f"This node's certificate expired on {ended}. Renew it."
    if status.certificate_days < SOON:
        days = plural(status.certificate_days, "day")
        return f"This node's certificate expires in {days}. Renew it."
    return ""


def _headlines(status: Status) -> list[Headline]:
    linked = {one.name for one in status.links}
    neighbours = [node for node in status.nodes if node.name in linked]
    here = sum(node.state in (State.HERE, State.SLOW) for node in neighbours)
    layer = "–" if status.layer is None else f"{status.layer}{of_depth(status)}"
    waits = some_names(status.waits_for) or "Nobody"
    messages = "its message is due" if status.waits_for else "no message is due"
    return [
        Headline("Layer", layer, f"{plural(status.solved, 'layer')} done"),
        Headline("Neighbours connected", f"{here} of {len(neighbours)}", "right now"),
        Headline("Waiting for", waits, messages),
        Headline("Running for", seconds(status.seconds), "since this node started"),
        Headline(
            "Certificate valid for",
            plural(max(status.certificate_days, 0), "day"),
            f"until {status.certificate_ends}",
        ),
    ]


def _network(status: Status) -> str:
    graph = draw_graph(status)
    table = table_card(nodes_table(status, numbered=uses_numbers(status)), is_wide=True)
    if graph is not None and table is not None:
        known = "This node hears from its neighbours only."
        if any(node.takes_part is not None for node in status.nodes):
            known = "Of nodes that are not neighbours, it knows only who takes part."
        note = f"{known} An arrow points from a node to the one it waits for."
        drawn = figure({"graph": graph}, "graph", "Nodes and links", note)
        assert drawn is not None
        shown = f"<div>{drawn.inner}\n{legend(status)}</div>\n<div>{table.inner}</div>"
        table = Card(
            "figure", f'<div class="with-table">{shown}</div>', True, name="graph"
        )
    return section(
        "The network",
        "Who is connected, as far as this node knows. A neighbour counts as late after "
        "half of the round deadline without a message or heartbeat from it.",
        table,
    )


def _learning(status: Status) -> str:
    sketches = [draw_cost(status.layers), draw_error(status.layers)]
    pictures = {one.name: one for one in sketches if one is not None}
    return section(
        "Learning",
        "Over the samples of all nodes together, after each layer.",
        figure(
            pictures,
            "cost",
            "Cost",
            "Squared error over all training samples, in per cent of the first "
            "layer's. Where it levels off, more layers add little.",
        ),
        figure(
            pictures,
            "error",
            "Error",
            "0 dB is the error without a network; lower is better. Validation samples "
            "are predicted by networks that were not trained on them.",
        ),
    )


def _traffic(status: Status) -> str:
    total = count(sum(one.letters_sent for one in status.links))
    return section(
        "Traffic",
        f"{total} messages were sent, {restarts(status)}.",
        table_card(links_table(status), is_wide=True),
    )


def restarts(status: Status) -> str:
    """Return how often nodes had to go back together, in words."""
    if not status.restarts:
        return "and no node has restarted since"
    return (
        "and all nodes went back to a checkpoint together "
        f"{plural(status.restarts, 'time')}"
    )


def _log(status: Status) -> str:
    card = table_card(log_table(status), is_wide=True)
    if card is not None:
        card = Card(card.tag, f'<div class="log">{card.inner}</div>', True, True)
    return section(
        "Log",
        "Only lines that cannot hold anything private: fixed words, names in the plan, "
        "and numbers of all nodes together. The rest stays in the node's own log file.",
        card,
    )
