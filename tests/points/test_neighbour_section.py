"""Memorised points, and distances to the nearest real point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.points import neighbour_section as module
from calibrant.points.inputs import PointSets
from calibrant.points.neighbour_section import ClosePairs, nearest_distances


def squares(A, B):
    """Return |a - b|² of all pairs, added up coordinate by coordinate."""
    total = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        total += (a[:, None] - b) ** 2
    return total


def defined(pooled, label):
    """Return how many generated points are nearer to a real one than any two real ones are."""
    real, generated = pooled[label == 1], pooled[label == 0]
    among = squares(real, real)
    np.fill_diagonal(among, np.inf)
    return int((squares(generated, real).min(axis=1) < among.min()).sum())


def division(n, m):
    return np.repeat(np.array([1, 0], dtype=np.uint8), [n, m])


def of(real, generated):
    """Return the number for these sets, found and defined."""
    pooled, label = np.concatenate([real, generated]), division(len(real), len(generated))
    return int(ClosePairs(pooled).memorised(label[None])[0]), defined(pooled, label)


@st.composite
def divided(draw):
    """Draw pooled points, some of them several times, and divisions of them."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, m, d = draw(st.integers(2, 40)), draw(st.integers(1, 60)), draw(st.sampled_from([1, 2, 3, 12, 20]))
    Z = rng.normal(size=(n + m, d))
    kind = draw(st.sampled_from(["normal", "lattice", "copies", "clusters", "far"]))
    if kind == "lattice":
        Z = rng.integers(0, 4, Z.shape) * 1.0
    elif kind == "copies":
        Z = Z[rng.integers(0, n + m, n + m)]
    elif kind == "clusters":
        Z = Z[rng.integers(0, 3, n + m)] + 1e-3 * rng.normal(size=Z.shape)
    elif kind == "far":
        Z = Z + 2.0**30
    labels = np.array([rng.permutation(division(n, m)) for _ in range(4)])
    return Z, np.concatenate([division(n, m)[None], labels])


@given(divided())
def test_the_definition_of_memorised_points(case):
    Z, labels = case
    assert ClosePairs(Z).memorised(labels).tolist() == [defined(Z, label) for label in labels]


@settings(max_examples=40)
@given(divided(), st.integers(1, 3))
def test_short_lists_change_nothing(case, nearest):
    Z, labels = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LISTED_NEIGHBOURS", nearest)
        found = ClosePairs(Z).memorised(labels)
    assert found.tolist() == [defined(Z, label) for label in labels]


@given(divided(), st.integers(0, 10**6), st.sampled_from([2.0**-40, 0.5, 2.0**40]))
def test_order_and_unit_have_no_part_in_it(case, seed, unit):
    Z, labels = case
    order = np.random.default_rng(seed).permutation(len(Z))
    assert ClosePairs(unit * Z[order]).memorised(labels[:, order]).tolist() == ClosePairs(Z).memorised(labels).tolist()


@pytest.mark.parametrize(
    ("real", "generated", "number"),
    [
        ([0.0, 1.0, 5.0], [0.4, 6.5, 20.0], 1),
        ([0.0, 1.0, 5.0], [2.0, -1.0, 6.0], 0),  # equally far is not nearer
        ([0.0, 1.0], [0.0, 0.0, 9.0], 2),  # copies
        ([0.0, 0.0, 1.0], [0.0, 1.0], 0),  # real points that are equal leave nothing nearer
        ([0.0] * 2, [0.0] * 4, 0),
        ([1e-170, 2e-170], [1e-170, 3e-170], 0),  # squares that vanish
    ],
)
def test_memorised_by_hand(real, generated, number):
    assert of(np.array(real)[:, None], np.array(generated)[:, None]) == (number, number)


