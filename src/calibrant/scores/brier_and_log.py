"""The Brier score and the log score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.catalogue import Shown, public
from calibrant.core.grid import Grid
from calibrant.core.means import enter_mean
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.kinds import Rows
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows


@public
def brier_score(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    half: bool = False,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Mean squared distance between outcome and prediction.

    .. math:: \frac{1}{W} \sum_i w_i (y_i - p_i)^2
        \qquad\text{or}\qquad
        \frac{1}{W} \sum_i w_i \sum_k (1\{y_i = k\} - P_{ik})^2

    for one probability per row (0 to 1), and for class probabilities (the sum over classes, 0 to 2). A
    two-column prediction has twice the value of its second column.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`.
    half
        Halve the value for class probabilities, which then lies in 0 to 1.

    Examples
    --------
    (0.2² + 0.4²) / 2:

    >>> round(brier_score([0, 1], [0.2, 0.6]), 12)
    0.1
    """
    return BRIER_SCORE(y, prediction, BrierOptions(half), weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class BrierOptions:
    half: bool


def _squared_distances(rows: Rows, options: BrierOptions) -> FloatArray:
    if isinstance(rows, Binary):
        _refuse_half(options)
        return np.asarray(squared_distance(rows.y, rows.p))
    score: FloatArray = squared_distance(np.arange(rows.K) == rows.y[:, None], rows.P)
    return score / 2 if options.half else score


def squared_distance(outcome: Any, prediction: Any) -> Any:
    """Return the Brier score of each row, of NumPy arrays or torch tensors.

    Outcomes are 0 and 1: of shape (n,) for the event, or (n, K) with 1 for the class that happened.
    """
    square = (outcome - prediction) ** 2
    return square if square.ndim == 1 else square.sum(-1)


def _brier_of_grid(grid: Grid, options: BrierOptions) -> float:
    _refuse_half(options)
    return float(grid.cells().wr2.sum()) / grid.total_weight


def _refuse_half(options: BrierOptions) -> None:
    if options.half:
        raise InputError("half=True is for class probabilities of shape (n, K); a 1-D prediction has the half value")


BRIER_SCORE = enter_mean(
    brier_score,
    BrierOptions,
    _squared_distances,
    of_grid=_brier_of_grid,
    predictions=("binary", "classes"),
    range=(0.0, 2.0),
    audit={"": Shown("Brier score")},
)


@public
def log_score(
    y: Outcomes,
    prediction: ArrayLike | Distribution | None = None,
    *,
    clip: float | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Mean negative logarithm of the probability, or of the density, given to what happened.

    .. math:: -\frac{1}{W} \sum_i w_i \ln P_i(y_i)

    with the density in place of P for continuous predictive distributions.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; or outcomes and a predictive distribution that has a density, such as `Normal` or `MvNormal`, or a
        discrete `ScipyDistribution`, which has probabilities.
    clip
        Limit probabilities to [clip, 1 - clip] first, 0 < clip < 0.5. None leaves them as they are. For probabilities
        only.

    Returns
    -------
    float
        In nats, lower is better. Infinite if an outcome happened that was given probability or density 0. At least 0
        for probabilities; densities have no largest value, so their score may be negative.

    Examples
    --------
    (ln 2 + ln 4) / 2:

    >>> round(log_score([1, 0], [0.5, 0.75]), 6)
    1.039721
    >>> log_score([1, 1], [0.0, 0.5])
    inf

    A standard normal distribution at its mean, ln √(2π):

    >>> from calibrant import Normal
    >>> round(log_score([0.0], Normal(0.0, 1.0)), 6)
    0.918939
    """
    return LOG_SCORE(y, prediction, LogScoreOptions(clip), weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class LogScoreOptions:
    clip: float | None

    def __post_init__(self) -> None:
        if self.clip is not None:
            log_score_limits(self.clip)


def _negative_logarithms(rows: Rows | DistributionRows, options: LogScoreOptions) -> FloatArray:
    limits = None if options.clip is None else log_score_limits(options.clip)
    if isinstance(rows, DistributionRows):
        if limits is not None:
            raise InputError(f"clip= is for probabilities; leave it out for {type(rows.distribution).__name__}")
        return _of_distribution(rows)
    with np.errstate(divide="ignore"):
        if isinstance(rows, Binary):
            # One array is written over and over: fetching new memory would take as long as the logarithm.
            score: FloatArray = np.negative(rows.p)
            np.log1p(score, out=score)
            np.copyto(score, np.log(rows.p), where=rows.y == 1)
        else:
            score = np.log(np.take_along_axis(rows.P, rows.y[:, None], axis=1)[:, 0])
    np.negative(score, out=score)
    score += 0.0  # -0.0 of a certain and right prediction becomes 0.0
    return score if limits is None else np.clip(score, *limits)


def _of_distribution(rows: DistributionRows) -> FloatArray:
    distribution = rows.distribution
    if distribution.is_discrete:
        return np.asarray(-distribution.log_probability(rows.y) + 0.0)
    score: FloatArray = -distribution.log_density(rows.y)
    infinite = np.isneginf(score)
    if infinite.any():
        value = rows.y[int(np.argmax(infinite))]
        name = type(distribution).__name__
        raise NotApplicableError(f"the density of {name} at {shown(value)} is infinite. Use crps, or drop such rows")
    return score + 0.0


def log_score_limits(clip: object) -> tuple[float, float]:
    """Return the limits of the score when a probability is limited to [clip, 1 - clip]."""
    if isinstance(clip, bool) or not isinstance(clip, (int, float, np.floating)) or not 0 < clip < 0.5:
        raise InputError(f"clip must be None or lie strictly between 0 and 0.5; got {shown(clip)}")
    return -math.log1p(-float(clip)), -math.log(float(clip))


LOG_SCORE = enter_mean(
    log_score,
    LogScoreOptions,
    _negative_logarithms,
    predictions=("binary", "classes", "distributions"),
    audit={"": Shown("log score")},
    instead={"samples": "Draws have no density; crps and energy_score judge them"},
)
