"""Miscalibration, discrimination and uncertainty: the parts of a mean score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.binned import bin_table, on_grid
from calibrant.core.catalogue import Entry, Shown, all_rows, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.grid import Grid
from calibrant.core.isotonic import (
    RankedOutcomes,
    grouped_forecasts,
    isotonic_blocks,
    isotonic_quantile,
    lower_quantile,
    ranked_outcomes,
)
from calibrant.core.kept_rows import KeptRows
from calibrant.core.ordered import Ordered
from calibrant.core.results import CrpsDecomposition, Decomposition, QuantileDecomposition
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_bins, check_choice, read_levels
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.scores.brier_and_log import BRIER_SCORE
from calibrant.scores.crps import distribution_crps

Score = Literal["brier", "log"]
Method = Literal["isotonic", "bins", "hersbach"]
BinRule = Literal["auto", "cube-root", "sweep"]
Strategy = Literal["width", "mass"]
Rule = Callable[[FloatArray, NDArray[Any], NDArray[Any]], FloatArray]

DEFAULT_LEVELS = 99  # at which the quantiles of a distribution are taken
DEFAULTS_OF_PROBABILITIES = {"score": "brier", "bins": 15, "strategy": "width"}  # no meaning for other predictions


@public
def decompose(
    y: Outcomes,
    prediction: ArrayLike | Quantiles | Distribution | None = None,
    *,
    score: Score = "brier",
    method: Method = "isotonic",
    bins: int | BinRule = 15,
    strategy: Strategy = "width",
    levels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> Decomposition | QuantileDecomposition | CrpsDecomposition:
    r"""Split a mean score into miscalibration, discrimination and uncertainty (CORP).

    With S(f) the mean score of a forecast f, :math:`\hat y` the isotonic regression of the outcomes on the forecasts,
    and :math:`\bar y` the best constant forecast (the base rate, or a quantile of the outcomes),

    .. math:: \mathrm{mcb} = S(p) - S(\hat y), \quad \mathrm{dsc} = S(\bar y) - S(\hat y), \quad
              \mathrm{unc} = S(\bar y), \qquad S(p) = \mathrm{mcb} - \mathrm{dsc} + \mathrm{unc}.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`, one probability per row; or outcomes and `Quantiles`, `Samples` or a predictive
        distribution.
    score
        ``"brier"`` or ``"log"``, for probabilities. For quantiles the quantile scores are split, for draws and
        distributions the CRPS.
    method
        ``"isotonic"`` (Dimitriadis, Gneiting and Jordan 2021; Gneiting et al. 2023 for quantiles).
        Probabilities have also ``"bins"`` (Murphy 1973, Brier score only): mcb = Σ f(ȳ_b - p̄_b)²,
        dsc = Σ f(ȳ_b - ȳ)², unc = ȳ(1 - ȳ), and `within` is the rest: score = mcb - dsc + unc + within exactly.
        Draws have also ``"hersbach"`` (Hersbach 2000), without weights.
    bins, strategy
        The bins of ``method="bins"``, as in `ece`.
    levels
        The levels at which the quantiles of a distribution are taken; default (m - ½)/99 for m = 1..99. Draws are
        their own quantiles, at (m - ½)/M.

    Returns
    -------
    Decomposition, QuantileDecomposition or CrpsDecomposition
        `score`, `mcb`, `dsc`, `unc`, of quantiles for each level; and `within` of probabilities, `wis` of quantiles,
        `discretisation` of draws and distributions.

    Examples
    --------
    Scores 0.2, 0.2, 0.8, 0.8 with frequencies 1/2 and 1: the fit is 0.5, 0.5, 1, 1 with S = (0.25 + 0.25)/4 = 0.125,
    and the base rate 3/4 has S = 0.1875.

    >>> parts = decompose([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> round(parts.score, 6), round(parts.mcb, 6), parts.dsc, parts.unc
    (0.19, 0.065, 0.0625, 0.1875)

    Medians that are the outcomes shifted by 1 lose that 1/2 to miscalibration and discriminate fully:

    >>> from calibrant import Quantiles
    >>> parts = decompose([0.0, 1.0, 2.0, 5.0], Quantiles([1.0, 2.0, 3.0, 6.0], 0.5))
    >>> parts.score, parts.mcb, parts.dsc, parts.unc
    (0.5, 0.5, 0.75, 0.75)
    """
    options = DecomposeOptions(score, method, bins, strategy, levels)
    return DECOMPOSE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class DecomposeOptions:
    score: Score
    method: Method
    bins: int | BinRule
    strategy: Strategy
    levels: Any  # array_like or None when given; then a tuple of numbers, or None

    def __post_init__(self) -> None:
        check_bins(self.bins)
        if self.method == "bins" and self.score != "brier":
            raise InputError('method="bins" splits the Brier score only; use method="isotonic" for the log score')
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(read_levels(self.levels, "levels")[0].tolist()))


def _finish(
    summary: Ordered | Grid | KeptRows, options: DecomposeOptions
) -> Decomposition | QuantileDecomposition | CrpsDecomposition:
    if isinstance(summary, (Ordered, Grid)):
        return _of_probabilities(summary, options)
    rows = summary.rows
    for name, default in DEFAULTS_OF_PROBABILITIES.items():
        value = getattr(options, name)
        if value != default:
            kind = type(rows.prediction).__name__
            raise InputError(f"{name}= is for probabilities; got {shown(value)} with {kind}. Leave it out")
    if isinstance(rows, DistributionRows):
        return _of_distributions(rows, options)
    return _of_quantiles(rows, options)


def _on_grid(options: DecomposeOptions) -> bool:
    """Tell whether a `Grid` has the parts of the Brier score: of width bins exactly, of isotonic fits nearly."""
    exact = on_grid(bins=options.bins, strategy=options.strategy)
    return options.score == "brier" and (options.method == "isotonic" or exact)


def _rounding(grid: Grid, options: DecomposeOptions) -> float | dict[str, float]:
    """Return by how much a fit to the rows may lie below the fit to their cells, never above.

    Let the fit f to the rows rise by d_c in cell c; Σ d_c <= 1. Its mean f̄_c per cell is monotone too, and in a cell
    of weight W_c Σw(y - f)² >= Σw(y - f̄_c)² - 2Σw(y - ȳ_c)(f - f̄_c), of which the last term is at most W_c d_c times
    the standard deviation of y (Cauchy-Schwarz; that of f is d_c/2 at most). So what is gained within cells is at most
    the largest W_c √(ȳ_c(1 - ȳ_c)).
    """
    if options.method == "bins":
        return 0.0
    cells = grid.cells()
    y = np.nan_to_num(cells.mean_observed)
    bound = float((cells.share * np.sqrt(np.maximum(y * (1 - y), 0))).max())
    return {"score": 0.0, "mcb": bound, "dsc": bound, "unc": 0.0, "within": 0.0}


DECOMPOSE = enter(
    Entry(
        decompose,
        DecomposeOptions,
        all_rows,
        _finish,
        reads=(Ordered, KeptRows, Grid),
        on_grid=_on_grid,
        rounding=_rounding,
        predictions=("binary", "quantiles", "samples", "distributions"),
        mean=True,
        audit={
            "mcb": Shown("miscalibration part of the Brier score", grows=True),
            "dsc": Shown("discrimination part of the Brier score"),
        },
    )
)


def _of_probabilities(summary: Ordered | Grid, options: DecomposeOptions) -> Decomposition:
    check_choice("method", options.method, "isotonic", "bins")
    if options.levels is not None:
        raise InputError("levels= is for distributions; leave it out for probabilities")
    if options.method == "bins":
        return _by_bins(summary, options.bins, options.strategy)
    if options.score == "log" and isinstance(summary, Grid):
        raise SummaryError('a Grid does not have the log score; use score="brier", or pass the rows')
    w, e = _weights(summary)
    rule = _brier if options.score == "brier" else _log
    blocks = isotonic_blocks(e, w)
    total, events = w.sum(keepdims=True), e.sum(keepdims=True)
    of_p, of_fit = _score_of(summary, rule), _mean_score(rule, blocks.fit, blocks.weight, blocks.event_weight)
    unc = _mean_score(rule, events / total, total, events)
    # p and a constant are monotone fits too: a fit above them is one by rounding, or by the width of a cell
    of_fit = min(of_fit, of_p, unc)
    return Decomposition(score=of_p, mcb=of_p - of_fit, dsc=unc - of_fit, unc=unc)


def mcb_of_events(summary: Ordered, events: NDArray[Any]) -> FloatArray:
    """Return the miscalibration part of the Brier score for event counts (replicates, entries)."""
    p, w = summary.unique_scores, summary.weight_by_score
    e = events if is_unit(summary.weight) else np.add.reduceat(events * summary.weight, summary.starts(), axis=1)
    fits = (isotonic_blocks(row, w) for row in e)
    of_fit = np.array([blocks.event_weight @ (1 - blocks.fit) for blocks in fits])  # Σw(y - f)², f the mean of y
    return np.asarray(np.maximum(0.0, _brier(p, w, e).sum(axis=1) - of_fit) / summary.total_weight)


def _weights(summary: Ordered | Grid) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return weight and weight of events of each different score, or of each cell in use."""
    if isinstance(summary, Ordered):
        return summary.weight_by_score, summary.event_weight_by_score
    cells = summary.cells()
    return cells.w[cells.count > 0], cells.wy[cells.count > 0]


def _score_of(summary: Ordered | Grid, rule: Rule) -> float:
    if isinstance(summary, Grid):
        return float(BRIER_SCORE.finish(summary, BRIER_SCORE.usual))
    return _mean_score(rule, summary.unique_scores, summary.weight_by_score, summary.event_weight_by_score)


def _by_bins(summary: Ordered | Grid, bins: int | str, strategy: str) -> Decomposition:
    table = bin_table(summary, bins=bins, strategy=strategy)
    base = float(table.wy.sum() / table.w.sum())
    rel = float(np.dot(table.share, table.gap**2))
    res = float(np.nansum(table.share * (table.mean_observed - base) ** 2))
    unc = base * (1 - base)
    total = _score_of(summary, _brier)
    return Decomposition(score=total, mcb=rel, dsc=res, unc=unc, within=total - rel + res - unc)


def _mean_score(rule: Rule, f: FloatArray, w: NDArray[Any], e: NDArray[Any]) -> float:
    """Return the mean score of forecasts f for weights w with event weights e."""
    parts = (float(rule(f[part], w[part], e[part]).sum()) for part in chunks(f.size))
    return sum(parts) / float(w.sum()) + 0.0


def _brier(f: FloatArray, w: NDArray[Any], e: NDArray[Any]) -> FloatArray:
    return np.asarray(e * (1 - f) ** 2 + (w - e) * f**2)


def _log(f: FloatArray, w: NDArray[Any], e: NDArray[Any]) -> FloatArray:
    """Return the log scores; 0 ln 0 = 0."""
    from scipy.special import xlog1py, xlogy

    return np.asarray(-(xlogy(e, f) + xlog1py(w - e, -f)))


def _of_quantiles(rows: QuantileRows, options: DecomposeOptions) -> QuantileDecomposition:
    check_choice("method", options.method, "isotonic")
    if options.levels is not None:
        raise InputError("levels= is for distributions; Quantiles have their own. Select some with .at(level)")
    prediction = rows.prediction
    outcomes = ranked_outcomes(rows.y)
    columns = zip(prediction.values.T, prediction.levels, strict=True)
    parts = np.array([level_parts(outcomes, q, rows.w, float(level)) for q, level in columns])
    with np.errstate(invalid="ignore"):
        wis = 2 * parts.mean(axis=0)
    found = (prediction.levels, *parts.T)
    level, score, mcb, dsc, unc = (float(part[0]) if prediction.single else part for part in found)
    return QuantileDecomposition(level, score, mcb, dsc, unc, Decomposition(*wis.tolist()))


def level_parts(
    outcomes: RankedOutcomes, q: FloatArray, w: FloatArray, level: float
) -> tuple[float, float, float, float]:
    forecasts = grouped_forecasts(q)
    fit = np.empty_like(q)
    fit[forecasts.order] = np.repeat(isotonic_quantile(outcomes, w, forecasts, level), forecasts.rows)
    y = outcomes.values[outcomes.place]
    constant = np.full(1, lower_quantile(outcomes, w, level))
    score, best, unc = (_mean_quantile_score(y, f, w, level) for f in (q, fit, constant))
    return score, max(score - best, 0.0), max(unc - best, 0.0), unc


def _mean_quantile_score(y: FloatArray, q: FloatArray, w: FloatArray, level: float) -> float:
    """Return the mean of ρ(y, q) = max(τ(y - q), (1 - τ)(q - y))."""
    error = y - q
    return float((w * np.maximum(level * error, (level - 1) * error)).sum() / w.sum())


def _of_distributions(rows: DistributionRows, options: DecomposeOptions) -> CrpsDecomposition:
    method, levels = options.method, options.levels
    check_choice("method", method, "isotonic", "hersbach")
    distribution = rows.distribution
    if distribution.shape:
        D = distribution.shape[0]
        raise InputError(
            f"decompose takes outcomes of one coordinate, such as Samples(draws[:, :, 0]); got {D} coordinates"
        )
    samples = rows.samples
    if samples is not None:
        if levels is not None:
            raise InputError("levels= is for distributions; draws are their own quantiles. Leave it out for Samples")
        if method == "hersbach":
            return hersbach(rows, samples)
        ordered, M = np.sort(samples.draws, axis=1), samples.M
        return _isotonic(rows, (((m + 0.5) / M, ordered[:, m]) for m in range(M)))
    if method == "hersbach":
        raise InputError(f'method="hersbach" is for Samples; got {type(distribution).__name__}. Use method="isotonic"')
    score = distribution_crps(distribution, rows.y)
    mean = float((rows.w * score).sum() / rows.w.sum())
    wanted = levels or ((np.arange(DEFAULT_LEVELS) + 0.5) / DEFAULT_LEVELS).tolist()
    # One level after the other: memory does not grow with the number of levels.
    found = _isotonic(rows, ((level, distribution.ppf(np.full(distribution.n, level))) for level in wanted))
    return CrpsDecomposition(mean, found.mcb, found.dsc, found.unc, mean - found.score)


def _isotonic(rows: DistributionRows, quantiles: Iterator[tuple[float, FloatArray]]) -> CrpsDecomposition:
    """Return twice the mean parts of the quantile scores."""
    outcomes = ranked_outcomes(rows.y)
    parts = [level_parts(outcomes, q, rows.w, level) for level, q in quantiles]
    return CrpsDecomposition(*(2 * np.mean(parts, axis=0)).tolist())


def hersbach(rows: DistributionRows, distribution: Samples) -> CrpsDecomposition:
    r"""Return the decomposition of Hersbach (2000) into reliability, resolution and uncertainty.

    The ordered draws cut the line into bins 0..M. With the mean lengths :math:`\bar\alpha_i` of bin i below the outcome
    and :math:`\bar\beta_i` above it, :math:`g_i = \bar\alpha_i + \bar\beta_i` and :math:`o_i = \bar\beta_i / g_i`, the
    reliability is :math:`\sum g_i (o_i - i/M)^2` and the potential score :math:`\sum g_i o_i (1 - o_i)`. In the outer
    bins o is the share of outcomes below the first, and below the last, draw.
    """
    if rows.w.min() != rows.w.max():
        raise InputError('method="hersbach" takes no weights; leave them out or use method="isotonic"')
    x, y, M = np.sort(distribution.draws, axis=1), rows.y, distribution.M
    below, above = np.zeros((2, M + 1))
    for i in range(1, M):
        left, right = x[:, i - 1], x[:, i]
        at = np.clip(y, left, right)
        below[i], above[i] = (at - left).mean(), (right - at).mean()
    above[0], below[M] = np.maximum(x[:, 0] - y, 0).mean(), np.maximum(y - x[:, -1], 0).mean()
    g = below + above
    o = np.divide(above, g, out=np.zeros(M + 1), where=g > 0)
    o[0], o[M] = (y < x[:, 0]).mean(), (y < x[:, -1]).mean()
    g[0] = above[0] / o[0] if o[0] > 0 else 0.0
    g[M] = below[M] / (1 - o[M]) if o[M] < 1 else 0.0
    reliability = float((g * (o - np.arange(M + 1) / M) ** 2).sum())
    potential = float((g * o * (1 - o)).sum())
    z = np.sort(y - y.mean())
    uncertainty = float(((2 * np.arange(1, y.size + 1) - y.size - 1) * z).sum() / y.size**2)  # Σ_ij |y_i - y_j| / 2n²
    return CrpsDecomposition(reliability + potential, reliability, uncertainty - potential, uncertainty)
