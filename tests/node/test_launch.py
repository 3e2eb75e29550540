"""How a node starts, and what it leaves."""

from __future__ import annotations

import socket
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from dssfn import Plan, Shard, build_topology, simulate
from dssfn.errors import TransportError
from dssfn.exit_codes import FAILED, exit_code_of
from dssfn.results import read_result
from dssfn.shard import one_hot

pytest.importorskip("grpc", reason="needs the extra dssfn[grpc]")
from dssfn.node.launch import _finish, _metrics_of
from dssfn.node.page_server import open_port
from dssfn.node.preflight import check_port
from dssfn.transports import Account


@pytest.fixture(scope="module")
def simulated():
    X = np.random.default_rng(0).normal(size=(3, 40))
    T = one_hot(np.arange(40) % 2, 2)
    shards = [Shard(X[:, m::3], T[:, m::3]) for m in range(3)]
    plan = Plan(n_features=3, classes=("a", "b"), n_layers=2, width=20)
    return simulate(shards, plan, build_topology("path", 3))


@pytest.mark.parametrize("n_known", [3, 2, 0])
def test_a_node_tells_of_the_layers_that_it_has_seen_end(simulated, n_known, tmp_path):
    training = SimpleNamespace(
        records={record.layer: record for record in simulated.history[:n_known]},
        topology=build_topology("path", 3),
        plan=simulated.networks[0].plan,
        node=0,
        scores=None,
        mask_keys=None,
        noise=None,
        took_part=[],
        transport=SimpleNamespace(accounts=lambda: {"b": (Account(bytes_sent=8), 0)}),
    )
    result = _finish(simulated.networks[0], training, "abc", tmp_path, 1.5)
    assert read_result(tmp_path) == result
    assert [row.cost for row in result.layers] == [
        record.cost for record in simulated.history[:n_known]
    ]
    last = simulated.history[-1].train_accuracy if n_known == 3 else None
    assert result.train_accuracy == last
    assert result.peers["b"].bytes_sent == 8


NOT_NEEDED = {
    "joblib",
    "matplotlib",
    "mpi4py",
    "networkx",
    "pandas",
    "polars",  # until a table is opened
    "prometheus_client",  # unless metrics are asked for
    "pyarrow",
    "sklearn",
}


def test_a_node_imports_nothing_that_it_does_not_need():
    code = "import dssfn.node.launch, sys; print(*sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not NOT_NEEDED & set(shown.stdout.split())


def test_metrics_without_their_client_are_refused_before_the_node_meets_others(
    monkeypatch,
):
    monkeypatch.delitem(sys.modules, "dssfn.node.metrics", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(TransportError, match="Prometheus client is not installed"):
        _metrics_of("127.0.0.1:9400")


def test_a_port_that_is_taken_ends_a_node_alike_whatever_it_is_for():
    """It may be free again later, so the node may be started again: exit code 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for opened in (_metrics_of, open_port, partial(check_port, "listen")):
            with pytest.raises(TransportError, match=f"{address} cannot be") as caught:
                opened(address)
            assert exit_code_of(caught.value) == FAILED
