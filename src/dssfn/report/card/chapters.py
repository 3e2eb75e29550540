"""The chapters of a model card, after Mitchell et al. (2019).

Everything here is known to all nodes, or may be: no row, no figure of one node that the
plan does not publish, and no name of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dssfn.config import AUTO, Plan
from dssfn.report.card.chapter import Chapter
from dssfn.report.card.data import data_chapter
from dssfn.report.card.evaluation import evaluation_chapter
from dssfn.report.card.privacy import privacy_chapter
from dssfn.report.numbers import clean, count, plural, setting, size, small
from dssfn.report.table import Table
from dssfn.report.training import found
from dssfn.report.training.tables import equivalence_table, found_table
from dssfn.results import Result

MOST_NAMES = 100
OF_A_MACHINE = "machine"  # what `made_by` has of no interest here


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model file tells, without its numbers.

    Parameters
    ----------
    plan : Plan
        What the nodes agreed on.
    size : str
        The size of the network in words.
    learned : int
        How many numbers were learned.
    n_bytes, sha256 : int and str
        The length of the file, and its digest.
    written : datetime
        When the result, or else the model, was written, as its file says.
    """

    plan: Plan
    size: str
    learned: int
    n_bytes: int
    sha256: str
    written: datetime


def lead(facts: ModelFacts, result: Result | None) -> str:
    """Return the model in one sentence."""
    plan = facts.plan
    what = f"A classifier of {plural(len(plan.classes), 'class', 'classes')}"
    if plan.is_regression:
        what = f"A regression of {plural(len(plan.targets), 'number')}"
    nodes = "nodes"
    if result is not None:
        nodes = plural(result.settings.n_nodes, "node")
    return f"{what}, trained by {nodes} with dssfn, without pooling their data."


def chapters_of(facts: ModelFacts, result: Result | None) -> list[Chapter]:
    """Return all chapters; what is not known is said in the last one."""
    chapters = [
        _details(facts, result),
        Chapter("Intended use", question="Who should use the model, and for what?"),
        Chapter(
            "Not intended for",
            question="Which uses are out of scope, even if they seem close?",
        ),
        data_chapter(facts.plan, result),
        _procedure(facts, result),
        evaluation_chapter(result),
        privacy_chapter(facts.plan, secure=bool(result and result.secure)),
        Chapter(
            "Ethical considerations",
            question="Whom do predictions affect, and who may be harmed by wrong ones? "
            "Which groups are rare in the data?",
        ),
        _caveats(facts.plan, result),
        _start(facts.plan),
        Chapter("Contact", question="Who answers questions about the model?"),
    ]
    missing = _missing(facts, result)
    return [*chapters, missing] if missing.words else chapters


def _details(facts: ModelFacts, result: Result | None) -> Chapter:
    whose = "model" if result is None else "result"
    day = facts.written.strftime("%Y-%m-%d")
    rows = [
        ("developed by", _developers(result)),
        ("date", f"{day} (UTC), when the {whose} file was written"),
        ("kind", "regression" if facts.plan.is_regression else "classification"),
        ("network", facts.size),
        ("learned parameters", count(facts.learned)),
        ("model file", size(facts.n_bytes)),
        ("sha256 of the model file", facts.sha256),
        ("licence", "to be filled in"),
    ]
    tables = [Table("The model", ("what", "value"), rows)]
    if result is not None:
        versions = [
            (clean(name), clean(value))
            for name, value in result.made_by.items()
            if name != OF_A_MACHINE
        ]
        tables.append(Table("Software", ("part", "version"), versions))
    return Chapter("Model details", (), tables)


