"""Calibration rows of every kind."""

from statistics import NormalDist

import numpy as np
import pytest

from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples, Sets


@pytest.fixture(scope="session")
def calibration_rows():
    """Return outcomes and predictions of 60 rows, by kind and method, for which the map exists."""
    return _rows


def _rows(kind, method, seed=3):
    rng = np.random.default_rng(seed)
    y, middle = rng.normal(size=60), rng.normal(size=60) / 3
    if kind == "binary":
        p = rng.uniform(0.05, 0.95, 60)
        return (rng.uniform(size=60) < p).astype(int), p
    if kind == "classes":
        P = rng.dirichlet(np.ones(3), 60)
        return (P.cumsum(axis=1)[:, :-1] < rng.uniform(size=(60, 1))).sum(axis=1), P
    if kind == "intervals":
        return y, Intervals(np.stack([middle - 1, middle - 2], 1), np.stack([middle + 1, middle + 2], 1), [0.5, 0.9])
    if kind == "sets":
        small = rng.uniform(size=(60, 4)) < 0.5
        return rng.integers(0, 4, 60), Sets(np.stack([small, small | (rng.uniform(size=(60, 4)) < 0.5)], 2), [0.6, 0.8])
    if kind == "quantiles":
        levels = [0.01, 0.25, 0.5, 0.75, 0.99] if method == "pit" else [0.1, 0.5, 0.9]
        return y, Quantiles(middle[:, None] + NormalDist().inv_cdf(0.9) * 8 * (np.array(levels) - 0.5), levels)
    if kind == "samples":
        return y, Samples(middle[:, None] + rng.normal(size=(60, 15)))
    if kind == "distributions":
        return y, Normal(middle, np.full(60, 0.7))
    return None, CdfValues(rng.uniform(size=60))
