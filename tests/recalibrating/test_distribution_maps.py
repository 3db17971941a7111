"""`location-scale` of Normal, Laplace and mixtures: reference values, hand-worked cases, properties and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from calibrant import Laplace, Mixture, Normal, crps, log_score
from calibrant.recalibrating.distribution_maps import median_range
from calibrant.recalibrating.recalibrate import recalibrate

FAMILIES = {"Normal": Normal, "Laplace": Laplace}


class TestByHand:
    def test_normal(self):
        # Residuals 1 and 3 with equal spreads of 2: shift 2, and standardised residuals of ±1/2.
        found = recalibrate([1.0, 3.0], Normal([0.0, 0.0], 2.0), method="location-scale")
        assert found.parameters["shift"] == pytest.approx(2.0)
        assert found.parameters["scale"] == pytest.approx(0.5)
        assert found.gradient <= 1e-10

    def test_normal_of_unequal_spreads(self):
        # Precisions 1 and 1/4: shift (1 · 0 + 4/4)/(1 + 1/4) = 0.8; s² = (0.64 + 10.24/4)/2 = 1.6.
        found = recalibrate([0.0, 4.0], Normal(0.0, [1.0, 2.0]), method="location-scale")
        assert found.parameters["shift"] == pytest.approx(0.8)
        assert found.parameters["scale"] == pytest.approx(math.sqrt(1.6))

    def test_laplace(self):
        # The middle of the two medians 1 and 3; mean distance (2 + 1 + 1 + 6)/4.
        found = recalibrate([0.0, 1.0, 3.0, 8.0], Laplace(np.zeros(4), 1.0), method="location-scale")
        assert found.parameters["shift"] == pytest.approx(2.0)
        assert found.parameters["scale"] == pytest.approx(2.5)
        assert found.gradient is None

    def test_mixture_is_stretched_about_its_mean(self, rng):
        mixture = Mixture([Normal([0.0], [1.0]), Laplace([4.0], [2.0])], [0.75, 0.25])  # mean 1
        many = Mixture([Normal(np.zeros(30), 1.0), Laplace(np.full(30, 4.0), 2.0)], [0.75, 0.25])
        found = recalibrate(rng.normal(1, 6, 30), many, method="location-scale")
        a, s = found.parameters["shift"], found.parameters["scale"]
        after = found.apply(mixture)
        assert isinstance(after, Mixture)
        assert after.components[0].mean[0] == pytest.approx(1 + a - s)
        assert after.components[0].std[0] == pytest.approx(s)
        assert after.components[1].loc[0] == pytest.approx(1 + a + 3 * s)
        assert after.components[1].scale[0] == pytest.approx(2 * s)

    def test_crps_of_two_mirrored_residuals_has_no_shift(self):
        found = recalibrate([-1.0, 1.0], Normal([0.0, 0.0], 1.0), method="location-scale", score="crps")
        assert found.parameters["shift"] == pytest.approx(0.0, abs=1e-12)
        z = 1 / found.parameters["scale"]  # 2φ(z) = 1/√π at the optimum
        assert 2 * stats.norm.pdf(z) == pytest.approx(1 / math.sqrt(math.pi))


class TestMedianRange:
    @given(seed=st.integers(0, 10**6), n=st.integers(1, 60), whole=st.booleans())
    def test_every_value_between_is_a_median(self, seed, n, whole):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 6, n).astype(float)
        w = rng.integers(1, 4, n).astype(float) if whole else rng.uniform(0.1, 1, n)
        low, high = median_range(values, w)
        for a in (low, high, low / 2 + high / 2):
            assert 2 * w[values < a].sum() <= w.sum() * (1 + 1e-12)
            assert 2 * w[values > a].sum() <= w.sum() * (1 + 1e-12)
        assert 2 * w[values < low - 1e-9].sum() + 1e-12 < w.sum()

    @pytest.mark.parametrize("odd", [0, 1])
    def test_many_values(self, odd):
        rng = np.random.default_rng(3)
        values = rng.normal(size=50_000 + odd)
        w = rng.uniform(0.5, 2.0, values.size)
        low, high = median_range(values, w)
        order = np.argsort(values)
        reached = np.cumsum(w[order])
        assert low == high == values[order[np.searchsorted(reached, reached[-1] / 2)]]
        halves = np.sort(values)[[(values.size - 1) // 2, values.size // 2]]
        assert median_range(values, np.ones(values.size)) == tuple(halves)


def some_distribution(rng, n, which):
    mean, spread = rng.normal(size=n), rng.uniform(0.3, 2, n)
    if which == "mixture":
        return Mixture([Normal(mean, spread), Laplace(mean + rng.normal(size=n), spread / 2)], [0.6, 0.4])
    return FAMILIES[which](mean, spread)


class TestOptimum:
    @pytest.mark.parametrize("which", ["Normal", "Laplace", "mixture"])
    @pytest.mark.parametrize("score", ["log", "crps"])
    def test_a_search_without_derivatives_finds_nothing_lower(self, which, score):
        if (which, score) == ("mixture", "log"):
            return
        rng = np.random.default_rng(7)
        prediction, w = some_distribution(rng, 60, which), rng.uniform(0.5, 2, 60)
        y = rng.normal(1.0, 2.0, 60)
        found = recalibrate(y, prediction, method="location-scale", score=score, weights=w)
        verb = crps if score == "crps" else log_score
        assert found.objective == pytest.approx(verb(y, found.apply(prediction), weights=w), rel=1e-12)
        if which != "Laplace" or score == "crps":
            assert found.gradient <= 1e-10

        def value(point):
            if point[1] <= 0:
                return math.inf
            moved = type(found)(
                found.kind, found.method, {"shift": point[0], "scale": point[1]}, 60, found.options
            ).apply(prediction)
            return verb(y, moved, weights=w)

        searched = optimize.minimize(value, [0.5, 1.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
        assert found.objective <= searched.fun + 1e-12
        assert found.objective == pytest.approx(searched.fun, rel=1e-8)

    @given(seed=st.integers(0, 10**6), which=st.sampled_from(["Normal", "Laplace", "mixture"]), n=st.integers(4, 40))
    @settings(max_examples=40)
    def test_refitting_gives_the_identity(self, seed, which, n):
        rng = np.random.default_rng(seed)
        prediction, y = some_distribution(rng, n, which), rng.normal(0, 3, n)
        for score in ("crps",) if which == "mixture" else ("log", "crps"):
            found = recalibrate(y, prediction, method="location-scale", score=score)
            again = recalibrate(y, found.apply(prediction), method="location-scale", score=score)
            assert again.parameters["scale"] == pytest.approx(1.0, abs=1e-7)
            assert again.parameters["shift"] == pytest.approx(0.0, abs=1e-7)
            assert again.objective == pytest.approx(found.objective, rel=1e-9)

    @pytest.mark.parametrize("seed", range(30))
    def test_few_rows_with_outliers_have_an_optimum(self, seed):
        """Steps that nearly remove the spread would end where the Hessian vanishes."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 10))
        spread = rng.uniform(0.1, 3, n)
        y = rng.standard_t(1.1, n) * 10.0 ** rng.integers(-3, 4)
        for which in (Normal(np.zeros(n), spread), Laplace(np.zeros(n), spread)):
            assert recalibrate(y, which, method="location-scale", score="crps").gradient <= 1e-10

    def test_a_step_that_would_have_removed_the_spread(self):
        y = np.array([0.18566876, 1.04090423, -0.37153838, 1.80649629, -0.62347388])
        mean = np.array([0.18548734, 1.05911463, -0.36742868, 1.74630544, -0.63412816])
        std = np.array([0.12663503, 0.16516101, 0.12735783, 0.02104892, 0.05614452])
        found = recalibrate(y, Normal(mean, std), method="location-scale", score="crps")
        assert found.gradient <= 1e-10
        for a, s in ((1e-5, 0.0), (-1e-5, 0.0), (0.0, 1e-5), (0.0, -1e-5)):
            moved = Normal(mean + found.parameters["shift"] + a, std * (found.parameters["scale"] + s))
            assert crps(y, moved) > found.objective

    def test_the_scale_of_a_simulation_is_recovered(self):
        rng = np.random.default_rng(4)
        mean, std = rng.normal(size=4000), rng.uniform(0.5, 2, 4000)
        y = mean + 0.4 + 1.7 * std * rng.normal(size=4000)
        for score in ("log", "crps"):
            found = recalibrate(y, Normal(mean, std), method="location-scale", score=score)
            assert found.parameters["shift"] == pytest.approx(0.4, abs=0.15)
            assert found.parameters["scale"] == pytest.approx(1.7, abs=0.1)


@pytest.mark.parametrize("factor", [1e300, 1e-300])
@pytest.mark.parametrize("score", ["log", "crps"])
@pytest.mark.parametrize("family", [Normal, Laplace])
def test_extreme_units(family, score, factor, rng):
    y, mean, spread = rng.normal(1, 2, 30), rng.normal(size=30), rng.uniform(0.5, 2, 30)
    plain = recalibrate(y, family(mean, spread), method="location-scale", score=score)
    large = recalibrate(y * factor, family(mean * factor, spread * factor), method="location-scale", score=score)
    assert large.parameters["scale"] == pytest.approx(plain.parameters["scale"], rel=1e-9)
    assert large.parameters["shift"] == pytest.approx(plain.parameters["shift"] * factor, rel=1e-9)


def test_the_certificate_of_very_different_spreads(rng):
    std = rng.lognormal(0, 8, 500)
    y = std * rng.normal(size=500)
    assert recalibrate(y, Normal(np.zeros(500), std), method="location-scale").gradient <= 1e-10
