"""Steps on rows take out what they say, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import IPCAC
from separatrix.features.spectra import (
    Detrend,
    MultiplicativeScatterCorrection,
    SpectrumDerivative,
    StandardNormalVariate,
    make_row_steps,
)
from tests.files.model_files import assert_answers_alike, saved_and_loaded

STEPS = [StandardNormalVariate(), SpectrumDerivative(window=3), Detrend(degree=1)]


@parametrize_with_checks(
    [
        STEPS[0],
        SpectrumDerivative(0, window=1, degree=0),
        STEPS[2],
        MultiplicativeScatterCorrection(),
    ]
)
def test_steps_follow_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def spectra(rng):
    return rng.standard_normal((5, 40)).cumsum(axis=1)


def test_snv_takes_out_offset_and_scale(spectra, rng):
    a, b = rng.standard_normal((5, 1)), rng.uniform(0.5, 2, (5, 1))
    step = StandardNormalVariate().fit(spectra)
    assert_allclose(step.transform(a + b * spectra), step.transform(spectra), atol=1e-12)
    assert_array_equal(step.transform(np.full((1, 40), 0.1)), 0)


def test_msc_takes_out_offset_and_slope_against_the_mean(spectra, rng):
    step = MultiplicativeScatterCorrection().fit(spectra)
    assert_allclose(step.reference_, spectra.mean(axis=0))
    a, b = rng.standard_normal((5, 1)), rng.uniform(0.5, 2, (5, 1))
    assert_allclose(step.transform(a + b * spectra), step.transform(spectra), atol=1e-12)
    line = 3.0 + 0.5 * step.reference_[None]
    assert_allclose(step.transform(line)[0], step.reference_, atol=1e-12)
    # by the lines of best fit, one by one
    for row, found in zip(spectra, step.transform(spectra), strict=True):
        slope, offset = np.polyfit(step.reference_, row, 1)
        assert_allclose(found, (row - offset) / slope, atol=1e-10)
    flat = step.transform(np.full((1, 40), 0.1))
    assert_allclose(flat, step.reference_.mean(), atol=1e-12)


def test_detrending_takes_out_polynomials_and_keeps_the_rest(spectra):
    places = np.arange(40)
    bow = 3 + 0.2 * places - 0.01 * places**2
    step = Detrend(degree=2).fit(spectra)
    assert_allclose(step.transform(spectra + bow), step.transform(spectra), atol=1e-10)
    assert_allclose(step.transform(step.transform(spectra)), step.transform(spectra), atol=1e-12)


def test_the_derivative_is_exact_for_polynomials():
    places = np.arange(30.0)
    rows = np.stack([places**2, 3 * places, np.ones(30)])
    found = SpectrumDerivative(window=7).fit_transform(rows)
    assert_allclose(found, [2 * places, np.full(30, 3.0), np.zeros(30)], atol=1e-10)
    assert_allclose(SpectrumDerivative(2, window=7).fit_transform(rows)[0], 2.0, atol=1e-10)


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_rows_are_changed_one_by_one(step, spectra):
    whole = step.fit_transform(spectra)
    assert_allclose(np.vstack([step.transform(row[None]) for row in spectra]), whole, atol=1e-12)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="window must be odd"):
        SpectrumDerivative(window=4).fit(np.ones((2, 9)))
    with pytest.raises(ValueError, match="too short for polynomials"):
        SpectrumDerivative().fit(np.ones((2, 2)))
    with pytest.raises(ValueError, match="there are snv, msc, derivative, detrend, l2"):
        make_row_steps(["snw"])


def test_saved_steps_answer_alike(spectra, tmp_path):
    model = make_pipeline(*make_row_steps(["snv", "msc", "derivative", "detrend", "l2"]), IPCAC())
    model.fit(spectra, [0, 1, 0, 1, 1])
    assert_answers_alike(model, saved_and_loaded(model, tmp_path), spectra)
