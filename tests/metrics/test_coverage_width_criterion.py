"""Coverage width criterion: both variants, infinite widths, the range of the outcomes, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Summary, SummaryError, summarize
from calibrant.metrics.coverage_width_criterion import coverage_width_criterion
from calibrant.summaries.interval_moments import IntervalMoments

inf = np.inf
ROWS = st.lists(
    st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50), st.integers(1, 4)), min_size=2, max_size=12
)
VARIANTS = st.sampled_from(["jensen", "khosravi"])


class TestByHand:
    Y, INTERVALS = [0.0, 4.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.75)  # coverage 1/2, r = 1/4

    def test_jensen(self):
        assert coverage_width_criterion(self.Y, self.INTERVALS) == pytest.approx(0.75 * np.exp(-30 / 16))
        assert coverage_width_criterion(self.Y, self.INTERVALS, eta=0) == 0.75

    def test_khosravi(self):
        found = coverage_width_criterion(self.Y, self.INTERVALS, variant="khosravi")
        assert found == pytest.approx(0.25 * (1 + np.exp(50 / 4)))
        assert coverage_width_criterion(self.Y, self.INTERVALS, variant="khosravi", eta=0) == 0.5

    def test_a_normalizer(self):
        assert coverage_width_criterion(self.Y, self.INTERVALS, eta=0, normalizer=2) == 0.5

    def test_several_levels(self):
        both = Intervals([[0.0, 0.0], [0.0, 0.0]], [[1.0, 4.0], [1.0, 4.0]], [0.5, 0.9])
        assert coverage_width_criterion([0.0, 4.0], both, eta=0).tolist() == [0.75, 0.0]
        assert coverage_width_criterion([0.0, 4.0], both, eta=0, variant="khosravi").tolist() == [0.25, 1.0]

    def test_the_right_coverage_up_to_rounding_costs_nothing(self):
        # Ten weights of 0.1, nine of them inside: their sum is below 0.9 by rounding.
        y, inside = np.arange(10.0), np.arange(10) < 9
        intervals = Intervals(np.where(inside, y, y + 1), y + 2, 0.9)
        found = coverage_width_criterion(y, intervals, weights=np.full(10, 0.1), variant="khosravi")
        assert found == pytest.approx((9 * 2 + 1) / 10 / 9)

    def test_weights_of_zero_do_not_count_in_the_range(self):
        intervals = Intervals([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0.75)
        found = coverage_width_criterion([0.0, 4.0, 99.0], intervals, weights=[1, 1, 0], eta=0)
        assert found == 0.75


class TestExtremes:
    @pytest.mark.parametrize("eta", [0, 30, 1e6])
    def test_infinite_width(self, eta):
        intervals = Intervals([-inf, 0.0], [1.0, 1.0], 0.9)
        found = [coverage_width_criterion([0.0, 4.0], intervals, eta=eta, variant=v) for v in ("jensen", "khosravi")]
        assert found == [-inf, inf]

    def test_zero_width_and_a_power_beyond_float64(self):
        intervals = Intervals([1.0, 1.0], [1.0, 1.0], 0.9)
        assert coverage_width_criterion([0.0, 4.0], intervals, eta=1e6, variant="khosravi") == 0.0

    def test_a_power_beyond_float64(self):
        intervals = Intervals([1.0, 1.0], [2.0, 2.0], 0.9)
        assert coverage_width_criterion([0.0, 4.0], intervals, eta=1e6, variant="khosravi") == inf


@given(ROWS, VARIANTS, st.integers(1, 11))
def test_chunks_and_weights(rows, variant, cut):
    y, a, b, w = np.array(rows).T
    if y.max() - y.min() < 1e-3:
        y = y + np.arange(y.size)
    lower, upper = np.minimum(a, b), np.maximum(a, b)
    options = {"variant": variant, "eta": 3}
    whole = coverage_width_criterion(y, Intervals(lower, upper, 0.9), weights=w, **options)
    parts = [
        summarize(coverage_width_criterion, y[p], Intervals(lower[p], upper[p], 0.9), weights=w[p], **options)
        for p in (slice(0, cut), slice(cut, None))
        if y[p].size
    ]
    total = sum(Summary.from_bytes(part.to_bytes()) for part in parts)
    assert isinstance(total, IntervalMoments)
    assert coverage_width_criterion(total, **options) == pytest.approx(whole, rel=1e-9, abs=1e-12)
    times = w.astype(int)
    again = Intervals(np.repeat(lower, times), np.repeat(upper, times), 0.9)
    assert coverage_width_criterion(np.repeat(y, times), again, **options) == pytest.approx(whole, rel=1e-9, abs=1e-12)


class TestRefused:
    INTERVALS = Intervals([0.0, 0.0], [1.0, 1.0], 0.9)

    @pytest.mark.parametrize("eta", [-1, np.nan, inf, True, "30"])
    def test_eta(self, eta, refusal):
        message = refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, eta=eta)
        assert message.startswith("eta must be a finite number of at least 0; got")

    @pytest.mark.parametrize("normalizer", [0, -1, np.nan, inf, True, "y"])
    def test_normalizer(self, normalizer, refusal):
        message = refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, normalizer=normalizer)
        assert message.startswith("normalizer must be a finite number above 0; got")

    def test_a_range_of_zero(self, refusal):
        message = refusal(coverage_width_criterion, [2.0, 2.0], self.INTERVALS)
        assert message.startswith("the range of y, by which widths are divided, is 0.0 (from 2.0 to 2.0)")
        assert "normalizer=" in message

    def test_a_range_beyond_float64(self, refusal):
        assert "is inf" in refusal(coverage_width_criterion, [-1.5e308, 1.5e308], self.INTERVALS)

    def test_variant(self, refusal):
        message = refusal(coverage_width_criterion, [0.0, 1.0], self.INTERVALS, variant="mapie")
        assert message.startswith("variant must be one of 'jensen', 'khosravi'")

    def test_levels_do_not_mix(self, refusal):
        one = summarize(coverage_width_criterion, [0.0, 1.0], self.INTERVALS)
        other = summarize(coverage_width_criterion, [0.0, 1.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.8))
        assert "0.8" in refusal(lambda: one + other, error=SummaryError)
