"""Ranks against what the predictions were made from: the score test, whose summary merges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray, as_array
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.counting import Forecast, marginal_ranks
from calibrant.ranking.effects import ColumnTests, Multiplicity, RankTestOptions, enter_rank_test
from calibrant.ranking.summary import Ranks, check_covariate_rows, covariate_columns

CONSTANT_SCALE = 8 * np.finfo(np.float64).eps  # of a mean: a standard deviation this small is that of a constant
SMALLEST_SCALE = 1e-145  # root of a sum of squares that is still exact in float64
INDEPENDENT_SHARE = 1e-10  # of the largest eigenvalue of the correlations: less is a covariate that others determine


@public
def rank_score_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    covariates: ArrayLike | None = None,
    multiplicity: Multiplicity = "holm",
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test whether ranks are uniform and unrelated to what the predictions were made from.

    .. math:: T = \sum_{k=1,2} |\varphi_k(r)^\top Q|^2

    with orthonormal polynomials φ of the rank, for shift and spread, and an orthonormal basis Q of the centred
    covariates. If predictions are calibrated T is chi-square with 2q degrees of freedom, q the rank of the covariates.

    Parameters
    ----------
    y, prediction, multiplicity, weights
        As in `uniformity_test`; a summary is ``Ranks.of(ranks, M, covariates=x)``.
    covariates
        Numbers (n,) or (n, q) that the predictions were made from. Needed, except with a summary.
    rng
        Generator or seed; needed for ties between outcome and draws, and for jumps of a distribution function.

    Returns
    -------
    TestResult
        As that of `uniformity_test`; `details` has `dof` and no `where`.

    Examples
    --------
    Ranks that follow the covariate:

    >>> import numpy as np
    >>> from calibrant.summaries import Ranks
    >>> x = np.linspace(-1, 1, 100)
    >>> rank_score_test(Ranks.of((x > 0).astype(int), M=1, covariates=x)).pvalue < 1e-15
    True
    """
    return SCORE_TEST(y, prediction, ScoreOptions(multiplicity, rng, covariates), weights=weights)


@dataclass(frozen=True)
class ScoreOptions(RankTestOptions):
    covariates: ArrayLike | None


def _count_with_covariates(rows: DistributionRows | QuantileRows | CdfRows, options: ScoreOptions) -> Ranks:
    if options.covariates is None:
        words = "rank_score_test needs {covariates=}, what the predictions were made from"
        raise InputError(words, option="covariates")
    x = covariate_columns(options.covariates, rows.n, rows.keep)
    return Ranks.of_ranked(marginal_ranks(rows, options.rng), rows.w, x=x)


def _score_found(ranks: Ranks, options: ScoreOptions) -> ColumnTests:
    if not ranks.covariates:
        kind = InputError if options.covariates is not None else SummaryError
        raise kind("rank_score_test needs Ranks with covariates; pass Ranks.of(ranks, M, covariates=...)")
    return score_found(ranks)


def score_found(ranks: Ranks) -> ColumnTests:
    """Return T and its p-value for each column.

    From moments: with S = Σ(x - x̄)(x - x̄)' and c_k = Σ(x - x̄) φ_k(r), T = Σ_k c_k' S⁻¹ c_k.
    """
    from scipy.special import chdtrc

    (moments,) = ranks.covariates
    c = moments.cross  # (q, K, C)
    basis = _basis(moments.spread, moments.mean, moments.rows)  # (q, rank)
    T = (np.tensordot(basis, c, axes=(0, 0)) ** 2).sum(axis=(0, 1))
    dof = basis.shape[1] * c.shape[1]
    words = f"ranks against covariates; chi-square limit with {dof} degree{'s' if dof > 1 else ''} of freedom"
    return ColumnTests(T, np.asarray(chdtrc(dof, T)), words, {}, {"dof": dof})


def _basis(spread: FloatArray, mean: FloatArray, n: int) -> FloatArray:
    """Return A (q, rank) with A' S A = I: (x - x̄) A is orthonormal. Constant and dependent covariates add nothing."""
    scale = np.sqrt(np.diagonal(spread))
    if ((scale > 0) & (scale < SMALLEST_SCALE)).any():
        raise InputError("covariates are too small for their squares; divide them by their largest value")
    varies = scale > CONSTANT_SCALE * np.abs(mean) * np.sqrt(n)
    if not varies.any():
        raise NotApplicableError("no covariate varies between rows; divide tiny covariates by their largest value")
    return independent_directions(spread, varies)


def independent_directions(gram: FloatArray, varies: NDArray[np.bool_]) -> FloatArray:
    """Return A (q, rank) with A' G A = I; columns that do not vary, or that others determine, add nothing."""
    scale = np.sqrt(np.diagonal(gram))[varies]
    values, vectors = np.linalg.eigh(gram[np.ix_(varies, varies)] / np.outer(scale, scale))
    kept = values > INDEPENDENT_SHARE * values[-1]
    A = np.zeros((len(gram), int(np.count_nonzero(kept))))
    A[varies] = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return A


SCORE_TEST = enter_rank_test(rank_score_test, ScoreOptions, _score_found, summarise=_count_with_covariates)


def read_covariates(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the covariates of the n rows that stayed at the boundary, read-only and otherwise as they came.

    `keep` marks which of the caller's rows these are.
    """
    array = as_array(covariates, name="covariates")
    check_covariate_rows(array, n, keep)
    found: NDArray[Any] = array.view() if keep is None else array[keep]
    found.flags.writeable = False
    return found
