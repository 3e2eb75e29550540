from __future__ import annotations

import json

import msgspec
import pytest

from dssfn.errors import DataError
from dssfn.results import RESULT_FILE, Result, read_result, write_result
from tests.support.report_sample import node_result, sample_result


@pytest.mark.parametrize("sample", [sample_result(), node_result()])
def test_a_result_is_read_as_it_was_written(sample, tmp_path):
    result = msgspec.convert(sample, Result)
    write_result(result, tmp_path)
    assert read_result(tmp_path) == result


def test_a_result_of_a_node_leaves_out_what_a_node_does_not_know(tmp_path):
    write_result(msgspec.convert(node_result(), Result), tmp_path, private=True)
    path = tmp_path / RESULT_FILE
    written = json.loads(path.read_text())
    assert not {"data", "n_train", "communication", "equivalence"} & written.keys()
    assert "rounds" not in written["layers"][0]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_result_in_the_place_of_its_folder_is_told_of(tmp_path):
    (tmp_path / RESULT_FILE).touch()
    with pytest.raises(DataError, match=rf"is a file. Give its folder, `{tmp_path}`"):
        read_result(tmp_path / RESULT_FILE)


def test_a_file_name_that_is_no_unicode_survives(tmp_path):
    result = msgspec.convert(sample_result() | {"data": "caf\udce9.csv"}, Result)
    write_result(result, tmp_path)
    assert read_result(tmp_path) == result


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settings": None}, "Expected `object`, got `null` - at `$.settings`"),
        ({"layers": [{}]}, "`$.layers[0]`"),
        ({"figures": {}}, "unknown field `figures`"),
        ({"seconds": {}}, "missing required field `total`"),
        ({"confusion": [[0, 3, 1]]}, "`confusion` must be of 0..2, got 3"),
        ({"held": [[1, 2]]}, "`held` must have 3 classes in a row, got 2"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(change, said, tmp_path):
    path = tmp_path / RESULT_FILE
    path.write_text(json.dumps(sample_result() | change))
    with pytest.raises(DataError) as caught:
        read_result(tmp_path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "Run the training again" in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("n_test", -5), ("test_accuracy", 1.5), ("train_accuracy", -1)]
)
def test_impossible_numbers_are_refused(field, value, tmp_path):
    result = sample_result() | {field: value}
    (tmp_path / "result.json").write_text(json.dumps(result))
    with pytest.raises(DataError, match=field):
        read_result(tmp_path)


def test_a_folder_without_a_result_is_told_so(tmp_path):
    with pytest.raises(DataError, match=r"`out` folder; got .*it has none"):
        read_result(tmp_path)
