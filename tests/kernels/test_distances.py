"""Distances of rows by their numbers: tiles and pairs agree, and functions of a user are checked."""

import numpy as np
import pytest

from calibrant.kernels.distances import LineDistance, OwnDistance, VectorDistance, distance_of_points, is_tile

P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
ROWS = np.arange(4)


def l1(a, b):
    return np.abs(a - b).sum(axis=-1)


def all_pairs(distance, n):
    i, j = (a.reshape(-1) for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    return distance(i, j).reshape(n, n)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tv", [0.25, 0.5]), ("l1", [0.5, 1.0]), ("euclidean", [np.sqrt(2) / 4, np.sqrt(0.25 + 2 / 16)])],
)
def test_values(name, expected):
    distance = distance_of_points(P, name)
    assert distance(np.array([0, 0]), np.array([1, 2])) == pytest.approx(expected)


@pytest.mark.parametrize("distance", ["tv", "l1", "euclidean", l1])
def test_tiles_and_pairs_agree(distance):
    found = distance_of_points(P, distance)
    tile = found(ROWS[:, None], ROWS[None, :])
    np.testing.assert_allclose(tile, all_pairs(found, 4), rtol=1e-14)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-14)
    assert (tile.diagonal() == 0).all()
    np.testing.assert_allclose(found(ROWS[1:3, None], ROWS[None, 2:]), tile[1:3, 2:], rtol=1e-14)


def test_numbers():
    x = np.array([0.0, 0.25, 1.0])
    for name in ("tv", "euclidean", "l1", "labels"):
        assert isinstance(distance_of_points(x, name), LineDistance)
    assert distance_of_points(x, "tv")(np.array([0, 2]), np.array([1, 1])).tolist() == [0.25, 0.75]
    own = distance_of_points(x, lambda a, b: (a - b) ** 2)
    assert own(np.array([0, 2]), np.array([1, 1])).tolist() == [0.0625, 0.5625]


def test_kinds():
    assert isinstance(distance_of_points(P, "tv"), VectorDistance)
    assert isinstance(distance_of_points(P, l1), OwnDistance)


def test_is_tile():
    assert is_tile(ROWS[:, None], ROWS[None])
    assert not is_tile(ROWS, ROWS)
    assert not is_tile(ROWS[None], ROWS[:, None])


class TestOwn:
    def test_gets_pairs_of_points_that_it_may_write_to(self):
        points = P.copy()

        def greedy(a, b):
            assert a.shape == b.shape == (len(a), 3)
            d = l1(a, b)
            a[:], b[:] = 9, 9
            return d

        distance = distance_of_points(points, greedy)
        distance(ROWS[:, None], ROWS[None])
        np.testing.assert_array_equal(points, P)

    def test_one_number_per_pair(self, refusal):
        message = refusal(distance_of_points, P, lambda a, b: np.abs(a - b))
        assert "one real number per pair: expected shape (16,), got shape (16, 3) and type float64" in message

    def test_a_matrix_is_no_answer(self, refusal):
        message = refusal(distance_of_points, P, lambda a, b: l1(a[:, None], b[None]))
        assert "one real number per pair: expected shape (16,), got shape (16, 16)" in message

    @pytest.mark.parametrize(("bad", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-0.5, "-0.5")])
    def test_finite_and_not_negative(self, bad, shown, refusal):
        def spoilt(a, b):
            return np.where((a == P[2]).all(axis=1) & (b == P[1]).all(axis=1), bad, l1(a, b))

        message = refusal(distance_of_points, P, spoilt)
        assert message == f"a distance must be finite and at least 0; rows 2 and 1 have {shown}"

    def test_symmetric(self, refusal):
        message = refusal(distance_of_points, P, lambda a, b: np.maximum(a - b, 0)[:, 0])
        assert "a distance must be symmetric; rows 0 and 1 have 0.25 one way and 0 the other" in message

    def test_zero_of_a_point_and_itself(self, refusal):
        message = refusal(distance_of_points, P, lambda a, b: l1(a, b) + 1)
        assert "0 between a point and itself; row 0 has 1" in message

    def test_whole_numbers_are_made_floats(self):
        found = distance_of_points(P, lambda a, b: (a[:, 0] != b[:, 0]).astype(int))(ROWS[:, None], ROWS[None])
        assert found.dtype == np.float64
        assert found[0].tolist() == [0, 1, 1, 0]

    def test_far_apart_rows_are_checked_when_met(self, refusal):
        points = np.linspace(0, 1, 500)
        distance = distance_of_points(
            points, lambda a, b: np.where((a == points[7]) | (b == points[7]), -1, abs(a - b))
        )
        assert "rows 7 and 400 have -1" in refusal(distance, np.array([1, 7]), np.array([3, 400]))
