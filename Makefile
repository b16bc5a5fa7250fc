# All targets work in .venv, which is made on first use.
.DEFAULT_GOAL := help
.PHONY: help install demo examples site test test-versions test-all lint bench clean

VENV := .venv
PYTHON := $(VENV)/bin/python
NAME ?= arrival
ARGS ?= --quick
QUICK := not slow and not cluster and not soak and not w3c

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

install: $(VENV)/.runtime ## Install everything needed to run queries into .venv

demo: $(VENV)/.runtime ## Generate a small world, stream through it, print answers, plans and times
	$(PYTHON) -m bench.demo

examples: $(VENV)/.runtime ## Run all examples, one after the other
	@for file in examples/*.py; do echo; echo "== $$file"; $(PYTHON) $$file || exit 1; done

# Warnings are errors: a link that leads nowhere ends the build.
site: $(VENV)/.docs ## Build the documentation site into build/site
	$(PYTHON) -m sphinx --fail-on-warning --keep-going -q -b html docs build/site
	@echo "build/site/index.html"

# Three processes, each with a Spark of its own: many tests wait for programs that they start. The tests of a file
# stay together, in the order of tests/conftest.py. Some run on older versions of Spark, in .venv/spark-4.1 and its like.
test: $(VENV)/.dev ## Run the tests, in about twenty-five minutes
	$(PYTHON) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "$(QUICK)"

test-versions: $(VENV)/.dev ## Run what rests on Spark on 4.1 and 4.2, not a few tests only
	$(PYTHON) -m tests.versions --all

test-all: $(VENV)/.dev $(VENV)/.morph-kgc ## Run all tests: clusters, long runs, the W3C suite, installation
	$(PYTHON) -m pytest
	$(PYTHON) -m tests.versions --all

lint: $(VENV)/.dev ## Check style and types, look up known vulnerabilities
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -m tests.audit

bench: $(VENV)/.bench ## Measure: make bench [NAME=arrival] [ARGS="--quick --json FILE"]
	$(PYTHON) -m bench $(NAME) $(ARGS)

clean: ## Remove .venv, the compiled jar, caches and generated data
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf demo-data bench-data report spark-warehouse metastore_db derby.log artifacts
	rm -f sparkext/jars/*.jar
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PYTHON):
	@for python in python3.11 python3 python3.12 python3.13; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec "$$python" -m venv $(VENV); \
	  fi; \
	done; \
	echo "Python 3.11 or newer was not found on PATH." >&2; exit 1

# What the build needs, PySpark above all (450 MB), is installed first and used by the build:
# in an isolated build pip would fetch and unpack it a second time.
$(VENV)/.runtime: pyproject.toml hatch_build.py | $(PYTHON)
	$(PYTHON) -c 'import tomllib; \
	  print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  > $(VENV)/build-requires.txt
	$(PYTHON) -m pip install -r $(VENV)/build-requires.txt
	$(PYTHON) -m pip install --no-build-isolation --editable .
	touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: $(VENV)/.runtime
	$(PYTHON) -m pip install --no-build-isolation --editable ".[$*]"
	touch $@

# Asks for older versions of what we use, so it has an environment of its own.
$(VENV)/.morph-kgc: | $(PYTHON)
	$(PYTHON) -m venv $(VENV)/morph-kgc
	$(VENV)/morph-kgc/bin/python -m pip install "morph-kgc[sqlite]>=2.10,<3"
	touch $@
