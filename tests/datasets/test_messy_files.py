"""Files as people have them: each is read right, or refused with the way out."""

from __future__ import annotations

import gzip
from datetime import datetime

import polars as pl
import pytest

from dssfn.datasets import FileSamples, ReadOptions, describe, read_labelled
from dssfn.errors import DataError
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
        ["line 2, column `a`", "got '1,234.5'", "without marks between thousands"],
    ),
    "thousands below decimal commas": (
        "t.csv",
        "a;b;y\n1,5;1;u\n2,5;1.234.567;v\n",
        ["line 3, column `b`", "got '1.234.567'", "without marks between thousands"],
    ),
    "decimal commas between quotes": (
        "t.csv",
        'a,y\n"1,5",u\n"2,5",v\n',
        ["line 2, column `a`", "got '1,5'", "do not separate fields by commas"],
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
        ["cut short, damaged or not packed by gzip", "Pack it again"],
    ),
    "gz with wrong bits": (
        "t.csv.gz",
        gzip.compress(b"a,y\n1,u\n")[:-8] + bytes(8),
        ["cut short, damaged or not packed by gzip", "Pack it again"],
    ),
    "gz that is none": (
        "t.csv.gz",
        "a,y\n1,u\n",
        ["not packed by gzip", "Pack it again"],
    ),
    "gz without its suffix": (
        "t.csv",
        gzip.compress(b"a,y\n1,u\n"),
        ["is packed by gzip", "let its name end in `.gz`"],
    ),
    "gz of nothing": ("t.csv.gz", gzip.compress(b""), ["is empty"]),
    "dates": (
        "t.csv",
        "a,y\n2024-01-31,u\n2024-02-01,v\n",
        ["line 2, column `a`", "got '2024-01-31'", "or remove it"],
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
        ["line 3, column `b`: the value is missing", "Fill it in"],
    ),
    "header only": ("t.csv", "a;y\n", ["column names but no rows"]),
    "no header": ("t.csv", "1.5;2\n2.5;3\n", ["line 1", "Add a line of names"]),
    "carriage returns": ("t.csv", "a;y\r1;u\r2;v\r", ["line feed", "Save it again"]),
    "a note for a spreadsheet": (
        "t.csv",
        "sep=;\na;y\n1;u\n",
        ["line 1", "Remove the line"],
    ),
    "open quotes": ("t.csv", 'a,y\n"1,u\n2,v\n', ["cannot be read as CSV"]),
    "no XLSX": ("t.xlsx", "a,y\n1,u\n", ["no XLSX file", "Save it again"]),
    "no Feather": ("t.feather", "a,y\n1,u\n", ["no Feather", "Write it again"]),
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


SAID = {
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
