"""Maps of class probabilities by one temperature, and by one binary map for each class.

With z = ln P, the temperature map is q ∝ exp(s z). The gradient of its mean log score is the mean of E_s z - z_y, where
E_s is the expectation under q. It rises strictly in s, and two sums tell whether it has a root above 0. Classes of
probability 0 stay at 0 and drop out of the sums of their row.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_threads
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit, refuse_where, take_weights
from calibrant.inputs.probabilities import Classes
from calibrant.recalibrating.mean_log_score import MIN_SAMPLE_STEP
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameter, Parameters, RowsCompared
from calibrant.recalibrating.newton import Local, NoOptimumError, Objective, Optimum, minimise
from calibrant.recalibrating.smooth_maps import TEMPERATURE as BINARY_TEMPERATURE

BLOCK = 1 << 16  # probabilities of a block of rows, which fit into the cache
SHORT_ROW = 32  # classes
SAMPLE_ROWS = 25_000  # of more rows a sample is fitted first, which leaves three or four passes over all of them
ROWS_PER_PARAMETER = 10  # below which a fit is said to follow chance
SMOOTHED = "{method='one-vs-rest'}, {inner='logistic'}, {smoothing='platt'}"
SEPARATED = (
    "the outcomes are separated by the probabilities: {how}. No finite map minimises the log score; pass more rows, or "
    "use " + SMOOTHED
)
MOST_PROBABLE = "no outcome is less probable than another class of its row"
CLIP_REMEDY = "Mix the probabilities with clip= of recalibrate (--clip), such as 1e-6, or correct such rows"


@dataclass(frozen=True)
class LogRows:
    """Logarithms z = ln P of class probabilities with outcomes and weights."""

    z: FloatArray  # (n, K), for temperature minus the maximum of the row; 0 where P is 0
    y: NDArray[np.intp]  # column numbers
    w: FloatArray
    positive: NDArray[np.bool_] | None = None  # where P is above 0; None if it is so everywhere

    @property
    def total(self) -> float:
        return float(self.y.size if is_unit(self.w) else self.w.sum())

    @property
    def block(self) -> int:
        return max(1, BLOCK // int(self.z.shape[1]))

    def mean(self, values: FloatArray) -> float:
        return float(values.mean() if is_unit(self.w) else self.w @ values / self.total)

    def of_outcomes(self) -> FloatArray:
        return np.asarray(self.z[np.arange(self.y.size), self.y])

    def sample(self) -> LogRows | None:
        """Return every m-th row of many, None of few."""
        step = self.y.size // SAMPLE_ROWS
        if step < MIN_SAMPLE_STEP:
            return None
        some = np.arange(0, self.y.size, step)
        positive = None if self.positive is None else self.positive[some]
        return LogRows(self.z[some], self.y[some], take_weights(self.w, some), positive)


def mixed(P: NDArray[Any], options: FitOptions) -> FloatArray:
    """Return probabilities as float64, mixed with the uniform vector if `clip` is given: (1 - Kc)P + c."""
    q = P.astype(np.float64, copy=False)
    if options.clip is None:
        return q
    K = q.shape[1]
    if K * options.clip >= 1:
        raise InputError(
            f"clip times the number of classes must be below 1; got {K} classes and {{value}}",
            option="clip",
            value=options.clip,
        )
    return np.asarray((1 - K * options.clip) * q + options.clip)


def largest_of_rows(values: FloatArray) -> FloatArray:
    """Return the largest value of each row, (n, 1). NumPy takes five times as long for short rows than by columns."""
    if values.shape[1] > SHORT_ROW:
        return np.asarray(values.max(axis=1, keepdims=True))
    found = values[:, 0].copy()
    for k in range(1, values.shape[1]):
        np.maximum(found, values[:, k], out=found)
    return found[:, None]


def read_logs(rows: Classes, options: FitOptions, method: str, *, relative: bool) -> LogRows:
    """Return the logarithms of the probabilities; `relative` ones may be 0 except for outcomes."""
    found = LogRows(np.empty(rows.P.shape), rows.y, rows.w)

    def fill(part: slice) -> bool:
        P, z = mixed(rows.P[part], options), found.z[part]
        with np.errstate(divide="ignore"):
            np.log(P, out=z)
        if relative:
            z -= largest_of_rows(z)
        return bool(P.min() == 0)

    if not any(list(on_threads(fill, rows.n, size=found.block))):
        return found
    impossible = np.isinf(found.z)
    if not relative:
        refuse_zeros(rows.P, method)
    row = np.flatnonzero(np.take_along_axis(impossible, rows.y[:, None], axis=1)[:, 0])
    if row.size:
        raise InputError(
            f"the outcome of {{row}} is class {rows.y[row[0]]}, whose probability is 0: no {method} map gives such a "
            f"row a finite log score. {CLIP_REMEDY}",
            row=int(row[0]),
            value=0.0,
        )
    found.z[impossible] = 0.0
    return replace(found, positive=~impossible)


def refuse_zeros(P: NDArray[Any], method: str) -> None:
    refuse_where(P == 0, P, f"{method} needs probabilities above 0", CLIP_REMEDY, axes=("row", "column"))


def optimum(score: Callable[[LogRows], Objective], rows: LogRows, start: FloatArray) -> Optimum:
    """Return the minimum; of many rows a sample is fitted first, whose minimum is a good start for all rows."""
    sample = rows.sample()
    with np.errstate(over="ignore", invalid="ignore"):  # on the way to a minimum at infinity, which is refused
        if sample is not None:
            with suppress(NoOptimumError):  # the sample may be separated although the rows are not
                start = minimise(score(sample), start).point
        return minimise(score(rows), start)


# Temperature


def fit_temperature(rows: Classes, options: FitOptions) -> Fit:
    logs = read_logs(rows, options, "temperature", relative=True)
    of_outcomes = logs.of_outcomes()
    if not logs.z.any():
        raise NotApplicableError(
            "the probabilities are constant: all classes are equally probable. Pass rows with different probabilities"
        )
    if not of_outcomes.any():
        raise NotApplicableError(SEPARATED, how=MOST_PROBABLE)
    if _rises_at_zero(logs, of_outcomes):
        said = (
            "the probabilities carry no or inverted information: the best temperature is infinite and all possible "
            "classes become equally probable"
        )
        value = Temperature(logs, 0.0)(np.zeros(1)).value
        return Fit({"slope": 0.0, "temperature": math.inf}, value, 0.0, ("slope",), (said,))
    found = optimum(lambda some: Temperature(some, some.mean(some.of_outcomes())), logs, np.ones(1))
    slope = float(found.point[0])
    return Fit({"slope": slope, "temperature": 1 / slope}, found.value, found.gradient)


def _rises_at_zero(logs: LogRows, of_outcomes: FloatArray) -> bool:
    """Tell whether the gradient at s = 0 is not negative: the mean of z over possible classes, minus z of outcomes."""
    K = logs.z.shape[1]
    possible = K if logs.positive is None else logs.positive @ np.ones(K)
    return logs.mean(logs.z @ np.ones(K) / possible) >= logs.mean(of_outcomes)


@dataclass(frozen=True)
class Temperature:
    """The mean log score of q ∝ exp(s z) as an objective of s."""

    rows: LogRows
    mean_of_outcomes: float

    def __call__(self, point: FloatArray) -> Local:
        """Return value, derivative and second derivative; the value is infinite below 0."""
        s = float(point[0])
        if s < 0:
            return Local(math.inf, np.zeros(1), np.ones((1, 1)))
        rows = self.rows

        def work(part: slice) -> FloatArray:
            return self._sums(s, part)

        value, mean, variance = np.sum(list(on_threads(work, rows.y.size, size=rows.block)), axis=0) / rows.total
        gradient = mean - self.mean_of_outcomes
        return Local(float(value - s * self.mean_of_outcomes), np.array([gradient]), np.array([[variance]]))

    def _sums(self, s: float, part: slice) -> FloatArray:
        """Return the weighted sums of ln Σ exp(s z), and of mean and variance of z under q."""
        z, ones = self.rows.z[part], np.ones(self.rows.z.shape[1])
        e = s * z
        np.exp(e, out=e)
        if self.rows.positive is not None:
            e *= self.rows.positive[part]
        normaliser = e @ ones
        e *= z
        mean = e @ ones / normaliser
        square = np.einsum("ij,ij->i", e, z) / normaliser
        terms = np.stack([np.log(normaliser), mean, square - mean * mean])
        return np.asarray(terms.sum(axis=1) if is_unit(self.rows.w) else terms @ self.rows.w[part])


def logits_of_temperature(m: Parameters, P: FloatArray) -> FloatArray:
    """Return s ln P; classes of probability 0 stay impossible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = m["slope"] * np.log(P / largest_of_rows(P))
    eta[P == 0] = -np.inf
    return np.asarray(eta)


