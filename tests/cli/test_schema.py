"""`dssfn schema`, and what follows from it: a plan, four nodes, predictions."""

from __future__ import annotations

import json
import tomllib

import pytest

from dssfn.federation import load_federation
from dssfn.modelfile import load_network
from dssfn.node.spec import load_node
from dssfn.schema.text import load_schema
from tests.support.commands import dssfn, wrong
from tests.support.federations import change_node, init

ROWS = 40


@pytest.fixture
def table(tmp_path):
    """A table with an id, a date, gaps, a category, a rare level and a class."""
    lines = ["id,seen,age,kind,flag,outcome"]
    for k in range(ROWS):
        kind = "Secretive" if k == 7 else "abc"[k % 3]
        age = "" if k % 9 == 0 else 20 + k
        lines.append(f"p{k},2024-03-{k % 28 + 1:02d},{age},{kind},{k % 2},{k % 4}")
    path = tmp_path / "north.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_schema_is_proposed_and_says_why(table):
    result = dssfn("schema", table, "--target", "outcome")
    assert result.exit_code == 0
    made = tomllib.loads(result.stdout)
    assert made["target"] == {"column": "outcome", "classes": [0, 1, 2, 3]}
    kinds = {one["name"]: one["kind"] for one in made["columns"]}
    assert kinds == {
        "id": "ignore", "seen": "ignore", "age": "number", "kind": "category",
        "flag": "boolean",
    }  # fmt: skip
    assert "# 12 % are missing" in result.stdout
    assert "different in every row" in result.stdout
    # Nothing of single rows: no id, no date, no rare level.
    for marker in ("p17", "2024", "Secretive"):
        assert marker not in result.stdout


def test_tables_are_numbered_in_what_is_said_of_them(table, tmp_path):
    other = tmp_path / "secret-ward.csv"
    other.write_bytes(table.read_bytes())
    shown = dssfn("schema", table, other, "--target", "outcome").stdout
    for k in (1, 2):
        assert f"# table {k}: 12 % are missing" in shown
    assert "secret-ward" not in shown
    assert "north.csv" not in shown


def test_classes_that_few_rows_have_are_named_before_anybody_sends_them(tmp_path):
    path = tmp_path / "t.csv"
    rows = [*("1.5,well\n2.5,ill\n" * 6).splitlines(), "3.5,odd", "1.25,strange"]
    path.write_text("\n".join(["x,outcome", *rows]) + "\n")
    shown = dssfn("schema", path, "--target", "outcome").stdout
    assert "# 2 classes are in fewer than 5 rows: if nobody else may know" in shown
    path.write_text("\n".join(["x,outcome", *rows[:-1]]) + "\n")
    assert "# 1 class is in" in dssfn("schema", path, "--target", "outcome").stdout
    path.write_text("\n".join(["x,outcome", *rows[:-2]]) + "\n")
    assert "fewer" not in dssfn("schema", path, "--target", "outcome").stdout


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([f"{k}.25" for k in range(30)], "numbers with fractions"),
        ([2.5, 3.5] * 15, "numbers with fractions"),
        (range(30), "a different value in every row"),
        ([k % 500 for k in range(1000)], "too many values"),
        ([f"patient {k}" for k in range(30)], "a different value in every row"),
    ],
)
def test_values_of_single_rows_are_no_classes(tmp_path, values, why):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{k % 7},{y}\n" for k, y in enumerate(values)))
    said = wrong("schema", path, "--target", "y")
    assert f"the target `y` must hold classes, but has {why}. Give --number" in said


def test_classes_may_be_groups_of_values(table, tmp_path):
    out = tmp_path / "schema.toml"
    groups = ("--group", "well=0", "--group", "ill=1,2,3")
    result = dssfn("schema", table, "--target", "outcome", *groups, "--out", out)
    assert result.exit_code == 0
    assert load_schema(out).target.groups == {"well": (0,), "ill": (1, 2, 3)}
    shown = dssfn("schema", out, "--json")
    assert json.loads(shown.stdout)["target"]["classes"] == ["well", "ill"]


