"""The rows that a smooth binary map is fitted on, and the mean log score that it minimises."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import CHUNK_ROWS, on_threads
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit, refuse_where, take_weights
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.newton import Local, NoOptimumError, Optimum, minimise

SAMPLE_ROWS = 50_000  # of more rows a sample is fitted first, which leaves three or four passes over all of them
MIN_SAMPLE_STEP = 4  # a sample of more than every fourth row saves too little
INSIDE = "inside (0, 1)"
FEWER = "Pass more rows, or use a method with fewer parameters"
CLIP_REMEDY = "Limit the scores with clip= of recalibrate (--clip), such as 1e-6, or correct such rows"


@dataclass(frozen=True)
class Inside:
    """The rows with 0 < p < 1, on which smooth maps are fitted.

    A row with p = 0 that did not happen, or p = 1 that did, is fitted exactly by every map with a positive slope. It
    counts in `total`, the weight of all rows, and adds nothing to the sums.
    """

    y: NDArray[np.uint8]
    p: FloatArray
    w: FloatArray
    total: float
    zeros: int
    ones: int

    @property
    def x(self) -> FloatArray:
        return logit(self.p)


def logit(p: FloatArray) -> FloatArray:
    """Return ln p - ln(1 - p), infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def expit(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)); NumPy's exponential takes a seventh of the time of `scipy.special.expit`."""
    with np.errstate(over="ignore"):  # below -709, where the result is 0
        return np.asarray(1 / (1 + np.exp(-x)))


def clipped(p: NDArray[Any], options: FitOptions) -> FloatArray:
    """Return the scores as float64, limited to [clip, 1 - clip] if the option is given."""
    q = p.astype(np.float64, copy=False)
    return q if options.clip is None else np.clip(q, options.clip, 1 - options.clip)


def targets(y: NDArray[Any], w: FloatArray, options: FitOptions) -> NDArray[Any]:
    """Return the outcomes, or those of Platt (2000): (N₁ + 1)/(N₁ + 2) for events and 1/(N₀ + 2) for others."""
    if options.smoothing is None:
        return y
    events, others = (float(np.count_nonzero(y == k) if is_unit(w) else w[y == k].sum()) for k in (1, 0))
    return np.where(y == 1, (events + 1) / (events + 2), 1 / (others + 2))


def inside_rows(rows: Binary, options: FitOptions, method: str, *, keeps_ends: bool = True) -> Inside:
    """Return the rows inside (0, 1); refuse rows at 0 and 1 that the method cannot fit."""
    p = clipped(rows.p, options)
    total = float(rows.n if is_unit(rows.w) else rows.w.sum())
    if p.min() > 0 and p.max() < 1:
        return Inside(rows.y, p, rows.w, total, 0, 0)
    zero, one = p == 0, p == 1
    if not keeps_ends:
        refuse_where(zero | one, p, f"{method} needs scores {INSIDE}", CLIP_REMEDY)
    bad = np.where(rows.y == 1, zero, one)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the score of {{row}} is {p[row]:g} and the outcome is {rows.y[row]}: no {method} map gives such a row a "
            f"finite log score. {CLIP_REMEDY}",
            row=row,
            value=float(p[row]),
        )
    left = np.flatnonzero(~(zero | one))
    return Inside(rows.y[left], p[left], take_weights(rows.w, left), total, int(zero.sum()), int(one.sum()))


def check_rows(rows: Inside, method: str, parameters: int) -> None:
    """Refuse one class, constant scores, and fewer rows or scores than parameters; rows at 0 and 1 do not count."""
    where = f" {INSIDE}" if rows.zeros or rows.ones else ""
    events = int(np.count_nonzero(rows.y))
    check_both_classes(events, rows.y.size, where)
    low, high = float(rows.p.min()), float(rows.p.max())
    if low == high:
        raise NotApplicableError(
            f"the scores{where} are constant: all are {low:g}, which determines no slope. Pass rows of other scores"
        )
    different = 2 + bool(((rows.p != low) & (rows.p != high)).any())  # 3 or more
    for found, what in ((rows.y.size, "rows"), (different, "different scores")):
        if found < parameters:
            raise NotApplicableError(
                f"{method} has {parameters} parameters and needs at least as many {what}{where}; got {found}. {FEWER}"
            )


