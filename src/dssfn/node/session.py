"""What surrounds the work of a node, whatever it meets the others for: its log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dssfn._plain_text import printable
from dssfn.federation import Federation
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
    with native_lines(), _logging(out / LOG_FILE):
        log.info("%s starts: plan %s", spec.name, federation.fingerprint()[:16])
        for warning in warnings:
            log.warning("%s", warning)
        yield


class _OneLine(logging.Formatter):
    """A log format without escape codes or line breaks that would forge another line.

    That holds for all that is logged: names on certificates, labels, error texts.
    """

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextmanager
def _logging(path: Path) -> Iterator[None]:
    """Log to standard error and to a file that only its owner can read."""
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(_OneLine("%(asctime)s %(message)s", "%H:%M:%S"))
    shown.setLevel(logging.INFO)
    path.touch(mode=0o600)
    kept = logging.FileHandler(path, encoding="utf-8", errors="replace")
    kept.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    log.setLevel(logging.DEBUG)
    for handler in (shown, kept):
        log.addHandler(handler)
    try:
        yield
    finally:
        for handler in (shown, kept):
            log.removeHandler(handler)
        kept.close()
