from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dssfn.config import PRECISIONS, Plan
from dssfn.errors import InputError, PlanError, TopologyError
from dssfn.federation import (
    NO_SETTING,
    STATISTICS,
    TRAINING,
    Federation,
    Graph,
    Member,
    load_federation,
    split_address,
)
from dssfn.node.spec import load_node
from dssfn.registry import AVERAGING, SOLVERS
from dssfn.setup.texts import node_text, plan_text
from tests.support.tight_memory import needs_rlimit, refusal

replace = msgspec.structs.replace

# --- federations at random ----------------------------------------------------------

host_names = st.from_regex(
    r"[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?(\.[a-z0-9]{1,4})?", fullmatch=True
)
names = st.text("abc1", min_size=1, max_size=3)
addresses = st.sampled_from([None, "h:0", "a.example.org:7400", "[::1]:65535"])
positive = st.floats(1e-9, 1e9)
labels = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=5, unique=True),
    st.lists(st.text(max_size=5), min_size=2, max_size=5, unique=True),
    st.just([False, True]),
)
SETTINGS = {
    "n_layers": st.integers(0, 50),
    "width": st.integers(1, 5000),
    "alpha": positive,
    "gain": positive,
    "bias": st.floats(0, 1e6),
    "standardize": st.booleans(),
    "solver": st.sampled_from(["auto", *sorted({*SOLVERS} - {"relaxed"})]),
    "consensus": st.sampled_from(["auto", *AVERAGING]),
    "tol": st.floats(1e-15, 0.5),
    "n_iter": st.integers(1, 999),
    "latency": positive,
    "bandwidth": positive,
    "seed": st.integers(0, 2**63 - 1),
    "precision": st.sampled_from(PRECISIONS),
    "n_rounds": st.none() | st.integers(1, 99),
    "mu_hidden": st.none() | positive,
    "warm_start": st.booleans(),
}


INPUTS = st.one_of(
    st.integers(1, 99).map(lambda n: {"n_features": n}),
    st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=9, unique=True).map(
        lambda one: {"feature_names": tuple(one), "n_features": len(one)}
    ),
)


@st.composite
def plans(draw):
    classes = tuple(draw(labels))
    settings = draw(st.fixed_dictionaries(SETTINGS))
    return Plan(classes=classes, **draw(INPUTS), **settings)