def check_both_classes(events: int, n: int, where: str = "") -> None:
    if n == 0:
        raise NotApplicableError(f"no score lies{where}. Pass rows of both classes there")
    if events in (0, n):
        only = "did not happen" if events == 0 else "happened"
        raise NotApplicableError(
            f"only one class occurs: of {n} rows{where} every one {only}. Pass rows of both classes"
        )


def separated(inside: Inside) -> tuple[bool, bool]:
    """Tell whether no event has a lower, and whether no event has a higher score than a non-event."""
    events, others = (inside.p[inside.y == k] for k in (1, 0))
    return bool(others.max() <= events.min()), bool(events.max() <= others.min())


@dataclass(frozen=True)
class LogScore:
    """The mean log score of expit(θ₀ + θ₁ c₁ + ...), or without θ₀, as an objective of θ."""

    columns: tuple[FloatArray, ...]  # the functions c₁, c₂, ... of the scores
    target: NDArray[Any]  # the outcome of each row, or what stands for it
    w: FloatArray
    total: float  # the weight by which sums are divided
    intercept: bool = True  # whether there is a θ₀
    separable: bool = False  # whether columns can separate the outcomes; a point that does so ends the search

    def __call__(self, theta: FloatArray) -> Local:
        def work(part: slice) -> tuple[float, FloatArray, FloatArray, float, float]:
            return self._sums(theta, part)

        values, gradients, hessians, lowest, highest = zip(
            *on_threads(work, self.target.size, size=CHUNK_ROWS), strict=True
        )
        if self.separable and min(lowest) >= 0 and max(highest) > 0:
            raise NoOptimumError("the outcomes are separated")
        return Local(
            math.fsum(values) / self.total,
            np.sum(gradients, axis=0) / self.total,
            np.sum(hessians, axis=0) / self.total,
        )

    def _sums(self, theta: FloatArray, part: slice) -> tuple[float, FloatArray, FloatArray, float, float]:
        columns, t = [column[part] for column in self.columns], self.target[part]
        slopes = theta[1:] if self.intercept else theta
        eta = np.full(t.size, theta[0]) if self.intercept else np.zeros(t.size)
        for slope, column in zip(slopes, columns, strict=True):
            eta += slope * column
        e = np.exp(-np.abs(eta))
        share = 1 / (1 + e)
        spread = e * share * share
        loss = np.maximum(eta, 0.0) - t * eta - np.log(share)
        residual = np.where(eta >= 0, share, e * share) - t  # expit(η) - t
        if not is_unit(self.w):
            w = self.w[part]
            loss, residual, spread = w * loss, w * residual, w * spread
        d = len(theta)
        gradient, hessian = np.empty(d), np.empty((d, d))
        first = int(self.intercept)
        if self.intercept:
            gradient[0], hessian[0, 0] = residual.sum(), spread.sum()
        for j, column in enumerate(columns, start=first):
            gradient[j] = residual @ column
            weighted = spread * column
            if self.intercept:
                hessian[0, j] = hessian[j, 0] = weighted.sum()
            for k, other in enumerate(columns[: j - first + 1], start=first):
                hessian[j, k] = hessian[k, j] = weighted @ other
        lowest = highest = 0.0
        if self.separable:
            margin = np.where(t > 0.5, eta, -eta)
            lowest, highest = float(margin.min()), float(margin.max())
        return float(loss.sum()), gradient, hessian, lowest, highest

    def optimum(self, identity: FloatArray, **options: Any) -> Optimum:
        """Return the minimum, searched from the identity, or from 0 where that is better.

        Of many rows a sample is fitted first, whose minimum is a good start for all rows.
        """
        step = self.target.size // SAMPLE_ROWS
        if step >= MIN_SAMPLE_STEP:
            with suppress(NoOptimumError):  # the sample may be separated although the rows are not
                return minimise(self, self._every(step).optimum(identity, **options).point, **options)
        zero = np.zeros_like(identity)
        return minimise(self, min(identity, zero, key=lambda theta: self(theta).value), **options)

    def _every(self, step: int) -> LogScore:
        columns = tuple(np.ascontiguousarray(column[::step]) for column in self.columns)
        target, w = np.ascontiguousarray(self.target[::step]), self.w[::step]
        total = float(target.size if is_unit(w) else w.sum())
        return replace(self, columns=columns, target=target, w=w, total=total)
