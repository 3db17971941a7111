"""The trace of (S₁S₂)^½: all forms agree, and one that has lost its digits is left."""

import numpy as np
import pytest

from calibrant.primitives import root_trace


def forms_of(y, points):
    S1, S2 = (np.atleast_2d(np.cov(z.T)) for z in (y, points))
    L1, L2 = np.linalg.cholesky(S1), np.linalg.cholesky(S2)
    rows = [root_trace.factor_of_rows(z, (z - z[0]).mean(axis=0)) for z in (y, points)]
    vectors = [root_trace.factor_of_covariance(S) for S in (S1, S2)]
    return {
        "eigenvalues": root_trace._eigenvalue_form(L1, S2, np.inf),
        "Cholesky factors": root_trace._factor_form(L1, L2, np.inf),
        "rows": root_trace.nuclear_norm(*rows),
        "eigenvectors": root_trace.nuclear_norm(*vectors),
        "mixed": root_trace.nuclear_norm(rows[0], vectors[1]),
    }


@pytest.mark.parametrize(("n", "m", "d"), [(200, 200, 5), (40, 90, 30), (300, 33, 32), (10, 10, 1)])
def test_agree(n, m, d):
    draw = np.random.default_rng(7)
    mix = draw.normal(size=(d, d))
    y, points = draw.normal(size=(n, d)) @ mix + 3, draw.normal(size=(m, d)) @ mix * 1.3
    forms = forms_of(y, points)
    for name, found in forms.items():
        assert found == pytest.approx(forms["rows"], rel=1e-10), name


def test_rows_in_parts(monkeypatch):
    draw = np.random.default_rng(7)
    points = draw.normal(size=(500, 6))
    centre = (points - points[0]).mean(axis=0)
    whole = root_trace.factor_of_rows(points, centre)
    monkeypatch.setattr(root_trace, "LEAST_CHUNK", 1)
    parts = root_trace.factor_of_rows(points, centre)
    np.testing.assert_allclose(parts.T @ parts, np.cov(points.T), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.abs(parts), np.abs(whole), rtol=1e-9, atol=1e-12)


def test_an_inaccurate_form_is_left():
    draw = np.random.default_rng(7)
    # Eigenvalues of Sᵢ from 1 to 1e-13: those of LᵀS₂L reach 1e-26, below their rounding errors.
    d, turn = 14, np.linalg.qr(draw.normal(size=(14, 14)))[0]
    size = 10.0 ** -np.linspace(0, 6.5, d)
    y, points = (draw.normal(size=(n, d)) * size @ turn for n in (60, 80))
    S1, S2 = np.cov(y.T), np.cov(points.T)
    most = root_trace.ACCURATE * (np.trace(S1) + np.trace(S2))
    assert root_trace._eigenvalue_form(np.linalg.cholesky(S1), S2, most) is None
    exact = root_trace.nuclear_norm(*(root_trace.factor_of_rows(z, (z - z[0]).mean(axis=0)) for z in (y, points)))
    found = root_trace.root_trace(S1, S2)
    assert found is None or abs(found - exact) < 1e-10 * np.trace(S1 + S2)


def test_the_eigenvalue_form_is_wrong_where_it_is_left():
    draw = np.random.default_rng(9)
    # Columns of 1e6 and of 1e-6: rounding errors of eigenvalues have roots of 1e-8, and the estimate says so.
    size = 10.0 ** draw.uniform(-6, 6, 14)
    y, points = (draw.normal(size=(60, 14)) * size for _ in range(2))
    S1, S2 = np.cov(y.T), np.cov(points.T)
    L1 = np.linalg.cholesky(S1)
    values = np.linalg.eigvalsh(L1.T @ S2 @ L1)
    forced = np.sqrt(np.maximum(values, 0)).sum()
    exact = root_trace.nuclear_norm(*(root_trace.factor_of_rows(z, (z - z[0]).mean(axis=0)) for z in (y, points)))
    assert abs(forced - exact) > 1e-11 * np.trace(S1 + S2)
    assert abs(root_trace.root_trace(S1, S2) - exact) < 1e-13 * np.trace(S1 + S2)


def test_eigenvalues_of_rounding_are_left_out():
    draw = np.random.default_rng(7)
    wide, doubled = draw.normal(size=(6, 20)), np.repeat(draw.normal(size=(50, 3)), 2, axis=1)
    constant = draw.normal(size=(50, 4)) * [1.0, 0.0, 1e-8, 1e8]
    for points, rank in ((wide, 5), (doubled, 3), (constant, 3), (np.ones((4, 3)), 0)):
        S = np.cov(points.T)
        F = root_trace.factor_of_covariance(S)
        assert F.shape == (rank, points.shape[1])
        np.testing.assert_allclose(F.T @ F, S, rtol=1e-12, atol=1e-13 * S.max())
