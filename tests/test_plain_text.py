from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn._plain_text import printable

TRICKS = {
    "an escape code": "\x1b[2J",
    "one of its shorter forms": "\x9b2J",
    "a line break": "a\nb",
    "a carriage return": "a\rb",
    "an override of the direction": "a\u202eb",
    "a mark that takes no room": "a\u200bb",
}


@given(st.text())
def test_any_text_becomes_one_line_that_a_terminal_shows_as_it_is(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) == len(text)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"])))
def test_letters_numbers_and_signs_of_any_script_stay(text):
    assert printable(text) == text


@pytest.mark.parametrize("text", TRICKS.values(), ids=TRICKS)
def test_what_could_steer_a_terminal_becomes_a_question_mark(text):
    assert "?" in printable(text)


def test_a_wide_space_is_a_space():
    assert printable("10\u00a0000") == "10 000"
