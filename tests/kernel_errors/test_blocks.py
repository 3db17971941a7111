"""Block statistics: they add up, leftovers fill further blocks, and they travel as bytes."""

import math
import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest

import calibrant as cb
from calibrant import Laplace, Normal, Samples
from calibrant.errors import SummaryError
from calibrant.kernel_errors.blocks import outcome_variance
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel
from calibrant.summaries import Summary

RNG = np.random.default_rng(0)
n = 43
P1 = RNG.random(n)
Y1 = (RNG.random(n) < P1).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = RNG.integers(0, 3, n)
DISTRIBUTION = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)

CASES = {
    "binary": (Y1, P1, Exponential(0.3)),
    "classes": (Y3, P3, Gaussian(0.5, "euclidean") * Gaussian(1.0, "labels")),
    "distributions": (REAL, DISTRIBUTION, Exponential(1.0) * Gaussian(1.0)),
}


def taken(prediction, rows):
    return prediction.take(rows) if isinstance(prediction, cb.Distribution) else prediction[rows]


def summary(name, rows=slice(None), m=5, weights=None, **options):
    y, prediction, kernel = CASES[name]
    w = None if weights is None else weights[rows]
    options = {"kernel": kernel, "blocksize": m, **options}
    return cb.summarize("skce", y[rows], taken(prediction, rows), weights=w, **options)


def looped(name, m, weights, unbiased):
    """Return the sums S_b over all blocks and their pair weights, one block at a time."""
    y, prediction, kernel = CASES[name]
    w = np.ones(n) if weights is None else weights
    sums, pairs = [], []
    for start in range(0, n - m + 1, m):
        rows = np.arange(start, start + m)
        total = w[rows].sum() ** 2 - (unbiased * w[rows] ** 2).sum()
        value = cb.skce(y[rows], taken(prediction, rows), kernel=kernel, unbiased=unbiased, weights=w[rows])
        sums.append(value * total)
        pairs.append(total)
    return np.array(sums), np.array(pairs)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("m", [2, 5, 20])
