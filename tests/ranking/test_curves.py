"""Differences of rank distribution functions: the reference values, all small tables of counts, and what is refused."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.books import arrays, by_id

from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples
from calibrant.core.pvalues import holm
from calibrant.errors import NotApplicableError
from calibrant.ranking.curves import ecdf_difference, nearest, rank_histogram, rank_places
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.summaries import Ranks

VALUES, ARRAYS = by_id("samples"), arrays("samples")
SETS = [name.removeprefix("ecdf_difference/") for name in VALUES if name.startswith("ecdf_difference/")]
HIGHEST = {name: ARRAYS[f"samples_{name}"].shape[1] for name in SETS}
RNG = np.random.default_rng(0)


def reference(name):
    return Ranks.of(ARRAYS[f"ranks_{name}"], HIGHEST[name])


def leaves(curve):
    v = curve.columns["coverage" if curve.kind == "expected_coverage" else "v"].T
    return ((v < curve.lower) | (v > curve.upper)).any(axis=-1)


@pytest.mark.parametrize("name", SETS)
class TestReferences:
    def test_counts(self, name):
        curve, m = ecdf_difference(reference(name)), HIGHEST[name] + 1
        c = ARRAYS[f"ecdf_counts_{name}"]
        t = np.arange(1, m) / m
        np.testing.assert_array_equal(curve.t, np.arange(m + 1) / m)
        v = curve.v if curve.v.ndim == 2 else curve.v[:, None]
        np.testing.assert_array_equal(v[1:-1], c / curve.n - t[:, None])
        np.testing.assert_array_equal(v[[0, -1]], 0)
        np.testing.assert_allclose(curve.sd[1:-1], np.sqrt(t * (1 - t) / curve.n), rtol=1e-14)


@pytest.mark.parametrize("name", [name for name in SETS if f"band/holm/{name}" in VALUES])
def test_columns_are_judged_together(name):
    curve = ecdf_difference(reference(name))
    np.testing.assert_allclose(curve.pvalue, VALUES[f"band/holm/{name}"]["value"], rtol=1e-9)
    alone = ecdf_difference(reference(name), multiplicity="none")
    np.testing.assert_array_equal(alone.pvalue, alone.pvalue_each)
    C = len(curve.names)
    one = ecdf_difference(reference(name).take([0]), level=1 - 0.05 / C)
    np.testing.assert_array_equal(curve.lower, one.lower)
    np.testing.assert_array_equal(alone.lower, ecdf_difference(reference(name).take([0])).lower)
    assert (alone.lower >= curve.lower).all()
    assert (alone.lower > curve.lower).any()


def test_one_point_and_one_rank():
    # M = 1: five of six ranks are 0, and B(6, 1/2) has P(B >= 5) = 7/64.
    curve = ecdf_difference(Ranks.of([0, 0, 1, 0, 0, 0], M=1), level=0.75)
    assert curve.t.tolist() == [0, 0.5, 1]
    assert curve.v.tolist() == [0, 5 / 6 - 0.5, 0]
    assert (curve.gamma, curve.where) == (pytest.approx(14 / 64), 0.5)
    assert curve.pvalue == pytest.approx(14 / 64)  # both tails
    # Within 2 to 4 lie 50/64 of all.
    np.testing.assert_allclose(curve.lower, [0, 2 / 6 - 0.5, 0])
    np.testing.assert_allclose(curve.upper, [0, 4 / 6 - 0.5, 0])
    assert curve.coverage == pytest.approx(50 / 64)
    assert curve.sd.tolist() == pytest.approx([0, np.sqrt(0.25 / 6), 0])
    curve = ecdf_difference(Ranks.of([3] * 5, M=3))
    np.testing.assert_allclose(curve.v, [0, -0.25, -0.5, -0.75, 0])
    assert curve.where == 0.75
    assert curve.gamma == pytest.approx(2 * 0.25**5)


def count_tables(N, m):
    """Yield all counts of N rows in m ranks, and their probability if every rank is equally likely."""
    for bars in combinations(range(N + m - 1), m - 1):
        counts = np.diff([-1, *bars, N + m - 1]) - 1
        orders = factorial(N)
        for count in counts.tolist():
            orders //= factorial(count)
        yield np.repeat(np.arange(m), counts), orders / m**N


CURVES = {
    "ecdf": lambda ranks, level, **how: ecdf_difference(ranks, level=level, **how),
    "central": lambda ranks, level, **how: expected_coverage(ranks, region="central", confidence=level, **how),
    "hpd": lambda ranks, level, **how: expected_coverage(ranks, region="hpd", confidence=level, **how),
}
EXACT = [("ecdf", 6, 3, level) for level in (0.5, 0.8, 0.95)]
EXACT += [(kind, 4, M, level) for kind in ("central", "hpd") for M, level in ((3, 0.8), (4, 0.5), (4, 0.95), (6, 0.8))]


@pytest.mark.parametrize(("kind", "N", "M", "level"), EXACT)
def test_probabilities_are_exact(kind, N, M, level):
    """Bands have their probability over all tables, and p is a distribution function at itself."""
    found = [(CURVES[kind](Ranks.of(ranks, M), level), share) for ranks, share in count_tables(N, M + 1)]
    inside = sum(share for curve, share in found if not leaves(curve))
    assert inside == pytest.approx(found[0][0].details["coverage" if kind == "ecdf" else "attained"], rel=1e-12)
    assert inside >= level
    p, share = np.array([(curve.pvalue, share) for curve, share in found]).T
    for value in np.unique(p):
        assert share[p <= value * (1 + 1e-9)].sum() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("kind", CURVES)
@given(
    n=st.integers(2, 60),
    M=st.integers(1, 30),
    C=st.integers(1, 4),
    level=st.floats(0.5, 0.999),
    seed=st.integers(0, 10**6),
    power=st.floats(0.3, 3),
    multiplicity=st.sampled_from(["bonferroni", "none"]),
)
def test_a_curve_leaves_the_band_exactly_if_its_pvalue_is_small(kind, n, M, C, level, seed, power, multiplicity):
    M += kind == "central"  # which needs two draws
    u = np.random.default_rng(seed).random((n, C)) ** power
    curve = CURVES[kind](Ranks.of((u * (M + 1)).astype(int), M), level, multiplicity=multiplicity)
    most = (1 - level) / (1 if multiplicity == "none" else C)
    near = np.isclose(curve.pvalue_each, most, rtol=1e-9)
    np.testing.assert_array_equal(leaves(curve) | near, (curve.pvalue_each <= most) | near)
    if multiplicity != "none":
        assert leaves(curve).any() == (curve.pvalue.min() <= 1 - level) or near.any()
    if kind != "ecdf":
        assert ((curve.low <= curve.coverage) & (curve.coverage <= curve.high)).all()


def test_many_draws_and_few_points():
    curve = ecdf_difference(Ranks.of(RNG.integers(0, 5001, 300), M=5000))
    assert curve.t.size == 1001
    assert curve.t[1:4] == pytest.approx(np.array([5, 10, 15]) / 5001)
    whole, few = (ecdf_difference(Ranks.of(np.arange(100), M=99), points=points) for points in (None, 3))
    assert few.t.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert few.upper[2] < whole.upper[50]


class TestKinds:
    def test_distributions_are_counted_in_cells(self):
        y = RNG.normal(size=240)
        curve = ecdf_difference(y, Normal(np.zeros(240), 1.0))
        assert curve.cells
        assert curve.M == 999
        u = Normal(np.zeros(240), 1.0).cdf(y)
        np.testing.assert_array_equal(curve.t, np.arange(201) / 200)  # 200 is the largest divisor of 1000 up to 240
        np.testing.assert_allclose(curve.v, [np.mean(u <= t) - t for t in curve.t], atol=1e-12)
        at = [0.1, 0.3, 0.7, 0.9, 0.1]  # right-closed: 0.1 is not beyond 0.1
        curve = ecdf_difference(None, CdfValues(at), points=9)
        assert (5 * (curve.v + curve.t)).round(9).tolist() == [0, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5]

    def test_names(self):
        named = Ranks.of([[0, 1], [1, 1]], M=1, names=["mass", "radius"])
        curve = ecdf_difference(named)
        assert curve.names == ("mass", "radius")
        assert curve.v.shape == (3, 2)
        assert curve.lower.shape == curve.sd.shape == curve.t.shape == (3,)
        assert all(np.shape(curve.details[key]) == (2,) for key in ("gamma", "pvalue", "pvalue_each", "where", "tied"))

    def test_quantiles(self):
        y, values = np.array([0.5, 1.5, 2.5, 9.0]), np.tile([1.0, 2.0, 3.0], (4, 1))
        curve = ecdf_difference(y, Quantiles(values, [0.25, 0.5, 0.75]), rng=0, points=[0.25, 0.5, 0.75])
        assert curve.v.tolist() == [0] * 5
        assert curve.tied == 4


HISTOGRAMS = [name for name in VALUES if name.startswith("histogram/")]


def bars_leave(curve):
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


class TestHistogramByHand:
    def test_two_bins(self):
        # Five ranks in two bins: 0 and 1, then 2 to 4. Five rows are expected as 2 and 3.
        curve = rank_histogram(Ranks.of([0, 1, 1, 4, 2], M=4), bins=2)
        assert (curve.first.tolist(), curve.last.tolist()) == ([0, 2], [1, 4])
        assert curve.edges.tolist() == [0, 2, 5]
        assert (curve.counts.tolist(), curve.expected.tolist()) == ([3, 2], [2.0, 3.0])
        assert curve.chi2 == pytest.approx(1 / 2 + 1 / 3)
        # Counts of the first bin within 2 to 4 of 6 have 50/64; beyond, 1 and 5 have 12/64.
        curve = rank_histogram(Ranks.of([0, 0, 0, 0, 0, 1], M=1), bins=2, level=0.75)
        assert (curve.lower.tolist(), curve.upper.tolist()) == ([2, 2], [4, 4])
        assert curve.coverage == pytest.approx(50 / 64)
        assert curve.gamma_band == pytest.approx(44 / 64)  # 2 P(B <= 2)
        assert bars_leave(curve)

    def test_bins_have_the_probability_of_their_ranks(self):
        """A share of b/m each, not 1/(bins + 1): bars of ranks that are all equally frequent have height 1."""
        for bins in (2, 7, 10, 64, 100):
            curve = rank_histogram(Ranks.of(np.tile(np.arange(100), 30), M=99), bins=bins)
            np.testing.assert_array_equal(curve.counts, curve.expected)
            assert curve.chi2 == 0
            assert curve.pvalue == 1

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
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_probability_of_the_band_is_exact(bins, level):
    found = [
        (rank_histogram(Ranks.of(ranks, M=3), bins=bins, level=level), share) for ranks, share in count_tables(6, 4)
    ]
    inside = sum(share for curve, share in found if not bars_leave(curve))
    assert inside == pytest.approx(found[0][0].coverage, rel=1e-12)
    assert inside >= level


@given(n=st.integers(2, 200), M=st.integers(1, 60), data=st.data())
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


def test_bars_of_columns_are_judged_together():
    ranks = Ranks.of(RNG.integers(0, 10, (200, 4)), M=9)
    together, alone = rank_histogram(ranks), rank_histogram(ranks, multiplicity="none")
    one = rank_histogram(ranks.take([0]), level=1 - 0.05 / 4)
    assert together.lower.tolist() == one.lower.tolist()
    assert alone.lower.tolist() == rank_histogram(ranks.take([0])).lower.tolist()
    np.testing.assert_array_equal(together.pvalue, holm(together.pvalue_each))
    np.testing.assert_array_equal(alone.pvalue, alone.pvalue_each)
    assert "4 columns, judged together" in together.method


def test_distributions_are_counted_in_cells():
    at = [0.0, 0.25, 0.2500001, 0.5, 1.0, 0.75]  # right-closed, and 0 in the first
    curve = rank_histogram(None, CdfValues(at), bins=4)
    assert curve.counts.tolist() == [2, 2, 1, 1]
    assert curve.cells
    assert curve.edges.tolist() == [0, 250, 500, 750, 1000]


@given(
    share=st.floats(0.001, 0.999),
    possible=st.sets(st.integers(1, 99), min_size=1).map(lambda found: np.array(sorted(found))),
)
def test_nothing_possible_is_nearer(share, possible):
    (found,) = nearest(share, possible, 100, name="levels")
    assert found in possible
    assert abs(found - 100 * share) <= abs(possible - 100 * share).min() + 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_higher_of_two_that_are_equally_near(dtype):
    # 0.95 of 100 lies between 94 and 96, and slightly below the middle as a float32.
    assert nearest(np.array([0.95, 0.75], dtype), np.arange(50, 100, 2), 100, name="levels").tolist() == [96, 76]
    assert nearest([0.01, 0.99], np.array([4, 6]), 10, name="levels").tolist() == [4, 6]  # the ends


@pytest.mark.parametrize(
    ("points", "M", "expected"),
    [
        (1, 1, [1]),
        (3, 3, [1, 2, 3]),
        (3, 99, [25, 50, 75]),
        (4, 9, [2, 4, 6, 8]),
        (2, 9, [3, 7]),  # 10/3 and 20/3
        ([0.5, 0.1, 0.1001], 99, [10, 50]),
        (0.25, 3, [1]),
    ],
)
def test_points(points, M, expected):
    assert rank_places(points, M).tolist() == expected


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (0, "points must be at least 1"),
        (10, "at most M = 9"),
        (True, "points must be numbers"),
        ([], "points must be a number or a list"),
        ([[0.5]], "got shape (1, 1)"),
        ([0.5, 1.0], "strictly between 0 and 1; got 1.0"),
        ([90.0], "Divide percentages by 100"),
        ([np.nan], "got nan"),
        (["a"], "points must be"),
    ],
)
def test_refusals_attainable(refusal, points, words):
    assert words in refusal(rank_places, points, 9)


EXTREMES = [
    (ecdf_difference, {"level": 1 - 1e-13}),
    (rank_histogram, {"level": 1 - 2.0**-53}),
    (expected_coverage, {"confidence": 1 - 2.0**-53}),
]


@pytest.mark.parametrize(
    ("verb", "options", "words"),
    [
        *((verb, options, "must be at most 1 - 1e-12") for verb, options in EXTREMES),
        (ecdf_difference, {"points": 0}, "points must be at least 1"),
        (rank_histogram, {"bins": 5}, "at most 4"),
        (expected_coverage, {"levels": 90}, "levels must lie strictly between 0 and 1; got 90.0. Divide percentages"),
        (expected_coverage, {"levels": []}, "levels must be a number or a list"),
        (expected_coverage, {"level": 0.9}, "Did you mean expected_coverage(y, prediction, levels=0.9)?"),
        *((verb, {"multiplicity": "exchange"}, "rank_exchange_test(y, samples)") for verb, _ in EXTREMES),
    ],
)
def test_options_that_are_refused(verb, options, words, refusal):
    assert words in refusal(verb, Ranks.of([0, 1], M=3), **options)


@pytest.mark.parametrize(
    ("verb", "words"),
    [(ecdf_difference, "got Intervals"), (rank_histogram, "got Intervals"), (expected_coverage, "coverage_curve")],
)
def test_other_predictions_and_weights_are_refused(verb, words, refusal):
    assert words in refusal(verb, [0.0], Intervals([0.0], [1.0], 0.9))
    given = RNG.normal(size=30), Samples(RNG.normal(size=(30, 8)))
    message = refusal(verb, *given, weights=np.arange(30) + 1.0)
    assert f"{verb.__name__} refuses unequal weights" in message
    assert "rank_smooth_test" in message


@pytest.mark.parametrize("verb", [ecdf_difference, rank_histogram])
@pytest.mark.parametrize("level", [0.5, 1 - 1e-12])
def test_the_outermost_levels_have_a_band(verb, level):
    for n, M in ((2, 39), (2, 3), (50, 9), (300, 99)):
        curve = verb(Ranks.of(np.arange(n) % (M + 1), M), level=level)
        assert curve.details["coverage"] >= level - 1e-12
        assert (curve.lower <= curve.upper).all()
    several = verb(Ranks.of(np.zeros((30, 20), int) + np.arange(30)[:, None] % 10, 9), level=level)
    assert several.details["coverage"] >= level - 1e-12


@pytest.mark.parametrize("verb", [ecdf_difference, rank_histogram, expected_coverage])
def test_one_row_has_no_band(verb, refusal):
    assert "one row has one rank" in refusal(verb, Ranks.of([3], 39), error=NotApplicableError)
    assert verb(Ranks.of([3, 4], 39)).n == 2
