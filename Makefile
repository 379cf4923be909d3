# Every target makes its own environment in .venv; nothing is installed elsewhere.
PYTHON ?= python3
# the interpreter only: a command's first line cannot name it in a path with spaces
PY := .venv/bin/python
# two BLAS threads in each of several test processes only get in each other's way
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= auto
MINUTES ?= 60
# those of the papers that need no data of others, within a minute or two
TABLES ?= lecture ldg/figure3.6 ldg/section5.2 wsvda/figure4-wine-1-2

# methods that differ on digits, and are quick
DEMO := FisherDiscriminant,LDG,LocalFisherDiscriminant,IPCAC,QuadraticDiscriminant,PartialLeastSquaresDiscriminant

.PHONY: demo test papers test-minima coverage fuzz soak lint docs bench dist clean

demo: .venv/demo.stamp  ## compare methods on digits, and draw a subspace of theirs
	$(PY) -m separatrix compare digits --quick --methods $(DEMO) --rivals basic --splits 5 --report digits-report.html
	$(PY) -m separatrix fit digits -m LDG --set n_components=2 -o digits.model
	$(PY) -m separatrix plot digits.model digits -o digits.svg

test: .venv/dev.stamp lint  ## everything that must hold
	$(ONE_THREAD) $(PY) -m pytest -n $(WORKERS) --doctest-modules src tests papers/tests
	$(ONE_THREAD) $(PY) -m pytest --doctest-glob='*.md' README.md CONTRIBUTING.md

papers: .venv/dev.stamp  ## a quick set of the papers' tables: make papers DATA=DIR TABLES='wsvda ldg/table3.1'
	for table in $(TABLES); do $(PY) -m separatrix reproduce $$table --quick $(if $(DATA),--data '$(DATA)') || exit 1; done

fuzz: .venv/dev.stamp  ## new degenerate data, odd tables and hostile model files: make fuzz MINUTES=60
	$(ONE_THREAD) $(PY) -m tests.fuzz --minutes $(MINUTES)
	$(ONE_THREAD) $(PY) -m pytest --hypothesis-profile=fuzz tests/moments/test_class_moments.py -k any_cut

soak: .venv/dev.stamp  ## streams and Dask fits with kills and full disks: make soak MINUTES=60
	$(ONE_THREAD) $(PY) -m tests.soak stream --minutes $(MINUTES)
	$(ONE_THREAD) $(PY) -m tests.soak cluster --minutes $(MINUTES)

test-minima: .venv/dev.stamp  ## the tests with the lowest versions that pyproject.toml declares
	test -x .venv-minima/bin/python || $(PYTHON) -m venv .venv-minima
	$(PY) -m release.minima > .venv-minima/minima.txt
	.venv-minima/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-minima/minima.txt -e '.[test]'
	$(ONE_THREAD) .venv-minima/bin/python -m pytest -n $(WORKERS) tests

coverage: .venv/dev.stamp  ## which lines the tests run, in htmlcov/index.html
	$(ONE_THREAD) $(PY) -m pytest -n $(WORKERS) --cov=separatrix --cov-report=html --cov-report=term:skip-covered tests

dist: .venv/dev.stamp  ## the files of a release, built twice and compared, in dist/
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r release/build.lock
	$(PY) -m release.make_dist

lint: .venv/dev.stamp  ## style, types, import layers
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command as check; check()' --config pyproject.toml

docs: .venv/dev.stamp  ## the manual, in docs/_build/html
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "The manual is docs/_build/html/index.html"

bench: .venv/dev.stamp  ## speed compared with peers, as ratios
	$(PY) -m benchmarks.speed --store

.venv/demo.stamp: pyproject.toml
	test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[app,plot]'
	touch $@

.venv/dev.stamp: pyproject.toml papers/pyproject.toml
	test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]' -e ./papers
	touch $@ .venv/demo.stamp

clean:
	rm -rf .venv .venv-minima dist htmlcov docs/_build docs/api docs/gallery
