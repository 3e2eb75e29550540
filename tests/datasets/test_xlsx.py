from __future__ import annotations

import subprocess
import sys
import zipfile
from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.datasets import (
    FileSamples,
    ReadOptions,
    describe,
    read_labelled,
    xlsx_file,
)
from dssfn.errors import DataError
from tests.support.workbooks import write_workbook

HEADER = ["a", "y", "b"]
ROWS = [[1.5, "u", 1], [2, "v", 0.25], [-3e-9, "u", 7]]


@pytest.fixture
def book(tmp_path):
    return lambda *rows, name="t.xlsx": write_workbook(tmp_path / name, {"Data": rows})


def assert_refused(pattern, path, **options):
    with pytest.raises(DataError, match=pattern) as caught:
        read_labelled(path, "y", **options)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("cells", [1, 4, 2**17])
@pytest.mark.parametrize("memory", [None, 0])
def test_a_table_comes_back_as_written(book, monkeypatch, cells, memory):
    monkeypatch.setattr(xlsx_file, "_CELLS", cells)
    path = book(HEADER, *ROWS)
    table = read_labelled(path, "y")
    assert table.X.tolist() == [[1.5, 1], [2, 0.25], [-3e-9, 7]]
    assert table.y.tolist() == ["u", "v", "u"]
    assert table.feature_names == ("a", "b")
    assert table.dialect == "sheet `Data`"
    assert describe(path, "y").classes == ("u", "v")
    samples = FileSamples(path, target="y", classes="uv", memory=memory)
    for _ in range(2):
        chunks = [rows.X.tolist() for rows in samples.chunks(2)]
        assert chunks == [[[1.5, 2], [1, 0.25]], [[-3e-9], [7]]]


# With the 15 digits that spreadsheets keep.
values = st.one_of(
    st.integers(-(10**15), 10**15),
    st.floats(-1e300, 1e300).map(lambda x: float(f"{x:.15g}")),
)
kinds = {
    "whole": st.integers(-5, 5),
    "text": st.sampled_from(["u", "v w", "é", "<&>"]),
    "bool": st.booleans(),
}


@settings(max_examples=30)
@given(data=st.data(), cells=st.sampled_from([1, 6, 2**17]))
def test_any_values_are_the_same_in_any_blocks(tmp_path_factory, data, cells):
    n = data.draw(st.integers(1, 9))
    kind = data.draw(st.sampled_from(sorted(kinds)))
    labels = data.draw(st.lists(kinds[kind], min_size=n, max_size=n))
    a, b = (data.draw(st.lists(values, min_size=n, max_size=n)) for _ in "ab")
    path = write_workbook(
        tmp_path_factory.mktemp("laws") / "t.xlsx",
        {"S": [HEADER, *zip(a, labels, b, strict=True)]},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xlsx_file, "_CELLS", cells)
        table = read_labelled(path, "y")
        assert table.X.tolist() == [
            [float(u), float(v)] for u, v in zip(a, b, strict=True)
        ]
        assert table.y.tolist() == labels
        classes = describe(path, "y").classes
        samples = FileSamples(path, target="y", classes=classes, memory=0)
        together = np.hstack([rows.X for rows in samples.chunks(2)])
        assert np.array_equal(together, table.X.T)


def test_mixed_labels_are_text_as_in_csv(book, monkeypatch):
    monkeypatch.setattr(xlsx_file, "_CELLS", 1)
    path = book(["a", "y"], [1, 1], [2, "x"], [3, True])
    assert describe(path, "y").classes == ("1", "true", "x")


def test_blank_rows_at_the_end_and_above_are_no_samples(book):
    path = book([], [None, " "], HEADER, *ROWS, [], [None, "  ", None], [])
    assert read_labelled(path, "y").X.shape == (3, 2)


def test_blank_columns_at_the_end_are_no_columns(book):
    path = book([*HEADER, None, " "], [*ROWS[0], None], [*ROWS[1], " ", None])
    assert read_labelled(path, "y").feature_names == ("a", "b")


def test_rows_are_named_as_in_the_sheet(book):
    path = book([], HEADER, ROWS[0], [1, "u"], ROWS[1])
    assert_refused("row 4, column `b`: the value is missing", path)
    path = book(HEADER, ROWS[0], [], ROWS[1])
    assert_refused("row 3: the target `y` is missing", path)
    path = book(HEADER, ROWS[0], [1, "u", "blue"])
    assert_refused("row 3, column `b`: features must be numbers, got 'blue'", path)
    path = book(HEADER, ROWS[0], [1, "u", 2, 3])
    assert_refused("row 3: expected 3 cells as in the row of names, got 4", path)


