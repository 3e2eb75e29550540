"""Test accuracy on 20 nodes with our settings: the mean of five seeds, as Markdown.

    python scripts/accuracy_table.py FOLDER [DATA ..]

Results that FOLDER already holds are not trained again. docs/performance.md says how
the settings were chosen. About twenty minutes on two cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

WIDE = ["--no-standardize", "--width", "3000", "--layers", "4", "--gain", "10"]
ROWS = {  # data, options beside the defaults, test accuracy of the paper's 20 nodes
    "vowel": ("vowel", [], 59.2),
    "vowel-paper": ("vowel", ["--preset", "paper"], 59.2),
    "satimage": ("satimage", [], 88.8),
    "letter": ("letter", [], 92.5),
    "mnist": ("mnist", [], 95.1),
    "mnist-wide": ("mnist", WIDE, 95.1),
}
SEEDS = range(5)


def accuracy(row: str, seed: int, folder: Path) -> float:
    """Of one training, from the folder or made anew."""
    data, options, _ = ROWS[row]
    out = folder / f"{row}-{seed}"
    if not (out / "result.json").is_file():
        command = ["simulate", "--data", data, "--nodes", "20", "--degree", "4"]
        more = [*options, "--seed", str(seed), "--out", str(out), "--quiet"]
        subprocess.run(
            [sys.executable, "-m", "dssfn", *command, *more],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    figures = json.loads((out / "result.json").read_text())
    return 100 * float(figures["test_accuracy"])


def main(folder: Path, rows: list[str]) -> None:
    """Print one line per set of options."""
    folder.mkdir(parents=True, exist_ok=True)
    print("| data | options | test %, mean of 5 seeds | worst, best | paper |")
    print("|---|---|---|---|---|", flush=True)
    for row in rows or ROWS:
        data, options, paper = ROWS[row]
        found = [accuracy(row, seed, folder) for seed in SEEDS]
        shown = f"`{' '.join(options)}`" if options else "(defaults)"
        print(
            f"| {data} | {shown} | {np.mean(found):.2f} | "
            f"{min(found):.1f}, {max(found):.1f} | {paper} |",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
