"""Ties of ranks, which chance decides."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import CdfValues, Laplace, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyDistribution
from calibrant.inputs.kinds import KINDS
from calibrant.ranking import counting as module
from calibrant.ranking.counting import (
    cells,
    column_names,
    legendre,
    marginal_ranks,
    pit_bounds,
    rank_counts,
    ranked,
    reference_counts,
    shrinkage,
)
from calibrant.ranking.loops import compiled_counts


def test_ties_are_broken_at_random(refusal):
    less, none = np.array([3, 0, 4]), np.zeros(3, np.int64)
    generator = np.random.default_rng(0)
    found = ranked(less, none, generator, M=4)
    np.testing.assert_array_equal(found.rank, less)
    assert generator.random() == np.random.default_rng(0).random()
    assert (found.M, found.names, found.tied.tolist(), found.cells) == (4, ("",), [0], False)
    np.testing.assert_array_equal(ranked(less, none, None, M=4).rank, less)
    found = ranked(np.full(9000, 2), np.full(9000, 2), 0, M=6)
    counts = np.bincount(found.rank, minlength=7)
    assert counts[[0, 1, 5, 6]].tolist() == [0, 0, 0, 0]
    assert stats.chisquare(counts[2:5]).pvalue > 0.001
    assert found.tied.tolist() == [9000]
    less, equal = np.zeros((3, 2), np.int64), np.array([[0, 1], [0, 1], [0, 0]])
    columns, named = ranked(less, equal, 0, M=4), ranked(less, equal, np.random.default_rng(0), M=4, names=("a", "b"))
    assert (columns.tied.tolist(), columns.names, named.names) == ([0, 2], ("0", "1"), ("a", "b"))
    np.testing.assert_array_equal(columns.rank, named.rank)
    assert column_names(np.zeros(3)) == ("",)
    message = refusal(ranked, np.zeros((1000, 2), int), np.ones((1000, 2), int), None, M=9)
    assert "the outcome equals draws in 2,000 of 2,000 ranks" in message
    assert "pass rng=" in message


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def counted(body, y, draws):
    less, equal = np.full((2, *y.shape), -1, np.int64)
    body(y, draws, less, equal)
    return less, equal


def defined(y, draws):
    return (draws < y[:, None]).sum(axis=1), (draws == y[:, None]).sum(axis=1)


def agree(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)


def test_by_hand():
    agree(rank_counts(np.array([2.0]), np.array([[1.0, 2.0, 2.0, 5.0]]), DOUBLE), ([1], [2]))
    y, draws = np.array([[1.0, 5.0]]), np.array([[[0.0, 5.0], [1.0, 6.0], [2.0, 4.0]]])
    agree(rank_counts(y, draws, DOUBLE), ([[1, 1]], [[1, 1]]))


@pytest.mark.parametrize("body", [reference_counts, compiled_counts], ids=["reference", "fast"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(1, 5), st.integers(1, 600), st.integers(1, 4), st.integers(0, 10**6))
def test_bodies_are_the_definition(body, dtype, n, M, D, seed):
    rng = np.random.default_rng(seed)
    values = np.array([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, np.inf], dtype)
    y, draws = rng.choice(values[1:-1], (n, D)), rng.choice(values, (n, M, D))
    agree(counted(body, y, draws), defined(y, draws))


@pytest.mark.parametrize("M", [254, 255, 256, 257, 600])
def test_more_draws_than_a_byte_counts(M):
    y = np.array([1.0, 0.0])
    draws = np.stack([np.zeros(M), np.zeros(M)])
    agree(rank_counts(y, draws, DOUBLE), ([M, 0], [0, M]))


def test_blocks_and_bodies(monkeypatch):
    rng = np.random.default_rng(1)
    y, draws = rng.integers(0, 5, (40, 2)) * 1.0, rng.integers(0, 5, (40, 7, 2)) * 1.0
    for block in (1, 14, 50, 10**6):
        monkeypatch.setattr(module, "BLOCK", block)
        agree(rank_counts(y, draws, DOUBLE), defined(y, draws))
    monkeypatch.setattr(module, "takes_fast_body", lambda size: size == draws.size)
    monkeypatch.setattr(module, "reference_counts", None)
    agree(rank_counts(y, draws, DOUBLE), defined(y, draws))


def test_memory_does_not_grow_with_the_draws():
    y, draws = np.zeros((200, 2)), np.zeros((200, 4000, 2), np.float32)
    rank_counts(y[:1], draws[:1], SINGLE)
    tracemalloc.start()
    rank_counts(y, draws, SINGLE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < draws.nbytes / 2


def bounds(y, prediction):
    return pit_bounds(KINDS[prediction.prediction_kind].read(y, prediction))


def test_bounds_by_hand():
    low, high = bounds([2.0, 0.0, 9.0], Samples([[1.0, 2.0, 2.0, 3.0], [1.0] * 4, [1.0, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(low, [0.2, 0.0, 0.8])
    np.testing.assert_array_equal(high, [0.8, 0.2, 1.0])
    low, high = bounds([[2.5, 5.0]], Samples(np.array([[[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]]])))
    np.testing.assert_array_equal(low, [[0.5, 0.25]])
    np.testing.assert_array_equal(high, [[0.75, 1.0]])
    low, high = bounds(None, CdfValues([0.2, 0.9], below=[0.0, 0.7]))
    np.testing.assert_array_equal(low, [0.0, 0.7])
    np.testing.assert_array_equal(high, [0.2, 0.9])
    y = np.array([0.0, 2.0, 7.0, 2.5])
    distribution = stats.poisson(mu=[1.0, 2.0, 3.0, 2.0])
    low, high = bounds(y, ScipyDistribution(distribution))
    np.testing.assert_array_equal(high, distribution.cdf(y))
    np.testing.assert_allclose(high - low, np.where(y == 2.5, 0.0, distribution.pmf(np.floor(y))), atol=1e-15)
    # A zero-inflated law: half its mass at 0, half normal.
    distribution = Mixture([Samples([[0.0]] * 3), Normal([0.0] * 3, 1.0)], [0.5, 0.5])
    low, high = bounds([0.0, -1.0, 1.0], distribution)
    tail = stats.norm.cdf(-1)
    np.testing.assert_allclose(low, [0.25, tail / 2, 1 - tail / 2], rtol=1e-15)
    np.testing.assert_allclose(high, [0.75, tail / 2, 1 - tail / 2], rtol=1e-15)
    mean, cov = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 1.0], [1.0, 9.0]])
    y = np.array([[1.0, -2.0], [2.0, 4.0]])
    low, high = bounds(y, MvNormal(mean, cov))
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(high, stats.norm.cdf(y, mean, [2.0, 3.0]), rtol=1e-14)
    both = Mixture([MvNormal(mean, cov), MvNormal(mean + 1, cov)], [0.25, 0.75])
    expected = 0.25 * stats.norm.cdf(y, mean, [2.0, 3.0]) + 0.75 * stats.norm.cdf(y, mean + 1, [2.0, 3.0])
    np.testing.assert_allclose(bounds(y, both)[1], expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("y", "cell"),
    [(0.5, (0, 0.1)), (1.0, (0, 0.1)), (1.5, (0.1, 0.5)), (2.0, (0.1, 0.5)), (3.0, (0.5, 0.9)), (3.5, (0.9, 1))],
)
def test_cells_of_quantiles_are_right_closed(y, cell):
    low, high = bounds([y], Quantiles([[1.0, 2.0, 3.0]], [0.1, 0.5, 0.9]))
    assert (low[0], high[0]) == cell
    low, high = bounds([0.0, 0.0], Quantiles([[-np.inf, np.inf], [-np.inf, -np.inf]], [0.25, 0.75]))
    assert (low.tolist(), high.tolist()) == ([0.25, 0.75], [0.75, 1.0])


def of(y, prediction, rng=None):
    return marginal_ranks(KINDS[prediction.prediction_kind].read(y, prediction), rng)


def test_cells_are_closed_on_the_right():
    u = np.array([0.0, 0.0005, 0.001, np.nextafter(0.001, 1), 0.5, 0.999, np.nextafter(0.999, 1), 1.0])
    found = cells(u, np.zeros(8, bool))
    assert found.rank.tolist() == [0, 0, 0, 1, 499, 998, 999, 999]
    assert (found.M, found.cells, found.tied.tolist()) == (999, True, [0])
    assert found.rank.dtype == np.int64


@pytest.mark.parametrize("distribution", [Normal, Laplace])
def test_distributions(distribution):
    made = distribution(np.zeros(4), 1.0)
    u = np.array([0.0004, 0.2995, 0.5005, 0.9996])
    assert of(made.ppf(u), made).rank.tolist() == [0, 299, 500, 999]


def test_jumps_are_spread_over_their_cells(refusal):
    y = np.repeat([0.0, 1.0], 2000)
    coin = ScipyDistribution(stats.bernoulli(np.full(4000, 0.25)))
    assert "jumps at the outcome in 4,000 of 4,000 values" in refusal(of, y, coin)
    found = of(y, coin, rng=0)
    assert found.tied.tolist() == [4000]
    assert found.rank[:2000].max() == 749
    assert found.rank[2000:].min() == 750
    assert stats.kstest((found.rank[:2000] + 0.5) / 750, "uniform").pvalue > 0.001
    assert of([0.0], Mixture([Normal([0.0], 1.0), Normal([0.0], 2.0)], [0.5, 0.5])).rank.tolist() == [499]
    found = of(np.zeros(500), Quantiles(np.tile([-1.0, 1.0], (500, 1)), [0.1, 0.3]), rng=0)
    assert (found.rank.min(), found.rank.max()) == (100, 299)


class TestShrinkage:
    @pytest.mark.parametrize("M", [1, 2, 4, 9, 99])
    def test_is_what_a_binomial_rank_leaves_of_legendre_polynomials(self, M):
        u = np.linspace(0, 1, 9)
        mean = legendre(M) @ stats.binom.pmf(np.arange(M + 1)[:, None], M, u)
        continuous = [np.sqrt(2 * k + 1) * np.polynomial.Legendre.basis(k)(2 * u - 1) for k in range(1, len(mean) + 1)]
        np.testing.assert_allclose(mean, shrinkage(M)[:, None] * continuous, atol=1e-12)

    def test_by_hand(self):
        # M = 1: 1/3 under the root; M = 2: 2/4, and times 1/5
        np.testing.assert_allclose(shrinkage(1), [np.sqrt(1 / 3)], rtol=1e-15)
        np.testing.assert_allclose(shrinkage(2), np.sqrt([1 / 2, 1 / 10]), rtol=1e-15)
