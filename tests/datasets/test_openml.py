"""What OpenML gives: its checksum, its conversion, and what can go wrong."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import warnings
from http.client import IncompleteRead
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from dssfn.datasets import fetch_openml_dataset, load_dataset
from dssfn.datasets.openml import convert
from dssfn.errors import DataError
from tests.support.data_sets import assert_equal, other_frame

pytestmark = pytest.mark.usefixtures("offline")

ROWS = "".join(f"{k},{k * k},{'ab'[k % 2]}\n" for k in range(20))
ARFF = "@relation t\n@attribute p integer\n@attribute q integer\n" + (
    f"@attribute class {{a,b}}\n@data\n{ROWS}"
)


@pytest.fixture
def server(monkeypatch):
    """An OpenML on this machine with one set; returns a way to state its checksum."""
    from sklearn.datasets import _openml

    stated = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = _answer(self.path, stated["md5"], self.server.server_port)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            here = f"http://127.0.0.1:{http.server_port}"
            url = getattr(_openml, name).replace("https://www.openml.org", here)
            monkeypatch.setattr(_openml, name, url)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", _openml.fetch_openml)
        yield lambda md5: stated.update(md5=md5)
        http.shutdown()
        thread.join()


def _answer(path, md5, port):
    if path.endswith(".arff"):
        return ARFF.encode()
    if "list" in path:
        answer = {"data": {"dataset": [{"did": 1, "version": 1, "status": "active"}]}}
    elif "features" in path:
        kinds = {"p": "numeric", "q": "numeric", "class": "nominal"}
        features = [
            {
                "index": str(k), "name": name, "data_type": kind,
                "is_target": str(name == "class").lower(), "is_ignore": "false",
                "is_row_identifier": "false", "number_of_missing_values": "0",
                "nominal_value": ["a", "b"],
            }
            for k, (name, kind) in enumerate(kinds.items())
        ]  # fmt: skip
        answer = {"data_features": {"feature": features}}
    elif "qualities" in path:
        counts = [{"name": "NumberOfInstances", "value": "20"}]
        answer = {"data_qualities": {"quality": counts}}
    else:
        url = f"http://127.0.0.1:{port}/t.arff"
        about = {
            "id": "1",
            "name": "t",
            "description": "",
            "version": "1",
            "status": "active",
        }
        about |= {"format": "ARFF", "url": url, "file_id": "1", "md5_checksum": md5}
        answer = {"data_set_description": about}
    return json.dumps(answer).encode()


def test_a_download_with_the_checksum_that_openml_states_is_taken(server):
    server(hashlib.md5(ARFF.encode()).hexdigest())
    assert load_dataset("t").X_train.shape == (14, 2)


def test_a_download_with_another_checksum_is_refused_and_not_kept(server, tmp_path):
    server("0" * 32)
    with pytest.raises(DataError) as caught:
        load_dataset("t")
    assert f"expected {'0' * 32}" in str(caught.value)
    assert hashlib.md5(ARFF.encode()).hexdigest() in str(caught.value)
    assert not (tmp_path / "cache").exists()


# The conversion


def vowel_frame(speaker):
    """The 990 samples of vowel in file order, with made-up features."""
    n_speakers = np.repeat(np.arange(15), 66)
    frame = pd.DataFrame({f"Feature_{i}": np.arange(990.0) + i for i in range(10)})
    frame.insert(0, "Train_or_Test", pd.Categorical(["Train"] * 990))
    frame.insert(1, "Speaker_Number", speaker(n_speakers))
    frame.insert(2, "Sex", pd.Categorical(["Male"] * 990))
    words = [
        "hid",
        "hId",
        "hEd",
        "hAd",
        "hYd",
        "had",
        "hOd",
        "hod",
        "hUd",
        "hud",
        "hed",
    ]
    return frame, pd.Series(words * 90, name="Class", dtype="category")


def names_out_of_order(numbers):
    return pd.Categorical([f"{'zyxwvutsrqponml'[n]}name" for n in numbers])


@pytest.mark.parametrize(
    "speaker",
    [
        lambda numbers: numbers,
        lambda numbers: pd.Categorical(numbers.astype(str)),
        names_out_of_order,
    ],
)
def test_vowel_is_split_by_speaker_and_keeps_ten_features(speaker):
    data = convert("vowel", *vowel_frame(speaker))
    assert data.feature_names == tuple(f"Feature_{i}" for i in range(10))
    assert np.array_equal(data.X_train[:, 0], np.arange(528))
    assert np.array_equal(data.X_test[:, 0], np.arange(528, 990))
    assert data.y_train[:12].tolist() == [*range(11), 0]
    assert np.bincount(data.y_test).tolist() == [42] * 11


def test_vowel_without_speakers_is_refused():
    frame, target = vowel_frame(lambda numbers: numbers)
    with pytest.raises(DataError, match="no column of speakers"):
        convert("vowel", frame.drop(columns="Speaker_Number"), target)


@pytest.mark.parametrize(
    ("name", "n_train", "labels", "n_classes"),
    [
        ("satimage", 4435, ["7.", "1.", "2.", "3.", "4.", "5."], 6),
        ("letter", 13333, [chr(ord("Z") - i) for i in range(26)], 26),
        ("mnist", 60000, [str(9 - i) for i in range(10)], 10),
    ],
)
def test_recipes_train_on_the_first_rows_with_sorted_class_ids(
    name, n_train, labels, n_classes
):
    n_rows = n_train + 100
    target = pd.Series((labels * (n_rows // len(labels) + 1))[:n_rows], name="class")
    frame = pd.DataFrame({"f": np.arange(n_rows)})
    data = convert(name, frame, target.astype("category"))
    assert data.X_train.shape == (n_train, 1)
    assert np.array_equal(data.X_test[:, 0], np.arange(n_train, n_rows))
    assert set(data.y_train.tolist()) == set(range(n_classes))
    order = sorted(labels)
    expected = [order.index(label) for label in labels]
    assert data.y_train[: len(labels)].tolist() == expected


@pytest.mark.parametrize("n_rows", [4435, 100])
def test_a_recipe_refuses_a_set_of_another_size(n_rows):
    target = pd.Series(np.arange(n_rows) % 6, name="class")
    with pytest.raises(DataError, match="not the known set: expected 4435"):
        convert("satimage", pd.DataFrame({"f": np.zeros(n_rows)}), target)


def test_other_sets_are_split_70_to_30_by_class():
    data = convert("other", *other_frame())
    assert data.X_train.shape == (14, 3)
    assert sorted(data.y_test) == ["x"] * 3 + ["y"] * 3
    assert data.feature_names == ("a", "b", "c")
    assert_equal(data, convert("other", *other_frame()))


def test_numbers_given_as_text_are_whole_labels():
    frame, _ = other_frame()
    data = convert("other", frame, pd.Series(["1", "2"] * 10, name="class"))
    assert data.y_train.dtype == np.int64


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f, t: (f.assign(d="red"), t), "column `d` is of type"),
        (lambda f, t: (f.mask(f["a"] == 3), t), "row 4, column 1 of `X`"),
        (lambda f, t: (f, t.mask(t.index == 5)), "row 6: the target `class` is miss"),
        (lambda f, t: (f, None), "must have one target"),
        (lambda f, t: (f, t.to_frame()), "must have one target"),
        (lambda f, t: (f, f["b"]), "classification needs class labels"),
    ],
)
def test_sets_that_do_not_fit_are_refused(damage, message):
    frame, target = other_frame()
    with pytest.raises(DataError, match=message) as caught:
        convert("other", *damage(frame[["a", "b"]], target))
    assert "other of OpenML" in str(caught.value)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (URLError("no route to host"), "no route to host"),
        (TimeoutError("timed out"), "timed out"),
        (ValueError("No active dataset other found."), "No active dataset other found"),
        (IncompleteRead(b""), "IncompleteRead"),
        (KeyError("data"), "data"),
        (ImportError("pandas"), r"pip install 'dssfn\[openml\]'"),
    ],
)
def test_trouble_with_openml_is_a_data_error(monkeypatch, trouble, words):
    def fail(**_):
        raise trouble

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(DataError, match=words) as caught:
        fetch_openml_dataset("other")
    assert "\n" not in str(caught.value)


def test_downloads_give_up_and_do_not_chatter(monkeypatch):
    def fail(**_):
        assert socket.getdefaulttimeout() == 30
        warnings.warn("A network error occurred while downloading. Retrying...")  # noqa: B028
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    before = socket.getdefaulttimeout()
    with pytest.raises(DataError, match="OpenML did not give `other`"):
        fetch_openml_dataset("other")
    assert socket.getdefaulttimeout() == before
