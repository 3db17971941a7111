"""Ranks of vectors among their draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from tests.references.books import arrays

from calibrant import MvNormal, Samples, summarize
from calibrant.errors import NotApplicableError
from calibrant.ranking.vector_ranks import METHODS as METHOD_NAMES
from calibrant.ranking.vector_ranks import (
    average,
    band_depth,
    distance_sums,
    doubled_ranks,
    joint_ranks,
    multivariate,
    reference_sums,
    tree_lengths,
    unit_cube,
    unit_of,
)

ARRAYS = arrays("samples")
METHODS = list(METHOD_NAMES)
CASES = [("y", name) for name in ("calibrated", "overdispersed", "biased")]
CASES += [("y_shape", name) for name in ("skewed", "heavy_tailed")]


class TestReferences:
    @pytest.mark.parametrize(("y", "name"), CASES)
    @pytest.mark.parametrize("method", ["average", "band_depth", "mean_distance", "multivariate"])
    def test_four_methods(self, y, name, method):
        found = joint_ranks(ARRAYS[y], Samples(ARRAYS[f"samples_{name}"]), method=method, scale=None, rng=0)
        less = ARRAYS[f"joint_{method}_less_{name}"]
        equal = ARRAYS.get(f"joint_{method}_equal_{name}", np.zeros_like(less))
        assert found.dtype == np.int64
        assert ((less <= found) & (found <= less + equal)).all()
        tied = summarize(joint_ranks, ARRAYS[y], Samples(ARRAYS[f"samples_{name}"]), method=method, scale=None, rng=0)
        assert tied.tied.tolist() == [np.count_nonzero(equal)]

    def test_spanning_tree(self):
        found = joint_ranks(
            ARRAYS["y"][:20], Samples(ARRAYS["samples_calibrated"][:20]), method="spanning_tree", scale=None
        )
        np.testing.assert_array_equal(found, ARRAYS["joint_spanning_tree_less_calibrated_first20"])


class TestByHand:
    # Members (0, 0), (3, 0), (3, 4), (0, 1), the third is the outcome.
    Y, X = [[3.0, 4.0]], Samples([[[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]])

    @pytest.mark.parametrize(
        "method",
        [
            "mean_distance",  # 5 + 4 + √18 against 9, 7 + √10, 1 + √18 + √10
            "multivariate",  # 4 members are below it, 1, 2 and 2 below the others
            "average",  # R: (1.5, 1.5), (3.5, 1.5), (3.5, 4), (1.5, 3)
            "band_depth",  # (4 - R)(R - 1): 1.25 at R = 1.5 and 3.5, 0 at 4, 2 at 3. Sums 2.5, 2.5, 1.25, 3.25
            "spanning_tree",  # without one: 3 + 1, without (0, 0) √10 + 4, without (3, 0) 1 + √18, without (0, 1) 3 + 4
        ],
    )
    def test_an_outer_corner(self, method):
        np.testing.assert_array_equal(joint_ranks(self.Y, self.X, method=method, scale=None), [3])
        if method == "spanning_tree":
            inner = Samples([[[3.0, 4.0], [3.0, 0.0], [0.0, 1.0]]])
            np.testing.assert_array_equal(joint_ranks([[0.0, 0.0]], inner, method=method, scale=None), [0])

    def test_scales(self):
        # Distances of (0, 0) and (1, 0) and (0, 10) in raw units, and with the second coordinate over 100.
        y, samples = [[1.0, 0.0]], Samples([[[0.0, 0.0], [0.0, 10.0]]])
        np.testing.assert_array_equal(joint_ranks(y, samples, scale=None), [1])
        np.testing.assert_array_equal(joint_ranks(y, samples, scale=[1.0, 100.0]), [2])
        rng = np.random.default_rng(0)
        y, x = rng.normal(size=(50, 3)), rng.normal(size=(50, 9, 3))
        units = np.array([1.0, 2.0**40, 2.0**-30])
        np.testing.assert_array_equal(joint_ranks(y * units, Samples(x * units)), joint_ranks(y, Samples(x)))
        assert (joint_ranks(y * units, Samples(x * units), scale=None, rng=0) != joint_ranks(y, Samples(x))).any()


@pytest.mark.parametrize("method", METHODS)
class TestExchange:
    @pytest.mark.parametrize("values", [3, 10**9])
    @pytest.mark.parametrize("M", [1, 5])
    def test_exchangeable_members_have_uniform_ranks(self, method, M, values):
        n = 1500 if method == "spanning_tree" else 6000
        members = np.random.default_rng(M).integers(0, values, (n, M + 1, 3)) * 1.0
        members[:, :, 2] += members[:, :, 0]
        found = joint_ranks(members[:, 0], Samples(members[:, 1:]), method=method, rng=0)
        assert stats.chisquare(np.bincount(found, minlength=M + 1)).pvalue > 0.001

    def test_the_order_of_rows_and_draws_does_not_matter(self, method):
        rng = np.random.default_rng(3)
        n = 300
        y, x = rng.normal(size=(n, 4)), rng.normal(size=(n, 12, 4))
        found = joint_ranks(y, Samples(x), method=method, rng=0)
        tied = summarize(joint_ranks, y, Samples(x), method=method, rng=0).tied[0]
        rows, draws = rng.permutation(n), rng.permutation(12)
        again = joint_ranks(y[rows], Samples(x[rows][:, draws]), method=method, rng=0)
        assert np.count_nonzero(again != found[rows]) <= tied

    def test_float32(self, method):
        rng = np.random.default_rng(0)
        y, x = rng.normal(size=(60, 2)).astype(np.float32), rng.normal(size=(60, 7, 2)).astype(np.float32)
        found = joint_ranks(y, Samples(x), method=method, rng=0)
        mixed = joint_ranks(y.astype(float) * (1 + 1e-12), Samples(x), method=method, rng=0)
        np.testing.assert_array_equal(mixed, found)
        wide = joint_ranks(y.astype(float), Samples(x.astype(float)), method=method, rng=0)
        np.testing.assert_array_equal(wide, found)


class TestWhatItSees:
    def test_dependence(self):
        rng = np.random.default_rng(0)
        y = MvNormal(np.zeros((2000, 3)), 0.4 * np.eye(3) + 0.6).sample(1, rng)[:, 0]
        draws = Samples(rng.normal(size=(2000, 19, 3)))
        for method in ("mean_distance", "band_depth", "average"):
            counts = np.bincount(joint_ranks(y, draws, method=method, rng=0), minlength=20)
            assert stats.chisquare(counts).pvalue < 0.001

    @pytest.mark.parametrize("method", METHODS)
    def test_outliers_or_large_values_are_high(self, method):
        rng = np.random.default_rng(0)
        y = rng.normal(9, 1, (50, 3)) if method in ("average", "multivariate") else rng.normal(size=(50, 3)) * 50
        found = joint_ranks(y, Samples(rng.normal(size=(50, 9, 3))), method=method, rng=0)
        assert found.mean() > 8


class TestRefusals:
    SAMPLES = Samples(np.arange(12.0).reshape(2, 3, 2))
    Y = np.zeros((2, 2))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"scale": "sd"}, "scale must be \"pooled\", None or an array of shape (D,); got 'sd'"),
            ({"scale": [1.0]}, "shape (2,); got shape (1,)"),
            ({"scale": [1.0, 0.0]}, "coordinate 1 is 0.0"),
            ({"scale": [np.nan, 1.0]}, "coordinate 0 is nan"),
            ({"methods": "average"}, "Did you mean joint_ranks(y, prediction, method='average')?"),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(joint_ranks, self.Y, self.SAMPLES, **options)

    def test_input(self, refusal):
        message = refusal(joint_ranks, self.Y, MvNormal(self.Y, np.eye(2)))
        assert message.endswith("Pass draws of it, Samples(distribution.sample(999, rng))")
        for shape in ((2, 3), (2, 3, 1)):
            one = np.zeros((2, *shape[2:])), Samples(np.ones(shape))
            assert refusal(joint_ranks, *one, error=NotApplicableError).endswith("Use ranks")
        draws = np.ones((2, 3, 2))
        draws[1, 2, 0] = -np.inf
        for method in METHODS:
            message = refusal(joint_ranks, self.Y, Samples(draws), method=method)
            assert "row 1, draw 2, coordinate 0 is -inf" in message


LATTICE = st.tuples(st.integers(1, 4), st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))


def lattice(shape_and_seed):
    *shape, seed = shape_and_seed
    return np.random.default_rng(seed).integers(0, 4, shape) * 1.0


def mid_ranks(z):
    return stats.rankdata(z, axis=1)


def ranked_below(z):
    return (z[:, None, :, :] <= z[:, :, None, :]).all(axis=3).sum(axis=2)  # [row, i, j]: j is below i


SCORES = {
    doubled_ranks: lambda z: 2 * mid_ranks(z),
    average: lambda z: 2 * mid_ranks(z).sum(axis=2),
    band_depth: lambda z: -4 * ((z.shape[1] - mid_ranks(z)) * (mid_ranks(z) - 1)).sum(axis=2),
    multivariate: ranked_below,
}


@pytest.mark.parametrize("score", SCORES)
@given(given_=LATTICE)
def test_scores_are_the_definition(score, given_):
    z = lattice(given_) - 1.0
    z[z == 0] *= np.random.default_rng(1).choice([-1, 1], (z == 0).sum())  # zeros of both signs are tied
    np.testing.assert_array_equal(score(z), SCORES[score](z))
    order = np.random.default_rng(0).permutation(z.shape[1])
    np.testing.assert_array_equal(score(z[:, order]), score(z)[:, order])
    assert score(z).dtype.kind == "i"


def defined(z):
    return [minimum_spanning_tree(cdist(*[np.delete(z, i, axis=0)] * 2)).sum() for i in range(len(z))]


@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_are_the_definition(m, D, seed):
    rng = np.random.default_rng(seed)
    z, scale = rng.normal(size=(2, m, D)), rng.uniform(0.5, 2, D)
    found, expected = tree_lengths(z * scale, scale), np.array([defined(row) for row in z])
    np.testing.assert_allclose(found / found[:, :1], expected / expected[:, :1], rtol=1e-12)


@given(st.integers(2, 10), st.integers(0, 10**6))
def test_members_that_change_places_take_their_trees_with_them(m, seed):
    rng = np.random.default_rng(seed)
    z, order = rng.integers(0, 3, (1, m, 2)) * 0.1, rng.permutation(m)
    found = tree_lengths(z, np.ones(2))
    np.testing.assert_array_equal(tree_lengths(z[:, order], np.ones(2)), found[:, order])


@pytest.mark.parametrize("m", [1, 2])
def test_nothing_is_left_to_join(m):
    assert tree_lengths(np.random.default_rng(0).normal(size=(3, m, 2)), np.ones(2)).tolist() == [[0] * m] * 3


def defined_member_distances(z, scale):
    x = z / scale
    return np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(axis=3)).sum(axis=2)


@given(st.integers(1, 4), st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_are_the_definition_up_to_a_unit_of_each_row(n, m, D, seed):
    rng = np.random.default_rng(seed)
    z, scale = rng.normal(3, 1, (n, m, D)), rng.uniform(0.5, 2, D)
    found, expected = distance_sums(z, scale), defined_member_distances(z, scale)
    np.testing.assert_allclose(found / found[:, :1], expected / expected[:, :1], rtol=1e-12)


@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_the_bodies_agree_to_the_last_digit(require, n, m, D, seed):
    require("numba")
    from calibrant.ranking.loops import compiled_sums

    x = np.random.default_rng(seed).random((n, m, D))
    np.testing.assert_array_equal(compiled_sums(x, unit_of(x)), reference_sums(x, unit_of(x)))


@pytest.mark.parametrize("fast", [False, True])
@given(seed=st.integers(0, 10**6), m=st.integers(2, 30), coarse=st.booleans())
def test_members_that_change_places_take_their_sums_with_them(fast, seed, m, coarse):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, (1, m, 10)) * 0.1 if coarse else rng.standard_cauchy((1, m, 10))
    order = rng.permutation(m)
    scale = rng.uniform(0.1, 10, 10)
    found = distance_sums(z, scale, fast=fast)
    np.testing.assert_array_equal(distance_sums(z[:, order], scale, fast=fast), found[:, order])


def test_equal_sums_are_equal_also_far_away():
    square = np.array([[[0.1, 0.1], [0.1, 0.4], [0.4, 0.1], [0.4, 0.4]]])  # sides that differ by rounding
    corners = distance_sums(np.array([[[0.0, 0.0], [0.0, 3.0], [3.0, 0.0], [3.0, 3.0]]]), np.ones(2))
    assert len(set(corners[0].tolist())) == 1
    near = distance_sums(square, np.ones(2))
    assert np.ptp(near) <= 1e-12 * near.max()
    assert near.dtype == corners.dtype == np.float64
    assert (near == np.rint(near)).all()
    assert distance_sums(np.full((2, 3, 2), 0.3), np.ones(2)).tolist() == [[0, 0, 0]] * 2
    line = distance_sums(np.array([[[0.0, 5.0], [1.0, 5.0], [3.0, 5.0]]]), np.array([1.0, 1e-300]))
    np.testing.assert_allclose(line / line[0, 0], [[1.0, 0.75, 1.25]])
    z = np.random.default_rng(0).integers(0, 100, (5, 9, 2)) * 1.0
    np.testing.assert_array_equal(distance_sums(z + 2.0**40, np.ones(2)), distance_sums(z, np.ones(2)))


@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e200, 1.7e308])
def test_numbers_near_the_ends_of_float64(factor):
    z = np.array([[[0.0, 0.0], [1.0, 0.0], [-1.0, 0.5], [0.25, 0.5]]])
    found, expected = distance_sums(z * factor, np.ones(2)), distance_sums(z, np.ones(2))
    np.testing.assert_allclose(found / found[0, 0], expected / expected[0, 0], rtol=1e-9)
    small = distance_sums(z, np.full(2, 1e-300))
    np.testing.assert_allclose(small / small[0, 0], expected / expected[0, 0], rtol=1e-12)


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 5), st.floats(-300, 300), st.integers(0, 10**6))
def test_the_cube(n, m, D, power, seed):
    z = np.random.default_rng(seed).normal(size=(n, m, D)) * 10.0**power
    x = unit_cube(z, np.ones(D))
    assert x.min() >= 0
    assert x.max() <= 1
    if m > 1:
        assert x.max(axis=(1, 2)).min() >= 0.25


@pytest.mark.parametrize(("m", "D"), [(2, 1), (100, 3), (10**6, 1000)])
def test_sums_are_exact(m, D):
    unit = unit_of(np.broadcast_to(0.0, (1, m, D)))
    assert (m - 1) * (np.sqrt(D) * unit + 0.5) < 2.0**53
    assert 8 * m * np.sqrt(D) * unit > 2.0**53
