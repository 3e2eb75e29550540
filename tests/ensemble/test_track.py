from __future__ import annotations

from contextlib import closing
from functools import partial

import numpy as np
import pytest

from dssfn.ensemble import track as module
from dssfn.ensemble.dense import Dense, hidden_features, unit_length
from dssfn.ensemble.folds import folds_of
from dssfn.ensemble.integer import Integer
from dssfn.ensemble.track import TALLY, Track
from dssfn.ensemble.units import n_features_of
from dssfn.exact.gram import Layout, read_products
from dssfn.exact.gram_bounds import Weighing
from dssfn.network import member_matrix
from dssfn.shard import Shard
from tests.support.ensembles import draw, plan_of

K, Q, P = 3, 3, 4
FIRST, SECOND, WIDE = 5, 6, 9  # widths of layer 1, of layer 2, and one that is tried


def samples(J=50, **settings):
    return draw(np.random.default_rng(7), P=P, Q=Q, J=J, **settings)


def make(shard, arithmetic, **settings):
    """A track whose folds 3 and 4 of 5 are left out by no member."""
    scaling = np.full(P, 0.5), np.arange(1.0, P + 1), np.ones(P)
    fold_of = partial(folds_of, n_folds=5, seed=2)
    settings |= {"n_members": K, "fold_of": fold_of}
    return closing(Track(shard, arithmetic.plan, arithmetic, *scaling, **settings))


def given_numbers():
    """What the nodes would have agreed on: any numbers do."""
    rng = np.random.default_rng(1)
    n = n_features_of(1, P, Q, FIRST)
    return {
        "O0": rng.normal(size=(K, Q, 1 + P)),
        "O1": rng.normal(size=(K, Q, n)),
        "centres": rng.normal(size=(K, Q)),
        "means": rng.normal(size=(K, FIRST + Q)),
        "deviations": rng.uniform(0.5, 2, (K, FIRST + Q)),
        "path": rng.normal(size=(K, 4, Q, n_features_of(2, P, Q, SECOND))),
    }


def filled(arithmetic, n_parts, layer, first, n, fill):
    """Sums as a track writes them; those of integers as floats, each rounded once."""
    exact = isinstance(arithmetic, Integer)
    size = arithmetic.size(layer, first, n)
    message = np.empty(n_parts * size, np.int64 if exact else np.float64)
    fill(message, first, n)
    if not exact:
        return message
    n_wide = 1 + (2 * Q if layer else P) if arithmetic.usual_weight is None else n
    layout = Layout(Q, n_wide, first, n)
    sums = [read_products(part, layout) for part in message.reshape(n_parts, size)]
    return np.concatenate([part.ravel() for one in sums for part in one])


def walk(shard, kind=Dense, usual_weight=None, **settings):
    """All that a track tells, on its way through three layers."""
    number, told = given_numbers(), {}
    plan = plan_of(shard.X, shard.T, members=K, seed=2)
    weighing = Weighing(usual=usual_weight)
    arithmetic = kind(plan, weighing) if kind is Integer else kind(plan)
    if kind is Integer:  # whose output matrices are rounded
        for name, layer in (("O0", 0), ("O1", 1), ("path", 1)):
            number[name] = arithmetic.rounded(number[name], layer)
    with make(shard, arithmetic, **settings) as track:

        def sums(name, first, n):
            told[name] = filled(arithmetic, K, 1, first, n, track.fill_hidden)

        told["linear"] = filled(
            arithmetic, K + 1, 0, 0, 1 + P, lambda into, *_: track.fill_linear(into)
        )
        track.advance(number["O0"])
        told["tally"] = arithmetic.summation.read(track.tally())
        track.begin_first()
        n, more = (n_features_of(1, P, Q, width) for width in (FIRST, WIDE))
        track.widen(1, number["centres"], FIRST)
        sums("layer 1", 0, n)
        track.widen(1, number["centres"], WIDE)
        sums("border", n, more)
        track.narrow(FIRST)
        track.drop_inputs()
        track.advance(number["O1"])
        track.keep_best()
        track.begin_next(number["means"], number["deviations"])
        track.widen(2, number["centres"], SECOND)
        n = n_features_of(2, P, Q, SECOND)
        sums("layer 2", 0, n)
        errors = track.validation(list(number["path"]))
        told["validation"] = arithmetic.summation.read(errors).reshape(-1, 2)
        best = list(track.best())
        told["best"] = np.hstack([np.vstack([S, T]) for S, T, _ in best])
        return told


