"""Checkpoints: what a node must remember to go on after it was killed.

Written after every layer, whole or not at all, and verified when read. Where members
may leave, it is written after every total, too: see `dssfn.node.course`.

How this works. When nodes go back together, the layers that they solve again are saved
as the checkpoint, and the one that had more layers is set aside until it is overtaken.
So one member that claims to have lost everything, and leaves, destroys nobody's work.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as decode_tensors
from safetensors.numpy import save as encode_tensors

from dssfn._atomic import write_atomically
from dssfn._typing import Integers, Numbers
from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.node.course import Stint, named_totals, take_totals
from dssfn.progress import Progress
from dssfn.records import LayerRecord
from dssfn.training import check_stages

log = logging.getLogger("dssfn.node")

CHECKPOINT_FILE = "checkpoint.dssfn"
VERSION = 2
ERRORS = ("validation", "tries", "before")  # names of arrays of a stage


_Found: TypeAlias = tuple[Progress | None, tuple[Integers, ...]]
"""Layers that are solved, and the totals of the next one."""


class _Header(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    version: int
    belongs_to: dict[str, str | int]  # plan and data, as given to `Checkpoints`
    before: int
    iterations: tuple[int, ...]
    records: tuple[LayerRecord, ...]
    content: str  # digest of the tensors
    stints: tuple[Stint, ...] = ()  # who found them, if nodes may come and go


@dataclass(frozen=True, slots=True)
class Saved:
    """The layers that a node has saved of its training.

    Parameters
    ----------
    furthest : Progress, optional
        The most layers that were ever saved; None if there are none that can be used.
    latest : Progress, optional
        The layers that were saved last, which may be fewer.
    records : tuple of LayerRecord
        The records of the furthest layers.
    stints : tuple of Stint
        Who found the latest layers, if nodes may come and go.
    totals : tuple of arrays
        The totals of the layer that comes after the latest, as far as they were found.
    """

    furthest: Progress | None = None
    latest: Progress | None = None
    records: tuple[LayerRecord, ...] = ()
    stints: tuple[Stint, ...] = ()
    totals: tuple[Integers, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The place where one node keeps its checkpoint.

    Parameters
    ----------
    path : Path
        The file. Nobody but its owner can read it: it tells how many samples there are.
    belongs_to : dict
        What must be the same when training goes on, such as the plan's fingerprint and
        the number of samples.
    """

    path: Path
    belongs_to: dict[str, str | int]

    @property
    def aside(self) -> Path:
        """The path of a checkpoint with more layers, kept until it is overtaken."""
        return self.path.with_name(f"{self.path.name}.furthest")

    def save(
        self,
        progress: Progress | None,
        records: tuple[LayerRecord, ...],
        stints: tuple[Stint, ...] = (),
        totals: tuple[Integers, ...] = (),
    ) -> None:
        """Replace the checkpoint; one that has more layers is kept beside it."""
        progress = progress or Progress((), ())
        tensors = progress.tensors() | named_totals(totals)
        header = _Header(
            version=VERSION,
            belongs_to=self.belongs_to,
            before=progress.before,
            iterations=progress.iterations,
            records=records,
            content=_digest(tensors),
            stints=stints,
        )
        text = msgspec.json.encode(header)
        content = len(text).to_bytes(8, "little") + text + encode_tensors(tensors)
        solved = len(progress.stages)
        if _n_solved(self.path) > max(solved, _n_solved(self.aside)):
            self.path.replace(self.aside)
        write_atomically(self.path, content, private=True)
        if solved >= _n_solved(self.aside):
            self.aside.unlink(missing_ok=True)

    def check(self) -> None:
        """Raise the error of `load` early: nothing but what it belongs to is read."""
        for path in (self.aside, self.path):
            if header := _read_header(path):
                self._check_owner(path, header)

    def load(self, plan: Plan) -> Saved:
        """Return all that was saved and can be used.

        Raises
        ------
        PlanError
            If it belongs to another plan or to other data.
        """
        (aside, _), of_aside = self._read(self.aside, plan)
        (latest, totals), of_latest = self._read(self.path, plan)
        n_latest = len(latest.stages) if latest else 0
        stints = of_latest.stints if of_latest else ()
        is_further = aside is not None and len(aside.stages) > n_latest
        header = of_aside if is_further else of_latest
        records = header.records if header else ()
        furthest = aside if is_further else latest
        return Saved(furthest, latest, records, stints, totals)

    @property
    def last_epoch(self) -> int:
        """The last epoch in which something was found that is saved; 0 if none is."""
        headers = (_read_header(path) for path in (self.aside, self.path))
        stints = [stint for header in headers if header for stint in header.stints]
        return max((stint.epoch for stint in stints), default=0)

    def forget(self) -> None:
        """Remove all that was saved."""
        self.path.unlink(missing_ok=True)
        self.aside.unlink(missing_ok=True)

    def _read(self, path: Path, plan: Plan) -> tuple[_Found, _Header | None]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return (None, ()), None
        try:
            header, found = _decode(data, plan)
        except (ValueError, IndexError, SafetensorError, msgspec.MsgspecError) as exc:
            log.warning(
                "checkpoint %s cannot be used (%s): starting from scratch", path, exc
            )
            return (None, ()), None
        self._check_owner(path, header)
        return found, header

    def _check_owner(self, path: Path, header: _Header) -> None:
        for what, value in self.belongs_to.items():
            was = header.belongs_to.get(what)
            if was != value:
                raise PlanError(
                    f"`{path}` belongs to another training: {what} was {_brief(was)} "
                    f"and is now {_brief(value)}. Restore the old value, or start "
                    "from scratch: `dssfn node run NODE --fresh`."
                )


