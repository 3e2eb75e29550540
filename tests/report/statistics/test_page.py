"""The page of statistics."""

from __future__ import annotations

import re

import msgspec
import pytest

from dssfn.report.statistics.bars import Bars
from dssfn.report.statistics.page import make_statistics_page
from tests.support.statistics_sample import sample_statistics

NASTY = '<script>alert(1)</script>"\x00'


def test_the_page_has_all_figures_beside_those_of_the_node():
    page = make_statistics_page(sample_statistics())
    for words in (
        "1,000 rows in all", "age (years)", "about 61.25", "about 9.5", "70.50",
        "fewer than 5", "not shown", "70.0\u202f% (700)", "83.3\u202f% (250)",
        "60.0\u202f% (600)", "the mean here is 1.0 deviations above", "ab" * 32,
        sample_statistics().sha256, "Counts of 1 to 4 are hidden",
    ):  # fmt: skip
        assert words in page, words
    assert "Every node" not in page


def test_published_sites_have_a_table_with_a_column_each():
    page = make_statistics_page(sample_statistics(sites=True))
    assert "Every node" in page
    assert '<th scope="col" class="n whole">south</th>' in page
    assert "70.50 ± 9.500" in page


def test_nothing_is_loaded_and_no_word_is_obeyed():
    for sites in (False, True):
        page = make_statistics_page(
            sample_statistics(sites=sites, level=NASTY, node="a<b")
        )
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "a<b" not in page
        assert not re.search(r"(src|href)=\"(?!data:,)", page)
        assert "\x00" not in page


def test_a_node_like_all_others_is_told_so():
    alike = msgspec.structs.replace(sample_statistics(), stands_out=())
    assert "nothing differs much from the other nodes" in make_statistics_page(alike)


@pytest.mark.parametrize(
    ("share", "width"), [(0.0, "0.0"), (0.256, "25.6"), (1.0, "100.0"), (None, "0.0")]
)
def test_a_bar_is_as_long_as_its_share(share, width):
    assert f'<span style="width:{width}%">' in Bars(share, 0.5).html()
