"""One pass over outcomes and bounds against the row scores it stands for."""

from unittest import mock

import numpy as np
import pytest

from calibrant import Intervals, Quantiles, summarize
from calibrant.core import interval_sums as module
from calibrant.core.interval_sums import IntervalSums, Terms, interval_sums, sums_in_one_pass
from calibrant.inputs.arrays import unit_weights
from calibrant.regions.coverage import coverage, coverage_width_criterion
from calibrant.regions.width import width
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

inf = np.inf


def rows(infinite, n=5000):
    rng = np.random.default_rng(0)
    y = rng.integers(-40, 41, n) / 8 + 1000.0  # outcomes on the bounds too
    values = np.sort(rng.integers(-40, 41, (n, 5)) / 8, axis=1) + 1000.0
    if infinite:
        values[:70, 0], values[3000:3010, 4] = -inf, inf
        values[40:50], values[50:60] = -inf, inf
    return y, Quantiles(values, [0.05, 0.25, 0.5, 0.75, 0.95])


def verbs(y, quantiles):
    finite = quantiles.values[:, [0, 1]].min(axis=1), quantiles.values[:, [3, 4]].max(axis=1)
    inner = np.where(np.isposinf(finite[0]), -inf, finite[0]), np.where(np.isneginf(finite[1]), inf, finite[1])
    both = Intervals(np.stack([inner[0], inner[0]], 1), np.stack([inner[1], inner[1] + 1], 1), [0.5, 0.9])
    median = quantiles.values[:, 2]
    yield from ((coverage, y, p, {}) for p in (both, both.at(0.9), quantiles))
    yield from ((interval_score, y, both, {"part": part}) for part in ("total", "width", "below", "above"))
    yield width, None, both, {}
    yield from ((quantile_score, y, p, {}) for p in (quantiles, quantiles.at(0.25)))
    for part in ("total", "dispersion", "below", "above"):
        yield weighted_interval_score, y, quantiles, {"part": part}
        yield weighted_interval_score, y, both, {"part": part}
        yield weighted_interval_score, y, both, {"part": part, "median": median}
    yield coverage_width_criterion, y, both, {}


def moments_of(summary):
    return summary.moments[0] if hasattr(summary, "moments") else summary


@pytest.mark.parametrize("infinite", [False, True], ids=["finite", "infinite"])
def test_it_equals_the_row_scores(require, infinite):
    require("numba")
    for verb, y, prediction, options in verbs(*rows(infinite)):
        slow = summarize(verb, y, prediction, **options)
        with (
            mock.patch("calibrant.core.interval_sums.takes_fast_body", return_value=True),
            mock.patch.object(module, "FAST_CHUNK_ROWS", 1999),  # several threads, and a last chunk that is not full
        ):
            fast = summarize(verb, y, prediction, **options)
        a, b = moments_of(slow), moments_of(fast)
        assert a.names == b.names
        assert (a.rows, a.w, a.w2, a.weight_max) == (b.rows, b.w, b.w2, b.weight_max)
        np.testing.assert_array_equal(a.infinite, b.infinite, err_msg=f"{verb.__name__} {options}")
        for field in ("mean", "mean2", "spread2"):
            ours, theirs = getattr(b, field), getattr(a, field)
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11, err_msg=f"{verb.__name__} {options}")
        if verb is coverage_width_criterion:
            assert slow.extremes.tolist() == fast.extremes.tolist()


def test_by_hand(require):
    require("numba")
    lower, none, one = np.zeros(3000), np.zeros(1), np.ones(1)
    upper = 1e9 + np.tile([0.0, 1.0], 1500)
    found = interval_sums(lower, Terms(lower[:, None], upper[:, None], one, none, none))
    assert found.mean == 1e9 + 0.5
    assert found.spread == pytest.approx(750.0, rel=1e-12)  # of large scores keeps its digits
    y, table = np.arange(20.0)[::2], np.arange(40.0).reshape(10, 4)  # not contiguous
    found = interval_sums(y, Terms(table[:, ::2], table[:, 1::2], np.ones(2), np.zeros(2), np.zeros(2)))
    assert (found.mean, found.spread) == (2.0, 0.0)
    terms = Terms(np.array([[-inf]]), np.array([[1.0]]), none, one, one)  # a factor of 0 leaves infinity out
    assert interval_sums(np.array([3.0]), terms)[:5] == (1, 0, 2.0, 0.0, 0)


def test_merging_by_hand():
    # 1, 3 and 5: mean 3, spread 8.
    both = IntervalSums(2, 1, 2.0, 2.0, 0, -1.0, 4.0).merged(IntervalSums(1, 1, 5.0, 0.0, 1, 0.0, 9.0))
    assert both == IntervalSums(3, 2, 3.0, 8.0, 1, -1.0, 9.0)


def test_hits_and_finite_scores():
    sums = IntervalSums(4, 1, 2.0, 2.0, 2, 0.0, 0.0)
    assert (sums.of_hits.mean, sums.of_hits.spread, sums.of_hits.infinite) == (0.25, 0.75, 0)
    assert (sums.of_finite.mean, sums.of_finite.spread) == (0.5, 1.0)


def test_few_rows_and_weighted_ones_take_the_row_scores():
    with mock.patch.object(module, "takes_fast_body", lambda n: n >= 10):
        assert sums_in_one_pass(10, unit_weights(10))
        assert not sums_in_one_pass(9, unit_weights(9))
        assert not sums_in_one_pass(10, np.full(10, 2.0))
