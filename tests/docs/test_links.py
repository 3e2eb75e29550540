"""Pages lead somewhere: to files, headings and tests that exist."""

from __future__ import annotations

import re

import pytest
from scripts.page_blocks import (
    ROOT,
    anchors_of,
    every_page,
    is_generated,
    links_of,
    read,
)

PAGES = [*every_page(), *ROOT.glob("examples/*/README.md")]
PAGES += [ROOT / name for name in ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page):
    for path, anchor in links_of(read(page)):
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or is_generated(target), path
        if anchor and target.suffix == ".md" and not is_generated(target):
            assert anchor in anchors_of(read(target)), f"{path}#{anchor}"


@pytest.mark.parametrize("page", every_page(), ids=lambda page: page.name)
def test_a_page_has_one_title(page):
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_every_test_that_the_security_page_names_exists():
    page = read(ROOT / "SECURITY.md")
    files = re.findall(r"`([\w/]*test_\w+\.py)`", page)
    assert len(files) > 10
    for file in files:
        assert (ROOT / "tests" / file).is_file(), file
