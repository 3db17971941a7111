"""`location-scale` of draws: the reference, a linear programme as oracle, flat optima, vectors and refusals."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from calibrant import Samples, crps
from calibrant.errors import InputError
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration


def fit(y, draws, **options):
    return recalibrate(y, Samples(draws), method="location-scale", **options)


def lowest_by_linear_programme(y, draws, w):
    """Return the lowest mean CRPS over shifts and scales >= 0, by HiGHS."""
    n, M = draws.shape
    mean = draws.mean(axis=1)
    d, r, N = draws - mean[:, None], y - mean, n * M
    g = np.sort(d, axis=1) @ (2 * np.arange(1, M + 1) - M - 1) / M**2
    cost = np.r_[0, -(w @ g) / w.sum(), np.repeat(w, M) / (w.sum() * M)]
    line = np.c_[np.ones(N), d.ravel(), -np.eye(N)]
    other = np.c_[-np.ones(N), -d.ravel(), -np.eye(N)]
    limits = np.r_[np.repeat(r, M), -np.repeat(r, M)]
    found = linprog(cost, np.r_[line, other], limits, bounds=[(None, None)] + [(0, None)] * (N + 1), method="highs")
    assert found.status == 0
    return found.fun


class TestOptimum:
    @given(
        seed=st.integers(0, 10**6),
        n=st.integers(3, 9),
        M=st.integers(4, 7),
        digits=st.sampled_from([0, 1, 12]),
        weighted=st.booleans(),
    )
    @settings(max_examples=60, deadline=None)
    def test_nothing_is_lower(self, seed, n, M, digits, weighted):
        rng = np.random.default_rng(seed)
        draws, y = (rng.normal(size=(n, M)) * 2).round(digits), (rng.normal(size=n) * 3).round(digits)
        w = rng.uniform(0.2, 2.0, n) if weighted else np.ones(n)
        lowest = lowest_by_linear_programme(y, draws, w)
        r = y - draws.mean(axis=1)
        without_spread = min(np.average(np.abs(r - a), weights=w) for a in r)
        if lowest == pytest.approx(without_spread, rel=1e-9, abs=1e-9):  # scale 0 is no worse than any other
            with pytest.raises(InputError, match=r"the best scale is 0|all equal"):
                fit(y, draws, weights=w)
            return
        found = fit(y, draws, weights=w)
        assert found.objective == pytest.approx(lowest, rel=1e-9, abs=1e-11)
        assert found.objective == pytest.approx(crps(y, found.apply(Samples(draws)), weights=w), rel=1e-9, abs=1e-9)

    def test_a_vertex_by_hand(self):
        # Outcomes ±1 and draws -2 to 2, whose half mean distance is 1: at s = 1 the mean distance from an outcome is
        # (3 + 2 + 1 + 0 + 1)/5 = 1.4.
        found = fit([-1.0, 1.0], np.tile([-2.0, -1.0, 0.0, 1.0, 2.0], (2, 1)), score="fair-crps")
        assert found.parameters["scale"] == pytest.approx(1.0, rel=1e-12)
        assert found.parameters["shift"] == pytest.approx(0.0, abs=1e-12)
        assert found.objective == pytest.approx(0.4, rel=1e-12)

    def test_the_middle_of_a_flat_optimum(self):
        # Draws -1, -1, 1, 1 (half mean distance 2/3): the score of a row is max(|r|, s) - 2s/3 without a shift. With
        # four rows at |r| = 1 and two at 4 the mean is 4/3 for every s in [1, 4]; at s = 2.5 for every |a| <= 1.5.
        y = np.array([1.0, -1.0, 1.0, -1.0, 4.0, -4.0])
        found = fit(y, np.tile([-1.0, -1.0, 1.0, 1.0], (6, 1)), score="fair-crps")
        assert found.objective == pytest.approx(4 / 3, rel=1e-12)
        assert found.parameters["scale"] == pytest.approx(2.5, rel=1e-9)
        assert found.parameters["shift"] == pytest.approx(0.0, abs=1e-9)

    @given(seed=st.integers(0, 10**6), weighted=st.booleans())
    @settings(max_examples=25, deadline=None)
    def test_refitting_gives_the_identity(self, seed, weighted):
        rng = np.random.default_rng(seed)
        draws, y = rng.normal(size=(30, 8)), rng.normal(0.5, 2, 30)
        w = rng.uniform(0.5, 2, 30) if weighted else None
        found = fit(y, draws, weights=w)
        again = recalibrate(y, found.apply(Samples(draws)), method="location-scale", weights=w)
        assert again.objective == pytest.approx(found.objective, rel=1e-10)
        assert again.parameters["scale"] == pytest.approx(1.0, abs=1e-6)
        assert again.parameters["shift"] == pytest.approx(0.0, abs=1e-6)

    def test_many_rows_with_weights(self):
        rng = np.random.default_rng(2)
        draws = rng.normal(size=(5000, 20))
        y = 0.3 + 1.5 * rng.normal(size=5000)
        w = rng.uniform(0.5, 2, 5000)
        found = fit(y, draws, weights=w)
        for a, s in ((0.0, 1e-4), (1e-4, 0.0), (0.0, -1e-4), (-1e-4, 0.0)):
            shifted = {"shift": found.parameters["shift"] + a, "scale": found.parameters["scale"] + s}
            moved = type(found)(found.kind, found.method, shifted, 5000, found.options).apply(Samples(draws))
            assert crps(y, moved, weights=w) > found.objective


@pytest.mark.parametrize("M", [2, 5, 20])
@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_exchangeable_draws_stay_as_they_are(M, spread):
    # Normal draws of variance 1 and outcomes of variance spread²: s² = (spread² + 1/M) / (1 + 1/M), from the
    # derivatives √(2/π) s (1 - 1/M) / sd and (1 - 1/M)/√π of the two terms, sd² = 1/M + s²(1 - 1/M) + spread².
    rng = np.random.default_rng(4)
    centre = rng.normal(size=20_000)
    draws = centre[:, None] + rng.normal(size=(20_000, M))
    found = fit(rng.normal(centre, spread), draws)
    assert found.parameters["scale"] == pytest.approx(np.sqrt((spread**2 + 1 / M) / (1 + 1 / M)), rel=0.03)
    fair = fit(rng.normal(centre, spread), draws, score="fair-crps") if M > 2 else None
    assert fair is None or fair.parameters["scale"] > found.parameters["scale"] * (1 + 0.5 / M)


class TestVectors:
    def test_coordinates_one_by_one(self, refusal):
        rng = np.random.default_rng(3)
        draws, y = rng.normal(size=(30, 7, 2)), rng.normal(0.5, [1.0, 3.0], (30, 2))
        both = fit(y, draws)
        for j in range(2):
            alone = fit(y[:, j], draws[:, :, j])
            assert both.parameters["shift"][j] == alone.parameters["shift"]
            assert both.parameters["scale"][j] == alone.parameters["scale"]
        after = both.apply(Samples(draws, names=["height", "mass"]))
        assert after.names == Samples(draws, names=["height", "mass"]).names
        np.testing.assert_allclose(crps(y, after).mean(), both.objective, rtol=1e-12)
        assert "fitted on draws of shape (n, M, 2); got (n, M)" in refusal(both.apply, Samples(draws[:, :, 0]))

    def test_log_densities_are_dropped_and_the_mean_is_kept_apart_from_the_shift(self):
        rng = np.random.default_rng(3)
        draws, y = rng.normal(size=(30, 7)), rng.normal(0.5, 2.0, 30)
        found = fit(y, draws)
        with pytest.warns(UserWarning, match="log_density was dropped"):
            after = found.apply(Samples(draws, log_density=draws))
        assert after.log_densities is None
        np.testing.assert_allclose(after.draws.mean(axis=1), draws.mean(axis=1) + found.parameters["shift"])
        np.testing.assert_allclose(after.draws.std(axis=1), draws.std(axis=1) * found.parameters["scale"])


def test_a_file_has_shift_and_scale_of_one_shape(refusal):
    tree = json.loads(fit(np.arange(4.0), np.random.default_rng(0).normal(size=(4, 5))).to_json())
    tree["parameters"]["scale"] = [1.0]
    assert "shift and scale must both be numbers" in refusal(Recalibration.from_json, json.dumps(tree))
