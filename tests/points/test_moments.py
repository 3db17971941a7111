"""Mean and scatter of points, merged without loss of digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core import summary as codec
from calibrant.errors import SummaryError
from calibrant.points import moments as module
from calibrant.points.moments import PointMoments
from calibrant.summaries import Summary

X = np.random.default_rng(0).normal(size=(30, 4)) * [1e-3, 1.0, 10.0, 1e4] + [0.0, 5.0, -100.0, 1e6]


def close(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)


def near(found, expected, tolerance=1e-12):
    """Compare scatter matrices entry by entry, in units of the spread of both columns."""
    size = np.sqrt(np.diagonal(expected))
    np.testing.assert_array_less(np.abs(found - expected), tolerance * np.multiply.outer(size, size) + 1e-300)


CYCLE = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # each pair is possible, all three are not
UNITS = np.diag([1e-6, 1.0, 1e6])


class TestValues:
    def test_by_hand(self):
        # (0, 1), (2, 1), (4, 4): means 2 and 2, centred (-2, -1), (0, -1), (2, 2).
        found = PointMoments.of([[0, 1], [2, 1], [4, 4]])
        assert (found.n, found.d, found.mean.tolist()) == (3, 2, [2.0, 2.0])
        close(found.scatter, [[8.0, 6.0], [6.0, 6.0]])
        close(found.covariance, [[4.0, 3.0], [3.0, 3.0]])

    def test_is_that_of_numpy(self):
        found = PointMoments.of(X)
        close(found.mean, X.mean(axis=0))
        near(found.covariance, np.cov(X.T))

    def test_an_offset_costs_no_digits(self):
        draw = np.random.default_rng(0)
        whole = draw.integers(-1000, 1000, (50, 3)).astype(float)
        moved = PointMoments.of(whole + 2.0**40)
        near(moved.covariance, np.cov(whole.T), 1e-13)

    def test_a_constant_column_has_no_scatter(self):
        draw = np.random.default_rng(0)
        found = PointMoments.of(np.column_stack([np.full(1000, 0.1), draw.normal(size=1000)]))
        assert found.mean[0] == 0.1
        assert not found.scatter[0].any()

    def test_about_another_origin_and_some_rows(self):
        rows = np.array([5, 2, 11, 7])
        found = PointMoments.about(X, X[0], rows)
        close(found.mean, (X[rows] - X[0]).mean(axis=0), 1e-10)
        near(found.covariance, np.cov(X[rows].T))
        assert found.n == 4

    def test_moments_found_elsewhere(self):
        found = PointMoments.of_covariance(30, X.mean(axis=0).tolist(), np.cov(X.T))
        near(found.scatter, PointMoments.of(X).scatter)
        lopsided = np.cov(X.T)
        lopsided[0, 1] *= 1 + 1e-12
        scatter = PointMoments.of_covariance(30, X.mean(axis=0), lopsided).scatter
        np.testing.assert_array_equal(scatter, scatter.T)


def test_chunks_change_nothing_but_rounding(monkeypatch):
    whole = PointMoments.of(X)
    monkeypatch.setattr(module, "CHUNK_NUMBERS", 1)
    monkeypatch.setattr(module, "MIN_CHUNK_POINTS", 7)
    parts = PointMoments.of(X)
    close(parts.mean, whole.mean)
    near(parts.scatter, whole.scatter)
    assert (parts.scatter == parts.scatter.T).all()


class TestMerge:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 29), st.sampled_from([0.0, 1e3, 1e9]))
    def test_parts_are_the_whole(self, seed, cut, offset):
        points = np.random.default_rng(seed).integers(-99, 99, (30, 3)) + offset
        parts = PointMoments.of(points[:cut]) + PointMoments.of(points[cut:])
        whole = PointMoments.of(points)
        assert parts.n == whole.n == 30
        close(parts.mean, whole.mean, 1e-13)
        near(parts.scatter, whole.scatter, 1e-9)

    def test_many_parts(self):
        near(sum(PointMoments.of(part) for part in np.array_split(X, 5)).scatter, PointMoments.of(X).scatter)

    def test_other_columns_do_not_merge(self, refusal):
        message = refusal(lambda: PointMoments.of(X) + PointMoments.of(X[:, :2]), error=SummaryError)
        assert message == "points with 4 columns do not merge with points with 2 columns"

    def test_merged_beyond_float64(self, refusal):
        few, many = (
            [PointMoments(n, np.array([x]), np.zeros((1, 1))) for x in (-1e150, 1e150)] for n in (10**6, 10**9)
        )
        assert (few[0] + few[1]).scatter[0, 0] == pytest.approx(2e306)
        assert "other units" in refusal(lambda: many[0] + many[1], error=SummaryError)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": -1},
        {"mean": np.zeros(3)},
        {"mean": np.array([0.0, np.nan, 0.0, 0.0])},
        {"scatter": np.eye(3)},
        {"scatter": -np.eye(4)},
        {"scatter": np.full((4, 4), np.inf)},
        {"more": 1},
    ],
)
def test_edited_bytes(changes, refusal):
    name, values = codec.decode(PointMoments.of(X).to_bytes())
    message = refusal(Summary.from_bytes, codec.encode(name, {**values, **changes}), error=SummaryError)
    assert "PointMoments" in message


class TestRefused:
    def test_sums_of_squares_beyond_float64(self, refusal):
        assert "needs at least 2 points" in refusal(lambda: PointMoments.of([[1.0]]).covariance, error=SummaryError)
        points = np.full((4096, 2), 1e150)
        points[::2] = -1e150
        assert np.isfinite(PointMoments.of(points).scatter).all()
        far = np.array([[1e155], [-1e155]])  # more than the boundary lets in
        assert "other units" in refusal(PointMoments.about, far, far[0])

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ((1, [0.0], [[1.0]]), "n must be at least 2; got 1"),
            ((5.0, [0.0], [[1.0]]), "n must be a whole number"),
            ((5, [0.0], [1.0]), "covariance shape (d, d); got (1,) and (1,)"),
            ((5, [0.0, 1.0], [[1.0]]), "got (2,) and (1, 1)"),
            ((5, [0.0], [[-1.0]]), "got -1 in column 0"),
            ((5, [0.0], [[np.nan]]), "finite"),
            ((5, [0.0, 0.0], [[1.0, 0.5], [0.1, 1.0]]), "not symmetric"),
            ((5, [0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "the covariance has an eigenvalue below 0"),
            ((5, [0.0] * 3, CYCLE), "the covariance has an eigenvalue below 0"),
            ((5, [0.0] * 3, UNITS @ CYCLE @ UNITS), "the covariance has an eigenvalue below 0"),
        ],
    )
    def test_moments_found_elsewhere(self, given, words, refusal):
        assert words in refusal(PointMoments.of_covariance, *given)

    def test_covariances_beyond_float64(self, refusal):
        message = refusal(PointMoments.of_covariance, 100, [0.0], [[1e308]], error=SummaryError)
        assert "give the points in other units" in message

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(("n", "d"), [(3, 2), (50, 80), (400, 300)])
    def test_what_rounding_made_indefinite_is_read(self, n, d, dtype):
        points = np.random.default_rng(d).normal(size=(n, d)).astype(dtype)
        points[:, -1] = points[:, 0]
        S = np.cov(points.T, dtype=dtype)
        assert PointMoments.of_covariance(n, points.mean(axis=0), S).n == n
