"""Train the paper's four exact data sets both ways and print the README's table.

    python scripts/results_table.py FOLDER

Results that FOLDER already holds are not trained again. Takes about fifteen minutes
and 3 GB on two cores; the data are looked up as `dssfn simulate` does.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

# Train error in dB and test accuracy in the paper's Table II.
PAPER = {
    "vowel": ((-53.8, 58.3), (-51.67, 59.2)),
    "satimage": ((-10.6, 86.9), (-9.37, 88.8)),
    "letter": ((-19.5, 91.8), (-17.64, 92.5)),
    "mnist": ((-12.9, 94.8), (-13.24, 95.1)),
}
GRAPHS = {1: ["--nodes", "1"], 20: ["--nodes", "20", "--degree", "4"]}


def trained(name: str, nodes: int, folder: Path) -> dict[str, float]:
    """The figures of one training, from the folder or made anew."""
    out = folder / f"{name}-{nodes}"
    if not (out / "result.json").is_file():
        command = ["simulate", "--data", name, "--preset", "paper", *GRAPHS[nodes]]
        subprocess.run(
            [sys.executable, "-m", "dssfn", *command, "--out", str(out)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    figures: dict[str, float] = json.loads((out / "result.json").read_text())
    return figures


def cells(name: str, nodes: int, folder: Path) -> list[str]:
    """Train error, test accuracy; in brackets what the paper has."""
    mine = trained(name, nodes, folder)
    decibel, accuracy = PAPER[name][nodes > 1]
    return [
        f"{mine['train_error_db']:.1f} ({decibel:.1f})",
        f"{100 * mine['test_accuracy']:.1f} ({accuracy:.1f})",
    ]


def main(folder: Path) -> None:
    """Print the table in Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    print("| data | one machine: dB | test % | 20 nodes: dB | test % |")
    print("|---|---|---|---|---|")
    for name in PAPER:
        row = [name, *cells(name, 1, folder), *cells(name, 20, folder)]
        print(f"| {' | '.join(row)} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    if peak > 0.05:  # kilobytes on Linux; nothing if all results were there already
        print(f"\nLargest peak memory of a training: {peak:.1f} GB", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
