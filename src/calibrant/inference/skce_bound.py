"""Distribution-free bounds of the squared kernel calibration error: valid at any number of rows, and weak."""

from __future__ import annotations

import numpy as np

from calibrant.kernels.kernel import JointKernel, Kernel, Product


def unbiased_pvalue(t: float, *, n: int, m: int, bound: float) -> float:
    """Return p for the mean over blocks of m of n rows (m = n: no blocks); Hoeffding's bound of a U-statistic."""
    if t <= 0:
        return 1.0
    N = (n // m) * (m // 2)
    with np.errstate(over="ignore"):
        return float(np.exp(-N * np.square(t / bound) / 2))


def biased_pvalue(t: float, *, n: int, bound: float) -> float:
    """Return p for the biased estimate of all pairs, itself a square; McDiarmid's bound of its root."""
    return float(np.exp(-0.5 * max(0.0, np.sqrt(n * max(t, 0.0) / bound) - 1) ** 2))


def largest_h(kernel: Product | JointKernel) -> float:
    """Return a bound of |h|: 2 sup k for kernels without negative values, 4 sup |k| otherwise."""
    factors: tuple[Kernel | JointKernel, ...]
    factors = (kernel,) if isinstance(kernel, JointKernel) else (kernel.prediction, kernel.target)
    supremum = float(np.prod([_largest(factor) for factor in factors]))
    return (4.0 if any(factor.signed for factor in factors) else 2.0) * supremum


def _largest(factor: Kernel | JointKernel) -> float:
    """Return what a kernel says of itself, or its value at 0 if that is more."""
    return factor.supremum if isinstance(factor, JointKernel) else max(factor.supremum, abs(factor.at_zero))
