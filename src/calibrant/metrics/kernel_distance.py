"""Kernel distance (KID) of two sets of features."""

from __future__ import annotations

from typing import Any

from calibrant.metrics.mmd import mmd


def kernel_distance(y: Any, points: Any) -> float:
    r"""Kernel distance, known as KID: the unbiased MMD² with a polynomial kernel, over all points.

    .. math:: \frac{1}{n(n-1)} \sum_{i \ne j} k(y_i, y_j) + \frac{1}{m(m-1)} \sum_{i \ne j} k(x_i, x_j)
              - \frac{2}{nm} \sum_{i, j} k(y_i, x_j), \qquad k(x, y) = (x \cdot y / d + 1)^3.

    Parameters
    ----------
    y
        Features of real points, (n, d).
    points
        Features of generated points, (m, d).

    Returns
    -------
    float
        Mean 0 if both sets have one law, so that it may be negative.

    Notes
    -----
    ``interval(kernel_distance, y, points)`` says how well it is known, from 5,000 points of each set on. Other packages
    draw many subsets of 1000 points and report their spread: subsets of the same points share points, and that spread
    is no standard error. All points in one sum are also the estimate of smallest variance.

    Unlike `frechet_distance` it is unbiased, so that sets of different sizes can be compared. It sees moments up to the
    third; sets that agree in these are at distance 0. The kernel has no length scale, so that the unit of the features
    matters: use those that the published values you compare with are of.

    References
    ----------
    Bińkowski, Sutherland, Arbel, Gretton (2018), ICLR.

    Examples
    --------
    k(0, 1) = 1 within the first set, k(1, 2) = 27 within the second, and 1, 1, 8, 27 between them:
    1 + 27 - 2 · 37/4 = 9.5.

    >>> kernel_distance([[0.0], [1.0]], [[1.0], [2.0]])
    9.5
    """
    return mmd(y, points, kernel="polynomial")
