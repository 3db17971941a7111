"""The slab of lowest coverage."""

from fractions import Fraction

import numpy as np
import pytest

from calibrant.primitives.worst_slab import projected, worst_slab


def exhaustive(x, covered, directions, least):
    """Return the worst of all slabs, tried one by one."""
    found = []
    for number, v in enumerate(directions):
        z = projected(x, v)
        ends = np.unique(z)
        for a in ends:
            for b in ends[ends >= a]:
                inside = (a <= z) & (z <= b)
                rows, hits = int(inside.sum()), int(covered[inside].sum())
                if rows >= least:
                    found.append((Fraction(hits, rows), -rows, number, a, b, hits))
    _, rows, number, a, b, hits = min(found)
    return number, a, b, hits, -rows


@pytest.mark.parametrize("seed", range(150))
def test_is_the_worst_of_all(seed):
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(1, 18)), int(rng.integers(1, 4))
    x = rng.integers(0, 6, (n, D)).astype(float) if seed % 2 else rng.normal(size=(n, D))
    covered = rng.random(n) < rng.random()
    directions = np.concatenate([np.eye(D), rng.normal(size=(3, D))])
    least = int(rng.integers(1, n + 1))
    assert tuple(worst_slab(x, covered, directions, least)) == exhaustive(x, covered, directions, least)


def test_ties_of_projections_are_never_cut():
    covered = np.arange(10) != 3
    assert worst_slab(np.zeros((10, 1)), covered, [np.ones(1)], 1)[1:] == (0.0, 0.0, 9, 10)


def test_equal_coverage_is_settled_by_rows_then_direction_then_the_lower_end():
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    covered = np.array([False, True, True, True, False, False])
    assert worst_slab(x, covered, [np.ones(1)], 1)[1:3] == (4.0, 5.0)  # two rows rather than one
    covered = np.array([False, True, True, True, True, False])
    assert worst_slab(x, covered, [np.ones(1), -np.ones(1)], 1)[:3] == (0, 0.0, 0.0)


def test_equal_rows_have_equal_projections():
    rng = np.random.default_rng(0)
    x = np.tile(rng.normal(size=(1, 7)), (1001, 1))
    assert np.unique(projected(x, rng.normal(size=7))).size == 1
    assert projected(x, np.eye(7)[2]).tolist() == x[:, 2].tolist()


def test_no_direction():
    with pytest.raises(ValueError, match="no direction"):
        worst_slab(np.zeros((1, 1)), np.array([True]), [], 1)
