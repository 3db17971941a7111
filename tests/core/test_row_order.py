"""The question whether errors of neighbouring rows go together."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.row_order import neighbour_correlation, questions_on_row_order
from calibrant.probabilities.evidence import score_errors

N = 500


def asked(*arguments):
    return [note.values for note in cb.audit(*arguments, resamples=19).verdict.notes if note.key == "row order?"]


def test_errors_that_follow_each_other():
    """A series with the correlation 0.8: intervals of one width have runs of misses, unless the rows are shuffled."""
    rng = np.random.default_rng(0)
    noise, y = 0.6 * rng.normal(size=N), np.zeros(N)
    for i in range(1, N):
        y[i] = 0.8 * y[i - 1] + noise[i]
    given = cb.Intervals(np.full(N, -1.645), np.full(N, 1.645), 0.9)
    hits = np.abs(y) <= 1.645
    (found,) = asked(y, given)
    e = (hits - hits.mean()) / hits.std()
    assert found["correlation"] == pytest.approx((e[1:] * e[:-1]).sum() / N)
    assert not asked(rng.permutation(y), given)
    assert not asked(np.sort(y), given)  # a sorted file


def test_customers_of_several_rows_whose_scores_differ():
    rng = np.random.default_rng(1)
    n = 4 * N
    p, shared = rng.random(n), rng.random(n // 10)
    y = np.where(rng.random(n) < 0.6, np.repeat(shared, 10), rng.random(n)) < p
    assert asked(y, p)
    order = rng.permutation(n)
    assert not asked(y[order], p[order])
    named = cb.audit(y, p, clusters=np.arange(n) // 10, resamples=19)
    assert "row order?" not in [note.key for note in named.verdict.notes]


@pytest.mark.parametrize("truth", [1.0, 1.5])
def test_sorted_scores_are_not_dependent_rows_whether_or_not_they_are_right(truth):
    rng = np.random.default_rng(2)
    for p in (np.sort(rng.random(2000)), np.sort(rng.beta(0.5, 20, 2000))):
        y = rng.random(2000) < p**truth
        assert not questions_on_row_order(y, score_errors(y, p))
        order = np.argsort(y, kind="stable")
        assert not questions_on_row_order(y[order], score_errors(y[order], p[order]))


def test_independent_rows_are_seldom_asked():
    rng = np.random.default_rng(3)
    hits = (rng.random((400, 100)) < 0.9).astype(float)
    assert sum(neighbour_correlation(row - row.mean()) is not None for row in hits) <= 2
    assert neighbour_correlation(np.zeros(50)) is None
    assert questions_on_row_order(np.arange(19) % 2, np.repeat([-1.0, 1.0], [10, 9])) == []
