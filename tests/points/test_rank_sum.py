"""The rank sum: by hand, every labelling one by one, SciPy and scikit-learn, and the edges of its law."""

import math
from functools import cached_property
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln, ndtr
from sklearn.metrics import roc_auc_score

from calibrant.points import rank_sum
from calibrant.points.rank_sum import auc, first_sum, rank_sum_test, saddlepoint_tail, ways_to_sums


def labelled(n, m):
    return np.repeat([0, 1], [n, m])


def every_labelling(scores, m):
    """Return 2 n m AUC of every choice of m rows, counted pair by pair in whole numbers."""
    wins = 1 + np.sign(scores[:, None] - scores)  # 2, 1, 0: larger, equal, smaller
    found = []
    for chosen in combinations(range(scores.size), m):
        label = np.zeros(scores.size, int)
        label[list(chosen)] = 1
        found.append(label @ wins @ (1 - label))
    return np.array(found, int)


@st.composite
def rows(draw, most=9):
    N = draw(st.integers(2, most))
    scores = np.array(draw(st.lists(st.integers(0, draw(st.integers(0, 8))), min_size=N, max_size=N)), float)
    m = draw(st.integers(1, N - 1))
    labels = np.array(draw(st.permutations(labelled(N - m, m).tolist())))
    return scores / 7, labels


class TestByHand:
    def test_a_pair(self):
        assert rank_sum_test(np.array([1.0, 2.0]), np.array([0, 1])) == (1.0, 0.5, "exact")
        assert rank_sum_test(np.array([1.0, 2.0]), np.array([1, 0])) == (0.0, 1.0, "exact")

    def test_ties_count_half(self):
        # 0 beats nothing, the two 1s tie, 2 beats both: (1 + 0.5 + 2 + 1... ) by pairs: (1,0) (1,1) (2,0) (2,1)
        scores, labels = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
        found = rank_sum_test(scores, labels)
        assert found.auc == 3.5 / 4
        assert found.pvalue == pytest.approx(2 / 6, rel=1e-12)  # either of the two 1s may be the labelled one

    def test_equal_scores_say_nothing(self):
        assert rank_sum_test(np.full(7, 0.3), labelled(3, 4)) == (0.5, 1.0, "exact")

    def test_two_scores_are_fisher_s_table(self):
        scores, labels = np.repeat([0.0, 1.0, 0.0, 1.0], [700, 300, 500, 400]), labelled(1000, 900)
        expected = stats.fisher_exact([[400, 500], [300, 700]], alternative="greater").pvalue
        found = rank_sum_test(scores, labels)
        assert (found.null, found.pvalue) == ("exact", pytest.approx(expected, rel=1e-9))

    def test_perfect_order(self):
        found = rank_sum_test(np.arange(20.0), labelled(10, 10))
        assert found == (1.0, pytest.approx(1 / math.comb(20, 10), rel=1e-12), "exact")
        assert rank_sum_test(-np.arange(20.0), labelled(10, 10)) == (0.0, 1.0, "exact")


