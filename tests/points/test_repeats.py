"""Repetitions and copies: counts by hand, exact tails, and sets of one distribution with ties."""

import numpy as np
import pytest
from scipy import stats

from calibrant.points.inputs import PointSets, Repeats, copies, is_repetitive, repeats_pvalue


def test_counts():
    points = np.repeat(np.arange(50.0)[:, None], 10, axis=0)
    assert Repeats.of(points) == Repeats(500, 50, 10, 10)
    assert Repeats.of(np.ones((3, 2))) == Repeats(3, 1, 3, 3)
    assert Repeats.of(points[::10]).extra == 0


@pytest.mark.parametrize(("m", "n", "share"), [(100, 100, 0.5), (300, 100, 0.9), (100, 300, 0.25)])
def test_the_larger_share_of_rows_or_pairs(m, n, share):
    found = repeats_pvalue(Repeats(m, m - 9, 2, 1), [Repeats(n, n - 3, 2, 1)])
    assert found == pytest.approx(stats.binom.sf(8, 12, share), rel=0.02)


def test_more_than_one_percent_and_more_than_the_others():
    some, few, none = Repeats(500, 490, 2, 1), Repeats(500, 496, 2, 1), Repeats(500, 500, 1, 1)
    assert is_repetitive(some, [few, none])
    assert not is_repetitive(few, [none])
    assert not is_repetitive(some, [none, some])


def test_copies_by_hand():
    y, points = np.arange(8.0)[:, None], np.array([[0.0], [0.0], [3.0], [9.5]])
    found = copies(PointSets(y, points))
    assert (found.copied, found.rows, found.expected) == (3, 4, 0.0)
    assert found.pvalue == pytest.approx((4 / 7.5) ** 3)
    whole = copies(PointSets(np.repeat(y, 2, axis=0), points))
    assert whole.pvalue > 0.5  # real rows repeat themselves as well


def test_all_copies():
    y = np.random.default_rng(0).normal(size=(500, 2))
    assert 0 < copies(PointSets(y, y)).pvalue < 1e-80


@pytest.mark.parametrize("m", [60, 200])
@pytest.mark.parametrize("kind", ["birthdays", "atom"])
def test_level(kind, m):
    """Rows that seldom meet, and rows of one frequent value."""
    rng, rejected = np.random.default_rng(1), np.zeros(2)
    for _ in range(400):
        y, points = (
            rng.integers(0, 400, (size, 1)) * 1.0
            if kind == "birthdays"
            else np.where(rng.random((size, 1)) < 0.1, 0.0, rng.normal(size=(size, 1)))
            for size in (60, m)
        )
        p = repeats_pvalue(Repeats.of(points), [Repeats.of(y)]), copies(PointSets(y, points)).pvalue
        rejected += np.array(p) <= 0.05
    assert (stats.binom.sf(rejected - 1, 400, 0.05) > 1e-4).all()