# Maps that are softmax(η)

Logits: TypeAlias = Callable[[Parameters, FloatArray], FloatArray]


def softmax_method(
    fit: Callable[[Classes, FitOptions], Fit],
    logits: Logits,
    parameters: dict[str, Parameter],
    uses: tuple[str, ...],
    count: Callable[[int], int],
    compared: RowsCompared | None = None,
) -> Method:
    """Return the method whose map is softmax(η); rows are mapped by blocks."""

    def apply(m: Parameters, P: FloatArray, options: FitOptions) -> FloatArray:
        found = np.empty(P.shape)
        for part in chunks(len(P), max(1, BLOCK // P.shape[1])):
            np.exp(_logits(logits, m, P, part, options), out=found[part])
            found[part] /= found[part].sum(axis=1, keepdims=True)
        return found

    def log_scores(m: Parameters, rows: Classes, options: FitOptions) -> FloatArray:
        """Return ln Σ exp η - η_y, which is finite where the probability of the outcome rounds to 0."""
        found = np.empty(rows.n)
        for part in chunks(rows.n, max(1, BLOCK // rows.K)):
            eta = _logits(logits, m, rows.P, part, options)
            of_outcome = np.take_along_axis(eta, rows.y[part][:, None], axis=1)[:, 0]
            found[part] = np.log(np.exp(eta).sum(axis=1)) - of_outcome
        return found

    return Method(fit, apply, parameters, uses, count, log_scores, compared=compared)


def _logits(logits: Logits, m: Parameters, P: NDArray[Any], part: slice, options: FitOptions) -> FloatArray:
    """Return η minus its largest value in each row, for a block of rows."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            eta = logits(m, mixed(P[part], options))
            largest = largest_of_rows(eta)
        refuse_where(
            ~np.isfinite(largest[:, 0]), largest[:, 0], "the map must be finite", "Its parameters are too large for it"
        )
        return np.asarray(eta - largest)
    except InputError as error:
        raise error if error.row is None else error.within(row=error.row + part.start) from None


TEMPERATURE = replace(
    softmax_method(fit_temperature, logits_of_temperature, dict(BINARY_TEMPERATURE.parameters), ("clip",), lambda K: 1),
    check=BINARY_TEMPERATURE.check,
    compared=RowsCompared(),
)


# One map for each class


def fit_one_vs_rest(rows: Classes, options: FitOptions) -> Fit:
    """Fit the binary map `inner` on whether class k occurred and its probability, for each class k."""
    from calibrant.recalibrating.methods import METHODS
    from calibrant.recalibrating.recalibration import Recalibration

    rule = METHODS["binary"][options.inner]
    inner = FitOptions(options.score, options.smoothing, None, options.clip)
    maps, said = [], []
    for k in range(rows.K):
        try:
            found = rule.fit(rows.one_vs_rest(k), inner)
        except InputError as error:
            raise error.within("class {k}: ", k=k) from None
        said += [f"class {k}: {sentence}" for sentence in found.warnings]
        maps.append(Recalibration("binary", options.inner, n=rows.n, options=inner, **vars(found)))
    return Fit({"maps": tuple(maps)}, warnings=(*few_rows(rows.n, rule.count(1)), *said))


def few_rows(n: int, parameters: int) -> tuple[str, ...]:
    if n >= ROWS_PER_PARAMETER * parameters:
        return ()
    return (
        f"{n} rows for {parameters} parameters: with fewer than {ROWS_PER_PARAMETER} rows a parameter the map follows "
        "chance; pass more rows or use a method with fewer parameters, such as temperature",
    )


def apply_one_vs_rest(m: Parameters, P: FloatArray, options: FitOptions) -> FloatArray:
    """Return the outputs of the maps divided by their sum; uniform probabilities where all of them are 0."""
    q = np.stack([one.rule.apply(one.parameters, P[:, k], one.options) for k, one in enumerate(m["maps"])], axis=1)
    sums = q.sum(axis=1, keepdims=True)
    empty = sums[:, 0] == 0
    if empty.any():
        count = int(np.count_nonzero(empty))
        warnings.warn(
            f"{count} of {len(q)} rows {'has' if count == 1 else 'have'} probability 0 in every class after the maps, "
            "and became uniform",
            stacklevel=4,
        )
        q[empty], sums[empty] = 1.0, q.shape[1]
    return np.asarray(q / sums)


ONE_VS_REST = Method(
    fit_one_vs_rest,
    apply_one_vs_rest,
    {"maps": Parameter("K", maps="binary")},
    ("inner", "smoothing", "clip"),
    lambda K: 2 * K,  # with the usual inner map
)
