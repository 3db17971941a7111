"""Curves of ranks with exact simultaneous bands: the ECDF difference and the rank histogram."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.pvalues import holm
from calibrant.core.results import Curve
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, read_numbers
from calibrant.inputs.options import check_count
from calibrant.ranking.bands import Band, check_band_level, counts_test, ecdf_band, histogram_band
from calibrant.ranking.counting import JUDGED, Forecast
from calibrant.ranking.effects import (
    RESAMPLES,
    below,
    bin_counts,
    check_bins,
    chi2,
    is_large,
    number_of_bins,
    rank_bins,
    refuse_one_row,
    refuse_unequal_weights,
    shaped,
)
from calibrant.ranking.quantities import RankedBy, count_ranked
from calibrant.ranking.summary import Ranks

SAME_SHARE = 1e-6  # within which two shares are equally near: 0.95 may come as a float32
LARGEST_LEVEL = float(np.nextafter(1.0, 0.0))  # of the band of one of many columns
BandMultiplicity: TypeAlias = Literal["bonferroni", "none"]


@public
def ecdf_difference(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    level: float = 0.95,
    points: int | ArrayLike | None = None,
    multiplicity: BandMultiplicity = "bonferroni",
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> Curve:
    r"""Share of ranks below a point less the share that belongs there, with the exact band of whole curves.

    With :math:`r_i` the rank of outcome i among its M draws, :math:`m = M + 1` and :math:`t_j = j/m`:

    .. math:: v_j = \frac{c_j}{n} - t_j, \qquad c_j = \#\{i : r_i < j\} .

    If outcome and draws are exchangeable, all :math:`c_j` together are a Poisson process given its n jumps. So the
    probability that a whole curve stays between limits is known without simulation.

    Above 0 at the left and below 0 at the right: too narrow. The other way round: too wide. All above 0: predictions
    too high, all below: too low.

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D); None for `CdfValues`. Or a `Ranks` summary of any verb of ranks, such as
        ``summarize("energy_ranks", y, samples)``, alone.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a distribution, `Quantiles` or
        `CdfValues`. Predictions without draws are counted in the 1000 cells of F(y).
    level
        Probability with which calibrated curves stay inside the band at all points at once; with several columns, all
        curves at once. Between 0.5 and 1 - 1e-12.
    points
        Where the curve is evaluated. None: all j up to M = 999, else 999 of them; for F(y) as many as there are rows,
        from 100 to 1000. A whole number: that many, evenly spread. A list: shares t, moved to the nearest j/m.
    multiplicity
        For several columns. ``"bonferroni"``: each band has level 1 - (1 - level)/C, and p-values are adjusted (Holm).
        ``"none"``: each column is judged by itself.
    quantity, covariates, log_likelihood, log_density_y, draws
        What is ranked in place of the coordinates, and among how many draws: as in `ranks`.
    rng
        Generator or seed that breaks ties between outcome and draws, and chooses draws; needed where either happens.
    weights
        Refused unless all are equal: weighted counts have no exact distribution.

    Returns
    -------
    Curve
        `t`, from 0 to 1; `v`, (T,) or (T, C) for C columns; `sd`, the standard deviation of v at one point,
        :math:`\sqrt{t(1-t)/n}`; `lower` and `upper`, the simultaneous band of v.
        The page of this verb lists `details`. ``plot(scale="sqrt_n")`` draws :math:`\sqrt n\, v`.

    Examples
    --------
    Four outcomes, each with its rank among three draws. Two ranks are below 1 where one is expected:

    >>> from calibrant import Samples
    >>> draws = Samples([[1.0, 2.0, 3.0]] * 4)
    >>> curve = ecdf_difference([0.0, 0.5, 1.5, 9.0], draws)
    >>> curve.t.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> curve.v.tolist()
    [0.0, 0.25, 0.25, 0.0, 0.0]
    """
    by = (quantity, covariates, log_likelihood, log_density_y, draws, rng)
    options = EcdfOptions(*by, level, points, multiplicity)
    return ECDF_DIFFERENCE(y, prediction, options, weights=weights)


@dataclass(frozen=True)
class EcdfOptions(RankedBy):
    level: float
    points: int | ArrayLike | None
    multiplicity: BandMultiplicity

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "level", check_band_level("level", self.level))
        if self.points is not None and not is_count(self.points):
            read_shares(self.points, "points")


CurveOptionsT = TypeVar("CurveOptionsT", bound=RankedBy)


def enter_rank_curve(
    verb: Callable[..., Curve],
    options: type[CurveOptionsT],
    curve: Callable[[Ranks, CurveOptionsT], Curve],
    *,
    summarise: Callable[[Any, CurveOptionsT], Ranks] = count_ranked,
    instead: Mapping[str, str] | None = None,
) -> Entry[CurveOptionsT, Curve]:
    """Enter a curve of counts of ranks, which one row and unequal weights do not have."""

    def finish(ranks: Ranks, options: CurveOptionsT) -> Curve:
        refuse_one_row(verb.__name__, ranks)
        refuse_unequal_weights(verb.__name__, ranks)
        return curve(ranks, options)

    shared = {"reads": (Ranks,), "kind": "curve", "predictions": JUDGED, "instead": instead or {}, "unequal": True}
    return enter(Entry(verb, options, summarise, finish, **shared))  # type: ignore[arg-type]


def _ecdf_curve(ranks: Ranks, options: EcdfOptions) -> Curve:
    level, multiplicity = options.level, options.multiplicity
    N, m = ranks.n, ranks.M + 1
    j = ranks.points if options.points is None else rank_places(options.points, ranks.M)
    counts = below(ranks.counts, j)
    band, details = band_and_details(counts, ranks, j / m, level, multiplicity)
    t = np.concatenate(([0], j, [m])) / m
    c, low, high = (
        np.concatenate((np.zeros_like(inner[:1]), inner, np.full_like(inner[:1], N)))
        for inner in (counts, band.lower, band.upper)
    )
    v = shaped(c / N - t[:, None], ranks.single)
    return Curve(
        kind="ecdf_difference",
        columns={"t": t, "v": v, "sd": np.sqrt(t * (1 - t) / N), "lower": low / N - t, "upper": high / N - t},
        method=f"exact simultaneous band at {j.size:,} points{columns_in_words(ranks, multiplicity)}",
        n=N,
        details={"level": level, "coverage": band.coverage, **details},
    )


ECDF_DIFFERENCE = enter_rank_curve(ecdf_difference, EcdfOptions, _ecdf_curve)


@public
def rank_histogram(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    bins: int | None = None,
    level: float = 0.95,
    multiplicity: BandMultiplicity = "bonferroni",
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> Curve:
    r"""Histogram of the ranks of outcomes among their draws, with the exact band of all bars at once.

    Rank r of 0 to M falls into bin :math:`((r + 1) K - 1) \mathbin{//} m` of K, :math:`m = M + 1`. A bin of
    :math:`b_k` ranks is expected to have :math:`n b_k / m` rows; bars are drawn as count over expected count, so
    bins that do not divide m show no comb.

    A U: predictions too narrow. A dome: too wide. Falling to the right: too high; rising: too low.

    Parameters
    ----------
    y, prediction, multiplicity, weights, quantity, covariates, log_likelihood, log_density_y, draws
        As in `ecdf_difference`.
    bins
        Number of bins, 2 to m. None: at most 20, some 20 rows each, and a divisor of m if one is near.
    level
        Probability with which all bars of calibrated predictions stay inside the band; with several columns, those of
        all columns. Between 0.5 and 1 - 1e-12.
    rng
        Generator or seed that breaks ties between outcome and draws, needed if there are any, and that simulates
        counts, by default from 0.

    Returns
    -------
    Curve
        One entry per bin: `first` and `last`, its ranks, `counts`, (K,) or (K, C) for C columns, `expected`, and
        `lower` and `upper`, the simultaneous band of counts. The page of this verb lists `details`.

    Examples
    --------
    Four outcomes, each with its rank among three draws, in two bins of two ranks:

    >>> from calibrant import Samples
    >>> draws = Samples([[1.0, 2.0, 3.0]] * 4)
    >>> curve = rank_histogram([0.0, 0.5, 1.5, 9.0], draws, bins=2)
    >>> curve.first.tolist(), curve.last.tolist()
    ([0, 2], [1, 3])
    >>> curve.counts.tolist(), curve.expected.tolist()
    ([3, 1], [2.0, 2.0])
    """
    by = (quantity, covariates, log_likelihood, log_density_y, draws, rng)
    options = HistogramOptions(*by, bins, level, multiplicity)
    return RANK_HISTOGRAM(y, prediction, options, weights=weights)


@dataclass(frozen=True)
class HistogramOptions(RankedBy):
    bins: int | None
    level: float
    multiplicity: BandMultiplicity

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bins(self.bins)
        object.__setattr__(self, "level", check_band_level("level", self.level))


def _histogram_curve(ranks: Ranks, options: HistogramOptions) -> Curve:
    level, multiplicity = options.level, options.multiplicity
    N, m = ranks.n, ranks.M + 1
    K = number_of_bins(options.bins, N, ranks.M)
    size = rank_bins(ranks.M, K)
    edges = np.concatenate(([0], np.cumsum(size)))
    counts, expected = bin_counts(ranks.counts, K), N * size / m
    bars = {"first": edges[:-1], "last": edges[1:] - 1, "counts": shaped(counts, ranks.single), "expected": expected}
    band = histogram_band(N, size / m, level_of_each(level, ranks.C, multiplicity))
    statistic, pvalue = chi2(counts, expected, options.rng)
    distribution = (
        f"chi-square with {K - 1} degrees of freedom" if is_large(expected) else f"{RESAMPLES} simulated histograms"
    )
    return Curve(
        kind="rank_histogram",
        columns={**bars, "lower": band.lower, "upper": band.upper},
        method=f"exact simultaneous band of {K} bins; {distribution}{columns_in_words(ranks, multiplicity)}",
        n=N,
        details={
            "level": level,
            "edges": edges,
            "gamma_band": band.gamma,
            "coverage": band.coverage,
            "chi2": shaped(statistic, ranks.single),
            "pvalue": shaped(pvalue if multiplicity == "none" else holm(pvalue), ranks.single),
            "pvalue_each": shaped(pvalue, ranks.single),
            **rank_details(ranks),
        },
    )


RANK_HISTOGRAM = enter_rank_curve(rank_histogram, HistogramOptions, _histogram_curve)


def level_of_each(level: float, C: int, multiplicity: str) -> float:
    return level if multiplicity == "none" or C == 1 else min(1 - (1 - level) / C, LARGEST_LEVEL)


def columns_in_words(ranks: Ranks, multiplicity: str) -> str:
    if ranks.C == 1:
        return ""
    joined = "each by itself" if multiplicity == "none" else "judged together (Bonferroni, Holm)"
    return f"; {ranks.C:,} columns, {joined}"


def rank_details(ranks: Ranks) -> dict[str, Any]:
    known = {"n": ranks.n, "M": ranks.M, "names": ranks.names}
    return {**known, "tied": shaped(ranks.tied, ranks.single), "cells": ranks.cells}


def band_and_details(
    counts: NDArray[np.int64], ranks: Ranks, t: FloatArray, level: float, multiplicity: str
) -> tuple[Band, dict[str, Any]]:
    """Compare counts (T, C) with Binomial(n, t), all points at once; t increases strictly within (0, 1)."""
    band = ecdf_band(ranks.n, t, level_of_each(level, ranks.C, multiplicity))
    gamma, each, where = counts_test(counts, ranks.n, t)
    found = {"gamma": gamma, "pvalue": each if multiplicity == "none" else holm(each), "pvalue_each": each}
    shown = {name: shaped(values, ranks.single) for name, values in {**found, "where": where}.items()}
    return band, {"gamma_band": band.gamma, **shown, **rank_details(ranks)}


def read_shares(shares: Any, name: str) -> FloatArray:
    wanted = np.atleast_1d(read_numbers(shares, name)).astype(np.float64)
    if wanted.ndim > 1 or wanted.size == 0:
        raise InputError(f"{name} must be a number or a list of numbers; got shape {wanted.shape}")
    bad = ~((wanted > 0) & (wanted < 1))
    if bad.any():
        value = wanted[np.argmax(bad)]
        remedy = ". Divide percentages by 100" if 1 < value <= 100 else ""
        raise InputError(f"{name} must lie strictly between 0 and 1; got {shown(value)}{remedy}")
    return wanted


def nearest(shares: Any, possible: NDArray[np.int64], m: int, *, name: str) -> NDArray[np.int64]:
    """Return for each wanted share the nearest of the `possible` numbers of m-ths, the larger of two equally near."""
    wanted = read_shares(shares, name)
    above = np.searchsorted(possible, m * (wanted - SAME_SHARE)).clip(0, possible.size - 1)
    before = (above - 1).clip(0)
    is_above = possible[above] - m * wanted <= m * wanted - possible[before] + m * SAME_SHARE
    return np.asarray(possible[np.where(is_above, above, before)])


def is_count(points: object) -> bool:
    if not isinstance(points, Integral) or isinstance(points, bool | np.bool_):
        return False
    check_count("points", points)
    return True


def rank_places(points: Any, M: int) -> NDArray[np.int64]:
    """Return the ranks j, 0 < j <= M, that `points` stand for: so many at even distances, or the nearest to shares."""
    m = M + 1
    if not is_count(points):
        return np.unique(nearest(points, np.arange(1, m), m, name="points"))
    K = int(points)
    if K > M:
        raise InputError(f"points must be at most M = {M:,}, one between any two ranks; got {K:,}")
    i = np.arange(1, K + 1)
    return np.unique((2 * i * m + K + 1) // (2 * (K + 1)))
