from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.pipeline import make_pipeline

from dssfn import SSFNClassifier, modelfile
from dssfn.errors import DataError, InputError, ModelFileError
from dssfn.modelfile import load_network, save_network
from tests.support.networks import ensemble, network
from tests.support.tight_memory import needs_rlimit, refusal


@pytest.fixture
def path(tmp_path):
    save_network(network(), tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def header(path):
    head = path.read_bytes()
    size = int.from_bytes(head[:8], "little")
    return json.loads(json.loads(head[8 : 8 + size])["__metadata__"]["dssfn"])


def rewrite(path, *, tensors=None, plan=None, **changes):
    new = {**header(path), **changes}
    new["plan"] |= plan or {}
    save_file(tensors or load_file(path), path, {"dssfn": json.dumps(new)})


def test_equal_networks_are_equal_files(path, tmp_path):
    for _ in range(5):
        save_network(network(), tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_saved_network_comes_back_bit_for_bit(path):
    saved, loaded = network(), load_network(path)
    assert loaded.plan == saved.plan
    for mine, other in zip(loaded.outputs, saved.outputs, strict=True):
        np.testing.assert_array_equal(mine, other)
    X = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_array_equal(loaded.scores(X), saved.scores(X))


@pytest.mark.parametrize("classes", [(0, 1), ("no", "yes"), (False, True), (0.5, 2.5)])
def test_class_labels_keep_their_type(tmp_path, classes):
    net = network()
    plan = net.plan.replace(classes=classes, feature_names=("x", "y", "z"))
    save_network(type(net)(plan, net.outputs, net.shift, net.scale), tmp_path / "m")
    loaded = load_network(tmp_path / "m").plan
    assert loaded.classes == classes
    assert [type(c) for c in loaded.classes] == [type(c) for c in classes]
    assert loaded.feature_names == ("x", "y", "z")


def test_every_cut_of_the_file_is_refused(path):
    content = path.read_bytes()
    for size in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="damaged"):
            load_network(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("plan.toml", "secure = true\n"), ("result.json", "{}"), ("a.csv", "a,b\n1,2\n")],
)
def test_a_file_that_was_never_a_model_is_not_called_damaged(tmp_path, name, content):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ModelFileError) as error:
        load_network(file)
    assert str(error.value) == (
        f"`{file}` is not a model file. Give the model.safetensors that a training "
        "wrote."
    )


def test_a_flipped_byte_is_noticed(path):
    content = path.read_bytes()
    for position in range(0, len(content), 7):
        changed = bytearray(content)
        changed[position] ^= 0x55
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_network(path)


def test_a_foreign_safetensors_file_is_refused(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not a dssfn model"):
        load_network(tmp_path / "other.safetensors")


def test_a_newer_version_asks_for_an_update(path):
    rewrite(path, version=modelfile.VERSION + 1)
    with pytest.raises(ModelFileError, match="Update dssfn"):
        load_network(path)


def test_an_unknown_setting_is_named(path):
    rewrite(path, plan={"momentum": 0.9})
    with pytest.raises(ModelFileError, match="momentum"):
        load_network(path)


@pytest.mark.parametrize("name", ["gain", "bias", "tol"])
def test_a_setting_that_was_left_out_is_not_made_up(path, name):
    plan = header(path)["plan"]
    del plan[name]
    save_file(
        load_file(path), path, {"dssfn": json.dumps(header(path) | {"plan": plan})}
    )
    with pytest.raises(ModelFileError, match=f"lacks the setting `{name}`"):
        load_network(path)


def test_a_setting_out_of_range_is_named(path):
    rewrite(path, plan={"width": 0})
    with pytest.raises(ModelFileError, match="width"):
        load_network(path)


@pytest.mark.parametrize("name", ["O.1", "shift"])
def test_a_missing_or_misshapen_matrix_is_named(path, name):
    tensors = load_file(path)
    rewrite(path, tensors={k: v for k, v in tensors.items() if k != name})
    with pytest.raises(ModelFileError, match=name):
        load_network(path)
    rewrite(path, tensors={**tensors, name: np.ones((1, 1))})
    with pytest.raises(ModelFileError, match=name):
        load_network(path)


def test_values_that_are_not_finite_are_refused(path):
    tensors = load_file(path)
    tensors["O.0"][0, 0] = np.nan
    rewrite(path, tensors=tensors)
    with pytest.raises(ModelFileError, match="finite"):
        load_network(path)


def test_other_random_matrices_are_noticed(path):
    rewrite(path, random="0" * 64)
    with pytest.raises(ModelFileError, match="random matrices"):
        load_network(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="nowhere"):
        load_network(tmp_path / "nowhere.safetensors")


def test_a_folder_and_a_mistyped_name_are_answered_by_the_way_out(path, tmp_path):
    with pytest.raises(ModelFileError) as error:
        load_network(path.parent)
    assert str(error.value).endswith(f"`{path.parent}` is a folder; give `{path}`.")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match=r"is a folder; give a file in it"):
        load_network(tmp_path / "empty")
    with pytest.raises(ModelFileError, match=r"Did you mean `model\.safetensors`"):
        load_network(path.with_suffix(".safetensor"))


