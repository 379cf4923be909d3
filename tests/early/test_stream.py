"""Series that arrive value by value, beside rows that are cut at every length."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from tests.early.data import (
    NEW,
    X,
    by_model,
    every_conditional,
    every_reducer,
    every_region,
    every_rule,
    y,
)


def first_reliable(model, rows, tau):
    """Series cut at every length and decided one length after the other."""
    found = []
    for row in rows:
        for t in range(1, len(row) + 1):
            one = model.decide(
                np.where(np.arange(len(row)) < t, row, np.nan)[None], reliability=tau
            )
            if one.decided[0]:
                break
        found.append((one.label[0], one.reliability[0], t))
    return [np.array(column) for column in zip(*found, strict=True)]


@every_rule
@every_conditional
@every_region
@every_reducer
def test_series_streams_and_rows_with_gaps_agree(rule, conditional, region, reducer):
    model = by_model(rule, conditional=conditional, region=region, reducer=reducer)
    model.fit(X, y)
    rows, tau = NEW[:8], 0.3
    early = model.decide_early(rows, reliability=tau)
    label, reliable, time = first_reliable(model, rows, tau)
    assert_array_equal(early.time, time)
    assert_array_equal(early.label, label)
    assert_allclose(early.reliability, reliable, rtol=1e-7)
    assert early.decided.all()
    for i, row in enumerate(rows[:3]):
        stream = model.stream(reliability=tau)
        pushed = [stream.push(value) for value in row]
        cut = np.where(np.tri(7, dtype=bool), row, np.nan)
        whole = model.decide(cut, reliability=tau)
        assert [p.label for p in pushed] == whole.label.tolist()
        assert [p.decided for p in pushed] == whole.decided.tolist()
        assert [p.time for p in pushed] == list(range(1, 8))
        assert_allclose([p.reliability for p in pushed], whole.reliability, rtol=1e-7)
        assert [p.decided for p in pushed].index(True) + 1 == early.time[i]


def test_series_that_have_not_gone_further_yet():
    model = by_model(LocalQDA(6), reliability=0.9).fit(X, y)
    lengths = np.random.default_rng(0).integers(0, 8, len(NEW))
    tails = np.where(np.arange(7) < lengths[:, None], NEW, np.nan)
    whole, cut = model.decide_early(NEW), model.decide_early(tails)
    in_time = whole.time <= lengths
    assert_array_equal(cut.decided, in_time)
    for field in ("label", "reliability", "time"):
        assert_array_equal(getattr(cut, field)[in_time], getattr(whole, field)[in_time])
    late = model.decide(tails[~in_time])
    assert_array_equal(cut.label[~in_time], late.label)
    assert_allclose(cut.reliability[~in_time], late.reliability, rtol=1e-9)
    assert_array_equal(cut.time[~in_time], lengths[~in_time])
    short = model.decide_early(NEW[:, :4])
    padded = model.decide_early(np.where(np.arange(7) < 4, NEW, np.nan))
    assert_array_equal(short.label, padded.label)
    assert_array_equal(short.time, padded.time)
    assert short.time.max() == 4
    assert not short.decided.all()


def test_series_that_are_longer_than_those_learned_are_refused():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    with pytest.raises(ValueError, match=r"8 features.*expecting 7"):
        model.decide_early(np.zeros((2, 8)))
    stream = model.stream()
    for value in NEW[0]:
        stream.push(value)
    with pytest.raises(ValueError, match="complete: the model was fitted to 7 values"):
        stream.push(0.0)
    with pytest.raises(ValueError, match="nan is not a finite number: use decide for gaps"):
        model.stream().push(np.nan)


@pytest.mark.parametrize("value", ["abc", "1.5", None, [[1.0]], []], ids=repr)
def test_only_numbers_are_pushed(value):
    stream = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y).stream()
    with pytest.raises(TypeError, match=r"value=.* is not a number: push takes"):
        stream.push(value)
    assert stream.push(1).n_observed == 1


def test_values_may_be_pushed_together():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    one, several = model.stream(), model.stream()
    for value in NEW[0, :4]:
        expected = one.push(value)
    assert several.push(NEW[0, :4]) == expected
    with pytest.raises(ValueError, match=r"fitted to 7 values, 4 came before, and 4 now"):
        several.push(NEW[0, :4])
    assert several.push(NEW[0, 4:]).n_observed == 7
