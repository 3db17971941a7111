"""The test of two sets by MMD²: p-values by hand, level, laws of rows, blocks, every refusal."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist
from tests.references.books import arrays, by_id

from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.kernels import Exponential, Gaussian, Matern32
from calibrant.kernels.point_kernels import Polynomial
from calibrant.points.blocks import PointBlocks, block_terms
from calibrant.points.discrepancy import mmd
from calibrant.points.discrepancy_test import (
    MIN_BLOCKS,
    Splits,
    many_kernels,
    mmd_test,
    of_kernel,
    of_many_kernels,
    random_splits,
)
from calibrant.points.inputs import read_point_sets

RNG = np.random.default_rng(11)
A, B = RNG.normal(size=(60, 3)), RNG.normal(0.2, 1.2, size=(45, 3))
TOO_LARGE = "the kernel's values are too large, or not finite; give the points in other units, or check the kernel"


def rng(seed=0):
    return np.random.default_rng(seed)


class TestPermutation:
    def test_what_it_says(self):
        result = mmd_test(A, B, resamples=9, bandwidth=0.5)
        assert result.method == "kernel test of two sets of points (MMD²), gaussian, bandwidth 0.5; 9 permutations"
        assert (result.details["kernel"], result.details["bandwidth"]) == ("gaussian", 0.5)
        assert result.statistic == result.estimate == pytest.approx(mmd(A, B, bandwidth=0.5), rel=1e-9)
        assert (result.n, result.details["n"], result.details["m"], result.details["resamples"]) == (105, 60, 45, 9)
        assert mmd_test(A, B, resamples=9, kernel=Gaussian(0.5)) == result
        result = mmd_test(A, B, resamples=9, kernel="polynomial")
        assert "bandwidth" not in result.details
        assert "polynomial; 9 permutations" in result.method
        result = mmd_test(A, B, resamples=9, kernel=Matern32(2.0))
        assert result.details["kernel"] == "Matern32(lengthscale=2.0, distance='euclidean')"
        assert result.details["bandwidth"] == 2.0

    @pytest.mark.parametrize("aggregate", [None, "max", "fuse"])
    def test_far_apart_and_a_copy(self, aggregate):
        # Only the observed division reaches its own value, and chance does not draw it.
        assert mmd_test(A, B + 20, resamples=199, aggregate=aggregate).pvalue == 1 / 200
        assert mmd_test(A, A, resamples=99, aggregate=aggregate).pvalue > 0.9

    def test_the_share_of_divisions(self):
        """Of the 10 divisions of 2 and 3 points, with p counted over all of them, random ones find the same."""
        y, points = [[0.0], [0.4]], [[1.0], [3.0], [4.0]]
        z = np.array([0.0, 0.4, 1.0, 3.0, 4.0])
        values = {}
        for i in range(5):
            for j in range(i):
                first = np.isin(np.arange(5), (i, j))
                values[j, i] = mmd(z[first, None], z[~first, None], bandwidth=1.0)
        exact = np.mean([value >= values[0, 1] - 1e-12 for value in values.values()])
        assert 0 < exact < 1
        p = mmd_test(y, points, bandwidth=1.0, resamples=9999).pvalue
        assert abs(p - exact) <= 5 * math.sqrt(exact * (1 - exact) / 9999) + 1e-4

    def test_power(self):
        chance = rng(7)
        y, points = chance.normal(size=(150, 2)), chance.normal(size=(150, 2))
        points[:, 1] = 0.9 * points[:, 0] + math.sqrt(0.19) * points[:, 1]  # marginals as before
        assert mmd_test(y, points, resamples=199).pvalue <= 0.01

    def test_aggregates_see_what_is_smaller_than_the_median_distance(self):
        """Two clusters far apart; within one of them points lie on a circle rather than in a cloud."""
        chance = rng(8)
        y, points = chance.normal(size=(2, 120, 2))
        angle = chance.uniform(0, 2 * math.pi, 120)
        points = 1.2 * np.column_stack([np.cos(angle), np.sin(angle)])
        y[:60] += 60
        points[:60] += 60
        assert mmd_test(y, points, resamples=199).pvalue > 0.2
        for aggregate in ("max", "fuse"):
            assert mmd_test(y, points, resamples=199, aggregate=aggregate).pvalue <= 0.01


class TestRows:
    @settings(max_examples=12)
    @given(seed=st.integers(0, 10**6), aggregate=st.sampled_from([None, "max", "fuse"]), d=st.sampled_from([1, 2, 18]))
    def test_their_order_changes_nothing(self, seed, aggregate, d):
        chance = rng(seed)
        y, points = chance.normal(size=(14, d)).round(1), chance.normal(0.3, size=(9, d)).round(1)
        options = {"aggregate": aggregate, "resamples": 49}
        one = mmd_test(y, points, **options)
        other = mmd_test(chance.permutation(y), chance.permutation(points), **options)
        assert one.pvalue == other.pvalue
        assert one.statistic == pytest.approx(other.statistic, rel=1e-9, abs=1e-13)

    @pytest.mark.parametrize("aggregate", [None, "max", "fuse"])
    def test_sets_of_one_size_may_change_places(self, aggregate):
        one, other = (mmd_test(*sets, resamples=99, aggregate=aggregate) for sets in ((A[:45], B), (B, A[:45])))
        assert one.pvalue == other.pvalue
        assert one.statistic == pytest.approx(other.statistic, rel=1e-10)


class TestBlock:
    @pytest.mark.parametrize("b", [2, 3, 4])
    def test_it_is_students_test_of_the_blocks(self, b):
        result = mmd_test(A, B, method="block", blocksize=b, bandwidth=1.5)
        s = 45 // b
        terms = block_terms(A[: s * b], B[: s * b], Gaussian(1.5, "euclidean"), b)
        expected = stats.ttest_1samp(terms, 0, alternative="greater")
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
        assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-10)
        assert result.estimate == pytest.approx(terms.mean(), rel=1e-12)
        details = result.details
        assert (result.n, details["n"], details["m"]) == (2 * s * b, s * b, s * b)
        assert (details["blocks"], details["blocksize"], details["kernel"]) == (s, b, "gaussian")
        assert details["standard_error"] == pytest.approx(terms.std(ddof=1) / math.sqrt(s), rel=1e-10)
        assert f"bandwidth 1.5; {s} blocks of {b} points of each set, Student's t" in result.method

    def test_the_root_of_the_smaller_set_by_default(self):
        y, points = rng(1).normal(size=(130, 2)), rng(2).normal(size=(500, 2))
        result = mmd_test(y, points, method="block")
        assert (result.details["blocksize"], result.details["blocks"]) == (11, 11)
        assert result == mmd_test(y, points, method="block", blocksize=11)
        assert result.estimate == pytest.approx(mmd(y, points, estimator="block"), rel=1e-12)

    def test_a_summary(self):
        options = {"kernel": "laplace", "bandwidth": 2.0, "blocksize": 3}
        whole = mmd_test(A, B, method="block", **options)
        parts = [PointBlocks.of(A[rows], B[rows], **options) for rows in (slice(21), slice(21, 60))]
        found = mmd_test(sum(parts), method="block")
        assert (found.pvalue, found.method) == (pytest.approx(whole.pvalue, rel=1e-9), whole.method)

    def test_pairs(self):
        result = mmd_test(PointBlocks.of(A, B, estimator="linear", bandwidth=1.5), method="block")
        terms = block_terms(A[:44], B[:44], Gaussian(1.5, "euclidean"), 2, linear=True)
        assert result.pvalue == pytest.approx(stats.ttest_1samp(terms, 0, alternative="greater").pvalue, rel=1e-10)
        assert "22 pairs of points of each set" in result.method

    def test_level_of_pairs(self):
        """Ten pairs: the normal limit would reject 0.07 of 2000 at 0.05."""
        chance, kernel = rng(9), Gaussian(1.7, "euclidean")
        found = []
        for _ in range(2000):
            terms = block_terms(chance.normal(size=(20, 2)), chance.normal(size=(20, 2)), kernel, 2, linear=True)
            spread = float(np.square(terms - terms.mean()).sum())
            none = np.zeros((0, 2))
            summary = PointBlocks(kernel, "linear", 2, 10, float(terms.mean()), spread, none, none)
            found.append(mmd_test(summary, method="block").pvalue)
        assert abs(np.mean(np.array(found) <= 0.05) - 0.05) <= 0.015

    def test_blocks_that_are_all_alike(self, refusal):
        y, points = [[0.0], [1.0]] * 10, [[2.0], [3.0]] * 10
        message = refusal(mmd_test, y, points, method="block", blocksize=2, bandwidth=1.0, error=NotApplicableError)
        assert "all 10 blocks have the same value" in message
        assert 'use method="permutation"' in message
        # alike and below 0, or nothing but rounding: no evidence
        for x in ([[0.0], [1.0]] * 10, [[0.3]] * 20):
            result = mmd_test(x, x, method="block", blocksize=2, bandwidth=1.0)
            assert (result.statistic, result.pvalue) == (0.0, 1.0)

    def test_fewer_than_ten_blocks(self, refusal):
        assert MIN_BLOCKS == 10
        for n in (18, 19):
            message = refusal(mmd_test, A[:n], B, method="block", blocksize=2, error=NotApplicableError)
            assert "at least 10 blocks; these points fill 9 of 2 of each set" in message
            assert 'method="permutation"' in message
        assert mmd_test(A[:20], B, method="block", blocksize=2).details["blocks"] == 10


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"kernel": "rbf"}, "kernel must be one of 'gaussian', 'laplace', 'polynomial'"),
            ({"blocksize": 5}, 'blocksize= is for method="block"'),
            ({"method": "block", "blocksize": 1}, "blocksize must be at least 2"),
            ({"method": "block", "aggregate": "max"}, 'aggregate= is for method="permutation"'),
            ({"aggregate": "max", "kernel": "laplace"}, "leave kernel out; got 'laplace'"),
            ({"aggregate": "fuse", "bandwidth": 2.0}, "leave bandwidth out; got 2.0"),
            ({"aggregate": "fuse", "kernel": np.ones(3)}, "leave kernel out"),
        ],
        ids=str,
    )
    def test_options(self, options, words, refusal):
        assert words in refusal(mmd_test, A, B, **options)

    def test_points_without_a_scale(self, refusal):
        same = np.ones((10, 2))
        for aggregate in (None, "max", "fuse"):
            message = refusal(mmd_test, same, same, aggregate=aggregate, error=NotApplicableError)
            assert "the pooled points are the same" in message
        assert mmd_test(same, same, bandwidth=1.0).pvalue == 1.0

    @pytest.mark.parametrize("size", [1e30, 1e51, 1.6e51, 1e60])
    @pytest.mark.parametrize("method", ["permutation", "block"])
    def test_kernels_that_overflow(self, method, size, refusal):
        assert refusal(mmd_test, size * A, size * B, kernel="polynomial", method=method) == TOO_LARGE

    @pytest.mark.parametrize(
        ("b", "points", "options", "error", "words"),
        [
            (2, B, {"method": "block"}, InputError, "which hold both sets"),
            (2, None, {}, SummaryError, 'pass method="block"'),
            (2, None, {"method": "block", "aggregate": "max"}, SummaryError, 'pass method="block"'),
            *(
                (2, None, {"method": "block", **given}, InputError, "options cannot be given with PointBlocks")
                for given in ({"kernel": "laplace"}, {"bandwidth": 1.0}, {"blocksize": 2})
            ),
            (20, None, {"method": "block"}, NotApplicableError, "at least 10 blocks"),
        ],
    )
    def test_summaries(self, b, points, options, error, words, refusal):
        assert words in refusal(mmd_test, PointBlocks.of(A, B, blocksize=b), points, error=error, **options)


BOOK, ARRAYS = by_id("samples"), arrays("samples")
X, Y = ARRAYS["X"], ARRAYS["Y"]


def splits_of(y, points, V):
    """Return the splits V of the points as they come, the observed one before them."""
    Z = np.concatenate([y, points])
    observed = np.arange(len(Z)) < len(y)
    return Splits(Z, np.concatenate([observed[None], V]).astype(np.uint8), len(y), len(points))


def every_split(y, points):
    """Return each way to take len(y) of the points as the first set."""
    N = len(y) + len(points)
    first = list(combinations(range(N), len(y)))
    V = np.zeros((len(first), N))
    for row, members in zip(V, first, strict=True):
        row[list(members)] = 1
    return splits_of(np.asarray(y, float), np.asarray(points, float), V)


class TestReferences:
    splits = splits_of(X, Y, np.unpackbits(ARRAYS["permutations"], axis=1)[:, :400])

    def agrees(self, found, name):
        expected = BOOK[name]["value"]
        assert found.values[0] == pytest.approx(expected["statistic"], rel=BOOK[name]["rtol"])
        assert found.pvalue == expected["pvalue"]

    def test_one_kernel(self):
        found = of_kernel(self.splits, Gaussian(BOOK["median_heuristic"]["value"], "euclidean"))
        self.agrees(found, "mmd_test/median")
        np.testing.assert_allclose(found.values[1:], ARRAYS["permutation_null"], rtol=BOOK["mmd_test/median"]["rtol"])

    @pytest.mark.parametrize("aggregate", ["fuse", "max"])
    def test_many_kernels(self, aggregate):
        self.agrees(of_many_kernels(self.splits, aggregate, rng()), f"mmd_test/{aggregate}")


class TestOneKernel:
    @pytest.mark.parametrize("kernel", [Gaussian(0.7, "euclidean"), Exponential(2.0, "l1"), Polynomial()])
    @pytest.mark.parametrize("d", [1, 3, 20])
    def test_a_split_has_the_mmd_of_its_two_sets(self, kernel, d):
        chance = rng(d)
        y, points = chance.normal(size=(7, d)), chance.normal(0.5, size=(5, d))
        splits = random_splits(read_point_sets(y, points), 20, chance)
        found = of_kernel(splits, kernel)
        named = "polynomial" if isinstance(kernel, Polynomial) else kernel
        for v, value in zip(splits.V.astype(bool), found.values, strict=True):
            assert value == pytest.approx(mmd(splits.Z[v], splits.Z[~v], kernel=named), rel=1e-9, abs=1e-12)
        assert found.estimate == found.values[0]
        assert found.kernel is kernel

    def test_by_hand(self):
        # Points 0, 1, 1, 2 on a line, k = exp(-d), q = exp(-1). First sets of 0 and a 1: q + q - (1 + 2q + q²)/2, which
        # is -(1 - q)²/2. First set of 0 and 2: q² + 1 - 2q = (1 - q)².
        far = (1 - np.exp(-1.0)) ** 2
        kernel = Exponential(1.0, "l1")
        found = of_kernel(every_split([[0.0], [1.0]], [[1.0], [2.0]]), kernel)
        expected = [-far / 2, -far / 2, -far / 2, far, far, -far / 2, -far / 2]
        np.testing.assert_allclose(found.values, expected, rtol=1e-13)
        assert found.pvalue == 1.0  # no split has less
        assert of_kernel(every_split([[0.0], [2.0]], [[1.0], [1.0]]), kernel).pvalue == 3 / 7

    def test_all_splits_of_a_few_points(self):
        chance = rng(4)
        y, points = chance.normal(size=(4, 2)), chance.normal(1.5, size=(3, 2))
        found = of_kernel(every_split(y, points), Gaussian(1.0, "euclidean"))
        values = found.values[1:]
        assert len(values) == 35
        assert values[0] == pytest.approx(found.values[0], rel=1e-12)  # the observed split is one of all
        assert found.pvalue == (1 + (values >= values[0] - 1e-14).sum()) / 36

    @given(st.lists(st.integers(0, 2), min_size=8, max_size=8))
    def test_splits_of_equal_value_reach_the_observed_one(self, numbers):
        """Equal points make many splits alike; which of them do is found in whole numbers."""
        z = np.array(numbers, float)[:, None]
        splits = every_split(z[:4], z[4:])
        found = of_kernel(splits, Gaussian(0.8, "euclidean"))
        counts = [tuple(np.sort(z[v == 1][:, 0])) for v in splits.V]
        others = [tuple(np.sort(z[v == 0][:, 0])) for v in splits.V]
        alike = [{a, b} == {counts[0], others[0]} for a, b in zip(counts[1:], others[1:], strict=True)]
        least = (1 + sum(alike)) / 71
        assert found.pvalue >= least
        np.testing.assert_allclose(found.values[1:][alike], found.values[0], atol=1e-14)

    def test_what_is_not_finite(self, refusal):
        for size in (1e140, 1e30):  # the value, and its square
            splits = every_split(np.array([[1.0], [2.0]]) * size, np.array([[3.0], [4.0]]) * size)
            assert "in other units" in refusal(of_kernel, splits, Polynomial())


class TestManyKernels:
    def test_which(self):
        Z = rng().normal(size=(60, 3))
        kernels = many_kernels(Z, rng())
        for some, shape, metric in ((kernels[:10], Exponential, "cityblock"), (kernels[10:], Gaussian, "euclidean")):
            assert {type(kernel) for kernel in some} == {shape}
            low, high = np.quantile(pdist(Z, metric), [0.05, 0.95])
            expected = np.linspace(low / 2, 2 * high, 10)
            np.testing.assert_allclose([kernel.length for kernel in some], expected, rtol=1e-12)

    def test_many_equal_points(self):
        z = np.repeat([0.0, 1.0, 3.0], 20)[:, None]
        for half in (many_kernels(z, rng())[:10], many_kernels(z, rng())[10:]):
            assert half[0].length == 0.5  # the distances above 0 are 1, 2 and 3
            assert half[-1].length == 6.0

    @pytest.mark.parametrize("sizes", [(9, 9), (5, 12)])
    def test_by_the_matrix(self, sizes):
        n, m = sizes
        chance = rng(n)
        splits = random_splits(read_point_sets(chance.normal(size=(n, 2)), chance.normal(0.4, size=(m, 2))), 30, chance)
        T, D = [], []
        for kernel in many_kernels(splits.Z, rng()):
            one = of_kernel(splits, kernel)
            K = kernel.of_distance(pdist(splits.Z, "cityblock" if kernel.distance == "l1" else "euclidean"))
            D.append(one.values[0])
            T.append(np.sqrt(min(sizes) * (min(sizes) - 1)) * one.values / np.sqrt(np.mean(K * K)))
        largest, fused = np.max(T, axis=0), np.log(np.mean(np.exp(T), axis=0))
        for aggregate, expected in (("max", largest), ("fuse", fused)):
            found = of_many_kernels(splits, aggregate, rng())
            np.testing.assert_allclose(found.values, expected, rtol=1e-10, atol=1e-12)
            best = int(np.argmax(np.array(T)[:, 0]))
            assert found.kernel == many_kernels(splits.Z, rng())[best]
            assert found.estimate == pytest.approx(D[best])

    @pytest.mark.parametrize("aggregate", ["max", "fuse"])
    def test_the_observed_split_and_its_mirror_are_ties(self, aggregate):
        z = rng().integers(0, 4, (30, 2)).astype(float)
        observed = np.arange(30) < 15
        found = of_many_kernels(splits_of(z[:15], z[15:], np.stack([observed, ~observed])), aggregate, rng())
        assert found.pvalue == 1.0


@pytest.mark.parametrize(("n", "m"), [(6, 11), (11, 6)])
def test_the_observed_one_is_first_and_the_smaller_set_is_marked(n, m):
    y, points = rng().normal(size=(n, 2)), rng(1).normal(size=(m, 2))
    splits = random_splits(read_point_sets(y, points), 40, rng())
    assert (splits.n, splits.m, splits.V.shape) == (6, 11, (41, 17))
    assert (splits.V.sum(axis=1) == 6).all()
    first = splits.Z[splits.V[0] == 1]
    assert sorted(map(tuple, first)) == sorted(map(tuple, min(y, points, key=len)))
    assert len({tuple(v) for v in splits.V[1:]}) > 30


class TestFewAgainstMany:
    """Three zeros against 503 ones and 497 zeros: the splits whose smaller set is all zeros have the observed MMD².

    None has more: three ones against the rest are nearer to it, as it has as many ones as zeros.
    """

    y, points = np.repeat([1.0, 0.0], [503, 497])[:, None], np.zeros((3, 1))
    splits = random_splits(read_point_sets(y, points), 999, rng())
    alike = (splits.V.astype(float) @ splits.Z[:, 0] == 0)[1:]
    expected = (1 + np.count_nonzero(alike)) / 1000

    @pytest.mark.parametrize("kernel", [Gaussian(1.0, "euclidean"), Exponential(0.1, "l1"), Polynomial()], ids=repr)
    def test_one_kernel(self, kernel):
        found = of_kernel(self.splits, kernel)
        assert found.pvalue == self.expected
        np.testing.assert_allclose(found.values[1:][self.alike], found.values[0], rtol=1e-13)

    @pytest.mark.parametrize("aggregate", ["max", "fuse"])
    def test_many_kernels(self, aggregate):
        assert of_many_kernels(self.splits, aggregate, rng()).pvalue == self.expected
