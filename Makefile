# Tutti. `make help` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
DATA ?= .tutti
REQUIREMENTS := requirements.txt local_stack/requirements.txt worker_image/requirements.txt examples/requirements.txt tests/requirements.txt
TORCH_INDEX := $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL))
DEFINITION := step_functions/training_job.asl.json
DEFINITION_LINTS := step_functions/node_modules/.package-lock.json
CODE := app.py chalicelib local_stack worker_image client examples benchmarks tests

.DEFAULT_GOAL := help
.PHONY: help install demo up down reset status code test test-fast test-process test-slow test-alone console check lint definition types schema

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

demo: install ## Run the main job: a real federated job on real data, from an empty bucket to a verified model
	@$(BIN)/python -m examples.digits.demo

up: install ## Start the stack and stay (data in .tutti/, kept over restarts)
	@$(BIN)/python -m local_stack up --data $(DATA)

down: install ## Stop the stack; asks before it cancels running jobs
	@$(BIN)/python -m local_stack down --data $(DATA)

reset: install ## Stop the stack and delete all its data; asks
	@$(BIN)/python -m local_stack reset --data $(DATA)

status: install ## What runs, and where
	@$(BIN)/python -m local_stack status --data $(DATA)

code: install ## Print a fresh one-time sign-in code (NAME=somebody for another user)
	@$(BIN)/python -m local_stack code --data $(DATA) $(if $(NAME),--name "$(NAME)")

test: install lint types test-fast test-process ## Run all tests but the wide matrices

test-fast: install
	@$(BIN)/python -m pytest -n 2 -m "not process and not slow"

test-process: install
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "process and not slow" --durations 10

test-slow: install ## Run the wide matrices (real processes in every phase and fault)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow and not alone" --durations 15

test-alone: install ## Measure load, memory, full disks and very large files, one after the other on a quiet machine
	@$(BIN)/python -m pytest -m "slow and alone" --durations 15

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

console: static_site/node_modules/.package-lock.json ## Check and build the web console (node 20.19 or newer; not served yet)
	@cd static_site && npm run --silent check && npm test --silent && npm run --silent build

static_site/node_modules/.package-lock.json: static_site/package.json static_site/package-lock.json
	@npm ci --prefix static_site --ignore-scripts --no-audit --no-fund --silent
	@touch $@

types: install
	@$(BIN)/mypy --no-error-summary $(CODE)

schema: install ## Write the OpenAPI document and the wizard's schema anew
	@$(BIN)/python -m tests.contracts.write_schemas
