"""One rule for the names of nodes, wherever a name comes from."""

from __future__ import annotations

import pytest

from dssfn.errors import PlanError
from dssfn.federation import Member
from dssfn.node_names import check_node_name, is_node_name
from dssfn.setup.pki import issue, make_authority

GOOD = ["a", "north", "n0", "a-b", "a.b", "node.north.example.org", "a" * 63]
BAD = [
    "", "A", "a_b", "-a", "a-", ".", "..", ".a", "a.", "a..b", "../../x", "a/b", "a\\b",
    "*", "*.example.org", "a\0b", "a\n", "a b", "\u00e4", "a" * 64, "a." * 100 + "a",
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_name_like_a_host_s_is_a_node_name(name):
    assert is_node_name(name)
    check_node_name("`name`", name)
    assert Member(name).name == name


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_breaks_the_rule_is_refused_by_all_who_take_one(name):
    assert not is_node_name(name)
    with pytest.raises(PlanError, match="lower-case letters") as caught:
        check_node_name("`NAME`", name)
    assert "`NAME`" in str(caught.value)
    assert "\0" not in str(caught.value)
    with pytest.raises(PlanError, match="lower-case letters"):
        Member(name)
    with pytest.raises(PlanError, match="lower-case letters"):
        issue(make_authority("a lab"), name)
