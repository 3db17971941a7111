"""Means and variances of predictions: contraction and z-scores, which compare them with outcomes, and sharpness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes
from calibrant.core.catalogue import Entry, NoOptions, enter, public
from calibrant.core.dispatch import chunks
from calibrant.core.means import moments_of
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, is_unit, refuse_where
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.kinds import read
from calibrant.inputs.options import read_levels
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples

BLOCK = 1 << 20  # draws that are processed together
NAME = "contraction"
WEIGHT = f"{NAME} weight"
LARGEST_OUTCOME_VARIANCE = 1e100  # against which a predictive variance beyond float64 is as good as infinite
SMALLEST_VARIANCE = 1e-290  # that is still exact in float64
ORDINARY = (1e-140, 1e140)  # standard deviations whose squares, and the squares of these, stay in float64


@public
def contraction(
    y: Outcomes, prediction: Distribution | None = None, *, weights: ArrayLike | None = None
) -> float | FloatArray:
    r"""How much narrower predictions are than the spread of the outcomes: 0 for what is known before any case is seen.

    .. math:: 1 - \frac{\overline{s^2}}{s_y^2}, \qquad
              \overline{s^2} = \frac{1}{W} \sum_i w_i s_i^2, \qquad
              s_y^2 = \frac{\sum_i w_i (y_i - \bar y)^2}{W - \sum_i w_i^2 / W}

    with the predictive variances :math:`s_i^2` (of draws with the divisor M - 1), :math:`W = \sum_i w_i` and the
    weighted mean :math:`\bar y`. Without weights :math:`s_y^2` has the divisor n - 1.

    Contraction is a virtue only of calibrated predictions: a distribution that is too narrow contracts most.

    Parameters
    ----------
    y
        Outcomes; or the summary made by `summarize`.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``) or a distribution.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        1 if predictions have no spread, 0 if they have that of the outcomes, negative if they have more: nothing is
        clipped. Vectors have one value per coordinate, (D,).

    Examples
    --------
    The variance of the outcomes 0, 2 and 4 is 4; that of the predictions is 1.

    >>> from calibrant import Normal
    >>> contraction([0.0, 2.0, 4.0], Normal([0.0, 2.0, 4.0], 1.0))
    0.75
    """
    return CONTRACTION(y, prediction, NoOptions(), weights=weights)


def _spread_moments(rows: DistributionRows, options: NoOptions) -> Moments:
    """Return the moments of outcomes and predictive variances.

    Under the weights √w `Moments` has the parts of a weighted variance: Σw as `w2`, weighted means as `mean2`,
    Σw(y - mean)² as `spread2`; and Σw²/Σw as the mean of w itself.
    """
    size = max(1, BLOCK // (1 if rows.samples is None else rows.samples.held[0].size))
    return reduce(add, (_moments(rows.part(part)) for part in chunks(rows.n, size)), Moments.zero())


def _moments(rows: DistributionRows) -> Moments:
    with np.errstate(over="ignore", invalid="ignore"):
        variance = rows.distribution.variances()
    if np.isnan(variance).any():
        raise NotApplicableError(
            f"{type(rows.distribution).__name__} has no variance in at least one row, so no contraction"
        )
    named = {WEIGHT: rows.w, **named_columns(f"{NAME} y", rows.y), **named_columns(f"{NAME} variance", variance)}
    return Moments.of(named, rows.w if is_unit(rows.w) else np.sqrt(rows.w))


def named_columns(name: str, values: FloatArray) -> dict[str, FloatArray]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}[column {k}]": column for k, column in enumerate(values.T)}


def column_names(summary: Moments, name: str) -> list[str]:
    return [other for other in summary.names if other.startswith(f"{name}[column ")] or [name]


def _contraction(summary: Moments, options: NoOptions) -> float | FloatArray:
    names = column_names(summary, f"{NAME} variance")
    found = [_of_column(summary, name) for name in names]
    return found[0] if names == [f"{NAME} variance"] else np.array(found)


def _of_column(summary: Moments, name: str) -> float:
    mean_variance = summary.mean_of(name)
    variance, y, weight = map(summary.names.index, (name, name.replace("variance", "y"), WEIGHT))
    W = summary.w2
    divisor = W - float(summary.mean2[weight])
    if summary.n < 2 or divisor <= 0:
        raise NotApplicableError(f"the variance of y needs at least 2 rows; got {summary.n}")
    of_y = float(summary.spread2[y]) / divisor
    if not SMALLEST_VARIANCE < of_y < np.inf:
        words = f"the variance of y must be a finite number above 0; got {shown(of_y)}"
        raise NotApplicableError(f"{words}. Drop outcomes that are all alike; rescale those that are huge or tiny")
    if mean_variance == np.inf and of_y > LARGEST_OUTCOME_VARIANCE:
        raise NotApplicableError(
            f"a predictive variance is beyond float64, and that of y is {shown(of_y)}; rescale predictions and outcomes"
        )
    return 1 - float(summary.mean2[variance]) / of_y if mean_variance < np.inf else -np.inf


CONTRACTION = enter(
    Entry(
        contraction,
        NoOptions,
        _spread_moments,
        _contraction,
        reads=(Moments,),
        predictions=("samples", "distributions"),
        range=(-np.inf, 1.0),
        perfect=1.0,
    )
)


@public
def z_scores(y: ArrayLike, prediction: Distribution) -> FloatArray:
    r"""Error of the predictive mean in predictive standard deviations, row by row.

    .. math:: z_i = \frac{m_i - y_i}{s_i}

    A mean above 0 says that predictions are too high, a variance above 1 (of M Gaussian draws, above
    (1 + 1/M)(M - 1)/(M - 3)) that they are too narrow.

    Parameters
    ----------
    y, prediction
        As in `contraction`; the distribution must have a mean and a variance.

    Returns
    -------
    ndarray of shape (n,), or (n, D) for vectors, coordinate by coordinate
        Positive where the prediction is too high.

    Examples
    --------
    Draws 1 and 3 have the mean 2 and the standard deviation √2:

    >>> from calibrant import Normal, Samples
    >>> z_scores([2.0, 0.0], Samples([[1.0, 3.0], [1.0, 3.0]])).round(3)
    array([0.   , 1.414])
    >>> z_scores([1.0], Normal([0.0], 0.5))
    array([-2.])
    """
    return scores_of(cast(DistributionRows, read("z_scores", ("samples", "distributions"), y, prediction)))


def scores_of(rows: DistributionRows) -> FloatArray:
    z = _of_distribution(rows.y, rows.distribution) if rows.samples is None else _of_draws(rows.y, rows.samples)
    axes = ("row", "coordinate")[: z.ndim]
    refuse_where(~np.isfinite(z), z, "the scores must be finite", "Outcome and prediction are too far apart", axes=axes)
    return z


def _of_distribution(y: FloatArray, distribution: Distribution) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of numbers is refused
        mean, variance = distribution.means(), distribution.variances()
        bad = ~((variance > SMALLEST_VARIANCE) & (variance < np.inf))
        _refuse_no_spread(bad, variance)
        return np.asarray((mean - y) / np.sqrt(variance))


def _of_draws(y: FloatArray, distribution: Samples) -> FloatArray:
    """Return the scores; each row is moved to 0 and divided by a power of two, to keep squares in float64."""
    if distribution.M < 2:
        raise InputError("z_scores needs at least 2 draws per row, which have a standard deviation; got 1")
    if not distribution.finite:
        _ = distribution.draws  # which names the infinite one
    z, width = np.empty(y.shape), np.empty(y.shape)
    for part in chunks(distribution.n, max(1, BLOCK // distribution.held[0].size)):
        x = distribution.held[part].astype(np.float64)
        power = np.frexp(np.abs(x).max(axis=1))[1]
        x = np.ldexp(x, -power[:, None])  # in [-1, 1]
        low = x.min(axis=1)
        x -= low[:, None]
        width[part] = x.max(axis=1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not a number is refused
            x /= width[part, None]
            at = (np.ldexp(y[part], -power) - low) / width[part]
            z[part] = (x.mean(axis=1) - at) / x.std(axis=1, ddof=1)
    _refuse_no_spread(width == 0, width)
    return z


def _refuse_no_spread(bad: NDArray[np.bool_], variance: FloatArray) -> None:
    expected = "the predictive variance must be a finite number above 0"
    remedy = "Without spread there is no unit to measure the error in: drop or repair such rows"
    refuse_where(bad, variance, expected, remedy, axes=("row", "coordinate")[: bad.ndim])


Statistic: TypeAlias = Literal["mean", "rms", "width", "log_det"]


@public
def sharpness(
    prediction: Distribution | Summary,
    *,
    statistic: Statistic = "mean",
    level: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> float | FloatArray:
    r"""How narrow predictive distributions are, whatever the outcomes.

    Sharpness is a virtue only of calibrated predictions: a distribution that is too narrow is sharp and wrong.

    Parameters
    ----------
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``) or a distribution; or the summary made by
        ``summarize("sharpness", None, prediction)``.
    statistic
        ``"mean"``: mean predictive standard deviation. ``"rms"``: root of the mean variance. ``"width"``: mean width of
        the central interval of `level`. ``"log_det"``: mean logarithm of the determinant of the covariance.
    level
        Nominal coverage of the intervals of ``statistic="width"``, one or several; only for these.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        Lower is sharper. Distributions of vectors have one value per coordinate, (D,), but one log determinant;
        several levels have one value each.

    Examples
    --------
    Standard deviations 1 and 7: the mean is 4, the root mean square 5.

    >>> from calibrant import Normal
    >>> sharpness(Normal([0.0, 3.0], [1.0, 7.0]))
    4.0
    >>> sharpness(Normal([0.0, 3.0], [1.0, 7.0]), statistic="rms")
    5.0
    """
    return SHARPNESS.alone(prediction, SharpnessOptions(statistic, level), weights=weights)


@dataclass(frozen=True)
class SharpnessOptions:
    statistic: Statistic
    level: ArrayLike | None

    def __post_init__(self) -> None:
        if self.statistic == "width":
            if self.level is None:
                raise InputError('statistic="width" needs level=, the nominal coverage of the intervals, such as 0.9')
            read_levels(self.level)
        elif self.level is not None:
            raise InputError(
                f'level= is for statistic="width"; got {shown(self.level)} with statistic={self.statistic!r}'
            )

    @property
    def name(self) -> str:
        if self.level is None:
            return f"sharpness({self.statistic})"
        levels, single = read_levels(self.level)
        words = ", ".join(f"{value:.10g}" for value in levels)
        return f"sharpness(width, {words if single else f'[{words}]'})"


def _sharpness(summary: Moments, options: SharpnessOptions) -> float | FloatArray:
    values = np.array([summary.mean_of(name) for name in column_names(summary, options.name)])
    values = np.sqrt(values) if options.statistic == "rms" else values
    return float(values[0]) if options.name in summary.names else values


SHARPNESS = enter(
    Entry(
        sharpness,
        SharpnessOptions,
        lambda rows, options: moments_of(
            rows, lambda piece: named_columns(options.name, _row_values(piece.prediction, options))
        ),
        _sharpness,
        reads=(Moments,),
        predictions=("samples", "distributions"),
        outcome=False,
        mean=True,
        instead=dict.fromkeys(("intervals", "sets"), "Intervals and sets have a width"),
    )
)


def _row_values(distribution: Distribution, options: SharpnessOptions) -> FloatArray:
    """Return the values (n,) or (n, columns) whose mean is taken."""
    if options.statistic == "width":
        assert options.level is not None  # the options ask for it
        found = distribution.interval(options.level)
        width = found.upper - found.lower
        return width[:, 0] if found.single else width
    if options.statistic == "log_det":
        return _log_det(distribution)
    return _variance(distribution) if options.statistic == "rms" else _deviation(distribution)


def _variance(distribution: Distribution) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        variance = distribution.variances()
    if not ((variance > ORDINARY[0] ** 2) & (variance < ORDINARY[1] ** 2)).all():
        deviation = _deviation(distribution)
        if (np.isfinite(deviation) & (deviation > 0) & ~((deviation > ORDINARY[0]) & (deviation < ORDINARY[1]))).any():
            got = f"{deviation.min():.3g} to {deviation.max():.3g}"
            words = f'statistic="rms" needs standard deviations of 1e-140 to 1e140; got {got}'
            raise NotApplicableError(f"{words}. Rescale the predictions")
    return variance


def _deviation(distribution: Distribution) -> FloatArray:
    """Return the standard deviation of each row, (n,) or (n, D); refuse rows that have none."""
    found = distribution.deviations()
    _refuse_undefined(found, distribution)
    return found


def _log_det(distribution: Distribution) -> FloatArray:
    D = distribution.shape[0] if distribution.shape else 1
    if isinstance(distribution, Samples) and distribution.M <= D:
        raise InputError(
            f'statistic="log_det" of draws needs more draws than coordinates; got {distribution.M} for {D}'
        )
    covariance = distribution.covariances()
    _refuse_undefined(covariance, distribution)
    sign, value = np.linalg.slogdet(covariance)
    if not (sign > 0).all():
        words = "needs covariances that are not singular; drop coordinates that others determine"
        raise NotApplicableError(f'statistic="log_det" {words}')
    return np.asarray(value, dtype=np.float64)


def _refuse_undefined(variance: FloatArray, distribution: Distribution) -> None:
    if np.isnan(variance).any():
        raise NotApplicableError(
            f'{type(distribution).__name__} has no variance in at least one row. Use statistic="width" with level='
        )
