"""Brier score and log score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant.errors import NotApplicableError


@pytest.mark.parametrize(
    ("y", "prediction", "options", "score"),
    [
        ([0, 1], [0.25, 0.5], {}, (0.0625 + 0.25) / 2),
        # The first row has 0.25² + (1 - 0.25)² + 0.5², the second is right.
        ([1, 0], [[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]], {}, (0.0625 + 0.5625 + 0.25) / 2),
        ([1, 0], [0.0, 1.0], {}, 1.0),
        ([1, 0], np.eye(2), {}, 2.0),
        ([1, 0], np.eye(2), {"half": True}, 1.0),
        ([0, 1], np.eye(2), {}, 0.0),
        ([0, 1], [0.25, 0.5], {"weights": [3, 1]}, (3 * 0.0625 + 0.25) / 4),
    ],
)
def test_brier_scores_by_hand(y, prediction, options, score):
    assert cb.brier_score(y, prediction, **options) == score


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=20))
def test_two_columns_have_twice_the_value_of_one(drawn):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    P = np.stack([1 - p, p], axis=1)
    assert cb.brier_score(y, P) == pytest.approx(2 * cb.brier_score(y, p), rel=1e-12, abs=1e-15)
    assert cb.brier_score(y, P, half=True) == pytest.approx(cb.brier_score(y, p), rel=1e-12, abs=1e-15)


def test_small_errors_keep_their_digits():
    # 1 - 2 P_y + ΣP² would cancel to 0 here.
    assert cb.brier_score([0], [[1 - 1e-9, 1e-9]]) == pytest.approx(2e-18, rel=1e-6)


def test_sums_are_float64():
    p = np.full(100_000, 0.1, "float16")
    assert cb.brier_score(np.zeros(100_000, int), p) == pytest.approx(float(np.float16(0.1)) ** 2, rel=1e-12)


def test_of_a_grid(refusal):
    grid = cb.summarize("ece", [0, 1], [0.25, 0.5], weights=[1, 3])
    assert cb.brier_score(grid) == (0.0625 + 3 * 0.25) / 4
    for rows in ((grid,), ([0, 1], [0.5, 0.5])):
        assert "half=True is for class probabilities of shape (n, K)" in refusal(cb.brier_score, *rows, half=True)


def test_of_a_grid_of_rare_events_keeps_its_digits():
    p = np.array([1e-6, 2e-6, 5e-4])
    assert cb.brier_score(cb.summarize("ece", [0, 0, 0], p)) == pytest.approx(float((p * p).mean()), rel=1e-14)


@pytest.mark.parametrize(
    ("y", "prediction", "options", "score"),
    [
        ([1, 0], [0.5, 0.75], {}, (math.log(2) + math.log(4)) / 2),
        ([2, 0], [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]], {}, math.log(4) / 2),
        ([1, 0], [0.5, 0.75], {"weights": [1, 3]}, (math.log(2) + 3 * math.log(4)) / 4),
        ([0, 1], np.eye(2), {}, 0.0),
        ([1, 0], [1.0, 0.0], {}, 0.0),
        ([1, 0], [1.0, 0.0], {"clip": 0.25}, -math.log(0.75)),
        ([1, 0], [0.5, 0.75], {"clip": 0.1}, (math.log(2) + math.log(4)) / 2),
        *(
            (y, p, {}, math.inf)
            for y, p in (([1, 0], [0.0, 0.5]), ([0, 0], [1.0, 0.5]), ([1, 0], [[1, 0], [0.5, 0.5]]))
        ),
    ],
)
def test_log_scores_by_hand(y, prediction, options, score):
    assert cb.log_score(y, prediction, **options) == pytest.approx(score, rel=1e-15)


def test_certain_and_right_is_a_positive_zero():
    assert math.copysign(1, cb.log_score([1], [1.0])) == 1.0


def test_scores_near_one_keep_their_digits():
    p = 1 - 2**-50
    assert cb.log_score([0], [p]) == pytest.approx(50 * math.log(2), rel=1e-15)
    assert cb.log_score([1], [p]) == pytest.approx(2**-50, rel=1e-12)
    assert cb.log_score([0], [1e-20]) == pytest.approx(1e-20, rel=1e-12)


class TestClip:
    @pytest.mark.parametrize(("y", "p"), [([1], [0.0]), ([0], [1.0]), ([1], [[1.0, 0.0]])])
    @pytest.mark.parametrize("clip", [0.01, 2**-52, 1e-20, np.float32(0.25)])
    def test_is_the_probability_of_what_was_ruled_out(self, y, p, clip):
        assert cb.log_score(y, p, clip=clip) == pytest.approx(-math.log(clip), rel=1e-12)

    @pytest.mark.parametrize("clip", [0, 0.5, 1, -0.1, True, "auto", float("nan")])
    def test_refused(self, refusal, clip):
        message = refusal(cb.log_score, [0, 1], [0.25, 0.5], clip=clip)
        assert message == f"clip must be None or lie strictly between 0 and 0.5; got {clip!r}"


class TestDistributions:
    def test_by_hand(self):
        # -ln φ(z) + ln σ
        root = math.log(math.sqrt(2 * math.pi))
        found = cb.log_score([1.0, 4.0], cb.Normal([0.0, 4.0], [1.0, math.e]))
        assert found == pytest.approx((0.5 + root + 1 + root) / 2, rel=1e-15)

    def test_a_narrow_distribution_scores_below_zero(self):
        assert cb.log_score([0.0], cb.Normal(0.0, 1e-3)) < -5

    def test_vectors(self):
        mean, cov = np.zeros((3, 2)), np.array([[2.0, 0.5], [0.5, 1.0]])
        y = np.array([[0.0, 0.0], [1.0, 2.0], [-3.0, 0.5]])
        expected = -stats.multivariate_normal.logpdf(y, [0, 0], cov).mean()
        assert cb.log_score(y, cb.MvNormal(mean, cov)) == pytest.approx(expected, rel=1e-13)

    def test_an_outcome_outside_the_support(self):
        assert cb.log_score([0.5, 2.0], cb.ScipyDistribution(stats.uniform(loc=[0.0, 0.0]))) == math.inf

    def test_whole_numbers_have_probabilities(self):
        frozen = stats.poisson([3.0, 0.5])
        expected = -np.log([3.0**2 * math.exp(-3) / 2, math.exp(-0.5)]).mean()
        assert cb.log_score([2.0, 0.0], cb.ScipyDistribution(frozen)) == pytest.approx(expected, rel=1e-13)
        assert cb.log_score([2.5, 0.0], cb.ScipyDistribution(frozen)) == math.inf  # no whole number

    def test_no_clipping(self, refusal):
        assert "clip= is for probabilities" in refusal(cb.log_score, [0.0], cb.Normal(0.0, 1.0), clip=0.1)

    def test_draws_have_no_density(self, refusal):
        message = refusal(cb.log_score, [0.0], cb.Samples([[0.0, 1.0]]))
        assert message.endswith("got Samples. Draws have no density; crps and energy_score judge them")
        mixed = cb.Mixture([cb.Samples([[0.0]]), cb.Normal([0.0], 1.0)], [0.5, 0.5])
        assert "draws do not determine a density" in refusal(cb.log_score, [0.0], mixed, error=NotApplicableError)

    def test_distributions_that_do_not_tell(self, refusal):
        class Silent(cb.Distribution):
            n = 1

            def take(self, rows):
                return self

        assert "Silent has no log_density" in refusal(cb.log_score, [0.0], Silent(), error=NotApplicableError)

    def test_an_infinite_density(self, refusal):
        distribution = cb.ScipyDistribution(stats.beta(a=[0.5, 2.0], b=2.0))
        message = refusal(cb.log_score, [0.0, 0.5], distribution, error=NotApplicableError)
        assert "the density of ScipyDistribution at 0.0 is infinite" in message

    def test_climatology_and_the_truth(self, rng):
        mean = rng.normal(size=20_000)
        y = rng.normal(mean)
        assert cb.log_score(y, cb.Normal(mean, 1.0)) == pytest.approx(1.4189, rel=0.02)
        assert cb.log_score(y, cb.Normal(np.zeros(20_000), np.sqrt(2))) == pytest.approx(1.7655, rel=0.02)
