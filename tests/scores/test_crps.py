"""Continuous ranked probability score."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from calibrant import Laplace, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyDistribution
from calibrant.errors import InputError, NotApplicableError
from calibrant.scores import crps as module
from calibrant.scores.crps import between, crps, distribution_crps, from_point, normal_mean

ensembles = st.integers(1, 6).flatmap(
    lambda M: st.lists(
        st.tuples(st.integers(-5, 5), st.lists(st.integers(-5, 5), min_size=M, max_size=M)), min_size=1, max_size=6
    )
)


def integral(distribution, y):
    """Return ∫ (F - 1{y <= x})² dx, cut where the integrand has a jump or a kink."""
    cuts = np.unique([-80.0, -10.0, -1.0, 0.0, 1.0, 2.0, 10.0, 80.0, y])
    parts = [
        quad(lambda x, F=distribution.cdf if b <= y else distribution.sf: F(x)[0] ** 2, a, b, epsabs=1e-13, limit=400)
        for a, b in pairwise(cuts)
    ]
    return sum(part[0] for part in parts)


class TestDraws:
    @given(ensembles, st.booleans())
    def test_is_the_mean_of_distances(self, drawn, fair):
        y, x = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
        M = x.shape[1]
        if fair and M == 1:
            return
        spread = np.abs(x[:, :, None] - x[:, None, :]).sum(axis=(1, 2)) / (M * (M - 1) if fair else M * M)
        expected = np.abs(x - y[:, None]).mean(axis=1) - spread / 2
        assert crps(y, Samples(x), fair=fair) == pytest.approx(expected.mean(), abs=1e-12)

    def test_is_the_integral(self):
        x = np.array([0.0, 1.0, 1.0, 4.0])
        F = np.array([0.25, 0.75])  # on (0, 1) and (1, 4)
        # y = 2: F² left of it, (1 - F)² right of it.
        expected = F[0] ** 2 + F[1] ** 2 * 1 + (1 - F[1]) ** 2 * 2
        assert crps([2.0], Samples([x])) == pytest.approx(expected, rel=1e-15)

    def test_fair_is_unbiased_for_the_distribution(self, rng):
        n = 40_000
        y, truth = rng.normal(size=n), Normal(np.zeros(n), 1.0)
        few, many = (Samples(truth.sample(M, rng)) for M in (2, 20))
        exact = crps(y, truth)
        assert crps(y, few, fair=True) == pytest.approx(exact, abs=0.015)
        assert crps(y, many, fair=True) == pytest.approx(exact, abs=0.01)
        assert crps(y, few) > exact + 0.2

    def test_by_hand(self):
        x = np.array([[1.0, 2.0, 4.0]])
        assert crps([2.0 + 2**40], Samples(x + 2**40)) == crps([2.0], Samples(x))  # no digit is lost
        assert crps([0.1], Samples([[0.1, 0.1, 0.1]])) == 0.0
        assert crps([1, 5], Samples([[3.0], [5.0]])) == 1.0  # of one draw the absolute error

    def test_blocks(self, monkeypatch, rng):
        y, x = rng.normal(size=40), rng.normal(size=(40, 5))
        whole = crps(y, Samples(x))
        monkeypatch.setattr(module, "MAX_DRAWS_AT_ONCE", 16)
        assert crps(y, Samples(x)) == pytest.approx(whole, rel=1e-14)

    def test_vectors_are_scored_by_coordinate(self, rng):
        y, x = rng.normal(size=(9, 3)), rng.normal(size=(9, 4, 3))
        found = crps(y, Samples(x))
        assert found.shape == (3,)
        for d in range(3):
            assert found[d] == pytest.approx(crps(y[:, d], Samples(x[:, :, d])), rel=1e-12)
        assert crps(y[:, :1], Samples(x[:, :, :1])).shape == (1,)


class TestDistributions:
    @pytest.mark.parametrize("y", [-2.5, 0.0, 0.3, 6.0])
    @pytest.mark.parametrize(
        "distribution",
        [
            Normal([0.5], 1.3),
            Laplace([0.0], 0.7),
            Mixture([Normal([-1.0], 0.5), Normal([2.0], 1.5)], [0.3, 0.7]),
            Mixture([Laplace([-1.0], 0.5), Laplace([2.0], 0.5)], [0.3, 0.7]),
            Mixture([Normal([0.0], 1.2), Laplace([1.0], 0.5), Normal([2.0], 0.3)], [0.4, 0.35, 0.25]),
        ],
        ids=lambda distribution: type(distribution).__name__,
    )
    def test_is_the_integral(self, distribution, y):
        assert crps([y], distribution) == pytest.approx(integral(distribution, y), rel=1e-9)

    def test_a_mixture_of_one_distribution_twice_is_that_distribution(self):
        y = np.linspace(-3, 3, 7)
        for distribution in (Normal(np.zeros(7), 1.5), Laplace(np.zeros(7), 1.5)):
            both = Mixture([distribution, distribution], [0.25, 0.75])
            np.testing.assert_allclose(distribution_crps(both, y), distribution_crps(distribution, y), rtol=1e-14)

    def test_outcomes_far_out(self):
        assert crps([1e300], Normal(0.0, 1e-5)) == 1e300
        assert crps([1e300], Laplace(0.0, 1e-5)) == 1e300

    def test_the_true_distribution_scores_its_spread(self, rng):
        mean = rng.normal(size=20_000)
        y = rng.normal(mean)
        assert crps(y, Normal(mean, 1.0)) == pytest.approx(1 / np.sqrt(np.pi), rel=0.02)
        assert crps(y, Normal(np.zeros(20_000), np.sqrt(2))) == pytest.approx(np.sqrt(2 / np.pi), rel=0.02)


class TestWholeNumbers:
    @pytest.mark.parametrize("y", [0.0, 2.0, 3.4, 7.0, -2.5, 400.0])
    @pytest.mark.parametrize(
        "frozen",
        [
            stats.poisson(3.0),
            stats.poisson(3.0, loc=0.25),
            stats.binom(10, 0.3),
            stats.nbinom(2, 0.2),
            stats.geom(0.4),
            stats.skellam(4.0, 2.0),
            stats.bernoulli(0.0),
        ],
        ids=lambda frozen: frozen.dist.name,
    )
    def test_is_the_mean_of_distances(self, frozen, y):
        # E|X - y| - E|X - X'| / 2 by sums over the probabilities.
        x = np.arange(-200, 400) + frozen.ppf(0.5)
        p = frozen.pmf(x)
        assert p.sum() == pytest.approx(1)
        expected = p @ np.abs(x - y) - p @ np.abs(x[:, None] - x) @ p / 2
        assert crps([y], ScipyDistribution(frozen)) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_rows_of_very_different_width(self, monkeypatch):
        mu = np.array([0.1, 5e4, 3.0, 200.0, 0.1])
        y = mu + np.array([0.0, 100.0, -1.0, 7.5, 2.0])
        alone = [crps(y[[k]], ScipyDistribution(stats.poisson(mu[[k]]))) for k in range(5)]
        for block in (1, 100, 1 << 20):
            monkeypatch.setattr(module, "MAX_DRAWS_AT_ONCE", block)
            assert crps(y, ScipyDistribution(stats.poisson(mu))) == pytest.approx(np.mean(alone), rel=1e-12)

    def test_too_many_values(self, refusal):
        message = refusal(crps, [1.0, 1.0], ScipyDistribution(stats.zipf([4.0, 1.2])), error=NotApplicableError)
        assert "row 1 has inf" in message
        assert "Samples" in message

    def test_the_true_distribution_scores_best(self):
        y = stats.poisson(4.0).rvs(4000, random_state=0).astype(float)
        scores = [crps(y, ScipyDistribution(stats.poisson(np.full(4000, mu)))) for mu in (4.0, 3.0, 5.0)]
        assert np.argmin(scores) == 0


WITH_T = Mixture([Normal([0.0], 1.0), ScipyDistribution(stats.t(df=[3.0]))], [0.5, 0.5])


@pytest.mark.parametrize(
    ("prediction", "options", "words"),
    [
        *(
            (ScipyDistribution(stats.gamma(a=[2.0])), {}, words)
            for words in ("got ScipyDistribution of gamma", "scoringrules", "logistic", "GEV", "censored")
        ),
        (ScipyDistribution(stats.gamma(a=[2.0])), {}, "Samples(distribution.sample(1000, rng))"),
        (WITH_T, {}, "Mixture of Normal, ScipyDistribution of t"),
        (MvNormal([[0.0, 0.0]], np.eye(2)), {}, "energy_score(y, Samples("),
        (Quantiles([[0.0, 1.0]], [0.1, 0.9]), {}, "got Quantiles. weighted_interval_score is the CRPS of quantiles"),
        (Normal(0.0, 1.0), {"fair": True}, "fair=True is for Samples"),
        (Samples([[3.0]]), {"fair": True}, "at least 2 draws"),
    ],
)
def test_refusals(prediction, options, words):
    y = [[0.0, 1.0]] if isinstance(prediction, MvNormal) else [1.0]
    with pytest.raises(InputError, match=re.escape(words)):
        crps(y, prediction, **options)


DISTRIBUTIONS = {"normal": lambda m, s: Normal([m], s), "laplace": lambda m, s: Laplace([m], s)}


def integral_absolute_differences(f, *points):
    """Integrate over the line, cut where f has a kink."""
    cuts = [-60.0, *sorted(points), 60.0]
    return sum(quad(f, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for a, b in pairwise(cuts))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("y", [-3.0, 0.5, 0.7, 4.0])
def test_from_a_point(name, y):
    distribution = DISTRIBUTIONS[name](0.5, 1.3)
    expected = quad(lambda x: distribution.cdf(x)[0], -60, y, limit=400, points=[0.5] if y > 0.5 else None)[0]
    expected += quad(lambda x: distribution.sf(x)[0], y, 60, limit=400, points=[0.5] if y < 0.5 else None)[0]
    assert from_point(distribution, np.array([y]))[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("second", DISTRIBUTIONS)
@pytest.mark.parametrize("first", DISTRIBUTIONS)
@pytest.mark.parametrize(("m", "s", "t"), [(0.0, 1.0, 2.0), (1.5, 0.4, 1.1), (-3.0, 2.0, 0.3), (0.7, 1.0, 1.0)])
def test_between_two_distributions(first, second, m, s, t):
    one, other = DISTRIBUTIONS[first](m, s), DISTRIBUTIONS[second](0.0, t)
    # E|X - X'| = ∫ F(1 - G) + G(1 - F)
    expected = integral_absolute_differences(
        lambda x: (one.cdf(x) * other.sf(x) + other.cdf(x) * one.sf(x))[0], min(m, 0.0), max(m, 0.0)
    )
    assert between(one, other)[0] == pytest.approx(expected, rel=1e-9)
    assert between(other, one)[0] == pytest.approx(between(one, other)[0], rel=1e-13)


def test_equal_laplace_scales():
    m = np.linspace(0, 5, 11)
    np.testing.assert_allclose(between(Laplace(m, 1.0), Laplace(0 * m, 1.0)), m + np.exp(-m) * (3 + m) / 2, rtol=1e-15)


@pytest.mark.parametrize("ratio", [1 + 1.9e-5, 1 + 2.1e-5, 1 + 1e-3])
def test_nearly_equal_laplace_scales(ratio):
    m, b, c = np.linspace(0, 5, 11), np.longdouble(1.0), np.longdouble(ratio)
    exact = m + (b**3 * np.exp(-m / b) - c**3 * np.exp(-m / c)) / (b * b - c * c)
    np.testing.assert_allclose(between(Laplace(m, 1.0), Laplace(0 * m, ratio)), exact.astype(float), rtol=1e-10)


def test_scales_far_apart():
    # A law that is nearly a point: the distance of the other from that point.
    point = np.array([0.7])
    for tiny in (1e-30, 1e-200):
        near = (Normal([0.7], tiny), Laplace([0.7], tiny))
        for distribution in (Normal([0.0], 1.0), Laplace([0.0], 1.0)):
            for other in near:
                assert between(distribution, other)[0] == pytest.approx(from_point(distribution, point)[0], rel=1e-14)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e300])
def test_no_number_leaves_the_range(scale):
    for first in (Normal, Laplace):
        for second in (Normal, Laplace):
            unit = between(first([1.0], 0.5), second([0.0], 2.0))[0]
            assert between(first([scale], 0.5 * scale), second([0.0], 2 * scale))[0] == pytest.approx(unit * scale)


def test_far_from_zero():
    assert normal_mean(np.array([1e300, -1e300]), np.array([1e-300, 1.0])).tolist() == [1e300, 1e300]
