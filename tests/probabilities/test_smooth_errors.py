"""Calibration errors without bins: smooth ECE and smooth calibration error."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, linprog

from calibrant import consistency_test, equivalence_test, interval, smce, smooth_ece, top_label
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities import smooth_errors
from calibrant.probabilities.smooth_errors import LocalNoise, cosine_moments, reflected_gaussian
from calibrant.summaries import Ordered

RNG = np.random.default_rng(0)
n = 40
P = RNG.integers(0, 17, n) / 16
Y = (RNG.random(n) < P**0.6).astype(int)
W = RNG.uniform(0.5, 3, n)
SPREAD = RNG.random(400)
HAPPENED = RNG.random(400) < SPREAD**0.6
SCALE = math.sqrt(max((SPREAD * (1 - SPREAD)).sum(), ((HAPPENED - SPREAD) ** 2).sum())) / 400  # of the noise


def defined_at(sigma, y, p, w):
    """Return the integral of the absolute smoothed residuals by quadrature."""

    def g(t):
        images = sum(np.exp(-0.5 * ((t + side * p - 2 * k) / sigma) ** 2) for k in range(-3, 4) for side in (-1, 1)) / (
            sigma * math.sqrt(2 * math.pi)
        )
        return float((w * (y - p) * images).sum() / w.sum())

    mesh = np.linspace(0, 1, 801)
    values = [g(t) for t in mesh]
    roots = [brentq(g, a, b) for a, b, c, d in zip(mesh, mesh[1:], values, values[1:], strict=False) if c * d < 0]
    ends = [0.0, *roots, 1.0]
    return sum(abs(quad(g, a, b, limit=200)[0]) for a, b in itertools.pairwise(ends))


def programme(y, p, w=None):
    """Return the smooth calibration error by linear programming, with all pairs of scores as constraints."""
    w = np.ones(len(p)) if w is None else w
    pairs = [(i, j) for i in range(len(p)) for j in range(len(p)) if i != j]
    rows = np.zeros((len(pairs), len(p)))
    for row, (i, j) in zip(rows, pairs, strict=True):
        row[i], row[j] = 1, -1
    limits = [abs(p[i] - p[j]) for i, j in pairs]
    masses = w * (y - p) / w.sum()
    return -linprog(-masses, A_ub=rows if pairs else None, b_ub=limits if pairs else None, bounds=(-1, 1)).fun


class TestSmoothEce:
    @pytest.mark.parametrize("sigma", [0.03, 0.2, 0.8])
    @pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
    def test_definition(self, w, sigma):
        expected = defined_at(sigma, Y, P, np.ones(n) if w is None else w)
        assert smooth_ece(Y, P, sigma=sigma, weights=w) == pytest.approx(expected, rel=1e-7)

    @pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
    def test_the_default_sigma_equals_the_error(self, w):
        found = smooth_ece(Y, P, weights=w)
        assert smooth_ece(Y, P, weights=w, sigma=found) == pytest.approx(found, rel=1e-9)

    def test_a_wider_kernel_lowers_it_to_the_mean_residual(self):
        values = [smooth_ece(Y, P, sigma=sigma) for sigma in (1e-3, 0.01, 0.05, 0.2, 0.5, 5)]
        assert np.all(np.diff(values) <= 1e-12)
        assert values[-1] == pytest.approx(abs((Y - P).mean()), rel=1e-9)

    def test_narrow_kernels_give_the_sum_over_scores(self):
        masses = [abs((Y - P)[p == P].sum()) for p in np.unique(P)]
        assert smooth_ece(Y, P, sigma=1e-3) == pytest.approx(sum(masses) / n, rel=1e-9)

    @pytest.mark.parametrize(
        ("y", "p", "value"),
        [
            ([1, 1], [0.0, 0.5], 0.75),  # one sign; relplot 1.0.3: 0.6658
            ([1, 0], [0.0, 1.0], 0.456091649149),  # relplot: 0.9997
            ([1], [0.25], 0.75),
            ([0, 1], [0.0, 1.0], 0.0),
            ([0, 1], [0.5, 0.5], 0.0),
            ([0, 1], [1e-7, 1 - 1e-7], 1e-7),
        ],
    )
    def test_by_hand(self, y, p, value):
        assert smooth_ece(y, p) == pytest.approx(value, rel=1e-9, abs=1e-12)

    def test_one_score_gives_the_mean_residual_with_weights_too(self):
        expected = abs(np.average(Y - 0.3, weights=W))
        assert smooth_ece(Y, np.full(n, 0.3), weights=W) == pytest.approx(expected, rel=1e-9)

    def test_refusals(self, refusal):
        for sigma in (0, -1, np.nan, np.inf, "0.2", True):
            assert "sigma must be a number above 0" in refusal(smooth_ece, Y, P, sigma=sigma)
        assert "sigma must be at least 2^-16" in refusal(smooth_ece, Y, P, sigma=1e-9)
        assert "limits of smooth_ece need" in refusal(interval, smooth_ece, Y, P, error=NotApplicableError)

    def test_errors_below_the_least_sigma(self):
        # Opposite residuals of 3e-6 and -2e-6 a millionth apart: below 2^-16, and at least their sum.
        count = 10**6
        p = np.concatenate([np.full(count // 2, 6e-6), np.full(count // 2, 7e-6)])
        y = np.zeros(count, int)
        y[:6] = 1
        found = smooth_ece(y, p)
        assert abs((y - p).mean()) - 1e-12 <= found <= 2**-16

    def test_limits(self):
        found, s = interval(smooth_ece, HAPPENED, SPREAD), SCALE
        assert found.estimate == smooth_ece(HAPPENED, SPREAD)
        assert found.high == pytest.approx(found.estimate + 1.959963985 * s, rel=1e-8)
        assert 0 < found.low < found.estimate
        p = equivalence_test(HAPPENED, SPREAD, metric=smooth_ece, tolerance=found.high).pvalue
        assert p == pytest.approx(0.025, rel=1e-6)

    def test_limits_with_a_given_sigma(self):
        # The mean size of the noise at a very wide kernel is that of its sum, √(2/π) s.
        found = interval(smooth_ece, HAPPENED, SPREAD, sigma=20.0)
        assert found.estimate - found.low == pytest.approx((math.sqrt(2 / math.pi) + 1.959963985) * SCALE, rel=2e-3)

    def test_limits_where_scores_are_far_apart(self):
        # Between the two scores the kernel underflows.
        p = np.repeat([0.01, 0.9], [4000, 4000])
        found = interval(smooth_ece, RNG.random(8000) < p, p)
        assert 0 <= found.low <= found.estimate <= found.high < 0.05

    @pytest.mark.parametrize("sigma", [2.0**-16, 2.0**-13, 2.0**-10, 2.0**-8])
    def test_noise_finer_than_the_cells_is_not_an_error(self, sigma):
        rng = np.random.default_rng(0)
        p = rng.random(20_000)
        lows = [interval(smooth_ece, rng.random(20_000) < p, p, sigma=sigma).low for _ in range(3)]
        assert max(lows) == 0

    def test_kernels_that_are_wider_than_all_scores(self):
        widest = interval(smooth_ece, HAPPENED, SPREAD, sigma=4)
        for sigma in (5, 1e6, 1e300):
            found = interval(smooth_ece, HAPPENED, SPREAD, sigma=sigma)
            assert (found.low, found.estimate, found.high) == (widest.low, widest.estimate, widest.high)

    def test_the_mean_size_of_noise(self):
        # 200 rows of probability 0.5 at 0.5, one kernel: the integral of it is 1, so the size is that of the sum.
        rows = Ordered.of(Binary(np.zeros(200, np.uint8), np.full(200, 0.5), np.ones(200)))
        noise = LocalNoise(rows.score, np.array([0.25 / 200]), 1 / 200, 1.0)
        assert noise.mean_size(0.05) == pytest.approx(math.sqrt(2 / math.pi * 0.25 / 200), rel=2e-3)
        drawn = np.abs(np.random.default_rng(0).binomial(200, 0.5, 10**5) - 100).mean() / 200
        assert noise.mean_size(0.05) == pytest.approx(drawn, rel=0.01)


def test_cosine_moments():
    u = np.concatenate([RNG.random(1000), [0.0, 1.0, 0.5, 1e-300]])
    m = RNG.normal(size=u.size)
    expected = (m[:, None] * np.cos(np.pi * np.arange(300) * u[:, None])).sum(axis=0)
    np.testing.assert_allclose(cosine_moments(u, m, 300), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("sigma", [0.01, 0.12, 0.13, 0.4, 1.5, 30.0])
def test_the_reflected_kernel_has_mass_1(sigma):
    t = (np.arange(20_000) + 0.5) / 20_000
    for u in (0.0, 0.3, 1.0):
        assert reflected_gaussian(t, np.array(u), sigma).mean() == pytest.approx(1, rel=1e-6)


class TestSmce:
    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=12),
        st.booleans(),
    )
    def test_linear_programme(self, rows, weighted):
        y, p, w = (np.array(column, float) for column in zip(*rows, strict=True))
        given_weights = w if weighted else None
        assert smce(y, p / 40, weights=given_weights) == pytest.approx(programme(y, p / 40, given_weights), abs=1e-9)

    @pytest.mark.parametrize(
        ("y", "p", "value"),
        [
            ([0, 1], [0.4, 0.6], 0.04),
            ([1, 0], [0.0, 1.0], 0.5),  # the slope limit binds: f = (0.5, -0.5)
            ([0, 0, 1, 1, 1], [0.3, 0.3, 0.5, 0.7, 0.7], 0.128),
            ([1], [0.25], 0.75),
            ([0, 1], [0.0, 1.0], 0.0),
        ],
    )
    def test_by_hand(self, y, p, value):
        assert smce(y, p) == pytest.approx(value, abs=1e-12)

    def test_two_scores_of_many_weights_are_two_scores(self, monkeypatch):
        p, w = np.where(SPREAD < 0.5, 0.3, 0.7), np.random.default_rng(1).lognormal(size=400)
        exact = smce(HAPPENED, p, weights=w)
        monkeypatch.setattr(smooth_errors, "MAX_SCORES", 3)
        assert smce(HAPPENED, p, weights=w) == exact

    def test_many_scores_are_moved_to_a_grid(self, monkeypatch):
        exact = smce(HAPPENED, SPREAD)
        monkeypatch.setattr(smooth_errors, "MAX_SCORES", 101)
        found = smce(HAPPENED, SPREAD)
        assert found != exact
        assert found == pytest.approx(exact, abs=0.005)  # half a step
        assert interval(smce, HAPPENED, SPREAD).high > found + 0.005

    def test_limits(self):
        found, s = interval(smce, HAPPENED, SPREAD), SCALE
        assert found.high == pytest.approx(found.estimate + 1.959963985 * s, rel=1e-8)
        # Uniform scores: nearly √(2/π) (1 + 2 ∫_0^½ √share(p < t) dt) s + z s, the share of variance being 3t² - 2t³.
        tail = quad(lambda t: math.sqrt(3 * t**2 - 2 * t**3), 0, 0.5)[0]
        expected = (math.sqrt(2 / math.pi) * (1 + 2 * tail) + 1.959963985) * s
        assert found.estimate - found.low == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("verb", [smooth_ece, smce])
class TestBoth:
    def test_classes_are_judged_by_the_most_probable(self, verb):
        P3, y = RNG.dirichlet(np.ones(3), n), RNG.integers(0, 3, n)
        assert verb(y, P3) == pytest.approx(verb(*top_label(y, P3)), rel=1e-12)

    def test_consistency(self, verb):
        assert consistency_test(HAPPENED, SPREAD, metric=verb, resamples=99).pvalue == 0.01

    def test_never_above_1(self, verb):
        for k in range(1, 60):
            weights = np.random.default_rng(k).lognormal(0, 3, k)
            assert verb(np.ones(k, int), np.zeros(k), weights=weights) <= 1

    def test_never_above_the_sum_over_scores(self, verb):
        assert verb(HAPPENED, SPREAD) <= np.abs(HAPPENED - SPREAD).mean() + 1e-12
