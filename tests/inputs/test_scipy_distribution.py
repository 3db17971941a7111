"""Distributions of scipy.stats."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Normal
from calibrant.inputs.scipy_distribution import ScipyDistribution

A, SCALE = np.array([0.5, 2.0, 7.0]), np.array([1.0, 3.0, 0.1])
X = np.array([[0.1, 1.0, 500.0]] * 3)
FORMS = {
    "by name": stats.gamma(a=A, scale=SCALE),
    "by place": stats.gamma(A, 0.0, SCALE),
    "mixed": stats.gamma(A, scale=SCALE.tolist()),
}


@pytest.mark.parametrize("name", FORMS)
def test_agrees_with_scipy(name):
    close = partial(np.testing.assert_allclose, rtol=1e-13, atol=1e-300)
    of_scipy, distribution = stats.gamma(A[:, None], scale=SCALE[:, None]), ScipyDistribution(FORMS[name])
    for ours, theirs in (("cdf", "cdf"), ("sf", "sf"), ("log_density", "logpdf")):
        expected, asked = getattr(of_scipy, theirs)(X), getattr(distribution, ours)
        close(asked(X), expected)
        close(asked(X[:, 1]), expected[:, 1])
        close(asked(1.0), expected[:, 1])
        close(getattr(distribution.take([2, 0]), ours)(X[:2]), expected[[2, 0]])
    q = np.array([[0.0, 1e-300, 0.5, 1.0]])
    for method in ("ppf", "isf"):
        close(getattr(distribution, method)(q), getattr(of_scipy, method)(q))
    m, mean, std = 20_000, A * SCALE, np.sqrt(A) * SCALE
    assert np.all(np.abs(distribution.sample(m, 0).mean(axis=1) - mean) < 5 * std / np.sqrt(m))


class TestMade:
    def test_numbers_alone_are_one_row(self):
        for frozen in (stats.norm(), stats.norm(0, 1), stats.norm(loc=0)):
            distribution = ScipyDistribution(frozen)
            assert distribution.n == 1
            assert distribution.cdf(0.0).tolist() == [0.5]
            assert distribution.take(np.array([0, 0])).n == 2
            assert distribution.take(np.array([0, 0])).sample(3, 0).shape == (2, 3)

    def test_is_a_copy_that_nobody_writes_to(self):
        loc = np.array([0.0, 1.0])
        distribution = ScipyDistribution(stats.norm(loc, 1))
        loc[:] = 9
        assert distribution.cdf([0.0, 1.0]).tolist() == [0.5, 0.5]
        with pytest.raises(ValueError, match="read-only"):
            distribution.args[0][0] = 1

    def test_agrees_with_our_own(self):
        x = np.linspace(-30, 30, 13)[None]
        ours, theirs = Normal([0, 1], 2), ScipyDistribution(stats.norm([0, 1], 2))
        for method in ("cdf", "sf", "log_density"):
            np.testing.assert_allclose(getattr(ours, method)(x), getattr(theirs, method)(x), rtol=1e-12)

    def test_infinite_degrees_of_freedom_are_legal(self):
        assert ScipyDistribution(stats.t(df=[3.0, np.inf])).cdf(0.0).tolist() == [0.5, 0.5]

    def test_discrete(self, refusal):
        distribution = ScipyDistribution(stats.binom(n=[2, 4], p=0.5))
        assert distribution.cdf([0, 2]) == pytest.approx([0.25, 11 / 16], rel=1e-14)
        assert distribution.sample(5, 0).dtype == np.float64
        assert "discrete binom has no density" in refusal(distribution.log_density, 0, error=NotApplicableError)

    def test_in_a_mixture(self):
        parts = [ScipyDistribution(stats.expon(scale=scale)) for scale in (1.0, 2.0)]
        distribution = Mixture(parts, [0.5, 0.5])
        assert distribution.sf(2.0)[0] == pytest.approx((np.exp(-2) + np.exp(-1)) / 2, rel=1e-15)
        assert distribution.cdf(distribution.ppf(0.9))[0] == pytest.approx(0.9, rel=1e-14)


REFUSED = {
    "not frozen": (stats.norm, ["frozen univariate distribution", "norm_gen"]),
    "several coordinates": (stats.multivariate_normal([0, 0]), ["frozen univariate distribution"]),
    "an array": (np.zeros(3), ["frozen univariate distribution", "ndarray"]),
    "scale": (stats.norm([0.0, 1.0], [1.0, -1.0]), ["row 1 is norm(1.0, -1.0)", "Scales must be positive"]),
    "shape": (stats.gamma(a=[1.0, 0.0], scale=2.0), ["row 1 is gamma(a=0.0, scale=2.0)"]),
    "missing": (stats.norm([0.0, np.nan], 1.0), ["row 1 is norm(nan, 1.0)", "no parameter may be missing"]),
    "infinite": (stats.norm([np.inf, 0.0], 1.0), ["row 0 is norm(inf, 1.0)"]),
    "infinite and bounded": (stats.uniform(scale=[1.0, np.inf]), ["row 1 is uniform(scale=inf)", "locations finite"]),
    "a column": (stats.norm(np.zeros((3, 1)), 1.0), ["args[0] must be one number per row", "(3, 1)", "args[0][:, 0]"]),
    "empty": (stats.norm(np.zeros(0), 1.0), ["args[0] of the distribution is empty"]),
    "a list of one": (
        stats.norm(np.zeros(3), scale=[1.0]),
        ["same number of rows; got 3 of args[0] and 1 of scale", "single number"],
    ),
}


def test_refused(refuses):
    refuses(ScipyDistribution, REFUSED)


NO_SCIPY_STATS = """
import sys
from calibrant import Mixture, MvNormal, Normal
distribution = Mixture([Normal(0, 1), Normal(1, 1)], [0.5, 0.5])
distribution.ppf(0.5), distribution.sample(2, 0), MvNormal([[0.0]], [[1.0]]).log_density([[0.0]])
assert 'scipy.stats' not in sys.modules
"""


def test_distributions_do_not_import_scipy_stats():
    subprocess.run([sys.executable, "-c", NO_SCIPY_STATS], check=True)
