"""A table's way through a whole federation leaves nothing of its rows elsewhere.

Markers are planted in the table of one of three clinics, wherever a table has text or
numbers: a level that few rows have, ids, dates, free text, names of files and folders,
a column that no schema has, a number that one row has. Then all letters, all files of
the others, and all that is published is searched for them.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode

import numpy as np
import pandas as pd
import pytest

from dssfn.transports.grpc import exchange_pb2 as pb
from tests.support import totals
from tests.support.commands import dssfn
from tests.support.federations import local, run_all, start
from tests.support.recorded import written

pytestmark = pytest.mark.grpc

NAMES = ("north", "south", "east")
MARKED, OTHERS = "south", ("north", "east")
MARKER = "zqmark0815"
RARE = 987654.321
DATE = "1931-07-23"


def table(rng, n):
    """A clinic's table as it comes: ids, dates, free text, gaps."""
    return pd.DataFrame(
        {
            "patient": [f"p{k:04}-{rng.integers(10**6)}" for k in range(n)],
            "visited": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(20, 90, n)),
            "marrow": np.where(
                rng.random(n) < 0.5, np.nan, rng.normal(size=n).round(4)
            ),
            "income": rng.normal(3e4, 5e3, n).round(2),
            "ward": rng.choice(["eyes", "heart", "skin"], n),
            "smokes": rng.choice(["true", "false"], n),
            "note": [f"seen {rng.integers(10**6)} times" for _ in range(n)],
            "outcome": rng.choice(["well", "ill"], n),
        }
    )


def marked(rng, n):
    """A clinic's table with markers."""
    frame = table(rng, n)
    frame.loc[3, "patient"] = f"{MARKER}-id"
    frame.loc[4, "visited"] = DATE
    frame.loc[5, "income"] = RARE
    frame.loc[[7, 8, 9], "ward"] = f"{MARKER}-level"
    frame.loc[11, "note"] = f"{MARKER} said that"
    frame[f"{MARKER}-column"] = [f"{MARKER}-{k}" for k in range(n)]
    return frame


def secrets():
    """The markers in every way that bytes may hold them."""
    texts = [MARKER, DATE, repr(RARE), "987,654.32", "9.8765432"]
    found = {text.encode(code) for text in texts for code in ("utf-8", "utf-16-le")}
    found |= {text.encode("utf-16-be") for text in texts}
    return found | {
        np.array(RARE, kind).tobytes() for kind in ("<f8", ">f8", "<f4", ">f4")
    }


def check_clean(what, content):
    """Nothing of the markers is in some bytes, nor in pictures within them."""
    within = re.findall(rb"base64,([A-Za-z0-9+/=]+)", content)
    for one in (content, *map(b64decode, within)):
        assert not [secret for secret in secrets() if secret in one], what


def check_letters(path):
    """No envelope has a marker, and no message has the rare number among its sums."""
    n_frames = 0
    for one in written(path):
        check_clean(path, one)
        envelope = pb.Envelope.FromString(one)
        if envelope.WhichOneof("content") != "frame":
            continue
        n_frames += 1
        frame = envelope.frame
        numbers = totals.all_sums(np.frombuffer(frame.values, frame.dtype))
        assert not np.isclose(np.abs(numbers), RARE, rtol=1e-9, atol=0).any()
    assert n_frames > 5


def shown(*command):
    """What a command prints; it must end well."""
    ended = dssfn(*command)
    assert ended.exit_code == 0, ended.output
    return ended.output.encode()


def write_tables(root, n):
    """Write every clinic's table into a place of its own; return the files."""
    rng = np.random.default_rng(7)
    places = {}
    for name in NAMES:
        mark, make = (MARKER, marked) if name == MARKED else (name, table)
        places[name] = root / f"{mark}-folder" / f"{mark}-file.csv"
        places[name].parent.mkdir()
        make(rng, n).to_csv(places[name], index=False)
    return places


def united_schema(root, places):
    """Let every clinic propose a schema, and unite what they send."""
    texts = []
    for name, place in places.items():
        texts.append(root / f"{name}.toml")
        drop = ("--drop", f"{MARKER}-column") if name == MARKED else ()
        shown("schema", place, "--target", "outcome", *drop, "--out", texts[-1])
    united = root / "schema.toml"
    shown("schema", "merge", *texts, "--out", united)
    for one in (*texts, united):
        check_clean(one, one.read_bytes())
    return united


