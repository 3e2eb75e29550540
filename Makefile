# Every target sets up what it needs; a second run starts at once.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Test processes side by side. Many tests wait for others, so one more than two cores.
WORKERS ?= 3
PYTEST := pytest -m "not slow and not paper" -n $(WORKERS) --dist loadscope
SPELLED := src docs examples benchmarks scripts $(wildcard *.md)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow coverage check format bench accuracy docs notebooks dist clean

help:          ## show this list
	@echo "Every target first sets up what it needs in .venv; Python 3.11 or newer is enough."
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */make \1\t/' | expand -t 16

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dssfn needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=23.1"
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(READY) ## see it work: ten nodes on a ring learn digits, compared with one machine
	@$(BIN)/dssfn demo

test: $(READY) ## run the tests, about twenty minutes on two cores
	$(BIN)/python -m $(PYTEST) $(MEASURED)

test-slow: $(READY) ## run the long tests: the tables of the paper, all sizes
	$(BIN)/python -m pytest -m "slow or paper"

coverage: $(READY) ## run the tests and report which lines of dssfn they execute
	@$(MAKE) test MEASURED="--cov --cov-report=term:skip-covered"
	@echo "Line coverage of src/dssfn: $$($(BIN)/coverage report --format=total) %"

check: $(READY) ## check format, lint, types, imports, spelling and project files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell $(SPELLED)
	$(BIN)/python -m pytest -q tests/test_community_files.py

format: $(READY) ## format the code and fix what can be fixed automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure speed and memory, and check what the documentation claims; about forty minutes
	$(BIN)/python -m benchmarks.run

accuracy: $(READY) ## compare accuracy with common models on real data; takes hours
	$(BIN)/python -m benchmarks.accuracy --document docs/accuracy.md

docs: $(READY) ## build the documentation site in docs/_build/html, and check its links
	rm -rf docs/_build
	$(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html
	$(BIN)/python scripts/check_site.py docs/_build/html

notebooks: $(READY) ## write the gallery as Jupyter notebooks in examples/notebooks
	mkdir -p examples/notebooks
	$(BIN)/sphinx_gallery_py2jupyter examples/gallery/plot_*.py
	mv examples/gallery/*.ipynb examples/notebooks/

dist: $(READY) ## build the wheel and the source distribution in dist/, and check them
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

clean:         ## remove .venv, dist, the site and all caches
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf examples/notebooks docs/_build docs/gallery docs/project docs/reference/commands docs/reference/dssfn
	rm -f .coverage .coverage.*
