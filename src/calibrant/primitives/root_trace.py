r"""The trace of :math:`(S_1 S_2)^{1/2}` of two covariance matrices, to all digits that they have.

A square root turns a rounding error ε of an eigenvalue 0 into √ε. So there are three forms:

- eigenvalues: with :math:`S_1 = L L^T` the trace is :math:`\sum_i \sqrt{\lambda_i(L^T S_2 L)}`. The quickest;
- factors: with :math:`S = F^T F` it is the sum of the singular values of :math:`F_1 F_2^T`, which are no roots of
  anything. F may be a Cholesky factor;
- or, for matrices that are singular or nearly so, the centred rows themselves, their triangular factor R, or (where
  there are no rows) the eigenvectors of S with those of rounding errors left out.

Each of the first two is judged by an estimate of its rounding error, and left if that is too large. The square root of
the matrix :math:`S_1 S_2`, which has no symmetry, is never formed.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.progress import steps

EPS = float(np.finfo(np.float64).eps)
LEAST_CHUNK = 4096  # points that are factorised together
POWER_STEPS = 6
ACCURATE = 1e-11  # error, in units of tr S₁ + tr S₂, up to which a form is taken


def root_trace(S1: FloatArray, S2: FloatArray) -> float | None:
    """Return the trace from the covariances alone; None if their Cholesky factors do not tell it accurately."""
    live = (np.diagonal(S1) > 0) & (np.diagonal(S2) > 0)  # a column that is constant in one set adds nothing
    if not live.any():
        return 0.0
    largest = float(max(S1.diagonal().max(), S2.diagonal().max()))
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 1)  # so that no product of both leaves float64
    S1, S2 = (S[np.ix_(live, live)] / unit for S in (S1, S2))
    found = _of_positive(S1, S2)
    return None if found is None else unit * found


def _of_positive(S1: FloatArray, S2: FloatArray) -> float | None:
    most = ACCURATE * float(np.trace(S1) + np.trace(S2))
    try:
        L1, L2 = (np.asarray(np.linalg.cholesky(S), dtype=np.float64) for S in (S1, S2))
    except np.linalg.LinAlgError:
        return None
    found = _eigenvalue_form(L1, S2, most) if _least_error(L1, L2) <= most else None
    return _factor_form(L1, L2, most) if found is None else found


def _least_error(L1: FloatArray, L2: FloatArray) -> float:
    r"""Return about what the eigenvalue form loses by its smallest eigenvalue alone, ε λ_max / 2√λ_min.

    A few steps of the power method tell it, so that nobody waits for eigenvalues that will be of no use.
    """
    from scipy.linalg import solve_triangular

    large = small = np.cos(np.arange(len(L1)))
    for _ in range(POWER_STEPS):
        large = L1.T @ (L2 @ (L2.T @ (L1 @ (large / np.linalg.norm(large)))))
        small = small / np.linalg.norm(small)
        for L, trans in ((L1, "T"), (L2, "N"), (L2, "T"), (L1, "N")):
            small = solve_triangular(L, small, lower=True, trans=trans, check_finite=False)
    return EPS * float(np.linalg.norm(large)) * math.sqrt(float(np.linalg.norm(small))) / 2


def _eigenvalue_form(L1: FloatArray, S2: FloatArray, most: float) -> float | None:
    r"""Return Σ √λ; the rounding error ε λ_max of each λ is one of ε λ_max / 2√λ of its root."""
    values = np.linalg.eigvalsh(L1.T @ S2 @ L1)
    if not values[0] > 0:
        return None
    roots = np.sqrt(values)
    error = EPS * float(values[-1] * (0.5 / roots).sum())
    return float(roots.sum()) if error <= most else None


def _factor_form(L1: FloatArray, L2: FloatArray, most: float) -> float | None:
    r"""Return the nuclear norm of L₁ᵀL₂.

    A change E of S₁ changes the trace by tr(TE)/2, T = L₂QL₁⁻¹ with Q orthogonal. Rounding makes E about ε s_i s_j, s_i
    the standard deviations; with D = diag(s) this is at most ε √d ‖DL₂‖ ‖L₁⁻¹D‖ / 2 if errors have random signs.
    """
    error = 0.0
    for L, other in ((L1, L2), (L2, L1)):
        size = np.sqrt(np.einsum("ij,ij->i", L, L))
        error += float(np.linalg.norm(size[:, None] * other) * np.linalg.norm(_inverse(L) * size))
    return nuclear_norm(L1.T, L2.T) if EPS * np.sqrt(len(L1)) * error / 2 <= most else None


def _inverse(L: FloatArray) -> FloatArray:
    from scipy.linalg import lapack

    found, info = lapack.dtrtri(L, lower=1)
    return np.asarray(found if info == 0 else np.full_like(L, np.inf))


def nuclear_norm(F1: FloatArray, F2: FloatArray) -> float:
    """Return the sum of the singular values of F₁F₂ᵀ, which is tr (S₁S₂)^½ for S = FᵀF."""
    if not (F1.size and F2.size):
        return 0.0
    return float(np.linalg.svd(F1 @ F2.T, compute_uv=False).sum())


def factor_of_rows(X: FloatArray, centre: FloatArray) -> FloatArray:
    """Return F with FᵀF the covariance of n points: the points, less their mean, or if n > d their factor R.

    `centre` is their mean, less the first of them: so that a large offset costs no digits.
    """
    n, d = X.shape
    if n <= d:
        return np.asarray(((X - X[0]) - centre) / np.sqrt(n - 1))
    R = np.zeros((0, d))
    for start, stop in steps(n, size=max(LEAST_CHUNK, 2 * d), label="factorising points"):
        part = X[start:stop] - X[0]
        part -= centre
        R = np.asarray(np.linalg.qr(np.concatenate([R, part]), mode="r"))
    return np.asarray(R / np.sqrt(n - 1))


def factor_of_covariance(S: FloatArray) -> FloatArray:
    """Return F with FᵀF = S, a covariance; eigenvalues that rounding may have made count as 0.

    The eigenvectors are those of the correlation matrix, so that columns of small numbers keep their digits.
    """
    size = np.sqrt(np.diagonal(S))
    live = size > 0
    C = S[np.ix_(live, live)] / size[live] / size[live, None]
    F = np.zeros((len(C), len(S)))
    if not len(C):
        return F
    values, vectors = np.linalg.eigh(C)
    values[values <= len(C) * EPS * values[-1]] = 0.0
    F[:, live] = np.sqrt(values)[:, None] * vectors.T * size[live]
    return F[values > 0]
