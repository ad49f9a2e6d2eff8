# `make demo` links two real graphs, `make test` checks everything, `make bench` measures. Each sets itself up.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench fuzz format clean

demo: .venv/installed
	$(BIN)/emea demo --out demo-run

test: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

check: test

bench: .venv/installed
	$(BIN)/emea bench --device cpu --out bench.json

fuzz: .venv/installed
	$(BIN)/python scripts/fuzz.py --cases 20000

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "emea needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo-run
