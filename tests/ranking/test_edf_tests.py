"""Tests of ranks spread over their cells: reference values, limit distributions, levels, and what needs `rng`."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import binom
from scipy.stats import cramervonmises, kstest
from tests.references.books import arrays, by_id

from calibrant.errors import NotApplicableError
from calibrant.ranking.edf_tests import (
    anderson_darling,
    anderson_darling_sf,
    cauchy,
    cramer_von_mises,
    cramer_von_mises_sf,
    kolmogorov,
    piet,
    randomised,
    rank_edf_test,
)
from calibrant.ranking.effects import stream_after_ties
from calibrant.summaries import Ranks

BOOK, ARRAYS = by_id("samples"), arrays("samples")


@pytest.mark.parametrize("name", [name for name in BOOK if name.startswith("dependent/")])
def test_reference_of_piet(name):
    """The values were computed at mid-ranks, which are no valid argument: they check the formula alone."""
    value = BOOK[name]
    found = [piet((column + 0.5) / 100)[1] for column in ARRAYS[value["inputs"][0]].T]
    np.testing.assert_allclose(found, value["value"]["piet"], rtol=value["rtol"])


def test_by_hand():
    assert kolmogorov(np.array([0.25])) == (0.75, 0.5)
    assert piet(np.array([0.1]))[1] == pytest.approx(0.2)
    assert cauchy(np.full(7, 0.03))[1] == pytest.approx(0.03)  # equal p-values stay what they are
    assert cauchy(np.array([0.1, 0.9])) == pytest.approx((0, 0.5), abs=1e-12)  # opposite ones cancel
    assert cauchy(np.array([1e-200, 0.5]))[1] == pytest.approx(2e-200)
    assert 0 <= cauchy(np.array([0.0, 0.5]))[1] < 1e-300
    T, p = anderson_darling(np.array([0.0, 0.2, 0.5, 0.8, 1.0]))  # the ends of the range
    assert np.isfinite(T)
    assert 0 < p < 1e-4
    u = np.random.default_rng(0).random(30)
    assert piet(u[::-1])[1] == pytest.approx(piet(u)[1])
    assert piet(1 - u)[1] == pytest.approx(piet(u)[1])


def test_a_small_level_is_nearly_kept():
    rng = np.random.default_rng(1)
    assert np.mean([piet(u)[1] <= 0.01 for u in rng.random((1000, 100))]) < 0.025


TESTS = {"ks": kolmogorov, "cvm": cramer_von_mises, "ad": anderson_darling}


@pytest.mark.parametrize("name", [name for name in BOOK if name.split("/")[0] in TESTS])
def test_reference_of_distances(name):
    value, test = BOOK[name], TESTS[name.split("/")[0]]
    ranks, uniforms = value["inputs"]
    u = (ARRAYS[ranks] + ARRAYS[uniforms]) / (ARRAYS[ranks.replace("ranks", "samples")].shape[1] + 1)
    found = [test(column) for column in u.reshape(len(u), -1).T]
    np.testing.assert_allclose([T for T, _ in found], value["value"]["statistic"], rtol=value["rtol"])
    np.testing.assert_allclose([p for _, p in found], value["value"]["pvalue"], rtol=value["rtol"])


@pytest.mark.parametrize("n", [5, 12, 300])
def test_as_in_scipy(n):
    u = np.random.default_rng(n).random(n)
    for ours, theirs in ((kolmogorov(u), kstest(u, "uniform")), (cramer_von_mises(u), cramervonmises(u, "uniform"))):
        assert ours == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


@pytest.mark.parametrize("n", [20, 200, 5000])
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_a_gross_departure_has_a_small_pvalue(test, n):
    """SciPy's p-value of Cramér-von Mises is 0 or negative here."""
    u = np.linspace(0.0, 0.2, n)
    assert 0 <= test(u)[1] < (1e-4 if n == 20 else 1e-20)
    if n == 20:
        assert test(u)[1] > 0


def test_pvalues_fall_with_the_statistic_of_cramer_von_mises():
    found = [cramer_von_mises(np.linspace(0, end, 40)) for end in np.linspace(1, 0.05, 60)]
    T, p = map(np.array, zip(*found, strict=True))
    order = np.argsort(T)
    assert (np.diff(p[order]) <= 5e-7).all()


