"""The scores of rows on a device, for verbs that are functions of `Moments`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.core.catalogue import find
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.probabilities import Binary
from calibrant.integrations.torch.rows import Rows

if TYPE_CHECKING:
    from torch import Tensor

Scores = tuple["Tensor", ...]


def _brier_score(rows: Rows, *, half: bool) -> Scores:
    P = rows.p.double()
    if P.ndim == 1:
        residual = rows.y - P
        return (residual * residual,)
    at = rows.y[:, None]
    true, others = P.gather(1, at)[:, 0], P.scatter(1, at, 0.0)
    score = (others * others).sum(1) + (1 - true) ** 2
    return (score / 2 if half else score,)


def _log_score(rows: Rows, *, clip: Any) -> Scores:
    P = rows.p.double()
    happened = P.log().where(rows.y == 1, (-P).log1p()) if P.ndim == 1 else P.gather(1, rows.y[:, None])[:, 0].log()
    return ((-happened).clamp(*_log_limits(clip)),)


def _log_limits(clip: Any) -> tuple[float, float]:
    """Return the least and the largest score: 0 and inf unless probabilities are clipped."""
    certain = Binary(np.array([1, 1], np.uint8), np.array([1.0, 0.0]), unit_weights(2))
    row_scores = find("log_score").row_scores
    assert row_scores is not None
    low, high = row_scores(certain, find("log_score").parse({"clip": clip})).tolist()
    return low, high


def _spiegelhalter_test(rows: Rows, **_: Any) -> Scores:
    """Return what is summed to the excess, its variance, that of the outcomes, and the third cumulant."""
    p = rows.p.double()
    tilt, v = 1 - 2 * p, p * (1 - p)
    variance = tilt * tilt * v
    return (rows.y - p) * tilt, variance, v, tilt * tilt * variance


SCORES: dict[str, Callable[..., Scores]] = {
    "brier_score": _brier_score,
    "log_score": _log_score,
    "spiegelhalter_test": _spiegelhalter_test,
}
