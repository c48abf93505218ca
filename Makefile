# The two commands of the README, and what CI adds to them.

PYTHON ?= python3
BIN := .venv/bin
# Where a machine forbids it, every process compiles headscope again, and the tests start two hundred.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all same reference coverage near mutants mutants-matrix mutants-map wheel-test test-gpu bench \
	bench-ab bench-gpu docs models web web-lint check generated clean fuzz

# Everything is pinned in constraints.txt; the stamp is younger than what it was made from.
.venv/installed: pyproject.toml models/pyproject.toml papers/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e models -e '.[dev]' -e papers
	touch $@

demo: .venv/installed
	$(BIN)/headscope demo

# What a change needs; tests/lanes.py says what it leaves out.
test: .venv/installed
	$(BIN)/python -m pytest -n auto --maxprocesses 8 -m "not nightly"

# Every test: all journeys in a browser, notebooks, kill and resume, all architectures.
test-all: .venv/installed
	$(BIN)/python -m pytest -n auto --maxprocesses 8

# Every test once more, and the lines that none of them runs.
coverage: .venv/installed
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --cov=headscope --cov=headscope_papers --cov-report=term:skip-covered

# Between two edits: the tests that are likeliest to notice what changed since HEAD, or since BASE=<commit>, in 3 minutes.
near: .venv/installed
	$(BIN)/python -m tools.mutants near --base $(or $(BASE),HEAD)

# Is each fault that tests noticed still noticed? All of them, or MUTANTS="ids, folders or files", or MUTANTS=--changed.
mutants: .venv/installed
	$(BIN)/python -m tools.mutants run $(MUTANTS)

# Which test files notice which faults, all of them: hours, goes on where it was stopped.
mutants-matrix: .venv/installed
	$(BIN)/python -m tools.mutants matrix $(MUTANTS)

# Which test files execute which lines, and how long they take: the whole suite once, with coverage.
mutants-map: .venv/installed
	$(BIN)/python -m tools.mutants map

# What a run costs here: ratios to the plain forward pass, into benchmarks/RESULTS.md and the README. On a quiet machine.
bench: .venv/installed
	$(BIN)/python benchmarks/bench.py $(if $(PEERS),--peers $(PEERS))

# Is this tree slower than a commit? Both in turn: make bench-ab OLD=HEAD~1, with PAIRS=3 or WORK=attention for less.
bench-ab: .venv/installed
	$(BIN)/python -m benchmarks.ab $(OLD) $(if $(PAIRS),--pairs $(PAIRS)) $(if $(WORK),--work $(WORK))

# On a machine with a GPU, with its own Python: torch, triton, transformers and numpy are enough.
test-gpu:
	PYTHONPATH=src:models/src:. $(PYTHON) -m tests.gpu

bench-gpu:
	PYTHONPATH=src:models/src:benchmarks $(PYTHON) benchmarks/gpu.py

# All three wheels, built and used in a new environment without the source and without Node; a step of every release.
wheel-test: .venv/installed
	$(BIN)/python tools/wheel_test.py

# A million spoiled files of all formats, each read in a bounded process; takes minutes on one core.
fuzz: .venv/installed
	$(BIN)/python tools/fuzz.py

# The same numbers and verdicts as the recorded ones; beside a commit, bit for bit: make same REF=HEAD~1
same: .venv/installed
	$(BIN)/python -m tools.same $(if $(REF),--ref $(REF)) $(if $(TOLERANCE),--tolerance $(TOLERANCE))

# Record them anew; the difference is reviewed like code.
reference: .venv/installed
	$(BIN)/python -m tools.same record

docs: .venv/installed
	$(BIN)/mkdocs build --strict

# Every model type that reads text, tiny and random, put through headscope: docs/models-table.md.
models: .venv/installed
	$(BIN)/python -m tools.models

web/node_modules/installed: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

# The front end, from its sources: types, lint, tests, and the bundle that comes with the package, which must not be stale.
web: web-lint
	cd web && npm run check && npm test && npm run build
	git diff --exit-code --stat src/headscope/pages/assets

# Lint, format and import order of the front end.
web-lint: web/node_modules/installed
	cd web && npm run lint

# Lint, types, import order, and generated files that must not be stale.
check: .venv/installed web-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/cli_reference.py --check
	$(BIN)/python tools/cli_json.py --check
	$(BIN)/python tools/api_reference.py --check
	$(BIN)/python tools/web_types.py --check

generated: .venv/installed
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python tools/cli_json.py
	$(BIN)/python tools/api_reference.py
	$(BIN)/python tools/web_types.py

clean:
	rm -rf .venv web/node_modules demo site build dist *.egg-info src/*.egg-info models/src/*.egg-info papers/src/*.egg-info
