# `make demo` links two real graphs, `make test` checks, `make bench` measures. Each installs what it needs into .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
CPU_BUILDS := https://download.pytorch.org/whl/cpu

.PHONY: demo test types quick-tests test-slow test-all check bench docs release lock locked licences results fuzz campaign format
.PHONY: clean

demo: .venv/installed
	$(BIN)/emea demo --out demo-run

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory --jobs 2 types quick-tests

types:
	$(BIN)/mypy

quick-tests:
	$(BIN)/python -m pytest -m "not slow"

# Kills, memory, clusters, stores, pages in a browser, whole runs, large fuzzing, the site, quality on the benchmarks.
test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -m slow --dist loadgroup --durations=15 tests

test-all: test test-slow

check: test

bench: .venv/installed
	$(BIN)/emea bench --device cpu --out bench.json

# The site, in site/: nothing in it is loaded from elsewhere, and every link is checked.
docs: .venv/installed-dev
	$(BIN)/python scripts/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The wheel and the sdist, checked, in dist/; uploading is left to a person.
release: .venv/installed-dev
	$(INSTALL) twine
	$(BIN)/python scripts/release.py

# The hashes of all files that the workflow installs; after each change of pyproject.toml or constraints.txt.
lock: .venv/installed-dev
	$(INSTALL) uv
	$(BIN)/python scripts/lock.py

# What the workflow installs before anything else: files with those hashes, and torch for CPUs, which is not on PyPI.
locked:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .github/requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --index-url $(CPU_BUILDS) --constraint constraints.txt torch

licences: .venv/installed-dev
	@$(BIN)/python scripts/licences.py

# The runs on benchmarks behind the tables and figures of README and docs: an hour of a GPU, or several pieces; then the
# pages. What takes no GPU: scripts/benchmark.py and scripts/no_seeds.py, each ten to twenty minutes on quiet cores.
results: .venv/installed-dev
	cd scripts && ../$(BIN)/python results.py && ../$(BIN)/python leak_audit.py
	cd scripts && ../$(BIN)/python results.py --page && ../$(BIN)/python leak_audit.py --page

# Faults of all kinds, and docs/campaign.md: hours; AMOUNT="--minutes 10" takes a sample of each. Goes on where it was left.
campaign: .venv/installed-dev
	$(INSTALL) pytest-cov
	$(BIN)/python scripts/campaign.py $(AMOUNT)

fuzz: .venv/installed-dev
	$(BIN)/python scripts/fuzz.py --cases 20000

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "emea needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(INSTALL) hatchling editables
	$(INSTALL) --no-build-isolation --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(INSTALL) --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis demo-run
