"""How narrow predictive distributions are."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Distribution, Intervals, Laplace, Mixture, MvNormal, Normal, Samples, ScipyDistribution
from calibrant.errors import InputError, NotApplicableError
from calibrant.ranking.spread import sharpness

RNG = np.random.default_rng(0)
DRAWS = RNG.normal(size=(6, 9, 2)) * [1.0, 3.0]
COV = np.array([[4.0, 1.0], [1.0, 9.0]])
VECTORS = MvNormal(RNG.normal(size=(6, 2)), COV)


class Own(Distribution):
    n = 1

    def take(self, rows):
        return self

    def ppf(self, q):
        return np.asarray(q) * 4

    def isf(self, q):
        return 4 - np.asarray(q) * 4


def test_standard_deviations():
    assert sharpness(Laplace([0.0, 1.0], [1.0, 3.0])) == pytest.approx(2 * np.sqrt(2), rel=1e-15)
    assert sharpness(Laplace([0.0, 1.0], [1.0, 7.0]), statistic="rms") == pytest.approx(np.sqrt(50), rel=1e-15)
    assert sharpness(Samples([[1.0, 3.0], [0.0, 0.0]])) == pytest.approx(np.sqrt(2) / 2, rel=1e-15)
    assert sharpness(ScipyDistribution(stats.gamma(a=[4.0, 9.0], scale=0.5))) == pytest.approx(1.25, rel=1e-14)
    assert sharpness(Normal([0.0, 0.0], [1.0, 5.0]), weights=[3, 1]) == 2.0
    np.testing.assert_allclose(sharpness(VECTORS), [2.0, 3.0], rtol=1e-15)
    np.testing.assert_allclose(sharpness(Samples(DRAWS)), DRAWS.std(axis=1, ddof=1).mean(axis=0), rtol=1e-14)
    rms = np.sqrt(DRAWS.var(axis=1, ddof=1).mean(axis=0))
    np.testing.assert_allclose(sharpness(Samples(DRAWS), statistic="rms"), rms, rtol=1e-14)
    distribution = Mixture([Normal([-1.0], 2.0), Laplace([3.0], 1.0)], [0.25, 0.75])
    # mean 2; 0.25 (4 + 9) + 0.75 (2 + 1)
    assert sharpness(distribution) == pytest.approx(np.sqrt(5.5), rel=1e-15)


def test_log_determinants_and_widths():
    expected = 2 * stats.norm.ppf(0.95) * 2
    assert sharpness(Normal([0.0, 9.0], [1.0, 3.0]), statistic="width", level=0.9) == pytest.approx(expected)
    assert sharpness(Own(), statistic="width", level=0.5) == 2.0
    # M = 3: [x_(1), x_(3)] has coverage 1/2; beyond, an end is infinite.
    distribution = Samples([[1.0, 2.0, 5.0], [0.0, 1.0, 2.0]])
    assert sharpness(distribution, statistic="width", level=0.5) == 3.0
    assert sharpness(distribution, statistic="width", level=0.9) == np.inf
    distribution = Normal([0.0], 1.0)
    found = sharpness(distribution, statistic="width", level=[0.5, 0.9])
    assert found.tolist() == pytest.approx(
        [sharpness(distribution, statistic="width", level=level) for level in (0.5, 0.9)], rel=1e-12
    )
    assert sharpness(distribution, statistic="width", level=[0.5]).shape == (1,)
    assert sharpness(VECTORS, statistic="log_det") == pytest.approx(np.log(35), rel=1e-14)
    assert sharpness(Normal([0.0, 0.0], [1.0, np.e]), statistic="log_det") == pytest.approx(1.0, rel=1e-15)
    expected = np.mean([np.linalg.slogdet(np.cov(row.T))[1] for row in DRAWS])
    assert sharpness(Samples(DRAWS), statistic="log_det") == pytest.approx(expected, rel=1e-12)
    distribution = Mixture([MvNormal([[0.0, 0.0]], COV), MvNormal([[2.0, 4.0]], COV)], [0.5, 0.5])
    expected = np.linalg.slogdet(COV + np.array([[1.0, 2.0], [2.0, 4.0]]))[1]
    assert sharpness(distribution, statistic="log_det") == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-139, 1e139])
def test_root_mean_squares_have_no_unit(scale):
    """Standard deviations 1 and 7 have the root mean square 5."""
    assert sharpness(Normal([0.0, 3.0], [scale, 7 * scale]), statistic="rms") == pytest.approx(5 * scale, rel=1e-13)
    assert sharpness(Samples([[scale, scale]] * 2), statistic="rms") == 0


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e307])
def test_root_mean_squares_beyond_the_range_of_squares(scale, refusal):
    for given in (Normal([0.0, 3.0], [1.0, scale]), Samples(np.array([[-1.0, 1.0], [-7.0, 7.0]]) * scale)):
        assert "Rescale the predictions" in refusal(sharpness, given, statistic="rms", error=NotApplicableError)


CAUCHY = ScipyDistribution(stats.cauchy(loc=[0.0]))


@pytest.mark.parametrize(
    ("prediction", "options", "error", "words"),
    [
        (Samples([[1.0]]), {}, InputError, "at least 2"),
        (VECTORS, {"level": 0.9}, InputError, 'level= is for statistic="width"'),
        (Normal(0.0, 1.0), {"statistic": "width"}, InputError, "needs level="),
        (Intervals([0.0], [1.0], 0.9), {}, InputError, "have a width"),
        (Samples(DRAWS[:, :2]), {"statistic": "log_det"}, InputError, "needs more draws than coordinates; got 2 for 2"),
        (Samples([[1.0, 1.0]]), {"statistic": "log_det"}, NotApplicableError, "singular"),
        (Own(), {}, NotApplicableError, "Own has no variances"),
        (CAUCHY, {}, NotApplicableError, "has no variance"),
    ],
)
def test_refusals(prediction, options, error, words, refusal):
    assert words in refusal(sharpness, prediction, error=error, **options)
