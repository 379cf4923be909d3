# Every target makes its own environment in .venv; nothing is installed elsewhere.
PYTHON ?= python3
BIN := .venv/bin
# two BLAS threads in each of several test processes only get in each other's way
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= auto

.PHONY: demo test lint docs bench clean

demo: .venv/demo.stamp  ## compare the methods on a bundled data set
	$(BIN)/separatrix compare wine --jobs -1 --report wine-report.html

test: .venv/dev.stamp lint  ## everything that must hold
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --doctest-modules src tests
	$(ONE_THREAD) $(BIN)/python -m pytest --doctest-glob='*.md' README.md CONTRIBUTING.md

lint: .venv/dev.stamp  ## style, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml

docs: .venv/dev.stamp  ## the manual, in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "The manual is docs/_build/html/index.html"

bench: .venv/dev.stamp  ## speed beside peers, as ratios
	$(BIN)/python -m benchmarks.speed

.venv/demo.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[app]'
	touch $@

.venv/dev.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/demo.stamp

clean:
	rm -rf .venv docs/_build docs/api docs/gallery
