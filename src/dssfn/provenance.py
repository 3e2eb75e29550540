"""Versions and machine that made a result, to be kept with it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from dssfn._version import __version__


def made_by() -> dict[str, str]:
    """Versions of this package and of what it computes with, and the machine.

    >>> sorted(made_by())
    ['dssfn', 'machine', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    return {
        "dssfn": __version__,
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
