"""The folders that data sets are looked for in, and kept in after a download."""

from __future__ import annotations

import os
from pathlib import Path

from dssfn.errors import DataError


def data_folder(given: Path | None) -> Path | None:
    """Return the user's folder of data sets: the given one, else DSSFN_DATA_DIR."""
    if given is not None:
        if not Path(given).is_dir():
            raise DataError(f"`data_dir` must be an existing folder, got `{given}`.")
        return Path(given)
    from_environment = os.environ.get("DSSFN_DATA_DIR")
    return Path(from_environment) if from_environment else None


def cache_dir() -> Path:
    """Return the folder of downloads: `DSSFN_CACHE_DIR`, else one of the user's."""
    given = os.environ.get("DSSFN_CACHE_DIR")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "dssfn"


def folders(given: Path | None) -> list[Path]:
    """Return all folders to look in, the user's own first."""
    own = data_folder(given)
    return [cache_dir()] if own is None else [own, cache_dir()]
