"""The folder that `--out` names: checked before training, filled after it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dssfn._atomic import check_writable, write_atomically
from dssfn.errors import InputError
from dssfn.modelfile import save_network
from dssfn.results import MODEL_FILE, write_result
from dssfn.runs import Outcome

LAYERS_FILE = "layers.jsonl"


@contextmanager
def out_folder(path: Path | None) -> Iterator[None]:
    """Make sure of a writable folder; leave no empty one if what follows fails."""
    if path is None:
        yield
        return
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
            check_writable(path)
        except OSError as exc:
            raise InputError(
                f"`--out` must be a folder to write to, got `{path}`: {exc.strerror}."
            ) from exc
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # not empty, or never made
            for folder in made:
                folder.rmdir()
        raise


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Write the model, all metrics with the settings, and one row per layer."""
    rows = msgspec.to_builtins(outcome.result.layers)
    layers = "".join(json.dumps(row) + "\n" for row in rows)
    save_network(outcome.network, path / MODEL_FILE)
    write_atomically(path / LAYERS_FILE, layers.encode())
    write_result(outcome.result, path)
