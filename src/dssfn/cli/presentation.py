"""The output of a training: progress, then tables or JSON, files and a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dssfn.cli.console import notes
from dssfn.cli.display import (
    layer_progress,
    print_result,
    show_layers,
    show_summary,
)
from dssfn.cli.outcome import show_lines
from dssfn.cli.outfolder import held_model, out_folder, write_outcome
from dssfn.cli.report import try_to_report
from dssfn.config import Plan
from dssfn.results import MODEL_FILE
from dssfn.runs import OnLayer, Outcome


@dataclass(frozen=True, slots=True)
class Presentation:
    """The options `--out`, `--json` and `--quiet` of a command that trains.

    Parameters
    ----------
    out : Path, optional
        Folder for the model, the metrics and the report.
    as_json : bool
        Print the metrics as JSON and nothing else.
    quiet : bool
        Show no progress.
    """

    out: Path | None
    as_json: bool = False
    quiet: bool = False

    @contextmanager
    def folder(self) -> Iterator[None]:
        """Make sure of the folder; leave no empty one if what follows fails."""
        with out_folder(self.out):
            yield

    @contextmanager
    def progress(self, plan: Plan) -> Iterator[OnLayer | None]:
        """Provide a callback that shows each finished layer, unless it is unwanted."""
        with layer_progress(plan, quiet=self.quiet) as on_layer:
            yield on_layer

    def write(self, outcome: Outcome) -> None:
        """Write the model and the metrics, if there is a folder for them.

        Another model that was there is replaced, and standard error says so.
        """
        if self.out is None:
            return
        before = held_model(self.out)
        write_outcome(outcome, self.out)
        if before is not None and before != held_model(self.out):
            notes.print(
                f"{self.out} held a model trained on {before[1]}; it was replaced.",
                soft_wrap=True,
            )

    def show(self, outcome: Outcome, *, beside_model: str = "") -> None:
        """Print all metrics, then write the report; `beside_model` ends a line."""
        if self.as_json:
            print_result(outcome.result)
        else:
            show_layers(outcome.result)
            show_summary(outcome.result)
        if self.out is None:
            return
        if not self.as_json:
            show_lines(f"\nThe model is in {self.out / MODEL_FILE}{beside_model}")
        try_to_report(outcome.result, self.out, quiet=self.as_json)
