"""What skill is made of: the rows that are kept, scores of prediction and climatology, and limits of their ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Rng
from calibrant.core.draw_dependence import lag_one
from calibrant.core.kept_rows import KeptRows
from calibrant.core.mean_interval import deciding_rows, freedom
from calibrant.core.pvalues import holm
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, read_array, refuse_not_finite
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import generator
from calibrant.inputs.rows import DistributionRows, read_outcomes
from calibrant.inputs.samples import Samples
from calibrant.scores.brier_and_log import LOG_SCORE
from calibrant.scores.climatology import climatology_of_numbers, climatology_of_vectors
from calibrant.scores.crps import CRPS, CrpsOptions
from calibrant.scores.energy_score import ENERGY_SCORE, EnergyScoreOptions

Score = Literal["crps", "energy", "log"]
MIN_ROWS = 20
MIN_DECIDING_ROWS = 10.0  # effective rows behind the limits, (Σe²)²/Σe⁴: with fewer, a few rows decide
HEAVY_ROWS = 0.05  # share of the rows, those that raise the skill or lose most
DEPENDENT = 0.001  # p-value of the lag-1 test below which draws are scored by the plain CRPS
OUTCOMES = "the marginal distribution of the outcomes"


@dataclass(frozen=True)
class SkillOptions:
    score: Score
    climatology: Any
    log_density_y: Any
    rng: Rng

    def __post_init__(self) -> None:
        generator(self.rng)
        if self.score != "log" and self.log_density_y is not None:
            raise InputError('log_density_y= is for score="log"; leave it out')


@dataclass(frozen=True, eq=False, repr=False)
class SkillRows(Summary):
    """The rows, and what they are compared with where it is not their own outcomes; memory grows with their number.

    `density` and `climatology_density` have one column of log densities of the outcomes where these were given.
    """

    grows = True

    kept: tuple[KeptRows, ...]  # one, or none if there are no rows yet
    climatology: tuple[KeptRows, ...]  # one if a prediction takes the place of the outcomes
    density: FloatArray  # (n, 0) or (n, 1)
    climatology_density: FloatArray

    @property
    def n(self) -> int:
        return self.kept[0].n if self.kept else 0

    def merged(self, other: Self) -> Self:
        shapes = [
            (len(part.climatology), part.density.shape[1], part.climatology_density.shape[1]) for part in (self, other)
        ]
        if shapes[0] != shapes[1]:
            raise SummaryError("rows with and without their own climatology or density do not merge")
        return type(self)(
            tuple(a + b for a, b in zip(self.kept, other.kept, strict=True)),
            tuple(a + b for a, b in zip(self.climatology, other.climatology, strict=True)),
            np.concatenate([self.density, other.density]),
            np.concatenate([self.climatology_density, other.climatology_density]),
        )


def kept_for_skill(rows: DistributionRows, options: SkillOptions) -> SkillRows:
    given = options.climatology
    none = np.zeros((rows.n, 0))
    density = none if options.log_density_y is None else _densities(options.log_density_y, "log_density_y", rows)
    if given is None:
        return SkillRows((KeptRows.of(rows),), (), density, none)
    if not isinstance(given, Distribution):
        if options.score != "log":
            wanted = f"a prediction with {_given_rows(rows)} rows, such as Samples(prior_draws)"
            raise InputError(f"climatology must be {wanted}; got {shown(given)} ({type(given).__name__})")
        return SkillRows((KeptRows.of(rows),), (), density, _densities(given, "climatology", rows))
    if given.n != _given_rows(rows) or given.shape != rows.distribution.shape:
        wanted = f"{_given_rows(rows)} rows of shape {rows.distribution.shape}"
        raise InputError(
            f"climatology must have {wanted}, as the prediction; got {given.n} rows of shape {given.shape}"
        )
    beside = given if rows.keep is None else given.take(np.flatnonzero(rows.keep))
    other = read_outcomes(rows.y, beside, weights=rows.w)
    return SkillRows((KeptRows.of(rows),), (KeptRows.of(other),), density, none)


def _given_rows(rows: DistributionRows) -> int:
    return rows.n if rows.keep is None else rows.keep.size


def _densities(values: Any, name: str, rows: DistributionRows) -> FloatArray:
    array = read_array(values, name)
    if array.shape != (_given_rows(rows),):
        raise InputError(f"{name} must have one log density per row: ({_given_rows(rows)},); got shape {array.shape}")
    refuse_not_finite(array, name)
    return np.asarray(array if rows.keep is None else array[rows.keep])[:, None]


class Compared(NamedTuple):
    """Scores of the prediction and of climatology, (n, D) each, with what their means are."""

    c: FloatArray
    k: FloatArray
    w: FloatArray  # (n,)
    c_mean: FloatArray  # (D,)
    k_mean: FloatArray
    ratio: bool  # S = 1 - c/k; otherwise the difference k - c
    own: bool  # whether climatology is made of the same outcomes
    words: str
    single: bool
    others: NDArray[np.int64]  # (D,), outcomes that differ from the most frequent one: only they tell how rows score

    @property
    def S(self) -> FloatArray:
        return np.asarray(1 - self.c_mean / self.k_mean if self.ratio else self.k_mean - self.c_mean)

    @property
    def influence(self) -> FloatArray:
        """By how much each row moves S, times n: e = (c̄/k̄²)(k - k̄) - (c - c̄)/k̄, or its like for a difference."""
        c, k = self.c - self.c_mean, self.k - self.k_mean
        return np.asarray((self.c_mean / self.k_mean * k - c) / self.k_mean if self.ratio else k - c)

    @property
    def standard_error(self) -> FloatArray:
        n, e = len(self.w), self.w[:, None] * self.influence
        unit = np.ldexp(1.0, np.maximum(np.frexp(np.abs(e).max(axis=0))[1] - 1, -1022))  # whose squares stay in float64
        return np.asarray(np.sqrt(n / (n - 1) * ((e / unit) ** 2).sum(axis=0)) * unit / self.w.sum())

    @property
    def bias(self) -> FloatArray:
        """What is taken off S for the lower limit if climatology is made of the same outcomes.

        (1 - S)/(n - 1), or ρ/(1 - ρ) with ρ = Σw²/W² in place of 1/(n - 1). The empirical distribution function of the
        outcomes minimises the mean CRPS over all constant forecasts, so without this term a constant forecast would be
        called informative too often.
        """
        if not self.own:
            return np.zeros(len(self.c_mean))
        share = float((self.w**2).sum() / self.w.sum() ** 2)
        return np.asarray((1 - self.S) * share / (1 - share))

    @property
    def freedom(self) -> FloatArray:
        """The degrees of freedom of Student's t: as few as rows decide, if these are few."""
        return freedom(float(len(self.w)), self.guard, MIN_DECIDING_ROWS)

    @property
    def guard(self) -> FloatArray:
        """The effective number of rows behind the limits, (Σd²)²/Σd⁴ of centred d = w e."""
        return deciding_rows(self.w[:, None] * (self.influence - self.influence.mean(axis=0)))

    def limits(self, level: float, families: int = 1) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return the confidence limits of S, of each of so many coordinates at their share of the error rate.

        They contain 0 where a few rows decide, which the last array tells: almost all outcomes are alike, or rows are
        too few for their variance, and the lower limit is not above 0 without those that raise S most.
        """
        from scipy.special import stdtrit

        half = stdtrit(self.freedom, 1 - (1 - level) / (2 * families)) * self.standard_error
        low, high = self.S - self.bias - half, self.S + half
        share = np.sort(self.w[:, None] * self.influence, axis=0) / self.w.sum()
        heaviest = share[-math.ceil(HEAVY_ROWS * len(share)) :].sum(axis=0)
        few = (self.others < MIN_ROWS) | ((self.guard < MIN_DECIDING_ROWS) & (low <= heaviest))
        return np.where(few, np.minimum(low, 0.0), low), np.where(few, np.maximum(high, 0.0), high), few


def compared(summary: SkillRows, options: SkillOptions) -> Compared:
    if summary.n < MIN_ROWS:
        raise NotApplicableError(f"skill needs at least {MIN_ROWS} rows to know their distribution; got {summary.n}")
    if isinstance(options.climatology, Distribution) and not summary.climatology:
        raise InputError("this summary was made without climatology; pass it to summarize")
    rows = summary.kept[0].rows
    w = np.asarray(rows.w, np.float64) / float(np.max(rows.w))
    other = summary.climatology[0].rows if summary.climatology else None
    if options.score == "log":
        return _by_log(summary, rows, other, w)
    if options.score == "energy":
        _check_energy(rows)
        scale = _scales(rows.y)
        rows, other = _scaled(rows, scale), None if other is None else _scaled(other, scale)
    c, words = _scores(rows, options.score)
    several = bool(rows.distribution.shape) and options.score == "crps"
    if other is not None:
        k, beside = _scores(other, options.score)
        k_mean = w @ k / w.sum()
        if (k_mean <= 0).any():
            raise NotApplicableError("the mean score of climatology is not above 0, so no share of it can be gained")
        words = f"{words} against the given climatology{'' if beside == words else f', {beside}'}"
    else:
        k, k_mean = _climatology(rows, w, options)
        words = f"{words} against {OUTCOMES}, each without its own row"
    others = _others(rows) if several else _others(rows).min(keepdims=True)
    return Compared(c, k, w, w @ c / w.sum(), k_mean, True, other is None, words, not several, others)


def _others(rows: DistributionRows) -> NDArray[np.int64]:
    columns = rows.y[:, None] if rows.y.ndim == 1 else rows.y
    return np.array([rows.n - int(np.unique(column, return_counts=True)[1].max()) for column in columns.T])


def _by_log(summary: SkillRows, rows: DistributionRows, other: Any, w: FloatArray) -> Compared:
    if not summary.density.size and rows.kind == "samples":
        raise NotApplicableError(
            "draws do not determine a density; pass log_density_y=, that of the prediction at each outcome, or a Normal"
        )
    if other is None and not summary.climatology_density.size:
        raise NotApplicableError(
            'score="log" needs climatology=: a distribution with as many rows, or its log densities at the outcomes'
        )
    if other is not None and other.kind == "samples":
        raise NotApplicableError(
            "draws do not determine a density; pass climatology= as a distribution or as log densities of the outcomes"
        )
    c = -summary.density if summary.density.size else _log_scores(rows, "prediction")
    k = -summary.climatology_density if other is None else _log_scores(other, "climatology")
    words = "log score less that of the given climatology, in nats"
    others = _others(rows).min(keepdims=True)
    return Compared(c, k, w, w @ c / w.sum(), w @ k / w.sum(), False, False, words, True, others)


def _log_scores(rows: DistributionRows, name: str) -> FloatArray:
    assert LOG_SCORE.row_scores is not None
    scores = np.asarray(LOG_SCORE.row_scores(rows, LOG_SCORE.usual))[:, None]
    infinite = np.flatnonzero(~np.isfinite(scores[:, 0]))
    if infinite.size:
        raise NotApplicableError(f'the log score of the {name} is infinite in row {infinite[0]}; use score="crps"')
    return scores


def _check_energy(rows: DistributionRows) -> None:
    if rows.kind != "samples":
        raise NotApplicableError('score="energy" is for draws; pass Samples(distribution.sample(1000, rng))')


def _scales(y: FloatArray) -> FloatArray:
    columns = y[:, None] if y.ndim == 1 else y
    scale: FloatArray = np.std(columns, axis=0, ddof=1)
    if (scale == 0).any():
        raise NotApplicableError(f"all outcomes of coordinate {int(np.argmin(scale))} are equal; leave it out")
    return scale


def _scaled(rows: Any, scale: FloatArray) -> DistributionRows:
    _check_energy(rows)
    factor = scale if rows.y.ndim == 2 else scale[0]
    return DistributionRows(rows.y / factor, Samples(rows.distribution.draws / factor), rows.w)


def _scores(rows: Any, score: str) -> tuple[FloatArray, str]:
    """Return the scores (n, D) of a prediction, and what they are."""
    samples = rows.samples
    name = "energy score" if score == "energy" else "CRPS"
    plain = ""
    if samples is not None:
        if samples.M < 2:
            raise NotApplicableError("one draw per row has no fair score; skill needs two or more")
        plain = _why_plain(samples)
    fair = samples is not None and not plain
    options: Any = EnergyScoreOptions(fair, 1.0) if score == "energy" else CrpsOptions(fair)
    row_scores: Any = (ENERGY_SCORE if score == "energy" else CRPS).row_scores
    scores = np.asarray(row_scores(rows, options))
    words = f"fair {name}" if fair else f"plain {name} ({plain})" if plain else name
    return scores[:, None] if scores.ndim == 1 else scores, words


def _why_plain(distribution: Samples) -> str:
    """Say why draws are not scored as independent ones; empty if they are."""
    found = lag_one(distribution.draws)
    if found.repeated:
        return "all rows have the same draws"
    if found.ordered:
        return "the draws of every row are sorted"
    return "draws depend on their neighbours" if holm(found.pvalue).min() < DEPENDENT else ""


def _climatology(rows: DistributionRows, w: FloatArray, options: SkillOptions) -> tuple[FloatArray, FloatArray]:
    columns = rows.y[:, None] if rows.y.ndim == 1 else rows.y
    if options.score == "energy":
        found = [climatology_of_vectors(columns, w, generator(options.rng))]
    else:
        found = [climatology_of_numbers(column, w) for column in columns.T]
    for d, each in enumerate(found):
        if not each.mean > 0:
            which = f" of coordinate {d}" if len(found) > 1 else ""
            raise NotApplicableError(f"all outcomes{which} are equal, so predicting them is no skill")
    return np.stack([each.k for each in found], axis=1), np.array([each.mean for each in found])
