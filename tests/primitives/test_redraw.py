"""Redrawn outcomes follow the predictions; fixed seeds, means within five standard deviations."""

from unittest import mock

import numpy as np
import pytest

from calibrant import Laplace, MvNormal, Normal, Samples
from calibrant.inputs import Binary, Classes
from calibrant.inputs.outcomes import LawRows, read_outcomes
from calibrant.inputs.weights import unit_weights
from calibrant.primitives import redraw
from calibrant.primitives.pool import Pool
from calibrant.primitives.redraw import redraw_events, redraw_rows

B = 4000


def drawn(score, count, B=B, seed=0):
    score, count = np.array(score), np.array(count)
    pool = Pool(score, unit_weights(score.size), count, count)
    return np.concatenate(list(redraw_events(pool, B, np.random.default_rng(seed)))).astype(float)


def assert_mean(values, mean, variance):
    sigma = np.sqrt(np.asarray(variance) / len(values))
    assert (np.abs(values.mean(axis=0) - mean) <= 5 * sigma).all()


class TestEvents:
    @pytest.mark.parametrize("count", [[1, 1, 1, 1], [5, 1, 3, 2]], ids=["single", "pooled"])
    def test_mean_and_variance(self, count):
        score, count = np.array([0.0, 0.3, 0.5, 1.0]), np.array(count)
        events = drawn(score, count)
        assert events.shape == (B, 4)
        variance = count * score * (1 - score)
        assert_mean(events, count * score, variance)
        assert_mean((events - count * score) ** 2, variance, 3 * variance**2 + variance)  # a bound of the 4th moment
        assert events.min() >= 0
        assert (events <= count).all()

    def test_impossible_and_certain_events(self):
        assert (drawn([0.0, 1.0], [1, 1]) == [0, 1]).all()
        assert (drawn([0.0, 1.0], [4, 4]) == [0, 4]).all()

    def test_entries_are_independent(self):
        first, second = drawn([0.5, 0.5], [1, 1]).T
        assert_mean(((first - 0.5) * (second - 0.5))[:, None], 0, 1 / 16)

    @pytest.mark.parametrize("resamples", [1, 2, 7])
    def test_as_many_as_asked_for_in_small_portions(self, resamples):
        with mock.patch.object(redraw, "MOST_NUMBERS", 6):  # two replicates of three entries at once
            assert drawn([0.1, 0.2, 0.3], [1, 1, 1], B=resamples).shape == (resamples, 3)

    def test_portions_do_not_change_the_draws(self):
        whole = drawn([0.1, 0.6], [1, 1], B=9)
        with mock.patch.object(redraw, "MOST_NUMBERS", 4):
            np.testing.assert_array_equal(drawn([0.1, 0.6], [1, 1], B=9), whole)


class TestRows:
    def test_binary(self):
        p = np.repeat([0.0, 0.2, 0.9, 1.0], B)
        rows = Binary(np.zeros(p.size, np.uint8), p, unit_weights(p.size))
        new = redraw_rows(rows, np.random.default_rng(0))
        assert new.p is p
        assert new.y.dtype == np.uint8
        share = new.y.reshape(4, B).T
        assert_mean(share, [0.0, 0.2, 0.9, 1.0], [0.0, 0.16, 0.09, 0.0])

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_classes(self, dtype):
        row = np.array([0.5, 0.0, 0.125, 0.375])
        rows = Classes(np.zeros(B, np.intp), np.tile(row, (B, 1)).astype(dtype), unit_weights(B))
        y = redraw_rows(rows, np.random.default_rng(1)).y
        assert_mean(y[:, None] == np.arange(4), row, row * (1 - row))

    def test_certain_classes(self):
        P = np.tile([0.0, 1.0, 0.0], (B, 1))
        y = redraw_rows(Classes(np.zeros(B, np.intp), P, unit_weights(B)), np.random.default_rng(2)).y
        assert (y == 1).all()

    def test_a_row_that_sums_to_a_little_less(self):
        # The sum may be off by a millionth; the last class, of probability 0, must not get what is missing.
        P = np.tile([1 - 1e-6, 0.0], (B, 1))
        rng = mock.Mock(random=lambda n: np.full(n, np.nextafter(1.0, 0.0)))
        y = redraw_rows(Classes(np.zeros(B, np.intp), P, unit_weights(B)), rng).y
        assert (y == 0).all()


class TestLaws:
    @pytest.mark.parametrize(
        ("law", "mean", "variance"),
        [
            (Normal(np.full(B, 3.0), 2.0), 3.0, 4.0),
            (Laplace(np.full(B, -1.0), 0.5), -1.0, 0.5),
            (MvNormal(np.tile([0.0, 5.0], (B, 1)), np.diag([1.0, 9.0])), [0.0, 5.0], [1.0, 9.0]),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_outcomes_follow_the_law(self, law, mean, variance):
        rows = read_outcomes(np.zeros((B, *law.shape)), law, weights=np.arange(1, B + 1))
        new = redraw_rows(rows, np.random.default_rng(0))
        assert isinstance(new, LawRows)
        assert new.law is law
        assert new.w is rows.w
        assert new.y.shape == rows.y.shape
        y = new.y.reshape(B, -1)
        assert_mean(y, mean, variance)
        fourth = 6 * np.square(variance)  # that of a Laplace law, the largest of these
        assert_mean((y - mean) ** 2, variance, fourth)

    @pytest.mark.parametrize("shape", [(B, 3), (B, 3, 2)])
    def test_draws_and_outcome_are_pooled(self, shape):
        draws = np.broadcast_to(np.arange(1.0, 4.0).reshape(1, 3, *(1,) * (len(shape) - 2)), shape)
        rows = read_outcomes(np.zeros((B, *shape[2:])), Samples(draws))
        new = redraw_rows(rows, np.random.default_rng(0))
        # Each of 0, 1, 2, 3 becomes the outcome once in four, and what it was takes its place among the draws.
        y = new.y.reshape(B, -1)[:, 0]
        assert_mean(y[:, None] == np.arange(4), np.full(4, 0.25), np.full(4, 0.25 * 0.75))
        pooled = np.sort(np.concatenate([new.law.draws, new.y[:, None]], axis=1), axis=1)
        assert (pooled.reshape(B, 4, -1) == np.arange(4)[None, :, None]).all()
        for row in range(20):
            at = int(new.y[row].reshape(-1)[0])
            expected = np.arange(1.0, 4.0)
            if at:
                expected[at - 1] = 0.0
            np.testing.assert_array_equal(new.law.draws[row].reshape(3, -1)[:, 0], expected)

    def test_inputs_stay(self):
        draws, y = np.random.default_rng(0).normal(size=(50, 4)), np.zeros(50)
        rows = read_outcomes(y, Samples(draws))
        before = rows.law.draws.copy()
        redraw_rows(rows, np.random.default_rng(0))
        np.testing.assert_array_equal(rows.law.draws, before)
        assert not y.any()
