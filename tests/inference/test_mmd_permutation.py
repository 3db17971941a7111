"""MMD² of every split: the reference values, all splits of a few points, ties, and which kernels there are."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from calibrant import Exponential, Gaussian, NotApplicableError
from calibrant.inference.mmd_permutation import (
    Splits,
    many_kernels,
    of_kernel,
    of_many_kernels,
    random_splits,
)
from calibrant.inputs.points import read_point_sets
from calibrant.kernels.point_kernels import Polynomial
from calibrant.metrics.mmd import mmd

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = {value["id"]: value for value in json.loads((REFERENCES / "samples.json").read_text())["values"]}
ARRAYS = np.load(REFERENCES / "samples.npz")
X, Y = ARRAYS["X"], ARRAYS["Y"]


def rng(seed=0):
    return np.random.default_rng(seed)


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
        np.testing.assert_allclose(
            found.values, [-far / 2, -far / 2, -far / 2, far, far, -far / 2, -far / 2], rtol=1e-13
        )
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

    def test_a_constant_kernel_says_nothing(self):
        chance = rng()
        found = of_kernel(
            every_split(chance.normal(size=(3, 2)), chance.normal(size=(3, 2))), Gaussian(1e9, "euclidean")
        )
        assert found.pvalue == 1.0

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
            np.testing.assert_allclose(
                [kernel.length for kernel in some], np.linspace(low / 2, 2 * high, 10), rtol=1e-12
            )

    def test_many_rows_are_drawn(self, monkeypatch):
        monkeypatch.setattr("calibrant.kernels.median.MOST_ROWS", 50)
        Z = rng().normal(size=(200, 2))
        few, again, other = (many_kernels(Z, rng(seed)) for seed in (0, 0, 1))
        assert few == again
        assert few != other
        drawn = Z[np.lexsort(Z.T[::-1])][np.sort(rng().choice(200, 50, replace=False))]
        assert few[10].length == pytest.approx(np.quantile(pdist(drawn), 0.05) / 2)

    def test_many_equal_points(self):
        z = np.repeat([0.0, 1.0, 3.0], 20)[:, None]
        for half in (many_kernels(z, rng())[:10], many_kernels(z, rng())[10:]):
            assert half[0].length == 0.5  # the distances above 0 are 1, 2 and 3
            assert half[-1].length == 6.0

    def test_all_points_equal(self, refusal):
        message = refusal(many_kernels, np.ones((9, 2)), rng(), error=NotApplicableError)
        assert "the pooled points are the same in all 9 rows" in message

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

    def test_fuse_does_not_overflow(self):
        y = rng().normal(size=(2000, 1))
        found = of_many_kernels(random_splits(read_point_sets(y, y + 50.0), 3, rng()), "fuse", rng())
        assert 700 < found.values[0] < 1e5
        assert found.pvalue == 0.25

    @pytest.mark.parametrize("aggregate", ["max", "fuse"])
    def test_the_observed_split_and_its_mirror_are_ties(self, aggregate):
        z = rng().integers(0, 4, (30, 2)).astype(float)
        observed = np.arange(30) < 15
        found = of_many_kernels(splits_of(z[:15], z[15:], np.stack([observed, ~observed])), aggregate, rng())
        assert found.pvalue == 1.0


class TestRandomSplits:
    def test_sizes_and_the_observed_one_first(self):
        y, points = rng().normal(size=(6, 2)), rng(1).normal(size=(11, 2))
        splits = random_splits(read_point_sets(y, points), 40, rng())
        assert splits.V.shape == (41, 17)
        assert (splits.V.sum(axis=1) == 6).all()
        first = splits.Z[splits.V[0] == 1]
        assert sorted(map(tuple, first)) == sorted(map(tuple, y))
        assert len({tuple(v) for v in splits.V[1:]}) > 30

    def test_the_smaller_set_is_marked(self):
        y, points = rng().normal(size=(11, 2)), rng(1).normal(size=(6, 2))
        splits = random_splits(read_point_sets(y, points), 40, rng())
        assert (splits.n, splits.m) == (6, 11)
        assert (splits.V.sum(axis=1) == 6).all()
        first = splits.Z[splits.V[0] == 1]
        assert sorted(map(tuple, first)) == sorted(map(tuple, points))


class TestFewAgainstMany:
    """Three zeros against 1003 ones and 997 zeros: the splits whose smaller set is all zeros have the observed MMD².

    None has more: three ones against the rest are nearer to it, as it has as many ones as zeros.
    """

    y, points = np.repeat([1.0, 0.0], [1003, 997])[:, None], np.zeros((3, 1))
    splits = random_splits(read_point_sets(y, points), 999, rng())
    alike = (splits.V.astype(float) @ splits.Z[:, 0] == 0)[1:]
    expected = (1 + np.count_nonzero(alike)) / 1000

    def test_chance(self):
        exact = (1000 * 999 * 998) / (2003 * 2002 * 2001)  # 0.1244
        assert abs(self.expected - exact) < 3 * np.sqrt(exact / 1000)

    @pytest.mark.parametrize("kernel", [Gaussian(1.0, "euclidean"), Exponential(0.1, "l1"), Polynomial()], ids=repr)
    def test_one_kernel(self, kernel):
        found = of_kernel(self.splits, kernel)
        assert found.pvalue == self.expected
        np.testing.assert_allclose(found.values[1:][self.alike], found.values[0], rtol=1e-13)

    @pytest.mark.parametrize("aggregate", ["max", "fuse"])
    def test_many_kernels(self, aggregate):
        assert of_many_kernels(self.splits, aggregate, rng()).pvalue == self.expected

    def test_sets_may_change_places(self):
        swapped = random_splits(read_point_sets(self.points, self.y), 999, rng())
        alike = np.count_nonzero(swapped.V[1:].astype(float) @ swapped.Z[:, 0] == 0)
        assert of_kernel(swapped, Gaussian(1.0, "euclidean")).pvalue == (1 + alike) / 1000
