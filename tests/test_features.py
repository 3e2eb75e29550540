"""Features in chunks: the same network in little memory, on threads, from files."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pytest

from dssfn.config import UNITS, Plan
from dssfn.datasets import open_shards
from dssfn.errors import DataError, PlanError
from dssfn.exact.bounds import CHUNK as EXACT_CHUNK
from dssfn.features import SMALLEST_CHUNK, Features, _room, _tally, least_memory
from dssfn.lockstep import Workers
from dssfn.problem import LayerProblem, LayerSums, unpack
from dssfn.shard import Pooled, Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.strategies import pooled, random_shards
from tests.support.trainings import relative

ALONE = build_topology("complete", 1)
BOTH = pytest.mark.parametrize("units", UNITS)


def some_shards(*sizes):
    rng = np.random.default_rng(0)
    return random_shards(rng, sizes=list(sizes), n_features=6, n_classes=3)


def some_plan(**settings):
    base = {"n_features": 6, "classes": (0, 1, 2), "n_layers": 3, "width": 40}
    base |= {"gain": 1.0, "bias": 0.0}
    return Plan(**base | settings)


def assert_same_costs(result, expected, rel=1e-9):
    # Other chunks sum in another order; that is all that may differ, and integers have
    # the same sum in any order.
    if result.networks[0].plan.is_exact:
        rel = 0
    for mine, theirs in zip(result.history, expected.history, strict=True):
        assert mine.cost == pytest.approx(theirs.cost, rel=rel)
        assert mine.train_accuracy == theirs.train_accuracy


@BOTH
@pytest.mark.parametrize("size", [1, 40, 46, 47, 700, 3000])
def test_a_small_budget_gives_the_same_network_by_way_of_a_file(size, units):
    shards, plan = some_shards(size), some_plan(units=units)
    small = simulate(shards, plan, ALONE, memory=least_memory(plan, 2))
    assert_same_costs(small, simulate(shards, plan, ALONE), rel=1e-8)


@BOTH
def test_least_memory_is_the_least_that_is_taken(units):
    plan, shards = some_plan(units=units), some_shards(300)
    Features(shards[0], plan, memory=least_memory(plan)).close()
    with pytest.raises(PlanError, match=r"`memory` must be at least .* MB a node"):
        Features(shards[0], plan, memory=least_memory(plan) - 1)


def room(plan, n_samples, memory, n_threads=1):
    """The columns of a chunk, and whether all features stay in memory."""
    shard = Shard(np.zeros((6, n_samples)), one_hot(np.zeros(n_samples, int), 3))
    return _room(shard, plan, memory, n_threads)


def most_in_memory(plan, memory):
    """The largest number of samples whose features stay in memory."""
    low, high = 1000, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        fits = room(plan, middle, memory)[1]
        low, high = (middle, high) if fits else (low, middle)
    return low


def test_integer_features_of_eight_times_the_samples_fit_into_a_budget():
    dense, integer = (some_plan(width=1000, units=units) for units in UNITS[::-1])
    ratio = most_in_memory(integer, 2 * 10**8) / most_in_memory(dense, 2 * 10**8)
    # Units take a byte instead of eight; scores and targets take a little more.
    assert 7 < ratio <= 8


@BOTH
@pytest.mark.parametrize("n_threads", [1, 4])
def test_the_least_memory_has_room_for_the_smallest_chunk_and_keeps_nothing(
    units, n_threads
):
    plan = some_plan(units=units)
    least = least_memory(plan, n_threads)
    assert room(plan, 10**5, least, n_threads) == (SMALLEST_CHUNK, False)
    assert least_memory(plan, n_threads + 1) > least


def test_chunks_of_integers_are_as_long_as_their_products_are_exact():
    plan = some_plan(units="integer")
    assert room(plan, 10**5, None) == (EXACT_CHUNK, True)
    assert room(plan, 10**5, 10**9) == (EXACT_CHUNK, True)


@pytest.mark.parametrize("memory", [0, -1, 0.5, True, float("nan"), "lots", "0GB", []])
def test_memory_is_a_number_of_bytes_or_a_size(memory):
    with pytest.raises(PlanError, match=r"`memory` must be .* such as 500MB"):
        simulate(some_shards(30), some_plan(), ALONE, memory=memory)


@pytest.mark.parametrize("memory", ["3MB", "3000 kb", "0.003 GB", 3e6])
def test_a_size_means_as_many_bytes_however_it_is_written(memory):
    shards, plan = some_shards(700), some_plan()
    expected = simulate(shards, plan, ALONE, memory=3_000_000)
    assert simulate(shards, plan, ALONE, memory=memory).history == expected.history


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_one_pass_counts_and_sums_what_the_layer_really_holds(n_threads):
    shard, plan = some_shards(2000)[0], some_plan(standardize=False, bias=2.0)
    features = Features(shard, plan, n_threads=n_threads)
    Y = np.vstack([shard.X, np.full(2000, 2.0)])
    share = features.share()
    assert isinstance(share, LayerSums)
    np.testing.assert_allclose(unpack(share.packed_gram(), 7), Y @ Y.T, rtol=1e-12)
    O = np.random.default_rng(1).normal(size=(3, 7))
    cost, of_zero, correct, n_samples = features.advance(O)
    assert cost == pytest.approx(np.sum((shard.T - O @ Y) ** 2))
    assert of_zero == n_samples == 2000
    assert correct == np.sum((O @ Y).argmax(0) == shard.T.argmax(0))
    features.close()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_one_pass_weighs_what_it_counts_and_sums(n_threads):
    (plain,) = some_shards(2000)
    plan, w = some_plan(standardize=False), np.random.default_rng(2).random(2000)
    X, T = plain.X, plain.T
    features = Features(Shard(X, T, w), plan, n_threads=n_threads)
    share = features.share()
    np.testing.assert_allclose(unpack(share.packed_gram(), 6), X * w @ X.T, rtol=1e-12)
    np.testing.assert_allclose(share.cross(), T * w @ X.T, rtol=1e-12)
    O = np.random.default_rng(1).normal(size=(3, 6))
    is_correct = (O @ X).argmax(0) == T.argmax(0)
    expected = [np.sum((T - O @ X) ** 2 * w), w.sum(), w[is_correct].sum(), w.sum()]
    assert features.advance(O).tolist() == pytest.approx(expected, rel=1e-12)
    features.close()


@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.5, 0.0])])
def test_a_single_real_output_is_never_correct(weights):
    scores, T = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 4.0, 3.5]])
    w = np.ones(3) if weights is None else weights
    expected = [np.sum((T - scores) ** 2 * w), np.sum(T**2 * w), 0, w.sum()]
    tally = _tally(scores, T, weights, weights).sum(axis=1)
    assert tally.tolist() == pytest.approx(expected, rel=1e-14)


def message_of_layer_1(shard, plan, n_threads):
    features = Features(shard, plan, n_threads=n_threads)
    features.share()
    features.advance(np.ones((3, 6)))
    share = features.share()
    features.close()
    if plan.is_exact:
        message = np.empty(share.layout.size, dtype=np.int64)
        share.fill(message)
        return message.tobytes()
    return share.packed_gram().tobytes()


@BOTH
def test_threads_give_the_same_bits_every_time(units):
    shard, plan = some_shards(3000)[0], some_plan(units=units)
    first, again = (message_of_layer_1(shard, plan, n_threads=3) for _ in range(2))
    assert first == again


def test_sums_of_integers_have_the_same_bits_on_any_number_of_threads():
    shard, plan = some_shards(3000)[0], some_plan(units="integer")
    found = {message_of_layer_1(shard, plan, n_threads=k) for k in (1, 2, 3, 7)}
    assert len(found) == 1


def test_few_dense_samples_are_their_own_share():
    features = Features(some_shards(30)[0], some_plan(units="dense"))
    features.share()
    features.advance(np.ones((3, 6)))
    share = features.share()
    assert isinstance(share, LayerProblem)
    assert share.Y.shape == (46, 30)
    features.close()


@BOTH
def test_pooled_shards_are_the_same_as_one_large_shard(units):
    shards, plan = some_shards(5, 800, 60), some_plan(units=units)
    together = Pooled(shards)
    assert (together.n_samples, together.n_features, together.n_outputs) == (865, 6, 3)
    assert_same_costs(
        simulate([together], plan, ALONE), simulate([pooled(shards)], plan, ALONE)
    )


def repeated(shard):
    """The samples of a shard as many times as their weights say."""
    times = shard.weights.astype(int)
    return Shard(shard.X.repeat(times, axis=1), shard.T.repeat(times, axis=1))


def assert_same_training(result, expected):
    assert_same_costs(result, expected)
    outputs = [each.networks[0].outputs for each in (result, expected)]
    for mine, theirs in zip(*outputs, strict=True):
        # Other sums of the same numbers; the least squares magnify their rounding.
        assert relative(mine, theirs) < 1e-9


@pytest.mark.parametrize("in_file", [False, True], ids=["memory", "file"])
@pytest.mark.parametrize("sizes", [[900, 700], [30, 70], [900, 30]])
@pytest.mark.parametrize("solver", ["gram", "krylov", "admm"])
def test_a_weight_of_two_is_a_sample_twice_and_zero_is_none(solver, sizes, in_file):
    shards = [
        Shard(shard.X, shard.T, np.resize([2, 0, 1], shard.n_samples))
        for shard in some_shards(*sizes)
    ]
    # Chunks are smaller than a layer is wide, so that the least memory keeps none.
    plan = some_plan(width=80, standardize=False, solver=solver)
    pair = build_topology("path", 2)
    memory = 2 * least_memory(plan, Workers(2).threads_per_node) if in_file else None
    assert_same_training(
        simulate(shards, plan, pair, memory=memory),
        simulate([repeated(shard) for shard in shards], plan, pair, memory=memory),
    )


@pytest.mark.parametrize("n_samples", [30, 700], ids=["few", "many"])
@pytest.mark.parametrize("solver", ["gram", "krylov"])
def test_a_node_whose_samples_weigh_nothing_changes_nothing(solver, n_samples):
    heavy, other = some_shards(500, n_samples)
    light = Shard(other.X, other.T, np.zeros(n_samples))
    plan, pair = some_plan(standardize=False, solver=solver), build_topology("path", 2)
    assert_same_training(
        simulate([light, heavy], plan, pair), simulate([heavy], plan, ALONE)
    )


@pytest.mark.parametrize("sizes", [[12, 20], [700, 20]], ids=["few", "many"])
def test_samples_with_and_without_weights_may_be_pooled(sizes):
    plain, other = some_shards(*sizes)
    heavy = Shard(other.X, other.T, np.full(20, 2.0))
    plan = some_plan(standardize=False)
    assert_same_training(
        simulate([Pooled([plain, heavy])], plan, ALONE),
        simulate([pooled([plain, repeated(heavy)])], plan, ALONE),
    )


@pytest.mark.parametrize("sizes", [[900, 700], [12, 20]], ids=["many", "few"])
def test_single_precision_ends_near_double_precision(sizes):
    shards, plan = some_shards(*sizes), some_plan(alpha=1.0, units="dense")
    ring = build_topology("path", 2)
    single = simulate(shards, plan.replace(precision="float32"), ring)
    double = simulate(shards, plan, ring)
    for mine, theirs in zip(single.history, double.history, strict=True):
        # 24 bits of every feature, and a layer's error passed on to the next.
        assert mine.cost == pytest.approx(theirs.cost, rel=1e-4)
    assert single.networks[0].output.dtype == np.float64


@BOTH
def test_files_of_all_kinds_train_as_arrays_do(tmp_path, units):
    shards = some_shards(120, 90, 60)
    names = [f"x{i}" for i in range(6)]
    codes = [shard.T.argmax(axis=0) for shard in shards]
    np.savez(tmp_path / "a.npz", X=shards[0].X.T.copy(), y=codes[0])
    for k, separator, suffix in ((1, ",", "csv"), (2, "\t", "tsv")):
        rows = np.column_stack([shards[k].X.T, codes[k]]).tolist()
        lines = [[*names, "y"], *([*map(repr, row[:-1]), int(row[-1])] for row in rows)]
        text = "\n".join(separator.join(map(str, line)) for line in lines)
        (tmp_path / f"{'abc'[k]}.{suffix}").write_text(text + "\n")
    files = open_shards([tmp_path / name for name in ("a.npz", "b.csv", "c.tsv")], "y")
    assert (files.classes, files.feature_names) == ((0, 1, 2), tuple(names))
    plan, ring = some_plan(units=units), build_topology("circular", 3)
    assert_same_costs(
        simulate(files.shards, plan, ring, memory=3 * least_memory(plan)),
        simulate(shards, plan, ring),
    )


@pytest.mark.parametrize(
    ("first", "second", "has"),
    [
        (["1", "2"], ["1", "a"], "`a.csv` has 1, `b.csv` has '1'"),
        (["0", "1"], ["true", "false"], "`a.csv` has 0, `b.csv` has False"),
    ],
)
def test_labels_that_only_look_alike_are_refused(tmp_path, first, second, has):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, labels in zip(paths, (first, second), strict=True):
        path.write_text("x,y\n" + "".join(f"1,{label}\n" for label in labels))
    with pytest.raises(DataError, match=f"the same type in all files: {has}. Use"):
        open_shards(paths, "y")


def test_whole_numbers_are_one_label_however_they_are_written(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    paths[0].write_text("x,y\n1,1\n2,2\n")
    paths[1].write_text("x,y\n1,1.0\n2,2.0\n")
    assert open_shards(paths, "y").classes == (1, 2)


TRAIN = """
import resource, sys
from dssfn import simulate, Plan
from dssfn.datasets import open_shards
from dssfn.topology import build_topology
files = open_shards([sys.argv[1]], memory=12_000_000)
plan = Plan(
    n_features=files.n_features, classes=files.classes, n_layers=2, width=200,
    units=sys.argv[2],
)
simulate(files.shards, plan, build_topology("complete", 1), memory=12_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@BOTH
def test_peak_memory_does_not_grow_with_the_samples(tmp_path, units):
    peaks = []
    for n_samples in (6_000, 60_000):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_samples, 10)).astype(np.float32)
        path = tmp_path / f"{n_samples}.npz"
        np.savez(path, X=X, y=rng.integers(3, size=n_samples))
        # By way of a shell: a process starts with the peak of the one it is forked of.
        python = [sys.executable, "-c", TRAIN, path, units]
        command = ["sh", "-c", '"$0" "$@"; exit $?', *python]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    # The dense features of the larger file alone would take 99 MB, as much as the rest.
    assert peaks[1] <= 1.1 * peaks[0], peaks


