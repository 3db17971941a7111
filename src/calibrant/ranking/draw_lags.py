"""Do draws depend on those before them? Then ranks among them are not uniform, whatever else is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.catalogue import Entry, NoOptions, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.draw_dependence import lag_sums, standardised
from calibrant.core.pvalues import holm, normal_sf
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.autocorrelation import MAX_DRAWS_TRANSFORMED, lag_coefficients, time_of_sums
from calibrant.inputs.rows import RegionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.effects import SMALLEST_PVALUE, shaped

MIN_ROWS = 5  # for the normal tail of the statistic


@public
def draw_dependence(prediction: Samples | Summary, *, weights: ArrayLike | None = None) -> TestResult:
    r"""Test whether draws depend on those before them, as draws of a Markov chain do.

    With z the draws of a row less their mean, and a sum over all n rows of one coordinate,

    .. math:: \rho = \sum_{j < M} z_j z_{j+1} \Big/ \sum_j z_j^2 , \qquad
              Z = \sum_i (\rho_i + 1/M) \Big/ \sqrt{\textstyle\sum_i \mathrm{Var}\,\rho_i} .

    If draws are exchangeable, every order of them is equally likely. Then :math:`\mathrm{E}\,\rho_i = -1/M`, and the
    variance is known exactly from the draws (Wald and Wolfowitz 1943), whatever their distribution. The p-value is the
    upper normal tail of Z.

    Keep every τ-th draw, or draw independently.

    Parameters
    ----------
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``, in the order in which they were drawn); or
        the summary made by ``summarize("draw_dependence", None, prediction)``.
    weights
        Importance weights, at least 0; a common factor changes nothing. Coefficients are summed with them.

    Returns
    -------
    TestResult
        `estimate` is :math:`\tau = 1 + 2 \sum_k (\rho_k + 1/M)`, the number of successive draws that tell as much as
        one independent draw, where :math:`\rho_k` is the mean coefficient at lag k over rows and the sum ends before
        the first term of at most 0.02. `statistic` is Z, `pvalue` that of Z, adjusted for the number of coordinates
        (Holm). `details` has `rho`, the mean of :math:`\rho`, `pvalue_each`, `rows` that vary, `ordered`, the number
        of rows whose draws are sorted, and `M`. Draws of vectors have one of each per coordinate.

    Examples
    --------
    Every draw twice, one after the other: two draws are worth one.

    >>> import numpy as np
    >>> from calibrant import Samples
    >>> draws = np.random.default_rng(0).normal(size=(400, 50))
    >>> draw_dependence(Samples(draws)).pvalue > 0.05
    True
    >>> result = draw_dependence(Samples(np.repeat(draws, 2, axis=1)))
    >>> result.pvalue < 0.001, round(result.estimate, 1)
    (True, 2.0)
    """
    return DRAW_DEPENDENCE.alone(prediction, NoOptions(), weights=weights)


@dataclass(frozen=True, eq=False, repr=False)
class DrawLags(Summary):
    """Weighted sums over rows of the autocorrelations of their draws, and of the variance of the first of them."""

    total: int  # rows
    ordered: int  # rows whose draws are sorted in every coordinate
    rows: NDArray[np.int64]  # (D,), rows whose draws differ
    lags: FloatArray  # (M, D): coefficients at the lags 0 to M - 1, summed
    variance: FloatArray  # (D,)
    weight: FloatArray  # (D,), Σw of the rows whose draws differ
    single: bool  # whether draws are numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lags.ndim != 2 or self.rows.shape != self.lags.shape[1:] or self.variance.shape != self.rows.shape:
            raise SummaryError("the lags of draws do not fit together")

    @property
    def n(self) -> int:
        return self.total

    @property
    def M(self) -> int:
        return len(self.lags)

    @classmethod
    def zero(cls) -> Self:
        return cls(0, 0, np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(0), np.zeros(0), True)

    @classmethod
    def of(cls, draws: NDArray[Any], weights: FloatArray | None = None) -> Self:
        """Take finite draws (n, M) or (n, M, D)."""
        columns = draws[:, :, None] if draws.ndim == 2 else draws
        n, M, D = columns.shape
        ordered, rows, lags, variance, weight = 0, np.zeros(D, np.int64), np.zeros((M, D)), np.zeros(D), np.zeros(D)
        w = np.ones(n) if weights is None else weights
        for part in chunks(n, max(1, MAX_DRAWS_TRANSFORMED // (M * D))):
            x = columns[part].astype(np.float64)
            ordered += int((x[:, 1:] >= x[:, :-1]).all(axis=(1, 2)).sum())
            sums = lag_sums(x, w[part])
            rows, variance, weight = rows + sums.rows, variance + sums.variance, weight + sums.weight
            lags += lag_coefficients(x, w[part])
        return cls(n, ordered, rows, lags, variance, weight, draws.ndim == 2)

    def merged(self, other: Self) -> Self:
        if self.lags.shape != other.lags.shape or self.single != other.single:
            shapes = f"draws of shape {self.lags.shape} do not merge with draws of shape {other.lags.shape}"
            raise SummaryError(f"{shapes}; all batches need the same number of draws and coordinates")
        names = ("total", "ordered", "rows", "lags", "variance", "weight")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


def _summarise(rows: RegionRows, options: NoOptions) -> DrawLags:
    return DrawLags.of(rows.prediction.draws, rows.w)  # the first refuses infinite draws


def _finish(lags: DrawLags, options: NoOptions) -> TestResult:
    words = "lag-1 coefficients of the draws of each row, exact moments under exchangeable draws, normal tail"
    M, D, single = lags.M, lags.rows.size, lags.single
    if M < 3:
        raise NotApplicableError(f"draw_dependence needs at least 3 draws per row; got {M}")
    z, rho, pvalue, tau = np.full(D, np.nan), np.full(D, np.nan), np.full(D, np.nan), np.ones(D)
    if lags.ordered == lags.total:
        words = "not tested: the draws of every row are sorted, so their order tells nothing"
    elif (lags.rows < MIN_ROWS).all():
        raise NotApplicableError(
            f"draw_dependence needs at least {MIN_ROWS} rows whose draws differ; got {int(lags.rows.max(initial=0))}"
        )
    else:
        z, rho = standardised(lags.lags[1], lags.variance, lags.weight, M)
        tails = np.array([max(normal_sf(value), SMALLEST_PVALUE) for value in z])
        pvalue, tau = np.where((lags.rows >= MIN_ROWS) & ~np.isnan(z), tails, np.nan), time_of_sums(lags.lags)
    details = {"rho": rho, "pvalue_each": pvalue, "rows": lags.rows}
    return TestResult(
        statistic=shaped(z, single),
        pvalue=shaped(holm(pvalue), single),
        estimate=shaped(tau, single),
        method=f"{words}; {M:,} draws" + (f"; {D:,} coordinates, Holm" if D > 1 else ""),
        n=lags.total,
        details={**{name: shaped(each, single) for name, each in details.items()}, "ordered": lags.ordered, "M": M},
    )


DRAW_DEPENDENCE = enter(
    Entry(
        draw_dependence,
        NoOptions,
        _summarise,
        _finish,
        reads=(DrawLags,),
        kind="test",
        predictions=("samples",),
        outcome=False,
    )
)
