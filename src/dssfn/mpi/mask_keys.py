"""How the ranks of an MPI job agree on masks.

All ranks are of one user, who has no certificates and could look into every rank. Masks
keep the nodes of one rank from what those of others send, and no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dssfn._typing import NodeId
from dssfn.consensus import Flood
from dssfn.driver import run_over
from dssfn.masking import (
    EphemeralKey,
    Masks,
    mask_partners,
    packed,
    united,
    unpacked,
)
from dssfn.masking.ciphers import PUBLIC_BYTES
from dssfn.topology import Topology
from dssfn.transports import Transport

BEFORE = -2  # the layer number of letters that are sent before a training


def agree_masks(
    nodes: Sequence[NodeId],
    topology: Topology,
    transport: Transport,
    degree: int | None,
) -> Masks:
    """Return the masks of this rank's nodes."""
    M = topology.n_nodes
    keys = {node: EphemeralKey(node) for node in nodes}
    records = run_over(
        transport,
        Flood(topology, united),
        {node: packed(key.public, node, M, PUBLIC_BYTES) for node, key in keys.items()},
        layer=BEFORE,
        step=0,
    )
    publics = unpacked(records[nodes[0]])
    about, partners = (
        hashlib.sha256(b"".join(publics)).digest(),
        mask_partners(M, degree),
    )
    return Masks(
        {
            node: {j: key.secret_with(j, publics[j], about) for j in partners[node]}
            for node, key in keys.items()
        }
    )
