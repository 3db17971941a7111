"""The rank sum: by hand, every labelling one by one, SciPy and scikit-learn, and the edges of its law."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from calibrant.primitives import rank_sum
from calibrant.primitives.rank_sum import auc, rank_sum_test


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
        assert found.null == "exact"
        assert found.pvalue == pytest.approx(expected, rel=1e-9)

    def test_perfect_order(self):
        found = rank_sum_test(np.arange(20.0), labelled(10, 10))
        assert found == (1.0, pytest.approx(1 / math.comb(20, 10), rel=1e-12), "exact")
        assert rank_sum_test(-np.arange(20.0), labelled(10, 10)) == (0.0, 1.0, "exact")

    def test_plain_numbers(self):
        for N in (10, 4000):
            found = rank_sum_test(np.arange(float(N)), labelled(N // 2, N // 2))
            assert (type(found.auc), type(found.pvalue)) == (float, float)
        assert type(auc(np.array([0.0, 1.0]), np.array([0, 1]))) is float


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
            counted = rank_sum._counted(ranks, sizes, m, w)
            assert rank_sum._looked_at(ranks, sizes, m, w) == pytest.approx(counted, rel=1e-12)
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
        assert found.null == "exact"
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-11)
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

    def test_only_the_order_counts(self):
        rng = np.random.default_rng(0)
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
    def test_the_normal_law_is_its_limit(self, digits):
        rng = np.random.default_rng(digits)
        labels = rng.integers(0, 2, 20_000)
        scores = np.round(rng.normal(size=20_000) + 0.02 * labels, digits)
        found = rank_sum_test(scores, labels)
        expected = stats.mannwhitneyu(
            scores[labels == 1], scores[labels == 0], alternative="greater", method="asymptotic"
        )
        assert found.null == "saddlepoint"
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-3)

    def test_permuted_labels(self):
        rng = np.random.default_rng(5)
        scores, labels = np.round(rng.normal(size=400), 1), rng.permutation(labelled(150, 250))
        found = rank_sum_test(scores, labels)
        ranks = stats.rankdata(scores)
        redrawn = np.array([ranks[rng.permutation(400)[:250]].sum() for _ in range(4000)])
        share = (redrawn >= ranks[labels == 1].sum()).mean()
        assert found.pvalue == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000))
