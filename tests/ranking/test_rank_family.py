"""Shift and spread by maximum likelihood from counts of ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from tests.references.books import book, by_id

from calibrant.ranking.rank_family import CellModel, RankFamily, RankModel

FAMILY = [case for name, case in by_id("conditional").items() if name.startswith("rank probabilities")]
Z, WEIGHT = (9 * part for part in np.polynomial.legendre.leggauss(300))


def mass(M, a, s):
    """Return the probabilities of ranks 0 to M by Gauss quadrature."""
    u = stats.norm.cdf(a + s * Z)
    return stats.binom.pmf(np.arange(M + 1)[:, None], M, u) @ (WEIGHT * stats.norm.pdf(Z))


def counts_of(M, a, s, n=10**9):
    return np.round(n * mass(M, a, s)).astype(np.int64)


@pytest.mark.parametrize("case", FAMILY, ids=lambda case: case["id"])
def test_reference(case):
    options = case["options"]
    found, _ = RankModel.of(book("conditional")["data"]["family"]["M"]).chances(
        options["shift"], np.log(options["spread"])
    )
    np.testing.assert_allclose(found, case["value"], rtol=case["rtol"])


@pytest.mark.parametrize("M", [1, 20, 999])
@pytest.mark.parametrize(("a", "s"), [(0.0, 1.0), (0.5, 0.1), (-1.0, 3.0), (2.0, 8.0)])
def test_probabilities_add_up_and_have_these_derivatives(M, a, s):
    for model in (RankModel.of(M), CellModel.of(np.full(M + 1, 1 / (M + 1)))):
        p, dp = model.chances(a, np.log(s))
        assert p.sum() == pytest.approx(1, abs=1e-7)
        h = 1e-5
        for k, step in enumerate(([h, 0], [0, h])):
            up, down = (model.chances(a + sign * step[0], np.log(s) + sign * step[1])[0] for sign in (1, -1))
            np.testing.assert_allclose(dp[k], (up - down) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("M", [2, 9, 49])
@pytest.mark.parametrize(("a", "s"), [(0.0, 1.0), (-0.4, 1.0), (1.0, 1.0), (0.0, 1 / 0.7), (-0.3, 0.5), (0.0, 3.0)])
def test_finds_the_member_that_made_the_ranks(M, a, s):
    found = RankFamily(counts_of(M, a, s)).fit()
    assert found.inside
    assert found.a == pytest.approx(a, abs=1e-5)
    assert found.spread == pytest.approx(s, rel=1e-5)


def test_one_draw_tells_a_shift_alone():
    n = 10**8
    above = round(n * stats.norm.cdf(0.5 / np.sqrt(2)))  # P(outcome above the draw) = Φ(a/√2)
    family = RankFamily(np.array([n - above, above]))
    assert family.fit().a == pytest.approx(0.5, abs=1e-6)
    assert np.isnan(family.limits(family.fit(), 0.05)[1]).all()


def test_atoms_are_found():
    exact = 0.9 * mass(49, -0.2, 1.2)
    exact[-1] += 0.07
    exact[0] += 0.03
    family = RankFamily(np.round(10**8 * exact).astype(np.int64))
    found = family.with_atoms(family.fit())
    assert (found.a, found.spread) == pytest.approx((-0.2, 1.2), abs=1e-3)
    assert (found.below, found.above) == pytest.approx((0.03, 0.07), abs=1e-4)
    # Without atoms such ranks look shifted and wide, from where the likelihood with an atom has another maximum.
    family = RankFamily(np.array([100, 0, 2, 4, 4, 19, 35, 74, 191, 571]))  # 100 of 1000 at 0, a = 1.66, s = 0.67
    found = family.with_atoms(family.fit())
    assert found.atoms == (True, False)
    assert found.below == pytest.approx(0.1, abs=0.001)
    assert (found.a, found.spread) == pytest.approx((1.66, 0.67), abs=0.15)


def test_the_likelihood_with_atoms_is_the_largest():
    rng = np.random.default_rng(3)
    r = rng.binomial(19, stats.norm.cdf(1.1 * rng.normal(size=400)))
    r[:30] = 19
    family = RankFamily(np.bincount(r, minlength=20))
    found = family.with_atoms(family.fit())

    def loss(x):
        below, above = np.exp(x[2:]) / (1 + np.exp(x[2:]).sum())
        p = (1 - below - above) * family.model.chances(x[0], x[1])[0]
        p[0] += below
        p[-1] += above
        return -family.counts @ np.log(p)

    best = optimize.minimize(loss, [0, 0, -4, -2], method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-8})
    assert found.loglik == pytest.approx(-best.fun, abs=1e-3)
    assert found.loglik == pytest.approx(family.counts @ np.log(family.chances(found)), rel=1e-9)


def test_limits_are_where_the_profile_falls_by_half_a_chi_square():
    rng = np.random.default_rng(1)
    counts = np.bincount(rng.binomial(9, stats.norm.cdf(0.3 + 1.3 * rng.normal(size=150))), minlength=10)
    family = RankFamily(counts)
    fit = family.fit()
    (a_low, a_high), (s_low, s_high) = family.limits(fit, 0.05)

    def profile(k, value):
        def loss(other):
            a, log_s = (value, other) if k == 0 else (other, value)
            return -family.counts @ np.log(family.model.chances(a, log_s)[0])

        return -optimize.minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-8}).fun

    for k, end in ((0, a_low), (0, a_high), (1, s_low), (1, s_high)):
        assert 2 * (fit.loglik - profile(k, end)) == pytest.approx(stats.chi2.isf(0.05, 1), rel=2e-3)


@pytest.mark.parametrize("M", [4, 99])
@pytest.mark.parametrize(("a", "s"), [(0.0, 1.0), (-0.4, 1.4)])
def test_limits_cover(M, a, s):
    rng, repeats, n = np.random.default_rng(0), 150, 200
    covered = np.zeros(2)
    for _ in range(repeats):
        counts = np.bincount(rng.binomial(M, stats.norm.cdf(a + s * rng.normal(size=n))), minlength=M + 1)
        family = RankFamily(counts)
        both = family.limits(family.fit(), 0.05)
        covered += [low <= true <= high for (low, high), true in zip(both, (a, np.log(s)), strict=True)]
    np.testing.assert_allclose(covered / repeats, 0.95, atol=4 * np.sqrt(0.95 * 0.05 / repeats))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 60), min_size=5, max_size=12).filter(any))
def test_mirrored_ranks_have_the_opposite_shift(counts):
    one, other = (RankFamily(np.array(c, dtype=np.int64)) for c in (counts, counts[::-1]))
    first, second = one.fit(), other.fit()
    assert first.loglik == pytest.approx(second.loglik, abs=1e-4)
    if first.inside and second.inside:
        assert first.a == pytest.approx(-second.a, abs=0.02)


@pytest.mark.parametrize("place", [0, 20])
def test_outcomes_beyond_all_draws_are_beyond_measure(place):
    counts = np.zeros(21, dtype=np.int64)
    counts[place] = 100
    family = RankFamily(counts)
    fit = family.fit()
    (low, high), _ = family.limits(fit, 0.05)
    assert not fit.inside
    assert np.isinf(low if place == 0 else high)
    assert abs(high if place == 0 else low) > 1  # the finite limit excludes calibration
