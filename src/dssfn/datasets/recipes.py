"""Whether a data set is the one that its name promises.

The paper's sets are known by their rows. A download may list them in another order and
call the classes by other names, so neither counts: see `content_digest`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn._atomic import write_atomically
from dssfn._typing import Array
from dssfn.errors import DataError


def content_digest(X: Array, y: NDArray[Any]) -> str:
    """A digest of the samples, whatever their order and the names of the classes.

    Values count to a thousandth, which is how the sources write them.

    Parameters
    ----------
    X : array of shape (J, P)
    y : array of shape (J,)

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> one = content_digest(X, np.array([0, 1, 1]))
    >>> one == content_digest(X[::-1], np.array(["b", "b", "a"]))
    True
    """
    classes = []
    for label in np.unique(y):
        rows = np.rint(1000 * X[y == label]).astype("<i8")
        digests = sorted(hashlib.sha256(row.tobytes()).digest() for row in rows)
        classes.append(hashlib.sha256(b"".join(digests)).digest())
    return hashlib.sha256(b"".join(sorted(classes))).hexdigest()


def write_digest(path: Path, content: bytes) -> None:
    """Keep the digest of a file beside it, as `sha256sum` does."""
    line = f"{hashlib.sha256(content).hexdigest()}  {path.name}\n"
    write_atomically(_beside(path), line.encode())


def check_digest(path: Path) -> None:
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
