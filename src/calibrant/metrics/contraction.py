"""Contraction: how much narrower predictions are than the outcomes are spread."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from calibrant.catalogue import metric
from calibrant.catalogue.reading import part_of
from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.law_moments import variance_of
from calibrant.summaries import Moments

BLOCK = 1 << 20  # draws that are looked at together
NAME = "contraction"
WEIGHT = f"{NAME} weight"
LARGEST = 1e100  # variance of y against which one beyond float64 is as good as infinite
SMALLEST = 1e-290  # variance whose squares have lost nothing to the end of float64


def summarise(rows: LawRows) -> Moments:
    """Return the moments of outcomes and predictive variances.

    Under the weights √w `Moments` holds what a weighted variance is made of: Σw as `w2`, weighted means as `mean2`,
    Σw(y - mean)² as `spread2`; and Σw²/Σw as the mean of w itself.
    """
    size = max(1, BLOCK // (rows.law.held[0].size if isinstance(rows.law, Samples) else 1))
    return reduce(add, (_moments(part_of(rows, part)) for part in chunks(rows.n, size)), Moments.zero())


def _moments(rows: LawRows) -> Moments:
    with np.errstate(over="ignore", invalid="ignore"):
        variance = variance_of(rows.law)
    if np.isnan(variance).any():
        raise NotApplicableError(f"{type(rows.law).__name__} has no variance in at least one row, so no contraction")
    named = {WEIGHT: rows.w, **_columns("y", rows.y), **_columns("variance", variance)}
    return Moments.of(named, rows.w if is_unit(rows.w) else np.sqrt(rows.w))


def _columns(what: str, values: FloatArray) -> dict[str, FloatArray]:
    if values.ndim == 1:
        return {f"{NAME} {what}": values}
    return {f"{NAME} {what}[column {k}]": column for k, column in enumerate(values.T)}


@metric(reads=(Moments,), summarise=summarise, predictions=("samples", "laws"), range=(-np.inf, 1.0), perfect=1.0)
def contraction(summary: Moments) -> float | FloatArray:
    r"""How much narrower predictions are than the outcomes are spread: 0 for what is known without looking at a case.

    .. math:: 1 - \frac{\overline{s^2}}{s_y^2}, \qquad
              \overline{s^2} = \frac{1}{W} \sum_i w_i s_i^2, \qquad
              s_y^2 = \frac{\sum_i w_i (y_i - \bar y)^2}{W - \sum_i w_i^2 / W}

    with the predictive variances :math:`s_i^2` (of draws with the divisor M - 1), :math:`W = \sum_i w_i` and the
    weighted mean :math:`\bar y`. Without weights :math:`s_y^2` has the divisor n - 1.

    Parameters
    ----------
    y
        Outcomes; or the summary made by `summarize`.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``) or a law.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        1 if predictions have no spread, 0 if they have that of the outcomes, negative if they have more: nothing is
        clipped. Vectors have one value per coordinate, (D,).

    Notes
    -----
    Calibrated predictions that are no sharper than the law of all outcomes together, the climatology, pass every test
    of marginal ranks. Contraction tells them from informative ones, and so do scores such as `crps`. It is a virtue
    only of calibrated predictions: a law that is too narrow contracts most. For Gaussian outcomes its standard error
    is about (1 - value) √(2/n). Elsewhere the median over rows of :math:`1 - s_i^2/s_y^2`, each clipped to [0, 1], goes
    by the same name.

    Examples
    --------
    The variance of the outcomes 0, 2 and 4 is 4; that of the predictions is 1.

    >>> from calibrant import Normal
    >>> contraction([0.0, 2.0, 4.0], Normal([0.0, 2.0, 4.0], 1.0))
    0.75
    """
    held = [name for name in summary.names if name.startswith(f"{NAME} variance[column ")]
    found = [_of_column(summary, name) for name in held or [f"{NAME} variance"]]
    return np.array(found) if held else found[0]


def _of_column(summary: Moments, name: str) -> float:
    mean_variance = summary.mean_of(name)
    variance, y, weight = map(summary.names.index, (name, name.replace("variance", "y"), WEIGHT))
    W = summary.w2
    divisor = W - float(summary.mean2[weight])
    if summary.n < 2 or divisor <= 0:
        raise NotApplicableError(f"the variance of y needs at least 2 rows; got {summary.n}")
    of_y = float(summary.spread2[y]) / divisor
    if not SMALLEST < of_y < np.inf:
        raise NotApplicableError(
            f"the variance of y, with which predictions are compared, must be a finite number above 0; got "
            f"{shown(of_y)}. Outcomes that are all alike have no contraction; rescale those that are huge or tiny"
        )
    if mean_variance == np.inf and of_y > LARGEST:
        raise NotApplicableError(
            f"a predictive variance is beyond float64, and that of y is {shown(of_y)}; rescale predictions and outcomes"
        )
    return 1 - float(summary.mean2[variance]) / of_y if mean_variance < np.inf else -np.inf
