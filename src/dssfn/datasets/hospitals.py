"""Heart patients of four hospitals, a real table each, with gaps and categories.

They are the Heart Disease databases of the UCI repository (Janosi, Steinbrunn,
Pfisterer and Detrano, 1988, doi 10.24432/C52P4X), in their common 14 columns. `num` is
0 for the healthy and 1 to 4 for the sick.
"""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

from dssfn._atomic import write_atomically
from dssfn.datasets.openml import download
from dssfn.datasets.places import cache_dir, data_folder, folders
from dssfn.errors import DataError
from dssfn.hints import listing

NAME = "heart"
TARGET = "num"
COLUMNS = (
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang",
    "oldpeak", "slope", "ca", "thal",
)  # fmt: skip

# OpenML's number of every table, and the digest of its patients, whatever their order.
_TABLES = {
    "cleveland": (
        49,
        "65bccafbdc6356c7f64935c26e4e44c4d450948a970f8012c530ce0fda8be064",
    ),
    "hungarian": (
        51,
        "85676c56ecfb2fab5428b79b6b808258a573179bc1d06aa1776431f3d3827685",
    ),
    "switzerland": (
        1513,
        "ceb82b067c67bd4896ae4f9ebdce66c126a09df14a7786166d749004d303ba7e",
    ),
    "va": (1512, "8543a9179b059f31e2f59fbc3609f2e5805a52f3d00e9b638980945406adbf5e"),
}
HOSPITALS = tuple(_TABLES)

# OpenML writes some codes of the hospitals as words, and the sick as ">50_1" and up.
_WORDS: dict[str, dict[str, str]] = {
    "sex": {"female": "0", "male": "1"},
    "cp": {"typ_angina": "1", "atyp_angina": "2", "non_anginal": "3", "asympt": "4"},
    "fbs": {"f": "0", "t": "1"},
    "restecg": {"normal": "0", "st_t_wave_abnormality": "1", "left_vent_hyper": "2"},
    "exang": {"no": "0", "yes": "1"},
    "slope": {"up": "1", "flat": "2", "down": "3"},
    "thal": {"normal": "3", "fixed_defect": "6", "reversable_defect": "7"},
    TARGET: {"<50": "0", **{f">50_{k}": str(k) for k in range(1, 5)}},
}


def read_hospitals(data_dir: Path | None = None) -> dict[str, bytes]:
    """Return the CSV file of every hospital, by its name.

    Looked up in this order: a folder ``heart`` with ``cleveland.csv`` and the others in
    `data_dir` (or ``DSSFN_DATA_DIR``), the same in the cache folder, and OpenML, which
    fills the cache.
    """
    for folder in folders(data_dir):
        paths = {name: folder / NAME / f"{name}.csv" for name in HOSPITALS}
        if all(path.is_file() for path in paths.values()):
            return {name: path.read_bytes() for name, path in paths.items()}
    try:
        found = {name: _downloaded(name).encode() for name in HOSPITALS}
    except DataError as exc:
        raise DataError(_not_found(data_folder(data_dir), exc)) from exc
    kept = cache_dir() / NAME
    kept.mkdir(parents=True, exist_ok=True)
    for name, content in found.items():
        write_atomically(kept / f"{name}.csv", content)
    return found


def hospital_csv(name: str, frame: Any, target: Any) -> str:
    """Return OpenML's table of a hospital as a CSV file with the hospitals' codes.

    Parameters
    ----------
    name : str
        The hospital.
    frame, target : pandas objects
        Its 13 columns, in their order if they have other names, and `num`.

    Raises
    ------
    DataError
        If these are not the patients of that hospital.
    """
    named = {str(column).lower(): column for column in frame.columns}
    columns = [named.get(column) for column in COLUMNS]
    if None in columns and len(frame.columns) == len(COLUMNS):
        columns = list(frame.columns)
    if None in columns:
        lacking = [one for one in COLUMNS if one not in named]
        raise DataError(f"OpenML's table of {name} lacks {listing(lacking)}.")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, TARGET])
    values = [frame[column].to_list() for column in columns]
    for row in zip(*values, target.to_list(), strict=True):
        pairs = zip((*COLUMNS, TARGET), row, strict=True)
        writer.writerow([_plain(column, value) for column, value in pairs])
    _check_known(name, text.getvalue())
    return text.getvalue()


def patients_digest(table: str) -> str:
    """Return a digest of the patients in a CSV file, whatever their order.

    Of `num` it counts only whether a patient is sick, which is all that OpenML has.
    """
    rows = []
    for row in csv.DictReader(io.StringIO(table)):
        values = [_plain(column, row[column]) for column in COLUMNS]
        rows.append(",".join([*values, str(int(float(row[TARGET]) > 0))]))
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def _downloaded(name: str) -> str:
    number, _ = _TABLES[name]
    return hospital_csv(name, *download(name, number))


def _check_known(name: str, table: str) -> None:
    if patients_digest(table) != _TABLES[name][1]:
        n_rows = table.count("\n") - 1
        raise DataError(
            f"OpenML's table of {name} must have the patients of the UCI repository, "
            f"got {n_rows} others."
        )


def _plain(column: str, value: Any) -> str:
    """Return a value as the hospitals code it; empty if it is missing."""
    text = "" if value is None else str(value).strip("'\" ")
    text = _WORDS.get(column, {}).get(text, text)
    if text.lower() in ("", "?", "nan", "<na>", "none"):
        return ""
    try:
        return f"{float(text):g}"
    except ValueError as exc:
        raise DataError(
            f"OpenML's column {column} has a value without a meaning."
        ) from exc


def _not_found(folder: Path | None, exc: DataError) -> str:
    where = f"`{folder}`" if folder else "a data folder (none is set)"
    files = ", ".join(f"{name}.csv" for name in HOSPITALS)
    return (
        f"No data set `{NAME}`: looked for a folder `{NAME}` with {files} in {where} "
        f"and in the cache `{cache_dir()}`, then asked OpenML: {exc} The tables are "
        "the processed Heart Disease files of the UCI repository, doi 10.24432/C52P4X, "
        f"with the header {','.join((*COLUMNS, TARGET))}."
    )
