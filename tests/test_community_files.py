"""Files that GitHub, pre-commit and those who cite the software read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dssfn import __version__

yaml = pytest.importorskip("yaml", reason="needs the extra dssfn[dev]")

ROOT = Path(__file__).resolve().parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
# What a form may consist of, and which parts of it a reader fills in.
FIELDS = {"input", "textarea", "dropdown", "checkboxes"}


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_citation_is_complete_and_of_this_version():
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["license"] == "BSD-3-Clause"
    assert str(citation["version"]) == __version__


def test_the_citation_names_the_paper_that_the_readme_names():
    (paper,) = read("CITATION.cff")["references"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert paper["title"] in readme
    assert all(one["family-names"] in readme for one in paper["authors"])
    assert paper["identifiers"][0]["value"].partition(":")[2] in paper["url"]


@pytest.mark.parametrize(
    "path",
    [path for path in FORMS if path.stem != "config"],
    ids=lambda path: path.stem,
)
def test_issue_forms_are_such_that_github_shows_them(path):
    form = read(path)
    assert set(form) == {"name", "description", "title", "labels", "body"}
    fields = [one for one in form["body"] if one["type"] in FIELDS]
    assert all(one["type"] in {*FIELDS, "markdown"} for one in form["body"])
    assert all(one["attributes"]["label"] for one in fields)
    names = [one["id"] for one in fields]
    assert len(set(names)) == len(names)
    assert any(one.get("validations", {}).get("required") for one in fields)


def test_the_workflow_checks_every_python_that_the_package_is_said_to_run_on():
    (job,) = read(".github/workflows/checks.yml")["jobs"].values()
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for version in job["strategy"]["matrix"]["python"]:
        assert f'"Programming Language :: Python :: {version}"' in text
    assert text.count('"Programming Language :: Python :: 3.') == len(
        job["strategy"]["matrix"]["python"]
    )
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]


def test_pre_commit_accepts_its_hooks():
    pytest.importorskip("pre_commit", reason="needs the extra dssfn[dev]")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_hooks_download_nothing():
    hooks = [
        one
        for repo in read(".pre-commit-config.yaml")["repos"]
        for one in repo["hooks"]
    ]
    assert {one["language"] for one in hooks} == {"system"}
    assert all(one["entry"].startswith(".venv/bin/") for one in hooks)
