"""Isotonic regression of pooled outcomes on the order of the scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray


class Blocks(NamedTuple):
    """Neighbouring scores with one fitted frequency: the fit, their weight and event weight, and how many they are."""

    fit: FloatArray
    weight: NDArray[Any]
    event_weight: NDArray[Any]
    length: NDArray[np.intp]


def isotonic_blocks(event_weight: NDArray[Any], weight: NDArray[Any]) -> Blocks:
    """Fit a non-decreasing frequency to event_weight / weight, scores ascending.

    Neighbours whose frequencies do not rise have the same fit, so that such runs are pooled first: with single rows
    that leaves a third of them or fewer.
    """
    from scipy.optimize import isotonic_regression

    frequency = event_weight / weight
    starts = np.flatnonzero(np.concatenate(([True], frequency[1:] > frequency[:-1])))
    del frequency
    w, e = np.add.reduceat(weight, starts), np.add.reduceat(event_weight, starts)
    fit = isotonic_regression(e / w, weights=w.astype(np.float64)).x
    return Blocks(np.clip(fit, 0.0, 1.0), w, e, np.diff(starts, append=weight.size))


def isotonic_fit(event_weight: NDArray[Any], weight: NDArray[Any]) -> FloatArray:
    """Return the fitted frequency of each score."""
    blocks = isotonic_blocks(event_weight, weight)
    return np.repeat(blocks.fit, blocks.length)
