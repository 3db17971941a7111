"""Errors in predictive standard deviations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import Laplace, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyLaw
from calibrant.metrics.z_scores import z_scores

RNG = np.random.default_rng(0)


class TestValues:
    def test_by_hand(self):
        # the mean of 1, 2, 6 is 3 and its variance (4 + 1 + 9)/2 = 7
        np.testing.assert_allclose(z_scores([0.0], Samples([[1.0, 2.0, 6.0]])), [3 / np.sqrt(7)], rtol=1e-15)
        assert z_scores([3.0, -1.0], Normal([1.0, 1.0], [2.0, 4.0])).tolist() == [-1.0, 0.5]
        assert z_scores([0.0], Laplace([2.0], np.sqrt(0.5))).tolist() == pytest.approx([2.0], rel=1e-15)

    def test_positive_where_predictions_are_too_high(self):
        assert z_scores([0.0], Normal([1.0], 1.0))[0] == 1.0

    def test_vectors(self):
        draws = RNG.normal(size=(5, 6, 2))
        y = RNG.normal(size=(5, 2))
        expected = (draws.mean(axis=1) - y) / draws.std(axis=1, ddof=1)
        np.testing.assert_allclose(z_scores(y, Samples(draws)), expected, rtol=1e-13)
        law = MvNormal([[1.0, 2.0]], [[4.0, 1.0], [1.0, 9.0]])
        np.testing.assert_allclose(z_scores([[0.0, 5.0]], law), [[0.5, -1.0]], rtol=1e-15)

    def test_mixtures_and_laws_of_scipy(self):
        mixture = Mixture([Normal([-1.0], 2.0), Normal([1.0], 2.0)], [0.5, 0.5])
        np.testing.assert_allclose(z_scores([-5.0], mixture), [np.sqrt(5)], rtol=1e-15)
        np.testing.assert_allclose(z_scores([0.0], ScipyLaw(stats.gamma(a=[4.0]))), [2.0], rtol=1e-15)

    @given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(0, 10**6))
    def test_units_do_not_matter(self, origin, unit, seed):
        rng = np.random.default_rng(seed)
        y, draws = rng.normal(size=4), rng.normal(size=(4, 5))
        found = z_scores(origin + unit * y, Samples(origin + unit * draws))
        np.testing.assert_allclose(found, z_scores(y, Samples(draws)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("M", [7, 20, 99])
def test_of_calibrated_gaussian_draws_the_variance_is_known(M):
    n = 40_000
    z = z_scores(RNG.normal(size=n), Samples(RNG.normal(size=(n, M))))
    expected = (1 + 1 / M) * (M - 1) / (M - 3)
    error = np.sqrt(((z**2).var()) / n)
    assert abs(z.mean()) < 4 * np.sqrt(expected / n)
    assert z.var(ddof=1) == pytest.approx(expected, abs=4 * error)


class TestRefusals:
    def test_draws_that_are_all_alike(self, refusal):
        # the mean of three times 0.1 is not 0.1, so that their variance is not 0
        draws = np.full((3, 3), 0.1)
        assert draws.var(axis=1, ddof=1)[0] > 0
        draws[:2] = RNG.normal(size=(2, 3))
        message = refusal(z_scores, [1.0, 2.0, 3.0], Samples(draws))
        assert message.startswith("the predictive variance must be a finite number above 0; row 2 is 0.0. ")

    def test_a_coordinate_that_does_not_vary(self, refusal):
        draws = RNG.normal(size=(3, 4, 2))
        draws[1, :, 1] = 7.0
        message = refusal(z_scores, np.zeros((3, 2)), Samples(draws))
        assert "row 1, coordinate 1 is 0.0" in message

    def test_draws_close_together_but_not_alike_are_scored(self):
        draws = 1e6 + np.array([[0.0, 1e-9, 2e-9]])
        assert np.isfinite(z_scores([1e6], Samples(draws))).all()

    def test_one_draw(self, refusal):
        assert "at least 2 draws per row" in refusal(z_scores, [1.0], Samples([[1.0]]))

    def test_a_variance_beyond_numbers(self, refusal):
        assert "row 0 is inf" in refusal(z_scores, [1.0], Normal([0.0], 1e200))

    def test_laws_without_a_variance(self, refusal):
        assert "row 0 is nan" in refusal(z_scores, [1.0], ScipyLaw(stats.cauchy(loc=[0.0])))

    def test_quantiles(self, refusal):
        assert "z_scores judges Samples or a law" in refusal(z_scores, [1.0], Quantiles([[1.0]], [0.5]))

    def test_outcomes_that_are_missing(self, refusal):
        assert "row 1 is nan" in refusal(z_scores, [0.0, np.nan], Normal([0.0, 0.0], 1.0))
