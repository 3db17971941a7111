"""Probabilities of an event or of classes: checked rows, and the reductions of class probabilities to one event."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, listing, shown
from calibrant.inputs.arrays import (
    FloatArray,
    Labels,
    as_array,
    is_percentage,
    kept_rows,
    read_objects,
    read_weights,
    refuse_where,
    take_weights,
)
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import call_for_bounds
from calibrant.inputs.labels import Rows, read_classes, read_columns, read_events
from calibrant.inputs.named import Names, column_labels
from calibrant.inputs.options import check_count

SUM_TOLERANCE = 1e-6
ROUNDED_BY = 0.005  # what rounding to two decimals changes one probability by, at most
MAX_ROUNDING = 0.1  # of the sum of a row, however many classes there are


@dataclass(frozen=True, eq=False)
class Binary:
    """Outcomes y of 0 and 1, probabilities p of the event, weights w: one per row, all legal."""

    kind: ClassVar[str] = "binary"
    samples: ClassVar[None] = None  # of class `Samples` where a distribution is known by draws alone
    names: ClassVar[None] = None  # of coordinates
    y: NDArray[np.uint8]
    p: NDArray[np.floating[Any]]  # keeps the caller's precision: bin edges are compared in it
    w: FloatArray
    keep: NDArray[np.bool_] | None = None  # mask of the rows that are left of the caller's; None: all

    @property
    def n(self) -> int:
        return len(self.p)

    @property
    def K(self) -> int:
        return 1

    @property
    def prediction(self) -> NDArray[np.floating[Any]]:
        return self.p

    @property
    def simplex(self) -> FloatArray:
        return two_columns(self.p)

    def pairs(self) -> Binary:
        """Return one outcome and probability per row, which are these."""
        return self

    def take(self, rows: Rows) -> Binary:
        return Binary(self.y[rows], self.p[rows], take_weights(self.w, rows))

    def part(self, rows: slice) -> Binary:
        """Return consecutive rows without copying them; probabilities become float64."""
        return Binary(self.y[rows], self.p[rows].astype(np.float64, copy=False), self.w[rows])

    def redrawn(self, rng: np.random.Generator) -> Binary:
        return Binary((rng.random(self.n) < self.p).view(np.uint8), self.p, self.w)


@dataclass(frozen=True, eq=False)
class Classes:
    """Outcomes y as column numbers, rows P on the simplex, weights w: one per row, all legal."""

    kind: ClassVar[str] = "classes"
    samples: ClassVar[None] = None  # of class `Samples` where a distribution is known by draws alone
    names: ClassVar[None] = None  # of coordinates
    y: NDArray[np.intp]
    P: NDArray[np.floating[Any]]
    w: FloatArray
    keep: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        return len(self.P)

    @property
    def prediction(self) -> NDArray[np.floating[Any]]:
        return self.P

    @property
    def simplex(self) -> FloatArray:
        return self.P.astype(np.float64, copy=False)

    @property
    def K(self) -> int:
        return int(self.P.shape[1])

    def take(self, rows: Rows) -> Classes:
        return Classes(self.y[rows], self.P[rows], take_weights(self.w, rows))

    def part(self, rows: slice) -> Classes:
        """Return consecutive rows without copying them; probabilities become float64."""
        return Classes(self.y[rows], self.P[rows].astype(np.float64, copy=False), self.w[rows])

    def redrawn(self, rng: np.random.Generator) -> Classes:
        u = rng.random(self.n)
        # The outcome is the first class whose cumulative probability exceeds u times the row's sum.
        passed = np.zeros(self.n, dtype=np.intp)
        total = self.P.sum(axis=1, dtype=np.float64)
        cumulative = np.zeros(self.n)
        for k in range(self.K - 1):
            cumulative += self.P[:, k]
            passed += u * total >= cumulative
        return Classes(passed, self.P, self.w)

    def pairs(self) -> Binary:
        """Return one outcome and probability per row: those of the most probable class."""
        return self.top_label()

    def top_label(self) -> Binary:
        """Return whether the most probable class (the first of tied ones) occurred, and its probability."""
        top = self.P.argmax(axis=1)
        confidence = np.take_along_axis(self.P, top[:, None], axis=1)[:, 0]
        return Binary((top == self.y).view(np.uint8), confidence, self.w)

    def one_vs_rest(self, k: int) -> Binary:
        """Return whether class k occurred, and its probability."""
        return Binary((self.y == k).view(np.uint8), self.P[:, k], self.w)

    def by_predicted_label(self) -> tuple[Binary, ...]:
        """Return the rows of `top_label`, split by the predicted label; a label that was never predicted has none."""
        top, rows = self.P.argmax(axis=1), self.top_label()
        return tuple(rows.take(np.flatnonzero(top == k)) for k in range(self.K))


def two_columns(p: NDArray[np.floating[Any]]) -> FloatArray:
    """Return one probability per row as probabilities (1 - p, p) of two classes."""
    q = p.astype(np.float64, copy=False)
    return np.stack([1 - q, q], axis=1)


def read_probabilities(
    y: Any, prediction: Any, *, weights: Any = None, classes: Any = None, pos_label: Any = None
) -> Binary | Classes:
    """Return checked rows: `Binary` for a 1-D prediction, `Classes` for an (n, K) one."""
    P = _read_floats(prediction)
    if P.ndim == 1:
        return _binary(y, P, weights=weights, classes=classes, pos_label=pos_label)
    if pos_label is not None:
        raise InputError(
            "{pos_label=} belongs to a 1-D prediction; for (n, K) pass {classes=} with one label per column",
            option="pos_label",
        )
    n = len(P)
    outcomes, P, w, rows = _read_rows(y, P, weights)
    _check_simplex(P, rows)
    numbers = read_columns(outcomes, rows, K=P.shape[1], classes=classes)
    _check_names(column_labels(prediction), classes, P.shape[1])
    return Classes(numbers, P, w, _mask(rows, n))


def _mask(rows: Rows | None, n: int) -> NDArray[np.bool_] | None:
    return None if rows is None else np.isin(np.arange(n), rows)


def _check_names(names: Names | None, classes: Any, K: int) -> None:
    """Refuse a frame whose columns are called as the classes in another order, or as other classes than are given."""
    numbers = tuple(map(str, range(K)))
    if names is None or names == numbers:
        return
    labels = numbers if classes is None else tuple(map(str, classes))
    called, wanted = _without_affixes(names), _without_affixes(labels)
    is_numbered = called in (numbers, tuple(map(str, range(1, K + 1))))
    if classes is not None and sorted(called) != sorted(wanted) and not is_numbered:
        raise InputError(
            "the columns of prediction are called {columns}, and the classes {labels}. Call the columns as the "
            "classes or, if they stand in the order of {classes=}, pass them without names, prediction.to_numpy()",
            option="classes",
            columns=listing(names, most=3),
            labels=listing(labels, most=3),
        )
    if called != wanted and sorted(called) == sorted(wanted):
        raise InputError(
            "the columns of prediction are called as the classes and stand in another order: column 0 is {column}, "
            "and the first class {label}. Put the columns into the order of the classes, or pass {classes=} in the "
            "order of the columns",
            option="classes",
            column=shown(names[0]),
            label=shown(labels[0]),
        )


def _without_affixes(names: Names) -> Names:
    """Return names without what all of them begin or end with.

    >>> _without_affixes(("p_cat_raw", "p_dog_raw")), _without_affixes(("cat", "dog"))
    (('cat', 'dog'), ('cat', 'dog'))
    """
    first = _common_length(names)
    last = _common_length([name[first:][::-1] for name in names])
    return tuple(name[first : len(name) - last] for name in names)


def _common_length(names: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def read_binary(
    y: Any, prediction: Any, *, verb: str, weights: Any = None, classes: Any = None, pos_label: Any = None
) -> Binary:
    """Return checked rows of a 1-D prediction; refuse (n, K) and name the reductions."""
    p = _read_floats(prediction)
    if p.ndim == 2:
        raise InputError(
            f"{verb} judges one probability per row; got an array of shape {p.shape}. Reduce it first: "
            "y, p = top_label(y, P) for the most probable class, or y, p = one_vs_rest(y, P, k) for class k"
        )
    return _binary(y, p, weights=weights, classes=classes, pos_label=pos_label)


def read_unlabelled(prediction: Any) -> FloatArray:
    """Return probabilities without outcomes, (n,) or (n, K), as float64; refuse illegal ones as with outcomes."""
    P = _read_floats(prediction)
    _check_unit_interval(P, None)
    if P.ndim == 2:
        _check_simplex(P, None)
    return P.astype(np.float64, copy=False)


def _binary(y: Any, p: NDArray[Any], *, weights: Any, classes: Any, pos_label: Any) -> Binary:
    n = len(p)
    outcomes, p, w, rows = _read_rows(y, p, weights)
    return Binary(read_events(outcomes, rows, classes=classes, pos_label=pos_label), p, w, _mask(rows, n))


def _read_floats(prediction: Any) -> NDArray[np.floating[Any]]:
    if isinstance(prediction, Distribution):
        raise InputError(
            f"prediction must be probabilities here; got {type(prediction).__name__}. skce takes distributions"
        )
    array = as_array(prediction, name="prediction")
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] < 2):
        other = call_for_bounds(array) or "Reshape it; draws are passed as Samples(draws)"
        remedy = "Pass its one column as a 1-D array" if array.ndim == 2 else other
        raise InputError(
            "prediction must be 1-D (probability of the event) or (n, K) with K >= 2 columns (class probabilities); "
            f"got shape {array.shape}. {remedy}"
        )
    if array.shape[0] == 0:
        raise InputError("there are no rows: prediction is empty; at least one row is needed")
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        array = read_objects(array, "prediction", "numbers in [0, 1]", booleans=False)
    if array.dtype.kind != "f":
        value = array.reshape(-1)[0]
        raise InputError(
            f"prediction must be probabilities (floating point numbers in [0, 1]); got values of type {array.dtype}, "
            f"such as {shown(value)}. {_text_remedy(str(value))}"
        )
    if array.dtype.itemsize > 8 or not array.dtype.isnative:
        return array.astype(np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("="))
    return array


def _text_remedy(value: str) -> str:
    if is_percentage(value):
        return "Drop the percent signs, convert to numbers and divide by 100"
    try:
        float(value)
    except ValueError:
        return "If these are predicted labels, pass probabilities, such as those of predict_proba"
    return "If they are probabilities, convert them with .astype(float)"


def _read_rows(y: Any, P: NDArray[Any], weights: Any) -> tuple[NDArray[Any], NDArray[Any], FloatArray, Rows | None]:
    """Return outcomes, predictions and weights of the rows with positive weight, and their numbers (None: all)."""
    outcomes = as_array(y, name="y")
    if outcomes.ndim != 1:
        hint = "pass the column of labels; for one-hot outcomes numpy.argmax(y, axis=1)" if outcomes.ndim == 2 else ""
        raise InputError(f"y must be 1-D, one outcome per row; got shape {outcomes.shape}; {hint}".rstrip("; "))
    if len(outcomes) != len(P):
        bounds = P.shape == (2, len(outcomes))
        remedy = "Pass bounds as Intervals(lower, upper, level)" if bounds else "Take both from the same table"
        raise InputError(
            f"y and prediction must have the same number of rows; got {len(outcomes)} outcomes and "
            f"{len(P)} predictions. {remedy}"
        )
    w = read_weights(weights, len(P))
    rows = kept_rows(w)
    if rows is not None:
        outcomes, P, w = outcomes[rows], P[rows], w[rows]
    _check_unit_interval(P, rows)
    return outcomes, P, w, rows


def _check_unit_interval(P: NDArray[Any], rows: Rows | None) -> None:
    if P.min() >= 0 and P.max() <= 1:  # a NaN makes both comparisons false
        return
    bad = ~((P >= 0) & (P <= 1))
    missing = np.isnan(P[bad][0])
    remedy = "Drop or repair such rows" if missing else _unit_remedy(P)
    refuse_where(bad, P, "prediction must lie in [0, 1]", remedy, rows=rows)


OTHER_ARRAYS = (
    "if they are draws pass Samples(draws), if quantiles Quantiles(values, levels), if bounds "
    "Intervals(lower, upper, level)"
)


def _unit_remedy(P: NDArray[Any]) -> str:
    low, high = float(np.nanmin(P)), float(np.nanmax(P))
    if 1 < high <= 100 and low >= 0 and high > 1.5:
        remedy = "If these are percentages divide by 100; if they are logits apply scipy.special.expit or softmax"
        return f"{remedy}; {OTHER_ARRAYS}" if P.ndim == 2 else remedy
    if high > 1.001 or low < -0.001:
        return f"If these are logits apply scipy.special.expit (one column) or softmax (several); {OTHER_ARRAYS}"
    return "If this is rounding, clip it yourself with numpy.clip(prediction, 0, 1)"


def _check_simplex(P: NDArray[Any], rows: Rows | None) -> None:
    off = np.abs(P.sum(axis=1, dtype=np.float64) - 1)
    if off.max() <= SUM_TOLERANCE:
        return
    i = int(np.argmax(off > SUM_TOLERANCE))
    row = i if rows is None else int(rows[i])
    raise InputError(
        f"each row of prediction must sum to 1 within {SUM_TOLERANCE:g}; {{row}} sums to "
        f"{P[i].sum(dtype=np.float64):.9g}. Renormalise in float64: "
        "P = numpy.asarray(P, dtype=float); P = P / P.sum(axis=1, keepdims=True); on the command line add --normalise",
        row=row,
    )


def normalised(prediction: ArrayLike) -> FloatArray:
    """Return class probabilities (n, K) that were rounded, divided by the sums of their rows.

    A sum may differ from 1 by 0.005 K, as much as rounding to two decimals can change it, and by at most 0.1. In half
    precision it differs by less.

    >>> normalised([[0.33, 0.33, 0.33]]).round(4).tolist()
    [[0.3333, 0.3333, 0.3333]]
    """
    P = _read_floats(prediction).astype(np.float64)
    if P.ndim == 1:
        raise InputError(
            "{normalise=} divides class probabilities (n, K) by their sums; leave it out", option="normalise"
        )
    sums = P.sum(axis=1)
    within = min(ROUNDED_BY * P.shape[1], MAX_ROUNDING)
    expected = f"before it is divided by its sum, each row of prediction must sum to 1 within {within:g}"
    refuse_where(~(np.abs(sums - 1) <= within), sums, expected, "Pass probabilities of all classes, not scores")
    rescaled: FloatArray = P / sums[:, None]
    return rescaled


Pair = tuple[NDArray[np.bool_], NDArray[np.floating[Any]]]


def top_label(y: ArrayLike, prediction: ArrayLike, *, classes: Labels | None = None) -> Pair:
    """Return whether the most probable class occurred, and its predicted probability.

    Parameters
    ----------
    y
        Column numbers 0..K-1, or labels with `classes`.
    prediction
        Class probabilities of shape (n, K).
    classes
        The labels in the order of the columns.

    Returns
    -------
    correct, confidence
        Outcomes and probabilities for every verb that takes one probability per row. Of tied classes the first counts.

    Examples
    --------
    >>> correct, confidence = top_label([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> correct.tolist(), confidence.tolist()
    ([True, False], [0.7, 0.6])
    """
    return _pair(_classes(y, prediction, classes, "top_label").top_label())


def one_vs_rest(y: ArrayLike, prediction: ArrayLike, k: Hashable, *, classes: Labels | None = None) -> Pair:
    """Return whether class k occurred, and its predicted probability.

    Parameters
    ----------
    y, prediction, classes
        As in `top_label`.
    k
        A column number, or one of `classes` when they are given.

    Examples
    --------
    >>> happened, probability = one_vs_rest([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]], 2)
    >>> happened.tolist(), probability.tolist()
    ([False, True], [0.1, 0.3])
    """
    rows = _classes(y, prediction, classes, "one_vs_rest")
    return _pair(rows.one_vs_rest(_column(k, rows.K, classes)))


def _column(k: Any, K: int, classes: Any) -> int:
    if np.ndim(k) != 0:
        raise InputError(f"k must be one class; got {shown(k)}")
    if classes is not None:
        names = read_classes(classes, expected=K, given_by=f"{K} columns")
        if k not in names:
            raise InputError("k must be one of {classes=names}; got {value}", names=names, value=k, option="k")
        return names.index(k)
    column = check_count("k", k, least=0)
    if column >= K:
        raise InputError(f"k must be a column number 0..{K - 1}; got {shown(k)}")
    return column


def _classes(y: Any, prediction: Any, classes: Any, verb: str) -> Classes:
    rows = read_probabilities(y, prediction, classes=classes)
    if isinstance(rows, Binary):
        raise InputError(f"{verb} reduces class probabilities (n, K); got a 1-D prediction, which needs no reduction")
    return rows


def _pair(rows: Binary) -> Pair:
    return rows.y.astype(bool), rows.p.copy()
