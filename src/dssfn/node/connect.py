"""The connection of a node to its neighbours over gRPC, as the plan asks for it."""

from __future__ import annotations

from dssfn._typing import NodeId
from dssfn.config import Plan
from dssfn.ensemble import largest_found
from dssfn.errors import PlanError
from dssfn.federation import Federation
from dssfn.network import random_digest
from dssfn.solvers import solver_of
from dssfn.summation import summation_of
from dssfn.transports import ResilientTransport
from dssfn.transports.grpc import (
    LARGEST_SIZE,
    Credentials,
    GrpcTransport,
    Neighbour,
    Rules,
    Terms,
)

RIDERS = 16  # numbers that may ride along with a layer's first message: four do


def neighbours_of(
    node: NodeId, federation: Federation, addresses: dict[str, str]
) -> list[Neighbour]:
    """Return the neighbours of a node, with an address where this end dials.

    Of two nodes with an address in the plan, the later one dials. One without an
    address has no open port, and dials. `addresses` take the place of the plan's.
    """
    mine = federation.nodes[node]
    found = []
    for j in federation.topology().neighbours(node):
        other = federation.nodes[j]
        dials = other.address is not None and (mine.address is None or j < node)
        address = addresses.get(other.name, other.address) if dials else None
        if mine.address is None and other.address is None:
            raise PlanError(
                f"`nodes`: {mine.name} and {other.name} are neighbours, and neither "
                "has an `address`. Give one of them one that the other can dial."
            )
        found.append(Neighbour(j, other.name, address))
    return found


def connect(
    name: str,
    federation: Federation,
    plan: Plan,
    credentials: Credentials,
    *,
    listen: str | None = None,
    addresses: dict[str, str] | None = None,
) -> ResilientTransport:
    """Open this node's port and dial its neighbours."""
    node = federation.index(name)
    terms = Terms(
        plan=federation.agreed(),
        random=random_digest(plan),
        differences=federation.differences,
        rules=Rules(
            run=int(federation.fingerprint()[:16], 16),
            largest=largest_letter(plan, len(federation.nodes)),
            n_layers=plan.most_layers,
        ),
        members=frozenset(federation.names),
    )
    return GrpcTransport(
        name,
        neighbours_of(node, federation, addresses or {}),
        terms,
        credentials,
        listen=listen,
        deadline=federation.round_deadline,
    )


def largest_letter(plan: Plan, n_nodes: int) -> int:
    """Return how many numbers the largest letter of a training has."""
    if plan.finds_size:
        return _checked(largest_found(plan, n_nodes))
    Q = plan.n_outputs
    units = [plan.inputs_of(layer) for layer in range(plan.depth + 1)]
    whole_model = Q * sum(units) + 2 * plan.n_features + 3 * Q
    per_sum = summation_of(plan, n_nodes).per_number
    # The nodes compare their models by their lowest and highest numbers.
    largest = max(
        *(
            solver_of(plan, layer).largest_message(Q, n) + RIDERS * per_sum
            for layer, n in enumerate(units)
        ),
        2 * whole_model,
        2 * (plan.n_features + Q + 1) * per_sum,  # moments of inputs and targets
    )
    return _checked(largest)


def _checked(largest: int) -> int:
    if largest > LARGEST_SIZE:
        raise PlanError(
            f"`width`: a message would have {largest} numbers, and gRPC carries "
            f"{LARGEST_SIZE} at the most. Choose a smaller width."
        )
    return largest
