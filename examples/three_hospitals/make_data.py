"""Three hospitals' files from a public set, so that there is something to train on.

Breast cancer, Wisconsin: 569 patients, 30 measurements of a tumour's cells, benign or
malignant. North sees few malignant cases and east hardly anything else; some patients
are kept apart to test on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer

# Each hospital's share of all cases.
MALIGNANT = {"north": 0.1, "south": 0.3, "east": 0.6}
BENIGN = {"north": 0.5, "south": 0.4, "east": 0.1}


def main(folder: Path) -> None:
    """Write north.csv, south.csv, east.csv and test.csv."""
    data = load_breast_cancer()
    table = pl.DataFrame(data.data, schema=list(data.feature_names)).with_columns(
        diagnosis=pl.Series(data.target_names[data.target].tolist())
    )
    rows: dict[str, list[int]] = {name: [] for name in ("test", *BENIGN)}
    rng = np.random.default_rng(0)
    for code, shares in enumerate((MALIGNANT, BENIGN)):
        cases = rng.permutation(np.flatnonzero(data.target == code))
        n_test = len(cases) // 4
        rows["test"] += cases[:n_test].tolist()
        ends = np.cumsum(list(shares.values()))[:-1] * (len(cases) - n_test)
        parts = np.split(cases[n_test:], ends.round().astype(int))
        for name, part in zip(shares, parts, strict=True):
            rows[name] += part.tolist()
    folder.mkdir(parents=True, exist_ok=True)
    for name, chosen in rows.items():
        table[rng.permutation(chosen)].write_csv(folder / f"{name}.csv")
        n_malignant = int((data.target[chosen] == 0).sum())
        print(f"{name}.csv: {len(chosen)} patients, {n_malignant} malignant")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data"))
