"""deploy/grafana and deploy/prometheus ask for metrics that nodes serve."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from tests.support.compose import DEPLOY

pytest.importorskip("prometheus_client", reason="needs the extra dssfn[grpc]")
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dssfn.node.metrics import _Collector
from dssfn.transports import Account

PROMETHEUS = DEPLOY / "prometheus"
DASHBOARD = json.loads((DEPLOY / "grafana/dssfn-node.json").read_text(encoding="utf-8"))
QUERIES = [
    (panel["title"], target["expr"])
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
]


@pytest.fixture(scope="module")
def families():
    """What a node serves that has a neighbour and has solved a layer."""
    transport = SimpleNamespace(
        at=SimpleNamespace(layer=1, step=3, round=2),
        epoch=0,
        accounts=lambda: {"south": (Account(), True)},
    )
    training = SimpleNamespace(
        names=("north", "south"),
        node=0,
        transport=transport,
        progress=SimpleNamespace(n_layers=1),
        records={0: SimpleNamespace(cost=2.5)},
    )
    identity = SimpleNamespace(expires=datetime(2030, 1, 1, tzinfo=UTC))
    keyring = SimpleNamespace(current=lambda: identity)
    registry = CollectorRegistry()
    registry.register(
        _Collector(SimpleNamespace(training=training, plan="3f2a", keyring=keyring))
    )
    served = generate_latest(registry).decode()
    return list(text_string_to_metric_families(served))


@pytest.fixture(scope="module")
def names(families):
    return {sample.name for family in families for sample in family.samples}


def metrics_in(text):
    return set(re.findall(r"\bdssfn_\w+", text))


def test_every_metric_has_a_sentence_and_a_unit_where_it_has_one(families):
    for family in families:
        assert family.documentation.endswith("."), family.name
        assert family.samples, family.name
    counters = {one.name for one in families if one.type == "counter"}
    assert counters == {
        f"dssfn_peer_{what}"
        for what in ("sent_bytes", "received_bytes", "wait_seconds", "connections")
    }


def test_the_dashboard_shows_every_metric_and_no_others(names):
    asked = set().union(*(metrics_in(query) for _, query in QUERIES))
    assert asked == names


def test_rules_ask_for_metrics_that_there_are(names):
    for file in ("rules.yml", "rules.test.yml"):
        asked = metrics_in((PROMETHEUS / file).read_text(encoding="utf-8"))
        assert len(asked) > 4
        assert asked <= names


def test_variables_of_the_dashboard_are_those_of_its_queries(names):
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert set(variables) == {"datasource", "instance"}
    assert metrics_in(variables["instance"]["query"]["query"]) <= names
    for panel in DASHBOARD["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["description"].endswith(".")
        for target in panel["targets"]:
            used = set(re.findall(r"\$(\w+)", target["expr"]))
            assert used <= {"instance", "__rate_interval"}
            assert "instance" in used


def test_panels_have_numbers_of_their_own_and_do_not_overlap():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
@pytest.mark.parametrize(
    "words",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "rules.yml"),
        ("test", "rules", "rules.test.yml"),
    ],
    ids=" ".join,
)
def test_prometheus_agrees(words):
    done = subprocess.run(
        ["promtool", *words], cwd=PROMETHEUS, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_prometheus_can_parse_every_query_of_the_dashboard(tmp_path):
    rules = [
        {"record": f"query_{number}", "expr": query}
        for number, (_, query) in enumerate(QUERIES)
    ]
    text = json.dumps({"groups": [{"name": "dashboard", "rules": rules}]})
    file = tmp_path / "rules.yml"
    file.write_text(text.replace("$__rate_interval", "1m"))
    done = subprocess.run(["promtool", "check", "rules", file], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
