"""Quantile score: no factor 2, infinite quantiles, and laws for drawn data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Normal, Quantiles, summarize
from calibrant.metrics.quantile_score import quantile_score

inf = np.inf
ROWS = st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.integers(1, 4)), min_size=1, max_size=12)


class TestByHand:
    def test_two_levels(self):
        # 3 below 5 costs 0.25 * 2 and 0.75 * 0; 3 above 1 costs 0.75 * 2 at level 0.25.
        assert quantile_score([5.0], Quantiles([[3.0, 5.0]], [0.25, 0.75])).tolist() == [0.5, 0.0]
        assert quantile_score([1.0], Quantiles([3.0], 0.25)) == 1.5

    def test_a_hit_scores_nothing(self):
        assert quantile_score([2.0], Quantiles([2.0], 0.3)) == 0.0

    def test_the_median_scores_half_the_error(self):
        assert quantile_score([0.0, 4.0], Quantiles([1.0, 1.0], 0.5)) == 1.0


class TestInfinite:
    @pytest.mark.parametrize("q", [-inf, inf])
    @pytest.mark.parametrize("tau", [0.001, 0.5, 0.999])
    def test_one_row_makes_the_mean_infinite(self, q, tau):
        assert quantile_score([0.0, 1.0], Quantiles([q, 1.0], tau)) == inf

    def test_other_levels_stay_finite(self):
        assert quantile_score([1.0], Quantiles([[0.0, inf]], [0.5, 0.9])).tolist() == [0.5, inf]


@given(ROWS, st.sampled_from([0.05, 0.5, 0.8]))
def test_shift_mirror_and_scale(rows, tau):
    y, q, _ = np.array(rows).T
    found = quantile_score(y, Quantiles(q, tau))
    assert quantile_score(y + 8, Quantiles(q + 8, tau)) == pytest.approx(found, rel=1e-9, abs=1e-9)
    assert quantile_score(-y, Quantiles(-q, 1 - tau)) == pytest.approx(found, rel=1e-12, abs=1e-12)
    assert quantile_score(4 * y, Quantiles(4 * q, tau)) == pytest.approx(4 * found, rel=1e-12)


@given(ROWS, st.integers(0, 12))
def test_chunks_and_weights(rows, cut):
    y, q, w = np.array(rows).T
    whole = quantile_score(y, Quantiles(q, 0.8), weights=w)
    pieces = [
        summarize(quantile_score, y[p], Quantiles(q[p], 0.8), weights=w[p])
        for p in (slice(0, cut), slice(cut, None))
        if y[p].size
    ]
    assert quantile_score(sum(pieces)) == pytest.approx(whole, rel=1e-12, abs=1e-12)
    times = w.astype(int)
    again = quantile_score(np.repeat(y, times), Quantiles(np.repeat(q, times), 0.8))
    assert again == pytest.approx(whole, rel=1e-12, abs=1e-12)


def test_other_predictions_are_refused(refusal):
    assert "judges Quantiles" in refusal(quantile_score, [0.0], Intervals([0.0], [1.0], 0.9))
    assert ".quantiles(levels)" in refusal(quantile_score, [0.0], Normal([0.0], [1.0]))
