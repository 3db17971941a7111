"""Brier score."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import Rows, Shown, mean_metric
from calibrant.errors import InputError
from calibrant.inputs import Binary, check_choice
from calibrant.inputs.weights import FloatArray
from calibrant.summaries import Grid


def _of_grid(grid: Grid, *, half: bool) -> float:
    _check_half(half, binary=True)
    return float(grid.cells().wr2.sum()) / grid.total_weight


@mean_metric(predictions=("binary", "classes"), range=(0.0, 2.0), of_grid=_of_grid, audit={"": Shown("Brier score")})
def brier_score(rows: Rows, *, half: bool = False) -> FloatArray:
    r"""Mean squared distance between outcome and prediction.

    .. math:: \frac{1}{W} \sum_i w_i (y_i - p_i)^2
        \qquad\text{or}\qquad
        \frac{1}{W} \sum_i w_i \sum_k (1\{y_i = k\} - P_{ik})^2

    for one probability per row (0 to 1), and for class probabilities (the sum over classes, 0 to 2). So a
    two-column prediction has twice the value of its second column.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`.
    half
        Halve the value for class probabilities, so that it lies in 0 to 1.

    Returns
    -------
    float

    Notes
    -----
    A proper score: it rewards calibration and discrimination together, and alone says nothing about either. A value
    depends on how predictable the outcomes are; `decompose` splits it. A `Grid` of one probability per row has it too.

    Examples
    --------
    (0.2² + 0.4²) / 2:

    >>> round(brier_score([0, 1], [0.2, 0.6]), 12)
    0.1
    """
    _check_half(half, binary=isinstance(rows, Binary))
    if isinstance(rows, Binary):
        residual: FloatArray = rows.y - rows.p
        return residual * residual
    # The true class is taken out first: 1 - P_y loses no digits where P_y is near 1.
    true = np.take_along_axis(rows.P, rows.y[:, None], axis=1)[:, 0]
    others = rows.P.copy()
    np.put_along_axis(others, rows.y[:, None], 0.0, axis=1)
    score: FloatArray = np.einsum("ik,ik->i", others, others) + (1 - true) ** 2
    return score / 2 if half else score


def _check_half(half: bool, *, binary: bool) -> None:
    check_choice("half", half, False, True)
    if half and binary:
        raise InputError("half=True is for class probabilities of shape (n, K); a 1-D prediction has the half value")