def dense(X, T, w):
    """The features of all layers and the scores before them, by member."""
    number = given_numbers()
    V = (X - 0.5) / np.arange(1.0, P + 1)[:, None]
    layers = []
    for k in range(K):
        F0 = np.vstack([np.ones(X.shape[1]), V])
        S1 = number["O0"][k] @ F0
        bias = np.full((1, X.shape[1]), 3.0)
        A = np.vstack([V, bias])
        A = A / np.sqrt((A**2).sum(axis=0))
        centre = number["centres"][k][:, None]

        def features(layer, S, A, width, k=k, centre=centre):
            R = member_matrix(2, layer, k, width, len(A))
            parts = [S - centre, centre - S, 3**0.5 * 3.0 * R @ A]
            return np.vstack([np.ones(S.shape[1]), *np.maximum(np.vstack(parts), 0)])

        F1 = features(1, S1, A, WIDE)
        narrow = F1[: 1 + 2 * Q + FIRST]
        S2 = S1 + number["O1"][k] @ narrow
        B = np.vstack([narrow[1 + 2 * Q :], S2]) - number["means"][k][:, None]
        B = np.vstack([B / number["deviations"][k][:, None], bias])
        F2 = features(2, S2, B / np.sqrt((B**2).sum(axis=0)), SECOND)
        layers.append((F0, F1, S1, F2, S2))
    return layers


def packed(F, D, w, first=0):
    """A message: new by old, the triangle of the new, and C."""
    G = F * w @ F.T
    n = len(F)
    triangle = [G[i, j] for j in range(first, n) for i in range(first, j + 1)]
    C = (D * w @ F[first:].T).ravel()
    return np.concatenate([G[first:, :first].ravel(), triangle, C])


