"""What surrounds the work of a node, whatever it meets the others for: its log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dssfn.federation import Federation
from dssfn.node.log_file import LogFile
from dssfn.node.log_format import format_of
from dssfn.node.native_log import native_lines
from dssfn.node.spec import NodeSpec

LOG_FILE = "node.log"

log = logging.getLogger("dssfn.node")


@contextmanager
def session(
    spec: NodeSpec, federation: Federation, out: Path, warnings: Iterable[str]
) -> Iterator[None]:
    """Log what a node does, from its start to its end.

    Parameters
    ----------
    spec, federation : NodeSpec, Federation
        The node, and its plan.
    out : Path
        The folder of the log.
    warnings : iterable of str
        What its operator should know before the node meets the others.
    """
    with native_lines(), _logging(spec, out / LOG_FILE):
        plan = federation.fingerprint()[:16]
        log.info("%s starts: plan %s", spec.name, plan, extra={"plan": plan})
        for warning in warnings:
            log.warning("%s", warning)
        yield


@contextmanager
def _logging(spec: NodeSpec, path: Path) -> Iterator[None]:
    """Log to standard error and to a file that only its owner can read."""
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(
        format_of(spec.log_format, spec.name, "%(asctime)s %(message)s", "%H:%M:%S")
    )
    shown.setLevel(logging.INFO)
    kept = LogFile(path, max_bytes=spec.log_max_bytes, backups=spec.log_backups)
    kept.setFormatter(
        format_of(spec.log_format, spec.name, "%(asctime)s %(levelname)s %(message)s")
    )
    log.setLevel(logging.DEBUG)
    for handler in (shown, kept):
        log.addHandler(handler)
    try:
        yield
    finally:
        for handler in (shown, kept):
            log.removeHandler(handler)
        kept.close()
