"""Confidence intervals of distances between two sets of points, from independent blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from calibrant.errors import InputError, NotApplicableError
from calibrant.metrics.kernel_distance import kernel_distance
from calibrant.metrics.mmd import mmd
from calibrant.results import ConfidenceInterval
from calibrant.summaries.point_blocks import PointBlocks

FEWEST_BLOCKS = 10
KID_BLOCK = 1000  # points of a block of each set
SERVED: Mapping[str, Callable[..., float]] = {"mmd": mmd, "kernel_distance": kernel_distance}
OPTIONS = {
    "mmd": ("kernel", "bandwidth", "estimator", "blocksize", "rng"),
    "kernel_distance": ("blocksize",),
}


def serves(metric: Any) -> str | None:
    """Return the name of a distance of two sets of points, given by itself or by name; None for other metrics."""
    return next((name for name, verb in SERVED.items() if metric is verb or metric == name), None)


def interval_of_points(name: str, y: Any, points: Any, level: float, options: Mapping[str, Any]) -> ConfidenceInterval:
    """Return Student's interval of the mean over blocks."""
    from scipy.special import stdtrit

    unknown = set(options) - set(OPTIONS[name])
    if unknown:
        known = ", ".join(OPTIONS[name])
        raise InputError(f"interval of {name} has the options {known}; got {', '.join(sorted(unknown))}")
    summary = _blocks(name, y, points, options)
    if summary.blocks < FEWEST_BLOCKS:
        raise NotApplicableError(
            f"an interval of {name} takes at least {FEWEST_BLOCKS} blocks of {summary.m} points of each set; these "
            f"fill {summary.blocks}. Take a smaller blocksize, or more points"
        )
    half = float(stdtrit(summary.blocks - 1, (1 + level) / 2)) * summary.standard_error
    return ConfidenceInterval(
        low=summary.mean - half,
        high=summary.mean + half,
        estimate=summary.mean,
        level=level,
        method=f"Student's t over {summary.blocks} blocks of {summary.m} points",
        n=summary.n,
    )


def _blocks(name: str, y: Any, points: Any, options: Mapping[str, Any]) -> PointBlocks:
    if isinstance(y, PointBlocks):
        if points is not None or options:
            raise InputError("points and options cannot be given with PointBlocks, which hold both sets and theirs")
        return y
    if name == "kernel_distance":
        return PointBlocks.of(y, points, kernel="polynomial", **{"blocksize": KID_BLOCK, **options})
    if options.get("estimator") in ("unbiased", "biased"):
        raise NotApplicableError(
            f"no valid interval is known for estimator={options['estimator']!r}, over all pairs of points; "
            'use estimator="block" or "linear"'
        )
    return PointBlocks.of(y, points, **options)
