"""The rows themselves as a summary: for measurements that no smaller summary can serve."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core import summary as codec
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit, locked
from calibrant.inputs.distribution import Stored
from calibrant.inputs.kinds import KINDS, STORED, AnyRows, is_levelled, read
from calibrant.inputs.options import DIGITS


@dataclass(frozen=True, eq=False, repr=False)
class KeptRows(Summary):
    """Checked rows of any kind of prediction, in the order in which they came; memory grows with their number.

    - `held`: the rows, probabilities in float64; None if there are none yet
    - `dtype`: the type in which probabilities came, since bin edges are compared in it; "" for other predictions
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
        prediction: Any = rows.prediction
        if not isinstance(prediction, np.ndarray):
            return cls(type(rows)(y, prediction, w), "")
        held: Any = locked(np.array(prediction, dtype=np.float64, order="C"))
        return cls(type(rows)(y, held, w), prediction.dtype.name)

    @classmethod
    def zero(cls) -> Self:
        return cls(None, "")

    @property
    def rows(self) -> Any:
        """The rows, of the kind of prediction that was kept."""
        if self.held is None:
            raise SummaryError("this KeptRows is empty; at least one row is needed")
        return self.held

    @property
    def kind(self) -> str:
        """The kind of prediction, a name of `kinds.KINDS`."""
        return str(self.rows.kind)

    @property
    def n(self) -> int:
        return 0 if self.held is None else self.held.n

    def merged(self, other: Self) -> Self:
        a, b = self.rows, other.rows
        prediction = joined(a.prediction, b.prediction)
        if self.dtype != other.dtype:
            raise SummaryError(
                f"probabilities of type {self.dtype} and {other.dtype} fall into different bins at the edges; "
                "convert all batches to one type before they are summarised"
            )
        return type(self)(_read(prediction, np.concatenate([a.y, b.y]), np.concatenate([a.w, b.w])), self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptRows):
            return NotImplemented
        a, b = self.held, other.held
        if a is None or b is None:
            return a is b
        if self.dtype != other.dtype or not (np.array_equal(a.y, b.y) and np.array_equal(a.w, b.w)):
            return False
        if a.prediction is b.prediction:
            return True
        (kind, columns), (beside, others) = table_of(a.prediction), table_of(b.prediction)
        return kind == beside and np.array_equal(columns, others)

    __hash__ = None

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; distributions of your own are refused."""
        values: dict[str, Any] = {"kind": "", "columns": np.zeros((0, 0)), "y": np.zeros(0), "w": np.zeros(0)}
        if self.held is not None:
            kind, columns = table_of(self.held.prediction)
            y = self.held.y.astype(np.float64 if self.held.y.dtype.kind == "f" else np.int64)
            values = {"kind": json.dumps(kind), "columns": columns, "y": y, "w": np.ascontiguousarray(self.held.w)}
        return codec.encode(type(self).__name__, {**values, "dtype": self.dtype})

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Read the rows as they were read first, so values that are not legal are refused."""
        if values["kind"] == "":
            return cls.zero()
        try:
            prediction = prediction_of(json.loads(values["kind"]), values["columns"])
            if isinstance(prediction, np.ndarray):
                prediction = prediction.astype(np.dtype(values["dtype"]))
            return cls.of(_read(prediction, values["y"], values["w"]))
        except InputError as problem:
            raise SummaryError(f"these bytes do not contain a whole {cls.__name__}: {problem}") from None


def table_of(prediction: Any) -> tuple[list[Any], FloatArray]:
    """Return the kind of predictions, as plain values, and what they say of each row, (n, columns)."""
    if isinstance(prediction, Stored):
        return prediction.columns()
    columns = prediction.astype(np.float64, copy=False)
    return (["probability"], columns[:, None]) if columns.ndim == 1 else (["classes", columns.shape[1]], columns)


def prediction_of(kind: list[Any], columns: FloatArray) -> Any:
    """Return the prediction that `table_of` made a table of: an array of probabilities, or a typed prediction."""
    name = kind[0]
    if name == "probability":
        return columns[:, 0]
    if name == "classes":
        if columns.shape[1] != kind[1]:
            raise SummaryError(f"rows of {kind[1]} classes need as many columns; got {columns.shape[1]}")
        return columns
    if name not in STORED:
        raise SummaryError(f"these bytes contain predictions of the unknown kind {name}")
    return STORED[name].of_columns(kind, columns)


def _common_kind(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the kind of both; a level given as a number counts as one only if both give it as a number."""
    if first == second:
        return first
    if (
        first[0] != second[0]
        or not is_levelled(first[0])
        or _levels(first) != _levels(second)
        or first[3:] != second[3:]
    ):
        raise SummaryError(
            f"rows of {_words(first)} do not merge with rows of {_words(second)}; "
            "summarize each kind of prediction alone"
        )
    return [first[0], first[1], first[2] and second[2], *first[3:]]


def _levels(kind: list[Any]) -> list[float]:
    return [round(level, DIGITS) for level in kind[1] or []]


def _words(kind: list[Any]) -> str:
    if is_levelled(kind[0]):
        labels = f" and {kind[3]} labels" if len(kind) > 3 else ""
        return f"{kind[0]} of levels {', '.join(f'{level:.10g}' for level in kind[1] or []) or 'unknown'}{labels}"
    words = {"probability": "one probability per row", "classes": f"{kind[-1]} classes"}
    return words.get(kind[0]) or " ".join(str(part) for part in kind)


def joined(first: Any, second: Any) -> Any:
    """Return the rows of two predictions of one kind, one after the other."""
    (kind, above), (beside, below) = table_of(first), table_of(second)
    return prediction_of(_common_kind(kind, beside), np.concatenate([above, below]))


def _read(prediction: Any, y: NDArray[Any], w: FloatArray) -> AnyRows:
    outcomes = None if y.ndim > 1 and y.shape[1] == 0 else y  # values of distribution functions contain the outcome
    return read("KeptRows", tuple(KINDS), outcomes, prediction, weights=None if (w == 1).all() else w)
