"""Sharpness: how narrow predictive laws are."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.core.decorators import metric
from calibrant.core.means import moments_of
from calibrant.core.moments import Moments
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import check_choice, read_levels
from calibrant.inputs.parametric import Laplace, Normal
from calibrant.inputs.rows import Judged
from calibrant.inputs.samples import Samples
from calibrant.ranking.spread import covariance_of, variance_of

STATISTICS = ("mean", "rms", "width", "log_det")
SMALL = 1e-290  # a variance below it may have lost digits, or all of itself


def spread_moments(rows: Judged, *, statistic: str, level: Any) -> Moments:
    """Return the moments of what is averaged: standard deviations, variances, widths or log determinants."""
    name = _name(statistic, level)

    def named(piece: Judged) -> dict[str, FloatArray]:
        values = _row_values(piece.prediction, statistic, level)
        if values.ndim == 1:
            return {name: values}
        return {f"{name}[column {k}]": column for k, column in enumerate(values.T)}

    return moments_of(rows, named)


@metric(
    reads=(Moments,),
    summarise=spread_moments,
    predictions=("samples", "distributions"),
    outcome=False,
    mean=True,
    instead={"intervals": "Intervals and sets have a width", "sets": "Intervals and sets have a width"},
)
def sharpness(summary: Moments, *, statistic: str = "mean", level: Any = None) -> float | FloatArray:
    r"""How narrow predictive laws are, whatever happened.

    Parameters
    ----------
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``) or a law; or the summary made by
        ``summarize("sharpness", None, prediction)``.
    statistic
        ``"mean"``: mean predictive standard deviation. ``"rms"``: root of the mean variance. ``"width"``: mean width of
        the central interval of `level`. ``"log_det"``: mean logarithm of the determinant of the covariance.
    level
        Nominal coverage of the intervals of ``statistic="width"``, one or several; for nothing else.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        Lower is sharper. Laws of vectors have one value per coordinate, (D,), but one log determinant; several levels
        have one value each.

    Notes
    -----
    Sharpness is a virtue only of calibrated predictions: a law that is too narrow is sharp and wrong. Read it next to
    `coverage` and `pit_histogram`, or in one number with them, `crps`. The variance of draws has the divisor M - 1. A
    mixture has the mean of its variances and the variance of its means. Intervals have a `width`.

    Examples
    --------
    Standard deviations 1 and 7: the mean is 4, the root mean square 5.

    >>> from calibrant import Normal
    >>> sharpness(Normal([0.0, 3.0], [1.0, 7.0]))
    4.0
    >>> sharpness(Normal([0.0, 3.0], [1.0, 7.0]), statistic="rms")
    5.0
    """
    name = _name(statistic, level)
    columns = [other for other in summary.names if other.startswith(f"{name}[column ")]
    values = np.array([summary.mean_of(other) for other in columns or [name]])
    if statistic == "rms":
        values = np.sqrt(values)
    return values if columns else float(values[0])


def _name(statistic: str, level: Any) -> str:
    check_choice("statistic", statistic, *STATISTICS)
    if statistic != "width":
        if level is not None:
            raise InputError(f'level= is for statistic="width"; got {shown(level)} with statistic={statistic!r}')
        return f"sharpness({statistic})"
    if level is None:
        raise InputError('statistic="width" needs level=, the nominal coverage of the intervals, such as 0.9')
    levels, single = read_levels(level)
    words = ", ".join(f"{value:.10g}" for value in levels)
    return f"sharpness(width, {words if single else f'[{words}]'})"


def _row_values(distribution: Distribution, statistic: str, level: Any) -> FloatArray:
    """Return the values (n,) or (n, columns) whose mean is taken."""
    if statistic == "width":
        found = distribution.interval(level)
        width = found.upper - found.lower
        return width[:, 0] if found.single else width
    if statistic == "log_det":
        return _log_det(distribution)
    if statistic == "mean":
        return _deviation(distribution)
    variance = variance_of(distribution)
    _refuse_undefined(variance, distribution)
    return variance


def _deviation(distribution: Distribution) -> FloatArray:
    """Return the standard deviation of each row, (n,) or (n, D), without a square that leaves the range of numbers."""
    if isinstance(distribution, Normal):
        return distribution.std
    if isinstance(distribution, Laplace):
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt(2) * distribution.scale)
    with np.errstate(over="ignore", invalid="ignore"):  # of draws these are taken again
        variance = variance_of(distribution)
    if not isinstance(distribution, Samples):
        _refuse_undefined(variance, distribution)
        return np.sqrt(variance)
    lost = ~((variance > SMALL) & (variance < np.inf)).reshape(distribution.n, -1).all(axis=1)
    with np.errstate(invalid="ignore"):
        found = np.sqrt(variance)
    found[lost] = _deviation_of_draws(distribution.draws[lost])
    return found


def _deviation_of_draws(draws: FloatArray) -> FloatArray:
    """Return standard deviations over axis 1 of draws scaled by powers of two, which rounds nothing."""
    _, size = np.frexp(np.abs(draws).max(axis=1, keepdims=True))
    x = np.ldexp(draws, -size)
    x = x - x.mean(axis=1, keepdims=True)
    _, spread = np.frexp(np.abs(x).max(axis=1, keepdims=True))
    x = np.ldexp(x, -spread)
    unit = np.sqrt((x * x).sum(axis=1) / (draws.shape[1] - 1))
    with np.errstate(over="ignore"):  # that of numbers up to ±max may lie beyond
        return np.asarray(np.ldexp(unit, (size + spread)[:, 0]))


def _log_det(distribution: Distribution) -> FloatArray:
    D = distribution.shape[0] if distribution.shape else 1
    if isinstance(distribution, Samples) and distribution.M <= D:
        raise InputError(
            f'statistic="log_det" of draws needs more draws than coordinates; got {distribution.M} for {D}'
        )
    covariance = covariance_of(distribution)
    _refuse_undefined(covariance, distribution)
    sign, value = np.linalg.slogdet(covariance)
    if not (sign > 0).all():
        raise NotApplicableError(
            'statistic="log_det" needs covariances that are not singular; that of at least one row is. '
            "Drop coordinates that others determine"
        )
    return np.asarray(value, dtype=np.float64)


def _refuse_undefined(variance: FloatArray, distribution: Distribution) -> None:
    if np.isnan(variance).any():
        raise NotApplicableError(
            f'{type(distribution).__name__} has no variance in at least one row. Use statistic="width" with level='
        )