class TestExact:
    @given(rows())
    def test_every_labelling(self, drawn):
        scores, labels = drawn
        values = every_labelling(scores, int(labels.sum()))
        found, pairs = rank_sum_test(scores, labels), 2 * labels.sum() * (1 - labels).sum()
        observed = round(found.auc * pairs)
        assert found.auc == observed / pairs
        assert found.pvalue == pytest.approx((values >= observed).mean(), rel=1e-12)

    @given(rows())
    def test_both_bodies_agree(self, drawn):
        scores, labels = drawn
        (ranks, sizes), w, m, _ = rank_sum._ranked(scores, labels)
        if ranks.size > 1:
            ways = rank_sum.ways_to_sums(ranks, sizes, m)
            counted = ways[w:].sum() / ways.sum()
            assert rank_sum._enumerated(ranks, sizes, m, w) == pytest.approx(counted, rel=1e-12)
            assert rank_sum.ways_to_sums(ranks, sizes, m).sum() == math.comb(scores.size, m)

    @given(rows())
    def test_the_other_label_seen_from_below(self, drawn):
        scores, labels = drawn
        found, mirrored = rank_sum_test(scores, labels), rank_sum_test(-scores, 1 - labels)
        assert mirrored.auc == pytest.approx(found.auc, abs=1e-15)
        assert mirrored.pvalue == pytest.approx(found.pvalue, rel=1e-12)

    @given(rows(most=8))
    def test_it_never_rejects_too_often(self, drawn):
        scores, labels = drawn
        N, m = scores.size, int(labels.sum())
        pvalues = []
        for chosen in combinations(range(N), m):
            label = np.zeros(N, int)
            label[list(chosen)] = 1
            pvalues.append(rank_sum_test(scores, label).pvalue)
        p = np.array(pvalues)
        assert all((p <= value * (1 + 1e-12)).mean() <= value * (1 + 1e-12) for value in np.unique(p))

    @pytest.mark.parametrize(("n", "m"), [(50, 50), (20, 90), (90, 20), (1500, 2), (3, 600)])
    def test_scipy_without_ties(self, n, m):
        rng = np.random.default_rng(n)
        scores, labels = rng.normal(size=n + m) + 0.3 * labelled(n, m), labelled(n, m)
        found = rank_sum_test(scores, labels)
        expected = stats.mannwhitneyu(scores[n:], scores[:n], alternative="greater", method="exact")
        assert (found.null, found.pvalue) == ("exact", pytest.approx(expected.pvalue, rel=1e-11))
        assert found.auc == pytest.approx(expected.statistic / (n * m), rel=1e-14)

    def test_one_row_of_many(self):
        scores = np.arange(100_000.0)
        labels = (scores == 99_990).astype(int)
        assert rank_sum_test(scores, labels) == (pytest.approx(99_990 / 99_999), pytest.approx(1e-4, rel=1e-9), "exact")


class TestArea:
    @given(rows())
    def test_scikit_learn(self, drawn):
        scores, labels = drawn
        assert auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-14)
        assert auc(scores, labels) == rank_sum_test(scores, labels).auc

    def test_only_the_order_counts(self, rng):
        scores, labels = np.round(rng.random(300), 2), rng.integers(0, 2, 300)
        found = rank_sum_test(scores, labels)
        order = rng.permutation(300)
        assert rank_sum_test(np.exp(scores), labels) == found
        assert rank_sum_test(scores[order], labels[order]) == found


class TestManyRows:
    def test_no_pvalue_is_zero(self):
        found = rank_sum_test(np.arange(4000.0), labelled(2000, 2000))
        assert found == (1.0, np.finfo(float).tiny, "saddlepoint")

    def test_the_worst_order_of_many(self):
        assert rank_sum_test(-np.arange(4000.0), labelled(2000, 2000)).pvalue == 1.0

    @pytest.mark.parametrize("digits", [1, 2, 9])
    def test_the_normal_distribution_is_its_limit(self, digits):
        rng = np.random.default_rng(digits)
        labels = rng.integers(0, 2, 20_000)
        scores = np.round(rng.normal(size=20_000) + 0.02 * labels, digits)
        found = rank_sum_test(scores, labels)
        high, low = scores[labels == 1], scores[labels == 0]
        expected = stats.mannwhitneyu(high, low, alternative="greater", method="asymptotic")
        assert found.null == "saddlepoint"
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-3)


BINOMIAL = np.array([1, 7, 16, 30, 36, 33, 16, 9, 2])
PATTERNS = {
    "no ties": (np.ones(100, int), 50, 5e-4),
    "no ties, unequal": (np.ones(120, int), 30, 1e-3),
    "ten scores": (BINOMIAL, 75, 5e-3),
    "few rows of one label": (np.ones(310, int), 10, 0.012),
    "five groups": (np.array([31, 52, 24, 60, 33]), 100, 0.02),
    "five groups of nearly the same size": (np.array([41, 40, 40, 40, 39]), 100, 0.3),
}


