"""Lines of a node's log, as text and as JSON: the same words, and harmless ones."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("grpc", reason="needs the extra dssfn[grpc]")
from dssfn.node.launch import _tell
from dssfn.node.log_format import FIELDS, JsonLines, TextLines
from dssfn.records import LayerRecord

WORDS = TextLines("%(message)s")
LINES = JsonLines("north")
ANY_TEXT = st.text(st.characters())  # lone surrogates and control characters as well


def record_of(text, **more):
    return logging.makeLogRecord(
        {"msg": text, "levelname": "INFO", "created": 0.0, **more}
    )


@given(ANY_TEXT)
def test_every_line_parses_and_has_the_words_of_the_text_log(text):
    line = LINES.format(record_of(text))
    assert line.isprintable()
    parsed = json.loads(line)
    assert parsed["message"] == WORDS.format(record_of(text))
    assert list(parsed) == ["time", "level", "node", "message"]
    assert (parsed["level"], parsed["node"]) == ("INFO", "north")
    line.encode()  # as UTF-8


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)))
def test_the_time_is_iso_8601_in_utc_to_the_millisecond(moment):
    moment = moment.replace(tzinfo=UTC)
    line = LINES.format(record_of("", created=moment.timestamp()))
    time = json.loads(line)["time"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert abs((datetime.fromisoformat(time) - moment).total_seconds()) < 2e-3


def test_an_error_with_a_traceback_is_one_line_too():
    try:
        raise ValueError("two\nlines")
    except ValueError as exc:
        record = record_of("failed", exc_info=(ValueError, exc, exc.__traceback__))
    message = json.loads(LINES.format(record))["message"]
    assert message == WORDS.format(record)
    assert "ValueError: two?lines" in message


@pytest.mark.parametrize("value", [None, float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_cannot_have_is_left_out(value):
    line = LINES.format(record_of("a perfect layer", train_error_db=value))
    assert "train_error_db" not in json.loads(line)


def test_nothing_but_known_fields_becomes_part_of_a_line():
    record = record_of("hello", layer=3, peer=None, path="/home/of/somebody")
    parsed = json.loads(LINES.format(record))
    assert set(parsed) == {"time", "level", "node", "message", "layer"}


@pytest.mark.parametrize("validated", [None, -5.714])
def test_numbers_of_a_layer_are_those_in_its_words(caplog, validated):
    record = LayerRecord(
        layer=4,
        cost=150.834999,
        train_error_db=-6.0449,
        validation_error_db=validated,
        train_accuracy=0.84824,
        iterations=2,
        width=200,
    )
    plan = type("Plan", (), {"finds_size": True})
    with caplog.at_level(logging.INFO, "dssfn.node"):
        _tell(record, plan)
    parsed = json.loads(LINES.format(caplog.records[-1]))
    given = {name: parsed[name] for name in FIELDS if name in parsed}
    assert given.pop("train_accuracy") == 0.8482
    assert "84.82 %" in parsed["message"]
    assert ("validation_error_db" in given) is (validated is not None)
    for number in given.values():
        assert re.search(rf"(?<![\d.]){number:g}(?![\d.])", parsed["message"])