FULL_DISK = """
import resource, signal
import numpy as np
from dssfn import Plan, Shard, simulate
from dssfn.errors import DataError
from dssfn.topology import build_topology
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
X, T = np.random.default_rng(0).normal(size=(3, 9000)), np.eye(2)[:, [0, 1] * 4500]
shard = Shard(X, T)
plan = Plan(n_features=3, classes=(0, 1), n_layers=1, width=50)
try:
    simulate([shard], plan, build_topology("complete", 1), memory=1_000_000)
except DataError as exc:
    print(exc)
"""


def test_a_full_disk_is_reported_with_the_way_out():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FULL_DISK],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Set TMPDIR to a folder with more space, or raise `memory`" in done.stdout
    assert not done.stderr


@BOTH
def test_a_thousand_nodes_hold_little_more_than_their_samples(units):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(5, 3000)), rng.integers(3, size=3000)
    T = one_hot(codes, 3)
    shards = [Shard(X[:, m::1000], T[:, m::1000]) for m in range(1000)]
    sizes = {"n_features": 5, "n_layers": 1, "width": 1000}
    plan = Plan(classes=(0, 1, 2), solver="gram", units=units, **sizes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ring = build_topology("circular", 1000, degree=4)
    result = simulate(shards, plan, ring)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # kB
    assert result.node_spread == 0.0
    # All messages at once would take 4 GB, two dozen of them 100 MB.
    assert grown < 500_000
