"""The folder that `--out` names: checked before training, filled after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dssfn._atomic import make_writable, no_empty_folders, write_atomically
from dssfn.errors import DataError
from dssfn.modelfile import save_network
from dssfn.results import MODEL_FILE, read_result, write_result
from dssfn.runs import Outcome

LAYERS_FILE = "layers.jsonl"


@contextmanager
def out_folder(path: Path | None) -> Iterator[None]:
    """Make sure of a writable folder; leave no empty one if what follows fails."""
    if path is None:
        yield
        return
    with no_empty_folders(path):
        make_writable(path, "--out")
        yield


def held_model(path: Path) -> tuple[bytes, str] | None:
    """Return the bytes of the model that a folder holds, and what it was trained on.

    None if there is no model in it.
    """
    try:
        content = (path / MODEL_FILE).read_bytes()
    except OSError:
        return None
    try:
        data = read_result(path).data
    except DataError:
        data = None
    return content, data or "other data"


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Write the model, all metrics with the settings, and one row per layer."""
    rows = msgspec.to_builtins(outcome.result.layers)
    layers = "".join(json.dumps(row) + "\n" for row in rows)
    save_network(outcome.network, path / MODEL_FILE)
    write_atomically(path / LAYERS_FILE, layers.encode())
    write_result(outcome.result, path)
