"""The status page of real nodes while they train, and what must not be on it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import msgspec
import pytest

from dssfn.node.checkpoint import CHECKPOINT_FILE
from dssfn.node.log_tail import NOT_SHOWN
from dssfn.report.status.page import POLICY, make_status_page
from dssfn.status import State, Status
from tests.support.browser import DESK, PHONE, check_fit, in_browser, show
from tests.support.lab import free_port
from tests.support.status_sample import sample_status

pytestmark = pytest.mark.grpc

LAYERS = 120  # so many that a training can be stopped in their midst
MARKER = "planted0815"
NUMBER = "7351.0625"  # in a cell


def with_page(lab, name="n0"):
    port = free_port()
    lab.add_setting(name, f'page = "127.0.0.1:{port}"')
    return f"http://127.0.0.1:{port}/"


def fetched(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def until(lab, url, found, seconds=60):
    """The status once a condition holds; a node's page is there soon."""
    end, status = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            status = msgspec.json.decode(fetched(f"{url}status.json"), type=Status)
        except (urllib.error.URLError, ConnectionError):
            assert lab.is_running("n0"), lab.printed("n0")
            time.sleep(0.05)
            continue
        if found(status):
            return status
        time.sleep(0.05)
    raise AssertionError(f"{status}\n{lab.printed('n0')}")


def state_of(status, name):
    return next(node.state for node in status.nodes if node.name == name)


def asked(lab, *options):
    return subprocess.run(
        [sys.executable, "-m", "dssfn", "node", "status", str(lab.node_file("n0")),
         *options],
        capture_output=True,
        text=True,
    )  # fmt: skip


def hold(lab, url):
    """Stop a training that has many layers in its midst."""
    until(lab, url, lambda one: len(one.layers) >= 2)
    lab.send("n2", signal.SIGSTOP)


def test_a_page_follows_a_training_and_a_terminal_shows_the_same(make_lab):
    lab = make_lab(3, deadline=6.0, n_layers=LAYERS)
    url = with_page(lab)
    lab.start("n0", "n1")
    status = until(lab, url, lambda one: state_of(one, "n1") is State.HERE)
    assert state_of(status, "n0") is State.THIS
    assert state_of(status, "n2") is State.UNSEEN
    assert status.layer is None
    assert "waiting for" in until(lab, url, lambda one: "n2" in one.waits_for).doing
    lab.start("n2")
    hold(lab, url)
    # This node waits for n2 itself, or for n1, which does: that depends on the tree.
    waiting = until(lab, url, lambda one: any("n2" in k.waits_for for k in one.nodes))
    assert state_of(waiting, "n1") is not State.GONE
    until(lab, url, lambda one: state_of(one, "n2") in (State.SLOW, State.GONE))
    gone = until(lab, url, lambda one: state_of(one, "n2") is State.GONE)
    assert gone.layers[0].relative_cost == 1.0
    assert [one.layer for one in gone.layers] == list(range(len(gone.layers)))
    printed = json.loads(asked(lab, "--json").stdout)
    assert printed["node"] == "n0"
    assert printed.keys() == msgspec.to_builtins(gone).keys()
    table = asked(lab)
    assert table.returncode == 0, table.stderr
    assert "n2" in table.stdout
    lab.send("n2", signal.SIGCONT)
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1
    ended = asked(lab)
    assert ended.returncode == 1
    assert "n0 does not answer" in ended.stderr


def test_nobody_who_only_connects_keeps_a_node_from_its_end(make_lab):
    lab = make_lab(3, n_layers=2)
    url = with_page(lab)
    lab.start("n0")
    until(lab, url, lambda one: True)
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    clients = [socket.create_connection((host, int(port))) for _ in range(40)]
    clients[0].sendall(b"GET / HTTP/1.1\r\n")
    lab.start("n1", "n2")
    assert set(lab.wait().values()) == {0}
    for client in clients:
        client.close()


def test_a_port_that_is_taken_stops_a_node_before_it_meets_others(make_lab):
    lab = make_lab(3)
    lab.add_setting("n0", f'page = "127.0.0.1:{lab.ports["n1"]}"')
    lab.start("n1")
    lab.wait_for("n1", "waiting for")
    lab.start("n0")
    assert lab.processes["n0"].wait(60) == 1
    assert "`page`: 127.0.0.1" in lab.printed("n0")
    assert "n0 is connected" not in lab.printed("n1")


def planted(lab):
    """Put markers into cells, labels, names of columns, files and folders of n0."""
    plan = lab.root / "plan.toml"
    text = plan.read_text().replace('"p0"', f'"{MARKER}-column"')
    classes = ", ".join(f'"{MARKER}-label-{k}"' for k in range(10))
    text = text.replace(f"classes = {list(range(10))}", f"classes = [{classes}]")
    plan.write_text(text)
    for name in lab.names:
        path = lab.folder(name) / "data.csv"
        head, *rows = path.read_text().splitlines()
        rows = [
            f"{row.rpartition(',')[0]},{MARKER}-label-{row.rpartition(',')[2]}"
            for row in rows
        ]
        if name == "n0":
            rows[0] = rows[0].replace(rows[0].split(",")[2], NUMBER, 1)
        path.write_text("\n".join([head.replace("p0,", f"{MARKER}-column,"), *rows]))
    folder = lab.folder("n0") / f"{MARKER}-folder"
    folder.mkdir()
    (lab.folder("n0") / "data.csv").rename(folder / f"{MARKER}-file.csv")
    file = lab.node_file("n0")
    moved = f'data = "{MARKER}-folder/{MARKER}-file.csv"\nout = "{MARKER}-out"'
    file.write_text(file.read_text().replace('data = "data.csv"', moved))
    out = lab.folder("n0") / f"{MARKER}-out"
    out.mkdir()
    (out / CHECKPOINT_FILE).write_bytes(b"damaged")
    return out


