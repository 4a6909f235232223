# Everything a newcomer needs: `make demo`, then `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# A large wheel may be cut off on its way (the OpenCL runtime has 225 MB), and resuming at once may not help: a pause does.
install = for pause in 15 60 stop; do \
	  $(BIN)/python -m pip install --quiet --resume-retries 20 $(1) && exit 0; \
	  [ $$pause = stop ] || { echo "pip failed; once more in $$pause s"; sleep $$pause; }; \
	done; exit 1

.PHONY: help venv demo test fast lint format bench docs clean

help:            ## this list
	@grep -E '^[a-z]+: .*##|^[a-z]+:.*  ##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

venv: $(VENV)/.ready   ## create .venv with all that runs here

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Warpsmith needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(call install,--editable . --group dev --constraint constraints.txt)
	@touch $@

demo: venv       ## refactor and tune the bundled fused_add_rmsnorm on this machine's CPU
	$(BIN)/warpsmith tune fused_add_rmsnorm --device cpu --agent rules --time 60s

test: venv       ## all tests, two at a time
	$(BIN)/python -m pytest -n 2 --dist worksteal

fast: venv       ## the tests that need no device
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/unit

lint: venv       ## ruff, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: venv     ## apply the formatter and the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.peers   ## overheads, accuracy and comparisons with peers, as ratios within one run
	$(BIN)/python -m benchmarks

# Only the benchmarks need the tuners we compare with.
$(VENV)/.peers: $(VENV)/.ready
	@$(call install,--group bench)
	@touch $@

docs: $(VENV)/.docs   ## the documentation as a site with search: site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site/index.html is written; $(BIN)/mkdocs serve shows it, with search, and follows changes"

$(VENV)/.docs: $(VENV)/.ready
	@$(call install,--group docs)
	@touch $@

clean:           ## remove the environment and caches
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
