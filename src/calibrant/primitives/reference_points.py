"""Points from which distances of outcomes and draws are taken, made without a look at the outcome of the row."""

from __future__ import annotations

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.weights import FloatArray


def other_outcomes(y: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the outcome of another row for each row: y (n, D) moved round by a random number of rows.

    >>> other_outcomes(np.array([[1.0], [2.0]]), np.random.default_rng(0)).tolist()
    [[2.0], [1.0]]
    """
    n = len(y)
    if n < 2:
        raise NotApplicableError('references="other" are outcomes of other rows, and there is one row; pass an array')
    return np.roll(y, int(rng.integers(1, n)), axis=0)


def fitted_outcomes(y: FloatArray, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return what the covariates x (n, q) tell of y (n, D), plus noise of the same size.

    The rows are halved at random. Each half is predicted by least squares from the other half, and a residual of the
    other half, drawn at random, is added.
    """
    n = len(y)
    if n < 4:
        raise NotApplicableError(
            f'references="covariates" fits outcomes on half of the rows and needs 4 rows or more; got {n}. '
            "Pass references as an array"
        )
    centre = x.min(axis=0) / 2 + x.max(axis=0) / 2
    half = x.max(axis=0) / 2 - x.min(axis=0) / 2
    design = np.column_stack([np.ones(n), (x - centre) / np.where(half > 0, half, 1.0)])  # in [-1, 1]
    order = rng.permutation(n)
    references = np.empty(y.shape)
    for own, other in ((order[: n // 2], order[n // 2 :]), (order[n // 2 :], order[: n // 2])):
        coefficients = np.linalg.lstsq(design[other], y[other], rcond=None)[0]
        residuals = y[other] - design[other] @ coefficients
        references[own] = design[own] @ coefficients + residuals[rng.integers(len(other), size=len(own))]
    return references