@pytest.fixture
def federate(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", f"{MARKER}-user")

    def make(*settings, n=60):
        places = write_tables(tmp_path, n)
        schema = united_schema(tmp_path, places)
        folder = local(tmp_path / "fed", NAMES, "--schema", schema, *settings)
        for name, place in places.items():
            node = folder / name / "node.toml"
            text = node.read_text().replace('"data.csv"', f'"{place}"')
            assert str(place) in text
            node.write_text(text)
        return folder, places[MARKED]

    return make


def recorded(folder):
    """The program that keeps all letters of a node."""
    return ("tests.support.recorded", str(folder / "{name}.letters"))


def check_files(folder, names):
    for name in names:
        files = [path for path in (folder / name).rglob("*") if path.is_file()]
        assert len(files) > 5
        for path in files:
            check_clean(path, path.read_bytes())


FIXED = ("--layers", 1, "--width", 20)


FOUND = ("--members", 3, "--width", 20, "--publish-sites")


# Masked messages are noise; what is searched for must not be in the plain ones either.
@pytest.mark.parametrize(
    "settings",
    [(*FIXED, "--no-secure"), (*FOUND, "--no-secure"), FOUND],
    ids=["fixed size, plain", "found size, plain", "found size, masked"],
)
def test_nothing_of_a_marked_table_is_anywhere_else(federate, settings):
    folder, _ = federate(*settings)
    for name in OTHERS:
        check_clean(name, shown("node", "check", folder / name))
    for command in ("federation statistics", "node run"):
        ended = run_all(folder, NAMES, command, program=recorded(folder))
        for name in OTHERS:
            check_clean(name, "".join(ended[name]).encode())
        for name in NAMES:
            path = folder / f"{name}.letters"
            check_letters(path)
            path.unlink()
    for name in OTHERS:
        out = folder / name / "out"
        model = out / "model.safetensors"
        shown("report", out)
        shown("card", model, "--out", out / "card.md")
        shown("card", model, "--out", out / "card.html")
        shown("export", model, out / "model.onnx")
        check_clean(name, shown("info", model) + shown("info", model, "--json"))
    check_files(folder, OTHERS)
    # The card and the model may be given to anybody, by the marked clinic too.
    model = folder / MARKED / "out" / "model.safetensors"
    check_clean(model, model.read_bytes() + shown("card", model))


def test_what_goes_wrong_in_a_run_is_told_to_nobody(federate):
    folder, place = federate(*FIXED, n=3000)
    node = folder / MARKED / "node.toml"
    # With so little memory the node does not keep its samples: it reads them again.
    node.write_text(f'memory = "1MB"\n{node.read_text()}')
    running = {}
    try:
        for name in (MARKED, "north"):
            running[name] = start(folder, name, "node run", program=recorded(folder))
        for line in running[MARKED].stderr:
            if "north is connected" in line:
                break
        rows = place.read_text().splitlines()
        assert ",well," in rows[-1] or ",ill," in rows[-1]
        rows[-1] = (
            rows[-1].replace(",well,", f",{MARKER},").replace(",ill,", f",{MARKER},")
        )
        place.write_text("\n".join(rows) + "\n")
        running["east"] = start(folder, "east", "node run", program=recorded(folder))
        _, said = running[MARKED].communicate(timeout=300)
        assert running[MARKED].returncode == 2
        assert f"'{MARKER}' does not belong to a class" in said
        for line in running["north"].stderr:
            if "south is gone: " in line:
                break
    finally:
        for one in running.values():
            one.kill()
            one.communicate()
    for name in NAMES:
        for one in written(folder / f"{name}.letters"):
            check_clean(name, one)
    check_files(folder, OTHERS)


def test_what_is_searched_for_can_be_found(tmp_path):
    place = write_tables(tmp_path, 60)[MARKED]
    fields = place.read_bytes().replace(b"\n", b",").split(b",")
    for secret in (MARKER, DATE, repr(RARE)):
        assert any(secret.encode() in field for field in fields)
    for content in (
        f"mean {RARE}".encode("utf-16-be"),
        np.array([1, RARE]).tobytes(),
        np.array([1, RARE], ">f4").tobytes(),
        b"<img src='data:image/png;base64," + b64encode(MARKER.encode()) + b"'>",
    ):
        with pytest.raises(AssertionError):
            check_clean("planted", content)
