"""The file in which a node keeps the secret of its noise, and what it has released.

It belongs to one plan, is made before the node first meets the others, and stays where
it is when a training begins anew: the same sums get the same noise, and others must fit
into what is left of the budget. Without it the same sums would be sent with other
noise, which tells more than the budget allows, so a node that has a checkpoint and no
ledger does not start.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from dssfn._atomic import write_atomically
from dssfn.errors import PlanError
from dssfn.federation import Federation
from dssfn.privacy import NoiseSource, Release, budget_of


class _Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: bytes
    releases: tuple[Release, ...]


def ledger_path(out: Path, federation: Federation) -> Path:
    """Return where a node keeps it for a plan."""
    return out / f"privacy-{federation.fingerprint()[:12]}.json"


def spent_so_far(out: Path, federation: Federation) -> float:
    """Return the epsilon that a node has spent on a plan."""
    ledger = _read(ledger_path(out, federation))
    releases = ledger.releases if ledger else ()
    return budget_of(federation.training).spent(one.factor for one in releases)


def noise_of(
    out: Path, federation: Federation, *, has_begun: bool = False
) -> NoiseSource | None:
    """Return the noise of a node, if the plan has a budget of privacy.

    Parameters
    ----------
    out : Path
        The node's folder.
    federation : Federation
        The plan.
    has_begun : bool
        Whether the node has a checkpoint, so that there must be a ledger.
    """
    if not federation.training.is_private:
        return None
    path, source = (
        ledger_path(out, federation),
        NoiseSource(budget_of(federation.training)),
    )
    if has_begun and not path.exists():
        raise PlanError(
            f"`{path}` records how much of the privacy budget is spent, but it is "
            "missing although this node has begun to train. Restore it, or agree on a "
            "new plan."
        )
    _create(path, source.key)
    ledger = _read(path)
    assert ledger is not None
    source.key, source.releases = ledger.key, list(ledger.releases)

    def known() -> tuple[Release, ...]:
        ledger = _read(path)
        if ledger is None or ledger.key != source.key:
            raise PlanError(
                f"`{path}` records how much of the privacy budget is spent, but it "
                "was replaced while this node was running. Start the node again."
            )
        return ledger.releases

    def save(source: NoiseSource) -> None:
        write_atomically(path, _encoded(source.key, source.releases), private=True)

    source.known, source.save = known, save
    return source


def _create(path: Path, key: bytes) -> None:
    """Make the file, unless there is one: of two processes, both take the first's."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "wb") as file:
        file.write(_encoded(key, []))
        file.flush()
        os.fsync(file.fileno())


def _encoded(key: bytes, releases: list[Release]) -> bytes:
    return msgspec.json.encode(_Ledger(key, tuple(releases)))


def _read(path: Path) -> _Ledger | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Ledger)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as exc:
        raise PlanError(
            f"`{path}` records how much of the privacy budget is spent, but it cannot "
            f"be read: {exc}. Restore the latest copy, or agree on a new plan."
        ) from exc
