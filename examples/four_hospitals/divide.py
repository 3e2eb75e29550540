"""Divide every hospital's table into patients to train on and patients to test on.

Usage: divide.py HEART OUT

HEART is the folder that `dssfn data heart` writes. Every hospital gets a folder in OUT
with train.csv and test.csv: two thirds and one third of its patients, as FLamby divides
them, healthy and sick ones alike where there are enough of both.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sklearn.model_selection import train_test_split

SEED, TRAIN = 43, 0.66


def main(heart: Path, out: Path) -> None:
    """Write the tables of every hospital."""
    for path in sorted(heart.glob("*.csv")):
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
        is_sick = [int(row[head.index("num")]) > 0 for row in rows]
        enough = min(sum(is_sick), len(rows) - sum(is_sick)) > 2
        train, test = train_test_split(
            rows,
            train_size=TRAIN,
            random_state=SEED,
            stratify=is_sick if enough else None,
        )
        folder = out / path.stem
        folder.mkdir(parents=True)
        for name, some in (("train.csv", train), ("test.csv", test)):
            with (folder / name).open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([head, *some])
        print(f"{path.stem}: {len(train)} patients to train on, {len(test)} to test on")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
