"""`dssfn card`: a model card, from a model file and the result of its training."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dssfn._atomic import check_place, write_atomically
from dssfn._version import __version__
from dssfn.cli.console import notes, screen
from dssfn.cli.info import n_learned, size_in_words
from dssfn.cli.model import ModelArgument, is_same_file
from dssfn.config import Plan
from dssfn.errors import DataError, InputError
from dssfn.modelfile import load_network
from dssfn.report.card.chapter import to_html, to_markdown
from dssfn.report.card.chapters import ModelFacts, chapters_of, lead
from dssfn.results import RESULT_FILE, Result, read_result_file

SUFFIXES = (".md", ".html")


def card(
    model: ModelArgument,
    result: Annotated[
        Path | None,
        typer.Option(
            help="The metrics of the training; by default result.json in the model's "
            "folder, if it is there."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file: .md for Markdown, .html for a web page."
        ),
    ] = None,
) -> None:
    """Write a model card: who trained the model, on what data, and how well it does.

    It has the chapters that model cards usually have. What only people know, such as
    the intended use, is left for you to fill in. It reveals nothing about single rows,
    no metrics of a single node unless the plan publishes them, and no file names. Its
    date is that of the result file, or else of the model file; copying a file may have
    changed it.
    """
    _check_out(out, model, result)
    network = load_network(model)
    content = model.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    source = result or model.with_name(RESULT_FILE)
    known = _result_of(source, network.plan, digest, is_asked=result is not None)
    facts = ModelFacts(
        plan=network.plan,
        size=size_in_words(network),
        learned=n_learned(network),
        n_bytes=len(content),
        sha256=digest,
        written=_written(model if known is None else source),
    )
    chapters = chapters_of(facts, known)
    if out is not None and out.suffix.lower() == ".html":
        text = to_html(lead(facts, known), chapters, __version__)
    else:
        text = to_markdown(lead(facts, known), chapters)
    if out is None:
        print(text, end="")
        return
    write_atomically(out, text.encode())
    n_open = sum(bool(chapter.question) for chapter in chapters)
    screen.print(
        f"The card is in {out}; {n_open} chapters are left for you to fill in.",
        soft_wrap=True,
    )


def _check_out(out: Path | None, model: Path, result: Path | None) -> None:
    if out is None:
        return
    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"`--out` must end in .md or .html, got `{out}`.")
    check_place(out, "--out")
    if any(one is not None and is_same_file(out, one) for one in (model, result)):
        raise InputError(
            f"`--out` must not overwrite the model or its result, got `{out}`. Choose "
            "another file."
        )


def _result_of(path: Path, plan: Plan, digest: str, *, is_asked: bool) -> Result | None:
    """Return the result of this very model's training.

    One that was asked for must be; another beside the model is left out, and said so.
    """
    if not is_asked and not path.is_file():
        return None
    try:
        result = read_result_file(path)
        if other := _difference(result, plan, digest):
            raise DataError(
                f"`{path}` must be the result of this model's training, but {other}. "
                "Give the right one with `--result`."
            )
    except DataError as exc:
        if is_asked:
            raise
        notes.print(f"The card has no metrics of the training: {exc}", soft_wrap=True)
        return None
    return result


def _difference(result: Result, plan: Plan, digest: str) -> str:
    """Return by what a result is that of another model; nothing if it is not."""
    if result.sha256 is not None:
        return "" if result.sha256 == digest else "its sha256 differs from the model's"
    for name in Plan.__struct_fields__:
        if getattr(result.settings, name) != getattr(plan, name):
            return f"its `{name}` differs from the model's"
    return ""


def _written(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