@pytest.mark.parametrize("day", [date(2024, 1, 31), datetime(2024, 1, 31, 12)])
def test_dates_are_no_numbers(book, day):
    path = book(["a", "y"], [day, 0], [day, 1])
    assert_refused("row 2, column `a`: features must be numbers, got '2024-01-31", path)
    assert describe(path, "y").n_samples == 2


def test_a_formula_is_what_it_gave(tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"S": [["a", "y"], ["=1+1", "u"], [2.5, "v"]]})
    # No spreadsheet has calculated it.
    assert_refused("row 2, column `a`: the value is missing", path)
    stored = tmp_path / "stored.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(stored, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.startswith("xl/worksheets/"):
                assert content.count(b"<v></v>") + content.count(b"<v />") == 1
                content = content.replace(b"<v></v>", b"<v>2</v>")
                content = content.replace(b"<v />", b"<v>2</v>")
            new.writestr(name, content)
    assert read_labelled(stored, "y").X.tolist() == [[2], [2.5]]


def test_names_are_checked(book):
    assert_refused(
        "column names must differ, but `a`", book(["a", "y", "a"], [1, 2, 3])
    )
    assert_refused("column 2 has no name", book(["a", None, "y"], [1, 2, 3]))
    assert_refused(
        "row 1: the first row must hold the column names", book([5, 6], [1, 2])
    )
    assert_refused("has column names but no rows", book(HEADER))
    assert_refused("is empty", book([], [None]))


def test_one_of_several_sheets_must_be_named(tmp_path):
    sheets = {"North": [HEADER, *ROWS], "Notes": [], "South": [HEADER, ROWS[0]]}
    path = write_workbook(tmp_path / "t.xlsx", sheets)
    assert_refused("2 sheets with content, `North`, `South`. Choose .* `--sheet`", path)
    options = ReadOptions(sheet="South")
    table = read_labelled(path, "y", options=options)
    assert table.X.tolist() == [[1.5, 1]]
    assert table.dialect == "sheet `South`"
    assert_refused(
        "no sheet `north`, only .*Did you mean `North`",
        path,
        options=ReadOptions(sheet="north"),
    )


def test_a_sheet_beside_blank_ones_need_not_be_named(tmp_path):
    sheets = {"Notes": [[], [None, " "]], "Data": [HEADER, *ROWS]}
    path = write_workbook(tmp_path / "t.xlsx", sheets)
    assert read_labelled(path, "y").X.shape == (3, 2)


def test_numbers_that_name_samples_are_text(book):
    path = book(["id", "a", "y"], ["007", 1, "u"], [8, 2, "v"], [None, 3, "v"])
    table = read_labelled(path, "y", options=ReadOptions(id="id"))
    assert table.ids == ("007", "8", "")
    assert table.feature_names == ("a",)


def test_a_damaged_file_is_refused(book):
    path = book(HEADER, *ROWS)
    whole = path.read_bytes()
    for content in (b"a,y\n1,2\n", whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(content)
        assert_refused("is damaged or not an XLSX file", path)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
def test_a_file_with_a_damaged_part_is_refused(book, part):
    path = book(HEADER, *ROWS)
    broken = path.with_name("broken.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, content[: len(content) // 2] if name == part else content
            )
    assert_refused("is damaged or not an XLSX file", broken)


def test_text_that_grows_when_it_is_unpacked_is_refused(book, monkeypatch):
    path = book(HEADER, *ROWS)
    monkeypatch.setattr(xlsx_file, "_SHARED_BYTES", 2**20)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings2.xml", bytes(2**21))
    assert path.stat().st_size < 20_000
    assert_refused("all text of a workbook must take at most 1 MB, got 2", path)


def test_a_sheet_that_changes_between_passes_is_refused(book):
    path = book(HEADER, *ROWS)
    samples = FileSamples(path, target="y", classes="uv", memory=0)
    book(["c", "y", "b"], *ROWS)
    with pytest.raises(DataError, match="has changed since"):
        list(samples.chunks(2))
    book(HEADER, *ROWS[:2])
    with pytest.raises(DataError, match="has changed since"):
        list(samples.chunks(2))


def test_without_the_extra_the_message_names_it(book):
    path = book(HEADER, *ROWS)
    code = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from dssfn.datasets import read_table; read_table(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True
    )
    assert 'pip install "dssfn[excel]"' in done.stderr
    assert "DataError" in done.stderr