def has_marker(text):
    return any(one in text for one in (MARKER, NUMBER, NUMBER.rstrip("0")))


def test_nothing_of_a_nodes_data_files_or_folders_is_on_its_page(make_lab):
    lab = make_lab(3, n_layers=LAYERS)
    out, url = planted(lab), with_page(lab)
    lab.start()
    hold(lab, url)
    page, text = fetched(url), fetched(f"{url}status.json")
    lab.send("n2", signal.SIGCONT)
    n_rows = len(next(out.parent.glob(f"{MARKER}-folder/*")).read_text().splitlines())
    assert set(lab.wait().values()) == {0}
    # What was planted is there to be found: the search finds it in the node's own log,
    # in its files, and in a page that is wrong.
    log = (out / "node.log").read_text()
    assert has_marker(log), log
    assert has_marker((lab.root / "plan.toml").read_text())
    wrong = msgspec.structs.replace(sample_status(), doing=f"reads {MARKER}-file.csv")
    assert has_marker(make_status_page(wrong))
    assert NUMBER in next(out.parent.glob(f"{MARKER}-folder/*")).read_text()
    # And not on the page, which says that a line is not shown.
    assert not has_marker(page)
    assert not has_marker(text)
    status = msgspec.json.decode(text, type=Status)
    assert NOT_SHOWN in [line.text for line in status.log]
    assert str(lab.root) not in page + text
    beside = msgspec.structs.replace(status, links=(), log=())
    numbers = re.findall(r"[\d.]+", msgspec.json.encode(beside).decode())
    assert str(n_rows - 1) not in numbers


@in_browser
def test_the_page_renews_itself_in_a_browser_and_says_when_the_node_is_gone(
    browser, make_lab
):
    lab = make_lab(3, n_layers=4)
    url = with_page(lab)
    lab.start("n0", "n1")
    until(lab, url, lambda one: state_of(one, "n1") is State.HERE)
    show(browser, url, DESK, "light")
    assert browser.get_log("browser") == []
    shown = "return document.querySelector('.headlines').innerText"
    assert "1 of 2" in browser.execute_script(shown)
    browser.execute_script("window.isTheSamePage = true")
    lab.start("n2")
    lab.wait_for("n0", "n2 is connected")
    assert set(lab.wait().values()) == {0}
    end = time.monotonic() + 30
    while not browser.execute_script(
        "return document.body.classList.contains('stale')"
    ):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert browser.execute_script("return window.isTheSamePage")
    banner = "return getComputedStyle(document.body, '::before').display"
    assert browser.execute_script(banner) == "block"


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("n_nodes", [3, 9, 50])
def test_the_page_is_whole_and_fits(browser, tmp_path, n_nodes, width, theme):
    names = ["x" * 200, *(f"node-{k}" for k in range(1, n_nodes))]
    pages = {
        "usual": sample_status(n_nodes),
        "wordy": sample_status(3, names=names[:3]),
    }
    for name, status in pages.items():
        page = tmp_path / f"{name}.html"
        page.write_text(make_status_page(status), encoding="utf-8")
        show(browser, page, width, theme)
        assert browser.get_log("browser") == []
        check_fit(browser, width)
        heights = browser.execute_script(
            "return [...document.querySelectorAll('figure svg text')].map(text =>"
            "  parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
        )
        assert min(heights) >= 8  # pixels


@in_browser
def test_a_browser_obeys_the_policy_of_the_page(browser, make_lab):
    lab = make_lab(3)
    url = with_page(lab)
    lab.start("n0")
    until(lab, url, lambda one: True)
    with urllib.request.urlopen(url) as answer:
        assert answer.headers["Content-Security-Policy"] == POLICY
    # A name of somebody else that was made to point here is not answered.
    rebound = urllib.request.Request(url, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="421"):
        urllib.request.urlopen(rebound)
    show(browser, url, DESK, "light")
    browser.execute_script(
        "const script = document.createElement('script');"
        "script.textContent = 'window.hasRun = true';"
        "document.body.append(script)"
    )
    assert browser.execute_script("return window.hasRun") is None
    # A page from elsewhere, here a file, gets no answer to read.
    other = lab.root / "other.html"
    other.write_text("<p>somebody else's page</p>")
    show(browser, other, DESK, "light")
    outcome = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        f"fetch('{url}status.json').then(() => done('read'), () => done('refused'))"
    )
    assert outcome == "refused"
