"""The scripts of the gallery, and where they run."""

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gallery"
SCRIPTS = sorted(FOLDER.glob("plot_*.py"))
PATIENCE = 170  # seconds: each takes a few, but the machine may be busy


def environment() -> dict[str, str]:
    """What a reader has: no data sets of ours, and whatever backend fits."""
    unwanted = ("DSSFN_DATA_DIR", "MPLBACKEND")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    # Processes side by side that take all cores each would wait for each other.
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
