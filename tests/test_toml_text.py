"""A file of another kind than the one that is wanted is recognised."""

from __future__ import annotations

import pytest

from dssfn.errors import PlanError
from dssfn.federation import load_federation
from dssfn.node.spec import load_node
from dssfn.schema.text import load_schema
from tests.support.commands import dssfn

FILES = {
    "a federation's plan": 'secure = true\nnodes = []\n[training]\nclasses = ["a"]\n',
    "a schema": '[target]\ncolumn = "y"\n[[columns]]\nname = "x"\nkind = "number"\n',
    "a node's file": 'name = "a"\nplan = "plan.toml"\ndata = "a.csv"\ntarget = "y"\n',
    "an empty file": "# nothing\n",
}
READERS = {
    "a federation's plan": (load_federation, "`dssfn federation init` writes a plan."),
    "a schema": (load_schema, "`dssfn schema FILE` writes a schema."),
    "a node's file": (load_node, "Give a node.toml, which `dssfn federation init` wri"),
}


@pytest.mark.parametrize("wanted", READERS)
@pytest.mark.parametrize("given", FILES)
def test_a_file_of_another_kind_is_called_by_its_kind(tmp_path, wanted, given):
    path = tmp_path / "some.toml"
    path.write_text(FILES[given])
    read, way_out = READERS[wanted]
    if given == wanted:
        return
    with pytest.raises(PlanError) as error:
        read(path)
    expected = f"`{path}` must be {wanted}, got {given}. {way_out}"
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize("wanted", READERS)
def test_a_file_of_no_known_kind_is_told_by_its_first_wrong_setting(tmp_path, wanted):
    path = tmp_path / "pyproject.toml"
    path.write_text("[project]\nversion = 1\n")
    with pytest.raises(PlanError, match="there is no setting `project`"):
        READERS[wanted][0](path)


def test_settings_of_a_file_are_not_called_options(tmp_path):
    schema = tmp_path / "schema.toml"
    column = '[[columns]]\nname = "x"\nkind = "number"\nround_deadline = 3\n'
    schema.write_text(column)
    shown = dssfn(
        "federation", "init", tmp_path / "fed", "--nodes", "a,b,c", "--schema", schema
    )
    assert shown.exit_code == 2
    assert "no setting `round_deadline` of `x` under [[columns]]" in shown.stderr
