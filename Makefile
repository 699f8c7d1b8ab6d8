# Everything runs inside .venv, which the first target makes and the others reuse. `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --no-compile --constraint constraints.txt
BUILT := pyproject.toml constraints.txt hatch_build.py $(wildcard src/realloc/decide/search/c/*.[ch])
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := demo
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' Makefile)

demo: .venv/.core  ## simulate, check, fit, recommend and compare with the truth, on built-in data (a minute or two)
	$(BIN)/realloc demo --force

help:  ## this list
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## /\1\t/p' Makefile | sort | awk -F '\t' '{printf "%-18s %s\n", $$1, $$2}'

test: .venv/.dev  ## the whole gate: lint, types, import layers, all tests (seven minutes on two cores)
	@$(MAKE) --no-print-directory --jobs 2 lint types types-tests layers unit

quick: .venv/.dev  ## lint, types, import layers and the fast tests (a minute and a half on two cores)
	@$(MAKE) --no-print-directory --jobs 2 lint types layers unit-fast

lint: .venv/.dev  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev  ## basedpyright, strict, for src
	$(BIN)/basedpyright --warnings

types-tests: .venv/.dev  ## basedpyright for tests, experiments and benchmarks: what is certainly wrong
	$(BIN)/basedpyright --warnings --project pyright.tests.json

layers: .venv/.dev  ## import-linter: imports point down
	$(BIN)/lint-imports

unit: .venv/.dev  ## all tests
	$(BIN)/pytest

unit-fast: .venv/.dev  ## all tests but those marked slow
	$(BIN)/pytest -m "not slow"

wheel: .venv/bin/python  ## build the wheel and run the demo from it in a fresh environment
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip install --quiet --no-compile --constraint constraints.txt build/wheel/*.whl
	cd build/wheel && venv/bin/realloc demo --force
	ls -l build/wheel/*.whl

newest:  ## the whole gate with the newest versions that pip finds, in an environment of its own
	rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/pip install --quiet --no-compile --upgrade --upgrade-strategy eager --editable '.[dev]'
	build/newest/bin/pip freeze --exclude-editable | sed 's/+cpu$$//' > build/newest/versions.txt
	-diff --ignore-case constraints.txt build/newest/versions.txt | grep '^>'
	build/newest/bin/ruff check .
	build/newest/bin/basedpyright --warnings --venvpath build
	build/newest/bin/lint-imports
	build/newest/bin/pytest

docs: .venv/.dev  ## the site, in build/site; a broken link or a warning fails
	$(PIP) --editable '.[docs]'
	$(BIN)/python docs/make_site.py

examples: .venv/.dev  ## every script in examples/ at its own size, in build/examples (a quarter of an hour)
	rm -rf build/examples && mkdir -p build/examples
	cd build/examples && for script in ../../examples/*.py; do echo "== $$script" && ../../$(BIN)/python "$$script" || exit 1; done

# Longer than a test may be; each prints its figures and writes benchmarks/results/.
bench-read: .venv/.dev  ## 30 million rows checked and read
	$(BIN)/python benchmarks/read_scale.py

bench-platform: .venv/.dev  ## 500 K items × 60 days simulated
	$(BIN)/python benchmarks/platform_scale.py

bench-world: .venv/.dev  ## rows per second of the paper's world
	$(BIN)/python benchmarks/world_speed.py

bench-calibration: .venv/.dev  ## the world's calibration table and how its noise was chosen (half an hour; resumable)
	$(BIN)/python experiments/world_calibration.py
	$(BIN)/python experiments/world_snn_tuning.py

bench-fit: .venv/.dev  ## CPU and memory of a fit, 20 K to 1 M rows (half an hour or more)
	$(BIN)/python benchmarks/fit_speed.py

bench-rounds: .venv/.dev  ## 32 rounds: does one grow?
	$(BIN)/python benchmarks/rounds_scale.py

bench-field: .venv/.dev  ## the learned field against rivals, 10 seeds × 4 regimes (an hour or two; resumable)
	$(BIN)/python experiments/field_quality.py --tune
	$(BIN)/python experiments/field_quality.py --jobs 2

bench-support: .venv/.dev  ## the learned support against the true one, 10 seeds × 4 regimes (ten minutes; resumable)
	$(BIN)/python experiments/decision_quality.py --support

bench-decisions: .venv/.dev  ## decisions, certificates, search and where uplift is lost (an hour and a half; resumable)
	$(BIN)/python experiments/decision_quality.py --jobs 2

bench-portfolio: .venv/.dev  ## caps over 100,000 units
	$(BIN)/python benchmarks/portfolio_speed.py

bench-guardrail: .venv/.dev  ## guardrails and certificates on the marketplace (an hour; resumable)
	$(BIN)/python experiments/guardrail.py

bench-batch: .venv/.dev  ## 500 K rows from Parquet to Parquet with everything on
	$(BIN)/python benchmarks/batch_scale.py --stages
	$(BIN)/python benchmarks/batch_scale.py

bench-console: .venv/.dev  ## the console over a log of 20 runs of 500 K rows: CPU, size of pages, memory
	$(BIN)/python -m benchmarks.console_scale

faults-console: .venv/.dev  ## 20,000 broken requests to the console (part of `make faults`)
	$(BIN)/python -m benchmarks.faults_console

faults-batch: .venv/.dev  ## kills, failing disks, races and flipped bits of batches and the decision log (part of `make faults`)
	$(BIN)/python -m benchmarks.faults_batch

bench-shards: .venv/.dev  ## one run, and eight shards with a commit, over a million rows
	$(BIN)/python benchmarks/shards.py $(ARGS)

bench-real: .venv/.dev  ## Olympus, Conjura, Hillstrom and Meridian, where ../shared/data is there (an hour; resumable)
	$(PIP) --editable '.[peers]'
	$(BIN)/python experiments/real_olympus.py
	$(BIN)/python experiments/real_conjura.py
	$(BIN)/python experiments/real_conjura.py --ranking
	$(BIN)/python experiments/real_hillstrom.py
	$(BIN)/python experiments/real_meridian.py

bench-coverage: .venv/.dev  ## do intervals of off-policy values cover? 300 replications of three designs (ten minutes; resumable)
	$(BIN)/python experiments/dr_coverage.py

bench-replay: .venv/.dev  ## matched replay of 100 K and 1 M moved events (ten minutes)
	$(BIN)/python benchmarks/replay_scale.py

bench-market: .venv/.dev  ## the paper's offline and A/B tables on the marketplace (an hour; resumable; ARGS=--quick)
	$(BIN)/python experiments/marketplace_offline.py $(ARGS)
	$(BIN)/python experiments/marketplace_abtest.py $(ARGS)

bench-static: .venv/.dev  ## the paper's static table with every rival, 10 seeds × 4 regimes (four hours; resumable; ARGS=--quick)
	$(PIP) --editable '.[peers]'
	$(BIN)/python experiments/static_quality.py $(ARGS)

bench-zoo: .venv/.dev  ## ReAlloc and rivals in the worlds of the zoo, 5 seeds (many hours; resumable; ARGS=--quick)
	$(BIN)/python experiments/zoo.py $(ARGS)
	$(BIN)/python experiments/zoo_nulls.py $(ARGS)
	$(BIN)/python experiments/zoo_crashes.py $(ARGS)

bench-ablation: .venv/.dev  ## the paper's ablation in the hard regime, 10 seeds (an hour; resumable; ARGS=--quick)
	$(BIN)/python experiments/ablation.py $(ARGS)

bench-curves: .venv/.dev  ## rows, confounding, channels, members (hours; resumable; ARGS=--quick)
	$(BIN)/python experiments/curves.py $(ARGS)

bench-temporal: .venv/.dev  ## sixteen rotating windows: six ways to remember (hours; resumable; ARGS=--quick)
	$(BIN)/python experiments/temporal.py $(ARGS)

bench-serve: .venv/.dev  ## the service under load: ratios, swaps (ten minutes; ARGS="--seconds 12 --swaps 12" for a look)
	$(BIN)/python benchmarks/serve_load.py $(ARGS)

bench-speed: .venv/.dev  ## CPU of decisions of all kinds beside the bare forward pass, and 100 models (ten minutes; resumable)
	$(BIN)/python benchmarks/speed.py $(ARGS)

sanitize-search: .venv/.dev  ## the search in C under the address and undefined-behaviour sanitizers (some minutes)
	CC="cc -fsanitize=address,undefined -fno-sanitize-recover=all -g" $(PIP) --no-deps --editable .
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(BIN)/pytest -n 0 tests/decide/search/test_compiled.py; \
		code=$$?; $(PIP) --no-deps --editable . && exit $$code

faults-service: .venv/.dev  ## 100,000 broken requests (a quarter of an hour; with schemathesis where the extra `faults` is installed)
	$(BIN)/python benchmarks/faults_service.py $(SERVICE_ARGS)

faults: .venv/.dev faults-service faults-batch faults-console  ## storage faults in large numbers: kills, errors, power losses, flips, races, hostile stores, then the mutation run (resumable)
	$(BIN)/python -m benchmarks.faults_store $(ARGS)
	$(MAKE) --no-print-directory mutation

mutation: .venv/.dev  ## changes to the syntax tree that tests must notice (hours; resumable; MUTATION_ARGS="--modules storage --most 20")
	$(BIN)/python -m benchmarks.mutate $(MUTATION_ARGS)

figures: .venv/.dev  ## of the world, of policies in it and of the curves, into experiments/results
	$(PIP) --editable '.[figures]'
	$(BIN)/python experiments/world_figures.py
	$(BIN)/python experiments/policy_figures.py
	$(BIN)/python experiments/curve_figures.py
	$(BIN)/python docs/images/make_recommendation.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Expected Python 3.11 or newer, got $$($(PYTHON) --version). Name another with make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv

.venv/.core: $(BUILT) | .venv/bin/python
	$(PIP) --editable .
	touch $@

.venv/.dev: $(BUILT) | .venv/bin/python
	$(PIP) --editable '.[dev]'
	touch $@ .venv/.core

clean:  ## remove the environment and everything built
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
