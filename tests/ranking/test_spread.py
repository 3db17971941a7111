"""How much narrower predictions are than the outcomes are spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import Laplace, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyDistribution
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.ranking.spread import contraction, z_scores
from calibrant.summaries import Moments

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(40, 2)) * [1.0, 5.0]
DRAWS = RNG.normal(size=(40, 7, 2)) * [0.5, 9.0]


def by_definition(y, variance, w):
    """Return 1 - mean variance over the variance of y with the divisor W - Σw²/W."""
    mean = np.average(y, weights=w)
    of_y = (w * (y - mean) ** 2).sum() / (w.sum() - (w**2).sum() / w.sum())
    return 1 - np.average(variance, weights=w) / of_y


class TestValues:
    def test_by_hand(self):
        # var(0, 2) = 2; draws 1 and 3 have the variance 2, draws 0 and 1 have 1/2
        assert contraction([0.0, 2.0], Samples([[1.0, 3.0], [0.0, 1.0]])) == 1 - 1.25 / 2
        assert contraction([0.0, 2.0], Laplace([0.0, 0.0], [1.0, 1.0])) == 0.0
        assert contraction([0.0, 2.0], Normal([0.0, 0.0], 2.0)) == -1.0  # wider than the outcomes, not clipped
        assert contraction([0.0, 1.0], Samples([[0.3] * 5, [0.7] * 5])) == pytest.approx(1.0, abs=1e-30)
        assert contraction([0.0, 1.0], Normal([0.0, 0.0], [1.0, 1e200])) == -np.inf
        # sums of squares would keep no digit of a spread of 1 around a hundred million
        y = np.array([1e8, 1e8 + 2])
        assert contraction(y, Normal(y, 1.0)) == 0.5

    def test_vectors(self):
        expected = 1 - DRAWS.var(axis=1, ddof=1).mean(axis=0) / Y.var(axis=0, ddof=1)
        np.testing.assert_allclose(contraction(Y, Samples(DRAWS)), expected, rtol=1e-13)
        assert contraction(Y[:, :1], Samples(DRAWS[:, :, :1])).shape == (1,)
        y, draws = RNG.normal(size=3000), RNG.normal(size=(3000, 500))  # several blocks
        expected = 1 - draws.var(axis=1, ddof=1).mean() / y.var(ddof=1)
        assert contraction(y, Samples(draws)) == pytest.approx(expected, rel=1e-12)
        distribution = MvNormal(np.zeros((3, 2)), [[1.0, 0.5], [0.5, 9.0]])
        y = [[0.0, 0.0], [2.0, 3.0], [4.0, 6.0]]
        np.testing.assert_allclose(contraction(y, distribution), [1 - 1 / 4, 1 - 9 / 9], rtol=1e-15)

    def test_a_right_forecaster_and_climatology(self):
        mu = RNG.normal(size=4000)
        y = RNG.normal(mu)
        assert contraction(y, Normal(mu, 1.0)) == pytest.approx(0.5, abs=0.05)
        assert contraction(y, Normal(np.zeros(4000), np.sqrt(2))) == pytest.approx(0.0, abs=0.1)


class TestWeights:
    @given(st.lists(st.floats(0.01, 100), min_size=3, max_size=20), st.integers(0, 10**6))
    def test_are_in_both_variances(self, weights, seed):
        rng, w = np.random.default_rng(seed), np.array(weights)
        y, std = rng.normal(size=w.size) + 50, rng.uniform(0.5, 2, w.size)
        found = contraction(y, Normal(y, std), weights=w)
        assert found == pytest.approx(by_definition(y, std**2, w), rel=1e-9, abs=1e-9)

    def test_of_vectors(self):
        w = RNG.uniform(1, 3, 40)
        variance = DRAWS.var(axis=1, ddof=1)
        expected = [by_definition(Y[:, d], variance[:, d], w) for d in (0, 1)]
        np.testing.assert_allclose(contraction(Y, Samples(DRAWS), weights=w), expected, rtol=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(
        ("y", "prediction", "words"),
        [
            ([1.0], Normal([1.0], 1.0), "the variance of y needs at least 2 rows; got 1"),
            ([1.0] * 3, Normal([1.0] * 3, 1.0), "must be a finite number above 0"),
            ([0.0, 1e-200, 0.0], Normal([1.0] * 3, 1.0), "must be a finite number above 0"),
            ([0.0, 1e200, 0.0], Normal([1.0] * 3, 1.0), "must be a finite number above 0"),
            ([1.0, 2.0], ScipyDistribution(stats.cauchy(loc=[0.0, 1.0])), "no variance"),
        ],
    )
    def test_what_has_no_contraction(self, refusal, y, prediction, words):
        assert words in refusal(contraction, y, prediction, error=NotApplicableError)

    @pytest.mark.parametrize(
        ("verb", "y", "prediction", "words"),
        [
            (contraction, [1.0, 2.0], Samples([[1.0], [2.0]]), "at least 2"),
            (contraction, [1.0, 2.0], Samples([[1.0, 2.0], [np.inf, 0.0]]), "row 1, draw 0 is inf"),
            (contraction, [1.0], Quantiles([[1.0]], [0.5]), "contraction judges Samples or a distribution"),
            (z_scores, [1.0], Quantiles([[1.0]], [0.5]), "z_scores judges Samples or a distribution"),
            (z_scores, [1.0], Samples([[1.0]]), "at least 2 draws per row"),
            (z_scores, [1.0], Normal([0.0], 1e200), "row 0 is inf"),
            (z_scores, [1.0], ScipyDistribution(stats.cauchy(loc=[0.0])), "row 0 is nan"),
            (z_scores, [0.0, np.nan], Normal([0.0, 0.0], 1.0), "row 1 is nan"),
        ],
    )
    def test_input(self, refusal, verb, y, prediction, words):
        assert words in refusal(verb, y, prediction)

    def test_moments_of_something_else(self, refusal):
        other = Moments.of({"crps[law]": np.ones(3)}, np.ones(3))
        assert "not contraction variance" in refusal(contraction, other, error=SummaryError)


Z_RNG = np.random.default_rng(0)


class TestZScores:
    def test_by_hand(self):
        # the mean of 1, 2, 6 is 3 and its variance (4 + 1 + 9)/2 = 7
        np.testing.assert_allclose(z_scores([0.0], Samples([[1.0, 2.0, 6.0]])), [3 / np.sqrt(7)], rtol=1e-15)
        assert z_scores([3.0, -1.0], Normal([1.0, 1.0], [2.0, 4.0])).tolist() == [-1.0, 0.5]
        assert z_scores([0.0], Laplace([2.0], np.sqrt(0.5))).tolist() == pytest.approx([2.0], rel=1e-15)
        mixture = Mixture([Normal([-1.0], 2.0), Normal([1.0], 2.0)], [0.5, 0.5])
        np.testing.assert_allclose(z_scores([-5.0], mixture), [np.sqrt(5)], rtol=1e-15)
        np.testing.assert_allclose(z_scores([0.0], ScipyDistribution(stats.gamma(a=[4.0]))), [2.0], rtol=1e-15)
        draws = Z_RNG.normal(size=(5, 6, 2))
        y = Z_RNG.normal(size=(5, 2))
        expected = (draws.mean(axis=1) - y) / draws.std(axis=1, ddof=1)
        np.testing.assert_allclose(z_scores(y, Samples(draws)), expected, rtol=1e-13)
        distribution = MvNormal([[1.0, 2.0]], [[4.0, 1.0], [1.0, 9.0]])
        np.testing.assert_allclose(z_scores([[0.0, 5.0]], distribution), [[0.5, -1.0]], rtol=1e-15)

    @given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(0, 10**6))
    def test_units_do_not_matter(self, origin, unit, seed):
        rng = np.random.default_rng(seed)
        y, draws = rng.normal(size=4), rng.normal(size=(4, 5))
        found = z_scores(origin + unit * y, Samples(origin + unit * draws))
        np.testing.assert_allclose(found, z_scores(y, Samples(draws)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("M", [7, 20, 99])
def test_of_calibrated_gaussian_draws_the_variance_is_known(M):
    n = 40_000
    z = z_scores(Z_RNG.normal(size=n), Samples(Z_RNG.normal(size=(n, M))))
    expected = (1 + 1 / M) * (M - 1) / (M - 3)
    error = np.sqrt(((z**2).var()) / n)
    assert abs(z.mean()) < 4 * np.sqrt(expected / n)
    assert z.var(ddof=1) == pytest.approx(expected, abs=4 * error)


def test_draws_that_do_not_vary(refusal):
    # the mean of three times 0.1 is not 0.1, so that their variance is not 0
    draws = np.full((3, 3), 0.1)
    assert draws.var(axis=1, ddof=1)[0] > 0
    draws[:2] = Z_RNG.normal(size=(2, 3))
    message = refusal(z_scores, [1.0, 2.0, 3.0], Samples(draws))
    assert message.startswith("the predictive variance must be a finite number above 0; row 2 is 0.0. ")
    assert np.isfinite(z_scores([1e6], Samples(1e6 + np.array([[0.0, 1e-9, 2e-9]])))).all()  # close, not alike
    draws = Z_RNG.normal(size=(3, 4, 2))
    draws[1, :, 1] = 7.0
    message = refusal(z_scores, np.zeros((3, 2)), Samples(draws))
    assert "row 1, coordinate 1 is 0.0" in message


ONE, TWO = np.ones(2), np.array([[0.0, 1.0], [2.0, -1.0]])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
NUMBERS = [
    Normal(3 * ONE, 2.0),
    Laplace(3 * ONE, 2.0),
    ScipyDistribution(stats.gamma(a=[2.0, 5.0])),
    Mixture([Normal(3 * ONE, 2.0), Laplace(-ONE, 1.0), ScipyDistribution(stats.gamma(a=2 * ONE))], [0.2, 0.3, 0.5]),
]
VECTORS = [
    MvNormal(TWO, COV),
    Mixture([MvNormal(TWO, COV), MvNormal(TWO + np.array([1.0, 3.0]), np.eye(2))], [0.25, 0.75]),
]


@pytest.mark.parametrize("distribution", [*NUMBERS, *VECTORS], ids=lambda distribution: type(distribution).__name__)
def test_moments_of_distributions(distribution):
    draws = distribution.sample(200_000 if distribution in NUMBERS else 100_000, 0)
    np.testing.assert_allclose(distribution.means(), draws.mean(axis=1), atol=0.03)
    np.testing.assert_allclose(distribution.variances(), draws.var(axis=1), rtol=0.03)
    covariances = distribution.covariances()
    variances = np.diagonal(covariances, axis1=1, axis2=2).reshape(distribution.variances().shape)
    np.testing.assert_allclose(distribution.variances(), variances, rtol=1e-13)
    if distribution.shape:
        np.testing.assert_allclose(covariances, [np.cov(row.T) for row in draws], atol=0.06)


def test_draws_divide_by_one_less():
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    np.testing.assert_allclose(Samples(x).covariances(), [np.cov(row.T) for row in x], rtol=1e-13)
    np.testing.assert_allclose(Samples(x).variances(), x.var(axis=1, ddof=1), rtol=1e-14)
    np.testing.assert_allclose(Samples(x).means(), x.mean(axis=1), rtol=1e-15)


@pytest.mark.parametrize("spread", ["variances", "covariances"])
@pytest.mark.parametrize("draws", [[[1.0]], [[[1.0, 2.0]]]])
def test_one_draw_has_no_spread(spread, draws):
    with pytest.raises(InputError, match="at least 2"):
        getattr(Samples(draws), spread)()
