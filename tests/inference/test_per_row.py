"""Row scores."""

import numpy as np
import pytest

from calibrant import (
    Intervals,
    Normal,
    NotApplicableError,
    Quantiles,
    Sets,
    brier_score,
    coverage,
    ece,
    log_score,
    summarize,
)
from calibrant.inference.per_row import per_row
from calibrant.metrics.crps import crps
from calibrant.metrics.interval_score import interval_score
from calibrant.metrics.width import width

BOTH = Intervals([[0.0, -1.0], [0.0, -1.0]], [[1.0, 2.0], [1.0, 2.0]], [0.5, 0.9])


def test_order_of_the_rows():
    y, p = np.array([1, 0, 1, 0]), np.array([0.5, 0.25, 0.75, 1.0], dtype=np.float32)
    assert per_row("brier_score", y, p).tolist() == [0.25, 0.0625, 0.0625, 1.0]
    order = [2, 0, 3, 1]
    assert per_row(brier_score, y[order], p[order]).tolist() == [0.0625, 0.25, 1.0, 0.0625]


def test_one_level_and_several():
    y = [0.5, 1.5]
    several = per_row(coverage, y, BOTH)
    assert several.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert several.dtype == np.float64
    assert per_row(coverage, y, BOTH.at(0.5)).tolist() == [1.0, 0.0]
    assert per_row(coverage, y, Intervals(BOTH.lower[:, :1], BOTH.upper[:, :1], [0.5])).shape == (2, 1)
    assert per_row(coverage, y, Quantiles([1.0, 1.0], 0.5)).tolist() == [1.0, 0.0]
    assert per_row(coverage, ["b", "a"], Sets([[True, False], [True, True]]), classes=["a", "b"]).tolist() == [0, 1]


def test_mean_is_the_metric():
    rng = np.random.default_rng(0)
    y, law = rng.normal(size=50), Normal(rng.normal(size=50), 1.0)
    assert per_row(crps, y, law).mean() == pytest.approx(crps(y, law), rel=1e-12)
    np.testing.assert_allclose(per_row(interval_score, [0.5, 3.0], BOTH).mean(axis=0), interval_score([0.5, 3.0], BOTH))
    labels = rng.integers(0, 2, 50)
    p = rng.random(50)
    assert per_row(log_score, labels, p, clip=0.2).mean() == pytest.approx(log_score(labels, p, clip=0.2))
    w = rng.random(50)
    assert (w * per_row(crps, y, law)).sum() / w.sum() == pytest.approx(crps(y, law, weights=w), rel=1e-12)


def test_of_the_prediction_alone():
    assert per_row(width, BOTH).tolist() == per_row(width, None, BOTH).tolist() == [[1.0, 3.0], [1.0, 3.0]]


def test_result_is_the_callers_own():
    y, p = [0, 1], np.array([0.5, 0.75])
    scores = per_row(brier_score, y, p)
    scores[:] = 0
    assert p.tolist() == [0.5, 0.75]


def test_refusals(refusal):
    assert refusal(per_row, ece, [0, 1], [0.2, 0.7], error=NotApplicableError).startswith("ece is no mean")
    assert "takes no weights" in refusal(per_row, brier_score, [0, 1], [0.2, 0.7], weights=[1, 2])
    assert "does not hold the rows" in refusal(per_row, brier_score, summarize(brier_score, [0, 1], [0.2, 0.7]))
    assert "has no option colour" in refusal(per_row, brier_score, [0, 1], [0.2, 0.7], colour=1)
    assert "row 1" in refusal(per_row, brier_score, [0, 1], [0.2, np.nan])