@st.composite
def federations(draw):
    chosen = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    kind = draw(st.sampled_from(["circular", "path", "star", "edges"]))
    graph = Graph(kind=kind)
    if kind == "edges":
        graph = Graph(edges=tuple(pairwise(chosen)))
    elif kind == "circular" and draw(st.booleans()):
        graph = Graph(kind=kind, degree=draw(st.integers(1, len(chosen) // 2)))
    training = draw(plans())
    secure = training.is_exact and draw(st.booleans())
    others = len(chosen) - 1
    return Federation(
        nodes=tuple(Member(name, draw(addresses)) for name in chosen),
        graph=graph,
        training=training,
        secure=secure,
        mask_degree=draw(st.sampled_from([None, others])) if secure else None,
        round_deadline=draw(st.floats(1e-3, 1e5)),
        min_rows=draw(st.integers(10, 10**6)),
        min_cell=draw(st.integers(1, 10)),
        publish_sites=draw(st.booleans()),
    )


def small(**changes):
    parts = {
        "nodes": (Member("a", "h:1"), Member("b"), Member("c")),
        "graph": Graph(kind="circular", degree=1),
        "training": Plan(n_features=2, classes=("no", "yes")),
    }
    return Federation(**(parts | changes))


# --- fingerprints -------------------------------------------------------------------


@given(federations())
def test_equal_plans_have_equal_fingerprints(federation):
    again = msgspec.convert(msgspec.to_builtins(federation), Federation)
    assert again == federation
    assert again.fingerprint() == federation.fingerprint()
    assert list(federation.differences(again.agreed())) == []


@given(federations(), st.data())
def test_addresses_do_not_matter(federation, data):
    moved = tuple(Member(one.name, data.draw(addresses)) for one in federation.nodes)
    other = replace(federation, nodes=moved)
    assert other.fingerprint() == federation.fingerprint()
    assert list(federation.differences(other.agreed())) == []


@given(federations(), st.sampled_from(sorted(SETTINGS)), st.data())
def test_any_other_setting_matters_and_is_named(federation, field, data):
    mine, theirs = getattr(federation.training, field), data.draw(SETTINGS[field])
    assume(mine != theirs)
    # Without masks, any setting goes.
    federation = replace(federation, secure=False, mask_degree=None)
    other = replace(federation, training=federation.training.replace(**{field: theirs}))
    assert other.fingerprint() != federation.fingerprint()
    found = list(federation.differences(other.agreed()))
    assert found == [(f"training.{field}", mine, theirs)]


@given(federations(), labels)
def test_classes_matter_in_value_order_and_type(federation, chosen):
    assume(repr(tuple(chosen)) != repr(federation.training.classes))
    other = replace(
        federation, training=federation.training.replace(classes=tuple(chosen))
    )
    assert other.fingerprint() != federation.fingerprint()


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"round_deadline": 9.0}, ("round_deadline", 30.0, 9.0)),
        ({"min_rows": 9}, ("min_rows", 20, 9)),
        ({"min_cell": 3}, ("min_cell", 5, 3)),
        ({"publish_sites": True}, ("publish_sites", False, True)),
        ({"graph": Graph(kind="circular")}, ("graph.degree", 1, None)),
        (
            {"nodes": (Member("a"), Member("b"), Member("x"))},
            ("nodes[2].name", "c", "x"),
        ),
        (
            {"nodes": (Member("a"), Member("b"), Member("c"), Member("d"))},
            ("nodes (how many)", 3, 4),
        ),
        (
            {"training": Plan(n_features=2, classes=("no", "maybe"))},
            ("training.classes[1]", "yes", "maybe"),
        ),
        (
            {"training": Plan(n_features=3, classes=("no", "yes"))},
            ("training.n_features", 2, 3),
        ),
        (
            {"training": Plan(n_features=2, classes=("no", "yes"), width=7)},
            ("training.width", "auto", 7),
        ),
    ],
)
def test_a_difference_is_named_exactly(changes, difference):
    other = small(**changes)
    assert list(small().differences(other.agreed())) == [difference]
    field, mine, theirs = difference
    assert list(other.differences(small().agreed())) == [(field, theirs, mine)]
    assert other.fingerprint() != small().fingerprint()


def test_labels_that_are_only_equal_in_python_differ():
    one = small(training=Plan(n_features=2, classes=(0, 1)))
    two = small(training=Plan(n_features=2, classes=(False, True)))
    assert one.fingerprint() != two.fingerprint()
    assert list(one.differences(two.agreed())) == [
        ("training.classes[0]", 0, False),
        ("training.classes[1]", 1, True),
    ]


def test_a_setting_that_only_one_side_knows_is_named():
    theirs = msgspec.json.decode(small().agreed())
    del theirs["training"]["seed"]
    theirs["training"]["speed"] = 3
    found = list(small().differences(msgspec.json.encode(theirs)))
    assert found == [
        ("training.seed", 0, NO_SETTING),
        ("training.speed", NO_SETTING, 3),
    ]


def test_a_setting_that_only_one_side_knows_is_named_even_if_it_is_nothing():
    theirs = msgspec.json.decode(small().agreed())
    del theirs["training"]["n_rounds"]
    found = list(small().differences(msgspec.json.encode(theirs)))
    assert found == [("training.n_rounds", None, NO_SETTING)]


def test_nodes_that_meet_for_different_commands_differ_in_that_alone():
    mine, theirs = small().agreed(TRAINING), small().agreed(STATISTICS)
    assert list(small().differences(theirs)) == [("command", TRAINING, STATISTICS)]
    found = list(small().differences(mine, STATISTICS))
    assert found == [("command", STATISTICS, TRAINING)]


