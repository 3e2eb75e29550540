"""What a fit shows of itself while it runs, on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.hosting import Traffic
from dssfn.records import LayerRecord
from dssfn.runs import OnLayer

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 1.0  # seconds that a fit may take before a bar is drawn
BAR, LINES = 1, 2


@contextmanager
def layer_reports(verbose: Any, plan: Plan) -> Iterator[OnLayer | None]:
    """Provide a callback that shows each finished layer, as far as is asked for.

    Parameters
    ----------
    verbose : int
        0 for nothing, 1 for a bar where one can be drawn, 2 for a line per layer.
    plan : Plan
        The settings of the training.
    """
    if not isinstance(verbose, int) or verbose < 0:
        raise PlanError(f"`verbose` must be 0, 1 or 2, got {verbose!r}.")
    if verbose == 0:
        yield None
        return
    console = _console() if verbose < LINES else None
    if console is None:
        yield lambda record, _: print(_line(record, plan), file=sys.stderr, flush=True)
        return
    with _bar(console, plan) as show:
        yield show


def _console() -> Console | None:
    """Return where a bar can be drawn, if rich is installed and it can be."""
    try:  # Rich takes a while to import: only those who want a bar wait for it.
        from rich.console import Console
    except ImportError:  # it comes with the extra `cli`; lines say the same
        return None
    console = Console(stderr=True)
    if console.is_jupyter:  # a bar takes another package there
        return console if find_spec("ipywidgets") is not None else None
    return console if console.is_terminal else None


@contextmanager
def _bar(console: Console, plan: Plan) -> Iterator[OnLayer]:
    """Provide a callback for a bar, which is drawn once the fit takes its time."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True)
    # How many layers there will be is not known if they are to be found.
    task = bar.add_task("layer 0", total=None if plan.finds_size else plan.depth + 1)

    def show(record: LayerRecord, _: Traffic) -> None:
        bar.update(task, completed=record.layer + 1, description=_line(record, plan))

    later = threading.Timer(PATIENCE, bar.start)
    later.daemon = True
    later.start()
    try:
        yield show
    finally:
        later.cancel()
        later.join()
        bar.stop()


def _line(record: LayerRecord, plan: Plan) -> str:
    of = "" if plan.finds_size else f"/{plan.depth}"
    units = f"{record.width} units  " if record.width else ""
    line = f"layer {record.layer}{of}  {units}train {record.train_error_db:.2f} dB"
    if record.validation_error_db is None:
        return line
    return f"{line}  validation {record.validation_error_db:.2f} dB"
