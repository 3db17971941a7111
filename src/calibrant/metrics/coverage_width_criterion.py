"""Coverage width criterion."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import metric
from calibrant.catalogue.means import folded
from calibrant.errors import InputError, shown
from calibrant.inputs import check_choice
from calibrant.inputs.judged import AS_INTERVALS, IntervalRows
from calibrant.inputs.levels import DIGITS
from calibrant.inputs.options import as_number
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import sums_in_one_pass
from calibrant.summaries.interval_moments import IntervalMoments

ETA = {"jensen": 30.0, "khosravi": 50.0}


def summarise(rows: IntervalRows, *, variant: str, eta: Any, normalizer: Any) -> IntervalMoments:
    """Return coverage, width and the range of the outcomes."""
    _check(variant, eta, normalizer)
    if sums_in_one_pass(rows.n, rows.w):
        return IntervalMoments.in_one_pass(rows)
    return folded(rows, IntervalMoments.of, IntervalMoments.zero())


@metric(reads=(IntervalMoments,), summarise=summarise, predictions=("intervals",), mean=True, instead=AS_INTERVALS)
def coverage_width_criterion(
    summary: IntervalMoments, *, variant: str = "jensen", eta: float | None = None, normalizer: float | None = None
) -> float | FloatArray:
    r"""Coverage and relative width of intervals in one number.

    With the coverage :math:`\hat c`, the nominal level c and r = mean width / normalizer,

    .. math::

        \begin{aligned}
        \text{jensen} &= (1 - r)\, e^{-\eta (\hat c - c)^2} && \text{higher is better} \\
        \text{khosravi} &= r\, \bigl(1 + 1\{\hat c < c\}\, e^{-\eta (\hat c - c)}\bigr) && \text{lower is better}
        \end{aligned}

    (Jensen, Bianchi and Anfinsen 2022; Khosravi, Nahavandi and Creighton 2010).

    Parameters
    ----------
    y
        Outcomes, one number per row; or the summary made by `summarize`.
    prediction
        `Intervals`.
    variant
        ``"jensen"`` or ``"khosravi"``.
    eta
        How much wrong coverage costs, at least 0; default 30 for ``"jensen"``, 50 for ``"khosravi"``.
    normalizer
        What widths are divided by, in the unit of the outcome; default the range of the outcomes.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. An infinite width gives -inf
        (jensen) or inf (khosravi).

    Notes
    -----
    Use `interval_score` first: it is a proper score and this is not, so that a forecaster can gain by predicting what
    he does not believe. Its value depends on `eta`, and by default on the two most extreme outcomes. With r > 1
    ``"jensen"`` is negative, and a larger `eta` then raises it.

    Examples
    --------
    One of two outcomes is covered, as stated; the mean width 1 is a quarter of the range of y:

    >>> from calibrant import Intervals
    >>> coverage_width_criterion([0.0, 4.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.5))
    0.75
    """
    eta = _check(variant, eta, normalizer)
    unit = _range_of(summary) if normalizer is None else float(normalizer)
    c, level = summary.coverage, summary.levels
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite r times a vanishing power is settled below
        r = summary.width / unit
        if variant == "jensen":
            values = np.where(np.isinf(r), -np.inf, (1 - r) * np.exp(-eta * (c - level) ** 2))
        else:
            short = c.round(DIGITS) < level.round(DIGITS)
            factor = 1 + np.where(short, np.exp(-eta * (c - level)), 0.0)
            values = np.where(r == 0, 0.0, r * factor)
    return float(values[0]) if summary.single else values


def _check(variant: Any, eta: Any, normalizer: Any) -> float:
    """Refuse options that make no sense; return eta."""
    check_choice("variant", variant, *ETA)
    if eta is not None and not 0 <= as_number(eta) < np.inf:
        raise InputError(
            f"eta must be a finite number of at least 0; got {shown(eta)}. A negative one rewards wrong coverage"
        )
    if normalizer is not None and not 0 < as_number(normalizer) < np.inf:
        raise InputError(f"normalizer must be a finite number above 0; got {shown(normalizer)}")
    return ETA[variant] if eta is None else float(eta)


def _range_of(summary: IntervalMoments) -> float:
    low, high = summary.extremes.tolist()
    if not 0 < high - low < np.inf:
        raise InputError(
            f"the range of y, by which widths are divided, is {shown(high - low)} (from {shown(low)} to "
            f"{shown(high)}). Pass normalizer=, in the unit of y"
        )
    return float(high - low)
