"""What is downloaded must be what was asked for, then and whenever it is used again."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from hypothesis import given
from hypothesis import strategies as st

from dssfn.datasets import load_dataset
from dssfn.datasets.recipes import RECIPES, content_digest
from dssfn.errors import DataError
from tests.datasets.test_named import REAL, other_frame

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


# The content of known sets


@given(st.randoms(use_true_random=False), st.permutations(range(4)))
def test_the_digest_is_that_of_the_rows_whatever_their_order_and_class_ids(rng, ids):
    X = np.arange(60.0).reshape(20, 3) / 8
    y = np.arange(20) % 4
    order = rng.sample(range(20), 20)
    assert content_digest(X[order], np.array(ids)[y[order]]) == content_digest(X, y)


@given(st.integers(0, 19), st.integers(0, 2))
def test_any_other_value_or_class_gives_another_digest(row, column):
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 4
    changed, moved = X.copy(), y.copy()
    changed[row, column] += 0.001
    moved[row] = (moved[row] + 1) % 4
    assert content_digest(changed, y) != content_digest(X, y)
    assert content_digest(X, moved) != content_digest(X, y)


def as_openml_gives_it(name):
    """A real set in the form of OpenML, in an order of its own; skipped without."""
    if not (REAL / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in the data folder")
    with np.load(REAL / f"{name}.npz") as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    order = np.random.default_rng(0).permutation(len(y))
    target = pd.Series([chr(ord("A") + k) for k in y[order]], name="class")
    return pd.DataFrame(X[order], columns=[f"f{k}" for k in range(X.shape[1])]), target


def test_a_known_set_is_known_in_any_order(openml):
    openml(*as_openml_gives_it("letter"))
    assert load_dataset("letter").X_train.shape == (13333, 16)


def test_a_known_set_with_another_value_is_refused_and_not_kept(openml, tmp_path):
    frame, target = as_openml_gives_it("letter")
    frame.iloc[777, 3] += 1
    openml(frame, target)
    with pytest.raises(DataError, match=r"sha256 1529d4784bf0.*data_dir"):
        load_dataset("letter")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("change", ["rows", "features", "classes"])
def test_a_known_set_of_another_size_is_refused_and_not_kept(
    openml,
    tmp_path,
    change,
):
    n_rows, n_features = 20_000, 16
    letters = [chr(ord("A") + k % (25 if change == "classes" else 26)) for k in
               range(n_rows + (change == "rows"))]  # fmt: skip
    n_features += change == "features"
    openml(pd.DataFrame(np.zeros((len(letters), n_features))), pd.Series(letters))
    with pytest.raises(DataError, match="20000 samples, 16 features and 26 classes"):
        load_dataset("letter")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["vowel", "letter", "mnist"])
def test_the_pinned_digests_are_those_of_the_paper_s_sets(name):
    frame, target = as_openml_gives_it(name)
    found = content_digest(frame.to_numpy(), target.to_numpy())
    assert found == RECIPES[name].content


# The cache


@pytest.fixture
def cached(openml, tmp_path):
    openml(*other_frame())
    load_dataset("other")
    return tmp_path / "cache" / "other.npz"


def test_a_cached_file_that_has_changed_is_refused_with_the_way_out(cached):
    with np.load(cached) as arrays:
        content = dict(arrays)
    content["X_train"][0, 0] += 1
    np.savez(cached, **content)
    with pytest.raises(DataError, match=r"other\.npz.*has changed.*Remove") as caught:
        load_dataset("other")
    assert "\n" not in str(caught.value)
    cached.unlink()
    assert load_dataset("other").X_train.shape == (14, 3)


def test_a_file_that_somebody_put_into_the_cache_is_taken(cached):
    cached.with_name("other.npz.sha256").unlink()
    assert load_dataset("other").X_train.shape == (14, 3)
