"""The command `dssfn`, which is also `python -m dssfn`."""

from __future__ import annotations

import sys

from dssfn.exit_codes import WRONG_INPUT


def main() -> None:
    """Run the command, or name the extra that it needs."""
    try:
        from dssfn.cli.main import run
    except ModuleNotFoundError as exc:
        if exc.name != "typer":
            raise
        print(
            "The command line needs the extra `cli`: pip install 'dssfn[cli]'.",
            file=sys.stderr,
        )
        sys.exit(WRONG_INPUT)
    run()


if __name__ == "__main__":
    main()
