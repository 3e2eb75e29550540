"""Metrics of a running node, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dssfn.errors import PlanError, TransportError
from dssfn.federation import split_address
from dssfn.node.runtime import NodeTraining

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
except ImportError as exc:  # pragma: no cover
    raise TransportError(
        "The Prometheus client is not installed: pip install 'dssfn[grpc]'"
    ) from exc


class _Collector:
    """A collector that reads the training when asked, so that nothing counts twice."""

    def __init__(self, training: NodeTraining) -> None:
        self._training = training

    def collect(self) -> Iterator[Any]:
        training, transport = self._training, self._training.transport
        at, solved = transport.at, training.progress
        for name, text, value in (
            ("layer", "Layer that is being trained.", at.layer),
            ("step", "Averagings since this node started.", at.step),
            ("round", "Rounds of the current averaging.", at.round),
            (
                "epoch",
                "How often all nodes had to go back to an earlier layer together.",
                transport.epoch,
            ),
            ("layers_solved", "Layers.", solved.n_layers if solved else 0),
        ):
            yield GaugeMetricFamily(f"dssfn_{name}", text, value)
        if training.records:
            last = training.records[max(training.records)]
            yield GaugeMetricFamily("dssfn_cost", "Cost over all nodes.", last.cost)
        yield from self._links()

    def _links(self) -> Iterator[Any]:
        accounts = self._training.transport.accounts()
        for name, text, attribute in (
            ("sent_bytes", "Bytes of letters sent to a neighbour.", "bytes_sent"),
            ("received_bytes", "Bytes received from a neighbour.", "bytes_received"),
            (
                "wait_seconds",
                "Seconds spent waiting for a neighbour.",
                "seconds_waited",
            ),
            ("connections", "Connections made to a neighbour so far.", "n_connections"),
        ):
            family = CounterMetricFamily(f"dssfn_peer_{name}", text, labels=["peer"])
            for peer, (account, _) in accounts.items():
                family.add_metric([peer], getattr(account, attribute))
            yield family
        up = GaugeMetricFamily(
            "dssfn_peer_up", "Whether a neighbour is connected.", labels=["peer"]
        )
        for peer, (_, is_up) in accounts.items():
            up.add_metric([peer], is_up)
        yield up


@contextmanager
def serve_metrics(training: NodeTraining, address: str) -> Iterator[None]:
    """Answer GET /metrics until the context ends."""
    host, port = split_address(address)
    registry = CollectorRegistry()
    registry.register(_Collector(training))
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as exc:
        raise PlanError(
            f"`metrics`: {address} cannot be opened ({exc.strerror}). Choose another "
            "address."
        ) from exc
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
