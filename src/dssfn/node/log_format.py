"""A line of a node's log: as text for people, or as JSON for programs.

Both say the same words. What JSON has beside them are numbers and names that stand in
these words too, so that nobody needs to parse a sentence.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from dssfn._plain_text import printable

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

# Given as `extra` to the logger; nothing else of a record becomes part of a line.
FIELDS = (
    "plan",
    "layer",
    "units",
    "cost",
    "train_error_db",
    "validation_error_db",
    "train_accuracy",
    "averagings",
    "epoch",
    "peer",
    "sha256",
)


class TextLines(logging.Formatter):
    """A log format without escape codes or line breaks that would forge another line.

    That holds for all that is logged: names on certificates, labels, error texts.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        return printable(super().format(record))


class JsonLines(TextLines):
    """One JSON object a line: `time`, `level`, `node`, `message`, and `FIELDS`.

    Parameters
    ----------
    node : str
        The name of the node, which all lines carry.

    Examples
    --------
    >>> said = {"msg": "layer 8 begins", "layer": 8, "levelname": "INFO", "created": 0}
    >>> line = JsonLines("north").format(logging.makeLogRecord(said))
    >>> line[:52]
    '{"time": "1970-01-01T00:00:00.000Z", "level": "INFO"'
    >>> line[54:]
    '"node": "north", "message": "layer 8 begins", "layer": 8}'
    """

    def __init__(self, node: str) -> None:
        super().__init__("%(message)s")
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z",
            "level": record.levelname,
            "node": self._node,
            "message": super().format(record),
        }
        given = vars(record)
        line |= {name: given[name] for name in FIELDS if _is_there(given.get(name))}
        return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _is_there(value: Any) -> bool:
    """Return whether JSON can have a value: an error of -inf dB has no number there."""
    return value is not None and not (isinstance(value, float) and not isfinite(value))


def format_of(
    log_format: str, node: str, text: str, dates: str | None = None
) -> TextLines:
    """Return the format of lines.

    Parameters
    ----------
    log_format : {"text", "json"}
        The setting of the node.
    node : str
        Its name.
    text, dates : str
        What a line of text looks like, as `logging.Formatter` takes it.
    """
    return JsonLines(node) if log_format == JSON else TextLines(text, dates)
