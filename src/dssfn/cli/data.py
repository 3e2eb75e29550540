"""`dssfn data`: data sets by name, as tables to try things on."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn._atomic import write_atomically
from dssfn.cli.options import DataDir
from dssfn.cli.outfolder import out_folder
from dssfn.datasets import KNOWN_NAMES, Dataset, load_dataset
from dssfn.datasets.hospitals import NAME, read_hospitals
from dssfn.datasets.openml import check_name
from dssfn.errors import InputError

LABEL = "label"


def data(
    name: Annotated[
        str,
        typer.Argument(
            help=f"{NAME}, {', '.join(KNOWN_NAMES)}, or a data set on OpenML."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the tables.", show_default="the name"),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Write a well-known data set as CSV files, to try things out on.

    `heart` holds the heart patients of four hospitals, one table each, with categories
    and missing values. Every other name gives one table to train on and one to test on,
    with the labels in the column `label`. Data come from the data folder, the cache or
    OpenML.
    """
    check_name(name)
    folder = out or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if out is None:
            raise InputError(
                f"`{folder}` must be a new or empty folder for the tables, but it "
                "exists. Choose another one with `--out`."
            )
        raise InputError(
            f"`--out` must be a new or empty folder, got `{folder}`. Choose another "
            "one."
        )
    if name == NAME:
        tables = read_hospitals(data_dir)
    else:
        tables = _tables(load_dataset(name, data_dir=data_dir))
    with out_folder(folder):
        for stem, content in tables.items():
            path = folder / f"{stem}.csv"
            write_atomically(path, content)
            n_rows = len(content.splitlines()) - 1
            print(f"{path}  {n_rows:,} rows")


def _tables(found: Dataset) -> dict[str, bytes]:
    n_features = found.X_train.shape[1]
    names = found.feature_names or tuple(f"x{k}" for k in range(n_features))
    train = _csv((*names, LABEL), found.X_train, found.y_train)
    return {"train": train, "test": _csv((*names, LABEL), found.X_test, found.y_test)}


def _csv(head: tuple[str, ...], X: Any, y: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        writer.writerow([*row, label])
    return text.getvalue().encode()