def test_schemas_are_united_and_conflicts_named(table, tmp_path):
    for name, level in (("a", "male"), ("b", "M")):
        text = f'[[columns]]\nname = "sex"\nkind = "category"\nlevels = ["{level}"]\n'
        (tmp_path / f"{name}.toml").write_text(text)
    said = wrong("schema", "merge", tmp_path / "a.toml", tmp_path / "b.toml")
    assert "are `male` (a.toml) and `M` (b.toml) the same?" in said
    (tmp_path / "b.toml").write_text(text.replace('["M"]', '["female"]'))
    result = dssfn("schema", "merge", tmp_path / "a.toml", tmp_path / "b.toml")
    (column,) = tomllib.loads(result.stdout)["columns"]
    assert column["levels"] == ["female", "male"]


def test_a_way_out_of_several_contradictions_is_told_once(tmp_path):
    column = '[[columns]]\nname = "{}"\nkind = "number"\n'
    (tmp_path / "a.toml").write_text("".join(map(column.format, "uvw")))
    (tmp_path / "b.toml").write_text(column.format("w"))
    said = wrong("schema", "merge", tmp_path / "a.toml", tmp_path / "b.toml")
    assert (
        "contradict each other: (1) Column `u` is missing in b.toml. (2) Column `v` is "
        "missing in b.toml. Ignore it in the others"
    ) in said
    assert said.count("Ignore it in the others") == 1


def test_merging_needs_schemas():
    said = wrong("schema", "merge")
    assert "Give the schemas to merge: dssfn schema merge a.toml b.toml" in said


def test_mistakes_are_explained(table, tmp_path):
    assert "Did you mean `outcome`" in wrong("schema", table, "--target", "outcom")
    assert "must be a class and its values" in wrong(
        "schema", table, "--target", "outcome", "--group", "well"
    )
    assert "`--target` must name" in wrong("schema", table, "--number")
    assert "end in .toml" in wrong("schema", table, "--out", tmp_path / "s.txt")
    said = wrong("schema", table, "--out", tmp_path / "none" / "s.toml")
    assert "`--out` must be a file in an existing folder, got `" in said
    many = wrong("schema", big(tmp_path), "--target", "a")
    assert "must hold classes, but has a different value in every row" in many
    said = wrong("schema", big(tmp_path), "--target", "b")
    assert (
        "at least two classes, but here it has `1`. List all classes with --group"
        in (said)
    )


def test_what_is_said_of_a_target_needs_a_table_and_must_fit_it(table, tmp_path):
    written = tmp_path / "s.toml"
    assert (
        dssfn("schema", table, "--target", "outcome", "--out", written).exit_code == 0
    )
    said = wrong("schema", written, "--target", "nosuch")
    assert "`--target` must come with a table to look at." in said
    said = wrong("schema", table, "--target", "kind", "--number")
    assert (
        "`north.csv`, line 2, column `kind`: --number wants numbers, got 'a'. Correct "
        "the value, or leave out --number if it is a class."
    ) in said
    said = wrong("schema", table, "--target", "outcome", "--number", "--group", "a=1,2")
    assert "`--group` must be left out with `--number`" in said
    for name in ("age", "flag"):  # with gaps; 0 and 1
        made = dssfn("schema", table, "--target", name, "--number")
        target = tomllib.loads(made.stdout)["target"]
        assert target == {"column": name, "kind": "number"}


def big(folder):
    path = folder / "big.csv"
    path.write_text("a,b\n" + "".join(f"{k},1\n" for k in range(300)))
    return path


def test_a_federation_takes_a_schema(table, tmp_path):
    out, fed = tmp_path / "schema.toml", tmp_path / "fed"
    dssfn("schema", table, "--target", "outcome", "--out", out)
    names = ("--nodes", "north,south,east")
    result = dssfn("federation", "init", fed, *names, "--schema", out)
    assert result.exit_code == 0, result.output
    plan = load_federation(fed / "plan.toml").training
    assert plan.schema == load_schema(out)
    assert plan.feature_names[:2] == ("age", "age missing")
    assert 'target = "outcome"' in (fed / "north" / "node.toml").read_text()
    again = dssfn(
        "federation", "init", tmp_path / "two", *names, "--target", "outcome",
        "--like", table, "--like", table,
    )  # fmt: skip
    assert again.exit_code == 0, again.output
    assert load_federation(tmp_path / "two" / "plan.toml").training == plan


