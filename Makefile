# Every task of the project; `make` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help

help: ## list the tasks
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

demo: $(VENV)/.installed ## set up and run the main job on a built-in sample
	$(BIN)/incrowd demo -o demo-release --force

# Bytecode is kept whatever the environment says: tests start many processes, and each would compile the sources anew.
test: $(VENV)/.installed-test ## set up and run the tests, all but the slow ones
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

slow: $(VENV)/.installed-test ## run the slow tests (crosses, killed processes, real tables)
	PYTHONDONTWRITEBYTECODE= INCROWD_EXAMPLES=1 $(BIN)/python -m pytest -n auto --dist loadfile -m slow

explore: $(VENV)/.installed-test ## try the suite's properties with ten times the examples, drawn anew
	PYTHONDONTWRITEBYTECODE= INCROWD_EXAMPLES=10 $(BIN)/python -m pytest -n auto --dist loadfile -m hypothesis

fuzz: $(VENV)/.installed-test ## try random tables and policies for MINUTES=10, SEED=...; see docs/fuzzing.md
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/.installed-dev ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

bench: $(VENV)/.installed-test ## measure speed; see benchmarks/README.md
	$(BIN)/python benchmarks/overview.py
	$(BIN)/python benchmarks/first_run.py
	$(BIN)/python benchmarks/counting.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/mondrian.py
	$(BIN)/python benchmarks/local.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/lattice.py
	$(BIN)/python benchmarks/searches.py
	$(BIN)/python benchmarks/people.py
	$(BIN)/python benchmarks/treatments.py
	$(BIN)/python benchmarks/interfaces.py
	$(BIN)/python benchmarks/engines.py
	$(BIN)/python benchmarks/databases.py
	$(BIN)/python benchmarks/spark.py

gallery: $(VENV)/.installed-test ## write one of every report and chart into gallery/
	$(BIN)/python examples/gallery.py gallery

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@ $(VENV)/.installed

site: $(VENV)/.installed-docs ## build the documentation as a site that reads offline: site/index.html
	rm -rf site
	$(BIN)/python -m sphinx -q -W --keep-going -E -b html docs site
	@echo "Open site/index.html"

pipelines: | $(BIN)/python ## run the examples for schedulers in Airflow and Dagster themselves
	.ci/pipelines $(BIN)/python

package: $(VENV)/.installed-dev ## build wheel and sdist into dist/, and run the demo from a bare environment
	.ci/package $(BIN)/python

docs: $(VENV)/.installed ## write the pages and the public names that are made from the code
	$(BIN)/python -m incrowd.cli.reference names > .names && mv .names src/incrowd/__init__.pyi
	$(BIN)/python -m incrowd.cli.reference > docs/reference.md
	$(BIN)/python -m incrowd.cli.reference cli > docs/cli.md
	$(BIN)/python -m incrowd.cli.reference policy-schema > docs/policy.schema.json
	$(BIN)/python -m incrowd.cli.reference counted < README.md > .readme && mv .readme README.md

evidence: $(VENV)/.installed-test ## write docs/evidence.md from the tests that hold published figures
	INCROWD_EVIDENCE=1 $(BIN)/python -m pytest tests/test_published.py tests/compat tests/risk/test_risks.py tests/treatments/test_perturbation.py

clean: ## remove what the other tasks made
	rm -rf $(VENV) demo-release gallery site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

pictures: $(VENV)/.installed-test ## take the pictures of the studio anew, in a browser
	INCROWD_WRITE_PICTURES=1 $(BIN)/python -m pytest -q tests/studio/test_studio_for_all.py -k pictures

.PHONY: help demo test slow explore fuzz lint bench gallery site package pipelines docs evidence pictures clean