def test_every_rank_is_spread_evenly_over_its_cell():
    counts = np.array([[2, 0], [0, 3], [3, 2]])
    one, other = randomised(counts, np.random.default_rng(0))
    assert np.floor(one * 3).tolist() == [0, 0, 2, 2, 2]
    assert np.floor(other * 3).tolist() == [1, 1, 1, 2, 2]
    assert (np.diff(one) > 0).all()
    rng = np.random.default_rng(0)
    counts = np.bincount(rng.integers(0, 5, 20_000), minlength=5)[:, None]
    (u,) = randomised(counts, rng)
    assert kstest(u, "uniform").pvalue > 0.001


@pytest.mark.parametrize("test", [cramer_von_mises, anderson_darling])
def test_too_few_rows_for_a_limit_distribution(test, refusal):
    assert "at least 5 rows" in refusal(test, np.full(4, 0.5), error=NotApplicableError)
    test(np.linspace(0.1, 0.9, 5))


def anderson_darling_series(z):
    """Return the distribution function as Anderson and Darling (1954) give it."""
    total = 0.0
    for j in range(12):
        a = (4 * j + 1) ** 2 * np.pi**2 / (8 * z)
        inner = quad(lambda w, a=a: np.exp(z / (8 * (w * w + 1)) - a * w * w), 0, np.inf, epsabs=0, epsrel=1e-12)[0]
        total += binom(-0.5, j) * (4 * j + 1) * np.exp(-a) * inner
    return np.sqrt(2 * np.pi) / z * total


@pytest.mark.parametrize("x", [0.1, 0.3, 0.7, 1.0, 1.933, 2.492, 3.857, 6.0])
def test_anderson_darling_equals_its_series(x):
    assert anderson_darling_sf(x) == pytest.approx(1 - anderson_darling_series(x), abs=1e-11)


TABLES = {
    anderson_darling_sf: [(1.933, 0.1), (2.492, 0.05), (3.0775, 0.025), (3.8781, 0.01)],
    cramer_von_mises_sf: [(0.34730, 0.1), (0.46136, 0.05), (0.74346, 0.01), (1.16786, 0.001)],
}


@pytest.mark.parametrize(("tail", "table"), TABLES.items())
def test_tables_of_limits(tail, table):
    for x, p in table:
        assert tail(x) == pytest.approx(p, rel=2e-4, abs=5e-5 if tail is anderson_darling_sf else 0)


@pytest.mark.parametrize(("tail", "first"), [(anderson_darling_sf, 2.0), (cramer_von_mises_sf, np.pi**2)])
def test_far_tail_falls_like_its_largest_part(tail, first):
    """P(Q > x) ~ const exp(-x u_1 / 2) / sqrt(x): a small probability keeps its digits."""
    x = np.array([40.0, 80.0, 120.0]) / first
    scaled = [tail(value) * np.exp(value * first / 2) * np.sqrt(value) for value in x]
    assert scaled[0] == pytest.approx(scaled[2], rel=0.05)
    assert scaled[1] == pytest.approx(scaled[2], rel=0.02)


@pytest.mark.parametrize("tail", [anderson_darling_sf, cramer_von_mises_sf])
def test_falls_from_1(tail):
    x = np.concatenate([[0.0], np.geomspace(1e-4, 100, 400)])
    found = np.array([tail(value) for value in x])
    assert found[0] == 1.0
    assert (np.diff(found) <= 1e-12).all()
    assert (found > 0).all()
    assert (found <= 1).all()


def test_one_random_V_per_rank():
    ranks = Ranks.of(np.random.default_rng(0).integers(0, 10, (50, 2)), 9)
    expected = [kolmogorov(u) for u in randomised(ranks.counts, stream_after_ties(3))]
    result = rank_edf_test(ranks, rng=3)
    assert result.statistic.tolist() == [D for D, _ in expected]
    assert result.details["pvalue_each"].tolist() == [p for _, p in expected]
    assert "random V" in result.method


def test_ranks_divided_by_M_are_not_uniform():
    """What others do, and why it is not done here."""
    rank = np.random.default_rng(0).integers(0, 21, (1000, 60))
    naive = [kstest(column / 20, "uniform").pvalue for column in rank.T]
    assert np.mean(np.array(naive) <= 0.05) > 0.9
    assert np.mean(rank_edf_test(Ranks.of(rank, 20), rng=0).details["pvalue_each"] <= 0.05) < 0.17
