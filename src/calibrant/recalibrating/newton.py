"""Newton's method with damping, for smooth convex objectives: the optimum, with the proof that it is one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray

MAX_GRADIENT = 1e-10  # largest component of the gradient that an optimum may have
EXACT_STEP = 1e-12  # relative step at which the parameters are exact
SMALL_STEP = 1e-4  # relative step below which steps that no longer shrink are rounding
MAX_STEPS = 100
MAX_HALVINGS = 40
DECREASE = 1e-4  # share of the predicted decrease that a step must reach (Armijo)
ROUNDING = 1e-14  # relative change of the objective that may be rounding
VANISHED = 1e-12  # share of the curvature at the start below which a direction has no minimum, or none in float64
MIN_PIVOT, FIRST_RIDGE = 1e-7, 1e-12  # of a Hessian with a diagonal of 1: least pivot, and what is added below it


class Local(NamedTuple):
    """Value, gradient and Hessian of an objective at a point."""

    value: float
    gradient: FloatArray
    hessian: FloatArray


class Optimum(NamedTuple):
    """The minimum of an objective: the point, the value, the largest component of the gradient, evaluations."""

    point: FloatArray
    value: float
    gradient: float
    evaluations: int


class NoOptimumError(NotApplicableError):
    """The objective has no finite minimum, or the search did not reach it."""


Objective: TypeAlias = Callable[[FloatArray], Local]
Shortening: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


def minimise(
    objective: Objective, start: FloatArray, *, steps: int = MAX_STEPS, shortened: Shortening = lambda point, step: step
) -> Optimum:
    """Return the minimum of a convex objective, at which no component of the gradient exceeds 1e-10.

    Convergence is tested before a step is tried: at the optimum rounding decides which of two values is smaller, and
    a search along the step would fail. Where values fall without a minimum the steps do not shrink, so a small
    gradient alone is not taken for an optimum. `shortened` returns a step, or the part of it that does not leave the
    points at which the objective is well described by its derivatives.

    Examples
    --------
    The minimum of (x - 3)² + 1 is found in one step.

    >>> found = minimise(lambda x: Local((x[0] - 3) ** 2 + 1, 2 * (x - 3), np.array([[2.0]])), np.zeros(1))
    >>> found.point, found.value, found.evaluations
    (array([3.]), 1.0, 2)
    """
    point, here, evaluations = np.asarray(start, dtype=np.float64), objective(start), 1
    before = np.inf
    for _ in range(steps):
        step = _newton_step(here)
        size = float((np.abs(step) / np.maximum(1.0, np.abs(point))).max())
        largest = float(np.abs(here.gradient).max())
        if largest <= MAX_GRADIENT and (size <= EXACT_STEP or before / 2 < size <= SMALL_STEP):
            return Optimum(point, float(here.value), largest, evaluations)
        point, here, tried = _damped(objective, point, here, shortened(point, step))
        evaluations, before = evaluations + tried, size
    largest = float(np.abs(here.gradient).max())
    raise NoOptimumError(
        f"the fit did not converge: after {steps} steps the gradient of the mean score is {largest:.3g}. Pass more "
        "rows, or use a method with fewer parameters"
    )


def vanishes(objective: Objective, start: FloatArray, point: FloatArray) -> bool:
    """Tell whether the curvature in some direction is gone at a point.

    Towards a minimum at infinity value and gradient converge too, but the Hessian vanishes in some direction. In units
    of the Hessian at the start, its smallest eigenvalue shows that. A Hessian that is singular at the start already
    raises `numpy.linalg.LinAlgError`.
    """
    from scipy.linalg import eigh

    return bool(eigh(objective(point).hessian, objective(start).hessian, eigvals_only=True).min() < VANISHED)


def _newton_step(here: Local) -> FloatArray:
    """Return -H⁻¹g; a Hessian that is singular up to rounding is made positive definite first."""
    size = np.sqrt(np.maximum(np.diag(here.hessian), np.finfo(np.float64).tiny))
    scaled, ridge = here.hessian / np.outer(size, size), 0.0
    while ridge <= 1.0:
        with suppress(np.linalg.LinAlgError):
            lower = np.linalg.cholesky(scaled + ridge * np.eye(size.size))
            if np.diag(lower).min() >= MIN_PIVOT:
                return np.asarray(np.linalg.solve(scaled + ridge * np.eye(size.size), -here.gradient / size) / size)
        ridge = FIRST_RIDGE if ridge == 0.0 else 100 * ridge
    raise NoOptimumError("the rows do not determine this map; pass more rows")


def _damped(objective: Objective, point: FloatArray, here: Local, step: FloatArray) -> tuple[FloatArray, Local, int]:
    """Return the point after a step that is halved until the value falls, and how many points were tried."""
    slope, hidden = float(here.gradient @ step), ROUNDING * max(1.0, abs(here.value))
    for tried in range(1, MAX_HALVINGS + 1):
        there = objective(point + step)
        if there.value <= here.value + DECREASE * slope + hidden:
            return point + step, there, tried
        step, slope = step / 2, slope / 2
    raise NoOptimumError("the fit did not converge: no step lowers the mean score; pass more rows")
