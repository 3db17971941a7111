"""Points from which distances of outcomes and draws are taken, made without a look at the outcome of the row."""

from __future__ import annotations

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.weights import FloatArray

FOLDS = 3


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

    The rows are put into thirds at random. Each third is predicted by least squares from the next one, the last from
    the first, and a residual of that one, drawn at random, is added. Two halves that predict each other would make the
    ranks of both go the same way: with 20 rows and 3 covariates a test at 5 % then rejects 6.4 %.
    """
    n, needed = len(y), FOLDS * (x.shape[1] + 1)
    if n < needed:
        raise NotApplicableError(
            f'references="covariates" fits outcomes on thirds of the rows and needs {needed} rows or more for '
            f"{x.shape[1]} covariates; got {n}. Pass fewer covariates, or references as an array"
        )
    centre = x.min(axis=0) / 2 + x.max(axis=0) / 2
    half = x.max(axis=0) / 2 - x.min(axis=0) / 2
    design = np.column_stack([np.ones(n), (x - centre) / np.where(half > 0, half, 1.0)])  # in [-1, 1]
    order = rng.permutation(n)
    references = np.empty(y.shape)
    thirds = np.array_split(order, FOLDS)
    for own, other in zip(thirds, [*thirds[1:], thirds[0]], strict=True):
        coefficients = np.linalg.lstsq(design[other], y[other], rcond=None)[0]
        residuals = y[other] - design[other] @ coefficients
        references[own] = design[own] @ coefficients + residuals[rng.integers(len(other), size=len(own))]
    return references
