"""One table in every dialect: what is found is right, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.datasets import (
    FileSamples,
    ReadOptions,
    csv_file,
    describe,
    read_labelled,
    read_table,
    text_file,
)
from dssfn.datasets.files import open_file
from dssfn.errors import DataError

MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


def written(rows, *, sep, decimal, encoding, end="\n", mark=False, quoted=False):
    """The bytes of a table; cells that are floats have the decimal mark."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=sep, lineterminator=end, quoting=quoting)
    for row in rows:
        writer.writerow(
            str(cell).replace(".", decimal) if isinstance(cell, float) else cell
            for cell in row
        )
    return (MARKS[encoding] if mark else b"") + text.getvalue().encode(encoding)


numbers = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    st.integers(-(10**6), 10**6),
    st.sampled_from([1.234, 2.5, 0.125, 1234.5, 1e-7]),
)
letters = st.text("aé ß,;|\tü.\"'\n", min_size=1, max_size=6)
labels = letters.map(lambda text: f"<{text}>")  # neither blank nor a number


@st.composite
def dialects(draw):
    sep = draw(st.sampled_from(",;\t|"))
    decimal = draw(st.sampled_from("." if sep == "," else ".,"))
    encoding = draw(st.sampled_from([*MARKS, "windows-1252"]))
    return {
        "sep": sep,
        "decimal": decimal,
        "encoding": encoding,
        "mark": encoding in MARKS and draw(st.booleans()),
        "end": draw(st.sampled_from(["\n", "\r\n"])),
        "quoted": draw(st.booleans()),
    }


@settings(max_examples=150)
@given(
    rows=st.lists(st.tuples(numbers, numbers, labels), min_size=1, max_size=8),
    dialect=dialects(),
    is_packed=st.booleans(),
    block=st.sampled_from([1, 30, 2**21]),
)
def test_a_dialect_that_is_found_is_the_right_one(
    tmp_path_factory, rows, dialect, is_packed, block
):
    content = written([("size, m", "b", "kind"), *rows], **dialect)
    folder = tmp_path_factory.mktemp("laws")
    path = folder / ("t.csv.gz" if is_packed else "t.csv")
    path.write_bytes(gzip.compress(content) if is_packed else content)
    said = ReadOptions(
        **{name: dialect[name] for name in ("sep", "decimal", "encoding")}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "_CSV_BYTES", block)
        patch.setattr(text_file, "_PIECE", 7)  # letters are cut in two
        table = read_labelled(path, "kind", options=said)
        assert table.X.tolist() == [[float(a), float(b)] for a, b, _ in rows]
        assert table.y.tolist() == [kind for *_, kind in rows]
        assert table.feature_names == ("size, m", "b")
        try:
            found = read_labelled(path, "kind")
        except DataError as exc:
            refusal = str(exc)
        else:
            assert np.array_equal(found.X, table.X)
            assert found.y.tolist() == table.y.tolist()
            return
    assert re.search(r"`t\.csv.*--(sep|decimal|encoding)", refusal)


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        (b"a,y\n1.5,u\n2.5,v\n", "commas, decimal points, UTF-8"),
        (b"a;y\n1,5;u\n2,5;v\n", "semicolons, decimal commas, UTF-8"),
        (b"a;y\n1.5;u\n2.5;v\n", "semicolons, decimal points, UTF-8"),
        (b"a\ty\n1,5\tu\n2,5\tv\n", "tabs, decimal commas, UTF-8"),
        (b"a|y\n1.5|u\n2.5|v\n", "bars, decimal points, UTF-8"),
        (b"\xef\xbb\xbfa,y\n1.5,u\n2.5,v\n", "commas, decimal points, UTF-8"),
        (
            "a;y\n1,5;u\n2,5;v\n".encode("utf-16"),
            "semicolons, decimal commas, UTF-16",
        ),
        (
            "a,y,\xe9\n1.5,u,0\n2.5,v,0\n".encode("latin-1"),
            "commas, decimal points, Windows-1252",
        ),
    ],
)
def test_a_file_says_how_it_is_written(write, content, dialect):
    path = write("t.csv", content)
    options = ReadOptions(columns=["a"])
    assert open_file(path, "y", options=options).dialect == dialect
    assert describe(path, "y", options=options).dialect == dialect
    table = read_table(path, target="y", options=options)
    assert table.dialect == dialect
    assert table.X.tolist() == [[1.5], [2.5]]
    packed = write("t.gz", gzip.compress(content))
    table = read_table(packed, target="y", options=options)
    assert table.dialect == f"{dialect}, gzip"
    assert table.X.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize(
    "name", ["t.tsv", "t.tsv.gz", "t.TSV", "t.csv.GZ", "t.2024.gz"]
)
def test_the_text_and_not_the_name_tells_the_separator(write, name):
    content = b"a;y\n1;u\n2;v\n"
    is_packed = name.lower().endswith("gz")
    path = write(name, gzip.compress(content) if is_packed else content)
    assert read_labelled(path, "y").X.tolist() == [[1], [2]]


