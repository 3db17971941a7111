"""Do ranks vary with what predictions were made from? A score test, and permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inference.rank_result import Found
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.legendre import legendre
from calibrant.summaries.kept_ranks import KeptRanks
from calibrant.summaries.rank_covariates import DEGREES, RankCovariates

ROUNDING = 8 * np.finfo(np.float64).eps  # of a mean: a standard deviation this small is that of a constant
SMALLEST = 1e-145  # root of a sum of squares that has lost nothing to the end of float64
DEPENDENT = 1e-10  # of the largest eigenvalue of the correlations: less is a covariate that others tell


def score(summary: RankCovariates) -> Found:
    r"""Return T = Σ_{k=1,2} |φ_k(r)' Q|², Q an orthonormal basis of the centred covariates, and its p-value.

    If ranks are uniform and have nothing to do with the covariates, T has mean 2q exactly, q the rank of the
    covariates, and is chi-square with 2q degrees of freedom in the limit. From moments: with S = Σ(x - x̄)(x - x̄)' and
    c_k = Σ(x - x̄) φ_k(r), T = Σ_k c_k' S⁻¹ c_k.
    """
    from scipy.special import chdtrc

    c = summary.cross  # (q, K, C)
    basis = _basis(summary.spread, summary.mean, summary.n)  # (q, rank)
    T = (np.tensordot(basis, c, axes=(0, 0)) ** 2).sum(axis=(0, 1))
    dof = basis.shape[1] * c.shape[1]
    words = f"ranks against covariates; chi-square limit with {dof} degree{'s' if dof > 1 else ''} of freedom"
    return Found(T, np.asarray(chdtrc(dof, T)), words, {}, {"dof": dof})


def permuted_score(summary: KeptRanks, resamples: int, rng: np.random.Generator) -> Found:
    """Return T, and its p-value if the ranks of a row are equally likely to belong to any covariates."""
    rank, x = summary.ordered()
    largest = np.abs(x).max(axis=0)
    x = x / np.where(largest > 0, largest, 1.0)  # sums and squares stay in float64
    step = x - x.mean(axis=0)
    basis = _basis(step.T @ step, x.mean(axis=0), len(x))
    Q = step @ basis  # (n, rank)
    phi = legendre(summary.ranks.M)[:DEGREES][:, rank]  # (K, n, C)
    K, n, C = phi.shape
    columns = np.ascontiguousarray(phi.transpose(1, 0, 2).reshape(n, K * C))

    def statistic(order: Any) -> FloatArray:
        return np.asarray(((Q.T @ columns[order]) ** 2).reshape(-1, K, C).sum(axis=(0, 1)))

    T = statistic(slice(None))
    drawn = np.stack([statistic(rng.permutation(n)) for _ in range(resamples)])  # (B, C)
    p = resampled_pvalue(reaches(drawn, T).sum(axis=0), resamples)
    return Found(T, p, f"ranks against covariates; {resamples:,} permutations", {}, {"dof": basis.shape[1] * K})


def _basis(spread: FloatArray, mean: FloatArray, n: int) -> FloatArray:
    """Return A (q, rank) with A' S A = I: (x - x̄) A is orthonormal. Constant and dependent covariates add nothing."""
    scale = np.sqrt(np.diagonal(spread))
    if ((scale > 0) & (scale < SMALLEST)).any():
        raise InputError("covariates are too small for their squares; divide them by their largest value")
    varies = scale > ROUNDING * np.abs(mean) * np.sqrt(n)
    if not varies.any():
        raise NotApplicableError(
            "no covariate varies between rows, so that ranks cannot vary with them; divide tiny ones by their largest "
            "value"
        )
    scale = scale[varies]
    values, vectors = np.linalg.eigh(spread[np.ix_(varies, varies)] / np.outer(scale, scale))
    kept = values > DEPENDENT * values[-1]
    A = np.zeros((len(spread), int(np.count_nonzero(kept))))
    A[varies] = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return A
