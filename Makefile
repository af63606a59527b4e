# Two commands from a bare Python 3.11+: `make demo` and `make test`. Everything they need goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: demo test test-full test-all test-scale test-spark lint wheel bench docs constraints clean

demo: $(VENV)/.core            ## install, then audit VADER with 80 names and the identity terms
	$(BIN)/evenhand demo

test: $(VENV)/.dev             ## install, then lint, type-check and test the built wheel
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not slow and not torch and not scale" -n 2 --doctest-modules --pyargs evenhand tests

test-full: $(VENV)/.dev        ## also the long simulations (an hour or more)
	$(BIN)/python -m pytest -m "not torch and not scale" -n 2 tests

test-all: $(VENV)/.torch       ## also what needs torch and transformers (about 1 GB)
	$(BIN)/python -m pytest -m "torch and not slow" tests

test-scale: $(VENV)-scale/.done     ## also Daft, and Ray on a cluster of two workers on this machine (about 800 MB); at most 15 minutes
	timeout 900 $(VENV)-scale/bin/python -m pytest -m scale tests/scale

test-spark: $(VENV)-spark/.done     ## also frames of Spark's; needs Java 17 or later (about 500 MB)
	timeout 900 $(VENV)-spark/bin/python -m pytest -m scale tests/scale/test_lakes.py

lint: $(VENV)/.dev
	$(BIN)/ruff format src tests benchmarks examples tools
	$(BIN)/ruff check --fix src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev            ## side by side with peers, as ratios in one run; minutes. One alone: python -m benchmarks NAME
	$(BIN)/python -m benchmarks

docs: $(VENV)/.core            ## the documentation's site, into build/site
	$(PIP) install -c constraints.txt ".[docs]"
	$(BIN)/python tools/docs_site.py

constraints:                   ## versions only, no addresses
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra dev --strip-extras --no-annotate --no-header --quiet -o constraints.txt

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --no-compile -c constraints.txt .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt $(shell find src -type f 2>/dev/null)
	$(PIP) install -c constraints.txt ".[dev]"
	$(PIP) install --no-deps --force-reinstall -c constraints.txt .
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	$(PIP) install -c constraints.txt ".[dev,huggingface]"
	@touch $@

$(VENV)-scale/.done: pyproject.toml $(shell find src -type f 2>/dev/null)  ## Daft holds pyarrow and tqdm below our pins: its own environment
	$(PYTHON) -m venv $(VENV)-scale
	$(VENV)-scale/bin/python -m pip --disable-pip-version-check --quiet install ".[frames,scale-ray]" duckdb deltalake "pyiceberg[sql-sqlite]" hypothesis pytest pytest-timeout
	@touch $@

$(VENV)-spark/.done: pyproject.toml $(shell find src -type f 2>/dev/null)
	$(PYTHON) -m venv $(VENV)-spark
	$(VENV)-spark/bin/python -m pip --disable-pip-version-check --quiet install ".[frames]" pyspark hypothesis pytest pytest-timeout
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