def test_one_column_needs_no_separator(write):
    assert read_table(write("t.csv", "a\n1.5\n2\n")).X.tolist() == [[1.5], [2]]
    assert read_table(write("t.tsv", "a\n1.5\n2\n")).X.tolist() == [[1.5], [2]]
    commas = ReadOptions(decimal=",")
    path = write("t.csv", "a\n1,5\n2\n")
    assert read_table(path, options=commas).X.tolist() == [[1.5], [2]]


@pytest.mark.parametrize("block", [1, 16, 2**21])
@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize(
    ("cells", "line"),
    [
        (['"x\ny"', "x", "x"], 5),
        (['"x\n\ny"', '"\n"', "x"], 7),
        (["x", '"x\n\r\ny"', '"\nx\n"'], 6),
    ],
)
def test_lines_are_counted_through_quoted_ends_of_line(
    write, monkeypatch, block, memory, cells, line
):
    monkeypatch.setattr(csv_file, "_CSV_BYTES", block)
    values = ["1", "2", "bad"]
    rows = (f"{cell},{value},0\n" for cell, value in zip(cells, values, strict=True))
    path = write("t.csv", "\n" + '"no\nte",a,y\n' + "".join(rows))
    # Two lines of a header and a blank one above it.
    samples = FileSamples(path, target="y", classes=[0], features=["a"], memory=memory)
    with pytest.raises(DataError, match=rf"line {line + 2}, column `a`.*got 'bad'"):
        list(samples.chunks(2))


def test_text_that_is_padded_has_decimal_commas_too(write):
    path = write("t.csv", "a;y\n 1,5 ;u\n2,5;v\n-,5;v\n")
    assert read_labelled(path, "y").X.tolist() == [[1.5], [2.5], [-0.5]]


def test_labels_may_be_numbers_with_decimal_commas(write):
    path = write("t.csv", "a;y\n1,5;0,0\n2,5;1,0\n")
    assert read_labelled(path, "y").y.tolist() == [0, 1]


def test_a_number_in_the_other_way_is_told_with_its_line(write):
    path = write("t.csv", "a;b;y\n1,5;1;u\n2,5;2;v\n3,5;1.234;v\n")
    with pytest.raises(DataError) as caught:
        read_labelled(path, "y")
    message = str(caught.value)
    assert message.startswith("`t.csv`, line 4, column `b`: features must be numbers")
    assert "thousands separator" in message
    assert "--decimal ." in message


def test_a_gz_of_much_text_is_held_in_blocks_only(tmp_path):
    # A thousand times as long as its file, and its lines end.
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,y\n")
        for _ in range(60):
            file.write(b"1,0\n" * 2**16)
    assert path.stat().st_size < 100_000
    held = []
    with text_file.find_text(path).open() as text:
        while piece := text.read(2**16):
            held.append(len(piece))
    assert max(held) == 2**16
    assert sum(held) == 4 + 60 * 4 * 2**16
