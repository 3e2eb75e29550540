"""Settings of the tests: fresh examples at home, the same ones in every CI run."""

from __future__ import annotations

import os

from hypothesis import settings

# Lets scikit-learn's checks of array-API input run; read when scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")
