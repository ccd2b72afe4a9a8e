# Everything lives in $(VENV) and build/; nothing is installed outside them. What was done once is
# marked by a stamp file, so that a second `make test` goes straight to the tests.

PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --quiet
NATIVE := $(wildcard native/*.cpp native/*.hpp)
BUILD_FILES := $(NATIVE) CMakeLists.txt pyproject.toml

.DEFAULT_GOAL := help
.NOTPARALLEL: # two pips must not write to one environment
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench docs sanitize fuzz clean force

help:
	@echo 'make demo      train on embedded data, print a table, write kesler-demo.html'
	@echo 'make test      all tests and the examples in the docstrings (PYTEST_ARGS=...)'
	@echo 'make lint      ruff, mypy, clang-format, import-linter'
	@echo 'make bench     speed against scikit-learn, LIBLINEAR, Vowpal Wabbit and others'
	@echo 'make docs      the documentation, in docs/_build/html'
	@echo 'make sanitize  the tests of the core under AddressSanitizer and UBSan'
	@echo 'make fuzz      100 000 malformed inputs'
	@echo 'make clean     remove what was built (the virtual environment stays)'
	@echo
	@echo 'Variables: PYTHON=$(PYTHON) (3.10 or later), VENV=$(VENV)'

# --- What the machine must have ----------------------------------------------------------------

# One line for each thing that is missing, with the Debian package that has it.
define preflight
@fail=0; \
missing() { echo "kesler: $$1" >&2; fail=1; }; \
if ! command -v '$(PYTHON)' >/dev/null 2>&1; then \
  missing "no $(PYTHON): apt install python3"; \
elif ! '$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then \
  missing "$(PYTHON) is $$('$(PYTHON)' -V 2>&1), Kesler needs 3.10 or later: apt install a newer python3, or name one with make PYTHON=python3.12"; \
else \
  '$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null \
    || missing "$(PYTHON) has no venv module: apt install python3-venv"; \
  '$(PYTHON)' -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' \
    || missing "$(PYTHON) has no C headers (Python.h): apt install python3-dev"; \
fi; \
cxx=; for c in $${CXX:-c++ g++ clang++}; do \
  if command -v "$$c" >/dev/null 2>&1; then cxx=$$c; break; fi; \
done; \
if [ -z "$$cxx" ]; then \
  missing "no C++ compiler$${CXX:+ (CXX=$$CXX)}: apt install g++"; \
elif ! printf '%s\n' '#include <bit>' '#include <concepts>' 'int main() {}' \
  | "$$cxx" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then \
  missing "$$cxx does not compile C++20: apt install g++ (version 10 or later)"; \
fi; \
exit $$fail
endef

# --- The environment ---------------------------------------------------------------------------

$(STAMPS)/venv:
	$(preflight)
	@echo 'kesler: making $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1' # the first that knows dependency groups
	@mkdir -p $(STAMPS) && touch $@

# The import hook of an editable install knows each module by its path: a new list of modules (not
# new content) asks for a new hook.
$(STAMPS)/modules: force | $(STAMPS)/venv
	@find src -name '*.py' | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Editable: Python files are read in place, and build/ keeps the object files, so that only what
# changed in native/ is compiled again.
$(STAMPS)/kesler: $(STAMPS)/venv $(STAMPS)/modules $(BUILD_FILES)
	$(preflight)
	@echo 'kesler: building the core and installing into $(VENV)'
	@$(PIP) --group build
	@$(PIP) --no-build-isolation --editable '.[cli,report]'
	@touch $@

GROUPS := test lint docs bench
$(GROUPS:%=$(STAMPS)/%): $(STAMPS)/%: pyproject.toml | $(STAMPS)/kesler
	@echo 'kesler: installing what `make $*` needs'
	@$(PIP) --group $*
	@touch $@

# --- What one does -----------------------------------------------------------------------------

demo: $(STAMPS)/kesler
	$(BIN)/kesler demo

test: $(STAMPS)/kesler $(STAMPS)/test
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 $(PYTEST_ARGS)

lint: $(STAMPS)/kesler $(STAMPS)/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict
	$(BIN)/clang-format --dry-run -Werror $(NATIVE)
	$(BIN)/lint-imports

bench: $(STAMPS)/kesler $(STAMPS)/bench
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/svc.py
	$(BIN)/python benchmarks/svc_cv.py

docs: $(STAMPS)/kesler $(STAMPS)/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs docs/_build/html

fuzz: $(STAMPS)/kesler $(STAMPS)/test
	$(BIN)/python tests/fuzz.py --examples 100000

# --- The core under sanitizers -----------------------------------------------------------------

# An environment of its own over the packages of $(VENV): its first entry holds the sanitized
# build, and the import hook of the editable install is not run there, so neither sees the other.
SAN := build/sanitize
SAN_PYTHON := $(SAN)/venv/bin/python
SAN_CXX := g++
SITE := import sysconfig; print(sysconfig.get_path("purelib"))

$(SAN)/installed: $(STAMPS)/test $(BUILD_FILES) $(shell find src -name '*.py' 2>/dev/null)
	@test -e "$$($(SAN_CXX) -print-file-name=libasan.so)" \
	  || { echo 'kesler: no AddressSanitizer for $(SAN_CXX): apt install g++' >&2; exit 1; }
	@echo 'kesler: building the core under AddressSanitizer and UBSan in $(SAN)'
	@rm -rf $(SAN)/venv $(SAN)/site
	@$(BIN)/python -m venv --without-pip $(SAN)/venv
	@printf '%s\n' '$(CURDIR)/$(SAN)/site' "$$($(BIN)/python -c '$(SITE)')" \
	  > "$$($(SAN_PYTHON) -c '$(SITE)')/kesler-sanitize.pth"
	@CXX=$(SAN_CXX) $(PIP) --no-build-isolation --no-deps --target $(SAN)/site \
	  -C build-dir=$(SAN)/cmake -C cmake.build-type=Debug -C cmake.define.KESLER_SANITIZE=ON .
	@touch $@

# Python's own allocator hides small objects from AddressSanitizer; leaks at exit are Python's.
# --capture=sys below leaves file descriptor 2 to the sanitizers' reports.
SAN_RUN = env LD_PRELOAD="$$($(SAN_CXX) -print-file-name=libasan.so) $$($(SAN_CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:allocator_may_return_null=1 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  PYTHONMALLOC=malloc $(SAN_PYTHON)

sanitize: $(SAN)/installed
	$(SAN_RUN) -m pytest --capture=sys -p no:cacheprovider tests/native tests/linear tests/test_constraints.py
	$(SAN_RUN) tests/fuzz.py --examples 2000

clean:
	rm -rf build dist docs/_build docs/gallery docs/generated reports kesler-demo.html $(STAMPS)
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs examples -name __pycache__ -prune -exec rm -rf {} +