def _brief(value: str | int | None) -> str:
    """Return a value, of a digest the first digits."""
    text = str(value)
    return f"{text[:8]}…" if len(text) > 16 else text


def _n_solved(path: Path) -> int:
    """Return how many stages a usable checkpoint has; 0 if there is none."""
    header = _read_header(path)
    return len(header.iterations) if header else 0


def _read_header(path: Path) -> _Header | None:
    """Return the header of a checkpoint; None if there is none that can be read."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            text = file.read(min(length, path.stat().st_size))
        return msgspec.json.decode(text, type=_Header)
    except (FileNotFoundError, UnicodeDecodeError, msgspec.MsgspecError):
        return None


def _digest(tensors: Mapping[str, Numbers]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        A = tensors[name]
        digest.update(name.encode() + A.astype(A.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _decode(data: bytes, plan: Plan) -> tuple[_Header, _Found]:
    end = 8 + int.from_bytes(data[:8], "little")
    header = msgspec.json.decode(data[8:end], type=_Header)
    tensors: dict[str, Any] = decode_tensors(data[end:])
    if header.version != VERSION or header.content != _digest(tensors):
        raise ValueError("its version or checksum is wrong")
    totals = take_totals(tensors)
    if any(A.dtype != np.float64 for A in tensors.values()):
        raise ValueError("its numbers have the wrong type")
    if not header.iterations:
        return header, (None, totals)
    empty = Progress((), header.iterations, header.before)
    progress = empty.with_tensors(tensors)
    check_stages(plan, progress)
    return header, (progress, totals)


def fingerprint(progress: Progress | None) -> int:
    """Return 48 bits of a digest: a whole number that a float64 holds exactly."""
    if progress is None:
        return 0
    return _first_bits(progress.tensors())


def model_fingerprint(progress: Progress) -> int:
    """Return the same of what predictions are made of.

    Errors that layers were chosen by are left out: where they are found from the sums
    of a layer, their last bits depend on the processor.
    """
    tensors = progress.tensors().items()
    return _first_bits(
        {name: A for name, A in tensors if name.partition(".")[0] not in ERRORS}
    )


def _first_bits(tensors: Mapping[str, Numbers]) -> int:
    return int(_digest(tensors)[:12], 16)
