"""Commands of dssfn, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from dssfn.cli.main import app


def dssfn(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def wrong(*args):
    """Run a command that must end with exit code 2 and one line; return the line."""
    result = dssfn(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    return result.stderr
