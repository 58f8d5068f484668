# Tutti. `make help` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
DATA ?= .tutti
REQUIREMENTS := requirements.txt local_stack/requirements.txt worker_image/requirements.txt examples/requirements.txt tests/requirements.txt
TORCH_INDEX := $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL))
DEFINITION := step_functions/training_job.asl.json
DEFINITION_LINTS := step_functions/node_modules/.package-lock.json
CONSOLE := static_site/dist/index.html
CONSOLE_SOURCES := $(shell find static_site/src static_site/public docs/guides -type f) $(wildcard static_site/*.json static_site/*.ts static_site/*.html)
CODE := app.py chalicelib local_stack worker_image client examples benchmarks tests

.DEFAULT_GOAL := help
.PHONY: help install demo up down reset status code test test-fast test-process test-slow test-console test-timed browser console check lint definition types schema

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.installed ## Make the virtual environment and install everything (the other targets do it themselves)

$(VENV)/.installed: $(REQUIREMENTS) constraints.txt client/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Tutti needs Python 3.11 (looked for $(PYTHON)). Install it, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into $(VENV) (torch makes it large; once, a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH_INDEX) -c constraints.txt $(REQUIREMENTS:%=-r %)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e client
	@touch $@

demo: install $(CONSOLE) ## Run the main job: a real federated job on real data, from an empty bucket to a verified model
	@$(BIN)/python -m examples.digits.demo

up: install $(CONSOLE) ## Start the stack and stay (data in .tutti/, kept over restarts)
	@$(BIN)/python -m local_stack up --data $(DATA)

down: install ## Stop the stack; asks before it cancels running jobs
	@$(BIN)/python -m local_stack down --data $(DATA)

reset: install ## Stop the stack and delete all its data; asks
	@$(BIN)/python -m local_stack reset --data $(DATA)

status: install ## What runs, and where
	@$(BIN)/python -m local_stack status --data $(DATA)

code: install ## Print a fresh one-time sign-in code (NAME=somebody for another user)
	@$(BIN)/python -m local_stack code --data $(DATA) $(if $(NAME),--name "$(NAME)")

test: install lint types console test-fast test-process ## Run all tests but the wide matrices

test-fast: install
	@$(BIN)/python -m pytest -n 2 -m "not process and not slow"

test-process: install $(CONSOLE) browser
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "process and not slow" --durations 10

test-slow: install $(CONSOLE) ## Run the wide matrices (real processes in every phase and fault), then what is large, one at a time
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow and not alone and not timed" --ignore tests/ui --durations 15
	@$(BIN)/python -m pytest -m "slow and alone and not timed" --durations 15

test-console: install $(CONSOLE) browser ## Run all tests of the web console in a real browser (make test runs a part of them)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not unproven" tests/ui --durations 15

test-timed: install ## Compare times (load, a chatty worker) on a quiet machine
	@$(BIN)/python -m pytest -m timed --durations 15

check: install ## Format, lint, check types, run the fast tests
	@$(BIN)/ruff format --quiet $(CODE)
	@$(BIN)/ruff check --quiet --fix $(CODE)
	@$(MAKE) --no-print-directory definition types test-fast

lint: install definition
	@$(BIN)/ruff format --check --quiet $(CODE) || { echo "not formatted: run 'make check'"; exit 1; }
	@$(BIN)/ruff check --quiet $(CODE)

definition: install $(if $(shell command -v npm),$(DEFINITION_LINTS)) ## Lint the state machine's definition
	@$(BIN)/python -m local_stack.state_machine.lint $(DEFINITION)
	@if test -e $(DEFINITION_LINTS) && command -v node >/dev/null; then \
		step_functions/node_modules/.bin/statelint $(DEFINITION) && \
		step_functions/node_modules/.bin/asl-validator --silent --json-path $(DEFINITION) || \
		{ step_functions/node_modules/.bin/asl-validator --json-path $(DEFINITION); exit 1; }; \
	else echo "Only the project's own lint read $(DEFINITION): statelint and asl-validator need node 18 or newer with npm"; fi

$(DEFINITION_LINTS): step_functions/package.json step_functions/package-lock.json
	@npm ci --prefix step_functions --ignore-scripts --no-audit --no-fund --silent && touch $@ || echo "npm could not install the lints of step_functions/package.json"

console: install ## Type-check, test and build the web console (up, demo and test build it themselves)
	@$(BIN)/python -m local_stack.console_build --check

$(CONSOLE): $(CONSOLE_SOURCES) | install
	@$(BIN)/python -m local_stack.console_build

browser: # Chromium for the tests of the console
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install --yes --no-install-recommends chromium >/dev/null; } || \
		{ echo "The console's tests need Chromium: sudo apt-get install chromium"; exit 1; }

types: install
	@$(BIN)/mypy --no-error-summary $(CODE)

schema: install ## Write the OpenAPI document and the wizard's schema anew
	@$(BIN)/python -m tests.contracts.write_schemas
