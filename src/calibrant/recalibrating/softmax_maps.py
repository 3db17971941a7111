"""Maps of class probabilities with parameters of their own for each class: vector, matrix and dirichlet.

All are q = softmax(η) and minimise the mean log score of q. With z = ln P:

=========  ===========================  ==========================================================================
method     η                            added to the mean log score
=========  ===========================  ==========================================================================
vector     v∘z + b                      nothing; Σ b = 0
matrix     Mζ + b, ζ = ln softmax(s z)  (ridge/n) [K Σ b² + K Σ (M_kk - 1)² + K(K - 1) Σ_{k≠l} M_kl²]
dirichlet  Mz + b                       λ Σ_{k≠l} M_kl² / (K(K - 1)) + μ Σ b² / K
=========  ===========================  ==========================================================================

The slope s of matrix is that of temperature (structured matrix scaling, Berta et al. 2026). dirichlet is the map of
Kull et al. (2019) with their off-diagonal and intercept regularisation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.dispatch import chunks
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.probabilities import Classes
from calibrant.recalibrating.class_maps import (
    BLOCK,
    MOST_PROBABLE,
    SEPARATED,
    LogRows,
    few_rows,
    fit_temperature,
    largest_of_rows,
    optimum,
    read_logs,
    refuse_zeros,
    softmax_method,
)
from calibrant.recalibrating.method import Fit, FitOptions, Parameter, Parameters, RowsCompared
from calibrant.recalibrating.newton import MAX_GRADIENT, Local, NoOptimumError, Objective, Optimum, vanishes

MAX_NEWTON_CLASSES = 30  # with more classes the Hessian of K² + K parameters takes more time than gradients
MATRIX_RIDGE, DIRICHLET_RIDGE = 1.0, 0.01
POLISHING_STEPS = 30
NOT_REACHED = "the mean log score falls without reaching a minimum"


def _count_vector(K: int) -> int:
    return 2 * K - 1


def _count_matrix(K: int) -> int:
    return K * K + K


def _check_rows(rows: Classes, method: str, parameters: int) -> None:
    for found, what in ((rows.n, "rows"), (_different_rows(rows, parameters), "different rows")):
        if found < parameters:
            raise NotApplicableError(
                f"{method} has {parameters} parameters for {rows.K} classes and needs at least as many {what}; got "
                f"{found}. Pass more rows, or use a method with fewer parameters, such as temperature"
            )


def _different_rows(rows: Classes, enough: int) -> int:
    """Return the number of different rows; some number of at least `enough` if there are so many."""
    first = np.unique(rows.P[: 2 * enough], axis=0)
    return len(first) if len(first) >= enough or rows.n <= 2 * enough else len(np.unique(rows.P, axis=0))


def _refuse_missing_class(rows: Classes, method: str) -> None:
    missing = np.flatnonzero(np.bincount(rows.y, minlength=rows.K) == 0)
    if missing.size:
        raise NotApplicableError(
            f"class {missing[0]} never occurs: no finite {method} map is the best. Use {{method='matrix'}}",
            option="method",
        )


class Softmax(NamedTuple):
    """The rows of softmax(η): q, log scores, q - 1{outcome}, and whether every outcome has the largest q."""

    q: FloatArray
    loss: FloatArray
    residual: FloatArray
    outcomes_on_top: bool


def _softmax(eta: FloatArray, rows: LogRows, part: slice) -> Softmax:
    eta -= largest_of_rows(eta)
    at = rows.y[part][:, None]
    of_outcome = np.take_along_axis(eta, at, axis=1)[:, 0]
    q = np.exp(eta, out=eta)
    sums = q.sum(axis=1)
    q /= sums[:, None]
    residual = q.copy()
    np.put_along_axis(residual, at, np.take_along_axis(residual, at, axis=1) - 1, axis=1)
    return Softmax(q, np.log(sums) - of_outcome, residual, not of_outcome.any())


def _existing_optimum(score: Callable[[LogRows], Objective], rows: LogRows, start: FloatArray) -> Optimum:
    """Return the minimum of an objective that may not have one; refuse outcomes that are separated."""
    try:
        found = optimum(score, rows, start)
    except NoOptimumError as error:
        raise NotApplicableError(SEPARATED, how=f"{NOT_REACHED} ({error})") from None
    try:
        at_infinity = vanishes(score(rows), start, found.point)
    except np.linalg.LinAlgError:
        raise NotApplicableError(
            "the rows do not determine this map. Pass more rows, or use {method='temperature'}", option="method"
        ) from None
    if at_infinity:
        raise NotApplicableError(SEPARATED, how=NOT_REACHED)
    return found


# Vector


def fit_vector(rows: Classes, options: FitOptions) -> Fit:
    _check_rows(rows, "vector", _count_vector(rows.K))
    _refuse_missing_class(rows, "vector")
    logs = read_logs(rows, options, "vector", relative=False)
    constant = np.flatnonzero(np.ptp(logs.z, axis=0) == 0)
    if constant.size:
        raise NotApplicableError(
            f"the probability of class {constant[0]} is constant and determines no scale. Use {{method='temperature'}}",
            option="method",
        )
    found = _existing_optimum(Vector, logs, np.concatenate([np.ones(rows.K), np.zeros(rows.K)]))
    scale, bias = found.point[: rows.K], found.point[rows.K :]
    parameters = {"scale": scale, "bias": bias - bias.mean()}
    return Fit(parameters, found.value, found.gradient, warnings=few_rows(rows.n, _count_vector(rows.K)))


@dataclass(frozen=True)
class Vector:
    """The mean log score of softmax(v∘z + b) as an objective of (v, b), plus (Σ b)² / 2, which is 0 at the minimum."""

    rows: LogRows

    def __call__(self, point: FloatArray) -> Local:
        rows, K = self.rows, self.rows.z.shape[1]
        value, gradient, hessian, separates = 0.0, np.zeros(2 * K), np.zeros((2 * K, 2 * K)), True
        scale, bias = point[:K], point[K:]
        v, b = np.arange(K), np.arange(K, 2 * K)
        for part in chunks(rows.y.size, rows.block):
            z = rows.z[part]
            q, loss, residual, on_top = _softmax(scale * z + bias, rows, part)
            separates = separates and on_top
            weight = np.ones(len(z)) if is_unit(rows.w) else rows.w[part]
            value += float(weight @ loss)
            gradient[:K] += weight @ (residual * z)
            gradient[K:] += weight @ residual
            u = np.concatenate([q * z, q], axis=1)
            hessian -= (weight[:, None] * u).T @ u
            hessian[v, v] += weight @ (u[:, :K] * z)
            hessian[v, b] += weight @ u[:, :K]
            hessian[b, v] += weight @ u[:, :K]
            hessian[b, b] += weight @ q
        if separates and value < rows.total * math.log(K):  # larger parameters in the same ratio have a lower score
            raise NoOptimumError(MOST_PROBABLE)
        level = bias.sum()
        gradient, hessian = gradient / rows.total, hessian / rows.total
        gradient[K:] += level
        hessian[K:, K:] += 1.0
        return Local(value / rows.total + 0.5 * level**2, gradient, hessian)


def _vector_logits(m: Parameters, P: FloatArray) -> FloatArray:
    refuse_zeros(P, "vector")
    return np.asarray(m["scale"] * np.log(P) + m["bias"])


# Matrix and Dirichlet


def fit_matrix(rows: Classes, options: FitOptions) -> Fit:
    """Fit softmax(Mζ + b) with a ridge towards the temperature map, which is M = 1, b = 0."""
    if isinstance(options.ridge, tuple):
        raise InputError("matrix has one ridge; a pair belongs to dirichlet; got {value}", value=options.ridge)
    _check_rows(rows, "matrix", _count_matrix(rows.K))
    logs = read_logs(rows, options, "matrix", relative=False)
    K, first = rows.K, fit_temperature(rows, options)
    slope = first.parameters["slope"]
    for part in chunks(rows.n, logs.block):
        logs.z[part] = _log_softmax(slope * logs.z[part])
    ridge = (MATRIX_RIDGE if options.ridge is None else options.ridge) / rows.n
    penalty = np.full((K, K + 1), ridge * K)
    penalty[:, :K][~np.eye(K, dtype=bool)] *= K - 1
    found = _fit_square(logs, penalty, np.eye(K, K + 1))
    square = found.point.reshape(K, K + 1)
    parameters = {"slope": slope, "matrix": square[:, :K], "bias": square[:, K]}
    said = (*few_rows(rows.n, _count_matrix(K)), *first.warnings)
    return Fit(parameters, found.value, found.gradient, first.boundary, said)


def fit_dirichlet(rows: Classes, options: FitOptions) -> Fit:
    _check_rows(rows, "dirichlet", _count_matrix(rows.K))
    _refuse_missing_class(rows, "dirichlet")
    K, ridge = rows.K, DIRICHLET_RIDGE if options.ridge is None else options.ridge
    off_diagonal, intercept = ridge if isinstance(ridge, tuple) else (ridge, ridge)
    logs = read_logs(rows, options, "dirichlet", relative=False)
    if (logs.of_outcomes() == logs.z.max(axis=1)).all():
        raise NotApplicableError(SEPARATED, how=MOST_PROBABLE)
    penalty = np.full((K, K + 1), off_diagonal / (K * (K - 1)))
    np.fill_diagonal(penalty, 0.0)
    penalty[:, K] = intercept / K
    found = _fit_square(logs, penalty, np.zeros((K, K + 1)))
    square = found.point.reshape(K, K + 1)
    parameters = {"matrix": square[:, :K], "bias": square[:, K]}
    return Fit(parameters, found.value, found.gradient, warnings=few_rows(rows.n, _count_matrix(K)))


def _fit_square(logs: LogRows, penalty: FloatArray, centre: FloatArray) -> Optimum:
    """Return the minimum over (M | b), from M = 1 and b = 0."""
    K = logs.z.shape[1]
    start = np.eye(K, K + 1).ravel()
    if K > MAX_NEWTON_CLASSES:
        return _by_gradients(Square(logs, penalty, centre), start)
    return _existing_optimum(lambda some: Square(some, penalty, centre), logs, start)


@dataclass(frozen=True)
class Square:
    """The mean log score of softmax(A(z, 1)) plus Σ penalty (A - centre)², as an objective of A = (M | b)."""

    rows: LogRows
    penalty: FloatArray  # (K, K + 1)
    centre: FloatArray  # (K, K + 1)

    def __call__(self, point: FloatArray) -> Local:
        K = self.rows.z.shape[1]
        value, gradient = self._penalty(point)
        hessian = np.zeros((K * (K + 1), K * (K + 1)))
        for part in chunks(self.rows.y.size, max(1, BLOCK * 8 // (K * (K + 1)))):
            x, weight, (q, loss, residual, _) = self._part(point, part)
            value += float(weight @ loss)
            gradient += (residual * weight[:, None]).T @ x
            u = (q[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            weighted = weight[:, None] * u
            hessian -= weighted.T @ u
            same = (x.T @ weighted).reshape(K + 1, K, K + 1)  # Σ w q_k x xᵀ of each class k
            for k in range(K):
                at = slice(k * (K + 1), (k + 1) * (K + 1))
                hessian[at, at] += same[:, k]
        hessian[np.diag_indices_from(hessian)] += 2 * self.penalty.ravel()
        return Local(value, gradient.ravel(), hessian)

    def value_and_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._penalty(point)
        for part in chunks(self.rows.y.size, self.rows.block):
            x, weight, (_, loss, residual, _) = self._part(point, part)
            value += float(weight @ loss)
            gradient += (residual * weight[:, None]).T @ x
        return value, gradient.ravel()

    def curvature(self, point: FloatArray, direction: FloatArray) -> FloatArray:
        K = self.rows.z.shape[1]
        along = direction.reshape(K, K + 1)
        found = 2 * self.penalty * along
        for part in chunks(self.rows.y.size, self.rows.block):
            x, weight, (q, _, _, _) = self._part(point, part)
            eta = x @ along.T
            change = q * (eta - np.einsum("ij,ij->i", q, eta)[:, None])
            found += (change * weight[:, None]).T @ x
        return np.asarray(found.ravel())

    def _part(self, point: FloatArray, part: slice) -> tuple[FloatArray, FloatArray, Softmax]:
        """Return x = (z, 1), the share of each row in the mean, and softmax(η) of a block of rows."""
        rows, K = self.rows, self.rows.z.shape[1]
        z = rows.z[part]
        x = np.concatenate([z, np.ones((len(z), 1))], axis=1)
        weight = np.full(len(z), 1 / rows.total) if is_unit(rows.w) else rows.w[part] / rows.total
        return x, weight, _softmax(x @ point.reshape(K, K + 1).T, rows, part)

    def _penalty(self, point: FloatArray) -> tuple[float, FloatArray]:
        off = point.reshape(self.centre.shape) - self.centre
        return float((self.penalty * off**2).sum()), 2 * self.penalty * off


def _by_gradients(score: Square, start: FloatArray) -> Optimum:
    """Return the minimum by L-BFGS, polished by Newton steps whose systems conjugate gradients solve.

    Near the minimum rounding of the value stops the line search of L-BFGS at a gradient of about 1e-8.
    """
    from scipy.optimize import minimize
    from scipy.sparse.linalg import LinearOperator, cg

    limits: dict[str, Any] = {"maxiter": 5000, "maxfun": 10_000, "gtol": 1e-9, "ftol": 0.0, "maxcor": 30}
    rough = minimize(score.value_and_gradient, start, jac=True, method="L-BFGS-B", options=limits)
    point, evaluations = np.asarray(rough.x), int(rough.nfev)
    value, gradient = score.value_and_gradient(point)
    largest = float(np.abs(gradient).max())
    for _ in range(POLISHING_STEPS):
        hessian = LinearOperator((point.size, point.size), partial(score.curvature, point), dtype=np.float64)
        step, _ = cg(hessian, -gradient, rtol=1e-3, maxiter=200)
        relative = float((np.abs(step) / np.maximum(1.0, np.abs(point))).max())
        if largest <= MAX_GRADIENT and relative <= 1e-8:
            return Optimum(point, value, largest, evaluations)
        point = point + step
        value, gradient = score.value_and_gradient(point)
        before, largest = largest, float(np.abs(gradient).max())
        evaluations += 1
        if not math.isfinite(value) or largest > 10 * before:
            break
    raise NotApplicableError(SEPARATED, how=f"{NOT_REACHED} (its gradient is {largest:.3g})")


def _log_softmax(eta: FloatArray) -> FloatArray:
    relative = eta - largest_of_rows(eta)
    return np.asarray(relative - np.log(np.exp(relative).sum(axis=1, keepdims=True)))


def _matrix_logits(m: Parameters, P: FloatArray) -> FloatArray:
    refuse_zeros(P, "matrix")
    return np.asarray(_log_softmax(m["slope"] * np.log(P)) @ m["matrix"].T + m["bias"])


def _dirichlet_logits(m: Parameters, P: FloatArray) -> FloatArray:
    refuse_zeros(P, "dirichlet")
    return np.asarray(np.log(P) @ m["matrix"].T + m["bias"])


_SQUARE = {"matrix": Parameter("KK"), "bias": Parameter("K")}

VECTOR = softmax_method(
    fit_vector,
    _vector_logits,
    {"scale": Parameter("K"), "bias": Parameter("K")},
    ("clip",),
    _count_vector,
    RowsCompared(per_parameter=20),
)
MATRIX = softmax_method(
    fit_matrix,
    _matrix_logits,
    {"slope": Parameter(low=0.0), **_SQUARE},
    ("ridge", "clip"),
    _count_matrix,
    RowsCompared(),
)
DIRICHLET = softmax_method(fit_dirichlet, _dirichlet_logits, _SQUARE, ("ridge", "clip"), _count_matrix)
