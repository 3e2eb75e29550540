"""The ranks of an MPI job as one command: they agree, fail and end together."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dssfn._plain_text import one_line
from dssfn._typing import Array
from dssfn.cores import n_cores
from dssfn.errors import AgreementError, DssfnError
from dssfn.exit_codes import exit_code_of
from dssfn.hosting import spread
from dssfn.transports.mpi import load_mpi, wait_for

_LONGEST_ERROR = 4000  # bytes
_LAST_WORDS = 0.25  # seconds that mpiexec needs to pass on what a rank has printed
_EXPECTED = (DssfnError, OSError, MemoryError)


class AgreedEnd(SystemExit):
    """The end of all ranks with this exit code, which each of them knows."""


class Job:
    """All ranks that `mpiexec` has started; every rank makes one.

    A method that talks to other ranks must be called by all of them.
    """

    def __init__(self) -> None:
        self._MPI = load_mpi()
        self.comm = self._MPI.COMM_WORLD
        self.rank: int = self.comm.Get_rank()
        self.n_ranks: int = self.comm.Get_size()

    @property
    def is_first(self) -> bool:
        """Whether this rank speaks for all."""
        return self.rank == 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """End all ranks if what is inside fails on some; print each error once."""
        error, code = "", 0
        try:
            yield
        except _EXPECTED as exc:
            error, code = _one_line(exc), exit_code_of(exc)
        record = np.zeros(_LONGEST_ERROR, np.uint8)
        text = bytes([code]) + error.encode()[: _LONGEST_ERROR - 1]
        record[: len(text)] = np.frombuffer(text, np.uint8)
        records = self._gathered(record)
        codes = records[:, 0].tolist()
        if not any(codes):
            return
        if self.is_first:
            texts = [row[1:].tobytes().rstrip(b"\0") for row in records]
            self._print_once([text.decode(errors="replace") for text in texts])
        raise AgreedEnd(max(codes))

    def _gathered(self, record: NDArray[Any]) -> NDArray[Any]:
        """Return the records of all ranks, one per row."""
        records = np.empty((self.n_ranks, len(record)), record.dtype)
        wait_for(self.comm.Iallgather(record, records))
        return records

    def _print_once(self, errors: Sequence[str]) -> None:
        ranks = defaultdict(list)
        for rank, error in enumerate(errors):
            if error:
                ranks[error].append(rank)
        for error, those in ranks.items():
            _say(f"Error: {self._speakers(those)}{error}")

    def _speakers(self, ranks: Sequence[int]) -> str:
        if len(ranks) == self.n_ranks:
            return ""
        return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}: "

    def check_alike(self, given: bytes, rule: str) -> None:
        """Refuse ranks that hold something else than the first one."""
        digests = self._gathered(np.frombuffer(sha256(given).digest(), np.uint8))
        others = np.flatnonzero((digests != digests[0]).any(axis=1)).tolist()
        if others:
            named = ", ".join(map(str, others))
            raise AgreementError(f"{rule} Rank 0 differs from rank {named}.")

    @contextmanager
    def or_abort(self) -> Iterator[None]:
        """End all ranks at once if this one fails: others may be waiting for it."""
        try:
            yield
        except AgreedEnd:
            raise
        except BaseException as exc:
            self._abort(exc)

    def _abort(self, exc: BaseException) -> NoReturn:
        if isinstance(exc, KeyboardInterrupt | SystemExit):  # all ranks were told
            if isinstance(exc, KeyboardInterrupt) and self.is_first:
                _say("Interrupted.")
        elif isinstance(exc, _EXPECTED):
            _say(f"Error: {self._speakers([self.rank])}{_one_line(exc)}")
        else:
            traceback.print_exception(exc)
        time.sleep(_LAST_WORDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MPI would add a line of its own
        self.comm.Abort(exit_code_of(exc))
        raise AssertionError("an aborted rank must not go on")

    def n_cores(self) -> int:
        """Return how many cores this rank may use beside others on the same machine."""
        here = self.comm.Split_type(self._MPI.COMM_TYPE_SHARED)
        mine = np.zeros(os.cpu_count() or 1, np.uint8)
        mine[list(_allowed_cores())] = 1
        anyone = np.empty_like(mine)
        here.Allreduce(mine, anyone, self._MPI.MAX)
        # 1 if every rank was bound to cores of its own, all ranks here if none was.
        rivals = here.Get_size() * mine.sum() / anyone.sum()
        here.Free()
        return max(1, int(n_cores() / rivals))

    def total(self, count: int) -> int:
        """Return the sum of a count over all ranks."""
        return int(self._gathered(np.array([count])).sum())

    def largest_spread(self, outputs: Sequence[Sequence[Array]]) -> float:
        """Return the largest relative distance between two nodes' matrices of a layer.

        Parameters
        ----------
        outputs : sequence of sequences of arrays
            For each layer the matrices of this rank's nodes.

        Returns
        -------
        float
            Known to rank 0; 0 elsewhere.
        """
        largest = 0.0
        for layer in outputs:
            own = np.stack(list({id(O): O for O in layer}.values()))
            counts = self._gathered(np.array([own.size])).ravel()
            found = np.empty(counts.sum() if self.is_first else 0)
            self.comm.Gatherv(own, [found, counts])
            if self.is_first:
                matrices = found.reshape(-1, *own.shape[1:])
                largest = max(largest, spread(list(matrices)))
        return largest

    def finish(self) -> None:
        """Wait until all ranks are done, without keeping a core busy."""
        sys.stdout.flush()
        wait_for(self.comm.Ibarrier())


def _allowed_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")  # in one piece, beside other ranks' lines
    sys.stderr.flush()


def _one_line(exc: BaseException) -> str:
    return one_line(str(exc) or type(exc).__name__)
