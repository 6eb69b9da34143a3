# Everything here sets itself up: needs Python (3.10 or newer) and a JDK (17).
#
#   make demo               run the example through a real spark-submit, serve its lineage
#   make demo ONCE=1        the same, then end
#   make test               lint, types and all tests, on the newest Spark
#   make test-spark SPARK=3.5.9     the tests that need Spark, on another version
#   make smoke SPARK=3.4.4          the small set of them
#   make places             the tests that start clusters, shells and servers of Spark;
#                           on another version with SPARK=3.5.9
#   make faults             a real job for each fault; prints what became of it
#   make bench              the benchmarks

SHELL := /bin/bash
SPARK_DEFAULT ?= 4.*
usable = $(shell for p in $(1); do \
	"$$p" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 \
	&& { echo "$$p"; break; }; done)
PYTHON ?= $(call usable,python3 python3.11 python3.12 python3.13 python3.10)
# Spark before 4.0 runs on Python up to 3.11.
PYTHON_OLD ?= $(call usable,python3.11 python3.10 python3)
BIN := .venv/bin
# Tests of one group run in one process (see tests/conftest.py), groups side by side.
WORKERS ?= 2
PYTEST := -m pytest -n $(WORKERS) --dist loadgroup
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint types test-spark smoke places faults bench wheel clean
.DELETE_ON_ERROR:

.venv/.ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python of 3.10 or newer with venv was found; name one: make PYTHON=/path/to/python3"; exit 2; }
	@command -v javac >/dev/null || { echo "make: no javac on PATH; install a JDK (17)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) --upgrade pip
	$(BIN)/python $(PIP_INSTALL) 'pyspark==$(SPARK_DEFAULT)'
	$(BIN)/python jvm_bridge/build.py
	$(BIN)/python $(PIP_INSTALL) --editable '.[collector]'
	@touch $@

.venv/.ready-test: .venv/.ready
	$(BIN)/python $(PIP_INSTALL) --group test --group lint
	@touch $@

# What lets the tests' JVMs start quickly; see tests/support/jvm.py.
%/.ready-jvm: tests/support/jvm.py | %/.ready jar
	$*/bin/python -m tests.support.jvm
	@touch $@

# The jar is built again whenever its sources changed; a call without changes is quick.
.PHONY: jar
jar: .venv/.ready
	@$(BIN)/python jvm_bridge/build.py

demo: jar
	@exec $(BIN)/spark-lineage demo $(if $(ONCE),--once)

test: .venv/.ready-test jar lint types .venv/.ready-jvm
	$(BIN)/python $(PYTEST) -m "not places and not faults" $(ARGS)

lint: .venv/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.ready-test
	$(BIN)/mypy

ifdef SPARK
OTHER := .venvs/$(SPARK)

$(OTHER)/.ready: pyproject.toml | .venv/.ready
	@test -n "$(PYTHON_OLD)" || { echo "make: no usable Python was found"; exit 2; }
	$(if $(filter 3.%,$(SPARK)),$(PYTHON_OLD),$(PYTHON)) -m venv $(OTHER)
	$(OTHER)/bin/python $(PIP_INSTALL) --upgrade pip
	$(OTHER)/bin/python $(PIP_INSTALL) 'pyspark==$(SPARK)'
	$(OTHER)/bin/python $(PIP_INSTALL) --editable '.[collector]' --group test
	@touch $@

test-spark: $(OTHER)/.ready jar $(OTHER)/.ready-jvm
	$(OTHER)/bin/python $(PYTEST) -m "spark and not places and not faults" $(ARGS)

smoke: $(OTHER)/.ready jar $(OTHER)/.ready-jvm
	$(OTHER)/bin/python $(PYTEST) -m smoke $(ARGS)

places: $(OTHER)/.ready jar $(OTHER)/.ready-jvm
	$(OTHER)/bin/python $(PYTEST) -m places $(ARGS)
else
places: .venv/.ready-test jar .venv/.ready-jvm
	$(BIN)/python $(PYTEST) -m places $(ARGS)

test-spark smoke:
	@echo "make $@: name the version: make $@ SPARK=3.5.9"; exit 2
endif

# ARGS='-k sidecar' for some of them; the table shows the last run of each.
faults: .venv/.ready-test jar .venv/.ready-jvm
	$(BIN)/python $(PYTEST) -m faults $(ARGS)
	$(BIN)/python -m tests.faults.report

# Those over TPC queries need their folder: make bench TPC=path
bench: jar
	$(BIN)/python benchmarks/capture.py
	$(BIN)/python benchmarks/engine.py $(if $(TPC),--tpc $(TPC),--no-tpc)
ifdef TPC
	$(BIN)/python benchmarks/selfcheck.py --tpc $(TPC)
	$(BIN)/python benchmarks/overhead.py --tpc $(TPC)
endif

# Parts and sizes: make bench-collector ARGS='--part ingest --events 20000', or --postgres
.PHONY: bench-collector
bench-collector: .venv/.ready-test
	$(BIN)/python benchmarks/collector.py $(ARGS)

# Many queries in one session: make bench-delivery ARGS='--queries 50000', or '--threads 100'
.PHONY: bench-delivery
bench-delivery: jar
	$(BIN)/python benchmarks/delivery.py $(ARGS)

wheel: jar
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf .venv .venvs build dist spark_lineage/jars
