"""The page of a running node, and the tables that a terminal shows too."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from html.parser import HTMLParser
from itertools import combinations, product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.report.status.curves import ticks
from dssfn.report.status.graph import draw_graph, uses_numbers
from dssfn.report.status.looks import LOOKS
from dssfn.report.status.page import LIVE, POLICY, make_status_page, warning
from dssfn.report.status.places import LETTER, places_of
from dssfn.report.status.sketch import WIDTH
from dssfn.report.status.tables import nodes_table
from dssfn.status import LogLine, NodeStatus, State
from dssfn.topology import build_topology
from tests.support.status_sample import sample_status

HOSTILE = "<script>alert(1)</script>\"'&"
KINDS = ("circular", "star", "path", "complete", "geometric")


class Seen(HTMLParser):
    """All tags and attributes of a page; those that are opened are closed."""

    VOID = ("meta", "link", "circle", "line", "polyline", "polygon")

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def hostile_status():
    status = sample_status(4)
    nodes = [msgspec.structs.replace(one, name=HOSTILE) for one in status.nodes]
    links = [msgspec.structs.replace(one, name=HOSTILE) for one in status.links]
    return msgspec.structs.replace(
        status,
        node=HOSTILE,
        doing=HOSTILE,
        waits_for=(HOSTILE,),
        made_at=HOSTILE,
        certificate_ends=HOSTILE,
        graph=HOSTILE,
        nodes=tuple(nodes),
        links=tuple(links),
        log=(LogLine(HOSTILE, HOSTILE, HOSTILE),),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_nodes", [3, 12, 50])
def test_the_page_is_whole_and_loads_nothing(n_nodes, kind):
    seen = Seen(make_status_page(sample_status(n_nodes, kind=kind)))
    assert seen.tags.count("script") == 1
    assert seen.tags.count("style") == 1
    loading = [one for one in seen.attributes if one[1] in ("src", "href", "action")]
    assert loading == [("link", "href", "data:,")]
    inline = [one for one in seen.attributes if one[1].startswith(("on", "style"))]
    assert inline == []


def test_no_words_of_others_become_a_part_of_the_page():
    page = make_status_page(hostile_status())
    assert Seen(page).tags.count("script") == 1
    assert HOSTILE not in page
    assert "alert(1)" in page  # as words


def test_only_this_style_and_this_script_are_allowed():
    page = make_status_page(sample_status())
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in POLICY
    assert LIVE.policy in page
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_look_of_its_own(state):
    assert f".node.{LOOKS[state].kind} circle" in LIVE.style or state is State.HERE
    status = sample_status(3, states=[state])
    assert f'class="node {LOOKS[state].kind}"' in draw_graph(status).inner
    assert len({look.kind for look in LOOKS.values()}) == len(State)


@settings(max_examples=40)
@given(
    st.integers(1, 50),
    st.sampled_from(KINDS),
    st.integers(1, 30),
)
def test_nodes_and_names_never_touch(n_nodes, kind, longest):
    topology = build_topology(kind, n_nodes)
    names = tuple(f"{k}".ljust(longest, "x") for k in range(n_nodes))
    at = places_of(names, tuple(topology.edges()), topology.name)
    assert at.radius >= 7.5  # a number of two digits fits in
    for one, other in combinations(at.points, 2):
        assert math.dist(one, other) > 2 * at.radius
    nodes = [(x - 7.5, y - 7.5, x + 7.5, y + 7.5) for x, y in at.points]
    boxes = []
    for name, (x, y, anchor) in zip(names, at.labels, strict=False):
        long = LETTER * len(name)
        left = x - {"": 0, "middle": long / 2, "end": long}[anchor]
        boxes.append((left, y - 8, left + long, y + 1))
    for left, top, right, bottom in (*nodes, *boxes):
        assert 0 <= left <= right <= WIDTH
        assert 0 <= top <= bottom <= at.height
    for a, b in (*combinations(boxes, 2), *product(boxes, nodes)):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


def test_a_graph_has_names_where_they_fit_and_else_numbers_which_a_table_explains():
    few, many = sample_status(4, names=["a", "b", "c", "d"]), sample_status(50)
    assert not uses_numbers(few)
    assert ">d</text>" in draw_graph(few).inner
    assert uses_numbers(many)
    assert ">49</text>" in draw_graph(many).inner
    table = nodes_table(many, numbered=True)
    assert [row[:2] for row in table.rows if row[0] == "49"] == [("49", "hospital-49")]


def test_too_many_nodes_are_listed_and_not_drawn():
    status = sample_status(200)
    assert draw_graph(status) is None
    assert "hospital-199" in make_status_page(status)


def test_nodes_of_which_nothing_is_known_are_counted_unless_somebody_waits_for_them():
    status = sample_status(20)
    table = nodes_table(status)
    assert len(table.rows) == 3
    assert table.note.startswith("17 more nodes are not")
    far = NodeStatus(name="hospital-1", state=State.HERE, waits_for=("hospital-9",))
    nodes = (status.nodes[0], far, *status.nodes[2:])
    waited = nodes_table(msgspec.structs.replace(status, nodes=nodes))
    assert "hospital-9" in [row[0] for row in waited.rows]


def test_who_takes_part_is_told_where_that_is_known():
    status = sample_status(3)
    assert "Takes part" not in nodes_table(status).head
    parts = (True, False, None)
    nodes = [
        msgspec.structs.replace(node, takes_part=part)
        for node, part in zip(status.nodes, parts, strict=True)
    ]
    known = nodes_table(msgspec.structs.replace(status, nodes=tuple(nodes)))
    assert known.head[-1] == "Takes part"
    assert [row[-1] for row in known.rows] == ["yes", "no", "–"]  # noqa: RUF001


def test_a_certificate_is_warned_of_in_time():
    status = sample_status()
    for days, words in ((-1, "expired on"), (0, "0 days"), (29, "29 days"), (30, "")):
        told = warning(msgspec.structs.replace(status, certificate_days=days))
        assert words in told
        assert bool(told) == bool(words)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_are_few_and_enclose_a_range(low, span):
    high = low + span
    found = ticks(low, high)
    assert 2 <= len(found) <= 9
    rounding = 1e-6 * max(abs(low), abs(high), 1.0)
    assert found[0] <= low + rounding
    assert found[-1] >= high - rounding
    assert found == sorted(set(found))


@pytest.mark.parametrize("n_layers", [0, 1, 2, 60])
def test_curves_begin_with_the_second_layer(n_layers):
    page = make_status_page(sample_status(n_layers=n_layers))
    assert ("polyline" in page) == (n_layers >= 2)
    assert ("Over the samples of all nodes" in page) == (n_layers >= 2)