def _developers(result: Result | None) -> str:
    if result is None:
        return "not known"
    names = result.graph.names if result.graph else ()
    nodes = plural(result.settings.n_nodes, "node")
    if not names:
        return f"{nodes}, not named"
    shown = ", ".join(clean(name) for name in names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{nodes}: {shown}" + (f" and {more} more" if more > 0 else "")


def _procedure(facts: ModelFacts, result: Result | None) -> Chapter:
    words = [
        "Layers are learned one after the other. Each is a convex problem that all "
        "nodes solve together; there is no back-propagation."
    ]
    tables = [_settings(facts, result)]
    equal = None
    if result is not None:
        tables = [one for one in (found_table(result),) if one is not None] + tables
        equal = equivalence_table(result)
        words.append(_compared(result))
    if facts.plan.is_exact:
        words.append(
            "All sums are exact integers. The model is therefore the same, to the last "
            "bit, however the samples are divided among the nodes."
        )
    if equal is not None:
        caption = "Difference from one machine that holds all the data"
        tables.append(replace(equal, caption=caption))
    return Chapter("Training procedure", words, tables)


def _compared(result: Result) -> str:
    equal = result.equivalence
    if equal is None or not equal.is_checked:
        return "The training was not compared with one machine that holds all the data."
    return (
        "The model was compared with the one that a single machine holding all the "
        "data finds with the same settings."
    )


def _settings(facts: ModelFacts, result: Result | None) -> Table:
    plan = facts.plan
    rows = [
        ("hidden layers", setting(plan.n_layers)),
        *(_of_members(plan, result) if plan.finds_size else []),
        ("scale of the inputs", found.scale_in_words(plan)),
        ("class weights", setting(plan.class_weight)),
        ("arithmetic", "exact integers" if plan.is_exact else "floating point"),
        ("layers solved by", plan.solver),
        ("averages found by", plan.consensus),
        ("random seed", str(plan.seed)),
    ]
    return Table("Training settings", ("setting", "value"), rows)


def _of_members(plan: Plan, result: Result | None) -> list[tuple[str, str]]:
    ridge = "found by validation" if plan.ridge == AUTO else setting(plan.ridge)
    kept = None if result is None else result.kept
    if kept is not None and kept.ridge is not None:
        ridge += f": {small(kept.ridge)} in the last layer"
    return [
        ("networks in the ensemble", setting(plan.members)),
        ("what each network leaves out", plan.folds),
        ("ridge, regularisation strength", ridge),
    ]


def _caveats(plan: Plan, result: Result | None) -> Chapter:
    words = [
        "The model is meant for rows like those of the nodes: columns measured in the "
        "same way, on similar people or things. An organisation that did not take part "
        "should evaluate the model on its own rows before using it."
    ]
    if not plan.is_regression:
        words.append(
            "Probabilities reflect the samples of all nodes together. They may be off "
            "where classes are rarer or more frequent."
        )
    warning = "" if result is None else found.warning(result)
    if warning:
        words.append(warning)
    return Chapter("Caveats and recommendations", words)


def _start(plan: Plan) -> Chapter:
    target = " --target COLUMN" * (plan.schema is None and not plan.is_regression)
    labelled = f"labelled.csv{target}"
    rows = [
        ("predict", "dssfn predict model.safetensors new.csv"),
        ("evaluate on labelled rows", f"dssfn evaluate model.safetensors {labelled}"),
        (
            "see which columns matter",
            f"dssfn predict model.safetensors {labelled} --explain",
        ),
        ("run it without dssfn", "dssfn export model.safetensors model.onnx"),
    ]
    return Chapter(
        "How to get started", (), [Table("Commands", ("to", "command"), rows)]
    )


def _missing(facts: ModelFacts, result: Result | None) -> Chapter:
    """Return what this card cannot say, and why."""
    title = "What this card does not know"
    if result is None:
        return Chapter(
            title,
            [
                "The result of the training was not given (`--result result.json`), so "
                "this card cannot say who took part, with how many rows, which "
                "software and what outcome, or whether the model was compared with one "
                "machine."
            ],
        )
    gaps: Sequence[tuple[bool, str]] = (
        (result.n_train is None, "How many rows the nodes have in all."),
        (not result.graph or not result.graph.names, "The names of the nodes."),
        (facts.plan.schema is None, "What the columns mean: the plan has no schema."),
        (result.scores is None, "How good the model is on validation samples."),
        (
            result.equivalence is None or not result.equivalence.is_checked,
            "Whether one machine with all the data finds the same model.",
        ),
    )
    return Chapter(title, [said for is_gap, said in gaps if is_gap])
