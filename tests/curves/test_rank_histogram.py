"""Histograms of ranks: the reference values, all small tables of counts, and what is refused."""

import json
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CdfValues, Normal, Ranks, Samples, Summary, summarize
from calibrant.curves.rank_histogram import rank_histogram
from calibrant.primitives.multiplicity import holm

REFERENCES = Path(__file__).parents[1] / "references"
VALUES = {value["id"]: value for value in json.loads((REFERENCES / "samples.json").read_text())["values"]}
ARRAYS = np.load(REFERENCES / "samples.npz")
HISTOGRAMS = [name for name in VALUES if name.startswith("histogram/")]
RNG = np.random.default_rng(0)


def tables(N, m):
    """Yield all counts of N rows in m ranks, and their probability if every rank is equally likely."""
    for bars in combinations(range(N + m - 1), m - 1):
        counts = np.diff([-1, *bars, N + m - 1]) - 1
        orders = factorial(N)
        for count in counts.tolist():
            orders //= factorial(count)
        yield np.repeat(np.arange(m), counts), orders / m**N


def leaves(curve):
    counts = curve.counts.T
    return ((counts < curve.lower) | (counts > curve.upper)).any(axis=-1)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_references(name):
    _, bins, data = name.split("/")
    value = VALUES[name]["value"]
    M = ARRAYS[f"samples_{data}"].shape[1]
    curve = rank_histogram(Ranks.of(ARRAYS[f"ranks_{data}"], M), bins=int(bins))
    np.testing.assert_array_equal(np.atleast_2d(curve.counts.T), value["counts"])
    np.testing.assert_allclose(curve.expected, value["expected"], rtol=1e-14)
    np.testing.assert_allclose(np.atleast_1d(curve.chi2), value["chi2"], rtol=1e-9)
    np.testing.assert_allclose(np.atleast_1d(curve.pvalue_each), value["pvalue"], rtol=1e-9)
    np.testing.assert_allclose(np.atleast_1d(curve.pvalue), holm(np.array(value["pvalue"])), rtol=1e-9)


@pytest.mark.parametrize("row", VALUES["histogram_band"]["value"], ids=lambda row: f"{row['N']}-{row['bins']}")
def test_band(row):
    N, m = row["N"], row["ranks"]
    curve = rank_histogram(Ranks.of(np.arange(N) % m, m - 1), bins=row["bins"], level=row["level"])
    assert curve.gamma_band == pytest.approx(row["gamma"], rel=1e-9)
    assert curve.coverage == pytest.approx(row["coverage"], rel=1e-9)
    assert (curve.lower.tolist(), curve.upper.tolist()) == (row["lower"], row["upper"])
    assert (curve.last - curve.first + 1).tolist() == row["sizes"]


def test_mean_counts_over_random_ties():
    """The mean over generators is what an even share of every tie gives, within five standard errors."""
    y, samples = ARRAYS["integer_y"], Samples(ARRAYS["integer_samples"])
    less, equal = ARRAYS["integer_less"][:, None], ARRAYS["integer_equal"][:, None]
    rank = np.arange(25)
    chance = ((less <= rank) & (rank <= less + equal)) / (equal + 1)
    expected = np.array(VALUES["expected_counts/integer"]["value"])
    np.testing.assert_allclose(chance.sum(axis=0), expected, rtol=1e-9)
    mean = np.mean([rank_histogram(y, samples, bins=25, rng=seed).counts for seed in range(300)], axis=0)
    error = np.sqrt((chance * (1 - chance)).sum(axis=0) / 300)
    assert (abs(mean - expected) <= 5 * error).all()


class TestByHand:
    def test_bins_that_do_not_divide_the_ranks(self):
        # Five ranks in two bins: 0 and 1, then 2 to 4. Five rows are expected as 2 and 3.
        curve = rank_histogram(Ranks.of([0, 1, 1, 4, 2], M=4), bins=2)
        assert (curve.first.tolist(), curve.last.tolist()) == ([0, 2], [1, 4])
        assert curve.edges.tolist() == [0, 2, 5]
        assert (curve.counts.tolist(), curve.expected.tolist()) == ([3, 2], [2.0, 3.0])
        assert curve.chi2 == pytest.approx(1 / 2 + 1 / 3)

    def test_bins_have_the_probability_of_their_ranks(self):
        """A share of b/m each, not 1/(bins + 1): bars of ranks that are all equally frequent have height 1."""
        for bins in (2, 7, 10, 64, 100):
            curve = rank_histogram(Ranks.of(np.tile(np.arange(100), 30), M=99), bins=bins)
            np.testing.assert_array_equal(curve.counts, curve.expected)
            assert curve.chi2 == 0
            assert curve.pvalue == 1

    def test_two_bins(self):
        # Counts of the first bin within 2 to 4 of 6 have 50/64; beyond, 1 and 5 have 12/64.
        curve = rank_histogram(Ranks.of([0, 0, 0, 0, 0, 1], M=1), bins=2, level=0.75)
        assert (curve.lower.tolist(), curve.upper.tolist()) == ([2, 2], [4, 4])
        assert curve.coverage == pytest.approx(50 / 64)
        assert curve.gamma_band == pytest.approx(44 / 64)  # 2 P(B <= 2)
        assert leaves(curve)

    @pytest.mark.parametrize(
        ("n", "M", "bins"),
        [(10_000, 99, 20), (100, 99, 5), (200, 99, 10), (10_000, 100, 20), (50, 1, 2), (300, 23, 12)],
    )
    def test_default_bins(self, n, M, bins):
        assert len(rank_histogram(Ranks.of(np.arange(n) % (M + 1), M)).counts) == bins

    def test_few_rows_are_simulated(self):
        ranks = Ranks.of([0, 0, 0, 0, 0, 1], M=1)
        curve = rank_histogram(ranks)
        assert "999 simulated histograms" in curve.method
        # X² is 16/6 or more for counts of 0, 1, 5 and 6 of 6: 14/64.
        assert curve.pvalue == pytest.approx(14 / 64, abs=4 * np.sqrt(14 / 64 * 50 / 64 / 999))
        assert curve.pvalue == rank_histogram(ranks, rng=0).pvalue != rank_histogram(ranks, rng=1).pvalue
        many = rank_histogram(Ranks.of([0, 1] * 20, M=1))
        assert "chi-square with 1 degrees of freedom" in many.method


