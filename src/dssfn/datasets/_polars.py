"""Polars, in which the columns of tables are held: an extra, named where it is missing.

Arrays need none of it, so that estimators and the simulator work without.
"""

from __future__ import annotations

from dssfn.errors import DataError

try:
    import polars as pl
except ImportError as exc:
    raise DataError(
        "Tables are read with polars, which is not installed. Install it with: "
        "pip install 'dssfn[cli]'"
    ) from exc

__all__ = ["pl"]