def test_only_a_model_is_offered_for_one_that_is_not_there(tmp_path):
    (tmp_path / "model.key").touch()
    with pytest.raises(ModelFileError, match="Check the path"):
        load_network(tmp_path / "modle.safetensors")


def test_a_folder_that_does_not_exist_is_named_in_place_of_a_temporary_file(tmp_path):
    with pytest.raises(DataError, match=r"`path` must be a file in an .*/none/model`"):
        save_network(network(), tmp_path / "none" / "model")


def test_a_fitted_estimator_is_saved_as_its_network(tmp_path):
    X, y = np.eye(6), [0, 1, 2] * 2
    model = SSFNClassifier(n_layers=1, width=5, random_state=0).fit(X, y)
    save_network(model, tmp_path / "estimator")
    save_network(model.network_, tmp_path / "network")
    files = [(tmp_path / name).read_bytes() for name in ("estimator", "network")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SSFNClassifier(), "got SSFNClassifier. Call its `fit` first"),
        (
            make_pipeline(SSFNClassifier()),
            "got Pipeline. Call its `fit` first, or pass",
        ),
        ("model.safetensors", "must be a Network or a fitted estimator.* got str"),
        (None, "got NoneType"),
    ],
)
def test_what_has_no_network_is_not_saved(given, said, tmp_path):
    with pytest.raises(InputError, match=said):
        save_network(given, tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_network(network(1), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


LOAD = "from dssfn.modelfile import load_network", "load_network(sys.argv[1])"


@needs_rlimit
@pytest.mark.parametrize(
    "claim",
    [
        {"n_layers": 10**9},
        {"n_layers": 10**4},
        {"width": 10**9},
        {"width": 10**5},
        {"n_features": 10**9},
        {"n_features": 10**6},
    ],
    ids=str,
)
def test_a_small_file_with_a_large_claim_is_refused_in_little_memory(path, claim):
    rewrite(path, plan=claim)
    said = refusal(*LOAD, path, most=100)
    assert said.startswith("ModelFileError")


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "F16", "F32", "I64"])
def test_numbers_of_another_kind_are_refused(path, dtype):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    width = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8}.get(dtype, 1)
    tensor = head["shift"]
    start, end = tensor["data_offsets"]
    tensor["dtype"], tensor["shape"] = dtype, [(end - start) // width]
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(ModelFileError, match="`shift` as float64"):
        load_network(path)


def test_a_tensor_too_many_is_refused(path):
    rewrite(path, tensors={**load_file(path), "more": np.ones(3)})
    with pytest.raises(ModelFileError, match="must hold 5 tensors, got 6"):
        load_network(path)


def test_settings_nested_without_end_are_refused(path):
    deep = '{"version": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}"
    save_file(load_file(path), path, {"dssfn": deep})
    with pytest.raises(ModelFileError, match="unusable settings"):
        load_network(path)


ENSEMBLES = {
    "classes": {},
    "regression": {"targets": ("length", "weight")},
    "one target": {"targets": ("length",), "P": 1},
    "ten members": {"K": 10, "widths": (1,)},
    "no hidden layer": {"widths": ()},
    "grown by SSFN's rule": {"K": 1, "size": "ssfn", "widths": (5, 1, 2)},
    "weighted": {"class_weight": (1.0, 2.5), "folds": "nodes", "scale": "common"},
}


@pytest.fixture
def members(tmp_path):
    save_network(ensemble(), tmp_path / "members.safetensors")
    return tmp_path / "members.safetensors"


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_an_ensemble_comes_back_bit_for_bit(kind, tmp_path):
    saved = ensemble(**ENSEMBLES[kind])
    save_network(saved, tmp_path / "m")
    loaded = load_network(tmp_path / "m")
    assert loaded.plan == saved.plan
    assert loaded.slope == saved.slope
    X = np.random.default_rng(1).normal(size=(saved.plan.n_features, 7))
    for mine, theirs in zip(
        loaded.staged_scores(X), saved.staged_scores(X), strict=True
    ):
        assert mine.tobytes() == theirs.tobytes()
    assert loaded.member_scores(X).tobytes() == saved.member_scores(X).tobytes()
    save_network(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_every_byte_of_an_ensemble_counts(members):
    content = members.read_bytes()
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        members.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_network(members)


def _changed(tensors, name, change):
    return {**tensors, name: np.ascontiguousarray(change(tensors[name]))}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("centres", lambda A: A[:1], "`centres` as float64 of shape"),
        ("O.0", lambda A: A[:1], "`O.0` as float64 of shape"),
        ("O.1", lambda A: A[:1], "`O.1` as float64 of shape"),
        ("O.1", lambda A: A[0], "`O.1` as float64 of shape"),
        ("O.1", lambda A: A[:, :, :-1], "do not fit each other"),
        ("O.2", lambda A: A[:, :, :5], "do not fit each other"),
        ("O.2", lambda A: A[:, :, :0], "do not fit each other"),
        ("O.2", lambda A: np.tile(A, 2), "do not fit each other"),
        ("mean.2", lambda A: A[:, 1:], "do not fit each other"),
        ("mean.2", lambda A: A[:, :0], "do not fit each other"),
        ("deviation.2", lambda A: A[:, 1:], "do not fit each other"),
        ("deviation.2", lambda A: -A, "positive deviations"),
        ("deviation.2", lambda A: 0 * A, "positive deviations"),
        ("target_scale", lambda A: -A, "positive values in `target_scale`"),
        ("slope", lambda A: -A, "positive `slope`"),
        ("scale", lambda A: 0 * A, "positive values in `scale`"),
        ("mean.2", lambda A: np.inf * A, "not finite"),
    ],
)
def test_members_that_do_not_fit_are_refused(members, name, change, said):
    rewrite(members, tensors=_changed(load_file(members), name, change))
    with pytest.raises(ModelFileError, match=said):
        load_network(members)


