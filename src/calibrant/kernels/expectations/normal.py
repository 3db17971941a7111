"""Means of a kernel under normal laws, in units of the length scale.

Everywhere d ≥ 0 is the distance of the means (or of the mean and the point) and s > 0 the standard deviation of the
difference: that of the law for one expectation, (σ² + σ'²)^½ for two.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.inputs.weights import FloatArray

ROOT_HALF = math.sqrt(0.5)


def normal_gaussian(d: FloatArray, s: FloatArray) -> FloatArray:
    """Return E exp(-D²/2) of D ~ Normal(d, s): exp(-d² / (2v)) / √v with v = 1 + s².

    >>> float(normal_gaussian(np.array(0.0), np.array(math.sqrt(3))).round(12))
    0.5
    """
    v = 1 + s * s
    return np.asarray(np.exp(-0.5 * d * d / v) / np.sqrt(v))


def normal_exponential(d: FloatArray, s: FloatArray) -> FloatArray:
    """Return E exp(-|D|) of D ~ Normal(d, s).

    >>> float(normal_exponential(np.array(0.0), np.array(1.0)).round(12))
    0.52315658373
    """
    right, left, _ = folded(d, d / s, s)
    return right + left


def folded(d: FloatArray, r: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return E exp(-|D|) of D ~ Normal(d, s) on {D > 0} and on {D < 0}, and exp(-r²/2); r = d/s.

    The first is exp(s²/2 - d) Φ(r - s), which for r <= s is written with erfcx so that nothing overflows.
    """
    from scipy.special import erfcx

    g = np.exp(-0.5 * r * r)
    near = 0.5 * g * erfcx(ROOT_HALF * np.abs(s - r))
    whole = np.exp(np.minimum(0.5 * s * s - d, 0.0))  # below 0 wherever it is used
    return np.where(r <= s, near, whole - near), 0.5 * g * erfcx(ROOT_HALF * (s + r)), g
