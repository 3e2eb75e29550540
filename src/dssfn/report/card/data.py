"""The training data in a model card: what columns mean, never what a row holds."""

from __future__ import annotations

from dssfn.config import Plan
from dssfn.report.card.chapter import Chapter
from dssfn.report.numbers import NONE, clean, count, plural, setting
from dssfn.report.table import Table
from dssfn.results import Result
from dssfn.schema import Column, Schema, Target

MOST_COLUMNS = 200  # rows of a table


def data_chapter(plan: Plan, result: Result | None) -> Chapter:
    """Return what the model was trained on."""
    tables = [_target_table(plan)]
    if plan.schema is not None:
        tables.append(_columns_table(plan.schema))
    else:
        tables.append(_features_table(plan))
    if result is not None and result.stints:
        tables.append(_attendance_table(result))
    return Chapter("Training data", _words(result), tables)


def _words(result: Result | None) -> list[str]:
    if result is None:
        return []
    if result.n_train is not None:
        return [f"The nodes trained on {plural(result.n_train, 'row')} in all."]
    said = "The total number of rows is not recorded in the result."
    if result.scores is not None:
        rows = plural(round(result.scores.total.n), "row")
        said += f" The model was validated on {rows} of the nodes."
    return [said]


def _attendance_table(result: Result) -> Table:
    """Return whose rows every layer was learned from."""
    rows = [
        (str(row.layer), clean(", ".join(row.took_part), 400)) for row in result.layers
    ]
    return Table("Who took part in which layer", ("layer", "nodes"), rows)


def _target_table(plan: Plan) -> Table:
    target = None if plan.schema is None else plan.schema.target
    rows = []
    if target is not None:
        rows.append(("column", clean(target.column)))
    if plan.is_regression:
        rows.append(("predicted numbers", setting(plan.targets)))
    else:
        rows.append(("classes", setting(plan.classes)))
    if target is not None:
        rows += _about_target(target)
    return Table("What is predicted", ("what", "value"), rows)


def _about_target(target: Target) -> list[tuple[str, str]]:
    groups = [
        (f"values of {clean(name, 28)}", setting(values))
        for name, values in target.groups.items()
    ]
    told = (("unit", target.unit), ("note", target.note))
    return [*groups, *((name, clean(value, 200)) for name, value in told if value)]


def _columns_table(schema: Schema) -> Table:
    rows = [_column_cells(column) for column in schema.used[:MOST_COLUMNS]]
    left = len(schema.used) - len(rows)
    ignored = [column.name for column in schema.columns if not column.is_feature]
    notes = []
    if left:
        notes.append(f"{plural(left, 'more column')}: `dssfn info` names them.")
    if ignored:
        notes.append(f"Not used: {setting(ignored)}.")
    head = ("column", "kind", "levels or unit", "may be missing", "note")
    caption = f"{plural(len(schema.used), 'column')} used as features"
    return Table(caption, head, rows, numeric_from=len(head), note=" ".join(notes))


def _column_cells(column: Column) -> list[str]:
    says = clean(column.unit) or NONE
    if column.kind == "category":
        says = setting(column.levels) + ", others" * column.other
    note = clean(column.note, 200) or NONE
    return [clean(column.name), column.kind, says, setting(column.missing), note]


def _features_table(plan: Plan) -> Table:
    names = plan.feature_names
    rows = [("features", count(plan.n_features))]
    if names is not None:
        rows.append(("feature names", setting(names)))
    if plan.image_shape is not None:
        rows.append(("images of", " × ".join(map(str, plan.image_shape))))
    note = "The model has no schema, so the kinds and units of columns are not known."
    return Table("Inputs", ("what", "value"), rows, note=note)
