"""The page about upgrades has the numbers of the code."""

from __future__ import annotations

import re
import tomllib

import pytest
from scripts.page_blocks import ROOT, read

from dssfn import modelfile
from dssfn.node import checkpoint

PAGE = read(ROOT / "docs" / "upgrade.md")
PROJECT = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]


def test_it_has_the_formats_of_files():
    assert f"a format version, now {modelfile.VERSION} |" in PAGE
    assert f"formats 1 to {modelfile.VERSION - 1} are read" in PAGE
    assert f"a format version, now {checkpoint.VERSION}, and" in PAGE


def test_it_has_the_protocol_of_nodes():
    greetings = pytest.importorskip("dssfn.transports.grpc.greetings")
    assert f"a protocol number, now {greetings.PROTOCOL} |" in PAGE


def test_it_has_the_opset_of_exported_models():
    onnx_model = pytest.importorskip("dssfn.export.onnx_model")
    assert f"opset {onnx_model.OPSET}," in PAGE


def test_it_has_the_versions_that_the_package_asks_for():
    (line,) = (one for one in PAGE.splitlines() if one.endswith("or newer."))
    said = re.findall(r"3\.\d+", line.split(" are supported")[0])
    names = [one.rpartition(" ")[2] for one in PROJECT["classifiers"]]
    assert said == [name for name in names if re.fullmatch(r"3\.\d+", name)]
    for name in ("numpy", "scipy", "scikit-learn"):
        asked = dict(one.split(">=") for one in PROJECT["dependencies"])[name]
        assert f"{name} {asked}" in line


def test_it_says_what_is_deprecated():
    code = [read(path) for path in (ROOT / "src").rglob("*.py")]
    warns = any("FutureWarning" in text for text in code)
    assert warns != ("At present nothing is\ndeprecated" in PAGE)
