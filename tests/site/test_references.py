"""The reference pages of the site name everything that users may call."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import get_origin

import pytest

import dssfn

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "api.md"
PACKAGES = [
    "dssfn",
    "dssfn.audit",
    "dssfn.consensus",
    "dssfn.datasets",
    "dssfn.errors",
    "dssfn.events",
    "dssfn.plot",
    "dssfn.testing",
]
sys.path.insert(0, str(ROOT / "docs" / "extensions"))


def documented():
    """The objects that the page of the Python reference lists."""
    found = []
    module = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   [\w.]+", line):
            where, _, name = f"{module}.{line.strip()}".rpartition(".")
            found.append(getattr(import_module(where), name))
    return found


def public(package):
    module = import_module(package)
    names = getattr(module, "__all__", None)
    if names is None:  # all that the module itself defines
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == package
        ]
    return {name: getattr(module, name) for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_class_and_function_is_in_the_reference(package):
    listed = {id(one) for one in documented()}
    missing = [
        name
        for name, value in public(package).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and get_origin(value) is None  # a name for a type, such as dict[int, int]
        and id(value) not in listed
    ]
    assert missing == []


def test_every_name_in_the_reference_has_a_docstring():
    assert len(documented()) > 60
    for one in documented():
        text = inspect.getdoc(one)
        assert text, one
        assert re.match(r"[A-Z`\"]", text), (one, text)


@pytest.mark.parametrize("name", sorted(set(dssfn.__all__) - {"__version__"}))
def test_public_methods_have_docstrings(name):
    value = getattr(dssfn, name)
    if inspect.isclass(value):
        for method, function in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{method}"


def test_every_command_has_a_page_with_all_its_options():
    pytest.importorskip("sphinx")
    from command_reference import commands, index, page

    named = list(commands())
    assert len(named) > 20
    for name, command in named:
        assert f"[`{name}`]" in index(named)
        text = page(name, command)
        assert text.startswith(f"# {name}\n")
        for param in command.params:
            assert all(f"`{one}`" in text for one in param.opts if "--" in one)
            assert param.help, (name, param.name)


def test_links_of_the_repository_become_links_of_the_site():
    pytest.importorskip("sphinx")
    from repository_pages import site_text

    text = "[a](../SECURITY.md#x) [b](tables.md) [c](../src/dssfn/ball.py) [d](#e)"
    deploy = ROOT / "docs" / "deploy.md"
    assert site_text(text, source=deploy, page="deploy.md") == (
        "[a](project/security.md#x) [b](tables.md) c (`src/dssfn/ball.py`) [d](#e)"
    )
    code = "`plots[k](model)`\n\n```python\nplots[name](model)\n```\n"
    assert site_text(code, source=deploy, page="deploy.md") == code
    text = "[`a`](../src/dssfn/ball.py), [`b`](tables.md)"
    assert site_text(text, source=deploy, page="deploy.md") == "`a`, [`b`](tables.md)"
    text = "[a](docs/deploy.md#ports) [b](CHANGELOG.md) [c](https://a.example/b.md)"
    security = ROOT / "SECURITY.md"
    assert site_text(text, source=security, page="project/security.md") == (
        "[a](../deploy.md#ports) [b](changelog.md) [c](https://a.example/b.md)"
    )
