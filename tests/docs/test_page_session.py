"""Blocks of a page run in one folder, one Python and one bash, and never hang."""

from __future__ import annotations

import os
import time

import pytest
from scripts import page_session
from scripts.page_session import PageError, missing, outputs
from scripts.refresh_outputs import refresh


def page(*blocks):
    return "\n".join(f"```{kind}\n{code}\n```\n" for kind, code in blocks)


def printed(*blocks):
    return [output for _, output in outputs("page.md", page(*blocks))]


def test_names_variables_and_files_live_on():
    assert printed(
        ("python", "a = 1\nopen('kept', 'w').write('here')"),
        ("shell", "b=2; cat kept"),
        ("toml", "c = 3"),
        ("shell not-run", "exit 1"),
        ("python", "print(a)"),
        ("shell", "echo $b; cd /"),
        ("shell", "pwd"),
    ) == ["", "here", "1", "2", "/"]


def test_a_shell_block_prints_errors_too_and_in_order():
    code = "import sys; print(1); print(2, file=sys.stderr); print(3)"
    assert printed(("shell", f'python -c "{code}"')) == ["1\n2\n3"]


def test_what_a_process_of_a_python_block_prints_is_shown():
    assert printed(("python", "import os; x = os.system('echo hello')")) == ["hello"]


@pytest.mark.parametrize(
    "blocks",
    [
        [("python", "1 / 0")],
        [("python", "import warnings; warnings.warn('old')")],
        [("python", "raise SystemExit")],
        [("shell", "false; true")],
        [("shell", "false | true")],
        [("shell", "exit 0")],
        [("shell", "dssfn no-such-command")],
    ],
)
def test_a_block_that_fails_fails_the_page(blocks):
    with pytest.raises(PageError, match=r"page\.md, line 1: the block"):
        printed(*blocks)


def test_a_block_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(page_session, "PATIENCE", 0.5)
    with pytest.raises(PageError, match="no end within"):
        printed(("shell", "sleep 600"))


def test_nothing_that_a_page_has_started_stays():
    (number,) = printed(("shell", "sleep 600 & echo $!"))
    for _ in range(100):
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process is still there")


def test_a_page_gets_free_ports_and_shows_its_own():
    text = "<!-- session: ports 7400-7401 -->\n" + page(
        ("shell", "echo listen on 7400, 7401, not 74001 > said; cat said"),
        ("python", "print('7400' in open('said').read().split())"),
    )
    said, same = (output for _, output in outputs("page.md", text))
    assert (said, same) == ("listen on 7400, 7401, not 74001", "False")


def test_what_a_page_needs_is_looked_for(monkeypatch, tmp_path):
    text = "<!-- session: needs json, no_such_module, data/heart -->"
    monkeypatch.setenv("DSSFN_DATA_DIR", str(tmp_path))
    assert missing(text) == ["no_such_module", "data/heart"]
    (tmp_path / "heart").mkdir()
    assert missing(text) == ["no_such_module"]


def test_refreshing_writes_what_is_printed_and_keeps_the_rest(tmp_path):
    file = tmp_path / "page.md"
    file.write_text(
        "# Page\n\n```python\nprint('a 1'); print('b')\n```\n\n```text\na ...\nc\n```\n"
        "\nWords.\n\n```python\nprint('new')\n```\n\nMore.\n\n"
        "```python\nx = 1\n```\n\n```text\nold\n```\nEnd.\n"
    )
    assert refresh(file)
    assert file.read_text() == (
        "# Page\n\n```python\nprint('a 1'); print('b')\n```\n\n```text\na ...\nb\n```\n"
        "\nWords.\n\n```python\nprint('new')\n```\n\n```text\nnew\n```\n\nMore.\n\n"
        "```python\nx = 1\n```\nEnd.\n"
    )
    assert not refresh(file)
