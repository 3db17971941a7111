"""Interval score: parts that add up, infinite bounds, and its identity with the quantile score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Quantiles, SummaryError, summarize
from calibrant.metrics.interval_score import PARTS, interval_score
from calibrant.metrics.quantile_score import quantile_score

inf = np.inf
NUMBERS = st.floats(-50, 50)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(1, 4)), min_size=1, max_size=12)
LEVELS = st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.99])


def drawn(rows):
    y, a, b, w = np.array(rows).T
    return y, np.minimum(a, b), np.maximum(a, b), w


class TestByHand:
    def test_parts(self):
        # Widths 2, 3, 1; below by 1 and above by 2 at 2/0.25 = 8 each.
        y, intervals = [1.0, -1.0, 6.0], Intervals([0.0, 0.0, 3.0], [2.0, 3.0, 4.0], 0.75)
        assert interval_score(y, intervals, part="width") == 2.0
        assert interval_score(y, intervals, part="below") == pytest.approx(8 / 3)
        assert interval_score(y, intervals, part="above") == pytest.approx(16 / 3)
        assert interval_score(y, intervals) == pytest.approx(10.0)

    def test_on_a_bound_nothing_is_paid(self):
        assert interval_score([0.0, 2.0], Intervals([0.0, 0.0], [2.0, 2.0], 0.9)) == 2.0

    def test_several_levels(self):
        both = Intervals([[0.0, -1.0]], [[1.0, 2.0]], [0.5, 0.75])
        assert interval_score([3.0], both).tolist() == [1 + 4 * 2, 3 + 8 * 1]

    def test_weights(self):
        intervals = Intervals([0.0, 0.0], [1.0, 3.0], 0.5)
        assert interval_score([0.5, 0.5], intervals, weights=[3, 1]) == 1.5


class TestInfinite:
    CASES = (([-inf], [inf]), ([-inf], [0.0]), ([0.0], [inf]))

    @pytest.mark.parametrize(("lower", "upper"), CASES)
    @pytest.mark.parametrize("y", [-3.0, 0.0, 3.0])
    def test_the_width_alone(self, lower, upper, y):
        intervals = Intervals(lower, upper, 0.9)
        total, width, below, above = (interval_score([y], intervals, part=part) for part in PARTS)
        assert total == width == inf
        assert np.isfinite([below, above]).all()

    def test_a_score_beyond_float64(self):
        assert interval_score([1.7e308], Intervals([-1.0], [0.0], 0.9)) == inf


@given(ROWS, LEVELS)
def test_parts_add_up(rows, level):
    y, lower, upper, w = drawn(rows)
    total, *parts = (interval_score(y, Intervals(lower, upper, level), part=part, weights=w) for part in PARTS)
    assert sum(parts) == pytest.approx(total, rel=1e-12, abs=1e-12)


@given(ROWS, LEVELS)
def test_two_quantile_scores(rows, level):
    # IS = (2/α)[ρ_{α/2}(y, l) + ρ_{1-α/2}(y, u)]
    y, lower, upper, _ = drawn(rows)
    alpha = 1 - level
    pinball = quantile_score(y, Quantiles(np.stack([lower, upper], 1), [alpha / 2, 1 - alpha / 2]))
    found = interval_score(y, Intervals(lower, upper, level))
    assert found == pytest.approx(2 / alpha * pinball.sum(), rel=1e-10, abs=1e-9)


@given(ROWS)
def test_mirrored(rows):
    y, lower, upper, _ = drawn(rows)
    mirror = Intervals(-upper, -lower, 0.8)
    for part, other in zip(PARTS, ("total", "width", "above", "below"), strict=True):
        found = interval_score(y, Intervals(lower, upper, 0.8), part=part)
        assert interval_score(-y, mirror, part=other) == pytest.approx(found, rel=1e-12, abs=1e-12)


@given(ROWS)
def test_swapped_bounds_are_one_interval(rows):
    y, a, b, _ = np.array(rows).T
    one, other = (Intervals(*pair, 0.8, crossed="swap") for pair in ((a, b), (b, a)))
    assert interval_score(y, one) == pytest.approx(interval_score(y, other), rel=1e-12)


@given(ROWS, st.integers(0, 12), st.sampled_from(PARTS))
def test_chunks_and_weights(rows, cut, part):
    y, lower, upper, w = drawn(rows)
    whole = interval_score(y, Intervals(lower, upper, 0.8), weights=w, part=part)
    cuts = [p for p in (slice(0, cut), slice(cut, None)) if y[p].size]
    pieces = [
        summarize(interval_score, y[p], Intervals(lower[p], upper[p], 0.8), weights=w[p], part=part) for p in cuts
    ]
    assert interval_score(sum(pieces), part=part) == pytest.approx(whole, rel=1e-12, abs=1e-12)
    times = w.astype(int)
    again = Intervals(np.repeat(lower, times), np.repeat(upper, times), 0.8)
    assert interval_score(np.repeat(y, times), again, part=part) == pytest.approx(whole, rel=1e-12, abs=1e-12)


class TestRefused:
    def test_parts(self, refusal):
        assert "part must be one of" in refusal(interval_score, [0.0], Intervals([0.0], [1.0], 0.9), part="dispersion")

    def test_parts_do_not_mix(self, refusal):
        intervals = Intervals([0.0], [1.0], 0.9)
        one, other = (summarize(interval_score, [0.0], intervals, part=part) for part in ("total", "below"))
        assert "below" in refusal(lambda: one + other, error=SummaryError)
        assert "below" in refusal(interval_score, other, error=SummaryError)

    def test_quantiles(self, refusal):
        assert ".intervals()" in refusal(interval_score, [0.0], Quantiles([[0.0, 1.0]], [0.1, 0.9]))
