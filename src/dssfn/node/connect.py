"""The connection of a node to its neighbours over gRPC, as the plan asks for it."""

from __future__ import annotations

import hashlib
from functools import partial

import dssfn.transports.grpc  # noqa: F401 - first of all: it says what to install
from dssfn._typing import NodeId
from dssfn.config import Plan
from dssfn.ensemble import largest_found
from dssfn.errors import PlanError
from dssfn.federation import STATISTICS, TRAINING, Federation, where_to_listen
from dssfn.hints import few
from dssfn.network import random_digest
from dssfn.node.attended import AttendedFile
from dssfn.node.mask_keys import flood_size
from dssfn.node.spec import NODE_FILE, NodeSpec
from dssfn.solvers import solver_of
from dssfn.statistics.asked import Questions
from dssfn.statistics.totals import largest_sum
from dssfn.summation import summation_of
from dssfn.transports import WAIT_WHEN_GONE, ResilientTransport
from dssfn.transports.grpc import (
    LARGEST_SIZE,
    Attendance,
    GrpcTransport,
    Keyring,
    Neighbour,
    Rules,
    Terms,
)
from dssfn.transports.roll_call import RollCall

WEIGHTS = 2  # numbers of a model's first layer: what samples weigh, and a usual weight
RIDERS = 16  # numbers that may ride along with a layer's first message: four do
# All layers, and the totals of one that is not solved: each is at most as large as the
# largest message, in which a layer's sums are all at once.
HANDED_OVER = 2
HEAD = 65_536  # numbers that say who took part, at the most
_TOO_WIDE = "`width`: {}. Choose a smaller width."
_TOO_MANY = "`schema`: {}. Ignore some of the columns."


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
                f"`nodes`: {mine.name} and {other.name} are neighbours, but neither "
                "has an `address`. Give one of them an address that the other can "
                "reach."
            )
        found.append(Neighbour(j, other.name, address))
    return found


def check_listens(spec: NodeSpec, federation: Federation) -> None:
    """Refuse a node that others dial by the plan, and that opens no port."""
    node = federation.index(spec.name)
    address = federation.nodes[node].address
    if spec.listen is not None or address is None:
        return
    neighbours = neighbours_of(node, federation, spec.peers)
    dialling = [one.name for one in neighbours if one.address is None]
    if dialling:
        connect = "connects" if len(dialling) == 1 else "connect"
        raise PlanError(
            "`listen` is missing, but the plan gives this node the address "
            f"{address}, and {few(dialling)} {connect} to it. Write `listen = "
            f'"{where_to_listen(address)}"` into {NODE_FILE}.'
        )


def connect(
    spec: NodeSpec,
    federation: Federation,
    terms: Terms,
    keyring: Keyring,
    attendance: Attendance | None = None,
) -> ResilientTransport:
    """Open this node's port and dial its neighbours."""
    return GrpcTransport(
        spec.name,
        neighbours_of(federation.index(spec.name), federation, spec.peers),
        terms,
        keyring,
        listen=spec.listen,
        deadline=federation.round_deadline,
        attendance=attendance,
    )


def attendance_of(
    name: str, federation: Federation, attended: AttendedFile, last_epoch: int
) -> Attendance:
    """Return what knows who takes part, where nodes may go on without some others.

    Parameters
    ----------
    name, federation : str, Federation
        The node, and its plan.
    attended : AttendedFile
        Where epochs are written down.
    last_epoch : int
        The last one of which something was saved, should that file be lost.
    """
    topology = federation.topology()
    graph = {node: topology.neighbours(node) for node in range(topology.n_nodes)}
    assert federation.quorum is not None
    roll = RollCall(
        federation.index(name),
        graph,
        federation.quorum,
        floor=max(attended.read().epoch, last_epoch) + 1,
    )
    return Attendance(
        roll,
        federation.names,
        leave_after_of(federation),
        write_down=lambda group: attended.write(group.epoch),
    )


def leave_after_of(federation: Federation) -> float:
    """Return the seconds after which a node that is gone is left out."""
    usual = WAIT_WHEN_GONE * federation.round_deadline
    return usual if federation.leave_after is None else federation.leave_after


def training_terms(federation: Federation, plan: Plan) -> Terms:
    """Return what nodes must agree on, and may send, to train together."""
    return _terms(
        federation,
        TRAINING,
        random=random_digest(plan),
        largest=_largest_of(federation, plan),
        n_layers=plan.most_layers,
    )


def _largest_of(federation: Federation, plan: Plan) -> int:
    """Return how many numbers a letter may have; one may hand over all that was found.

    That are all layers, and the totals of one that is not solved yet.
    """
    largest = largest_letter(plan, len(federation.nodes))
    if federation.is_elastic:
        largest = _checked(HANDED_OVER * largest + HEAD, _TOO_WIDE)
    return largest


def statistics_terms(federation: Federation, questions: Questions) -> Terms:
    """Return what nodes must agree on, and may send, to find statistics together."""
    largest = _checked(largest_sum(questions, len(federation.nodes)), _TOO_MANY)
    return _terms(federation, STATISTICS, random="", largest=largest, n_layers=0)


def _terms(
    federation: Federation, command: str, *, random: str, largest: int, n_layers: int
) -> Terms:
    n_nodes = len(federation.nodes)  # each states how much its samples weigh
    largest = max(largest, flood_size(n_nodes) if federation.secure else n_nodes)
    plan = federation.agreed(command)
    run = int(hashlib.sha256(plan).hexdigest()[:16], 16)
    return Terms(
        plan=plan,
        random=random,
        differences=partial(federation.differences, command=command),
        rules=Rules(run=run, largest=largest, n_layers=n_layers),
        members=frozenset(federation.names),
    )


def largest_letter(plan: Plan, n_nodes: int) -> int:
    """Return how many numbers the largest letter of a training has."""
    if plan.finds_size:
        return _checked(largest_found(plan, n_nodes), _TOO_WIDE)
    Q = plan.n_outputs
    units = [plan.inputs_of(layer) for layer in range(plan.depth + 1)]
    whole_model = Q * sum(units) + 2 * plan.n_features + 3 * Q + WEIGHTS
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
    return _checked(largest, _TOO_WIDE)


def _checked(largest: int, text: str) -> int:
    if largest > LARGEST_SIZE:
        raise PlanError(
            text.format(
                f"a message would have {largest} numbers, but gRPC carries at most "
                f"{LARGEST_SIZE}"
            )
        )
    return largest
