"""`dssfn node status`, and what it says if there is nothing to show."""

from __future__ import annotations

import io
import json
import socket
import threading
from contextlib import contextmanager

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from dssfn.cli.main import app
from dssfn.cli.node_status import shown as for_terminal
from dssfn.node.page import StatusPages
from dssfn.node.page_server import open_port, serve_page
from dssfn.status import LogLine, Status
from tests.support.lab import free_port
from tests.support.status_sample import sample_status

PLAN = """
[graph]
kind = "circular"
[training]
classes = ["yes", "no"]
feature_names = ["age", "bmi"]
"""


@pytest.fixture
def node_file(tmp_path):
    def write(page=None):
        nodes = [f'[[nodes]]\nname = "hospital-{k}"\n' for k in range(5)]
        (tmp_path / "plan.toml").write_text(PLAN + "".join(nodes))
        lines = ['name = "hospital-0"', 'plan = "plan.toml"', 'data = "data.csv"']
        lines += ['certificate = "a"', 'key = "b"', 'authorities = "c"']
        lines += [f'page = "{page}"'] if page else []
        (tmp_path / "node.toml").write_text("\n".join(lines))
        return str(tmp_path / "node.toml")

    return write


def run(*arguments):
    return CliRunner().invoke(app, ["node", "status", *arguments])


@contextmanager
def shown(status, host="127.0.0.1"):
    address = f"{host}:{free_port()}"
    with serve_page(open_port(address), StatusPages(lambda: status, host)):
        yield address


def test_headings_and_cells_stay_whole_in_a_terminal_of_80_columns():
    printed = io.StringIO()
    Console(file=printed, width=80).print(for_terminal(sample_status()))
    heading, rule, *rows = printed.getvalue().split("Traffic")[1].splitlines()[2:6]
    names = ["Neighbour", "Connected", "Sent", "Received", "Waited", "Opened"]
    assert heading.split() == names
    assert set(rule.split()) == {"─" * len(rule.strip())}
    assert [row.split()[0] for row in rows] == ["hospital-1", "hospital-4"]


def test_a_terminal_shows_nodes_traffic_layers_and_the_log(node_file):
    with shown(sample_status()) as address:
        told = run(node_file(address))
    assert told.exit_code == 0, told.output
    assert "hospital-0 trains layer 9; waiting for hospital-4" in told.stdout
    for words in ("Nodes", "Traffic", "Layers", "newest first", "late"):
        assert words in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 80
    assert "…" not in told.stdout


def test_a_page_that_is_open_to_all_is_asked_here(node_file):
    with shown(sample_status(), "0.0.0.0") as address:
        assert run(node_file(address)).exit_code == 0


def test_json_is_all_that_is_printed(node_file):
    status = sample_status()
    with shown(status) as address:
        told = run(node_file(address), "--json")
    assert told.exit_code == 0
    assert msgspec.convert(json.loads(told.stdout), Status) == status


def test_no_words_of_others_steer_a_terminal(node_file):
    status = msgspec.structs.replace(
        sample_status(),
        doing="\x1b[31mred",
        log=(LogLine("2026-03-04T10:20:30", "INFO", "a\x1b[2Jb\x07[bold]c"),),
    )
    with shown(status) as address:
        told = run(node_file(address))
    assert "\x1b" not in told.stdout
    assert "\x07" not in told.stdout
    assert "[bold]c" in told.stdout


def test_a_node_without_a_page_is_told_how_to_get_one(node_file):
    told = run(node_file())
    assert told.exit_code == 1
    assert 'Put `page = "127.0.0.1:9401"` into its file' in told.stderr


def test_a_node_that_does_not_run_is_told_so(node_file):
    told = run(node_file(f"127.0.0.1:{free_port()}"))
    assert told.exit_code == 1
    assert "Start it with `dssfn node run`" in told.stderr
    assert told.stdout == ""


def test_another_node_on_the_port_is_named(node_file):
    other = msgspec.structs.replace(sample_status(), node="hospital-3")
    with shown(other) as address:
        told = run(node_file(address))
    assert told.exit_code == 1
    assert "the node hospital-3 answers" in told.stderr


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\xff\xfe\x00\x01\x02",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ],
)
def test_another_program_on_the_port_is_no_node(node_file, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            client, _ = server.accept()
            with client:
                client.recv(1000)
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        told = run(node_file(f"127.0.0.1:{server.getsockname()[1]}"))
        thread.join()
    assert told.exit_code == 1
    assert told.stderr.startswith("Error: ")
    assert told.stderr.count("\n") == 1


def test_watching_goes_on_until_the_node_ends(node_file, monkeypatch):
    status, looks = sample_status(), []
    monkeypatch.setattr("dssfn.cli.node_status.PAUSE", 0.05)
    with shown(status) as address:
        path = node_file(address)

        def ask(spec):
            looks.append(spec.name)
            if len(looks) == 3:
                raise KeyboardInterrupt
            return status

        monkeypatch.setattr("dssfn.node.page_client.ask_status", ask)
        told = run(path, "--watch")
    assert told.exit_code == 130
    assert len(looks) == 3


def test_watching_and_json_do_not_go_together(node_file):
    told = run(node_file("127.0.0.1:9401"), "--watch", "--json")
    assert told.exit_code == 2
    assert "--watch" in told.stderr
