# What one can do here. Each target sets up what it needs; nothing has to be done before.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

ON_EXAMPLE := example --reference 2024-02-29 --baseline popular -r knn

demo: .venv/demo ## install, try the built-in log, reproduce the paper (not with DEMO=quick), print the path of the page
	@mkdir -p demo
	$(BIN)/unskew doctor example
	$(BIN)/unskew evaluate $(ON_EXAMPLE)
	$(BIN)/unskew report $(ON_EXAMPLE) -o demo/report.html --json > demo/report.json
ifneq ($(DEMO),quick)
	$(BIN)/unskew reproduce -o demo/paper
endif
	@$(BIN)/python -m tools.demo_page demo

test: .venv/test java ## install what the tests need and run them all, documentation included
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: .venv/test ## lint, formatting, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/bench ## measure everything beside the alternatives, as ratios, and write docs/benchmarks.md
	-@$(MAKE) --no-print-directory .venv-recipes/lenskit/installed .venv-bench/balance/installed
	@$(BIN)/python -m benchmarks

bench-quick: .venv/test ## count passes, bytes and batches, and fail where one has grown
	@$(BIN)/python -m benchmarks quick

docs: .venv/docs ## build the site of the documentation into site/, and fail on a broken link
	@$(BIN)/python -m zensical build --clean --strict
	@echo "$(CURDIR)/site/index.html"

CASES ?= 20000
SEED ?= 0

fuzz: .venv/test ## damage files, draw options, kill writers: CASES=20000 SEED=0
	@$(BIN)/python -m fuzz --cases $(CASES) --seed $(SEED)

RECIPES ?= lenskit rectools recbole torch mlflow wandb airflow

recipes: $(RECIPES:%=recipe-%) ## models of LensKit, RecTools, RecBole and PyTorch, jobs for MLflow, W&B and Airflow, each in an environment of its own

recipe-%: .venv-recipes/%/installed
	@echo "$*"
	@.venv-recipes/$*/bin/python recipes/with_$*.py

clean: ## remove what was installed and made
	rm -rf .venv .venv-recipes .venv-bench bench demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis site .cache fuzz-findings

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("unskew needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv

.venv/demo: $(BIN)/python pyproject.toml constraints.txt Makefile
	@echo "installing into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[implicit]'
	@touch $@

.venv/test: $(BIN)/python pyproject.toml constraints.txt Makefile
	@echo "installing into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,check]'
	@touch $@ .venv/demo

.venv/docs: $(BIN)/python pyproject.toml constraints.txt Makefile
	@echo "installing into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@ .venv/demo

java: # Spark runs on it; installed where it is missing and may be
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y default-jre-headless >/dev/null; } \
	  || { echo "the tests of the Spark engine need Java: apt-get install default-jre-headless" >&2; exit 2; }

.venv/bench: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@ .venv/demo

.venv-bench/%/installed: benchmarks/environments/%.txt  # libraries that do not go together with ours
	@echo "installing into .venv-bench/$*"
	@$(PYTHON) -m venv .venv-bench/$*
	@.venv-bench/$*/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/environments/$*.txt
	@touch $@

.venv-recipes/%/installed: recipes/%.txt pyproject.toml
	@echo "installing into .venv-recipes/$*"
	@$(PYTHON) -m venv .venv-recipes/$*
	@.venv-recipes/$*/bin/python -m pip install --quiet --disable-pip-version-check -r recipes/$*.txt -e .
	@touch $@

.PRECIOUS: .venv-recipes/%/installed .venv-bench/%/installed
.PHONY: help demo test java check bench bench-quick fuzz docs recipes clean