def test_a_node_names_the_target_of_the_schema_or_none(table, tmp_path):
    out, fed = tmp_path / "schema.toml", tmp_path / "fed"
    dssfn("schema", table, "--target", "outcome", "--out", out)
    init(fed, "--schema", out)
    assert load_node(fed / "a")[0].target == "outcome"
    change_node(fed / "a", 'target = "outcome"', "# target")
    assert load_node(fed / "a")[0].target is None
    change_node(fed / "a", "# target", 'target = "outcom"')
    error = wrong("node", "check", fed / "a")
    assert (
        "`target` must be the schema's target, `outcome`, or left out; got `outcom`."
    ) in error


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--classes", "a,b"), "`--classes` must be left out"),
        (("--features", "age"), "`--features` must be left out"),
        (("--target", "kind"), "must be the schema's target, 'outcome'"),
        (("--like", "TABLE"), "`--like` must be left out with `--schema`"),
    ],
)
def test_a_schema_says_it_all(table, tmp_path, more, message):
    out = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", out)
    more = [table if one == "TABLE" else one for one in more]
    fed = tmp_path / "fed"
    command = ("federation", "init", fed, "--nodes", "a,b,c", "--schema", out)
    assert message in wrong(*command, *more)
    assert not fed.exists()


def test_a_schema_without_a_target_makes_no_federation(table, tmp_path):
    out = tmp_path / "schema.toml"
    dssfn("schema", table, "--out", out)
    said = wrong(
        "federation", "init", tmp_path / "f", "--nodes", "a,b,c", "--schema", out
    )
    assert "must have a table [target]" in said


def divided(table, folder, owner):
    """The table as a file for each node; `owner` gives the node of a row."""
    head, *rows = table.read_text().splitlines()
    files = {}
    for k, row in enumerate(rows):
        files.setdefault(owner(k), [head]).append(row)
    paths = []
    for node, lines in sorted(files.items()):
        paths.append(folder / f"node{node}.csv")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


def test_tables_give_one_model_however_they_are_divided(table, tmp_path):
    schema = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", schema)
    models = set()
    for number, owner in enumerate((lambda k: 0, lambda k: k % 2, lambda k: k > 25)):
        folder = tmp_path / f"part{number}"
        folder.mkdir()
        shards = [
            one for path in divided(table, folder, owner) for one in ("--shard", path)
        ]
        size = ("--members", 2, "--layers", 1, "--width", 9)
        out = ("--out", folder / "out", "--quiet", "--topology", "path")
        result = dssfn("simulate", "--schema", schema, *shards, *size, *out)
        assert result.exit_code == 0, result.output
        models.add((folder / "out" / "model.safetensors").read_bytes())
    assert len(models) == 1
    model = folder / "out" / "model.safetensors"
    shown = dssfn("predict", model, table, "--id", "id", "--json")
    assert json.loads(shown.stdout)["id"][7] == "p7"
    assert "columns" in dssfn("info", model).stdout
    assert dssfn("evaluate", model, table).exit_code == 0
    said = wrong("evaluate", model, table, "--target", "age")
    assert "`--target` must not be one of the model's features" in said
    said = wrong("evaluate", model, table, "--target", "seen")  # ignored until now
    assert "column `seen`: '2024-03-01' does not belong to a class" in said


def test_one_table_is_divided_over_nodes_as_its_schema_says(table, tmp_path):
    schema = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", schema)
    models = set()
    for given in (
        ("--shard", table),
        ("--data", table, "--nodes", 3, "--test", table),
        ("--data", table, "--nodes", 4, "--test", table, "--partition", "by-class"),
    ):
        size = ("--members", 2, "--layers", 1, "--width", 9)
        out = ("--out", tmp_path / "out", "--quiet", "--topology", "complete")
        result = dssfn("simulate", "--schema", schema, *given, *size, *out)
        assert result.exit_code == 0, result.output
        models.add((tmp_path / "out" / "model.safetensors").read_bytes())
    assert len(models) == 1
    plan = load_network(tmp_path / "out" / "model.safetensors").plan
    assert plan.schema == load_schema(schema)


def test_a_share_of_one_table_is_tested_on_and_a_class_may_be_lacking(table, tmp_path):
    schema = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", schema)
    schema.write_text(schema.read_text().replace("[0, 1, 2, 3]", "[0, 1, 2, 3, 4]"))
    options = ("--nodes", 2, "--members", 2, "--layers", 1, "--width", 9, "--quiet")
    shown = dssfn("simulate", "--data", table, "--schema", schema, "--json", *options)
    result = json.loads(shown.stdout)
    assert (result["n_train"], result["n_test"]) == (30, 10)