@pytest.mark.parametrize("name", CASES)
def test_against_a_loop(name, m, weights, unbiased):
    S, pairs = looped(name, m, weights, unbiased)
    found = summary(name, m=m, weights=weights, unbiased=unbiased)
    assert (found.n, found.used, found.blocks, found.m) == (n, n // m * m, n // m, m)
    assert found.mean == pytest.approx(S.mean(), rel=1e-10, abs=1e-13)
    assert found.spread == pytest.approx(math.sqrt(((S - S.mean()) ** 2).sum()), rel=1e-9)
    assert found.pairs == pytest.approx(pairs.sum())
    assert found.estimate == pytest.approx(S.sum() / pairs.sum(), rel=1e-10, abs=1e-13)
    s = n // m
    assert found.standard_error == pytest.approx(S.std(ddof=1) / np.sqrt(s), rel=1e-9)
    w = np.ones(n) if weights is None else weights
    assert (found.weight, found.heaviest) == (pytest.approx(w[: s * m].sum()), w[: s * m].max())


@pytest.mark.parametrize("name", CASES)
def test_chunks_of_whole_blocks_add_up(name):
    whole = summary(name, slice(0, 40), weights=W)
    parts = [summary(name, slice(a, b), weights=W) for a, b in ((0, 10), (10, 15), (15, 40))]
    total = reduce(add, parts)
    assert (total.n, total.blocks, total.left) == (40, 8, ())
    for field in ("mean", "spread", "pairs", "weight", "variance", "heaviest"):
        assert getattr(total, field) == pytest.approx(getattr(whole, field), rel=1e-12), field
    assert sum(parts).estimate == total.estimate


@pytest.mark.parametrize("name", CASES)
def test_leftovers_fill_blocks(name):
    # 7 + 7 rows: blocks 0-4, 7-11, and the leftovers 5, 6, 12, 13 wait for one more.
    first, second, third = (summary(name, slice(a, b), weights=W) for a, b in ((0, 7), (7, 14), (14, 20)))
    both = first + second
    assert (both.n, both.blocks, both.used) == (14, 2, 10)
    assert [part.n for part in both.left] == [4]
    all_three = both + third
    assert (all_three.n, all_three.blocks, all_three.left) == (20, 4, ())
    order = np.array([*range(5), *range(7, 12), *range(14, 19), 5, 6, 12, 13, 19])
    expected = summary(name, order, weights=W)
    for field in ("mean", "spread", "pairs", "weight", "variance", "heaviest"):
        assert getattr(all_three, field) == pytest.approx(getattr(expected, field), rel=1e-11), field


def test_batches_smaller_than_a_block():
    parts = [summary("classes", slice(k, k + 1), m=4) for k in range(9)]
    total = sum(parts)
    assert (total.n, total.blocks) == (9, 2)
    assert total.estimate == pytest.approx(summary("classes", slice(0, 9), m=4).estimate, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
def test_bytes(name, weights):
    first, second = summary(name, slice(0, 22), weights=weights), summary(name, slice(22, n), weights=weights)
    back = Summary.from_bytes(first.to_bytes())
    assert back == first
    assert back != second
    assert back + second == first + second
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize(
    "distribution",
    [Laplace(REAL, 1.0), Samples(RNG.normal(size=(n, 6)))],
    ids=lambda distribution: type(distribution).__name__,
)
def test_bytes_of_other_distributions(distribution):
    found = cb.summarize("skce", REAL, distribution, kernel=Exponential(1.0) * Gaussian(1.0), blocksize=4)
    assert found.left[0].n == 3
    assert Summary.from_bytes(found.to_bytes()) == found


def test_a_kernel_of_ones_own_does_not_travel(refusal):
    kernel = Exponential(1.0, lambda a, b: np.abs(a - b)) * Delta()
    found = summary("binary", kernel=kernel)
    assert "merge in memory" in refusal(found.to_bytes, error=SummaryError)
    assert (found + found).blocks == 17


def test_a_joint_kernel():
    class Joint(JointKernel):
        def __call__(self, p, a, q, b):
            return np.exp(-np.abs(p - q).sum(axis=1) / 2 / 0.3) * (a == b)

    joint = summary("binary", kernel=Joint())
    assert joint.estimate == pytest.approx(summary("binary").estimate, rel=1e-12)


def of_levels(level):
    return cb.summarize("skce", REAL[:5], cb.Intervals(REAL[:5] - 1, REAL[:5] + 1, level), blocksize=5)


def of_classes(y):
    return cb.summarize("skce", y, np.full((len(y), 4), 0.25), kernel=CASES["classes"][2], blocksize=5)


FIRST, SECOND = slice(0, 20), slice(20, 40)
LAPLACE = cb.summarize("skce", REAL[:5], Laplace(REAL[:5], 1.0), kernel=CASES["distributions"][2], blocksize=5)
# A set is seen by its size, a quantile by its value: one number each, and no distance between the two.
SET_SIZES = cb.summarize("skce", [0, 1] * 4, cb.Sets([[True, False]] * 8, 0.9), kernel=Exponential(1.0), blocksize=5)
VALUES = cb.summarize("skce", REAL[:7], cb.Quantiles(REAL[:7], 0.9), kernel=Exponential(1.0), blocksize=5)
APART = {
    "size": (summary("binary"), summary("binary", m=4), "(binary, unbiased=True) do not merge with blocks of 4"),
    "estimator": (summary("binary"), summary("binary", unbiased=False), "unbiased=False"),
    "kind": (summary("binary"), summary("distributions"), "do not merge with blocks of 5 (distribution Normal,"),
    "kernel": (summary("binary"), summary("binary", kernel=Exponential(0.2)), '"median" differs from batch to batch'),
    "medians": (*(summary("binary", rows, kernel=None) for rows in (FIRST, SECOND)), "length scales as numbers"),
    "function of n": (
        *(summary("binary", rows, m=lambda n: n // 2) for rows in (FIRST, slice(20, 43))),
        "Give blocksize as a number",
    ),
    "classes": (summary("classes"), of_classes([0, 1, 2] * 2), "do not merge with blocks of 5 (4 classes,"),
    "classes without rest": (summary("classes", slice(0, 5)), of_classes([0, 1, 2, 3, 0]), "4 classes"),
    "distributions": (summary("distributions", slice(0, 5)), LAPLACE, "blocks of 5 (distribution Laplace,"),
    "levels": (of_levels(0.9), of_levels(0.8), "(coverage of Intervals at 0.9, unbiased=True) do not merge with"),
    "regions": (SET_SIZES, VALUES, "do not merge with blocks of 5 (coverage of Quantiles"),
}


@pytest.mark.parametrize(("first", "second", "words"), APART.values(), ids=APART)
def test_what_does_not_merge(first, second, words, refusal):
    assert words in refusal(lambda: first + second, error=SummaryError)


def test_outcome_variance():
    from calibrant.inputs.probabilities import read_probabilities
    from calibrant.inputs.rows import read_outcomes

    p = np.array([0.0, 0.5, 0.9])
    y = [0, 1, 1]
    np.testing.assert_allclose(outcome_variance(read_probabilities(y, p)), [0, 0.25, 0.09])
    columns = read_probabilities(y, np.column_stack([1 - p, p]))
    np.testing.assert_allclose(outcome_variance(columns), [0, 0.25, 0.09])
    np.testing.assert_allclose(outcome_variance(read_probabilities([0], np.full((1, 4), 0.25))), [0.375])
    assert outcome_variance(read_outcomes([0.0, 1.0], Normal([0.0, 1.0], 5.0))).tolist() == [1.0, 1.0]
