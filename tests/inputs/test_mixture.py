"""Mixtures of distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution

MEANS = np.array([[0.0, 3.0, -40.0], [1.0, 1.0, 1.0], [5.0, -5.0, 0.0]])  # (n, C)
STDS = np.array([[1.0, 0.5, 2.0], [0.1, 1.0, 10.0], [1.0, 1.0, 1.0]])
WEIGHTS = np.array([[0.2, 0.5, 0.3], [0.0, 0.25, 0.75], [0.5, 0.5, 0.0]])
DISTRIBUTION = Mixture([Normal(MEANS[:, c], STDS[:, c]) for c in range(3)], WEIGHTS)
X = np.linspace(-60, 60, 41)


def scipy_sum(method, x):
    parts = [getattr(stats.norm(MEANS[:, c, None], STDS[:, c, None]), method)(x) for c in range(3)]
    return sum(WEIGHTS[:, c, None] * parts[c] for c in range(3))


class TestAsked:
    def test_hand_numbers(self):
        distribution = Mixture([Normal(0, 1), Normal(0, 2)], [0.25, 0.75])
        assert distribution.cdf(0.0).tolist() == [0.5]
        density = (0.25 * 1 + 0.75 / 2) / np.sqrt(2 * np.pi)
        assert distribution.log_density(0.0)[0] == pytest.approx(np.log(density), rel=1e-15)

    @pytest.mark.parametrize("method", ["cdf", "sf"])
    def test_tails_are_sums(self, method):
        np.testing.assert_allclose(getattr(DISTRIBUTION, method)(X[None]), scipy_sum(method, X), rtol=1e-12)

    def test_log_density_far_away(self):
        x = np.array([-1e3, -50.0, 0.0, 1e3])
        with np.errstate(divide="ignore"):
            log_w = np.log(WEIGHTS)
        parts = [log_w[:, c, None] + stats.norm(MEANS[:, c, None], STDS[:, c, None]).logpdf(x) for c in range(3)]
        np.testing.assert_allclose(DISTRIBUTION.log_density(x[None]), logsumexp(parts, axis=0), rtol=1e-12)

    def test_vectors(self):
        a, b = MvNormal(np.zeros((2, 2)), np.eye(2)), MvNormal(np.ones((2, 2)), [[2.0, 0.5], [0.5, 1.0]])
        x = np.arange(12.0).reshape(2, 3, 2)
        distribution = Mixture([a, b], [[0.5, 0.5], [1.0, 0.0]])
        assert distribution.shape == (2,)
        expected = np.log(0.5 * np.exp(a.log_density(x)) + 0.5 * np.exp(b.log_density(x)))
        np.testing.assert_allclose(distribution.log_density(x)[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(distribution.log_density(x)[1], a.log_density(x)[1], rtol=1e-15)

    def test_an_infinite_density_of_weight_0_does_not_count(self):
        distribution = Mixture([Normal(0, 1), ScipyDistribution(stats.gamma(a=0.5))], [1.0, 0.0])
        assert np.allclose(distribution.log_density(0.0), Normal(0, 1).log_density(0.0), rtol=1e-13, atol=1e-300)


class TestQuantiles:
    def test_of_equal_components_are_theirs(self):
        distribution = Mixture([Normal([1.0, 2.0], 3.0)] * 2, [0.5, 0.5])
        q = [[1e-300, 0.1, 0.5, 0.9]]
        assert np.allclose(distribution.ppf(q), Normal([1.0, 2.0], 3.0).ppf(q), rtol=1e-13, atol=1e-300)
        assert np.allclose(distribution.isf(q), Normal([1.0, 2.0], 3.0).isf(q), rtol=1e-13, atol=1e-300)

    def test_are_exact_to_the_last_digit(self):
        q = np.random.default_rng(0).random((3, 50))
        x = DISTRIBUTION.ppf(q)
        assert np.all(DISTRIBUTION.cdf(x) >= q)
        assert np.all(DISTRIBUTION.cdf(np.nextafter(x, -np.inf)) < q)
        x = DISTRIBUTION.isf(q)
        assert np.all(DISTRIBUTION.sf(x) <= q)
        assert np.all(DISTRIBUTION.sf(np.nextafter(x, -np.inf)) > q)

    def test_round_trips(self):
        x = np.linspace(-3, 3, 31)[None] * STDS[:, 1:2] + MEANS[:, 1:2]
        np.testing.assert_allclose(DISTRIBUTION.ppf(DISTRIBUTION.cdf(x)), x, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(DISTRIBUTION.isf(DISTRIBUTION.sf(x)), x, rtol=1e-11, atol=1e-11)

    def test_far_tails(self):
        distribution = Mixture([Normal(0, 1), Laplace(0, 1)], [0.5, 0.5])
        # Beyond the normal the Laplace tail is left: 0.5 * 0.5 * exp(-x) = q.
        assert distribution.isf(1e-200)[0] == pytest.approx(np.log(0.25) + 200 * np.log(10), rel=1e-14)
        assert distribution.ppf(1e-200)[0] == pytest.approx(-np.log(0.25) - 200 * np.log(10), rel=1e-14)

    def test_near_zero_and_across_scales(self):
        distribution = Mixture([Laplace(0, 1e-200), Laplace(0, 1e200)], [0.5, 0.5])
        # F(x) = 1/2 + (1 - exp(-x / 1e-200)) / 4 for the first, while the second stays at 1/2.
        assert distribution.ppf(0.625)[0] == pytest.approx(1e-200 * np.log(2), rel=1e-12)
        assert distribution.ppf(0.5).tolist() == [0.0]
        assert distribution.isf(0.625)[0] == pytest.approx(-1e-200 * np.log(2), rel=1e-12)

    def test_ends(self):
        bounded = ScipyDistribution(stats.uniform([2.0, 2.0], 3.0))
        distribution = Mixture([bounded, Normal([0.0, 0.0], 1.0)], [[0.5, 0.5], [1.0, 0.0]])
        assert distribution.ppf(0.0).tolist() == [-np.inf, 2.0]
        assert distribution.ppf(1.0).tolist() == [np.inf, 5.0]
        assert distribution.isf(0.0).tolist() == [np.inf, 5.0]
        assert distribution.isf(1.0).tolist() == [-np.inf, 2.0]

    def test_of_draws_are_draws(self):
        distribution = Mixture([Samples([[1.0, 2.0]]), Samples([[3.0, 4.0]])], [0.5, 0.5])
        q = np.array([[0.0, 0.2, 0.25, 0.26, 0.5, 0.51, 0.75, 0.8, 1.0]])
        assert distribution.ppf(q).tolist() == [[1, 1, 1, 2, 2, 3, 3, 4, 4]]
        assert distribution.isf(1 - q).tolist() == [[1, 1, 1, 2, 2, 3, 3, 4, 4]]

    @given(
        st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6),
        st.floats(0, 1), st.floats(0, 1),
    )  # fmt: skip
    def test_property(self, a, b, s, t, w, q):
        distribution = Mixture([Normal(a, s), Laplace(b, t)], [w, 1 - w])
        x = distribution.ppf(q)
        if 0 < q < 1:
            # One step of x changes the distribution function by more than its own rounding where x is large.
            assert distribution.cdf(np.nextafter(x, np.inf)) >= q * (1 - 1e-14)
            assert distribution.cdf(np.nextafter(x, -np.inf)) <= q * (1 + 1e-14)


class TestMade:
    def test_weights(self):
        distributions = [Normal([0, 1], 1), Laplace([0, 1], 1)]
        assert Mixture(distributions, [0.25, 0.75]).weights.tolist() == [[0.25, 0.75], [0.25, 0.75]]
        assert Mixture(distributions, [[1, 0], [0, 1]]).weights.tolist() == [[1, 0], [0, 1]]
        assert Mixture([Normal(0, 1), Normal(1, 1)], [0.5, 0.5 + 5e-7]).weights.tolist() == [[0.5, 0.5 + 5e-7]]

    def test_mixtures_of_mixtures_are_spread_out(self):
        inner = Mixture([Normal(0, 1), Normal(1, 1)], [0.25, 0.75])
        distribution = Mixture([inner, Normal(2, 1)], [0.5, 0.5])
        assert [float(part.mean[0]) for part in distribution.components] == [0.0, 1.0, 2.0]
        assert distribution.weights.tolist() == [[0.125, 0.375, 0.5]]
        assert distribution.cdf(0.3) == pytest.approx(0.5 * inner.cdf(0.3) + 0.5 * Normal(2, 1).cdf(0.3), rel=1e-15)

    def test_components_of_a_generator_and_weights_that_nobody_writes_to(self):
        given_weights = np.full(3, 1 / 3)
        distribution = Mixture((Normal(m, 1) for m in range(3)), given_weights)
        given_weights[0] = 9
        assert distribution.weights.tolist() == [[1 / 3] * 3]
        assert not distribution.weights.flags.writeable


class TestSample:
    def test_shares_of_the_components(self):
        m = 40_000
        distribution = Mixture(
            [Normal([-100.0] * 2, 1), Normal([0.0] * 2, 1), Normal([100.0] * 2, 1)], [[0.2, 0.5, 0.3], [0, 1, 0]]
        )
        draws = distribution.sample(m, 0)
        shares = np.array([(draws < -50).mean(axis=1), (np.abs(draws) < 50).mean(axis=1), (draws > 50).mean(axis=1)]).T
        assert np.all(np.abs(shares[0] - [0.2, 0.5, 0.3]) < 2.5 / np.sqrt(m))
        assert shares[1].tolist() == [0.0, 1.0, 0.0]

    def test_follows_the_cdf(self):
        m = 40_000
        share = (DISTRIBUTION.sample(m, 1) <= DISTRIBUTION.ppf(0.3)[:, None]).mean(axis=1)
        assert np.all(np.abs(share - 0.3) < 5 * np.sqrt(0.3 * 0.7 / m))

    def test_vectors_come_whole(self):
        a, b = MvNormal(np.full((1, 2), -50.0), np.eye(2)), MvNormal(np.full((1, 2), 50.0), np.eye(2))
        draws = Mixture([a, b], [0.5, 0.5]).sample(200, 0)
        assert draws.shape == (1, 200, 2)
        assert np.all(np.sign(draws[..., 0]) == np.sign(draws[..., 1]))


TWO = [Normal([0, 1], 1), Normal([2, 3], 1)]
REFUSED = {
    "one distribution": ((TWO[0], [1.0]), ["components must be a list of distributions"]),
    "a number": ((3, [1.0]), ["components must be a list of distributions", "got 3"]),
    "none": (([], []), ["components is empty"]),
    "not a distribution": (([TWO[0], 2.0], [0.5, 0.5]), ["component 1 is 2.0 (float)"]),
    "text": (("ab", [0.5, 0.5]), ["component 0 is 'a' (str)"]),
    "other rows": (([TWO[0], Normal(0, 1)], [0.5, 0.5]), ["number of rows", "component 0 has 2 and component 1 has 1"]),
    "other shape": (
        ([TWO[0], MvNormal(np.zeros((2, 3)), np.eye(3))], [0.5, 0.5]),
        ["number of coordinates", "component 0 has () and component 1 has (3,)"],
    ),
    "too few weights": ((TWO, [1.0]), ["(C,) = (2,)", "(n, C) = (2, 2)", "got shape (1,)"]),
    "one weight": ((TWO, 1.0), ["got shape ()"]),
    "turned weights": ((TWO, np.full((3, 2), 0.5)), ["got shape (3, 2)"]),
    "negative": ((TWO, [1.5, -0.5]), ["weights must be at least 0", "component 1 is -0.5"]),
    "negative in a row": ((TWO, [[0.5, 0.5], [-0.5, 1.5]]), ["at least 0", "row 1, component 0 is -0.5"]),
    "sum": ((TWO, [0.5, 0.4]), ["sum of weights must be 1 within 1e-06", "got 0.9", "Divide"]),
    "sum of a row": ((TWO, [[0.5, 0.5], [0.5, 0.25]]), ["sum of weights must be 1", "row 1 is 0.75"]),
    "missing": ((TWO, [0.5, np.nan]), ["weights must be finite", "component 1 is nan"]),
    "missing in a row": ((TWO, [[0.5, 0.5], [np.inf, 0.5]]), ["weights must be finite", "row 1, component 0 is inf"]),
    "text as weights": ((TWO, ["a", "b"]), ["weights must be real numbers", "'a'"]),
}


def test_refused(refuses):
    refuses(lambda values: Mixture(*values), REFUSED)
