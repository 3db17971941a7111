"""Confidence limits of squared kernel errors, which are squares of norms.

With the feature φ = k((p, y), ·) - E k((p, Z), ·) of a row, h of two rows is the product of their features, and the
biased error is the squared length of the mean feature. A length is a supremum over directions f of length 1. The
direction of the true mean does not depend on the outcomes, so the true length exceeds that of the estimate by the noise
in one direction at most. Its variance is at most the largest eigenvalue of Σ w² E φφᵀ / W², which is at most

    top = (Σ_ij w_i² w_j² h_ij²)^(1/2) / W² .

In the other direction the length of the noise is at most the root of own = Σ w² h_ii / W² on average, and exceeds it by
z √top at most (Gaussian isoperimetry).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.core.limits import Limits
from calibrant.core.null import MIN_INFORMATION
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.forms import ChangedForm, Form
from calibrant.kernels.pair_sums import pair_sum

METHOD = "squares of limits of the root: it + z √top above, it - √own - z √top below"


@dataclass(frozen=True)
class NormNoise:
    """How much the length of a mean feature varies: in all directions together, and in one direction."""

    own: float
    top: float
    information: float  # number of rows of variance 1 that vary as much

    @classmethod
    def of_form(cls, form: Form, w: FloatArray, information: float) -> NormNoise:
        w2, own = w * w, form.diagonal()
        squares = 2 * pair_sum(ChangedForm(form, lambda h, i, j: np.square(h)), w2) + float((w2 * own * w2 * own).sum())
        total = float(w.sum()) ** 2
        return cls(float((w2 * own).sum()) / total, math.sqrt(squares) / total, information)

    def check(self) -> None:
        """Refuse rows that do not carry enough information for limits by the normal distribution."""
        if self.information < MIN_INFORMATION:
            raise NotApplicableError(
                f"limits of skce need a variance of the outcomes, summed over the rows, of at least "
                f"{MIN_INFORMATION:g} (unequal weights count less); got {self.information:.3g}. Use more rows"
            )

    def limits(self, estimate: float, square: float) -> Limits:
        """Return limits of the squared length of the true mean feature, given that of the observed one."""
        length, apart, one = (math.sqrt(max(0.0, value)) for value in (square, self.own, self.top))

        def low(rate: float) -> float:
            return max(0.0, length - max(0.0, apart - normal_quantile(rate) * one)) ** 2

        def high(rate: float) -> float:
            return max(0.0, length - normal_quantile(rate) * one) ** 2

        return Limits(estimate, low, high, METHOD, largest=math.inf)
