"""The course of a training whose members change: what was found, and by whom.

How this works. All that nodes find out together are the totals of averagings, one after
the other; a layer follows from some of them. Averagings that one group did in a row are
a *stint*. A node keeps the totals of the layer that is being solved, so that a group
which goes on after a member has left uses them, also after all processes were started
again: were they found again without it, the difference would show its sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as decode_tensors
from safetensors.numpy import save as encode_tensors

from dssfn._typing import Integers, NodeId
from dssfn.config import Plan
from dssfn.progress import Progress
from dssfn.training import check_stages

TOTAL = "total"  # the name of the totals of a layer that is not solved yet
_LENGTH = 8  # bytes of the length of a head


class Stint(msgspec.Struct, frozen=True, array_like=True):
    """Averagings that one group did in a row.

    Parameters
    ----------
    first : int
        The number of the first of them, from 0.
    epoch : int
        The group's epoch.
    members : tuple of int
        The group's members.
    """

    first: int
    epoch: int
    members: tuple[NodeId, ...]


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    iterations: tuple[int, ...]
    before: int
    stints: tuple[Stint, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What a training has found so far.

    Parameters
    ----------
    progress : Progress, optional
        The layers that are solved; None at the start.
    totals : tuple of arrays
        The totals of averagings since then.
    stints : tuple of Stint
        Who found them, in order.

    Examples
    --------
    >>> course = Course().heard(np.array([3]), 1, (0, 1)).heard(np.array([4]), 2, (0,))
    >>> course.n_found, course.epoch, [stint.members for stint in course.stints]
    (2, 2, [(0, 1), (0,)])
    """

    progress: Progress | None = None
    totals: tuple[Integers, ...] = ()
    stints: tuple[Stint, ...] = ()

    @property
    def n_found(self) -> int:
        """The number of averagings up to here."""
        solved = self.progress.n_averagings if self.progress else 0
        return solved + len(self.totals)

    @property
    def epoch(self) -> int:
        """The epoch of the last averaging; 0 at the start."""
        return self.stints[-1].epoch if self.stints else 0

    @property
    def n_stages(self) -> int:
        """The number of stages that are solved."""
        return len(self.progress.stages) if self.progress else 0

    @property
    def place(self) -> tuple[int, int, int]:
        """How far the course is: epoch, averagings and stages, in this order.

        Of two courses the one with the later epoch counts, and of one epoch the longer
        one, which begins like the other. Of two that have heard the same totals, one
        may have solved a stage by them that the other has not.
        """
        return self.epoch, self.n_found, self.n_stages

    def heard(self, total: Integers, epoch: int, members: tuple[NodeId, ...]) -> Course:
        """Return the course with one more total."""
        stints = self.stints
        if self.epoch != epoch:
            stints = (*stints, Stint(self.n_found, epoch, members))
        return replace(self, totals=(*self.totals, total), stints=stints)

    def solved(self, progress: Progress) -> Course:
        """Return the course with one more layer, which the totals were for."""
        return replace(self, progress=progress, totals=())

    def only_solved(self) -> Course:
        """Return the course without the totals of a layer that is not solved."""
        solved = self.progress.n_averagings if self.progress else 0
        stints = tuple(stint for stint in self.stints if stint.first < solved)
        return Course(self.progress, (), stints)

    def took_part(self) -> list[tuple[NodeId, ...]]:
        """Return, for every stage, the members whose sums it was solved from."""
        if self.progress is None:
            return []
        firsts = np.cumsum([self.progress.before, *self.progress.iterations[:-1]])
        return [members_at(self.stints, int(first)) for first in firsts]

    def encoded(self) -> bytes:
        """Return the course as bytes, which are the same on all nodes."""
        progress = self.progress or Progress((), ())
        head = _Head(progress.iterations, progress.before, self.stints)
        tensors = progress.tensors() | named_totals(self.totals)
        text = msgspec.json.encode(head)
        return len(text).to_bytes(_LENGTH, "little") + text + encode_tensors(tensors)

    @classmethod
    def decoded(cls, data: bytes, plan: Plan) -> Course:
        """Return the course that bytes hold; ValueError if no training has it."""
        end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
        try:
            head = msgspec.json.decode(data[_LENGTH:end], type=_Head)
            tensors = decode_tensors(data[end:])
        except (msgspec.MsgspecError, SafetensorError, UnicodeDecodeError) as exc:
            raise ValueError("it cannot be read") from exc
        totals = take_totals(tensors)
        if any(
            A.dtype != np.float64 or not np.isfinite(A).all() for A in tensors.values()
        ):
            raise ValueError("it holds numbers that are not finite")
        progress = None
        if head.iterations:
            empty = Progress((), head.iterations, head.before)
            progress = empty.with_tensors(tensors)
            check_stages(plan, progress)
        return cls(progress, totals, head.stints)


def named_totals(totals: Sequence[Integers]) -> dict[str, Integers]:
    """Return totals by their names in a file, or in what is handed over.

    >>> list(named_totals([np.array([3]), np.array([4])]))
    ['total.0', 'total.1']
    """
    return {f"{TOTAL}.{k}": np.ascontiguousarray(A) for k, A in enumerate(totals)}


def take_totals(tensors: dict[str, Any]) -> tuple[Integers, ...]:
    """Take totals out of arrays with names; ValueError if they are no integers.

    >>> take_totals({"total.0": np.array([3])})
    (array([3]),)
    """
    keys = [key for key in tensors if key.startswith(f"{TOTAL}.")]
    found = {int(key.partition(".")[2]): tensors.pop(key) for key in keys}
    if any(A.dtype != np.int64 for A in found.values()):
        raise ValueError("its totals are not integers")
    return tuple(found[number] for number in sorted(found))


def digest_of(data: bytes) -> int:
    """Return 48 bits of a digest: a whole number that a float64 holds exactly."""
    return int(hashlib.sha256(data).hexdigest()[:12], 16)


def members_at(stints: Sequence[Stint], number: int) -> tuple[NodeId, ...]:
    """Return who took part in an averaging; nobody is known if there are no stints.

    >>> members_at([Stint(0, 1, (0, 1)), Stint(3, 2, (0,))], 2)
    (0, 1)
    """
    found = [stint.members for stint in stints if stint.first <= number]
    return found[-1] if found else ()
