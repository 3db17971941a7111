"""Fréchet distance: three forms of one number, the sets that spoil it, and its extrapolation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.books import arrays, by_id

from calibrant.errors import NotApplicableError
from calibrant.points import frechet as module
from calibrant.points.frechet import expected_frechet, frechet_distance
from calibrant.points.moments import PointMoments

BOOK, ARRAYS = by_id("samples"), arrays("samples")
X, Y, WIDE_X, WIDE_Y = (ARRAYS[name] for name in ("X", "Y", "wide_X", "wide_Y"))


def trace(points):
    return float(points.var(axis=0, ddof=1).sum())


def by_triangles(y, points):
    """Return the distance by the nuclear norm of R₁R₂ᵀ, from QR factors of the centred points."""
    R1, R2 = (np.linalg.qr(z - z.mean(axis=0), mode="r") for z in (y, points))
    root = np.linalg.svd(R1 @ R2.T, compute_uv=False).sum() / np.sqrt((len(y) - 1) * (len(points) - 1))
    step = y.mean(axis=0) - points.mean(axis=0)
    return step @ step + trace(y) + trace(points) - 2 * root


def every_way(y, points):
    """Return the distance of points, of moments, and of one of each."""
    first, second = PointMoments.of(y), PointMoments.of(points)
    return [frechet_distance(a, b) for a in (y, first) for b in (points, second)]


@pytest.fixture
def draw():
    return np.random.default_rng(7)


@pytest.mark.parametrize(("name", "y", "points"), [("frechet", X, Y), ("wide_frechet", WIDE_X, WIDE_Y)])
def test_reference_values(name, y, points):
    for found in every_way(y, points):
        assert found == pytest.approx(BOOK[name]["value"], rel=BOOK[name]["rtol"])


class TestValues:
    def test_on_a_line_by_hand(self):
        # Means 1 and 4, standard deviations 1 and 3: 3² + 2².
        for found in every_way(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [4.0], [7.0]])):
            assert found == pytest.approx(13.0, rel=1e-13)

    def test_covariances_that_commute(self):
        # Variances 1, 4 and 9, 16 along the same axes: (1 - 3)² + (2 - 4)²; the means 3 apart.
        first = PointMoments.of_covariance(50, [0.0, 0.0], np.diag([1.0, 4.0]))
        second = PointMoments.of_covariance(80, [3.0, 0.0], np.diag([9.0, 16.0]))
        assert frechet_distance(first, second) == pytest.approx(9.0 + 4.0 + 4.0, rel=1e-13)

    def test_covariances_that_do_not(self):
        # tr (S₁S₂)^½ of 2 × 2 matrices is √(tr S₁S₂ + 2 √det S₁S₂).
        S1, S2 = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -0.5], [-0.5, 2.0]])
        root = np.sqrt(np.trace(S1 @ S2) + 2 * np.sqrt(np.linalg.det(S1 @ S2)))
        moments = [PointMoments.of_covariance(9, np.zeros(2), S) for S in (S1, S2)]
        assert frechet_distance(*moments) == pytest.approx(8 - 2 * root, rel=1e-12)

    def test_points_on_lines_at_right_angles(self):
        # Both covariances have rank 1 and share no direction: the sum of both variances.
        y, points = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, -3.0], [0.0, 3.0]])
        for found in every_way(y, points):
            assert found == pytest.approx(2.0 + 18.0, rel=1e-14)

    def test_points_that_are_all_alike(self):
        same = np.tile([[1.0, 0.1]], (5, 1))
        assert every_way(same, same) == [0.0] * 4
        for found in every_way(same, np.tile([[3.0, 0.1]], (5, 1))):
            assert found == pytest.approx(4.0, rel=1e-14)
        for found in every_way(same, X[:, :2]):
            expected = ((X[:, :2].mean(axis=0) - [1.0, 0.1]) ** 2).sum() + trace(X[:, :2])
            assert found == pytest.approx(expected, rel=1e-13)

    @given(st.floats(-5, 5), st.integers(0, 2**32 - 1))
    def test_a_shift_alone_is_its_square(self, shift, seed):
        points = np.random.default_rng(seed).normal(size=(20, 3))
        assert frechet_distance(points, points + shift) == pytest.approx(3 * shift**2, rel=1e-9, abs=1e-12)

    @given(st.floats(0.1, 10), st.integers(0, 2**32 - 1))
    def test_a_factor_alone(self, factor, seed):
        points = np.random.default_rng(seed).normal(size=(20, 3))
        expected = trace(points) * (1 - factor) ** 2 + (points.mean(axis=0) ** 2).sum() * (1 - factor) ** 2
        assert frechet_distance(points, factor * points) == pytest.approx(expected, rel=1e-9, abs=1e-12)


class TestNearlySingular:
    def test_eigenvalues_from_1_to_1e_13(self, draw):
        turn = np.linalg.qr(draw.normal(size=(14, 14)))[0]
        y, points = (draw.normal(size=(n, 14)) * 10.0 ** -np.linspace(0, 6.5, 14) @ turn for n in (60, 80))
        expected, size = by_triangles(y, points), trace(y) + trace(points)
        for found in every_way(y, points):
            assert abs(found - expected) < 1e-10 * size

    def test_two_nearly_equal_columns(self, draw):
        # Of points, 12 digits; of moments, the 8 that a covariance has.
        a = draw.normal(size=100)
        y = np.stack([a, a + 1e-8 * draw.normal(size=100)], axis=1)
        points = draw.normal(size=(200, 2))
        expected = by_triangles(y, points)
        assert frechet_distance(y, points) == pytest.approx(expected, rel=1e-12)
        moments = PointMoments.of(y), PointMoments.of(points)
        assert frechet_distance(*moments) == pytest.approx(expected, rel=1e-6)

    def test_columns_that_are_constant_in_one_set(self, draw):
        y, points = draw.normal(size=(50, 4)), draw.normal(size=(60, 4))
        y[:, 1], points[:, 2] = 0.1, 7.0
        live = [0, 3]
        rest = frechet_distance(y[:, live], points[:, live])
        apart = y.mean(axis=0) - points.mean(axis=0)
        others = sum(apart[k] ** 2 + y[:, k].var(ddof=1) + points[:, k].var(ddof=1) for k in (1, 2))
        for found in every_way(y, points):
            assert found == pytest.approx(rest + others, rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 5), (20, 60), (60, 60), (61, 60), (200, 60), (500, 3)])
def test_distance_0_of_a_set_to_itself(n, d, draw):
    points = draw.normal(size=(n, d)) * 10.0 ** draw.uniform(-4, 4, d) + 1e5
    for found in (*every_way(points, points), *every_way(points, points[draw.permutation(n)])):
        assert type(found) is float
        assert 0 <= found <= 1e-10 * trace(points)


class TestScale:
    @pytest.mark.parametrize("factor", [1e-140, 1e-60, 1e60, 1e148])
    @pytest.mark.parametrize(("y", "points"), [(X, Y), (WIDE_X, WIDE_Y)])
    def test_units(self, factor, y, points):
        expected = frechet_distance(y, points)
        for found in every_way(y * factor, points * factor):
            assert found / factor / factor == pytest.approx(expected, rel=1e-10)

    @pytest.mark.parametrize(("y", "points"), [(X, Y), (WIDE_X, WIDE_Y)])
    def test_a_large_offset_costs_no_digits(self, y, points):
        # Numbers with few binary digits keep them all when 2³⁰ is added.
        y, points = (np.round(z * 2**12) / 2**12 for z in (y, points))
        expected = frechet_distance(y, points)
        assert frechet_distance(y + 2.0**30, points + 2.0**30) == pytest.approx(expected, rel=1e-12)
        assert frechet_distance(PointMoments.of(y + 2.0**30), points + 2.0**30) == pytest.approx(expected, rel=1e-6)

    def test_more_dimensions_than_a_covariance_may_have(self, draw):
        y, points = draw.normal(size=(8, 50_000)), draw.normal(size=(5, 50_000))  # d × d numbers would take 20 GB
        gram = np.linalg.svd((y - y.mean(axis=0)) @ (points - points.mean(axis=0)).T, compute_uv=False).sum()
        step = y.mean(axis=0) - points.mean(axis=0)
        expected = step @ step + trace(y) + trace(points) - 2 * gram / np.sqrt(7 * 4)
        assert frechet_distance(y, points) == pytest.approx(expected, rel=1e-12)


class TestDistributions:
    @settings(max_examples=40)
    @given(st.integers(2, 12), st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
    def test_turns_of_exchanged_sets(self, n, m, d, seed):
        rng = np.random.default_rng(seed)
        y, points = rng.normal(size=(n, d)), rng.normal(size=(m, d)) * rng.uniform(0.5, 2, d)
        found, size = frechet_distance(y, points), trace(y) + trace(points)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        others = [frechet_distance(points @ turn, y @ turn), *every_way(y, points)]
        assert found >= 0
        np.testing.assert_allclose(others, found, rtol=1e-9, atol=1e-7 * size if min(n, m) <= d else 1e-10 * size)

    def test_root_n_rate_of_the_bias(self, draw):
        # Twice the points, half the value: the mean over sets of one law is proportional to 1/n + 1/m.
        means = [np.mean([frechet_distance(*draw.normal(size=(2, n, 5))) for _ in range(150)]) for n in (100, 200)]
        assert 1.7 < means[0] / means[1] < 2.3


class TestExtrapolated:
    def test_is_what_the_docstring_says(self, draw):
        y, points = draw.normal(size=(91, 3)), draw.normal(size=(120, 3)) + 0.5
        rng = np.random.default_rng(5)
        orders = [rng.permutation(np.lexsort(X.T[::-1])) for X in (y, points)]  # whatever order the rows came in
        inverse, values = [], []
        for share in (2 / 6, 3 / 6, 4 / 6, 5 / 6, 1):
            n, m = round(91 * share), round(120 * share)
            inverse.append(1 / n + 1 / m)
            values.append(frechet_distance(y[orders[0][:n]], points[orders[1][:m]]))
        expected = np.polyfit(inverse, values, 1)[1]
        assert frechet_distance(y, points, extrapolate=True, rng=5) == pytest.approx(expected, rel=1e-9)
        again = frechet_distance(y, points, extrapolate=True, rng=np.random.default_rng(5))
        assert again == pytest.approx(expected, rel=1e-9)
        assert frechet_distance(y, points, extrapolate=True, rng=6) != again

    def test_nearly_unbiased(self, draw):
        # True value 0 and 5 · 0.3² = 0.45; found are 0.21 and 0.21 more. Standard errors about 0.01.
        for shift in (0.0, 0.3):
            found, plain = np.empty((2, 80))
            for k in range(80):
                y, points = draw.normal(size=(100, 5)), draw.normal(size=(100, 5)) + shift
                found[k] = frechet_distance(y, points, extrapolate=True, rng=k)
                plain[k] = frechet_distance(y, points)
            error = found.std() / np.sqrt(80)
            assert error < 0.04  # the bias of the plain distance is five times that
            assert abs(found.mean() - 5 * shift**2) < 4 * error
            assert plain.mean() - 5 * shift**2 > 0.15

    def test_needs_rng(self, refusal):
        assert "pass rng, such as rng=0" in refusal(frechet_distance, X, Y, extrapolate=True)

    @pytest.mark.parametrize("given", [(PointMoments.of(X), Y), (X, PointMoments.of(Y))])
    def test_needs_the_points(self, given, refusal):
        assert "needs the points of both sets" in refusal(frechet_distance, *given, extrapolate=True, rng=0)

    @pytest.mark.parametrize(("n", "m", "d", "least"), [(29, 100, 2, 30), (100, 29, 5, 30), (59, 99, 10, 60)])
    def test_needs_enough_points(self, n, m, d, least, refusal, draw):
        y, points = draw.normal(size=(n, d)), draw.normal(size=(m, d))
        message = refusal(frechet_distance, y, points, extrapolate=True, rng=0, error=NotApplicableError)
        assert f"at least {least} points of {d} dimensions in each set" in message
        assert message.endswith(f"got {min(n, m)}")
        enough = draw.normal(size=(2, least, d))
        assert np.isfinite(frechet_distance(*enough, extrapolate=True, rng=0))


class TestRefused:
    def test_moments_beyond_float64(self, refusal):
        far = PointMoments(5, np.array([1e200]), np.ones((1, 1)))
        message = refusal(frechet_distance, far, PointMoments.of([[0.0], [1.0]]))
        assert message == "the means or the spreads are too large for their squares; give the points in other units"

    @pytest.mark.parametrize(
        ("y", "points", "words"),
        [
            (X, PointMoments.of(Y[:, :3]), "got 5 in y and 3 in points"),
            (PointMoments.of(X[:1]), Y, "y must have at least 2 points; these are the moments of 1"),
            (X, PointMoments.zero(), "points must have at least 2 points; these are the moments of 0"),
        ],
    )
    def test_points(self, y, points, words, refusal):
        assert words in refusal(frechet_distance, y, points)


FLOOR = BOOK["frechet_floor"]


def moments(n, S, mean=0.0):
    return PointMoments.of_covariance(n, np.full(len(S), mean), S)


@pytest.mark.parametrize("unit", [1.0, 1e140])
def test_reference(unit):
    found = expected_frechet(PointMoments.of(X * unit), PointMoments.of(Y * unit))
    assert found / unit / unit == pytest.approx(FLOOR["value"], rel=FLOOR["rtol"])


def test_the_number_of_the_specification():
    # (1/1600 + 1/1600) (50 + (50² + 50) / 4)
    found = expected_frechet(moments(1600, np.eye(50)), moments(1600, np.eye(50), mean=3.0))
    assert found == pytest.approx(0.859375, rel=1e-12)


def test_two_variances_by_hand():
    # λ = 1, 3: (1/10 + 1/20) (4 + (2 · 1/2 + 2 · 9/6 + 2 · 3/4) / 2) = 0.15 · 6.75
    S = np.diag([1.0, 3.0])
    assert expected_frechet(moments(10, S), moments(20, S)) == pytest.approx(0.15 * 6.75, rel=1e-13)


def test_covariances_are_pooled_by_their_points():
    found = expected_frechet(moments(11, np.eye(1)), moments(31, 5 * np.eye(1)))
    assert found == pytest.approx((1 / 11 + 1 / 31) * 1.5 * (10 + 150) / 40, rel=1e-13)


def test_tiles_change_nothing(monkeypatch):
    first, second = PointMoments.of(X), PointMoments.of(Y)
    whole = expected_frechet(first, second)
    monkeypatch.setattr(module, "EIGENVALUES_TOGETHER", 2)
    assert expected_frechet(first, second) == pytest.approx(whole, rel=1e-14)


def test_points_without_spread():
    same = PointMoments.of(np.ones((4, 3)))
    assert expected_frechet(same, same) == 0.0
    line = PointMoments.of(np.outer([0.0, 1.0, 2.0], [1.0, 0.0]))  # variance 1 along one axis, 0 along the other
    assert expected_frechet(line, line) == pytest.approx((2 / 3) * 1.5, rel=1e-14)


def test_simulated():
    draw = np.random.default_rng(3)
    mix = draw.normal(size=(6, 6))
    sets = [(draw.normal(size=(300, 6)) @ mix, draw.normal(size=(200, 6)) @ mix) for _ in range(200)]
    found = np.array([frechet_distance(*pair) for pair in sets])
    expected = np.mean([expected_frechet(*map(PointMoments.of, pair)) for pair in sets])
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(200)
    assert found.std() / np.sqrt(200) < 0.05 * expected


def test_rows_in_parts(monkeypatch, draw):
    points = draw.normal(size=(500, 6))
    centre = (points - points[0]).mean(axis=0)
    whole = module.factor_of_rows(points, centre)
    monkeypatch.setattr(module, "MIN_CHUNK_POINTS", 1)
    parts = module.factor_of_rows(points, centre)
    np.testing.assert_allclose(parts.T @ parts, np.cov(points.T), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.abs(parts), np.abs(whole), rtol=1e-9, atol=1e-12)


def test_an_inaccurate_form_is_left(draw):
    # Eigenvalues of Sᵢ from 1 to 1e-13: those of LᵀS₂L reach 1e-26, below their rounding errors.
    d, turn = 14, np.linalg.qr(draw.normal(size=(14, 14)))[0]
    size = 10.0 ** -np.linspace(0, 6.5, d)
    y, points = (draw.normal(size=(n, d)) * size @ turn for n in (60, 80))
    S1, S2 = np.cov(y.T), np.cov(points.T)
    exact = module.nuclear_norm(*(module.factor_of_rows(z, (z - z[0]).mean(axis=0)) for z in (y, points)))
    found = module.root_trace(S1, S2)
    assert found is None or abs(found - exact) < 1e-10 * np.trace(S1 + S2)


def test_columns_of_many_sizes():
    draw = np.random.default_rng(9)
    # Columns of 1e6 and of 1e-6: the root of the product of the covariances would be wrong in the 11th digit.
    size = 10.0 ** draw.uniform(-6, 6, 14)
    y, points = (draw.normal(size=(60, 14)) * size for _ in range(2))
    S1, S2 = np.cov(y.T), np.cov(points.T)
    exact = module.nuclear_norm(*(module.factor_of_rows(z, (z - z[0]).mean(axis=0)) for z in (y, points)))
    assert abs(module.root_trace(S1, S2) - exact) < 1e-13 * np.trace(S1 + S2)


def test_eigenvalues_of_rounding_are_left_out(draw):
    wide, doubled = draw.normal(size=(6, 20)), np.repeat(draw.normal(size=(50, 3)), 2, axis=1)
    constant = draw.normal(size=(50, 4)) * [1.0, 0.0, 1e-8, 1e8]
    for points, rank in ((wide, 5), (doubled, 3), (constant, 3), (np.ones((4, 3)), 0)):
        S = np.cov(points.T)
        F = module.factor_of_covariance(S)
        assert F.shape == (rank, points.shape[1])
        np.testing.assert_allclose(F.T @ F, S, rtol=1e-12, atol=1e-13 * S.max())
