"""`calibration_test`: four tests on shared redraws, judged together by their smallest p-value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.bins import GRID_ORDER
from calibrant.core.catalogue import Entry, enter, ordered, public
from calibrant.core.null import (
    MAX_ENTRIES_REDRAWN,
    MIN_INFORMATION,
    RedrawOptions,
    redraw_events,
    resampled_pvalue,
    upper_counts,
)
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool, tie_ends
from calibrant.core.pvalues import brownian_range_sf, normal_sf
from calibrant.core.results import TestResult
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import generator
from calibrant.probabilities.cumulative import KUIPER

TESTS = ("kuiper", "spiegelhalter", "cox", "smooth")
SMOOTH_ORDER = 8  # of the polynomials of the smooth test
LARGEST_LOGIT = 35.0  # beyond it float64 does not tell p from 1
RANK_TOLERANCE = 1e-10  # relative size of the directions in which a quadratic form has no variance


@public
def calibration_test(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test calibration by four tests together: the one to use when nothing is known about the error.

    With r = y - p and v = p(1 - p), the statistics are

    ===============  ==================================================================================================
    kuiper           the range of the cumulative differences: an error over some stretch of scores
    spiegelhalter    :math:`|\sum w r (1 - 2p)|`: predictions that are too extreme or too timid
    cox              the score statistic of logistic recalibration, a + b logit p: a wrong level or slope
    smooth           Neyman's smooth statistic of order 8: errors that change their sign along the scores
    ===============  ==================================================================================================

    The last two are :math:`U^\top V^{-1} U` with :math:`U = \sum w r x` and :math:`V = \sum w^2 v x x^\top` for
    x = (1, logit p), and for the Legendre polynomials of degree 0 to 8 of the score's rank, in which each row counts by
    its information :math:`w^2 v`. Outcomes are redrawn from the scores, the same redraws for all four, and each gets
    its p-value in each redraw. The result is the p-value of the smallest of the four, against the smallest ones of the
    redraws; equal ones are told apart by the second smallest. It is exact up to 1,000 different scores, with ties and
    weights; more are pooled first.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`; one probability per row.
    resamples, rng
        Number of redraws, and the random generator or its seed.

    Returns
    -------
    TestResult
        `statistic` is the smallest p-value of the four and `pvalue` its p-value; `estimate` is the range of the
        cumulative differences (`cutoff_error`). `details` has the p-value of each test, not adjusted, and the smallest
        p-value that so many redraws can give.

    Examples
    --------
    Every prediction of 0.2 happens half of the time:

    >>> result = calibration_test([0, 1] * 100, [0.2] * 200)
    >>> result.pvalue < 1e-9, round(result.estimate, 6)
    (True, 0.3)
    """
    options = RedrawOptions(resamples, rng)
    return CALIBRATION_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


def _finish(summary: Ordered, options: RedrawOptions) -> TestResult:
    rows = summary.at_most(MAX_ENTRIES_REDRAWN, width_bins=GRID_ORDER)
    tests, B = FourStatistics(rows.pool), options.resamples
    parts = [tests.of(np.asarray(rows.events, np.float64)[None])]
    parts += [tests.of(events) for events in redraw_events(rows.pool, B, generator(options.rng))]
    found = smallest_of_four(
        np.concatenate(parts, axis=1),
        n=summary.n,
        estimate=KUIPER.estimate(summary, options),
        how=f"{B} shared redraws of the outcomes",
    )
    tail = 0.0 if has_impossible(summary) else tests.tail(rows.events)
    if tail >= found.pvalue:
        return found
    return replace(found, pvalue=tail, statistic=min(float(found.statistic), tail / len(TESTS)))


def has_impossible(rows: Ordered) -> bool:
    return bool(rows.events[rows.score == 0].any() or (rows.count - rows.events)[rows.score == 1].any())


def smallest_of_four(statistics: FloatArray, *, n: int, estimate: float, how: str) -> TestResult:
    """Return the joint test, given the statistics (4, 1 + replicates) of the data and of replicates."""
    ranks, B = upper_counts(statistics), statistics.shape[1] - 1
    smallest = smallest_ranks(ranks, B + 1)
    extreme = int(np.count_nonzero(smallest[1:] <= smallest[0]))
    each = {name: float(rank) / (B + 1) for name, rank in zip(TESTS, ranks[:, 0], strict=True)}
    statistic, pvalue = float(ranks[:, 0].min()) / (B + 1), float(resampled_pvalue(extreme, B))
    details = {**each, "smallest possible": float(resampled_pvalue(0, B))}
    return TestResult(statistic, pvalue, estimate, f"smallest p-value of {', '.join(TESTS)} on {how}", n, details)