class TestCrowds:
    """Generated points so close together that the nearest twelve of one are no real point."""

    def test_many_copies_of_a_few(self, rng):
        real = rng.normal(size=(200, 2))
        assert of(real, np.repeat(real[:5], 40, axis=0) + 1e-5 * rng.normal(size=(200, 2))) == (200, 200)

    def test_a_crowd_that_is_not_near_any(self):
        rng = np.random.default_rng(1)
        assert of(rng.normal(size=(50, 3)), 9 + 1e-6 * rng.normal(size=(80, 3))) == (0, 0)

    def test_few_real_points_among_many(self):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            found, expected = of(rng.normal(size=(10, 2)), rng.normal(size=(1000, 2)))
            assert found == expected > 0

    def test_the_nearest_real_pair_is_on_no_list(self):
        """Real points at 0 and 1, each in a crowd, and at 10 and 12, which are alone; 15 is near to none of them."""
        crowd = 1e-3 * np.arange(1, 21)[:, None]
        generated = np.concatenate([crowd, 1 - crowd, [[13.5]]])
        assert of(np.array([[0.0], [1.0], [10.0], [12.0]]), generated) == (40, 40)


def test_by_chance_about_two():
    """Of n and n points of one distribution the pairs between the sets race about half as many pairs of real ones."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(20):
        labels = np.array([rng.permutation(division(60, 60)) for _ in range(20)])
        found += ClosePairs(rng.normal(size=(120, 2))).memorised(labels).tolist()
    assert 1.5 < np.mean(found) < 2.5


def nearest_by_definition(y, points):
    """Return the distances of all points to the nearest point of y that is not themselves."""
    own = np.sqrt(((y[:, None] - y) ** 2).sum(axis=2))
    np.fill_diagonal(own, np.inf)
    return own.min(axis=1), np.sqrt(((points[:, None] - y) ** 2).sum(axis=2)).min(axis=1)


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 30), st.sampled_from([1, 2, 16, 17, 40]))
def test_the_definition_of_nearest_distances(seed, n, m, d):
    rng = np.random.default_rng(seed)
    y, points = rng.normal(size=(n, d)), rng.normal(0.5, 2.0, size=(m, d))
    for found, expected in zip(nearest_distances(PointSets(y, points)), nearest_by_definition(y, points), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("d", [2, 30])
class TestCopies:
    def test_a_copy_is_at_distance_zero(self, d):
        y = np.random.default_rng(0).normal(3.0, 1.0, size=(40, d))
        own, other = nearest_distances(PointSets(y, y[::-1].copy()))
        assert (other == 0).all()
        assert own.min() > 0

    def test_a_point_that_occurs_twice_has_itself_near(self, d):
        y = np.random.default_rng(0).normal(3.0, 1.0, size=(40, d))
        y[7] = y[3]
        own, _ = nearest_distances(PointSets(y, y[:5]))
        assert np.flatnonzero(own == 0).tolist() == [3, 7]

    def test_far_from_the_origin(self, d):
        rng = np.random.default_rng(1)
        y, points = (np.round(rng.normal(size=(30, d)), 3) * 2.0**20 + 2.0**40 for _ in range(2))
        sets = PointSets(y, points)
        for found, expected in zip(nearest_distances(sets), nearest_by_definition(y, points), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_far_from_each_other(self, d):
        """Half of the points lie on one side, half on the other: no origin is near to all."""
        rng = np.random.default_rng(2)
        y = rng.normal(size=(30, d)) + np.where(np.arange(30) % 2, 1e6, -1e6)[:, None]
        points = y + 1e-3
        _, other = nearest_distances(PointSets(y, points))
        np.testing.assert_allclose(other, 1e-3 * np.sqrt(d), rtol=1e-5)


def test_nearest_distances_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    sets = PointSets(rng.normal(size=(50, 3)), rng.normal(size=(23, 3)))
    whole = nearest_distances(sets)
    monkeypatch.setattr(module, "ROWS_TOGETHER", 7)
    for found, expected in zip(nearest_distances(sets), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
