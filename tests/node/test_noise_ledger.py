"""What a node remembers of its noise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.errors import DataError, PlanError
from dssfn.federation import Federation, Graph, Member
from dssfn.node.few_rows import check_numbers, check_rows
from dssfn.node.noise_ledger import ledger_path, noise_of, spent_so_far

pytest.importorskip("dp_accounting")

SUMS = np.arange(5)


def federation(**settings):
    ranges = {"input_low": 0.0, "input_high": 1.0}
    plan = Plan(n_features=2, classes=(0, 1), **ranges, **settings)
    nodes = tuple(map(Member, "abc"))
    return Federation(nodes=nodes, graph=Graph(kind="path"), training=plan)


PRIVATE = federation(epsilon=1.0)


def test_a_restarted_node_has_the_same_noise_and_knows_what_it_spent(tmp_path):
    first = noise_of(tmp_path, PRIVATE)
    assert spent_so_far(tmp_path, PRIVATE) == 0
    noise = first.share("scaling", SUMS, 10**6)
    path = ledger_path(tmp_path, PRIVATE)
    assert path.stat().st_mode & 0o777 == 0o600
    again = noise_of(tmp_path, PRIVATE)
    assert again.releases == first.releases
    assert spent_so_far(tmp_path, PRIVATE) == first.spent > 0
    assert np.array_equal(again.share("scaling", SUMS, 10**6), noise)
    again.share("layer 1", SUMS, 10**6)
    with pytest.raises(PlanError, match="is spent"):
        again.share("layer 1", SUMS + 1, 10**6)


def test_the_file_tells_nothing_of_the_sums_to_those_without_the_key(tmp_path):
    """Its digests are keyed: nobody can try sums until one fits."""
    digests = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        source = noise_of(tmp_path / folder, PRIVATE)
        source.share("scaling", SUMS, 10**6)
        digests.append(source.releases[0].digest)
    assert digests[0] != digests[1]


def test_another_plan_has_a_budget_of_its_own(tmp_path):
    noise_of(tmp_path, PRIVATE).share("layer 1", SUMS, 10**6)
    other = noise_of(tmp_path, federation(epsilon=2.0))
    assert other.releases == []
    assert noise_of(tmp_path, federation()) is None


def test_two_processes_of_one_node_have_one_key_and_one_budget(tmp_path):
    one, other = noise_of(tmp_path, PRIVATE), noise_of(tmp_path, PRIVATE)
    assert one.key == other.key
    noise = one.share("layer 1", SUMS, 10**6)
    assert np.array_equal(other.share("layer 1", SUMS, 10**6), noise)
    with pytest.raises(PlanError, match="is spent"):
        other.share("layer 1", SUMS + 1, 10**6)


def test_a_ledger_that_is_gone_or_replaced_stops_the_node(tmp_path):
    source = noise_of(tmp_path, PRIVATE, has_begun=False)
    ledger_path(tmp_path, PRIVATE).unlink()
    with pytest.raises(PlanError, match="was replaced while this node was running"):
        source.share("scaling", SUMS, 10**6)
    with pytest.raises(PlanError, match="missing although this node has begun"):
        noise_of(tmp_path, PRIVATE, has_begun=True)


def test_few_rows_do_not_keep_a_node_out_where_noise_hides_them():
    spec = SimpleNamespace(data="data.csv")
    check_rows(spec, PRIVATE, 3)
    check_numbers(spec, PRIVATE, [("age", 1)])
    with pytest.raises(DataError, match="at least 20 rows"):
        check_rows(spec, federation(), 3)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"key": 3}'])
def test_a_file_that_cannot_be_read_stops_the_node(tmp_path, content):
    ledger_path(tmp_path, PRIVATE).write_bytes(content)
    with pytest.raises(
        PlanError, match="records how much of the privacy budget is spent"
    ):
        noise_of(tmp_path, PRIVATE)
