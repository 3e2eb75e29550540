"""Versions and machine that made a result, to be kept with it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from dssfn._version import __version__


def made_by() -> dict[str, str]:
    """Return the machine, and the versions of this package and its dependencies.

    >>> sorted(made_by())
    ['dssfn', 'machine', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    return {
        "dssfn": __version__,
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
