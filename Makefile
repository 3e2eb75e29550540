# Every target sets up what it needs; a second run starts at once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Test processes side by side. Many tests wait for others, so one more than two cores.
WORKERS ?= 3

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow check format bench accuracy docs clean

help:          ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */make \1\t/' | expand -t 16

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dssfn needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23.1"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(READY) ## train digits on ten nodes on a ring and compare with one machine
	@$(BIN)/dssfn demo

test: $(READY) ## every test that this machine can run in a few minutes
	$(BIN)/python -m pytest -m "not slow and not paper" -n $(WORKERS) --dist loadscope

test-slow: $(READY) ## the long tests: the paper's rows, all sizes
	$(BIN)/python -m pytest -m "slow or paper"

check: $(READY) ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## every claim measured; ratios to dense products in the same run
	$(BIN)/python -m benchmarks.run

accuracy: $(READY) ## the defaults beside the usual models, on real data: hours
	$(BIN)/python -m benchmarks.accuracy --document docs/accuracy.md

docs: $(READY) ## build the documentation site and check its links: docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html
	$(BIN)/python scripts/check_site.py docs/_build/html

clean:         ## remove everything that was made here
	rm -rf docs/_build docs/gallery docs/project docs/reference/commands docs/reference/dssfn
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
