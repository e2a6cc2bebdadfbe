# The front door. Needs nothing but Python 3.11 or later; everything else is set up on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.from-lock
JOBS   ?= 2

.PHONY: help demo test check nights mutants bench setup generate screenshots lock sbom format clean
.DEFAULT_GOAL := help

help:  ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name words; do printf '  make %-9s %s\n' "$$name" "$$words"; done

# Installed from the hashed lock only; remade whenever the lock or the project's metadata changes.
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("hibernator needs Python 3.11 or later; this is %d.%d. Set PYTHON=python3.11." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) from requirements/dev.txt …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(STAMP)  ## Set up .venv from the lock (every other target does this by itself).

demo: $(STAMP)  ## See it work: a real control plane, the CRDs and the operator.
	@$(BIN)/hibernator demo

test: check  ## Everything that CI runs.
	@$(BIN)/hibernator controlplane build
	@$(BIN)/python -m tools.gotools
	@PYTHONPATH=tests $(BIN)/python -m support.peers
	@$(BIN)/python -m compileall -q src tests  # the tests start hundreds of processes: none compiles again
	@$(BIN)/python -m tools.second_try $(JOBS) tests

check: $(STAMP)  ## The fast part: lint, types, imports, generated files.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@$(BIN)/python -m tools.generate --check

nights: $(STAMP)  ## Let every write of a plan's night meet every fault (an hour; see CONTRIBUTING.md).
	@$(BIN)/hibernator controlplane build
	@PYTHONPATH=tests $(BIN)/python -m support.nights $(NIGHTS)

mutants: $(STAMP)  ## Change one condition at a time and see whether the pure tests notice (half an hour; see CONTRIBUTING.md).
	@$(BIN)/python -m tools.mutants $(MUTANTS)

bench: $(STAMP)  ## Run every benchmark and write one table.
	@$(BIN)/hibernator controlplane build
	@$(BIN)/python bench/run.py

generate: $(STAMP)  ## Write CRDs and reference pages from the types.
	@$(BIN)/python -m tools.generate

screenshots: $(STAMP)  ## Take the pictures of the guides anew, in a real browser.
	@HIBERNATOR_SCREENSHOTS=$(CURDIR)/docs/images $(BIN)/python -m pytest -q tests/web/dashboard/test_pages.py tests/web/test_browser.py

lock: $(STAMP)  ## Bring the locks up to date with pyproject.toml.
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --extra apprise --output-file requirements/runtime.txt pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --extra apprise --group dev --output-file requirements/dev.txt pyproject.toml

	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --group build --output-file requirements/build.txt

sbom: $(STAMP)  ## Write dist/hibernator.cdx.json, the bill of materials of what runs (CycloneDX).
	@mkdir -p dist
	@$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --mc-type application --output-reproducible --output-format JSON --output-file dist/hibernator.cdx.json requirements/runtime.txt

format: $(STAMP)  ## Format and fix what can be fixed by itself.
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

clean:  ## Remove everything that make wrote into the checkout.
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
