"""The rows themselves as a summary: for measurements that no smaller summary can serve."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core import summary as codec
from calibrant.core.kinds import AnyRows, kind_of
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit, locked
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.options import DIGITS
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.probabilities import Binary, Classes, read_probabilities
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import (
    DistributionRows,
    read_outcomes,
    read_regions,
)
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

LEVELLED = ("Intervals", "Quantiles", "Sets")
"""Predictions whose columns belong to nominal levels."""


@dataclass(frozen=True, eq=False, repr=False)
class KeptRows(Summary):
    """Checked rows of any kind of prediction, in the order in which they came; memory grows with their number.

    Attributes
    ----------
    held
        The rows, probabilities in float64; None if there are none yet.
    dtype
        The type in which probabilities came, since bin edges are compared in it; "" for other predictions.
    """

    grows = True
    held: AnyRows | None
    dtype: str

    @classmethod
    def of(cls, rows: AnyRows) -> Self:
        """Keep a copy of these rows."""
        y: NDArray[Any] = np.array(rows.y)
        y.flags.writeable = False
        w = rows.w if is_unit(rows.w) else locked(np.array(rows.w))
        if isinstance(rows, Binary):
            return cls(Binary(y, locked(rows.p.astype(np.float64)), w), rows.p.dtype.name)
        if isinstance(rows, Classes):
            return cls(Classes(y, locked(np.array(rows.P, dtype=np.float64, order="C")), w), rows.P.dtype.name)
        return cls(type(rows)(y, _prediction_of(rows), w), "")

    @classmethod
    def zero(cls) -> Self:
        """Return no rows."""
        return cls(None, "")

    @property
    def rows(self) -> AnyRows:
        """The rows."""
        if self.held is None:
            raise SummaryError("this KeptRows is empty; at least one row is needed")
        return self.held

    @property
    def kind(self) -> str:
        """The kind of prediction, a name of `kinds.KINDS`."""
        return kind_of_rows(self.rows)

    @property
    def n(self) -> int:
        """Number of rows."""
        return 0 if self.held is None else self.held.n

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        a, b = self.rows, other.rows
        (kind, above), (beside, below) = table_of(a), table_of(b)
        kind = _common_kind(kind, beside)
        if self.dtype != other.dtype:
            raise SummaryError(
                f"probabilities of type {self.dtype} and {other.dtype} fall into different bins at the edges; "
                "convert all batches to one type before they are summarised"
            )
        prediction = prediction_of(kind, np.concatenate([above, below]))
        return type(self)(_read(prediction, np.concatenate([a.y, b.y]), np.concatenate([a.w, b.w])), self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptRows):
            return NotImplemented
        a, b = self.held, other.held
        if a is None or b is None:
            return a is b
        if self.dtype != other.dtype or not (np.array_equal(a.y, b.y) and np.array_equal(a.w, b.w)):
            return False
        if _prediction_of(a) is _prediction_of(b):
            return True
        (kind, columns), (beside, others) = table_of(a), table_of(b)
        return kind == beside and np.array_equal(columns, others)

    __hash__ = None

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; distributions of your own are refused."""
        values: dict[str, Any] = {"kind": "", "columns": np.zeros((0, 0)), "y": np.zeros(0), "w": np.zeros(0)}
        if self.held is not None:
            kind, columns = table_of(self.held)
            y = self.held.y.astype(np.float64 if self.held.y.dtype.kind == "f" else np.int64)
            values = {"kind": json.dumps(kind), "columns": columns, "y": y, "w": np.ascontiguousarray(self.held.w)}
        return codec.encode(type(self).__name__, {**values, "dtype": self.dtype})

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Read the rows as they were read first, so values that are not legal are refused."""
        broken = f"these bytes do not contain a whole {cls.__name__}"
        if set(values) != {"kind", "columns", "y", "w", "dtype"}:
            raise SummaryError(f"{broken}: fields {sorted(values)}")
        columns, y, w = (values[name] for name in ("columns", "y", "w"))
        if not all(isinstance(array, np.ndarray) for array in (columns, y, w)) or columns.ndim != 2:
            raise SummaryError(f"{broken}: its columns are not arrays")
        if values["kind"] == "":
            if columns.size or y.size or w.size:
                raise SummaryError(f"{broken}: it has columns and no kind of prediction")
            return cls.zero()
        try:
            prediction = prediction_of(json.loads(values["kind"]), columns)
            if isinstance(prediction, np.ndarray):
                prediction = prediction.astype(np.dtype(values["dtype"]))
            rows = _read(prediction, y, w)
        except InputError as problem:
            raise SummaryError(f"{broken}: {problem}") from None
        if rows.n != w.size:
            raise SummaryError(f"{broken}: a weight is 0")
        found = cls.of(rows)
        if found.dtype != values["dtype"]:
            raise SummaryError(f"{broken}: its predictions are not of type {values['dtype']!r}")
        return found


def kind_of_rows(rows: AnyRows) -> str:
    """Return the kind of their prediction, a name of `kinds.KINDS`."""
    return kind_of(_prediction_of(rows)) or ("binary" if isinstance(rows, Binary) else "classes")


def table_of(rows: AnyRows) -> tuple[list[Any], FloatArray]:
    """Return the kind of the predictions, as plain values, and what they say of each row, (n, columns)."""
    if isinstance(rows, Binary):
        return ["probability"], rows.p[:, None].astype(np.float64, copy=False)
    if isinstance(rows, Classes):
        return ["classes", rows.K], rows.P.astype(np.float64, copy=False)
    if isinstance(rows, DistributionRows):
        return distribution_columns(rows.distribution)
    prediction = rows.prediction
    levels = None if prediction.levels is None else prediction.levels.tolist()
    if isinstance(prediction, Intervals):
        return ["Intervals", levels, prediction.single], np.column_stack([prediction.lower, prediction.upper])
    if isinstance(prediction, Quantiles):
        return ["Quantiles", levels, prediction.single], prediction.values
    assert isinstance(prediction, Sets)
    mask = prediction.mask.reshape(prediction.n, -1).astype(np.float64)
    return ["Sets", levels, prediction.single, prediction.K], mask


def distribution_columns(distribution: Distribution) -> tuple[list[Any], FloatArray]:
    """Return the kind of a predictive distribution and its parameters (n, c)."""
    n = distribution.n
    if isinstance(distribution, Normal):
        return ["Normal"], np.column_stack([distribution.mean, distribution.std])
    if isinstance(distribution, Laplace):
        return ["Laplace"], np.column_stack([distribution.loc, distribution.scale])
    if isinstance(distribution, MvNormal):
        cov = distribution.cov.reshape(n, -1)
        return ["MvNormal", distribution.mean.shape[1]], np.column_stack([distribution.mean, cov])
    if isinstance(distribution, Samples):
        density = distribution.log_densities
        columns = distribution.draws.reshape(n, -1)
        if density is not None:
            columns = np.column_stack([columns, density])
        return ["Samples", list(distribution.draws.shape[1:]), density is not None], columns
    if isinstance(distribution, Mixture):
        parts = [distribution_columns(component) for component in distribution.components]
        described = [[kind, columns.shape[1]] for kind, columns in parts]
        return ["Mixture", described], np.column_stack([distribution.weights, *(columns for _, columns in parts)])
    raise SummaryError(
        f"{type(distribution).__name__} has no table of parameters, so batches of it cannot be merged or stored; "
        "pass all rows in one call"
    )


def prediction_of(kind: list[Any], columns: FloatArray) -> Any:
    """Return the prediction that `table_of` made a table of: an array of probabilities, or a typed prediction."""
    name = kind[0]
    if name == "probability":
        return columns[:, 0]
    if name == "classes":
        if columns.shape[1] != kind[1]:
            raise SummaryError(f"rows of {kind[1]} classes need as many columns; got {columns.shape[1]}")
        return columns
    if name in LEVELLED:
        return _levelled(kind, columns)
    if name == "Normal":
        return Normal(columns[:, 0], columns[:, 1])
    if name == "Laplace":
        return Laplace(columns[:, 0], columns[:, 1])
    if name == "MvNormal":
        D = kind[1]
        return MvNormal(columns[:, :D], columns[:, D:].reshape(-1, D, D))
    if name == "Samples":
        shape, dense = kind[1], kind[2]
        size = int(np.prod(shape))
        return Samples(columns[:, :size].reshape(-1, *shape), columns[:, size:] if dense else None)
    if name == "Mixture":
        described = kind[1]
        edges = np.cumsum([len(described), *(width for _, width in described)])
        bounds = zip(described, edges[:-1], edges[1:], strict=True)
        parts = [prediction_of(part, columns[:, a:b]) for (part, _), a, b in bounds]
        return Mixture(parts, columns[:, : len(described)])
    raise SummaryError(f"these bytes contain predictions of the unknown kind {name}")


def _levelled(kind: list[Any], columns: FloatArray) -> Intervals | Quantiles | Sets:
    name, levels, single = kind[:3]
    level = levels[0] if single and levels is not None else levels
    if name == "Quantiles":
        return Quantiles(columns[:, 0] if single else columns, level)
    if name == "Intervals":
        lower, upper = columns[:, : len(levels)], columns[:, len(levels) :]
        return Intervals(lower[:, 0], upper[:, 0], level) if single else Intervals(lower, upper, level)
    if not np.isin(columns, (0.0, 1.0)).all():
        raise SummaryError("the columns of Sets must be 0 and 1")
    mask = columns.reshape(len(columns), kind[3], -1) == 1
    return Sets(mask[:, :, 0] if single else mask, level)


def _common_kind(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the kind of both; a level given as a number counts as one only if both give it as a number."""
    if first == second:
        return first
    if first[0] != second[0] or first[0] not in LEVELLED:
        raise SummaryError(
            f"rows of {_words(first)} do not merge with rows of {_words(second)}; "
            "summarize each kind of prediction alone"
        )
    levels, others = ("none" if k[1] is None else [round(level, DIGITS) for level in k[1]] for k in (first, second))
    if levels != others:
        a, b = (k[1] if k[1] is None else ", ".join(f"{level:.10g}" for level in k[1]) for k in (first, second))
        raise SummaryError(f"{first[0]} of levels {a} do not merge with levels {b}")
    if first[3:] != second[3:]:
        raise SummaryError(f"Sets of {first[3]} labels do not merge with Sets of {second[3]} labels")
    return [first[0], first[1], first[2] and second[2], *first[3:]]


def _words(kind: list[Any]) -> str:
    if kind[0] in LEVELLED:
        return str(kind[0])
    words = {"probability": "one probability per row", "classes": f"{kind[-1]} classes"}
    return words.get(kind[0]) or " ".join(str(part) for part in kind)


def joined(first: Distribution, second: Distribution) -> Distribution:
    """Return the rows of two distributions of one kind, one after the other."""
    (kind, above), (beside, below) = distribution_columns(first), distribution_columns(second)
    found = prediction_of(_common_kind(kind, beside), np.concatenate([above, below]))
    assert isinstance(found, Distribution)
    return found


def _prediction_of(rows: AnyRows) -> Any:
    if isinstance(rows, Binary):
        return rows.p
    if isinstance(rows, Classes):
        return rows.P
    return rows.distribution if isinstance(rows, DistributionRows) else rows.prediction


def _read(prediction: Any, y: NDArray[Any], w: FloatArray) -> AnyRows:
    weights = None if (w == 1).all() else w
    if isinstance(prediction, np.ndarray):
        return read_probabilities(y, prediction, weights=weights)
    if isinstance(prediction, Distribution):
        return read_outcomes(y, prediction, weights=weights)
    return read_regions(y, prediction, weights=weights)
