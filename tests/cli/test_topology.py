"""`dssfn topology`: what is refused before a graph is built."""

from __future__ import annotations

import pytest

from tests.support.commands import wrong


def test_a_graph_that_would_take_minutes_is_refused_at_once(monkeypatch):
    def built(*args):
        pytest.fail("it was built")

    monkeypatch.setattr("dssfn.cli.topology.read_topology", built)
    said = wrong("topology", "--nodes", 100_000)
    assert "`--nodes` must be at most 10,000, got 100,000" in said


def test_a_large_graph_in_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dssfn.cli.topology.MOST_NODES", 3)
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n1 2\n2 3\n")
    assert "must be at most 3, got 4" in wrong("topology", "--topology", path)
