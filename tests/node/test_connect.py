import pytest

from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.federation import Federation, Graph, Member
from dssfn.node.connect import largest_letter, neighbours_of
from dssfn.node.runtime import settled
from dssfn.solvers.gram import Gram

PLAN = Plan(n_features=3, classes=("a", "b"), n_layers=2, width=6)


def _federation(*addresses, **training):
    nodes = tuple(Member(f"n{k}", one) for k, one in enumerate(addresses))
    return Federation(nodes, Graph(kind="complete"), PLAN.replace(**training))


def _dialled(federation, node, addresses=None):
    found = neighbours_of(node, federation, addresses or {})
    return {one.name: one.address for one in found if one.address}


@pytest.mark.parametrize(
    "addresses", [("h:1", "h:2", "h:3"), ("h:1", None, "h:3"), (None, "h:2", "h:3")]
)
def test_every_edge_is_dialled_from_one_end(addresses):
    federation = _federation(*addresses)
    dialled = [
        frozenset((f"n{node}", other))
        for node in range(3)
        for other in _dialled(federation, node)
    ]
    assert len(dialled) == len(set(dialled)) == 3


def test_a_node_without_a_port_dials_and_is_not_dialled():
    federation = _federation(None, "h:2", "h:3")
    assert _dialled(federation, 0) == {"n1": "h:2", "n2": "h:3"}
    assert _dialled(federation, 1) == {}


def test_an_address_of_ones_own_takes_the_place_of_the_plans():
    federation = _federation("h:1", "h:2", "h:3")
    assert _dialled(federation, 1, {"n0": "gate:9"}) == {"n0": "gate:9"}
    assert _dialled(federation, 0, {"n1": "gate:9"}) == {}  # that end dials


def test_two_neighbours_without_a_port_are_refused():
    with pytest.raises(PlanError, match="n0 and n1 are neighbours, but neither"):
        neighbours_of(0, _federation(None, None, "h:3"), {})


def test_what_the_plan_leaves_open_becomes_a_tree():
    plan, averaging = settled(_federation("h:1", "h:2", consensus="auto"))
    assert plan.consensus == averaging.name == "tree"


def test_no_letter_is_larger_than_the_largest():
    n, Q = PLAN.n_units, PLAN.n_outputs
    for solver in ("gram", "krylov"):  # which may turn to the Gram matrix too
        largest = largest_letter(PLAN.replace(solver=solver), 4)
        assert largest >= Gram().message_size(Q, n) + 4
    with pytest.raises(PlanError, match="Choose a smaller width"):
        largest_letter(PLAN.replace(solver="gram", width=30_000), 4)
