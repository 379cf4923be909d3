"""Early decisions are drawn where they fall."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from separatrix import EarlyClassifier, FisherDiscriminant, datasets
from separatrix.evaluate.early import reliability_curve
from separatrix.plots import (
    plot_class_reliabilities,
    plot_early_decision,
    plot_reliability_curve,
)

SERIES = datasets.make_series(150, 24, random_state=0)
NAMES = np.array(["ash", "beech", "cedar"])[SERIES.target]
EARLY = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(SERIES.data[:100], NAMES[:100])


def test_a_decision_is_drawn_where_it_falls_with_what_was_expected_then():
    series = SERIES.data[120]
    decision = EARLY.decide_early(series[None])
    t = decision.time[0]
    assert 1 < t < 24
    ax = plot_early_decision(EARLY, series)
    seen, came, expected, at = ax.lines
    assert seen.get_xdata().tolist() == list(range(1, t + 1))
    assert_allclose(seen.get_ydata(), series[:t])
    assert_allclose(came.get_ydata(), series[t:])
    assert at.get_xdata()[0] == t
    cut = np.where(np.arange(24) < t, series, np.nan)
    rest = EARLY.expect(cut[None])
    assert_allclose(expected.get_ydata(), rest.mean[0, t:])
    (band,) = ax.collections
    drawn = band.get_paths()[0].vertices
    assert drawn[:, 1].max() == pytest.approx((rest.mean + 2 * rest.std)[0, t:].max())
    assert ax.get_title().startswith(f"decided after {t} values: {decision.label[0]}")


def test_a_series_that_goes_on_may_be_undecided():
    figure = Figure()
    ax = figure.subplots()
    assert plot_early_decision(EARLY, SERIES.data[0, :2], reliability=0.9, ax=ax) is ax
    assert ax.get_title().startswith("not decided after 2 values")


def test_curves_show_both_rules_and_every_tau():
    records = reliability_curve(EARLY, SERIES.data[100:], NAMES[100:], [0.9, 0.1])
    for what in ("reliability", "accuracy"):
        ax = plot_reliability_curve({"Fisher": records}, what=what)
        ours, fixed = ax.lines
        assert list(ours.get_xdata()) == [records[1]["time"], records[0]["time"]]
        assert list(ours.get_ydata()) == [records[1][what], records[0][what]]
        assert list(fixed.get_xdata()) == [r["time"] for r in records[2:]]
        assert [text.get_text() for text in ax.texts] == ["0.1", "0.9"]
        assert ax.get_ylabel() == what


def test_a_stream_is_a_bar_for_each_class():
    stream = EARLY.stream(reliability=0.9)
    history = [stream.push(value) for value in SERIES.data[120]]
    assert len({d.label for d in history}) > 1
    for n in (1, 10, 24):
        ax = plot_class_reliabilities(history[:n], EARLY.classes_, required=0.9)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ash", "beech", "cedar"]
        past, now = (ax.patches[:3], ax.patches[3:])
        for bar, name in zip(now, EARLY.classes_, strict=True):
            own = history[n - 1].reliability if history[n - 1].label == name else 0
            assert bar.get_width() == own
        for bar, name in zip(past, EARLY.classes_, strict=True):
            assert bar.get_width() == max(
                [d.reliability for d in history[:n] if d.label == name], default=0
            )
        assert ax.get_title() == ("after 1 value" if n == 1 else f"after {n} values")
        assert ax.lines[0].get_xdata()[0] == 0.9
    with pytest.raises(ValueError, match="history is empty"):
        plot_class_reliabilities([], EARLY.classes_)


def test_what_cannot_be_drawn_of_early_decisions_is_refused():
    with pytest.raises(ValueError, match=r"what='acc' is not drawn: use one of reliability"):
        plot_reliability_curve({}, what="acc")
    with pytest.raises(ValueError, match=r"series has 25 values, .* fitted to series of 24"):
        plot_early_decision(EARLY, np.zeros(25))
