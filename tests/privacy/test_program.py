"""Private trainings as a whole, in the simulator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dssfn import DSSFNClassifier, SSFNClassifier
from dssfn.config import Plan
from dssfn.errors import DataError, NumericalError, PlanError
from dssfn.federation import Federation, Graph, Member, load_federation
from dssfn.modelfile import load_network, save_network
from dssfn.privacy import Budget, NoiseSource, program, train_private
from dssfn.privacy.clipped_sums import Clipped
from dssfn.privacy.moments import moments_change
from dssfn.programs import Agreed
from dssfn.schema import Column, Schema, Target
from dssfn.schema.text import load_schema, schema_text
from dssfn.setup.texts import plan_text
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology

pytest.importorskip("dp_accounting")

RNG = np.random.default_rng(0)
N, M = 600, 3
CODES = RNG.integers(3, size=N)
X = np.clip(RNG.normal(size=(5, N)) + 2 * np.eye(5, 3)[:, CODES], -4, 6)
PLAN = Plan(
    n_features=5,
    classes=("a", "b", "c"),
    epsilon=2.0,
    input_low=-4.0,
    input_high=6.0,
    width=40,
)
SHARDS = [Shard(X[:, m::M], one_hot(CODES[m::M], 3)) for m in range(M)]
GRAPH = build_topology("path", M)


def released(plan, shards=SHARDS, **settings):
    """The totals that nodes of a training receive."""
    totals = []
    simulate(
        shards,
        plan,
        build_topology("path", len(shards)),
        on_average=lambda message, total: totals.append(total.copy()),
        **settings,
    )
    return totals


def without_noise(monkeypatch):
    monkeypatch.setattr(
        NoiseSource,
        "share",
        lambda self, name, sums, variance, agreed=(): np.zeros_like(sums),
    )


def test_all_nodes_have_one_model_which_has_learned():
    result = simulate(SHARDS, PLAN.replace(epsilon=8.0), GRAPH, secure=True)
    assert result.node_spread == 0
    scores = result.networks[0].scores(X)
    assert np.mean(scores.argmax(axis=0) == CODES) > 0.7
    first, last = result.history
    assert first.train_accuracy is None
    assert abs(last.train_accuracy - np.mean(scores.argmax(axis=0) == CODES)) < 0.1
    assert 0 < last.cost < first.cost


def test_two_trainings_give_two_models_and_a_seed_does_not_change_that():
    one, other = (simulate(SHARDS, PLAN, GRAPH).networks[0] for _ in range(2))
    assert not np.array_equal(one.output, other.output)


def test_the_noise_of_all_nodes_together_is_as_wide_as_the_budget_says(monkeypatch):
    """Also without that of as many nodes as may collude."""
    noisy = [released(PLAN) for _ in range(200)]
    without_noise(monkeypatch)
    clean = released(PLAN)
    budget = Budget(2.0, 1e-5)
    moments = np.stack([totals[0] - clean[0] for totals in noisy]).astype(float)
    deviation = budget.factor_of("scaling") * math.sqrt(moments_change(5))
    share = M / (M - 1)  # one of three may know its own
    assert moments.std() == pytest.approx(deviation * math.sqrt(share), rel=0.06)
    assert abs(moments.mean()) < 4 * moments.std() / math.sqrt(moments.size)


def test_the_noise_of_the_layer_is_as_wide_as_the_budget_says(monkeypatch):
    given = []
    share = NoiseSource.share

    def kept(self, name, sums, variance, agreed=()):
        noise = share(self, name, sums, variance, agreed)
        given.append((name, noise))
        return noise

    monkeypatch.setattr(NoiseSource, "share", kept)
    released(PLAN.replace(colluders=2))
    layer = sum(noise for name, noise in given if name == "layer 1")
    limits = Clipped(40)
    factor = Budget(2.0, 1e-5).factor_of("layer 1")
    deviation = factor * math.sqrt(limits.most_change) * math.sqrt(M / 1)
    assert layer.std() == pytest.approx(deviation, rel=0.1)


def test_more_nodes_and_other_splits_have_the_same_sums_but_for_the_noise(monkeypatch):
    without_noise(monkeypatch)
    one = released(PLAN, [Shard(X, one_hot(CODES, 3))])
    three = released(PLAN)
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


def test_masks_hide_noisy_sums_and_change_nothing(monkeypatch):
    without_noise(monkeypatch)
    plain, masked = released(PLAN), released(PLAN, secure=True)
    assert all(np.array_equal(a, b) for a, b in zip(plain, masked, strict=True))


def ran(shard, start=None, noise=None, answers=lambda values: values):
    """A training of one node; what it sends comes back."""
    saved = []
    program = train_private(
        shard,
        PLAN,
        n_nodes=1,
        start=start,
        noise=noise,
        on_progress=saved.append,
    )
    reply, n_sent = None, 0
    while True:
        try:
            request = program.send(reply)
        except StopIteration as stop:
            return stop.value, saved, n_sent
        if isinstance(request, Agreed):
            reply = request.run()
        else:
            n_sent += 1
            reply = answers(request.make())


def test_a_training_goes_on_where_it_was_with_the_same_noise():
    shard, noise = SHARDS[0], NoiseSource(Budget(2.0, 1e-5))
    network, saved, n_sent = ran(shard, noise=noise)
    assert n_sent == saved[-1].n_averagings == 4
    for start in (None, *saved):
        program.check_stages(PLAN, start) if start else None
        again, _, _ = ran(shard, start=start, noise=noise)
        assert np.array_equal(again.output, network.output)
    assert len(noise.releases) == 3
    assert [program.is_complete(one) for one in saved] == [False, False, True]


def test_other_data_in_the_same_training_are_refused():
    noise = NoiseSource(Budget(2.0, 1e-5))
    ran(SHARDS[0], noise=noise)
    with pytest.raises(PlanError, match="budget of 2 is spent"):
        ran(SHARDS[1], noise=noise)


def test_nobody_can_ask_about_rows_by_changing_agreed_numbers_a_little():
    """Another scaling is another release, also if no row of the node feels it."""
    noise, sums = NoiseSource(Budget(2.0, 1e-5)), np.arange(7)
    scaling = (np.zeros(5), np.ones(5))
    first = noise.share("layer 1", sums, 10**8, scaling)
    assert np.array_equal(noise.share("layer 1", sums, 10**8, scaling), first)
    nearly = (np.zeros(5), np.nextafter(scaling[1], 2))
    with pytest.raises(PlanError, match="budget of 2 is spent"):
        noise.share("layer 1", sums, 10**8, nearly)


def test_a_member_that_repeats_a_release_with_other_sums_of_its_own_stops_all():
    shard, noise = SHARDS[0], NoiseSource(Budget(2.0, 1e-5))
    ran(shard, noise=noise)
    changed = iter([1, 0, 0, 0])

    def others_add(values):
        values = values.copy()
        values[1] += next(changed)
        return values

    with pytest.raises(PlanError, match="a node started afresh"):
        ran(shard, noise=noise, answers=others_add)


def test_a_first_node_that_computes_another_matrix_is_noticed():
    messages = iter(range(4))

    def changed(values):
        if next(messages) == 2:
            values = values.copy()
            values[5:] += 1 << 38
        return values

    with pytest.raises(NumericalError, match="first node computes another"):
        ran(SHARDS[0], answers=changed)


@pytest.mark.parametrize("changed", [{"width": 41}, {"n_features": 6}])
def test_stages_of_another_plan_are_refused(changed):
    _, saved, _ = ran(SHARDS[0])
    with pytest.raises(ValueError, match="not those of the plan"):
        program.check_stages(PLAN.replace(**changed), saved[1])


def test_weights_and_other_targets_are_refused():
    weighted = Shard(X, one_hot(CODES, 3), np.full(N, 2.0))
    with pytest.raises(DataError, match="`sample_weight` must be left out"):
        simulate([weighted], PLAN, build_topology("complete", 1))
    halves = Shard(X, one_hot(CODES, 3) / 2)
    with pytest.raises(DataError, match="must have a one for the class"):
        simulate([halves], PLAN, build_topology("complete", 1))


def test_a_model_file_keeps_the_model_and_its_budget(tmp_path):
    network = simulate(SHARDS, PLAN, GRAPH).networks[0]
    save_network(network, tmp_path / "model.safetensors")
    again = load_network(tmp_path / "model.safetensors")
    assert again.plan.epsilon == 2.0
    assert np.array_equal(again.scores(X), network.scores(X))


def test_numbers_of_a_schema_have_ranges_and_may_be_missing():
    schema = Schema(
        columns=(
            Column(name="age", kind="number", low=0.0, high=100.0, missing=True),
            Column(name="sex", kind="category", levels=("f", "m")),
        ),
        target=Target(column="sick", classes=("no", "yes")),
    )
    plan = Plan(**schema.settings(), epsilon=1.0, width=20)
    low, high = plan.input_range
    assert low.tolist() == [0, 0, 0, 0]
    assert high.tolist() == [100, 1, 1, 1]
    rows = np.array([[50.0, np.nan], [0, 1], [1, 0], [0, 1]]).repeat(20, axis=1)
    shard = Shard(rows, one_hot(np.arange(40) % 2, 2), has_gaps=True)
    network = simulate([shard], plan, build_topology("complete", 1)).networks[0]
    assert np.isfinite(network.scores(rows)).all()


def test_estimators_are_private():
    rows, labels = X.T, np.array(["a", "b", "c"])[CODES]
    given = {"epsilon": 8.0, "input_low": np.full(5, -4.0), "input_high": 6.0}
    for estimator in (SSFNClassifier(**given), DSSFNClassifier(3, **given)):
        fitted = estimator.fit(rows, labels)
        assert fitted.score(rows, labels) > 0.6
        assert (fitted.n_layers_, fitted.width_) == (1, 600)
    assert fitted.node_spread_ == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_layers": 2}, "`n_layers` must be 1 or left out.*got 2"),
        ({"members": 5}, "`members` must be 1"),
        ({"class_weight": "balanced"}, "`class_weight` must be None"),
        ({"publish_scores": True}, "`publish_scores` must be False"),
        ({"folds": "nodes"}, "`folds` must be 'rows'"),
        ({"size": "ssfn"}, "`size` must be 'auto'"),
        ({"units": "dense"}, "`epsilon` needs integers.*`units` other than dense"),
        ({"solver": "admm"}, "`epsilon` needs integers.*solver gram"),
        ({"epsilon": 0.0}, "`epsilon` must be a positive number"),
        ({"epsilon": -1.0}, "`epsilon` must be a positive number"),
        ({"epsilon": 0.05}, "`epsilon` must be from 0.1 to 1000, got 0.05"),
        ({"epsilon": 1e4}, "`epsilon` must be from 0.1 to 1000, got 10000"),
        ({"delta": 1.0}, "`delta` is a probability"),
        ({"delta": 1e-16}, "`delta` is a probability"),
        ({"delta": 0.0}, "`delta` must be a positive number"),
        ({"colluders": 0}, "`colluders` must be a whole number of at least 1"),
        ({"input_low": None}, "`input_low` is missing"),
        ({"input_high": (1.0, 2.0)}, r"got \(1.0, 2.0\) for 5 inputs"),
        ({"input_high": float("inf")}, "got inf for 5 inputs"),
        ({"input_low": 6.0}, "6 must be below 6"),
        ({"classes": (), "targets": ("y",)}, "`epsilon` works only for classes"),
    ],
)
def test_settings_that_a_private_training_does_not_have_are_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        PLAN.replace(**settings)


def test_a_schema_without_ranges_is_refused_and_the_columns_are_named():
    columns = (Column(name="age", kind="number"), Column(name="bmi", kind="number"))
    schema = Schema(columns=columns, target=Target(column="y", classes=(0, 1)))
    with pytest.raises(
        PlanError, match="`low` and `high` into the schema for `age`, `bmi`"
    ):
        Plan(**schema.settings(), epsilon=1.0)
    known = Column(name="age", kind="number", low=0.0, high=9.0)
    schema = Schema(columns=(known,), target=Target(column="y", classes=(0, 1)))
    with pytest.raises(PlanError, match="are for data without a schema"):
        Plan(**schema.settings(), epsilon=1.0, input_low=0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 1.0}, "must both be given"),
        ({"low": 2.0, "high": 1.0}, "the first below the second, got 2.0 and 1.0"),
        ({"low": 0.0, "high": float("inf")}, "must both be given"),
        ({"low": 0.0, "high": 1.0, "kind": "boolean"}, "are for a number"),
    ],
)
def test_a_range_that_is_none_is_refused(given, message):
    with pytest.raises(PlanError, match=message):
        Column(**{"name": "age", "kind": "number"} | given)


def federation(**settings):
    plan = settings.pop("plan", PLAN)
    names = "abcdefghijklmnopqrst"[: settings.pop("nodes", 3)]
    return Federation(
        nodes=tuple(map(Member, names)),
        graph=Graph(kind="path"),
        training=plan,
        **settings,
    )


def test_a_federation_must_be_able_to_keep_the_budget():
    assert federation().training.is_private
    with pytest.raises(PlanError, match="`epsilon` needs `secure = true`"):
        federation(secure=False)
    with pytest.raises(PlanError, match="`mask_degree` must be left out"):
        federation(nodes=20, mask_degree=4)
    assert federation(nodes=20).n_partners == 19
    with pytest.raises(PlanError, match="`colluders` must be fewer than the 3 nodes"):
        federation(plan=PLAN.replace(colluders=3))


@pytest.mark.parametrize("colluders", [3, 9])
def test_as_many_colluders_as_nodes_are_refused_before_anything_is_sent(colluders):
    """The noise of the others protects, and there are no others."""
    plan, sent = PLAN.replace(colluders=colluders), []
    match = f"`colluders` must be fewer than the 3 nodes.*got {colluders}"
    with pytest.raises(PlanError, match=match):
        simulate(SHARDS, plan, GRAPH, on_average=lambda *seen: sent.append(seen))
    assert not sent
    model = DSSFNClassifier(
        n_nodes=3, epsilon=2.0, input_low=-4, input_high=6, colluders=colluders
    )
    with pytest.raises(PlanError, match=match):
        model.fit(X.T, CODES)


def test_a_node_alone_adds_all_the_noise_as_nobody_can_collude(monkeypatch):
    variances = {}
    share = NoiseSource.share

    def kept(self, name, sums, variance, agreed=()):
        variances.setdefault(name, []).append(variance)
        return share(self, name, sums, variance, agreed)

    monkeypatch.setattr(NoiseSource, "share", kept)
    for colluders in (1, 2):
        released(PLAN.replace(colluders=colluders), [Shard(X, one_hot(CODES, 3))])
    deviation = Budget(2.0, 1e-5).factor_of("scaling") * math.sqrt(moments_change(5))
    assert variances["scaling"] == [math.ceil(deviation**2)] * 2


def test_a_range_that_begins_at_zero_is_written_and_read(tmp_path):
    """So is one that ends there, in a schema and in a plan."""
    columns = (
        Column(name="age", kind="number", low=0.0, high=100.0),
        Column(name="depth", kind="number", low=-9.5, high=0.0),
    )
    schema = Schema(columns=columns, target=Target(column="y", classes=(0, 1)))
    (tmp_path / "schema.toml").write_text(schema_text(schema))
    assert load_schema(tmp_path / "schema.toml") == schema
    made = federation(plan=Plan(**schema.settings(), epsilon=1.0))
    (tmp_path / "plan.toml").write_text(plan_text(made))
    assert load_federation(tmp_path / "plan.toml").training == made.training
