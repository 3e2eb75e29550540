from __future__ import annotations

import subprocess
import sys
import textwrap

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dssfn
from dssfn import DSSFNClassifier, DSSFNRegressor, InputError, SSFNClassifier

IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def nodes():
    """A network that found its size, on five nodes with one or two classes each."""
    model = DSSFNClassifier(n_nodes=5, partition="by-class", random_state=0)
    return model.fit(*IRIS)


@pytest.fixture(scope="module")
def fixed():
    return SSFNClassifier(n_layers=3, width=20, random_state=0).fit(*IRIS)


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    model = DSSFNRegressor(n_nodes=3, n_layers=1, width=10, random_state=0)
    return model.fit(X[:90], y[:90])


@pytest.fixture(autouse=True)
def _headless():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def new_axes():
    return Figure().add_subplot()


def luminance(colour):
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """The contrast ratio of the accessibility guidelines (WCAG 2)."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_history_shows_the_error_of_every_layer_and_which_one_is_kept(nodes):
    lines = lines_of(dssfn.plot.history(nodes))
    records = nodes.history_
    training, validation = lines["training samples"], lines["validation samples"]
    assert list(training.get_xdata()) == [one.layer for one in records]
    assert list(training.get_ydata()) == [one.train_error_db for one in records]
    assert list(validation.get_ydata()) == [one.validation_error_db for one in records]
    kept = lines[f"layer {nodes.n_layers_} is kept"]
    assert set(kept.get_xdata()) == {nodes.n_layers_}
    assert training.get_linestyle() != validation.get_linestyle()
    assert training.get_marker() != validation.get_marker()


def test_history_shows_accuracy_in_per_cent(nodes):
    axes = dssfn.plot.history(nodes, metric="accuracy")
    values = lines_of(axes)["validation samples"].get_ydata()
    assert values[-1] == 100 * nodes.history_[-1].validation_accuracy
    axes.figure.canvas.draw()
    shown = [tick.get_text() for tick in axes.get_yticklabels()]
    assert all(text.endswith(" %") for text in shown)
    assert max(axes.get_yticks()) <= 100


def test_history_of_a_fixed_size_has_the_training_error_alone(fixed):
    assert list(lines_of(dssfn.plot.history(fixed))) == ["training samples"]


def test_the_legend_is_over_no_curve(nodes):
    axes = dssfn.plot.history(nodes)
    axes.figure.canvas.draw()
    frame = axes.get_legend().get_window_extent()
    for line in axes.get_lines():
        drawn = line.get_window_extent()
        assert drawn.y1 < frame.y0, line.get_label()


@pytest.mark.parametrize("turned", [False, True])
def test_models_side_by_side_on_shared_axes_are_seen_in_full(nodes, fixed, turned):
    figure = Figure()
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    models = (nodes, fixed) if turned else (fixed, nodes)
    for axes, model in zip((left, right), models, strict=True):
        dssfn.plot.history(model, ax=axes)
    for axes in (left, right):
        (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
        for line in axes.get_lines()[:2]:
            x, y = line.get_xdata(), line.get_ydata()
            assert x0 < min(x) <= max(x) < x1
            assert line.get_label().endswith("kept") or y0 < min(y) <= max(y) < y1


@pytest.mark.parametrize("metric", ["error", "accuracy"])
def test_ticks_are_those_of_all_models_on_the_same_axes(metric):
    X, y = IRIS
    hopeless = np.random.default_rng(0).permutation(y)
    sizes = {"n_nodes": 3, "n_layers": 2, "width": 20, "random_state": 0}
    axes = new_axes()
    for labels in (hopeless, y):
        model = DSSFNClassifier(**sizes).fit(X, labels)
        dssfn.plot.history(model, metric=metric, ax=axes)
    values = np.concatenate([line.get_ydata() for line in axes.get_lines()])
    ticks = axes.get_yticks()
    step = np.diff(ticks).max()
    assert len(ticks) >= 4
    assert min(ticks) - step <= min(values) <= max(values) <= max(ticks) + step


def test_a_simulation_is_drawn_as_an_estimator_is(nodes):
    simulated = simulate_pair()
    drawn = lines_of(dssfn.plot.history(simulated))["training samples"]
    assert list(drawn.get_ydata()) == [one.train_error_db for one in simulated.history]
    bars = dssfn.plot.traffic(simulated, ax=new_axes()).patches
    # Bytes are drawn in the unit that fits.
    heights = np.array([bar.get_height() for bar in bars])
    factor = simulated.traffic.bytes_total / heights.sum()
    assert factor == pytest.approx(1000 ** round(np.log10(factor) / 3), rel=1e-9)


def simulate_pair():
    X, y = IRIS
    plan = dssfn.Plan(n_features=4, classes=(0, 1, 2), n_layers=2, width=10)
    T = np.eye(3)[y].T
    shards = [dssfn.Shard(X[k::2].T, T[:, k::2]) for k in range(2)]
    return dssfn.simulate(shards, plan, dssfn.build_topology("path", 2))


@pytest.mark.parametrize(
    ("unit", "attribute"),
    [("bytes", "bytes_total"), ("numbers", "scalars_per_node"), ("rounds", "rounds")],
)
def test_the_bars_of_traffic_add_up_to_all_that_was_sent(nodes, unit, attribute):
    axes = dssfn.plot.traffic(nodes, unit=unit)
    heights = [bar.get_height() for bar in axes.patches]
    total = getattr(nodes.traffic_, attribute)
    factor = 1e6 if unit == "bytes" else 1
    assert sum(heights) * factor == pytest.approx(total, rel=1e-12)
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    layers = [str(one.layer) for one in nodes.history_]
    assert names == ["before", *layers, "after"]
    assert axes.get_ylabel().startswith({"bytes": "megabytes"}.get(unit, unit))


def test_a_graph_has_a_line_for_every_link_and_a_label_for_every_node():
    ring = dssfn.build_topology("circular", 6)
    axes = dssfn.plot.topology(ring)
    (links,) = axes.collections
    assert len(links.get_segments()) == len(ring.edges())
    assert [text.get_text() for text in axes.texts] == [str(k) for k in range(6)]


def test_a_networkx_graph_keeps_its_names():
    graph = nx.Graph([("Basel", "Lugano"), ("Lugano", "Zurich")])
    texts = [text.get_text() for text in dssfn.plot.topology(graph).texts]
    assert texts == ["Basel", "Lugano", "Zurich"]
    named = dssfn.plot.topology(dssfn.build_topology("path", 2), labels=["a", "$b"])
    assert [text.get_text() for text in named.texts] == ["a", "$b"]
    named.figure.canvas.draw()  # a name is no formula


def test_a_model_shows_how_many_samples_each_node_holds(nodes, numbers):
    for model in (nodes, numbers):
        texts = [t.get_text() for t in dssfn.plot.topology(model, held="samples").texts]
        totals = model.held_.reshape(len(model.held_), -1).sum(axis=1)
        assert [f"{n} samples" for n in totals] == [t for t in texts if "samples" in t]


def test_a_model_shows_the_classes_that_each_node_holds(nodes):
    axes = dssfn.plot.topology(nodes, held="classes")
    wedges = [one for one in axes.patches if hasattr(one, "theta1")]
    assert len(wedges) == np.count_nonzero(nodes.held_)
    shares = nodes.held_ / nodes.held_.sum(axis=1, keepdims=True)
    drawn = [(one.theta2 - one.theta1) / 360 for one in wedges]
    assert drawn == pytest.approx(shares[shares > 0].tolist())
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["0", "1", "2"]


def test_many_classes_are_named_beside_the_nodes_that_hold_them():
    y = np.repeat(np.arange(8), 15)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    model = DSSFNClassifier(n_nodes=8, n_layers=1, width=5, random_state=0)
    axes = dssfn.plot.topology(model.fit(X, y, partition=y), held="classes")
    assert axes.get_legend() is None
    beside = [text.get_text() for text in axes.texts][8:]
    assert beside == [str(k) for k in range(8)]


@pytest.mark.parametrize(
    "draw", [dssfn.plot.history, dssfn.plot.topology, dssfn.plot.traffic]
)
def test_a_figure_or_several_axes_are_not_axes(nodes, draw):
    with pytest.raises(InputError) as error:
        draw(nodes, ax=new_axes().figure)
    said = "`ax` must be matplotlib Axes, got Figure. Use `figure.gca()`."
    assert str(error.value) == said
    several = np.array([new_axes(), new_axes()], dtype=object)
    with pytest.raises(InputError, match=r"got ndarray\. Choose one of them"):
        draw(nodes, ax=several)


def test_nothing_is_shown_and_no_setting_changes(nodes, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    before = dict(mpl.rcParams)
    axes = new_axes()
    for draw in (dssfn.plot.history, dssfn.plot.topology, dssfn.plot.traffic):
        assert draw(nodes, ax=axes) is axes
        assert plt.get_fignums() == []  # pyplot has no figure: it was not needed
        assert draw(nodes).figure.number in plt.get_fignums()
        plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot"])
def test_lines_and_texts_can_be_read_on_light_and_dark_backgrounds(nodes, style):
    with plt.style.context(style):
        axes = dssfn.plot.history(nodes)
        behind = axes.get_facecolor()
        for line in axes.get_lines():
            assert contrast(line.get_color(), behind) > 3, line.get_label()
        bars = dssfn.plot.traffic(nodes).patches
        assert contrast(bars[0].get_facecolor(), behind) > 3
        graph = dssfn.plot.topology(nodes, held="samples")
        beside = [text for text in graph.texts if "samples" in text.get_text()]
        shown = graph.figure.get_facecolor()  # axes are off
        assert contrast(beside[0].get_color(), shown) > 4.5


def test_transparent_axes_are_judged_by_their_figure(nodes):
    figure = Figure(facecolor="black")
    axes = figure.add_subplot(facecolor="none")
    line = lines_of(dssfn.plot.history(nodes, ax=axes))["training samples"]
    assert contrast(line.get_color(), "black") > 7


WRONG = {
    "`model` must be a fitted estimator of dssfn.*got str": lambda: dssfn.plot.history(
        "model"
    ),
    r"got Pipeline. Of a pipeline, give the last step: `pipeline\[-1\]`": lambda: (
        dssfn.plot.history(make_pipeline(StandardScaler(), SSFNClassifier()))
    ),
    "`graph` must be a Topology, a networkx graph or a fitted model, got str": (
        lambda: dssfn.plot.topology("ring")
    ),
    "`held` needs a fitted model": lambda: dssfn.plot.topology(
        dssfn.build_topology("path", 3), held="samples"
    ),
    "`labels` must have a name for each of the 3 nodes, got 1": lambda: (
        dssfn.plot.topology(dssfn.build_topology("path", 3), labels=["a"])
    ),
    "`metric` must be one of error, accuracy, got 'acuracy'. Did you mean": lambda: (
        dssfn.plot.history(SSFNClassifier(), metric="acuracy")
    ),
    "`unit` must be one of bytes, numbers, rounds": lambda: dssfn.plot.traffic(
        SSFNClassifier(), unit="bits"
    ),
    "`held` must be one of samples, classes": lambda: dssfn.plot.topology(
        DSSFNClassifier(), held="rows"
    ),
}


@pytest.mark.parametrize("told", WRONG)
def test_wrong_input_is_refused_with_the_way_out(told):
    with pytest.raises(InputError, match=told):
        WRONG[told]()
    assert plt.get_fignums() == []  # no empty figure is left


def test_an_unfitted_model_is_refused_as_everywhere_in_scikit_learn():
    draws = dssfn.plot.history, dssfn.plot.topology, dssfn.plot.traffic
    for draw in draws:
        with pytest.raises(NotFittedError, match="DSSFNClassifier instance is not fit"):
            draw(DSSFNClassifier())


def test_models_that_lack_what_is_wanted_say_so(fixed, numbers):
    with pytest.raises(InputError, match="trained on one machine"):
        dssfn.plot.traffic(fixed)
    with pytest.raises(InputError, match="got a SSFNClassifier"):
        dssfn.plot.topology(fixed)
    with pytest.raises(InputError, match="`metric` must be 'error' for a regressor"):
        dssfn.plot.history(numbers, metric="accuracy")
    with pytest.raises(InputError, match="'classes' for a regressor"):
        dssfn.plot.topology(numbers, held="classes")
    read = SSFNClassifier.from_network(fixed.network_)
    with pytest.raises(InputError, match="a model file holds what predicts"):
        dssfn.plot.history(read)


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_matplotlib_is_imported_when_something_is_drawn():
    shown = run("""
        import sys, dssfn
        dssfn.plot.history
        print("matplotlib" in sys.modules)
    """)
    assert shown == "False\n"


def test_without_matplotlib_the_error_names_the_extra():
    shown = run("""
        import sys, dssfn
        sys.modules["matplotlib"] = None
        try:
            dssfn.plot.topology(dssfn.build_topology("path", 2))
        except dssfn.InputError as exc:
            print(exc)
    """)
    assert "pip install 'dssfn[report]'" in shown
