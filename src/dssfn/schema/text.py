"""A schema as a TOML file, which people read, change and send to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType

import msgspec

from dssfn._plain_text import printable
from dssfn.schema.columns import Column, Schema, Target
from dssfn.toml_text import LINE, SCHEMA, convert_toml, read_toml, setting

HEAD = """\
# What the columns of the tables mean, the same for all nodes. A column's kind is
# number, category (with its levels), boolean, or ignore. `missing = true` allows
# missing values, `other = true` accepts values that are not a level, and
# `same = { "M" = "male" }` gives another spelling of a level. `low` and `high` are the
# range of a number, known beforehand, for differential privacy. `unit` and `note` are
# for people.
"""
STRUCTS = (Schema, Column, Target)


def schema_text(
    schema: Schema, remarks: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> str:
    """Return a schema file that `load_schema` reads back as it was.

    Parameters
    ----------
    schema : Schema
        The columns and the target.
    remarks : mapping
        What is said of some columns, as comments.
    """
    return "\n".join([HEAD, *schema_blocks(schema, "", remarks)])


def schema_blocks(
    schema: Schema,
    prefix: str,
    remarks: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """Return the tables of a schema; in another file they have a prefix."""
    blocks = []
    if schema.target is not None:
        said = remarks.get(schema.target.column, ())
        blocks.append(_block(f"[{prefix}target]", schema.target, said))
    for column in schema.columns:
        said = remarks.get(column.name, ())
        blocks.append(_block(f"[[{prefix}columns]]", column, said))
    return blocks


def _block(head: str, struct: Column | Target, remarks: Sequence[str]) -> str:
    """Return a table with all that is not as by default."""
    lines = [head]
    for remark in remarks:
        said = printable(remark)
        lines += wrap(said, LINE, initial_indent="# ", subsequent_indent="#   ")
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        is_empty = value in ("", (), {})  # as it is by default
        if not is_empty and value != field.default:
            lines.append(setting(field.name, value))
    return "\n".join(lines) + "\n"


def load_schema(path: str | Path) -> Schema:
    """Read a schema file."""
    content = read_toml(path, SCHEMA)
    schema: Schema = convert_toml(content, Schema, path, STRUCTS)
    return schema
