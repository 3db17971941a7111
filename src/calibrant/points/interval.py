"""Confidence intervals of distances between two sets of points, from independent blocks of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from calibrant.core.results import ConfidenceInterval
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.options import check_choice
from calibrant.kernels.point_kernels import NAMED, Polynomial
from calibrant.points.blocks import ESTIMATORS, PointBlocks
from calibrant.points.inputs import PointSets, read_point_sets
from calibrant.points.mmd import kernel_distance, mmd

FEWEST_BLOCKS, FEWEST_PAIRS = 100, 200
LEAST, LEAST_POLYNOMIAL = 10, 50  # points of a block of each set
LARGEST_BLOCK = 1000  # of features, as published values have it
SERVED: Mapping[str, Callable[..., float]] = {"mmd": mmd, "kernel_distance": kernel_distance}
OPTIONS = {
    "mmd": ("kernel", "bandwidth", "estimator", "blocksize", "rng"),
    "kernel_distance": ("blocksize",),
}


def serves(metric: Any) -> str | None:
    """Return the name of a distance of two sets of points, given by itself or by name; None for other metrics."""
    return next(
        (name for name, verb in SERVED.items() if metric is verb or (isinstance(metric, str) and metric == name)), None
    )


def interval_of_points(name: str, y: Any, points: Any, level: float, options: Mapping[str, Any]) -> ConfidenceInterval:
    """Return Student's interval of the mean over blocks."""
    from scipy.special import stdtrit

    unknown = set(options) - set(OPTIONS[name])
    if unknown:
        known = ", ".join(OPTIONS[name])
        raise InputError(f"interval of {name} has the options {known}; got {', '.join(sorted(unknown))}")
    summary = _blocks(name, y, points, options)
    _check_blocks(name, summary)
    half = float(stdtrit(summary.blocks - 1, (1 + level) / 2)) * summary.standard_error
    return ConfidenceInterval(
        low=summary.mean - half,
        high=summary.mean + half,
        estimate=summary.mean,
        level=level,
        method=f"Student's t over {summary.blocks} blocks of {summary.m} points",
        n=2 * summary.m * summary.blocks,
    )


def _check_blocks(name: str, summary: PointBlocks) -> None:
    """Refuse blocks whose values are so skewed, or so few, that Student's interval would not cover."""
    polynomial = isinstance(summary.kernel, Polynomial)
    if summary.estimator == "linear":
        if polynomial:
            raise NotApplicableError(
                "the polynomial kernel of pairs of points is too skewed for an interval; use blocks of 50 or more"
            )
        fewest, what = FEWEST_PAIRS, "pairs"
    else:
        least = LEAST_POLYNOMIAL if polynomial else LEAST
        if summary.m < least:
            raise NotApplicableError(
                f"an interval of {name} takes blocks of at least {least} points of each set; got {summary.m}"
            )
        fewest, what = FEWEST_BLOCKS, f"blocks of {summary.m} points"
    if summary.blocks < fewest:
        raise NotApplicableError(
            f"an interval of {name} takes at least {fewest} {what} of each set, {fewest * summary.m:,} points; these "
            f"fill {summary.blocks}"
        )


def _blocks(name: str, y: Any, points: Any, options: Mapping[str, Any]) -> PointBlocks:
    if isinstance(y, PointBlocks):
        if points is not None or options:
            raise InputError("points and options cannot be given with PointBlocks, which hold both sets and theirs")
        if name == "kernel_distance" and y.kernel != NAMED["polynomial"]:
            raise SummaryError(
                'interval of kernel_distance takes PointBlocks made with kernel="polynomial"; these were made with '
                f"{y.kernel!r}. Make them with that kernel, or ask for the interval of mmd"
            )
        return y
    given = {"estimator": "block", "kernel": "polynomial" if name == "kernel_distance" else "gaussian", **options}
    check_choice("estimator", given["estimator"], "unbiased", "biased", *ESTIMATORS)
    if given["estimator"] not in ESTIMATORS:
        raise NotApplicableError(
            f"no valid interval is known for estimator={given['estimator']!r}, over all pairs of points; "
            'use estimator="block" or "linear"'
        )
    if given.get("blocksize") is None and given["estimator"] == "block":
        polynomial = isinstance(given["kernel"], str) and given["kernel"] == "polynomial"
        given["blocksize"] = _blocksize(read_point_sets(y, points), polynomial)
    return PointBlocks.of(y, points, **given)


def _blocksize(sets: PointSets, polynomial: bool) -> int:
    """Return the points of a block: as many as leave a hundred blocks, but no more than √n, or 1000 of features."""
    n = min(sets.n, sets.m)
    return (
        max(LEAST_POLYNOMIAL, min(n // FEWEST_BLOCKS, LARGEST_BLOCK))
        if polynomial
        else max(LEAST, min(n // FEWEST_BLOCKS, math.isqrt(n)))
    )
