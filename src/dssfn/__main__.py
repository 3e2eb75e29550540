"""`python -m dssfn`: the same as the command `dssfn`."""

from dssfn.cli.main import run

run()
