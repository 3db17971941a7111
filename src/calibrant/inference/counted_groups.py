"""Kuiper's test in groups whose rows were counted in cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from calibrant.inference.group_test import POWER, GroupFindings
from calibrant.inference.kuiper_test import kuiper_test
from calibrant.inference.tails import brownian_range_sf, normal_quantile
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.multiplicity import holm
from calibrant.summaries import Grid

HALVINGS = 60
WIDEST = 40.0  # a range that a Brownian motion on [0, 1] has with a probability that float64 does not know


def counted_groups(groups: Iterable[tuple[str, Grid]], *, level: float, rng: np.random.Generator) -> GroupFindings:
    """Test each group by itself, and adjust the p-values for their number (Holm).

    The minimum detectable constant error has 80 % power at the level that the first of all groups must reach, by the
    limit law of the statistic.
    """
    names, lines = [], []
    for name, grid in groups:
        test: Any = kuiper_test(grid, rng=rng)
        whole = grid.bins(1)
        predicted, observed = float(whole.mean_predicted[0]), float(whole.mean_observed[0])
        names.append(name)
        lines.append(
            (grid.n, whole.w[0], test.estimate, test.statistic, test.pvalue, predicted, observed, test.details["scale"])
        )
    n, weight, estimate, statistic, pvalue, predicted_, observed_, scale = map(np.array, zip(*lines, strict=True))
    return GroupFindings(
        names=names,
        n=n,
        weight=weight,
        estimate=estimate,
        statistic=statistic,
        pvalue=pvalue,
        pvalue_adjusted=holm(pvalue),
        predicted=predicted_,
        bias=observed_ - predicted_,
        minimum_detectable=_detectable(scale, (1 - level) / len(names)),
    )


def _detectable(scale: FloatArray, size: float) -> FloatArray:
    return np.asarray((_critical(size) + normal_quantile(POWER)) * scale)


def _critical(size: float) -> float:
    """Return the value that the range of a Brownian motion exceeds with this probability.

    >>> round(_critical(0.05), 3)
    2.498
    """
    low, high = 0.0, WIDEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if brownian_range_sf(middle) > size else (low, middle)
    return (low + high) / 2
