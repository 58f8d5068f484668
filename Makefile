# Tutti. `make help` lists the targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
DATA ?= .tutti
REQUIREMENTS := requirements.txt local_stack/requirements.txt worker_image/requirements.txt examples/requirements.txt tests/requirements.txt
TORCH_INDEX := $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL))
CODE := app.py chalicelib local_stack worker_image client examples tests

.DEFAULT_GOAL := help
.PHONY: help install demo up down reset status code test test-fast test-process check lint types schema

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

check: install ## Format, lint, check types, run the fast tests
	@$(BIN)/ruff format --quiet $(CODE)
	@$(BIN)/ruff check --quiet --fix $(CODE)
	@$(MAKE) --no-print-directory types test-fast

lint: install
	@$(BIN)/ruff format --check --quiet $(CODE) || { echo "not formatted: run 'make check'"; exit 1; }
	@$(BIN)/ruff check --quiet $(CODE)

types: install
	@$(BIN)/mypy --no-error-summary $(CODE)

schema: install ## Write the OpenAPI document and the wizard's schema anew
	@$(BIN)/python -m tests.contracts.write_schemas
