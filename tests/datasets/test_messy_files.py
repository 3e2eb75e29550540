"""Files as people have them: each is read right, or refused with the way out."""

from __future__ import annotations

import gzip
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dssfn.datasets import FileSamples, ReadOptions, describe, read_labelled
from dssfn.datasets.contents import read_encoded
from dssfn.datasets.proposals import propose_schema
from dssfn.errors import DataError
from dssfn.schema import Column, Schema, Target
from tests.support.workbooks import write_workbook

TWO = [[1.5, 2.0], [2.5, 4.0]]  # what most of these files hold, in columns a and b
UTF16 = "a;b;y\r\n1,5;2;ü\r\n2,5;4;v\r\n"

READ = {
    "plain": ("t.csv", "a,b,y\n1.5,2,u\n2.5,4,v\n"),
    "semicolons and decimal commas": ("t.csv", "a;b;y\n1,5;2;u\n2,5;4;v\n"),
    "semicolons and decimal points": ("t.csv", "a;b;y\n1.5;2;u\n2.5;4;v\n"),
    "tabs and decimal commas": ("t.tsv", "a\tb\ty\n1,5\t2\tu\n2,5\t4\tv\n"),
    "tabs in a CSV file": ("t.csv", "a\tb\ty\n1.5\t2\tu\n2.5\t4\tv\n"),
    "commas in a TSV file": ("t.tsv", "a,b,y\n1.5,2,u\n2.5,4,v\n"),
    "bars": ("t.csv", "a|b|y\n1.5|2|u\n2.5|4|v\n"),
    "Windows lines": ("t.csv", "a,b,y\r\n1.5,2,u\r\n2.5,4,v\r\n"),
    "byte order mark": ("t.csv", "\ufeffa,b,y\n1.5,2,u\n2.5,4,v\n"),
    "mark and quotes": ("t.csv", '\ufeff"a","b","y"\n"1.5","2","u"\n"2.5","4","v"\n'),
    "UTF-16": ("t.csv", UTF16.encode("utf-16")),
    "UTF-16, big end first": ("t.csv", b"\xfe\xff" + UTF16.encode("utf-16-be")),
    "Windows-1252": ("t.csv", "a;b;y\n1,5;2;\u20ac\n2,5;4;ü\n".encode("cp1252")),
    "gz": ("t.csv.gz", gzip.compress(b"a,b,y\n1.5,2,u\n2.5,4,v\n")),
    "gz of UTF-16": ("t.gz", gzip.compress(UTF16.encode("utf-16"))),
    "gz in two parts": (
        "t.tsv.gz",
        gzip.compress(b"a\tb\ty\n1.5\t2\tu\n") + gzip.compress(b"2.5\t4\tv\n"),
    ),
    "quotes with lines in them": ("t.csv", 'a,b,y\n1.5,2,"u\n;"\n2.5,4,"v,\r\n"""\n'),
    "semicolons in text": ("t.csv", 'a,b,y\n1.5,2,"u;w;x"\n2.5,4,"v;z;x"\n'),
    "separators in names": ("t.csv", '"a";"b";"y"\n1,5;2;"u,1"\n2,5;4;"v,2"\n'),
    "padded": ("t.csv", " a ; b ; y \n 1,5 ; 2 ; u \n2,5; 4;v\n"),
    "blank lines around": ("t.csv", "\n\r\na,b,y\n1.5,2,u\n2.5,4,v\n\n,,\n \n"),
    "no end of line": ("t.csv", "a,b,y\n1.5,2,u\n2.5,4,v"),
    "fractions with three digits": ("t.csv", "a;b;y\n1,500;2;u\n2,50;4;v\n"),
    "signs and leading zeros": ("t.csv", "a,b,y\n+1.5,02,u\n2.50,4.,v\n"),
    "exponents": ("t.csv", "a,b,y\n15e-1,2,u\n0.25E1,4,v\n"),
    "quoted numbers": ("t.csv", 'a,b,y\n"1.5","2",u\n"2.5",4,v\n'),
    "letters beyond ASCII": ("t.csv", "a,b,y\n1.5,2,é\n2.5,4,ü\n"),
}


