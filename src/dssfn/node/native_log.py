"""Lines that native code writes to standard error, as lines of the log.

gRPC's core turns strangers away before Python hears of them, and says so on file
descriptor 2 alone.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dssfn.transports.grpc.pace import Tally
from dssfn.transports.grpc.troubles import ANSWERING, likely_cause
from dssfn.transports.grpc.wire import excerpt

log = logging.getLogger("dssfn.node")

_REFUSED = re.compile(r"Handshake failed.*?(?:OPENSSL_internal:|: )([^:]+(?:: .*)?)$")
PERIOD = 60.0  # seconds; the same refusal is logged a few times in it, then counted


@contextmanager
def native_lines() -> Iterator[None]:
    """Log what is written to descriptor 2; Python's own stderr stays as it is."""
    sys.stderr.flush()
    kept, before = os.dup(2), sys.stderr
    end, start = os.pipe()
    os.dup2(start, 2)
    os.close(start)
    sys.stderr = os.fdopen(kept, "w", buffering=1, errors="replace")
    reader = threading.Thread(target=_read, args=(end,), daemon=True)
    reader.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)  # closes the pipe's start, which ends the reader
        reader.join(timeout=1)
        ours, sys.stderr = sys.stderr, before
        ours.close()


def _read(end: int) -> None:
    tally = Tally(log, period=PERIOD)
    with os.fdopen(end, errors="replace") as lines:
        for line in lines:
            line = line.strip()
            refused = _REFUSED.search(line)
            if refused:
                reason = refused[1].replace("_", " ").lower()
                sign, meaning = likely_cause(reason, ANSWERING)
                cause = f" ({meaning})" if sign else ""
                text = f"refused a connection: {excerpt(reason)}{cause}"
                tally.note(("refused", sign), logging.WARNING, text)
            elif line:
                # Some lines repeat what a stranger sent.
                tally.note("other", logging.DEBUG, excerpt(line))
