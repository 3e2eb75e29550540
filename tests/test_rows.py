import json

import pytest

from dssfn.errors import DataError
from dssfn.rows import Row, RowFile

ROW = Row("degree", {"degree": 4, "quick": False}, {"rounds": 65}, 0.5, {"dssfn": "0"})


@pytest.fixture
def file(tmp_path):
    return RowFile(tmp_path / "rows.jsonl")


def test_a_row_that_was_written_is_read_again(file):
    file.add(ROW)
    assert list(file) == [ROW]


def test_the_names_in_the_file_stay_as_users_parse_them(file):
    file.add(ROW)
    fields = json.loads(file.path.read_text())
    assert list(fields) == ["experiment", "key", "figures", "seconds", "made_by"]
    assert fields["figures"] == {"rounds": 65}


@pytest.mark.parametrize("line", ['{"data": "iris"}', "5", '{"experiment": 1}'])
def test_a_line_that_is_no_row_is_refused_with_the_way_out(file, line):
    file.path.write_text(line + "\n")
    with pytest.raises(DataError, match="Choose another folder"):
        list(file)


def test_half_a_line_is_passed_over(file):
    file.add(ROW)
    whole = file.path.read_text()
    file.path.write_text(whole[:-9])
    assert list(file) == []
    file.add(ROW)
    assert list(file) == [ROW]