@pytest.mark.parametrize("other", [b"", b"\xff", b"{", b"3", b"[]", b"null"])
def test_what_is_no_plan_differs(other):
    assert list(small().differences(other))


# --- plan files ---------------------------------------------------------------------


@given(federations())
def test_a_plan_file_is_read_back_as_it_was(tmp_path_factory, federation):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_bytes(plan_text(federation).encode())
    assert load_federation(path) == federation
    assert load_federation(path).fingerprint() == federation.fingerprint()


PLAN = """\
nodes = [{name = "a", address = "h:1"}, {name = "b"}]
[graph]
kind = "path"
[training]
classes = ["no", "yes"]
feature_names = ["x", "y"]
"""


def test_feature_names_say_how_many_features_there_are(write):
    plan = load_federation(write("plan.toml", PLAN)).training
    assert plan.n_features == 2
    assert plan.classes == ("no", "yes")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "b"', 'name = "a"', "different names"),
        ('name = "b"', 'name = "B"', "'B'"),
        ('name = "b"', 'name = "b", adress = "h:2"', "adress"),
        ('"h:1"', '"h"', "host:port"),
        ('"h:1"', '"h:65536"', "host:port"),
        ('kind = "path"', "", "either a `kind`"),
        ('kind = "path"', 'kind = "pth"', "Did you mean `path`"),
        ('kind = "path"', 'kind = "path"\nedges = [["a", "b"]]', "either a `kind`"),
        ('kind = "path"', 'kind = "path"\ndegree = 2', "degree"),
        ('kind = "path"', 'edges = [["a", "x"]]', "'x'"),
        ('kind = "path"', 'edges = [["a", "a"]]', "'a'"),
        ('kind = "path"', "edges = []", "connected"),
        ('kind = "path"', 'edges = [["a"]]', "edges"),
        ('["x", "y"]', "[]", "`feature_names`"),
        ('["x", "y"]', '["x"]\nn_features = 2', "all 2 features"),
        ('["no", "yes"]', "[]", "`classes`"),
        ('classes = ["no", "yes"]', 'targets = ["risk"]', "come with a schema"),
        ('["no", "yes"]', '["no"]', "two classes"),
        ('["no", "yes"]', '["no", "no"]', "be different"),
        ('feature_names = ["x", "y"]', "", "n_features"),
        ('feature_names = ["x", "y"]', "n_features = 0", "n_features"),
        ("[graph]", "round_deadline = 0\n[graph]", "round_deadline"),
        ("[graph]", "round_deadline = nan\n[graph]", "round_deadline"),
        ("[graph]", "round_deadline = inf\n[graph]", "round_deadline"),
        ("[graph]", 'round_deadline = "9"\n[graph]', "round_deadline"),
        ("[graph]", "round_dedline = 9\n[graph]", "mean `round_deadline`?"),
        ("[graph]", "min_rows = 0\n[graph]", "`min_rows` must be at least 1, got 0"),
        ("[graph]", "min_cell = -1\n[graph]", "`min_cell` must be at least 1, got -1"),
        ("[graph]", "min_row = 9\n[graph]", "mean `min_rows`?"),
        ("[graph]", "publish_sites = 1\n[graph]", "publish_sites"),
        (
            "[graph]",
            "publish_sites = true\nmin_rows = 4\n[graph]",
            "`min_rows` must be at least `min_cell`",
        ),
        ("[training]", "[training]\nwidht = 3", "Did you mean `width`?"),
        ("[training]", "[training]\nspeed = 3", "no setting `speed`"),
        ("[training]", "[training]\nwidth = 0", "width"),
        ("[training]", '[training]\nsolver = "magic"', "solver"),
        (
            "[training]",
            '[training]\nsolver = "relaxed"\nn_layers = 1\nwidth = 9',
            "only in simulated time",
        ),
        ("[training]", "[trainin]", "trainin"),
        ("nodes = ", "nodes == ", "not a TOML file"),
        (
            "[training]",
            "[training]\nn_layers = 1000000000",
            "`n_layers` under [training] must be at most",
        ),
        (
            "[training]",
            "[training]\nwidth = 1000000000",
            "`width` under [training] must be",
        ),
        (
            "[training]",
            "[training]\nn_iter = 1000000000",
            "`n_iter` under [training] must be",
        ),
        (
            "[training]",
            "[training]\nn_rounds = 1000000000",
            "`n_rounds` under [training] must be",
        ),
        ('{name = "b"}', "3", "nodes"),
        ("[graph]", "[graph]\n\x00", "not a TOML file"),
    ],
)
def test_a_plan_file_that_breaks_a_rule_is_refused(write, old, new, words):
    assert old in PLAN
    path = write("plan.toml", PLAN.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_federation(path)
    assert words in str(caught.value)
    assert "plan.toml" in str(caught.value)


TOO_LONG = {
    "a seed": (
        "[training]",
        f"[training]\nseed = {2**63}",
        "`seed` under [training] must be",
    ),
    "a class": ('["no", "yes"]', f'["no", "{"y" * 1001}"]', "at most 1000 characters"),
    "classes": ('["no", "yes"]', str([*range(10_001)]), "at most 10000"),
    "a feature": ('["x", "y"]', f'["x", "{"y" * 1001}"]', "at most 1000 characters"),
    "a number": ("[training]", f"[training]\nseed = {'9' * 5000}", "not a TOML file"),
    "nesting": ("[training]", f"[training]\nx = {'[' * 5000}", "not a TOML file"),
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_plan_file_with_something_too_long_in_it_is_refused(write, what):
    test_a_plan_file_that_breaks_a_rule_is_refused(write, *TOO_LONG[what])


@needs_rlimit
@pytest.mark.parametrize("n_nodes", [2001, 20_000])
def test_more_nodes_than_a_graph_can_hold_are_refused_in_little_memory(write, n_nodes):
    nodes = ", ".join(f'{{name = "n{k}"}}' for k in range(n_nodes))
    start, rest = PLAN.split("nodes = [", 1)
    rest = rest.split("]", 1)[1]
    path = write("plan.toml", f"{start}nodes = [{nodes}]{rest}")
    imports = "from dssfn.federation import load_federation"
    said = refusal(imports, "load_federation(sys.argv[1])", path)
    assert said.startswith("PlanError")
    assert f"at most 2000, got {n_nodes}" in said


def test_a_plan_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(PlanError, match=r"none.toml.*dssfn federation init"):
        load_federation(tmp_path / "none.toml")
    with pytest.raises(PlanError, match="cannot be read"):
        load_federation(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'# \xe9\nnodes = ""')
    with pytest.raises(PlanError, match="not a TOML file"):
        load_federation(tmp_path / "latin.toml")


# --- names, addresses, graphs -------------------------------------------------------


@given(host_names)
def test_names_of_hosts_are_names(name):
    assert Member(name).name == name


@pytest.mark.parametrize(
    "name",
    ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a b", "a/b", "é", "a\n", "*",
     "x" * 64, ".".join(["x" * 60] * 4)],
)  # fmt: skip
def test_other_names_are_refused(name):
    with pytest.raises(PlanError, match="name"):
        Member(name)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("h:0", ("h", 0)),
        ("[::1]:7400", ("::1", 7400)),
        ("1.2.3.4:65535", ("1.2.3.4", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(address, parts):
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "address", ["", "h", "h:", ":1", "h:x", "h:-1", "h:65536", "h:1.5"]
)
def test_other_addresses_are_refused(address):
    with pytest.raises(PlanError, match="host:port"):
        split_address(address)
    with pytest.raises(PlanError, match="host:port"):
        Member("a", address)


def test_a_node_is_found_by_its_name():
    assert [small().index(name) for name in "abc"] == [0, 1, 2]
    with pytest.raises(PlanError, match="a, b, c, got 'd'"):
        small().index("d")


def test_a_graph_of_edges_joins_nodes_by_name():
    graph = Graph(edges=(("c", "a"), ("b", "c")))
    assert small(graph=graph).topology().edges() == [(0, 2), (1, 2)]
    with pytest.raises(TopologyError, match="connected"):
        small(graph=Graph(edges=(("a", "b"),)))


def test_a_federation_needs_nodes():
    with pytest.raises(PlanError, match="nodes"):
        small(nodes=())


# --- a node's own file --------------------------------------------------------------

NODE = """\
name = "a"
plan = "plan.toml"
data = "data.csv"
certificate = "node.crt"
key = "node.key"
authorities = "ca.crt"
"""


def test_paths_are_relative_to_the_node_s_file(write, tmp_path, monkeypatch):
    write("plan.toml", PLAN)
    path = write("node.toml", NODE + 'out = "/elsewhere"\n')
    monkeypatch.chdir("/")
    spec, federation = load_node(path)
    assert spec.data == str(tmp_path.resolve() / "data.csv")
    assert spec.key == str(tmp_path.resolve() / "node.key")
    assert spec.out == "/elsewhere"
    assert spec.listen is None
    assert federation.names == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "a"', 'name = "x"', "a, b, got 'x'"),
        ('name = "a"', "", "name"),
        ('name = "a"', 'name = "a"\nlisten = "7400"', "host:port"),
        ('name = "a"', 'name = "a"\nmetrics = "here"', "host:port"),
        ('name = "a"', 'name = "a"\npage = "here"', "host:port"),
        ('name = "a"', 'name = "a"\npage = "127.0.0.1:0"', "port of its own"),
        ('name = "a"', 'name = "a"\npage = "h:1"\nmetrics = "h:1"', "port of its own"),
        (
            'name = "a"',
            'name = "a"\nlisten = "127.0.0.1:7400"\npage = "0.0.0.0:7400"',
            "`page` must have a port of its own, got '0.0.0.0:7400', the port of "
            "`listen` = '127.0.0.1:7400'",
        ),
        (
            'name = "a"',
            'name = "a"\nlisten = "[::]:7400"\nmetrics = "127.0.0.1:7400"',
            "`metrics` must have a port of its own",
        ),
        (
            'name = "a"',
            'name = "a"\nlisten = "localhost:7400"\nmetrics = "127.0.0.1:7400"',
            "`metrics` must have a port of its own",
        ),
        ('name = "a"', 'name = "a"\nlissen = "h:1"', "lissen"),
        ('name = "a"', 'name = "a"\nthreads = 0', "threads"),
        ('name = "a"', 'name = "a"\nthreads = "4"', "threads"),
        (
            'name = "a"',
            'name = "a"\npeers = {x = "h:1"}',
            "node.toml`: `peers` must name nodes of the plan, a, b; got 'x'.",
        ),
        ('name = "a"', 'name = "a"\npeers = {b = "h"}', "host:port"),
        ('"plan.toml"', '"pan.toml"', "pan.toml"),
        ('key = "node.key"', "", "key"),
        ('data = "data.csv"', "data = 3", "data"),
        ("name", "name name", "not a TOML file"),
    ],
)
def test_a_node_file_that_breaks_a_rule_is_refused(write, old, new, words):
    write("plan.toml", PLAN)
    path = write("node.toml", NODE.replace(old, new, 1))
    with pytest.raises(PlanError) as caught:
        load_node(path)
    assert words in str(caught.value)


@given(
    names, addresses, st.text(min_size=1, max_size=9), st.none() | st.text(max_size=9)
)
def test_a_node_file_is_read_as_it_was_written(
    tmp_path_factory, name, address, data, target
):
    assume("\0" not in data and name != "other")
    folder = tmp_path_factory.mktemp("node")
    member = Member(name, address)
    text = node_text(member, data=data, target=target, needs_target=True, peer="other")
    (folder / "node.toml").write_bytes(text.encode())
    plan = small(nodes=(member, Member("other")))
    (folder / "plan.toml").write_bytes(plan_text(plan).encode())
    spec, federation = load_node(folder / "node.toml")
    assert (spec.name, spec.target) == (name, target)
    assert (spec.listen is None) == (address is None)
    assert federation == plan
