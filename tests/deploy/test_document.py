"""docs/containers.md says what the files in deploy/ and the program really have."""

from __future__ import annotations

import re

import pytest

from dssfn.node.log_file import BACKUPS, MAX_BYTES
from dssfn.node.log_format import FIELDS
from tests.support.commands import dssfn
from tests.support.compose import DEPLOY, ROOT

PAGE = (ROOT / "docs/containers.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"\bdssfn (node [a-z]+)", PAGE)))


def section(title):
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.M)
    return text


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command):
    assert dssfn(*command.split(), "--help").exit_code == 0


def test_the_option_for_the_format_of_the_log_exists():
    assert "--log-format json" in section("Logs")
    assert "--log-format" in dssfn("node", "run", "--help").stdout


def test_files_that_commands_name_are_there():
    named = set(re.findall(r"(?<!tests/)\bdeploy/[\w./@-]+\w", PAGE))
    made = {name for name in named if name.startswith("deploy/kubernetes/north")}
    assert made
    for name in named - made:
        assert (ROOT / name).exists(), name


def test_fields_and_defaults_of_the_log_are_those_of_the_program():
    text = section("Logs")
    assert all(f"`{name}`" in text for name in FIELDS)
    assert f"`log_max_bytes` ({MAX_BYTES:,} by" in text
    assert f"`log_backups` ({BACKUPS})" in text


def test_every_alert_is_explained():
    rules = (DEPLOY / "prometheus/rules.yml").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `(Dssfn\w+)`", PAGE, re.MULTILINE)
    assert explained == re.findall(r"alert: (\w+)", rules)


def test_claims_and_services_have_the_names_of_the_manifests():
    job = (DEPLOY / "kubernetes/base/job.yaml").read_text(encoding="utf-8")
    for name in ("dssfn-data", "dssfn-node"):
        assert name in section("Kubernetes")
        assert name in job
    services = re.findall(
        r"yaml (?:stop|start|exec) (\w+)", section(r"Four hospitals[^\n]*")
    )
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert services
    assert all(f"\n  {name}:\n" in compose for name in services)
