"""Maximum mean calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.bins import width_edges
from calibrant.core.catalogue import Entry, Shown, enter, ordered, public
from calibrant.core.limits import Limits, Noise
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_positive
from calibrant.kernel_errors.sums import kernel_sum
from calibrant.kernels.kernel import Exponential

BANDWIDTH = 0.2


@public
def mmce(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    bandwidth: float = BANDWIDTH,
    balanced: bool = False,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Maximum mean calibration error: a kernel average of the residuals, without bins.

    With the probability r, the residual :math:`e = y - r` and :math:`k(r, r') = \exp(-|r - r'|/\text{bandwidth})`,

    .. math:: \mathrm{MMCE} = \Bigl(\frac{1}{n^2} \sum_{i,j} e_i e_j k(r_i, r_j)\Bigr)^{1/2},

    pairs of a row with itself included; a value that rounding makes negative is taken as 0 before the root. For class
    probabilities r is that of the most probable class (the first of tied ones) and y says whether it came true.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`.
    bandwidth
        Length scale of the kernel, above 0.
    balanced
        The weighted form MMCE_w of Kumar, Sarawagi and Jain (2018), a penalty for training: right and wrong rows get
        the weights (1 - r)/n₁ and -r/n₀. It is not 0 for calibrated predictions unless half of the rows are right.

    Examples
    --------
    One prediction of 0.25 that did not happen: :math:`e = -0.25`.

    >>> mmce([0], [0.25])
    0.25

    Residuals of -0.5 and 0.5 at the same score cancel:

    >>> mmce([0, 1], [0.5, 0.5])
    0.0
    """
    options = MmceOptions(bandwidth, balanced)
    return MMCE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class MmceOptions:
    bandwidth: float
    balanced: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", check_positive("bandwidth", self.bandwidth, "such as 0.2"))


def _finish(summary: Ordered, options: MmceOptions) -> float:
    kernel = Exponential(options.bandwidth)
    r, w, rows, events = summary.pool
    if not options.balanced:
        return float(mmce_of_events(summary, events[None], options.bandwidth)[0])
    right, wrong = (w * events).sum(), (w * (rows - events)).sum()
    if not right > 0 or not wrong > 0:
        raise NotApplicableError(
            f"balanced=True divides by the weight of right and of wrong rows; got {right:g} and {wrong:g}"
        )
    a = w * (events * (1 - r) / right - (rows - events) * r / wrong)
    return float(np.sqrt(max(0.0, float(kernel_sum(r, a, kernel)))))


def mmce_of_events(summary: Ordered, events: NDArray[Any], bandwidth: float = BANDWIDTH) -> FloatArray:
    """Return the error for event counts (replicates, entries)."""
    r, w, rows, _ = summary.pool
    Q = kernel_sum(r, w * (events - rows * r), Exponential(bandwidth))
    return np.asarray(np.sqrt(np.maximum(Q, 0.0)) / summary.total_weight)


def _limits(summary: Ordered, options: MmceOptions) -> Limits:
    """Return limits of the norm of a function whose values at one score are at most 1: a supremum.

    The mean of the norm of its noise is at most s, and exceeds it by z s at most (Gaussian isoperimetry).
    """
    if options.balanced:
        raise NotApplicableError("no valid limits are known for balanced=True; leave it at False")
    estimate, table = _finish(summary, options), summary.bins(width_edges(1))
    noise = Noise.of_table(table, summary.weight_max)
    noise.check("mmce")
    method = "normal upper limit; lower limit one standard deviation farther from the estimate"
    return noise.limits(estimate, lambda rate: (1 - normal_quantile(rate)) * noise.scale, method)


MMCE = enter(
    Entry(
        mmce,
        MmceOptions,
        ordered,
        _finish,
        limits=_limits,
        reads=(Ordered,),
        predictions=("binary", "classes"),
        range=(0.0, 1.0),
        mean=True,
        audit={"": Shown("maximum mean calibration error (MMCE), bandwidth 0.2", grows=True)},
    )
)
