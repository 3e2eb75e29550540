"""Run the code blocks of a page in order, as somebody does who copies them.

All blocks of a page share one new folder. Its python blocks are typed, as it were, into
one Python and its shell blocks into one bash, so that names, variables and background
processes live on. What a python block prints is its standard output; what a shell block
prints is that of a terminal, standard error included. A command that fails, or a
warning of Python, fails the page.

Ports that the page names (see `page_blocks`) are replaced by free ones when it runs,
and back in what is printed. The path of the folder is printed as `...`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.page_blocks import Step, needs_of, ports_of, steps_of
from scripts.wildcards import ANY, trimmed

PATIENCE = 180.0  # seconds for one block, on a machine that does other things as well

# Both read lines with three paths: the code, where to print, and where to say the end.
PYTHON = """
import os, sys, traceback
lines = os.fdopen(os.dup(0))
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
names = {"__name__": "__main__"}
for line in lines:
    code, out, end = line.split()
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT), 1)
    ended = "0"
    try:
        exec(compile(open(code, encoding="utf-8").read(), code, "exec"), names)
    except BaseException:
        ended = traceback.format_exc()
    sys.stdout.flush()
    with open(end + ".part", "w") as file:
        file.write(ended)
    os.replace(end + ".part", end)
"""
BASH = """
set -o pipefail
exec 9<&0 0</dev/null
while read -r -u 9 __code __out __end; do
  __failed=0
  trap '__failed=$?' ERR
  exec 1>"$__out" 2>&1
  . "$__code"
  trap - ERR
  echo "$__failed" >"$__end.part"
  mv "$__end.part" "$__end"
done
"""


class PageError(Exception):
    """A block of a page failed."""


def missing(text: str) -> list[str]:
    """Return what a session needs and this machine has not."""
    folder = Path(os.environ.get("DSSFN_DATA_DIR", os.devnull))
    return [
        need
        for need in needs_of(text)
        if not (
            (folder / need.removeprefix("data/")).exists()
            if need.startswith("data/")
            else importlib.util.find_spec(need)
        )
    ]


def outputs(name: str, text: str) -> Iterator[tuple[Step, str]]:
    """Run the blocks of a page; yield each with what it printed.

    Parameters
    ----------
    name : str
        The page, for messages.
    text : str
        Its text.

    Raises
    ------
    PageError
        If a block fails or takes longer than `PATIENCE`.
    """
    ports = _free_ports(ports_of(text))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        places = {where: Path(made).resolve() / where for where in ("work", "notes")}
        for place in places.values():
            place.mkdir()
        shells: dict[str, _Shell] = {}
        try:
            for step in steps_of(text):
                language = step.run.language
                if language not in shells:
                    shells[language] = _Shell(language, **places)
                code = _exchanged(step.run.code, ports)
                try:
                    printed = shells[language].run(code, step.run.first)
                except PageError as exc:
                    raise PageError(f"{name}, line {step.run.first}: {exc}") from None
                back = {free: port for port, free in ports.items()}
                printed = _exchanged(printed.replace(str(places["work"]), ANY), back)
                yield step, trimmed(printed)
        finally:
            for shell in shells.values():
                shell.end()


class _Shell:
    """A Python or a bash that runs one block after the other in a folder."""

    def __init__(self, language: str, work: Path, notes: Path) -> None:
        self.notes, self.language = notes, language
        command = [sys.executable, "-W", "error", "-c", PYTHON]
        if language == "shell":
            command = ["bash", "-c", BASH]
        self.process = subprocess.Popen(
            command,
            cwd=work,
            env=_environment(notes),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # so that all it starts can be ended
        )

    def run(self, code: str, number: int) -> str:
        paths = [self.notes / f"{number}.{kind}" for kind in ("code", "out", "end")]
        source, out, end = paths
        source.write_text(code + "\n", encoding="utf-8")
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, paths)) + "\n")
        self.process.stdin.flush()
        late = time.monotonic() + PATIENCE
        while not end.exists():
            if self.process.poll() is not None:
                raise PageError(f"the block ended its {self.language}.{_printed(out)}")
            if time.monotonic() > late:
                raise PageError(f"no end within {PATIENCE:g} s.{_printed(out)}")
            time.sleep(0.02)
        ended = end.read_text().strip()
        if ended != "0":
            raise PageError(f"the block failed: {ended}{_printed(out)}")
        return out.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        """End the process, and all that it has started and left behind."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def _printed(out: Path) -> str:
    if not out.exists():
        return ""
    return f"\nIt printed:\n{out.read_text(errors='replace')}"


def _environment(notes: Path) -> dict[str, str]:
    """Return an environment in which everybody's terminal prints the same."""
    commands = notes / "bin"
    commands.mkdir(exist_ok=True)
    for name, call in (("dssfn", "-m dssfn "), ("python", "")):
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n')
        command.chmod(0o755)
    plain = {"COLUMNS": "88", "TERM": "dumb", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    plain |= {"PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg"}
    kept = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return {**kept, **plain, "PATH": f"{commands}:{os.environ['PATH']}"}


def _free_ports(ports: list[int]) -> dict[int, int]:
    """Return a free port for each; those that follow each other still do."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            shift = probe.getsockname()[1] - min(ports, default=0)
        if all(port + shift < 2**16 and _is_free(port + shift) for port in ports):
            return {port: port + shift for port in ports}
    raise PageError(f"no free ports for {ports}.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _exchanged(text: str, ports: dict[int, int]) -> str:
    """Return a text with other ports."""
    if not ports:
        return text
    numbers = re.compile(rf"\b({'|'.join(map(str, ports))})\b")
    return numbers.sub(lambda found: str(ports[int(found[0])]), text)