@pytest.mark.parametrize(
    "claim",
    [{"members": 3}, {"members": 1}, {"members": "auto"}, {"n_layers": 3},
     {"n_layers": 1}, {"n_layers": "auto"}, {"width": 3}, {"n_features": 3},
     {"classes": ["a", "b", "c"]}, {"size": "ssfn"}, {"targets": ["y"]}],
    ids=str,
)  # fmt: skip
def test_members_that_the_plan_does_not_have_are_refused(members, claim):
    rewrite(members, plan=claim)
    with pytest.raises(ModelFileError):
        load_network(members)


@needs_rlimit
@pytest.mark.parametrize(
    "claim",
    [{"members": 100}, {"width": 10**5}, {"n_layers": 10**4}, {"n_features": 10**6},
     {"n_layers": "auto"}, {"width": "auto"}],
    ids=str,
)  # fmt: skip
def test_a_small_ensemble_with_a_large_claim_takes_little_memory(members, claim):
    rewrite(members, plan=claim)
    assert refusal(*LOAD, members, most=100).startswith("ModelFileError")


@needs_rlimit
def test_a_tensor_that_claims_to_be_huge_takes_no_memory(members):
    content = members.read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    head["O.2"]["shape"][2] = 2**40
    text = json.dumps(head).encode()
    members.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    assert refusal(*LOAD, members, most=100).startswith("ModelFileError")


# Written by the versions of dssfn that had these formats: with rounded normal numbers
# as weights, a network of fixed size, and one that found its size, with one scale for
# all inputs; and an ensemble of integer units that was trained.
OLD = {
    version: Path(__file__).parent / "support" / f"version_{version}.safetensors"
    for version in (1, 2, 3)
}
SAID = {
    1: [
        [4.81166579, 6.05579512, 6.32278281, 7.55959825],
        [-2.36010583, -3.17242858, -3.1685256, -3.77720656],
    ],
    2: [
        [-2.973955216, -3.064859576, -2.968103029, -2.762335959],
        [4.168493695, 3.490843197, 2.74658208, 1.944216908],
    ],
    3: [
        [0.494590759277, 0.437328338623, 0.410121917725, 0.445083618164],
        [0.505409240723, 0.562671661377, 0.589878082275, 0.554916381836],
    ],
}


@pytest.mark.parametrize("version", OLD)
def test_a_file_of_an_old_format_is_read_and_predicts_as_it_did(version):
    loaded = load_network(OLD[version])
    assert header(OLD[version])["version"] == version
    assert loaded.plan.finds_size == (version > 1)
    assert loaded.plan.is_exact == (version > 2)
    assert loaded.plan.schema is None
    names = loaded.plan.feature_names
    assert names == ("x", "y", "z")[: len(names)]
    X = np.linspace(-1, 1, 4 * len(names)).reshape(-1, 4)
    np.testing.assert_allclose(loaded.scores(X), SAID[version], rtol=1e-8)  # as printed


@pytest.mark.parametrize("version", OLD)
def test_a_file_of_an_old_format_is_written_again_as_the_newest(version, tmp_path):
    loaded = load_network(OLD[version])
    save_network(loaded, tmp_path / "m")
    assert header(tmp_path / "m")["version"] == modelfile.VERSION == 4
    again = load_network(tmp_path / "m")
    assert again.plan == loaded.plan
    for mine, theirs in zip(again.outputs, loaded.outputs, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    X = np.linspace(-1, 1, 4 * loaded.plan.n_features).reshape(-1, 4)
    assert again.scores(X).tobytes() == loaded.scores(X).tobytes()


@pytest.mark.parametrize("version", OLD)
def test_every_byte_of_an_old_format_counts(version, tmp_path):
    content = OLD[version].read_bytes()
    path = tmp_path / "damaged"
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_network(path)
