"""A node's program: agree on the figures of all nodes, and of each if published.

How this works. What is small is hidden in totals that all nodes have. The figures of a
single node are hidden by itself, before they leave it.
"""

from __future__ import annotations

from typing import NamedTuple

from dssfn._typing import NodeId
from dssfn.programs import Program
from dssfn.shard import Samples
from dssfn.statistics.asked import Questions
from dssfn.statistics.figures import Figures
from dssfn.statistics.publishing import Shown, figures, shown
from dssfn.statistics.totals import Totals, agree_rows, agree_totals


class Site(NamedTuple):
    """A node that publishes its own figures: its number, of how many, and its sums."""

    node: NodeId
    n_nodes: int
    own: Totals


def agree_figures(
    samples: Samples, questions: Questions, *, least: int, site: Site | None = None
) -> Program[tuple[Figures, tuple[Figures, ...]]]:
    """Agree on the figures of all nodes, and return them and those of every node.

    Parameters
    ----------
    samples : Samples
        This node's rows, as features.
    questions : Questions
        What is asked of them, alike on all nodes.
    least : int
        The smallest count but zero that is shown.
    site : Site, optional
        This node, if all nodes publish their own figures; otherwise there are none.
    """
    totals = yield from agree_totals(samples, questions)
    sites: tuple[Shown, ...] = ()
    if site is not None:
        mine = shown(site.own, questions, least).numbers()
        every = yield from agree_rows(mine, site.node, site.n_nodes)
        sites = tuple(Shown.read(row, questions) for row in every)
    everybody = shown(totals, questions, least, sites)
    return (
        figures(everybody, questions, least),
        tuple(figures(one, questions, least) for one in sites),
    )
