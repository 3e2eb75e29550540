"""The statistics of all nodes, as one of them finds them over a transport."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass

from dssfn._typing import NodeId
from dssfn.consensus import Tree
from dssfn.driver import drive
from dssfn.errors import NumericalError
from dssfn.federation import Federation
from dssfn.lockstep import Workers
from dssfn.node.agreement import Assembly
from dssfn.node.mask_keys import MaskKeys
from dssfn.node.runtime import all_are_there, regrouping
from dssfn.shard import Samples
from dssfn.simulator import run_programs
from dssfn.statistics.asked import Questions
from dssfn.statistics.figures import Agreed
from dssfn.statistics.program import Site, agree_figures
from dssfn.statistics.totals import Totals, agree_totals
from dssfn.topology import build_topology
from dssfn.transports import ResilientTransport


def own_totals(samples: Samples, questions: Questions) -> Totals:
    """Return the sums over one node's rows, every value of which is checked."""
    program = agree_totals(samples, questions)
    alone = Tree(build_topology("complete", 1))
    with closing(program), Workers(1) as workers:
        return run_programs([program], alone, workers)[0]


@dataclass(slots=True)
class NodeStatistics:
    """The statistics of one node and all others over a transport.

    Sums flow along a tree whatever the plan says of averages, as only totals of
    integers are exact.

    Parameters
    ----------
    node : int
        The number of this node.
    federation : Federation
        The plan.
    questions : Questions
        What is asked of all rows.
    samples : Samples
        This node's rows.
    own : Totals
        The sums over them.
    transport : ResilientTransport
        Carries letters to the neighbours.
    start_deadline : float, optional
        Seconds to wait at the start until all nodes have met; by default without end.
    mask_keys : MaskKeys, optional
        Agrees on masks; without it neighbours see sums of this node.
    """

    node: NodeId
    federation: Federation
    questions: Questions
    samples: Samples
    own: Totals
    transport: ResilientTransport
    start_deadline: float | None = None
    mask_keys: MaskKeys | None = None

    def run(self) -> Agreed:
        """Find out together, from the start again if a neighbour was restarted."""
        self.transport.patience = self.start_deadline or math.inf
        return regrouping(self.transport, self._attempt)

    def _attempt(self) -> Agreed:
        topology = self.federation.topology()
        all_nodes = Assembly(self.node, topology, self.transport)
        all_nodes.meet()
        all_are_there(self.transport)
        program = agree_figures(
            self.samples,
            self.questions,
            least=self.federation.min_cell,
            site=self._site(),
        )
        masks = None
        if self.mask_keys is not None:
            masks = self.mask_keys.agree(all_nodes, self.transport.epoch)
        mine = {self.node: program}
        with closing(program):
            found = drive(mine, Tree(topology), self.transport, masks=masks)
        everybody, sites = found[self.node]
        agreed = Agreed(
            plan=self.federation.fingerprint(),
            nodes=tuple(self.federation.names),
            min_cell=self.federation.min_cell,
            all=everybody,
            sites=sites,
        )
        if not all_nodes.have_same_digest(agreed.sha256):
            raise NumericalError("Nodes ended up with different statistics.")
        return agreed

    def _site(self) -> Site | None:
        if not self.federation.publish_sites:
            return None
        return Site(self.node, len(self.federation.nodes), self.own)