@pytest.mark.parametrize("bins", [2, 3, 4])
@pytest.mark.parametrize("level", [0.3, 0.8, 0.95])
def test_probability_of_the_band_is_exact(bins, level):
    found = [(rank_histogram(Ranks.of(ranks, M=3), bins=bins, level=level), share) for ranks, share in tables(6, 4)]
    inside = sum(share for curve, share in found if not leaves(curve))
    assert inside == pytest.approx(found[0][0].coverage, rel=1e-12)
    assert inside >= level


@given(n=st.integers(1, 200), M=st.integers(1, 60), data=st.data())
def test_every_row_is_in_a_bar(n, M, data):
    bins = data.draw(st.integers(2, M + 1))
    ranks = np.random.default_rng(n).integers(0, M + 1, (n, 2))
    curve = rank_histogram(Ranks.of(ranks, M), bins=bins)
    assert curve.counts.sum(axis=0).tolist() == [n, n]
    assert curve.expected.sum() == pytest.approx(n)
    for k, (first, last) in enumerate(zip(curve.first, curve.last, strict=True)):
        assert ((first <= ranks) & (ranks <= last)).sum(axis=0).tolist() == curve.counts[k].tolist()
    assert (curve.lower <= curve.expected).all()
    assert (curve.upper >= curve.expected).all()


class TestColumns:
    def test_are_judged_together(self):
        ranks = Ranks.of(RNG.integers(0, 10, (200, 4)), M=9)
        together, alone = rank_histogram(ranks), rank_histogram(ranks, multiplicity="none")
        one = rank_histogram(ranks.take([0]), level=1 - 0.05 / 4)
        assert together.lower.tolist() == one.lower.tolist()
        assert alone.lower.tolist() == rank_histogram(ranks.take([0])).lower.tolist()
        np.testing.assert_array_equal(together.pvalue, holm(together.pvalue_each))
        np.testing.assert_array_equal(alone.pvalue, alone.pvalue_each)
        assert "4 columns, judged together" in together.method

    def test_shapes(self):
        several, single = (rank_histogram(Ranks.of(r, M=3), bins=2) for r in ([[0, 1], [2, 3]], [0, 2]))
        assert several.counts.tolist() == [[1, 1], [1, 1]]
        assert several.chi2.tolist() == [0, 0]
        assert several.lower.shape == several.expected.shape == (2,)
        assert single.counts.tolist() == [1, 1]
        assert single.chi2 == 0
        assert several.names == ("0", "1")


class TestKinds:
    def test_laws_are_counted_in_cells(self):
        at = [0.0, 0.25, 0.2500001, 0.5, 1.0, 0.75]  # right-closed, and 0 in the first
        curve = rank_histogram(None, CdfValues(at), bins=4)
        assert curve.counts.tolist() == [2, 2, 1, 1]
        assert curve.cells
        assert curve.edges.tolist() == [0, 250, 500, 750, 1000]

    def test_narrow_laws_make_a_u(self):
        y = np.random.default_rng(1).normal(size=2000)
        curve = rank_histogram(y, Normal(np.zeros(2000), 0.7), bins=10)
        ratio = curve.counts / curve.expected
        assert ratio[0] > 1.6 < ratio[-1]
        assert (ratio[4:6] < 0.8).all()
        assert leaves(curve)

    def test_ties_need_chance(self, refusal):
        given = [1.0, 2.0], Samples([[1.0, 2.0], [3.0, 4.0]])
        assert "pass rng=" in refusal(rank_histogram, *given)
        assert rank_histogram(*given, rng=0).tied == 1


class TestSummaries:
    def test_batches_add_up(self):
        y, draws = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 8, 2))
        parts = [summarize(rank_histogram, y[s], Samples(draws[s])) for s in (slice(0, 9), slice(9, 30))]
        merged = rank_histogram(Summary.from_bytes(sum(parts).to_bytes()), bins=3)
        whole = rank_histogram(y, Samples(draws), bins=3)
        for name, column in whole.columns.items():
            np.testing.assert_array_equal(merged.columns[name], column)
        np.testing.assert_array_equal(merged.pvalue, whole.pvalue)

    def test_weights(self, refusal):
        given = RNG.normal(size=30), Samples(RNG.normal(size=(30, 8)))
        expected, equal = (rank_histogram(*given, weights=w) for w in (None, np.full(30, 0.1)))
        np.testing.assert_array_equal(equal.counts, expected.counts)
        assert "unequal weights" in refusal(rank_histogram, *given, weights=np.arange(30))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bins": 1}, "bins must be at least 2"),
        ({"bins": 5}, "at most 4"),
        ({"bins": 2.0}, "bins must be a whole number"),
        ({"level": 1}, "level must lie"),
        ({"multiplicity": "exchange"}, "uniformity_test"),
    ],
)
def test_refusals(refusal, options, words):
    assert words in refusal(rank_histogram, Ranks.of([0, 1], M=3), **options)
