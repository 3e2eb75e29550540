"""Settings of the tests (fresh examples at home, the same ones in every CI run), and
what several of them need.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from tests.support.workbooks import write_workbook

# Lets scikit-learn's checks of array-API input run; read when scipy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture
def write(tmp_path):
    """Write a file from text, bytes, columns or arrays, by its suffix."""

    def writer(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".npz":
            np.savez(path, **content)
        elif path.suffix == ".parquet":
            pl.DataFrame(content).write_parquet(path)
        elif path.suffix in (".feather", ".arrow"):
            pl.DataFrame(content).write_ipc(path)
        elif path.suffix == ".xlsx":
            frame = pl.DataFrame(content)
            write_workbook(path, {"Data": [frame.columns, *frame.rows()]})
        else:
            separator = "\t" if path.suffix == ".tsv" else ","
            pl.DataFrame(content).write_csv(path, separator=separator)
        return path

    return writer


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No folder of data, an empty cache, and an OpenML that does not answer."""

    def unreachable(**_):
        raise URLError("no route to host")

    monkeypatch.delenv("DSSFN_DATA_DIR", raising=False)
    monkeypatch.setenv("DSSFN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)


@pytest.fixture
def openml(monkeypatch):
    """Let OpenML answer with a frame and a target; returns what it was asked for."""

    def answer(frame, target):
        asked = []

        def give(**which):
            asked.append(which)
            return SimpleNamespace(data=frame, target=target)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", give)
        return asked

    return answer
