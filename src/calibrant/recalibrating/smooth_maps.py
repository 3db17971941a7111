"""Smooth maps of one probability per row: temperature, logistic, beta and quadratic.

All are q = expit(η), where η is linear in functions of the score p, and minimise the mean log score of q. The logit is
x = ln p - ln(1 - p).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import map_rows
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit, refuse_where
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.mean_log_score import (
    CLIP_REMEDY,
    INSIDE,
    LogScore,
    check_both_classes,
    check_rows,
    clipped,
    expit,
    inside_rows,
    logit,
    separated,
    targets,
)
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared
from calibrant.recalibrating.newton import MAX_GRADIENT, NoOptimumError, Optimum, vanishes

ROUNDING = 1e-15  # of a sum whose terms cancel
QUADRATIC_STEPS = 50
SEPARATED = (
    "the outcomes are separated by the scores: {how}. No finite map minimises the log score; pass more rows, or use "
    "{method='logistic'}, {smoothing='platt'}"
)


def fit_temperature(rows: Binary, options: FitOptions) -> Fit:
    """Fit η = s x with s >= 0. The gradient in s rises strictly, so two sums tell whether it has a root above 0."""
    inside = inside_rows(rows, options, "temperature")
    check_both_classes(int(np.count_nonzero(rows.y)), rows.n)
    x, w = inside.x, inside.w
    if x.size and not x.any():
        raise NotApplicableError(
            "the scores are constant: all are 0.5, and no temperature changes them. Pass rows with different scores"
        )
    side = np.where(inside.y == 1, x, -x)
    if not (side < 0).any():
        raise NotApplicableError(SEPARATED, how="every score is on the side of its outcome")
    if float(w @ side) <= ROUNDING * float(w @ np.abs(side)):  # -2 times the gradient at s = 0
        _refuse_flat_ends("temperature", "slope", 0.0, inside.zeros + inside.ones, "at 0 or 1")
        value = math.log(2) * float(inside.y.size if is_unit(w) else w.sum()) / inside.total
        said = "the scores carry no or inverted information: the best temperature is infinite and every result is 0.5"
        return Fit({"slope": 0.0, "temperature": math.inf}, value, 0.0, ("slope",), (said,))
    found = LogScore((x,), inside.y, w, inside.total, intercept=False).optimum(np.ones(1))
    slope = float(found.point[0])
    return Fit({"slope": slope, "temperature": 1 / slope}, found.value, found.gradient)


def fit_logistic(rows: Binary, options: FitOptions) -> Fit:
    """Fit η = a + s x, by maximum likelihood or with the targets of Platt (2000)."""
    smoothed = options.smoothing == "platt"
    name = "logistic with Platt's smoothing" if smoothed else "logistic"
    inside = inside_rows(rows, options, name, keeps_ends=not smoothed)
    check_rows(inside, "logistic", 2)
    if not smoothed:
        rising, inverted = separated(inside)
        if rising or inverted:
            how = f"no event has a {'lower' if rising else 'higher'} score than a non-event"
            raise NotApplicableError(SEPARATED, how=how)
    target = targets(inside.y, inside.w, options)
    found = LogScore((inside.x,), target, inside.w, inside.total).optimum(np.array([0.0, 1.0]))
    intercept, slope = map(float, found.point)
    _refuse_flat_ends("logistic", "slope", slope, inside.zeros + inside.ones, "at 0 or 1")
    said: tuple[str, ...] = ()
    if slope < 0:
        said = (f"the ranking is inverted: the slope is {slope:.3g}, so higher scores become lower probabilities",)
    elif slope == 0:
        said = ("the scores carry no information: the slope is 0 and every result is the same",)
    return Fit({"intercept": intercept, "slope": slope}, found.value, found.gradient, (), said)


def _refuse_flat_ends(method: str, name: str, slope: float, count: int, where: str) -> None:
    """Refuse a map that does not rise although rows at 0 or 1 were left out as fitted exactly."""
    if count and slope <= 0:
        raise NotApplicableError(
            f"the best {method} map has {name} = {slope:.3g} and does not keep scores {where}, which "
            f"{count} {'row has' if count == 1 else 'rows have'}. {CLIP_REMEDY}"
        )


def fit_beta(rows: Binary, options: FitOptions) -> Fit:
    """Fit η = c + a ln p - b ln(1 - p) with a, b >= 0.

    The objective is convex. If its free optimum violates a bound or does not exist, the constrained one lies where
    a = 0, b = 0 or both.
    """
    inside = inside_rows(rows, options, "beta")
    check_rows(inside, "beta", 3)
    rising, inverted = separated(inside)
    if rising:
        raise NotApplicableError(SEPARATED, how="no non-event has a higher score than an event")
    score = LogScore((np.log(inside.p), -np.log1p(-inside.p)), inside.y, inside.w, inside.total, separable=True)
    boundary: tuple[str, ...] = ()
    try:
        found = score.optimum(np.array([0.0, 1.0, 1.0]))
        free = min(found.point[1:]) >= 0
    except NoOptimumError:
        free = False
    if not free:
        found, boundary = _best_face(replace(score, separable=False), inverted=inverted)
    c, a, b = map(float, found.point)
    _refuse_flat_ends("beta", "a", a, inside.zeros, "at 0")
    _refuse_flat_ends("beta", "b", b, inside.ones, "at 1")
    said = ("the scores carry no or inverted information: the best map is constant",) if a == b == 0 else ()
    return Fit({"a": a, "b": b, "c": c}, found.value, found.gradient, boundary, said)


def _best_face(score: LogScore, *, inverted: bool) -> tuple[Optimum, tuple[str, ...]]:
    """Return the best beta map with a = 0, b = 0 or both, and the names of the shapes that are 0.

    It is the optimum for a, b >= 0 if the gradient of the shapes that are 0 is not negative there, which is checked.
    Fully inverted scores have no finite optimum with one shape, and the constant map is the best.
    """
    w = np.ones(score.target.size) if is_unit(score.w) else score.w
    events, others = (float(w[score.target == k].sum()) for k in (1, 0))
    points = [np.array([math.log(events) - math.log(others), 0.0, 0.0])]  # the mean itself may round to 0 or 1
    for k in () if inverted else (0, 1):
        c, shape = replace(score, columns=(score.columns[k],)).optimum(np.array([0.0, 1.0])).point
        if shape > 0:
            points.append(np.array([c, shape, 0.0] if k == 0 else [c, 0.0, shape]))
    point, local = min(((point, score(point)) for point in points), key=lambda found: found[1].value)
    on_bound = np.array([False, *(point[1:] == 0)])
    if (local.gradient[on_bound] < -MAX_GRADIENT).any():
        raise NoOptimumError("the beta fit did not converge on its bound; pass more rows")
    gradient = float(np.abs(local.gradient[~on_bound]).max())
    boundary = tuple(name for name, bound in zip("ab", on_bound[1:], strict=True) if bound)
    return Optimum(point, local.value, gradient, len(points)), boundary


def fit_quadratic(rows: Binary, options: FitOptions) -> Fit:
    inside = inside_rows(rows, options, "quadratic", keeps_ends=False)
    check_rows(inside, "quadratic", 3)
    x = inside.x
    score = LogScore((x, x * x), inside.y, inside.w, inside.total, separable=True)
    try:
        found = score.optimum(np.array([0.0, 1.0, 0.0]), steps=QUADRATIC_STEPS)
        with suppress(np.linalg.LinAlgError):  # scores so close to each other that nothing can be said
            if vanishes(replace(score, separable=False), np.zeros(3), found.point):
                raise NoOptimumError
    except NoOptimumError:
        how = "a quadratic map puts all rows, or nearly all, on the side of their outcomes"
        raise NotApplicableError(SEPARATED, how=how) from None
    intercept, slope, curvature = map(float, found.point)
    return Fit({"intercept": intercept, "slope": slope, "curvature": curvature}, found.value, found.gradient)


def _of_beta(m: Parameters, p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(m["c"] + _times(m["a"], np.log(p)) - _times(m["b"], np.log1p(-p)))


def _of_quadratic(m: Parameters, p: FloatArray) -> FloatArray:
    x = logit(p)
    return np.asarray(m["intercept"] + (m["slope"] + m["curvature"] * x) * x)


def _times(slope: float | FloatArray, column: FloatArray) -> FloatArray:
    """Return the product, 0 for a slope of 0 also where the column is infinite."""
    if np.ndim(slope) == 0:
        return np.zeros_like(column) if slope == 0 else slope * column
    with np.errstate(invalid="ignore"):
        return np.where(slope == 0, 0.0, slope * column)


Eta: TypeAlias = Callable[[Parameters, FloatArray], FloatArray]


def _smooth(
    fit: Callable[[Binary, FitOptions], Fit], eta: Eta, parameters: Mapping[str, Parameter], **more: Any
) -> Method:
    """Return the method whose map is expit(η); the quadratic one has no η at 0 and 1."""

    def scores(p: NDArray[Any], options: FitOptions) -> FloatArray:
        found = clipped(p, options)
        if "curvature" in parameters:
            refuse_where((found == 0) | (found == 1), found, f"a quadratic map needs scores {INSIDE}", CLIP_REMEDY)
        return found

    def apply(m: Parameters, p: FloatArray, options: FitOptions) -> FloatArray:
        if any(np.ndim(value) for value in m.values()):  # the parameters of each row's group
            return expit(eta(m, scores(p, options)))
        return map_rows(lambda score: expit(eta(m, score)), scores(p, options))

    def log_scores(m: Parameters, rows: Binary, options: FitOptions) -> FloatArray:
        """Return ln(1 + exp(∓η)), which is exact where expit(η) rounds to 0 or 1."""
        found = eta(m, scores(rows.p, options))
        return np.asarray(np.logaddexp(0.0, np.where(rows.y == 1, -found, found)))

    count = len(parameters) - ("temperature" in parameters)
    return Method(fit, apply, parameters, count=lambda columns: count, log_scores=log_scores, **more)


def _check_temperature(m: Parameters) -> None:
    slope, temperature = m["slope"], m["temperature"]
    if not (temperature == math.inf if slope == 0 else math.isclose(slope * temperature, 1.0, rel_tol=1e-9)):
        raise InputError(f"temperature must be 1 / slope; got temperature {temperature:g} and slope {slope:g}")


SHAPE = Parameter(low=0.0)
TEMPERATURE = _smooth(
    fit_temperature,
    lambda m, p: _times(m["slope"], logit(p)),
    {"slope": SHAPE, "temperature": Parameter(low=0.0, infinite=True)},
    uses=("clip",),
    check=_check_temperature,
    compared=RowsCompared(),
)
LOGISTIC = _smooth(
    fit_logistic,
    lambda m, p: np.asarray(m["intercept"] + _times(m["slope"], logit(p))),
    {"intercept": Parameter(), "slope": Parameter()},
    uses=("smoothing", "clip", "groups"),
    on_logit=lambda m, a, s: {"intercept": a + s * m["intercept"], "slope": s * m["slope"]},
    compared=RowsCompared(),
)
BETA = _smooth(
    fit_beta,
    _of_beta,
    {"a": SHAPE, "b": SHAPE, "c": Parameter()},
    uses=("clip", "groups"),
    on_logit=lambda m, a, s: {"a": s * m["a"], "b": s * m["b"], "c": a + s * m["c"]},
    compared=RowsCompared(),
)
QUADRATIC = _smooth(
    fit_quadratic, _of_quadratic, dict.fromkeys(("intercept", "slope", "curvature"), Parameter()), uses=("clip",)
)