def doubled_ranks(sizes):
    return 2 * np.cumsum(sizes) - sizes + 1


class Distribution:
    """The exact law of the sum, whose possible values lie `step` apart."""

    def __init__(self, sizes, m):
        self.ranks, self.sizes, self.m = doubled_ranks(sizes), sizes, m
        self.step = int(np.gcd.reduce(np.diff(self.ranks)))
        self.places = (self.ranks - self.ranks[0]) // self.step

    @cached_property
    def tails(self):
        ways = ways_to_sums(self.places, self.sizes, self.m)
        return ways[::-1].cumsum()[::-1] / ways.sum()

    def exact(self, place):
        return self.tails[place]

    def saddlepoint(self, place):
        total = int(place * self.step + self.m * self.ranks[0])
        return saddlepoint_tail(self.ranks, self.sizes, self.m, total, self.step)

    def normal(self, place):
        N, m = self.sizes.sum(), self.m
        mean = float(self.places @ self.sizes) / N
        variance = float(self.sizes @ (self.places - mean) ** 2) / N * m * (N - m) / (N - 1)
        return float(ndtr(-(place - 0.5 - m * mean) / math.sqrt(variance)))

    def at(self, z):
        """Return the possible sum about z standard deviations above the mean."""
        N, m = self.sizes.sum(), self.m
        mean = float(self.places @ self.sizes) / N
        variance = float(self.sizes @ (self.places - mean) ** 2) / N * m * (N - m) / (N - 1)
        return round(m * mean + z * math.sqrt(variance))


@pytest.mark.parametrize("name", PATTERNS)
def test_against_the_exact_distribution(name):
    sizes, m, bound = PATTERNS[name]
    distribution = Distribution(sizes, m)
    for z in (0.5, 1.64, 2.33, 3.1, 4.3, 5.2):
        place = distribution.at(z)
        assert distribution.saddlepoint(place) == pytest.approx(distribution.exact(place), rel=bound)


@pytest.mark.parametrize("name", PATTERNS)
def test_both_tails_add_up(name):
    sizes, m, _ = PATTERNS[name]
    distribution, mirrored = Distribution(sizes, m), Distribution(sizes[::-1], m)
    for place in (distribution.at(-1.0), distribution.at(0.0), distribution.at(2.0)):
        other = m * int(distribution.places[-1]) - place  # the same sum, counted from above
        total = distribution.saddlepoint(place) + mirrored.saddlepoint(other + 1)
        assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", PATTERNS)
def test_it_falls_smoothly_through_the_mean(name):
    sizes, m, _ = PATTERNS[name]
    distribution = Distribution(sizes, m)
    places = np.arange(distribution.at(-0.1), distribution.at(0.1))
    tails = np.array([distribution.saddlepoint(place) for place in places])
    steps = -np.diff(tails)
    assert np.all(steps > 0)
    assert steps.max() < 1.2 * steps.min() + 1e-4


@pytest.mark.parametrize("name", ["no ties", "no ties, unequal", "few rows of one label"])
def test_the_largest_sum(name):
    sizes, m, _ = PATTERNS[name]
    distribution, N = Distribution(sizes, m), sizes.sum()
    exact = math.exp(gammaln(m + 1) + gammaln(N - m + 1) - gammaln(N + 1))
    found = distribution.saddlepoint(first_sum(distribution.places[::-1], distribution.sizes[::-1], m))
    assert found == pytest.approx(exact, rel=0.25)


def test_millions_of_rows():
    sizes = np.array([10**6, 3 * 10**6, 2 * 10**6, 7, 10**6 + 1])
    distribution = Distribution(sizes, 3 * 10**6)
    for z in (-2.0, 0.0, 0.01, 1.0, 4.0):
        expected = distribution.normal(distribution.at(z))
        assert distribution.saddlepoint(distribution.at(z)) == pytest.approx(expected, rel=1e-3)