def test_what_a_schema_does_not_go_with_is_refused(table, tmp_path):
    schema = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", schema)
    for source in ("--shard", "--data"):
        said = wrong("simulate", source, table, "--schema", schema, "--drop", "age")
        assert "the schema says which columns are features" in said
    said = wrong("simulate", "--data", "iris", "--schema", schema)
    assert "`--schema` must be left out: `iris` is a named set" in said


def test_a_table_is_looked_at_as_the_options_say(tmp_path):
    table = tmp_path / "t.csv"
    rows = "".join(f"{k:03};x{k};1,{k:03};{'ab'[k % 2]}\n" for k in range(100, 140))
    table.write_text("patient;note;size;kind\n" + rows)
    said = wrong("schema", table, "--target", "kind")
    assert "--decimal ," in said
    read = ("--decimal", ",", "--id", "patient", "--drop", "note")
    shown = dssfn("schema", table, "--target", "kind", "--json", *read)
    made = json.loads(shown.stdout)
    assert [(one["name"], one["kind"]) for one in made["columns"]] == [
        ("size", "number")
    ]
    chosen = ("--decimal", ",", "--columns", "size")
    again = dssfn("schema", table, "--target", "kind", "--json", *chosen)
    assert json.loads(again.stdout) == made
    for options, words in (
        (["--drop", "kind"], "`--drop` must not name the target `kind`"),
        (["--drop", "notes"], "no column `notes`, which `--drop` names, only"),
    ):
        assert words in wrong(
            "schema", table, "--target", "kind", "--decimal", ",", *options
        )


def test_it_is_said_how_a_table_was_read_and_that_targets_are_missing(tmp_path):
    table = tmp_path / "t.csv"
    rows = "".join(f"{k},5;{'ab'[k % 2]}\n" for k in range(20))
    table.write_text(f"size;kind\n{rows}7,5;\n")
    result = dssfn("schema", table, "--target", "kind")
    assert result.stderr == "t.csv: semicolons, decimal commas, UTF-8.\n"
    assert "[target]\n# 5 % are missing\n# fill in the missing targets" in result.stdout
    assert tomllib.loads(result.stdout)["target"]["classes"] == ["a", "b"]


def test_options_about_files_need_a_file_of_their_format(table, tmp_path):
    schema = tmp_path / "schema.toml"
    dssfn("schema", table, "--target", "outcome", "--out", schema)
    said = wrong("schema", schema, "--sep", ";")
    assert "`--sep` must come with a table to look at" in said
    for command in (
        ("schema", table),
        ("simulate", "--schema", schema, "--data", table),
        ("predict", "m.safetensors", table),
        ("evaluate", "m.safetensors", table),
    ):
        said = wrong(*command, "--sheet", "2024")
        assert "`--sheet` must be left out: it is for .xlsx, got `north.csv`" in said
    fed = ("federation", "init", tmp_path / "fed", "--nodes", "a,b,c")
    for more in ((), ("--schema", schema)):
        assert "`--id` must come with `--like`" in wrong(*fed, *more, "--id", "id")


def test_a_federation_is_like_a_file_that_is_read_as_the_options_say(tmp_path):
    sample = tmp_path / "t.csv"
    sample.write_text("patient;day;size;kind\n1;2024-01-31;1,234;é\n2;2024;2,5;b\n",
                      encoding="latin-1")  # fmt: skip
    read = ("--id", "patient", "--drop", "day", "--encoding", "latin-1")
    common = ("--nodes", "a,b,c", "--target", "kind", *read)
    assert dssfn("federation", "init", tmp_path / "one", "--like", sample,
                 *common).exit_code == 0  # fmt: skip
    training = load_federation(tmp_path / "one" / "plan.toml").training
    assert (training.classes, training.feature_names) == (("b", "é"), ("size",))
    other = tmp_path / "u.csv"
    other.write_bytes(sample.read_bytes())
    assert dssfn("federation", "init", tmp_path / "two", "--like", sample,
                 "--like", other, *common).exit_code == 0  # fmt: skip
    training = load_federation(tmp_path / "two" / "plan.toml").training
    assert [one.name for one in training.schema.columns] == ["size"]
