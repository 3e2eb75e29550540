"""Metrics of a running node, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dssfn._version import __version__
from dssfn.errors import TransportError
from dssfn.federation import split_address
from dssfn.node.status import StatusSource

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        InfoMetricFamily,
    )
except ImportError as exc:  # pragma: no cover
    raise TransportError(
        "The Prometheus client is not installed: pip install 'dssfn[grpc]'"
    ) from exc


class _Collector:
    """A collector that reads the training when asked, so that nothing counts twice."""

    def __init__(self, source: StatusSource) -> None:
        self._source = source

    def collect(self) -> Iterator[Any]:
        source, training = self._source, self._source.training
        transport = training.transport
        at, solved = transport.at, training.progress
        yield InfoMetricFamily(
            "dssfn_node",
            "The node, its version, and the first digits of its plan's fingerprint.",
            {
                "node": training.names[training.node],
                "plan": source.plan,
                "version": __version__,
            },
        )
        for name, text, value in (
            (
                "layer",
                "The layer being agreed on; negative before the first.",
                at.layer,
            ),
            ("step", "Averagings since the start.", at.step),
            ("round", "Exchanges with neighbours in this averaging.", at.round),
            (
                "epoch",
                "How often all nodes went back to a common checkpoint.",
                transport.epoch,
            ),
            ("layers_solved", "Finished layers.", solved.n_layers if solved else 0),
            (
                "certificate_expiry_timestamp_seconds",
                "When this node's certificate ends, in seconds since 1970.",
                source.keyring.current().expires.timestamp(),
            ),
        ):
            yield GaugeMetricFamily(f"dssfn_{name}", text, value)
        if training.records:
            last = training.records[max(training.records)]
            text = "Squared error of all nodes' training samples after the last layer."
            yield GaugeMetricFamily("dssfn_cost", text, last.cost)
        yield from self._links()

    def _links(self) -> Iterator[Any]:
        accounts = self._source.training.transport.accounts()
        for name, text, attribute in (
            ("sent_bytes", "Bytes of messages sent to a neighbour.", "bytes_sent"),
            ("received_bytes", "Bytes received from a neighbour.", "bytes_received"),
            ("wait_seconds", "Seconds spent waiting for it.", "seconds_waited"),
            ("connections", "Connections with a neighbour so far.", "n_connections"),
        ):
            family = CounterMetricFamily(f"dssfn_peer_{name}", text, labels=["peer"])
            for peer, (account, _) in accounts.items():
                family.add_metric([peer], getattr(account, attribute))
            yield family
        up = GaugeMetricFamily(
            "dssfn_peer_up",
            "1 while a neighbour is connected, else 0.",
            labels=["peer"],
        )
        for peer, (_, is_up) in accounts.items():
            up.add_metric([peer], is_up)
        yield up


@contextmanager
def serve_metrics(source: StatusSource, address: str) -> Iterator[None]:
    """Answer GET /metrics until the context ends."""
    host, port = split_address(address)
    registry = CollectorRegistry()
    registry.register(_Collector(source))
    try:
        server, thread = start_http_server(port, addr=host, registry=registry)
    except OSError as exc:
        raise TransportError(  # not the file's fault: it may pass by itself
            f"`metrics`: {address} cannot be opened ({exc.strerror}). Choose another "
            "address."
        ) from exc
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
