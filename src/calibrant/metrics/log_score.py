"""Logarithmic score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.catalogue import Rows, Shown, mean_metric
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs import Binary
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray


@mean_metric(
    predictions=("binary", "classes", "laws"),
    range=(-np.inf, np.inf),
    audit={"": Shown("log score")},
    instead={"samples": "Draws have no density; crps and energy_score judge them"},
)
def log_score(rows: Rows | LawRows, *, clip: float | None = None) -> FloatArray:
    r"""Mean negative logarithm of the probability, or of the density, given to what happened.

    .. math:: -\frac{1}{W} \sum_i w_i \ln P_i(y_i)

    with the density of the predictive law in place of P for laws.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; or outcomes and a law that has a density, such as `Normal` or `MvNormal`.
    clip
        Limit probabilities to [clip, 1 - clip] first, 0 < clip < 0.5. None leaves them as they are. For probabilities
        only.

    Returns
    -------
    float
        In nats, lower is better. Infinite if an outcome happened that was given probability or density 0. At least 0
        for probabilities; densities have no largest value, so that of laws may be negative.

    Notes
    -----
    The value for a law depends on the units of y: differences between two laws of the same outcomes do not. Draws have
    no density and are refused; `crps` and `energy_score` judge them.

    Infinity is the right answer for a prediction that ruled out what happened: other packages clip silently and
    return a number that depends on the precision of the machine (scikit-learn: 2⁻⁵² for float64).

    Examples
    --------
    (ln 2 + ln 4) / 2:

    >>> round(log_score([1, 0], [0.5, 0.75]), 6)
    1.039721
    >>> log_score([1, 1], [0.0, 0.5])
    inf

    A standard normal law at its mean, ln √(2π):

    >>> from calibrant import Normal
    >>> round(log_score([0.0], Normal(0.0, 1.0)), 6)
    0.918939
    """
    limits = None if clip is None else _limits(clip)
    if isinstance(rows, LawRows):
        if limits is not None:
            raise InputError(f"clip= is for probabilities; leave it out for {type(rows.law).__name__}")
        return _of_law(rows)
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


def _of_law(rows: LawRows) -> FloatArray:
    score: FloatArray = -rows.law.log_density(rows.y)
    endless = np.isneginf(score)
    if endless.any():
        value = rows.y[int(np.argmax(endless))]
        raise NotApplicableError(
            f"the density of {type(rows.law).__name__} at the outcome {shown(value)} is infinite, which makes every "
            "score minus infinity. Use crps, or drop such rows"
        )
    return score + 0.0


def _limits(clip: Any) -> tuple[float, float]:
    """Return the limits of the score when a probability is limited to [clip, 1 - clip]."""
    if isinstance(clip, bool) or not isinstance(clip, (int, float, np.floating)) or not 0 < clip < 0.5:
        raise InputError(f"clip must be None or lie strictly between 0 and 0.5; got {shown(clip)}")
    return -math.log1p(-float(clip)), -math.log(float(clip))
