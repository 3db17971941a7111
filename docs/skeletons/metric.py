"""Mean absolute residual."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.catalogue import NoOptions, public
from calibrant.core.means import enter_mean
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import Rows
from calibrant.inputs.probabilities import Binary


@public
def mean_absolute_residual(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Mean probability that was given to what did not happen.

    .. math:: \frac{1}{W} \sum_i w_i |y_i - p_i|
        \qquad\text{or}\qquad
        \frac{1}{W} \sum_i w_i (1 - P_{i y_i})

    for one probability per row, and for class probabilities. A two-column prediction has the value of its second
    column.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`.

    Returns
    -------
    float

    Notes
    -----
    Not a proper score: predictions of 0 and 1 that always side with the likelier outcome beat the true probabilities.
    So it must not be used to choose or to train a model, and says nothing about calibration.

    Examples
    --------
    (0.25 + 0.5) / 2:

    >>> mean_absolute_residual([0, 1], [0.25, 0.5])
    0.375
    """
    return MEAN_ABSOLUTE_RESIDUAL(y, prediction, NoOptions(), weights=weights, classes=classes, pos_label=pos_label)


def _absolute_residuals(rows: Rows, options: NoOptions) -> FloatArray:
    if isinstance(rows, Binary):
        return np.abs(rows.y - rows.p)
    true = np.take_along_axis(rows.P, rows.y[:, None], axis=1)[:, 0]
    return np.asarray(1 - true, dtype=np.float64)


MEAN_ABSOLUTE_RESIDUAL = enter_mean(
    mean_absolute_residual,
    NoOptions,
    _absolute_residuals,
    predictions=("binary", "classes"),
    range=(0.0, 1.0),
)
