"""A data set as an NPZ file: `X_train`, `y_train`, `X_test`, `y_test`.

A digest beside the file tells whether it is still what was written.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._atomic import write_atomically
from dssfn.datasets.checks import Source, class_labels, feature_matrix
from dssfn.datasets.dataset import Dataset
from dssfn.datasets.npz import read_npz
from dssfn.errors import DataError
from dssfn.hints import reason

_FEATURES = ("X_train", "X_test")
_LABELS = ("y_train", "y_test")

# Pixels are stored as bytes 0..255. The paper feeds them as 0..1, and the radius of the
# layer problem is meant for inputs of that size; the other sets are used as they are.
_PIXELS = ("mnist", "norb_subset3")


def read_stored(name: str, path: Path) -> Dataset:
    """Read a data set from an NPZ file that exists.

    Parameters
    ----------
    name : str
        Name of the set. Whole-number features of `mnist` and `norb_subset3` are pixels
        and are divided by 255.
    path : Path
        Holds the four arrays, and `feature_names` if the features have names.
    """
    arrays = read_npz(path, required=_FEATURES + _LABELS, optional=("feature_names",))
    return _from_arrays(name, arrays, Source(path.name))


def read_kept(name: str, path: Path) -> Dataset:
    """Read what `keep` wrote, which must not have changed."""
    _check_digest(path)
    return read_stored(name, path)


def keep(data: Dataset, path: Path) -> Dataset:
    """Write raw data to an NPZ file, with its digest, and return them as if read.

    A folder that cannot be written is a warning: the data are at hand all the same.
    """
    arrays = _to_arrays(data)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # All or nothing, because another process may read the same file.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            np.savez_compressed(unfinished, **arrays)
            _write_digest(path, unfinished.read_bytes())
            unfinished.replace(path)
    except OSError as exc:
        warnings.warn(
            f"`{data.name}` could not be saved in `{path.parent}` ({reason(exc)}) and "
            "will be downloaded again next time. Set DSSFN_CACHE_DIR to a writable "
            "folder.",
            stacklevel=2,
        )
    return _from_arrays(data.name, arrays, Source(path.name))


def _from_arrays(name: str, arrays: dict[str, NDArray[Any]], source: Source) -> Dataset:
    parts: dict[str, Any] = {
        key: class_labels(arrays[key], source, name=key) for key in _LABELS
    }
    for key in _FEATURES:
        X = feature_matrix(arrays[key], source, name=key)
        if name in _PIXELS and arrays[key].dtype.kind in "iu":
            X /= 255  # a new array: whole numbers have been converted
        parts[key] = X
    names = arrays.get("feature_names")
    if names is not None and names.ndim != 1:
        raise DataError(
            f"`{source.name}`: `feature_names` must be a list of names, "
            f"got shape {names.shape}."
        )
    listed = None if names is None else tuple(str(feature) for feature in names)
    return Dataset(name, feature_names=listed, **parts)


def _to_arrays(data: Dataset) -> dict[str, Any]:
    arrays: dict[str, Any] = {key: getattr(data, key) for key in _FEATURES + _LABELS}
    if data.feature_names is not None:
        arrays["feature_names"] = np.array(data.feature_names, dtype=np.str_)
    if all(_are_bytes(arrays[key]) for key in _FEATURES):
        arrays |= {key: arrays[key].astype(np.uint8) for key in _FEATURES}
    return arrays


def _are_bytes(X: NDArray[Any]) -> bool:
    return bool(X.min() >= 0 and X.max() <= 255 and not (X % 1).any())


def _write_digest(path: Path, content: bytes) -> None:
    """Keep the digest of a file beside it, as `sha256sum` does."""
    line = f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"
    write_atomically(_beside(path), line.encode())


def _check_digest(path: Path) -> None:
    """Refuse a file that is no longer what it was when its digest was kept.

    A file without one was put there by its owner, who may.
    """
    try:
        expected = _beside(path).read_text(errors="replace").split(maxsplit=1)[:1]
    except FileNotFoundError:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected != [found]:
        raise DataError(
            f"`{path}` has changed since it was downloaded: sha256 {found}, expected "
            f"{''.join(expected) or 'one'} as in `{_beside(path).name}`. Remove the "
            "file to download it again."
        )


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
