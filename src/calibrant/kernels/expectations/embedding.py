"""The distance of mean embeddings."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.means import TargetMeans


def squared_embedding_distance(means: TargetMeans, i: Rows, j: Rows) -> FloatArray:
    """Return E k(Z₁, Z₂) - 2 E k(Z, Z') + E k(Z'₁, Z'₂), Z of row i and Z' of row j; what rounding makes negative is 0.

    The distance of the laws in the Hilbert space of the kernel (Christmann and Steinwart 2010), so that every shape of
    kernel is positive definite with it. Of draws all pairs are taken, equal ones too.
    """
    return np.maximum(means.own[i] - 2 * means.inner(i, j) + means.own[j], 0.0)
