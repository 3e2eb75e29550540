"""How many cores this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def n_cores() -> int:
    """Return how many cores this process's affinity and control group allow.

    A container with a share of a machine is not slowed down by threads for all of it.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # some systems have no such call
    allowed = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(allowed, _quota(_CGROUP) or allowed))


def _quota(cgroup: Path) -> int | None:
    """Return the cores that a control group gives, rounded up; None without a limit.

    Parameters
    ----------
    cgroup : Path
        Where the system shows this process its control group, of version 2 or 1.
    """
    try:
        words = (cgroup / "cpu.max").read_text().split()
    except OSError:
        try:
            words = [
                (cgroup / "cpu" / f"cpu.cfs_{what}_us").read_text().strip()
                for what in ("quota", "period")
            ]
        except OSError:
            return None
    if len(words) != 2 or words[0] == "max":
        return None
    quota, period = map(int, words)
    return math.ceil(quota / period) if quota > 0 and period > 0 else None
