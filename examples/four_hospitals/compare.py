"""Print how good the shared model is in every hospital, and what each could do alone.

Usage: compare.py FEDERATION

The figures are those of every node's own result.json, on its test patients. A hospital
that does not want to show its own would leave them at home.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# FLamby's published test accuracies of the same hospitals in per cent, means of five
# seeds. It leaves out three columns and all patients with gaps, 180 of 920.
FLAMBY = {"cleveland": 78.3, "hungarian": 76.4, "switzerland": 75.0, "va": 64.4}
FLAMBY |= {"all": 79.5}
HEAD = ("patients", "shared", "alone", "FLamby")
OTHERS = "FedAdam 77.9, FedAvg 74.8"


def main(federation: Path) -> None:
    """Print a line for every hospital, and one for all of their patients."""
    print(f"{'test accuracy, %':18}", *map("{:>9}".format, HEAD))
    rows = {}
    for path in sorted(federation.glob("*/out/result.json")):
        here = json.loads(path.read_text())["here"]
        n, alone = here["model"]["n"], here["local"]["accuracy"]
        rows[path.parents[1].name] = (n, here["model"]["accuracy"], alone)
    total = sum(n for n, _, _ in rows.values())
    means = (sum(row[0] * row[k] for row in rows.values()) / total for k in (1, 2))
    for name, (n, *shares) in (rows | {"all": (total, *means)}).items():
        accuracies = [100 * share for share in shares] + [FLAMBY[name]]
        print(f"{name:18} {n:9}", *map("{:9.1f}".format, accuracies))
    print(f"FLamby trains on pooled patients; federated, all of them: {OTHERS}.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
