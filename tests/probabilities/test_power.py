"""`power`: what it says is true of the tests themselves; refusals."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.ordered import Ordered
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.power import _of_size, _two_digits


def share_found(p, error, repeats, rng):
    draws = (rng.random(p.size) < p + error for _ in range(repeats))
    return np.mean([cb.calibration_test(y, p, resamples=199, rng=rng).pvalue <= 0.05 for y in draws])


class TestTruth:
    def test_rare_events(self):
        """300 rows of probability 0.001, true probability 0.006."""
        p, rng = np.full(300, 0.001), np.random.default_rng(1)
        said = cb.power(p, error=0.005).power
        assert said == pytest.approx(share_found(p, 0.005, 300, rng), abs=0.1)

    def test_the_smallest_error_is_found_four_times_in_five(self):
        rng = np.random.default_rng(2)
        p = 0.2 + 0.6 * rng.random(400)
        found = cb.power(p)
        assert found.power == pytest.approx(0.8, abs=0.03)
        seen = min(share_found(p, sign * found.error, 200, rng) for sign in (1, -1))
        assert seen == pytest.approx(0.8, abs=0.11)

    def test_passing_a_tolerance(self):
        rng = np.random.default_rng(3)
        p = rng.random(1500)
        said = cb.power(p, tolerance=0.04).power
        passed = [cb.equivalence_test(rng.random(1500) < p, p, tolerance=0.04).pvalue <= 0.05 for _ in range(300)]
        assert said == pytest.approx(np.mean(passed), abs=0.1)

    def test_the_number_of_rows_reaches_the_target(self):
        p = np.random.default_rng(0).random(500)
        for size in ({"error": 0.03}, {"tolerance": 0.03}):
            needed = cb.power(p, **size).rows
            assert cb.power(np.tile(p, 1 + needed // 500)[:needed], **size).power == pytest.approx(0.8, abs=0.05)


class TestRecord:
    def test_fields(self):
        p = np.random.default_rng(0).random(300)
        one, other = cb.power(p, error=0.05, target=0.5), cb.power(p, tolerance=0.1)
        assert (one.error, one.tolerance, one.n, one.target) == (0.05, None, 300, 0.5)
        assert (other.error, other.tolerance, other.n, other.target) == (None, 0.1, 300, 0.8)
        assert cb.power(p).rows is None

    def test_repeats_itself(self):
        p = np.random.default_rng(0).random(300)
        assert cb.power(p, error=0.05, rng=4) == cb.power(p[::-1], error=0.05, rng=4)

    def test_weights_cost_rows(self):
        p = np.full(1000, 0.5)
        w = np.where(np.arange(1000) % 10 == 0, 20.0, 1.0)
        assert cb.power(p, weights=w).error > 1.3 * cb.power(p).error

    def test_a_common_factor_of_weights_changes_nothing(self):
        p = np.random.default_rng(0).random(1500)
        one, other = (cb.power(p, tolerance=0.04, weights=np.full(1500, w)) for w in (1.0, 5.0))
        assert 0.2 < one.power < 1
        assert other.power == pytest.approx(one.power, abs=0.02)
        assert other.rows == pytest.approx(one.rows, rel=0.05)

    def test_a_finer_error_takes_more_rows(self):
        p = np.random.default_rng(0).random(300)
        assert cb.power(p, error=0.02).rows > 3 * cb.power(p, error=0.05).rows


class TestSize:
    def test_keeps_the_distribution_of_scores(self):
        p = np.random.default_rng(0).beta(0.5, 3, 5000)
        rows = Ordered.of(Binary(np.zeros(5000, np.uint8), p, np.ones(5000)))
        for n in (7, 150, 5000, 123_456):
            scaled = _of_size(rows, n)
            assert scaled.n == n
            assert np.average(scaled.score, weights=scaled.count) == pytest.approx(p.mean(), rel=0.1)

    @pytest.mark.parametrize(("number", "rounded"), [(7.0, 7), (42.1, 43), (123.0, 130), (98_765.0, 99_000)])
    def test_two_digits(self, number, rounded):
        assert _two_digits(number) == rounded


class TestRefusals:
    @pytest.mark.parametrize("name", ["error", "tolerance", "target"])
    @pytest.mark.parametrize("value", [0, 1, -1, np.nan, "a", True, [0.1]])
    def test_sizes(self, name, value):
        with pytest.raises(InputError, match=f"{name} must lie strictly between 0 and 1"):
            cb.power([0.5] * 50, **{name: value})

    def test_both(self):
        with pytest.raises(InputError, match="not both"):
            cb.power([0.5] * 50, error=0.1, tolerance=0.1)

    def test_no_room(self):
        with pytest.raises(NotApplicableError, match=r"leave no room for a mean error of 0.6"):
            cb.power(np.tile([0.05, 0.95], 50), error=0.6)

    def test_too_few_rows_for_any_error(self):
        p = np.array([0.1, 0.5, 0.9, 0.5])
        with pytest.raises(NotApplicableError, match="use more rows"):
            cb.power(p)

    def test_probabilities(self, refusal):
        assert "row 1 is 1.5" in refusal(cb.power, [0.5, 1.5])
        assert "top_label" in refusal(cb.power, [[0.5, 0.5]])
        refusal(cb.power, [])
