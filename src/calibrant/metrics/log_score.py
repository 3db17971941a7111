"""Logarithmic score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.catalogue import Rows, Shown, mean_metric
from calibrant.errors import InputError, shown
from calibrant.inputs import Binary
from calibrant.inputs.weights import FloatArray


@mean_metric(predictions=("binary", "classes"), range=(0.0, np.inf), audit={"": Shown("log score")})
def log_score(rows: Rows, *, clip: float | None = None) -> FloatArray:
    r"""Mean negative logarithm of the probability given to what happened.

    .. math:: -\frac{1}{W} \sum_i w_i \ln P_i(y_i)

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`.
    clip
        Limit probabilities to [clip, 1 - clip] first, 0 < clip < 0.5. None leaves them as they are.

    Returns
    -------
    float
        In nats. Infinite if an outcome happened that was given probability 0.

    Notes
    -----
    Infinity is the right answer for a prediction that ruled out what happened: other packages clip silently and
    return a number that depends on the precision of the machine (scikit-learn: 2⁻⁵² for float64).

    Examples
    --------
    (ln 2 + ln 4) / 2:

    >>> round(log_score([1, 0], [0.5, 0.75]), 6)
    1.039721
    >>> log_score([1, 1], [0.0, 0.5])
    inf
    """
    limits = None if clip is None else _limits(clip)
    with np.errstate(divide="ignore"):
        if isinstance(rows, Binary):
            score: FloatArray = -np.where(rows.y == 1, np.log(rows.p), np.log1p(-rows.p))
        else:
            score = -np.log(np.take_along_axis(rows.P, rows.y[:, None], axis=1)[:, 0])
    score = score + 0.0  # -0.0 of a certain and right prediction becomes 0.0
    return score if limits is None else np.clip(score, *limits)


def _limits(clip: Any) -> tuple[float, float]:
    """Return the limits of the score when a probability is limited to [clip, 1 - clip]."""
    if isinstance(clip, bool) or not isinstance(clip, (int, float, np.floating)) or not 0 < clip < 0.5:
        raise InputError(f"clip must be None or lie strictly between 0 and 0.5; got {shown(clip)}")
    return -math.log1p(-float(clip)), -math.log(float(clip))
