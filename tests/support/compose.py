"""The services of a compose file as processes of this machine, without containers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PATIENCE = 300  # seconds


class Services:
    """Starts services with the arguments, environment and folders of a compose file.

    What a container would add is left out: the network, the user and the limits.
    Volumes are folders in `root`, and bind mounts are what they mount.
    """

    def __init__(self, compose: dict, root: Path, **environment: str) -> None:
        self.services = compose["services"]
        self.root = root
        self.environment = {
            "PATH": f"{self._commands()}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "HOME": str(root),
            **environment,
        }
        for name in compose["volumes"]:
            (root / name).mkdir()

    def _commands(self) -> Path:
        """The commands of the image that are not part of every system."""
        folder = self.root / "bin"
        folder.mkdir()
        for name in ("dssfn", "python"):
            module = "-m dssfn " if name == "dssfn" else ""
            text = f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n'
            (folder / name).write_text(text)
        shutil.copy(DEPLOY / "restart-on-failure.sh", folder / "restart-on-failure")
        for path in folder.iterdir():
            path.chmod(0o755)
        return folder

    def folder(self, name: str, target: str = "/node") -> Path:
        """The folder of this machine that a service sees as `target`."""
        for one in self.services[name]["volumes"]:
            if one["target"] == target:
                if one["type"] == "bind":
                    return DEPLOY / one["source"]
                return (
                    self.root / one["source"] / one.get("volume", {}).get("subpath", "")
                )
        raise KeyError(target)

    def start(self, name: str, command: list[str] | None = None) -> subprocess.Popen:
        """Start a service, or another command in its place."""
        service = self.services[name]
        words = command or [*service["entrypoint"], *service["command"]]
        given = service.get("environment", {})
        return subprocess.Popen(
            [self._here(name, word) for word in words],
            cwd=self.folder(name),
            env=self.environment | {k: self._here(name, v) for k, v in given.items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, name: str, command: list[str] | None = None) -> tuple[int, str, str]:
        """Run a service to its end: its exit code, and what it prints."""
        process = self.start(name, command)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def _here(self, name: str, word: str) -> str:
        for one in self.services[name]["volumes"]:
            if one["type"] == "bind" and word.startswith(one["target"]):
                place = self.folder(name, one["target"]).resolve()
                return f"{place}{word.removeprefix(one['target'])}"
        return word
