"""What the Fréchet distance of two sets of points is on average when both come from one law."""

from __future__ import annotations

import numpy as np

from calibrant.errors import InputError
from calibrant.primitives.dispatch import chunks
from calibrant.summaries.point_moments import PointMoments

TILE = 1024  # eigenvalues that meet all others at once


def expected_frechet(first: PointMoments, second: PointMoments) -> float:
    r"""Return the leading term of the expected `frechet_distance` of two sets of one Gaussian law.

    .. math:: \Bigl(\frac1n + \frac1m\Bigr) \Bigl[\sum_i \lambda_i
              + \frac12 \sum_{i, j} (1 + \delta_{ij}) \frac{\lambda_i \lambda_j}{\lambda_i + \lambda_j}\Bigr]

    with λ the eigenvalues of the pooled covariance within the sets, divisor n + m - 2.

    Parameters
    ----------
    first, second
        Moments of the two sets, of two points or more each.

    Returns
    -------
    float
        In the units of `frechet_distance`; beside it, it says how much of the distance chance alone gives. Each set is
        centred at its own mean, so that it means the same for sets that differ in place.

    Notes
    -----
    The first sum is that of the means, the second that of the covariances: a sample covariance S + E has
    E[E_ij²] = (1 + δ_ij) λ_i λ_j / n in the eigenvectors of S, and the distance of S from S + E is
    Σ E_ij² / 2(λ_i + λ_j) to second order. What is left out is of order (1/n + 1/m)². For covariance 1 in 50 dimensions
    and n = m = 1600 it gives 0.859, simulated 0.861 ± 0.001; with n = m = 500 it gives 2.75, simulated 2.76 ± 0.01. It
    needs more points than dimensions, and laws near a Gaussian one: heavy tails make the second sum larger.

    Examples
    --------
    Two sets of two numbers, each with variance 2: (1/2 + 1/2)(2 + 2/2).

    >>> first, second = PointMoments.of([[0.0], [2.0]]), PointMoments.of([[5.0], [7.0]])
    >>> expected_frechet(first, second)
    3.0
    """
    if min(first.n, second.n) < 2:
        raise InputError(f"both sets must have at least 2 points; got {first.n} and {second.n}")
    if first.d != second.d:
        raise InputError(f"both sets must have the same number of columns; got {first.d} and {second.d}")
    pooled = (first.scatter + second.scatter) / (first.n + second.n - 2)
    values = np.maximum(np.linalg.eigvalsh(pooled), 0.0)
    positive = values[values > 0]
    pairs = positive.sum() / 2  # the terms i = j once more
    for part in chunks(positive.size, TILE):
        own = positive[part, None]
        pairs += (own / (own + positive) * positive).sum()
    return float((1 / first.n + 1 / second.n) * (values.sum() + pairs / 2))
