"""Shift and spread that uneven ranks stand for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from calibrant.ranking.counting import legendre
from calibrant.ranking.effects import (
    ColumnTests,
    adjusted,
    band_test,
    below,
    bin_counts,
    check_bins,
    chi2,
    is_large,
    number_of_bins,
    rank_bins,
    rank_effect,
    rank_result,
    shaped,
    stream_after_ties,
)
from calibrant.summaries import Ranks

M = 999
ranks = st.lists(st.integers(0, 9), min_size=1, max_size=30)


def predicted(shift=0.0, scale=1.0):
    """Return the ranks of standard normal outcomes under N(shift, scale), as weights of the ranks 0 to M."""
    ends = norm.cdf(norm.ppf(np.arange(M + 2) / (M + 1)) * scale + shift)
    return Ranks.of(np.arange(M + 1), M, weights=np.diff(ends))


@pytest.mark.parametrize(("scale", "needed"), [(0.7, 1.44), (1.4, 0.73), (0.99, 1 / 0.99)])
@pytest.mark.parametrize("shift", [0.0, -0.2, 0.05, 0.2])
def test_of_normal_predictions(scale, needed, shift):
    """The spread is the factor that predictions need; the shift is positive if they are too high."""
    assert rank_effect(predicted(scale=scale)).spread[0] == pytest.approx(needed, abs=2e-4 if scale == 0.99 else 0.005)
    assert rank_effect(predicted(shift=shift)).shift[0] == pytest.approx(shift, rel=0.02, abs=1e-9)


def test_components():
    found = rank_effect(Ranks.of([1, 1, 1, 0], M=1))  # φ_1 = -1, 1
    assert found.Z.tolist() == [[1.0]]  # (3 - 1) / sqrt(4)
    assert found.shift[0] == pytest.approx(-np.sqrt(np.pi / 3) / 2)
    assert np.isnan(found.spread[0])
    rng = np.random.default_rng(0)
    Z = rank_effect(Ranks.of(rng.integers(0, 10, (40, 4000)), M=9)).Z
    np.testing.assert_allclose(Z @ Z.T / 4000, np.eye(4), atol=0.1)


def found(C):
    return ColumnTests(np.full(C, 2.0), np.full(C, 0.25), "a test", {"Z": np.ones((3, C))}, {"dof": 3})


def test_numbers_of_one_column_and_arrays_of_several():
    ranks = Ranks.of([0, 1, 3], M=3)
    result = rank_result(ranks, found(1), np.array([0.5]), "")
    effect = rank_effect(ranks)
    assert [type(v) for v in (result.statistic, result.pvalue, *result.estimate)] == [float] * 4
    assert result.estimate == (effect.shift[0], effect.spread[0])
    assert (result.pvalue, result.details["pvalue_each"], result.details["dof"]) == (0.5, 0.25, 3)
    assert result.details["Z"].shape == (3,)
    assert result.details["names"] == ("",)
    assert type(result.details["tied"]) is int
    assert result.method == "a test; ranks among 3 draws"
    ranks = Ranks.of([[0, 1], [3, 2]], M=3, names=["u", "v"])
    result = rank_result(ranks, found(2), np.array([0.5, 0.5]), "; 2 columns, Holm")
    assert result.pvalue.shape == result.estimate[0].shape == (2,)
    assert result.details["Z"].shape == (3, 2)
    assert result.details["names"] == ("u", "v")
    assert result.method == "a test; ranks among 3 draws; 2 columns, Holm"
    assert rank_result(Ranks.of([[0], [3]], M=3), found(1), np.array([0.5]), "").pvalue.shape == (1,)


def test_adjusted_and_shaped():
    p = np.array([[0.01, 0.04], [np.nan, 0.5]])
    np.testing.assert_allclose(adjusted(p, "holm"), [[0.03, 0.08], [np.nan, 0.5]])
    np.testing.assert_allclose(adjusted(p, "bonferroni"), [[0.03, 0.12], [np.nan, 1.0]])
    np.testing.assert_array_equal(adjusted(p, "none"), p)
    assert shaped(np.array([2.5]), True) == 2.5
    assert shaped(np.ones((3, 1)), True).shape == (3,)
    assert shaped(np.ones((3, 1)), False).shape == (3, 1)


@pytest.mark.parametrize("M", [1, 2, 3, 4, 5, 9, 99, 1000, 5000])
def test_orthonormal_and_free_of_constants(M):
    phi = legendre(M)
    assert phi.shape == (min(4, M), M + 1)
    np.testing.assert_allclose(phi @ phi.T / (M + 1), np.eye(len(phi)), atol=1e-10)
    np.testing.assert_allclose(phi.mean(axis=1), 0, atol=1e-10)
    assert (phi[:, -1] > 0).all()
    for k, row in enumerate(phi, start=1):
        np.testing.assert_allclose(row[::-1], (-1) ** k * row, atol=1e-10)


def test_legendre_polynomials():
    r = np.arange(21)
    for k, row in enumerate(legendre(20), start=1):
        np.testing.assert_allclose(np.polyval(np.polyfit(r, row, k), r), row, atol=1e-10)
    np.testing.assert_allclose(legendre(2), [np.array([-1, 0, 1]) * np.sqrt(1.5), np.array([1, -2, 1]) / np.sqrt(2)])
    x = 2 * (np.arange(5001) + 0.5) / 5001 - 1  # the limit is the continuous polynomial
    np.testing.assert_allclose(legendre(5000)[1], np.sqrt(5) * (3 * x * x - 1) / 2, atol=1e-3)


def test_band_by_hand():
    counts = np.array([[1, 0], [2, 0], [0, 4], [3, 2]])
    assert below(counts, np.array([1, 2, 3])).tolist() == [[1, 0], [3, 0], [3, 4]]
    found = band_test(Ranks.of([0, 0, 0], M=1))
    assert found.gamma[0] == found.pvalue[0] == pytest.approx(2 / 8)
    assert found.where.tolist() == [0.5]


@pytest.mark.parametrize(("n", "M"), [(3, 2), (4, 3), (5, 2)])
def test_pvalues_have_the_distribution_they_claim(n, M):
    """Over all rank vectors the share of p-values at or below each p is p."""
    every = np.array(list(itertools.product(range(M + 1), repeat=n))).T  # (n, vectors)
    p = band_test(Ranks.of(every, M)).pvalue
    for value in np.unique(p.round(12)):
        assert np.mean(p <= value * (1 + 1e-9)) == pytest.approx(value, rel=1e-9)


def test_gamma_is_the_smallest_pointwise_pvalue():
    rank = np.random.default_rng(0).integers(0, 8, 30)
    counts = np.array([(rank < j).sum() for j in range(1, 8)])
    t = np.arange(1, 8) / 8
    pointwise = 2 * np.minimum(binom.cdf(counts, 30, t), binom.sf(counts - 1, 30, t))
    found = band_test(Ranks.of(rank, M=7))
    assert found.gamma[0] == pytest.approx(pointwise.min())
    assert found.where[0] == t[np.argmin(pointwise)]


@given(M=st.integers(1, 80), data=st.data())
def test_a_rank_falls_into_its_bin_by_whole_numbers(M, data):
    bins = data.draw(st.integers(1, M + 1))
    place = ((np.arange(M + 1) + 1) * bins - 1) // (M + 1)
    np.testing.assert_array_equal(rank_bins(M, bins), np.bincount(place, minlength=bins))
    counts = np.arange(1, 2 * M + 3).reshape(M + 1, 2)
    expected = np.stack([np.bincount(place, column, minlength=bins) for column in counts.T], axis=1)
    np.testing.assert_array_equal(bin_counts(counts, bins), expected)


@pytest.mark.parametrize(
    ("n", "M", "bins"),
    [
        (10**6, 999, 20),
        (200, 99, 10),  # 200 // 20 rows
        (40, 99, 5),  # never fewer than five
        (10**6, 99, 20),
        (10**6, 59, 20),
        (10**6, 32, 11),  # 33 = 3 · 11
        (10**6, 100, 20),  # 101 is prime
        (10**6, 12, 13),  # one bin per rank
        (10, 1, 2),
        (10, 2, 3),
    ],
)
def test_default(n, M, bins):
    assert number_of_bins(None, n, M) == bins


@given(n=st.integers(1, 10**5), M=st.integers(1, 500))
def test_default_divides_where_it_can(n, M):
    start, found = min(20, max(5, n // 20), M + 1), number_of_bins(None, n, M)
    divisors = [k for k in range(1, start + 1) if (M + 1) % k == 0 and k >= start / 2]
    assert found == (max(divisors) if divisors else start)


def test_bins(refusal):
    assert rank_bins(99, 7).tolist() == [14, 14, 14, 15, 14, 14, 15]
    assert "at most 10" in refusal(number_of_bins, 11, 100, 9)
    assert "at least 2" in refusal(check_bins, 1)
    assert "whole number" in refusal(check_bins, 2.5)


def test_few_expected_rows_are_simulated():
    counts, expected = np.array([[3, 1], [0, 1], [0, 1]]), np.full(3, 1.0)
    assert not is_large(expected)
    statistic, pvalue = chi2(counts, expected, 3, resamples=4999)
    assert statistic.tolist() == [6.0, 0.0]
    assert pvalue[0] == pytest.approx(3 / 27, abs=0.02)  # all three rows in one bin
    assert pvalue[1] == 1.0
    first, again = (chi2(np.array([[40], [0]]), np.array([4.0, 36.0]), rng)[1][0] for rng in (None, 0))
    assert first == again == 1 / 1000


def test_a_whole_number_gives_chance_of_its_own():
    first, second = np.random.default_rng(5).random(1000), stream_after_ties(5).random(1000)
    assert not np.isin(first, second).any()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert second[0] == stream_after_ties(np.int64(5)).random() != stream_after_ties(6).random()
    assert stream_after_ties(None).random() == stream_after_ties(0).random()
    source = np.random.default_rng(5)
    assert stream_after_ties(source) is source
