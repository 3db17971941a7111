"""Continuous ranked probability score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.means import enter_mean
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.parametric import LocationScale
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.kernels.expected_line import normal_exponential

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
NEARLY_EQUAL = 1e-5  # of the sum of two scales: the quotient loses five digits here, the limit's error is below 1e-10
MAX_DRAWS_AT_ONCE = 1 << 20
TAIL = 1e-10  # probability beyond which values of a discrete distribution are left out, on either side
MAX_SPREAD = 1_000_000  # standard deviation of a discrete distribution, whose values are summed one by one
ELSEWHERE = (
    "The scoringrules package scores other families (logistic, t, gamma, lognormal, GEV, GPD, truncated and censored "
    "ones); or pass draws, crps(y, Samples(distribution.sample(1000, rng)), fair=True)"
)


@public
def crps(
    y: Outcomes, prediction: Distribution | None = None, *, fair: bool = False, weights: ArrayLike | None = None
) -> float | FloatArray:
    r"""Mean squared distance between the predicted distribution function and the step at the outcome.

    .. math:: \int \bigl(F(x) - 1\{y \le x\}\bigr)^2 dx = \mathrm{E}|X - y| - \tfrac12 \mathrm{E}|X - X'|

    with X, X' independent draws of F. For M draws :math:`x_{(1)} \le \dots \le x_{(M)}` of a row

    .. math:: \frac1M \sum_m |x_m - y| - \frac{1}{M^2} \sum_m (2m - M - 1)\, x_{(m)} .

    Parameters
    ----------
    y, weights
        As in `coverage`; or the summary made by `summarize`. Vectors for draws of vectors.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), `Normal`, `Laplace`, a `Mixture` of
        these two, or a `ScipyDistribution` of whole numbers such as ``scipy.stats.poisson(mu)``.
    fair
        Divide the second sum by M(M - 1) in place of M². That is unbiased for the distribution behind the draws (Ferro
        2014), and ensembles of different size can be compared. Needs two draws or more.

    Returns
    -------
    float or ndarray
        In the units of y, lower is better. Draws of vectors are scored coordinate by coordinate: an array (D,).

    Examples
    --------
    Draws 1 and 3 for the outcome 2: mean distance 1, and half the mean distance of two draws is (0 + 2 + 2 + 0)/8.

    >>> from calibrant import Normal, Samples
    >>> crps([2.0], Samples([[1.0, 3.0]]))
    0.5
    >>> crps([2.0], Samples([[1.0, 3.0]]), fair=True)
    0.0

    A normal distribution that is right scores σ/√π on average; at its own mean (√2 - 1)σ/√π:

    >>> round(crps([0.0], Normal(0.0, 1.0)), 6)
    0.233695

    A fair coin, 0 or 1: F is 1/2 between them, and (1/2)² is what the outcome 1 costs.

    >>> from scipy import stats
    >>> from calibrant import ScipyDistribution
    >>> round(crps([1.0], ScipyDistribution(stats.bernoulli(0.5))), 12)
    0.25
    """
    return CRPS(y, prediction, CrpsOptions(fair), weights=weights)


@dataclass(frozen=True)
class CrpsOptions:
    fair: bool


def _row_scores(rows: DistributionRows, options: CrpsOptions) -> FloatArray:
    if rows.samples is not None:
        return _of_draws(rows.y, rows.samples, options.fair)
    if options.fair:
        raise InputError(f"fair=True is for Samples; the CRPS of {type(rows.distribution).__name__} needs no estimate")
    return distribution_crps(rows.distribution, rows.y)


CRPS = enter_mean(
    crps,
    CrpsOptions,
    _row_scores,
    predictions=("samples", "distributions"),
    range=(0.0, np.inf),
    instead={"quantiles": "weighted_interval_score is the CRPS of quantiles"},
)


def distribution_crps(distribution: Distribution, y: FloatArray) -> FloatArray:
    r"""Return the CRPS of each row, in closed form or as a sum over whole numbers.

    Normal: :math:`A(y - \mu, \sigma) - \sigma/\sqrt\pi`. Laplace: :math:`|d| + b e^{-|d|/b} - \tfrac34 b`. Mixture:
    :math:`\sum_k w_k \mathrm{E}|X_k - y| - \tfrac12 \sum_{kl} w_k w_l \mathrm{E}|X_k - X_l|`.
    """
    if distribution.shape:
        raise NotApplicableError(
            f"the outcomes of {type(distribution).__name__} are vectors, and crps judges numbers. "
            "Use energy_score(y, Samples(distribution.sample(1000, rng)))"
        )
    if distribution.is_discrete:
        return _of_whole_numbers(distribution, y)
    parts, weights = distribution.as_mixture()
    judged = [part for part in parts if isinstance(part, LocationScale)]
    if len(judged) < len(parts):
        raise NotApplicableError(
            "crps judges Normal, Laplace, mixtures of these, and distributions of whole numbers; got "
            f"{distribution.words}. {ELSEWHERE}"
        )
    score = np.zeros(distribution.n)
    for k, (part, weight) in enumerate(zip(judged, weights.T, strict=True)):
        score += weight * (from_point(part, y) - 0.5 * weight * between(part, part))
        for other, other_weight in zip(judged[:k], weights.T[:k], strict=True):
            score -= weight * other_weight * between(part, other)
    return score


def _of_whole_numbers(distribution: Distribution, y: FloatArray) -> FloatArray:
    """Return ∫ (F(x) - 1{y <= x})² dx, where F is constant between neighbouring values of the distribution."""
    n = distribution.n
    spread = distribution.deviations()
    wide = ~(spread < MAX_SPREAD)
    if wide.any():
        raise NotApplicableError(
            f"crps sums over the values of {distribution.words} one by one, and needs a standard deviation below "
            f"{MAX_SPREAD:,}; row {int(np.argmax(wide))} has {spread[wide][0]:g}. Pass draws of it as Samples"
        )
    first, last = distribution.ppf(np.full(n, TAIL)), distribution.isf(np.full(n, TAIL))
    # Beyond the values that are summed F is 0 or 1: all that counts there is how far away y is.
    score = np.maximum(first - y, 0.0) + np.maximum(y - last, 0.0)
    by_width = np.argsort(last - first, kind="stable")
    start = 0
    while start < n:
        rows = by_width[start : start + 1]
        width = int(last[rows[0]] - first[rows[0]])
        many = max(1, MAX_DRAWS_AT_ONCE // max(width, 1))
        rows = by_width[start : start + many]
        rows = rows[last[rows] - first[rows] <= 2 * width + 1]
        steps = np.arange(int((last[rows] - first[rows]).max()))
        x = first[rows, None] + steps
        inside = x < last[rows, None]
        part = distribution.take(rows)
        below = np.clip(y[rows, None] - x, 0.0, 1.0)  # how much of the step from x to x + 1 lies below y
        terms = part.cdf(x) ** 2 * below + part.sf(x) ** 2 * (1 - below)
        score[rows] += np.where(inside, terms, 0.0).sum(axis=1)
        start += rows.size
    return score


def _of_draws(y: FloatArray, distribution: Samples, fair: bool) -> FloatArray:
    draws, M = distribution.draws, distribution.M
    if fair and M < 2:
        raise InputError("fair=True needs at least 2 draws per row; got 1. Leave it out for the absolute error")
    place = 2 * np.arange(1, M + 1) - M - 1  # of the m-th draw, from the middle
    score = np.empty(y.shape)
    for part in chunks(len(y), max(1, MAX_DRAWS_AT_ONCE // (M * math.prod(distribution.shape)))):
        z = draws[part] - y[part, None]  # centred first: sums of large numbers would cancel
        z.sort(axis=1)
        spread = np.einsum("im...,m->i...", z, place) / (M * (M - 1) if fair else M * M)
        score[part] = np.abs(z, out=z).mean(axis=1) - spread
    return score if fair else np.maximum(score, 0.0)


def from_point(distribution: LocationScale, y: FloatArray) -> FloatArray:
    r"""Return E|X - y| of each row.

    With d = y - centre: :math:`A(d, \sigma)` for `Normal`, :math:`|d| + b e^{-|d|/b}` for `Laplace`.

    >>> from calibrant.inputs.parametric import Laplace
    >>> from_point(Laplace([0.0, 0.0], 1.0), np.array([0.0, np.log(2)])).round(4)
    array([1.    , 1.1931])
    """
    centre, scale = distribution.parameters
    d = np.abs(y - centre)
    return normal_mean(d, scale) if distribution.family == "normal" else np.asarray(d + scale * _decay(d, scale))


def between(first: LocationScale, second: LocationScale) -> FloatArray:
    r"""Return E|X - X'| of two independent distributions, row by row.

    With m the difference of the centres: :math:`A(m, \sqrt{s^2 + s'^2})` for two of `Normal` (Grimit et al. 2006),

    .. math:: |m| + \frac{b^3 e^{-|m|/b} - c^3 e^{-|m|/c}}{b^2 - c^2}

    for two of `Laplace`, :math:`|m| + e^{-|m|/b}(3b + |m|)/2` if b = c, and
    :math:`A(m, s) + b\,\mathrm{E} e^{-|D|/b}` with D ~ Normal(m, s) for `Normal` and `Laplace`.

    >>> from calibrant.inputs.parametric import Laplace, Normal
    >>> between(Normal(0.0, 3.0), Normal(0.0, 4.0)) / np.sqrt(2 / np.pi)
    array([5.])
    >>> between(Laplace(1.0, 2.0), Laplace(1.0, 2.0))
    array([3.])
    """
    (centre, s), (other, b) = first.parameters, second.parameters
    m = np.abs(centre - other)
    if first.family == second.family:
        return normal_mean(m, np.hypot(s, b)) if first.family == "normal" else _laplace_laplace(m, s, b)
    if first.family == "laplace":
        s, b = b, s
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(normal_mean(m, s) + b * normal_exponential(m / b, s / b))


def normal_mean(m: FloatArray, s: FloatArray) -> FloatArray:
    r"""Return E|D| of D ~ Normal(m, s): A(m, s) = m(2Φ(m/s) - 1) + 2sφ(m/s).

    >>> (normal_mean(np.array(0.0), np.array(1.0)) - np.sqrt(2 / np.pi)).item()
    0.0
    """
    from scipy.special import erf

    with np.errstate(over="ignore"):
        z = m / s
        return np.asarray(m * erf(ROOT_HALF * z) + ROOT_TWO_OVER_PI * s * np.exp(-0.5 * z * z))


def _laplace_laplace(m: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    b, c = np.maximum(b, c), np.minimum(b, c)
    close = b - c <= NEARLY_EQUAL * (b + c)
    middle = np.maximum(b / 2 + c / 2, c)  # halves of the smallest numbers are 0
    limit = _decay(m, middle) * (3 * middle + m) / 2
    r = np.where(close, 0.5, c / b)  # in units of b: no cube leaves the range of float64
    quotient = b * (_decay(m, b) - r**3 * _decay(m, c)) / ((1 - r) * (1 + r))
    return np.asarray(m + np.where(close, limit, quotient))


def _decay(d: FloatArray, b: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-d / b))
