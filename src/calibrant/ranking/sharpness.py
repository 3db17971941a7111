"""Sharpness: how narrow predictive distributions are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.means import moments_of
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import read_levels
from calibrant.inputs.rows import RegionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.spread import column_names, named_columns

Statistic: TypeAlias = Literal["mean", "rms", "width", "log_det"]
ORDINARY = (1e-140, 1e140)  # standard deviations whose squares, and the squares of these, stay in float64


@public
def sharpness(
    prediction: Distribution | Summary,
    *,
    statistic: Statistic = "mean",
    level: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> float | FloatArray:
    r"""How narrow predictive distributions are, whatever the outcomes.

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

    Notes
    -----
    Sharpness is a virtue only of calibrated predictions: a distribution that is too narrow is sharp and
    wrong. Read it next to `coverage` and `pit_histogram`, or in one number with them, `crps`. The variance of draws has
    the divisor M - 1. A mixture has the mean of its variances and the variance of its means. Intervals have a `width`.

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
    """The options of `sharpness`."""

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


def _spread_moments(rows: RegionRows, options: SharpnessOptions) -> Moments:
    return moments_of(rows, lambda piece: named_columns(options.name, _row_values(piece.prediction, options)))


def _sharpness(summary: Moments, options: SharpnessOptions) -> float | FloatArray:
    values = np.array([summary.mean_of(name) for name in column_names(summary, options.name)])
    values = np.sqrt(values) if options.statistic == "rms" else values
    return float(values[0]) if options.name in summary.names else values


SHARPNESS = enter(
    Entry(
        sharpness,
        SharpnessOptions,
        _spread_moments,
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
            raise NotApplicableError(
                'statistic="rms" needs standard deviations between 1e-140 and 1e140, whose squares float64 can '
                f"represent; got {deviation.min():.3g} to {deviation.max():.3g}. Rescale the predictions"
            )
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
