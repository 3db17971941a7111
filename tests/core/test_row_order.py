"""The question whether errors of neighbouring rows go together."""

import numpy as np
import pytest
from benchmarks.validity.row_order import DESIGNS, RUNS, places

import calibrant as cb
from calibrant.auditing.distributions import places_of_rows
from calibrant.auditing.probabilities import errors_of_top_label
from calibrant.core.row_order import neighbour_correlation, questions_on_row_order
from calibrant.inputs.kinds import AUDITED, read
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


def test_errors_by_hand():
    """Two of three draws below the outcome: its place is between 2/4 and 3/4; of vectors the mean over coordinates."""
    errors = places_of_rows(read("audit", AUDITED, [2.5, 0.0], cb.Samples([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])))
    assert errors.tolist() == [0.625, 0.375]
    vectors = cb.Samples([[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]] * 2)
    assert places_of_rows(read("audit", AUDITED, [[2.5, 0.0]] * 2, vectors)).tolist() == [0.375, 0.375]
    classes = read("audit", AUDITED, [0, 0], np.array([[0.7, 0.3], [0.4, 0.6]]))  # 0.3 and -0.6, less their mean
    assert errors_of_top_label(classes) == pytest.approx([0.45, -0.45], abs=1e-12)
    given = asked(np.tile(np.repeat([1.0, -1.0], 10), 2), cb.Normal(np.zeros(40), 1.0))
    assert given == [{"correlation": pytest.approx(33 / 40, abs=1e-12)}]  # 36 pairs of neighbours agree, 3 differ


@pytest.mark.parametrize(
    "kind",
    [
        "class probabilities",
        "quantiles",
        "normal distributions",
        "Laplace distributions",
        "mixtures",
        "distributions of counts",
        "draws",
        "draws of three coordinates",
    ],
)
def test_errors_that_are_alike_in_runs_of_rows(kind):
    rng = np.random.default_rng(4)
    u = places(rng, 2 * N, RUNS)
    assert asked(*DESIGNS[kind](rng, u))
    assert not asked(*DESIGNS[kind](rng, rng.permutation(u)))


def test_independent_rows_are_seldom_asked():
    rng = np.random.default_rng(3)
    hits = (rng.random((400, 100)) < 0.9).astype(float)
    assert sum(neighbour_correlation(row - row.mean()) is not None for row in hits) <= 2
    assert neighbour_correlation(np.zeros(50)) is None
    assert questions_on_row_order(np.arange(19) % 2, np.repeat([-1.0, 1.0], [10, 9])) == []
