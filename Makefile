# Everything runs inside .venv, which the first target makes and the others reuse.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint types layers unit clean

demo: .venv/.core
	$(BIN)/realloc demo

test: lint types layers unit

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev
	$(BIN)/basedpyright --warnings

layers: .venv/.dev
	$(BIN)/lint-imports

unit: .venv/.dev
	$(BIN)/pytest

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Expected Python 3.11 or newer, got $$($(PYTHON) --version). Name another with make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ .venv/.core

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