@pytest.mark.parametrize("weighted", [False, True])
def test_messages_are_the_sums_over_the_samples_that_a_member_trains_on(weighted):
    X, T, weights = samples(weighted=weighted)
    told = walk(Shard(X, T, weights))
    w = np.ones(X.shape[1]) if weights is None else weights
    folds, layers = folds_of(X, 5, seed=2), dense(X, T, w)
    n = n_features_of(1, P, Q, FIRST)
    groups = [folds == 0, folds == 1, folds == 2, folds > 2]
    close = partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-11)
    close(
        told["linear"], np.concatenate([packed(layers[0][0], T, w * g) for g in groups])
    )
    messages = {"layer 1": [], "border": [], "layer 2": []}
    for k, (_, F1, S1, F2, S2) in enumerate(layers):
        mine = w * (folds != k)
        messages["layer 1"].append(packed(F1[:n], T - S1, mine))
        messages["border"].append(packed(F1, T - S1, mine, first=n))
        messages["layer 2"].append(packed(F2, T - S2, mine))
    for name, parts in messages.items():
        close(told[name], np.concatenate(parts))


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_samples_that_a_member_does_not_train_on(weighted):
    X, T, weights = samples(weighted=weighted)
    told = walk(Shard(X, T, weights))
    w = np.ones(X.shape[1]) if weights is None else weights
    folds, layers = folds_of(X, 5, seed=2), dense(X, T, w)
    said = np.zeros((4, 2))
    for k, (*_, F2, S2) in enumerate(layers):
        mine = folds == k
        for number, O in enumerate(given_numbers()["path"][k]):
            S = (S2 + O @ F2)[:, mine]
            right = S.argmax(axis=0) == T[:, mine].argmax(axis=0)
            error = ((T[:, mine] - S) ** 2).sum(axis=0) @ w[mine]
            said[number] += error, right @ w[mine]
    np.testing.assert_allclose(told["validation"], said, rtol=1e-11)
    seen = folds < K
    best = np.stack([layers[k][4][:, j] for j, k in enumerate(folds) if k < K]).T
    np.testing.assert_allclose(told["best"], np.vstack([best, T[:, seen]]), rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tally_describes_the_mean_of_the_members(weighted):
    X, T, weights = samples(weighted=weighted)
    told = walk(Shard(X, T, weights))
    w = np.ones(X.shape[1]) if weights is None else weights
    S = np.mean([layer[2] for layer in dense(X, T, w)], axis=0)
    right = S.argmax(axis=0) == T.argmax(axis=0)
    cost, zero = (((T - S) ** 2).sum(axis=0) @ w, (T**2).sum(axis=0) @ w)
    left_out = w * (folds_of(X, 5, seed=2) < K)
    said = [cost, zero, right @ w, w.sum(), (T**2).sum(axis=0) @ left_out]
    assert len(told["tally"]) == TALLY
    np.testing.assert_allclose(told["tally"], [*said, left_out.sum()], rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunk", [1, 7, 50, 1000])
def test_chunks_of_any_size_kept_or_made_again_tell_the_same(
    weighted, chunk, monkeypatch
):
    shard = Shard(*samples(weighted=weighted))
    usual = walk(shard)
    monkeypatch.setattr(module, "CHUNK", chunk)
    for keep in (True, False):
        told = walk(shard, keep=keep)
        for name, values in usual.items():  # sums in another order
            np.testing.assert_allclose(told[name], values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("exponent", [None, 1], ids=["whole weights", "any weights"])
@pytest.mark.parametrize("chunk", [1, 7, 50, 1000])
def test_chunks_of_any_size_tell_the_same_integers(exponent, chunk, monkeypatch):
    shard = Shard(*samples(weighted=True))
    usual = walk(shard, Integer, exponent)
    monkeypatch.setattr(module, "CHUNK", chunk)
    for keep in (True, False):
        told = walk(shard, Integer, exponent, keep=keep)
        for name, values in usual.items():
            assert told[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("weighted", [False, True])
def test_integers_tell_what_real_numbers_do_but_for_their_rounding(weighted):
    """Layer 0 has no units, and its inputs are rounded to 2^-17."""
    X, T, weights = samples(weighted=weighted)
    w = np.ones(X.shape[1]) if weights is None else weights
    told = walk(Shard(X, T, weights), Integer)["linear"].reshape(K + 1, -1) * 2.0**-34
    F = np.vstack([np.ones(X.shape[1]), (X - 0.5) / np.arange(1.0, P + 1)[:, None]])
    folds = folds_of(X, 5, seed=2)
    assert np.abs(F).max() < 32
    for numbers, group in zip(
        told, [folds == 0, folds == 1, folds == 2, folds > 2], strict=True
    ):
        mine = w * group
        expected = np.triu(F * mine @ F.T).ravel(), (T * mine @ F.T).ravel()
        # two factors of at most 32 and half a step each, for every sample
        tolerance = 2 * 32 * 2.0**-17 * mine.sum()
        np.testing.assert_allclose(numbers, np.concatenate(expected), atol=tolerance)


@pytest.mark.parametrize("kind", [Dense, Integer])
@pytest.mark.parametrize("keep", [True, False])
def test_several_threads_tell_the_same_bits_as_one(keep, kind, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 16)
    shard = Shard(*samples(J=200, weighted=True))
    one, several = (walk(shard, kind, keep=keep, n_threads=n) for n in (1, 3))
    for name, values in one.items():
        assert values.tobytes() == several[name].tobytes()


def test_a_weight_is_a_repetition_and_none_is_no_sample():
    X, T, weights = samples(weighted=True)
    weights[::5] = 0
    told = walk(Shard(X, T, weights))
    times = weights.astype(int)
    repeated = walk(Shard(np.repeat(X, times, axis=1), np.repeat(T, times, axis=1)))
    for name in told.keys() - {"best"}:  # which has a column for each sample
        np.testing.assert_allclose(told[name], repeated[name], rtol=1e-10, atol=1e-10)
    integers = walk(Shard(X, T, weights), Integer)
    repeated = walk(
        Shard(np.repeat(X, times, axis=1), np.repeat(T, times, axis=1)), Integer
    )
    for name in ("linear", "layer 1", "border", "layer 2", "validation"):
        assert repeated[name].tobytes() == integers[name].tobytes()


def test_a_wider_layer_has_the_units_of_the_narrower_one():
    rng = np.random.default_rng(0)
    S, centre = rng.normal(size=(Q, 20)), rng.normal(size=Q)
    A = unit_length(rng.normal(size=(P, 20)), 3.0)
    np.testing.assert_allclose((A**2).sum(axis=0), 1.0)
    few, many = (
        hidden_features(S, centre, member_matrix(5, 1, 2, width, P + 1), A, 3.0)
        for width in (6, 30)
    )
    np.testing.assert_allclose(many[: len(few)], few, rtol=1e-13)


def test_a_unit_has_the_gain_as_its_root_mean_square():
    rng = np.random.default_rng(0)
    A = unit_length(rng.normal(size=(10, 50)), 3.0)
    R = member_matrix(0, 1, 0, 4000, 11)
    units = hidden_features(np.zeros((1, 50)), np.zeros(1), R, A, 3.0)[3:]
    # ReLU keeps half of the squares; 200,000 units, which are not quite independent
    assert np.mean(units**2) == pytest.approx(9 / 2, rel=0.02)