@pytest.mark.parametrize("kind", READ)
def test_a_file_is_read_however_it_is_written(write, kind):
    path = write(*READ[kind])
    table = read_labelled(path, "y")
    assert table.X.tolist() == TWO
    assert table.feature_names == ("a", "b")
    classes = describe(path, "y").classes
    assert sorted(table.y.tolist()) == list(classes)
    samples = FileSamples(path, target="y", classes=classes, memory=0)
    assert [rows.X.T.tolist() for rows in samples.chunks(1)] == [[row] for row in TWO]


THIRD = ["line 3, column `a`"]
REFUSED = {
    "ambiguous thousands": (
        "t.csv",
        "a;y\n1,234;u\n2,345;v\n",
        ["line 2, column `a`: '1,234'", "--decimal ,"],
    ),
    "ambiguous points": (
        "t.csv",
        "a;y\n1.234;u\n2.345;v\n",
        ["line 2, column `a`: '1.234'", "--decimal ."],
    ),
    "points and commas": (
        "t.csv",
        "a;b;y\n1,5;1;u\n2,5;2.5;v\n",
        ["line 3, column `b`: '2.5'", "line 2, column `a`: '1,5'", "--decimal"],
    ),
    "thousands": (
        "t.csv",
        'a,y\n"1,234.5",u\n2,v\n',
        ["line 2, column `a`", "got '1,234.5'", "without thousands separators"],
    ),
    "thousands below decimal commas": (
        "t.csv",
        "a;b;y\n1,5;1;u\n2,5;1.234.567;v\n",
        ["line 3, column `b`", "got '1.234.567'", "without thousands separators"],
    ),
    "decimal commas between quotes": (
        "t.csv",
        'a,y\n"1,5",u\n"2,5",v\n',
        ["line 2, column `a`", "got '1,5'", "do not separate fields with commas"],
    ),
    "two separators": (
        "t.csv",
        "a,b;c,y\n1,2;3,4\n",
        ["3 fields between commas or as 2 fields between semicolons", "--sep"],
    ),
    "two encodings": (
        "t.csv",
        "a,y\n1,é\n".encode() + "1,é\n".encode("latin-1"),
        ["line 3", "line 2", "--encoding"],
    ),
    "no known encoding": (
        "t.csv",
        b"a,y\n1,u\n1,\x81\xe9\n",
        ["line 3: the text is not UTF-8", "--encoding"],
    ),
    "NUL bytes": ("t.csv", b"a,y\n1,u\n2,\0v\n", ["line 3", "NUL", "save the file"]),
    "UTF-16 without a mark": (
        "t.csv",
        UTF16.encode("utf-16-le"),
        ["line 1", "NUL", "--encoding utf-16-le"],
    ),
    "UTF-16 without a mark, big end first": (
        "t.csv",
        UTF16.encode("utf-16-be"),
        ["line 1", "NUL", "--encoding utf-16-be"],
    ),
    "UTF-16 cut short": (
        "t.csv",
        UTF16.encode("utf-16")[:-1],
        ["must be UTF-16 throughout", "--encoding"],
    ),
    "gz cut short": (
        "t.csv.gz",
        gzip.compress(b"a,y\n" + b"1,u\n" * 999)[:-9],
        ["truncated, damaged or not compressed by gzip", "Compress it again"],
    ),
    "gz with wrong bits": (
        "t.csv.gz",
        gzip.compress(b"a,y\n1,u\n")[:-8] + bytes(8),
        ["truncated, damaged or not compressed by gzip", "Compress it again"],
    ),
    "gz that is none": (
        "t.csv.gz",
        "a,y\n1,u\n",
        ["not compressed by gzip", "Compress it again"],
    ),
    "gz without its suffix": (
        "t.csv",
        gzip.compress(b"a,y\n1,u\n"),
        ["is compressed by gzip", "let its name end in `.gz`"],
    ),
    "gz of nothing": ("t.csv.gz", gzip.compress(b""), ["is empty"]),
    "dates": (
        "t.csv",
        "a,y\n2024-01-31,u\n2024-02-01,v\n",
        ["line 2, column `a`", "got '2024-01-31'", "remove it, or"],
    ),
    "mixed types": (
        "t.csv",
        "a,y\n1,u\n2,v\nn/a,v\n",
        ["line 4, column `a`", "got 'n/a'", "Correct the value"],
    ),
    "same name twice": ("t.csv", "a,y,a\n1,u,2\n", ["`a` occurs 2 times", "Rename"]),
    "no name": ("t.csv", "a,,y\n1,2,u\n", ["column 2 has no name", "Name it"]),
    "long line": (
        "t.csv",
        "a;y\n1;u\n1;2;u\n",
        ["line 3: expected 2 fields", "got 3", "Quote"],
    ),
    "short line": (
        "t.csv",
        "a,y,b\n1,u,2\n1,u\n",
        ["line 3, column `b`: the value is missing", "Fill it in", "in a schema"],
    ),
    "header only": ("t.csv", "a;y\n", ["column names but no rows"]),
    "no header": ("t.csv", "1.5;2\n2.5;3\n", ["line 1", "Add a line of names"]),
    "carriage returns": ("t.csv", "a;y\r1;u\r2;v\r", ["line feed", "Save it again"]),
    "a note for a spreadsheet": (
        "t.csv",
        "sep=;\na;y\n1;u\n",
        ["line 1", "Remove it"],
    ),
    "nothing": ("t.csv", "", ["is empty"]),
    "a mark alone": ("t.csv", "\ufeff", ["is empty"]),
    "separators at the end of lines": (
        "t.csv",
        "a,y\n1,u,\n2,v,\n",
        ["line 2: expected 2 fields", "Remove separators at the end of lines"],
    ),
    "separators at the end of all lines": (
        "t.csv",
        "a;y;\n1;u;\n2;v;\n",
        ["column 3 has no name", "Name it, or remove it"],
    ),
    "infinity": ("t.csv", "a,y\n1,u\ninf,v\n", [*THIRD, "finite, got inf"]),
    "less than all numbers": (
        "t.csv",
        "a;y\n1,5;u\n-Infinity;v\n",
        [*THIRD, "finite, got -inf"],
    ),
    "more than all numbers": ("t.csv", "a,y\n1,u\n1e400,v\n", [*THIRD, "finite"]),
    "no number": ("t.csv", "a,y\n1,u\nNaN,v\n", [*THIRD, "finite, got nan"]),
    "a minus that is none": (
        "t.csv",
        "a,y\n1,u\n\u22125,v\n",
        [*THIRD, "got '\u22125'", "minus sign as a plain hyphen"],
    ),
    "percent": ("t.csv", "a,y\n1,u\n12 %,v\n", [*THIRD, "without percent signs"]),
    "spaces between thousands": (
        "t.csv",
        "a;y\n1;u\n1\u00a0234,5;v\n",
        [*THIRD, "without thousands separators"],
    ),
    "apostrophes between thousands": (
        "t.csv",
        "a,y\n1,u\n1'234.5,v\n",
        [*THIRD, "without thousands separators"],
    ),
    "digits of another script": (
        "t.csv",
        "a,y\n1,u\n\u0663,v\n",
        [*THIRD, "must be numbers, got '\u0663'"],
    ),
    "a unit": ("t.csv", "a,y\n1,u\n5 kg,v\n", [*THIRD, "got '5 kg'"]),
    "text below ten thousand numbers": (
        "t.csv",
        "a,y\n" + "1,u\n" * 10_000 + "x,v\n",
        ["line 10002, column `a`: features must be numbers, got 'x'"],
    ),
    "a title above": (
        "t.csv",
        "Visits in May\na,y\n1,u\n2,v\n",
        ["no target column `y`, only `Visits in May`"],
    ),
    "another separator": (
        "t.csv",
        "a:b:y\n1:2:u\n",
        ["no target column `y`, only `a:b:y`. Is `sep` the right field separator?"],
    ),
    "a sum below": ("t.csv", "a,y\n1,u\n2,v\nTotal: 3\n", ["line 4: the target `y`"]),
    "open quotes": (
        "t.csv",
        'a,y\n"1,u\n2,v\n',
        ["line 2: a quotation mark is opened"],
    ),
    "no XLSX": ("t.xlsx", "a,y\n1,u\n", ["not an XLSX file", "Save it again"]),
    "not a Feather": ("t.feather", "a,y\n1,u\n", ["not a Feather", "Write it again"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_is_refused_with_the_way_out(write, kind):
    name, content, words = REFUSED[kind]
    path = write(name, content)
    for read in (read_labelled, describe):
        try:
            read(path, "y")
        except DataError as exc:
            said = str(exc)
        else:  # a description looks at labels only
            assert read is describe
            continue
        assert said.startswith(f"`{name}`")
        assert "\n" not in said
        for word in words:
            assert word in said


@pytest.mark.parametrize("word", ["NA", "n/a", "?", "-", "null", "None", "#N/A", "."])
def test_a_word_for_missing_is_not_taken_for_it(write, word):
    path = write("t.csv", f"a,k,y\n1,u,u\n{word},u,v\n2,{word},v\n")
    with pytest.raises(DataError, match=r"line 3, column `a`.*leave the field empty"):
        read_labelled(path, "y", options=ReadOptions(drop=["k"]))
    target = Target(column="y", classes=("u", "v"))
    number = Column(name="a", kind="number", missing=True)
    category = Column(name="k", kind="category", levels=("u",), missing=True)
    for column, line in ((number, 3), (category, 4)):
        schema = Schema(columns=(column,), target=target)
        where = f"line {line}, column `{column.name}`"
        with pytest.raises(DataError, match=f"{where}.*leave the field empty"):
            read_encoded(path, schema)
    # A proposal says why the number is none.
    remarks = propose_schema(path, "y").remarks
    assert f'there is "{word}"' in remarks["a"][0]
    # Empty fields are what a schema allows.
    path = write("t.csv", "a,k,y\n1,u,u\n,u,v\n2,,v\n")
    schema = Schema(columns=(number, category), target=target)
    features = read_encoded(path, schema).X.tolist()
    np.testing.assert_equal(features[1:], [[np.nan, 1, 1, 0], [2, 0, 0, 1]])


def test_labels_that_turn_out_to_be_text_are_text_from_the_first(write):
    path = write("t.csv", "a,y\n" + "1,2\n" * 10_000 + "1,x\n")
    assert describe(path, "y").classes == ("2", "x")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_the_index_of_pandas_is_no_feature_nor_are_dates(tmp_path, suffix):
    frame = pd.DataFrame(
        {"a": [1.5, 2.5], "day": pd.to_datetime(["2024-01-31"] * 2), "y": ["u", "v"]},
        index=pd.Index([70, 80], name=None if suffix == ".feather" else "patient"),
    )
    path = tmp_path / f"t{suffix}"
    if suffix == ".feather":
        frame.reset_index(drop=True).to_feather(path)
    else:
        frame.to_parquet(path)
    with pytest.raises(DataError, match=r"row 1, column `day`: .* got '2024-01-31"):
        read_labelled(path, "y")
    table = read_labelled(path, "y", options=ReadOptions(drop=["day"]))
    assert (table.feature_names, table.X.tolist()) == (("a",), [[1.5], [2.5]])


MERGED = {
    "names": (
        [["Measured", None, "y"], [1, 2, "u"], [3, 4, "v"]],
        "column 2 has no name",
    ),
    "title": (
        [["Visits", None, None], ["a", "b", "y"], [1, 2, "u"]],
        "no target column `y`, only `Visits`",
    ),
    "values": (
        [["a", "b", "y"], [1, 2, "u"], [None, 4, "v"]],
        "row 3, column `a`: the value is missing",
    ),
}


@pytest.mark.parametrize("kind", MERGED)
def test_merged_cells_are_refused_where_a_value_is_wanted(tmp_path, kind):
    rows, words = MERGED[kind]
    cells = {"names": "A1:B1", "title": "A1:C1", "values": "A2:A3"}[kind]
    path = write_workbook(tmp_path / "t.xlsx", {"Data": rows}, merged=cells)
    with pytest.raises(DataError, match=words):
        read_labelled(path, "y")


SAID = {
    "Latin-1": ("a,y\n2,\u00e9\n".encode("latin-1"), {"encoding": "latin-1"}, 2),
    "tabs": ("a\ty\n2\tu\n", {"sep": "tab"}, 2),
    "thousands that are fractions": ("a;y\n1,234;u\n", {"decimal": ","}, 1.234),
    "points that are fractions": ("a;y\n1.234;u\n", {"decimal": "."}, 1.234),
    "UTF-16, no mark": ("a,y\n2,u\n".encode("utf-16-be"), {"encoding": "UTF-16BE"}, 2),
    "semicolons, not commas": ("a;y,z\n1,5;u,v\n", {"sep": ";", "decimal": ","}, 1.5),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAID)
def test_what_is_said_is_not_looked_for(write, kind):
    content, options, value = SAID[kind]
    path = write("t.csv", content)
    target = "y,z" if "z" in str(content) else "y"
    table = read_labelled(path, target, options=ReadOptions(**options))
    assert table.X.tolist() == [[value]]


def test_columns_that_are_no_numbers_can_be_left_out(write):
    text = "patient,day,a,y,note\n007,2024-01-31,1,u,n/a\n008,2024-02-01,2,v,\n"
    path = write("t.csv", text)
    options = ReadOptions(drop=["day", "note"], id="patient")
    table = read_labelled(path, "y", options=options)
    assert table.X.tolist() == [[1], [2]]
    assert table.ids == ("007", "008")
    chosen = read_labelled(path, "y", options=ReadOptions(columns=["a"]))
    assert chosen.X.tolist() == [[1], [2]]
    assert chosen.ids is None


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".feather", ".parquet"])
def test_ten_thousand_columns_are_read(tmp_path, suffix):
    n_columns = 10_000
    frame = pl.DataFrame(
        {f"c{k}": [k, k + 1] for k in range(n_columns)} | {"y": ["u", "v"]}
    )
    path = tmp_path / f"wide{suffix}"
    if suffix == ".feather":
        frame.write_ipc(path)
    elif suffix == ".parquet":
        frame.write_parquet(path)
    else:
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if "gz" in suffix else content)
    table = read_labelled(path, "y")
    assert table.X.shape == (2, n_columns)
    assert table.X[1].tolist() == list(range(1, n_columns + 1))
    options = ReadOptions(columns=["c9999", "c7"])
    assert read_labelled(path, "y", options=options).X[0].tolist() == [9999, 7]


def test_a_workbook_with_notes_and_dates_is_read_where_it_is_said(tmp_path):
    day = datetime(2024, 1, 31)
    path = write_workbook(
        tmp_path / "t.xlsx",
        {
            "Notes": [["measured in May"]],
            "Data": [["day", "a", "y"], [day, 1.5, "u"], [day, 2.5, "v"], [], [None]],
        },
    )
    with pytest.raises(DataError, match=r"2 sheets with content.*--sheet"):
        read_labelled(path, "y")
    with pytest.raises(DataError, match=r"row 2, column `day`.*got '2024-01-31"):
        read_labelled(path, "y", options=ReadOptions(sheet="Data"))
    options = ReadOptions(sheet="Data", drop=["day"])
    assert read_labelled(path, "y", options=options).X.tolist() == [[1.5], [2.5]]
