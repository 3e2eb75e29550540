"""The check of the built site finds what is broken."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_site.py"
spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
check_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_site)


@pytest.fixture
def site(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="sub/b.html">b</a>'
    )
    (tmp_path / "sub" / "b.html").write_text('<a href="../index.html#top">a</a>')
    return tmp_path


def test_a_whole_site_has_no_faults(site):
    assert check_site.faults(site) == []


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        ('<a href="gone.html">', "gone.html does not exist"),
        ('<a href="../index.html#nowhere">', "no such anchor"),
        ('<a href="#nowhere">', "no such anchor"),
        ('<img src="no.svg">', "no.svg does not exist"),
        ('<script src="https://cdn.example/x.js">', "from the network"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "from the network"),
    ],
)
def test_what_is_broken_is_named(site, added, fault):
    page = site / "sub" / "b.html"
    page.write_text(page.read_text() + added)
    (found,) = check_site.faults(site)
    assert "sub/b.html" in found
    assert fault in found


def test_a_folder_without_pages_is_a_fault(tmp_path):
    assert "make docs" in check_site.faults(tmp_path)[0]
