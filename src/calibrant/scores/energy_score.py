"""Energy score of draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes
from calibrant.core.catalogue import public
from calibrant.core.dispatch import chunks
from calibrant.core.means import enter_mean
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import as_number
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples

MAX_NUMBERS_AT_ONCE = 1 << 18  # among the draws of the rows that are scored together
SAFE_EXPONENT = 450  # squares of numbers up to 2**±450 stay in range, and so do their sums


@public
def energy_score(
    y: Outcomes,
    prediction: Samples | None = None,
    *,
    fair: bool = False,
    beta: float = 1.0,
    weights: ArrayLike | None = None,
) -> float:
    r"""Score of draws of vectors: the CRPS with distances of vectors in place of differences.

    .. math:: \frac1M \sum_m \lVert x_m - y \rVert^\beta
              - \frac{1}{2 M^2} \sum_{m, k} \lVert x_m - x_k \rVert^\beta

    Parameters
    ----------
    y, weights
        As in `crps`; vectors (n, D) for draws (n, M, D).
    prediction
        `Samples`: draws (n, M, D), those of row i in ``draws[i]``.
    fair
        Divide the second sum by 2M(M - 1): unbiased for the distribution behind the draws. Needs two draws or more.
    beta
        Power of the distances, 0 < beta < 2.

    Returns
    -------
    float
        Lower is better; for one coordinate and beta 1 the value of `crps`.

    Examples
    --------
    Draws (3, 4) and (0, 0) for the outcome (0, 0): distances 5 and 0, and twice 5 between the two.

    >>> from calibrant import Samples
    >>> energy_score([[0.0, 0.0]], Samples([[[3.0, 4.0], [0.0, 0.0]]]))
    1.25
    """
    return ENERGY_SCORE(y, prediction, EnergyScoreOptions(fair, beta), weights=weights)


@dataclass(frozen=True)
class EnergyScoreOptions:
    fair: bool
    beta: float

    def __post_init__(self) -> None:
        power = as_number(self.beta)
        if not 0 < power < 2:
            raise InputError(f"beta must lie strictly between 0 and 2; got {shown(self.beta)}")
        object.__setattr__(self, "beta", power)


def _row_scores(rows: DistributionRows, options: EnergyScoreOptions) -> FloatArray:
    distribution = rows.samples
    assert distribution is not None  # the only kind this verb reads
    if options.fair and distribution.M < 2:
        raise InputError("fair=True needs at least 2 draws per row; got 1. Leave it out for the distance itself")
    size = max(1, MAX_NUMBERS_AT_ONCE // distribution.draws[0].size) if rows.n else 1
    score = np.empty(rows.n)
    for part in chunks(rows.n, size):
        y, draws = _columns(rows.y[part, None]), _columns(distribution.draws[part])
        score[part] = _scores(y, draws, options.beta, options.fair)
    return score


ENERGY_SCORE = enter_mean(
    energy_score,
    EnergyScoreOptions,
    _row_scores,
    predictions=("samples",),
    range=(0.0, np.inf),
    instead={"distributions": "Pass draws of it, Samples(distribution.sample(1000, rng))"},
)


def _scores(y: FloatArray, x: FloatArray, power: float, fair: bool) -> FloatArray:
    """Return the scores of r rows from outcomes y (D, 1, r) and draws x (D, M, r), draw by draw."""
    M = x.shape[1]
    x, y, exponent = _in_range(x, y)
    error = _distances(x, y, power).sum(axis=0)
    spread = np.zeros_like(error)
    for m in range(M - 1):
        spread += _distances(x[:, m + 1 :], x[:, m : m + 1], power).sum(axis=0)
    score: FloatArray = error / M - spread / (M * (M - 1) if fair else M * M)
    score = score if fair else np.maximum(score, 0.0)
    if not exponent.any():
        return score
    with np.errstate(over="ignore"):
        return np.ldexp(score, exponent) if power == 1 else np.asarray(score * np.exp2(power * exponent))


def _in_range(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Return draws and outcomes of each row over a power of two, and its exponent: 0 unless squares would be lost."""
    with np.errstate(over="ignore"):
        far = np.minimum(np.abs(x - y).max(axis=(0, 1)), np.finfo(np.float64).max)
    largest = np.maximum(np.abs(x).max(axis=(0, 1)), np.abs(y).max(axis=(0, 1)))
    of_far, of_largest = (np.frexp(v)[1].astype(np.int64) for v in (far, largest))
    exponent = np.where(np.abs(of_far) > SAFE_EXPONENT, np.maximum(of_far, of_largest - SAFE_EXPONENT), 0)
    if not exponent.any():
        return x, y, exponent
    return np.ldexp(x, -exponent), np.ldexp(y, -exponent), exponent


def _distances(x: FloatArray, z: FloatArray, power: float) -> FloatArray:
    """Return ‖x - z‖^power over the first axis."""
    if len(x) == 1:
        distance = np.abs(x[0] - z[0])
    else:
        step = x - z
        step *= step
        distance = np.sqrt(step.sum(axis=0))
    return distance if power == 1 else np.asarray(distance**power)


def _columns(points: NDArray[Any]) -> FloatArray:
    """Return points (r, M) or (r, M, D) as (D, M, r), rows last, to be added up together."""
    cube = points[..., None] if points.ndim == 2 else points
    return np.ascontiguousarray(cube.transpose(2, 1, 0))