class FourStatistics:
    """The four statistics of sorted entries, as functions of the number of events of each."""

    def __init__(self, pool: Pool) -> None:
        p, w, count, _ = pool
        w = w / w.max()  # a common factor changes nothing, and must not leave the range of float32
        self.expected, self.weight, self.ends = count * p, w, tie_ends(p)
        v = w * w * count * p * (1 - p)
        with np.errstate(divide="ignore"):
            logit = np.clip(np.log(p) - np.log1p(-p), -LARGEST_LOGIT, LARGEST_LOGIT)
        score: NDArray[np.intp] = np.cumsum(self.ends) - self.ends  # which different score an entry has
        u = _mid_ranks(np.asarray(np.bincount(score, v), np.float64))[score]
        self.spread = w * (1 - 2 * p)
        self.variance, self.spread_variance = float(v.sum()), float((v * (1 - 2 * p) ** 2).sum())
        self.cox = _whitened(np.stack([np.ones_like(p), logit], axis=1), w, v)
        polynomials: FloatArray = np.asarray(np.polynomial.legendre.legvander(u, SMOOTH_ORDER), np.float64)
        self.smooth = _whitened(polynomials, w, v)

    def of(self, events: NDArray[Any]) -> FloatArray:
        r = events - self.expected
        walk = np.cumsum(self.weight * r, axis=1)[:, self.ends]
        extent = walk.max(axis=1, initial=0.0) - walk.min(axis=1, initial=0.0)
        with np.errstate(over="ignore"):  # an event with p below 1e-300: infinite is larger than all others
            quadratic = [((r @ features) ** 2).sum(axis=1) for features in (self.cox, self.smooth)]
        return np.stack([extent, np.abs(r @ self.spread), *quadratic])

    def tail(self, events: NDArray[Any]) -> float:
        """Return four times the smaller p-value of Kuiper's and Spiegelhalter's test by their limit distributions.

        It is a p-value of all four together, for errors beyond what redraws can tell apart; 1 where the limits are
        not accurate.
        """
        extent, spread, *_ = self.of(np.asarray(events, np.float64)[None])[:, 0].tolist()
        found = [1.0]
        if self.variance >= MIN_INFORMATION:
            found.append(brownian_range_sf(extent / math.sqrt(self.variance)))
        if 0 < MIN_INFORMATION * float((self.spread**2).max()) <= self.spread_variance:
            found.append(2 * normal_sf(spread / math.sqrt(self.spread_variance)))
        return len(TESTS) * min(found)


def _mid_ranks(mass: FloatArray) -> FloatArray:
    """Return the mid-ranks of scores with these masses, scaled to [-1, 1]; 0 if there is no mass."""
    total = float(mass.sum())
    return np.asarray(2 * (np.cumsum(mass) - 0.5 * mass) / total - 1 if total > 0 else np.zeros_like(mass))


def _whitened(x: FloatArray, w: FloatArray, v: FloatArray) -> FloatArray:
    """Return features whose sums against r have mean 0 and the identity as covariance, if calibrated."""
    values, vectors = np.linalg.eigh(x.T @ (v[:, None] * x))
    kept = values > RANK_TOLERANCE * max(float(values[-1]), 0.0)
    features: FloatArray = w[:, None] * (x @ (vectors[:, kept] / np.sqrt(values[kept])))
    return features


def smallest_ranks(ranks: NDArray[np.int64], most: int) -> FloatArray:
    """Return the smallest of four ranks, 1 to `most`, for each replicate, plus a part of 1 that grows with the second.

    Each statistic has a replicate with rank 1: without the second smallest, four or so would share the first place.
    """
    first, second = np.sort(ranks, axis=0)[:2]
    return np.asarray(first + second / (most + 1))


CALIBRATION_TEST = enter(
    Entry(calibration_test, RedrawOptions, ordered, _finish, reads=(Ordered,), kind="test", perfect=1.0)
)
