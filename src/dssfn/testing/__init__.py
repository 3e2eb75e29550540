"""For those who write a transport: the laws that it must obey."""

from __future__ import annotations

from dssfn.testing.transport_laws import check_transport, ring_links

__all__ = ["check_transport", "ring_links"]
