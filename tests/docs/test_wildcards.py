"""An output matches a text with wildcards, and a renewed text matches the output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.wildcards import matches, renewed, trimmed

WORDS = st.sampled_from(["a", "b", "1.5", "a b", "...", "took ... s", "took 3 s", ""])
TEXTS = st.lists(WORDS, max_size=6).map("\n".join)
OUTPUTS = TEXTS.map(lambda text: text.replace("...", "dots"))


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", ""),
        ("a", "a  \n"),
        ("...", ""),
        ("...", "a\nb"),
        ("a\n...\nd", "a\nb\nc\nd"),
        ("a\n...\nd", "a\nd"),
        ("took ... s", "took 0.3 s"),
        ("|...|", "||"),
        ("a (b) [c] .*", "a (b) [c] .*"),
    ],
)
def test_outputs_that_match(text, output):
    assert matches(text, output)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", "a"),
        ("a", ""),
        ("a", "b"),
        ("a\n...", "b"),
        ("a...", "a\nb"),
        ("a b", "a  b"),
        (" a", "a"),
        (".*", "a"),
    ],
)
def test_outputs_that_do_not(text, output):
    assert not matches(text, output)


@given(TEXTS, OUTPUTS)
def test_an_output_matches_the_text_that_was_renewed_from_it(text, output):
    assert matches(renewed(text, output), output)


@given(OUTPUTS, OUTPUTS)
def test_without_wildcards_the_new_text_is_the_output(text, output):
    assert renewed(text, output) == trimmed(output)


@pytest.mark.parametrize(
    ("text", "output", "new"),
    [
        ("one\n...\nend", "two\nx\ny\nend", "two\n...\nend"),
        ("head\n...", "other\nhead line\na\nb", "other\n..."),
        ("in ... s, 3 layers", "in 0.3 s, 4 layers", "in ... s, 4 layers"),
        ("trained in ... s", "training took 0.3 s", "training took ... s"),
        ("sha ...\nold", "sha 7fd2\nnew\nmore", "sha ...\nnew\nmore"),
    ],
)
def test_wildcards_stay_where_they_were(text, output, new):
    assert renewed(text, output) == new
