"""Outcomes and predictive laws as they are: for measurements that no smaller value can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant.errors import InputError, SummaryError
from calibrant.inputs.laws import Law, Normal
from calibrant.inputs.laws.columns import joined, law_of, table_of
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray, is_unit, unit_weights
from calibrant.summaries import codec
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class KeptLaws(Summary):
    """Outcomes y, their predictive laws, weights w, in the order in which the rows came. It grows with the rows."""

    y: FloatArray  # (n,) or (n, D)
    law: Law | None  # None: no rows yet
    w: FloatArray  # (n,)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, shape = (0, self.y.shape[1:]) if self.law is None else (self.law.n, self.law.shape)
        if self.y.shape != (n, *shape) or self.w.shape != (n,):
            raise SummaryError("the columns of a KeptLaws must have one length")

    @classmethod
    def of(cls, rows: LawRows) -> Self:
        """Keep these rows."""
        return cls(rows.y.copy(), rows.law, rows.w if is_unit(rows.w) else rows.w.copy())

    @classmethod
    def zero(cls) -> Self:
        """Return no rows."""
        return cls(np.zeros(0), None, unit_weights(0))

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if self.law is None or other.law is None:
            return other if self.law is None else self
        unit = is_unit(self.w) and is_unit(other.w)
        law = joined(self.law, other.law)
        return type(self)(
            np.concatenate([self.y, other.y]),
            law,
            unit_weights(law.n) if unit else np.concatenate([self.w, other.w]),
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def rows(self) -> LawRows:
        """The rows."""
        return LawRows(self.y, self.law or Normal(0.0, 1.0).take(slice(0)), self.w)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptLaws):
            return NotImplemented
        same = np.array_equal(self.y, other.y) and np.array_equal(self.w, other.w)
        if self.law is other.law or not same:
            return same
        return self.to_bytes() == other.to_bytes()

    __hash__ = None

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; laws of one's own have no such form and are refused."""
        if self.law is None:
            return codec.encode(
                type(self).__name__, {"kind": "", "columns": np.zeros((0, 0)), "y": self.y, "w": self.w}
            )
        kind, columns = table_of(self.law)
        return codec.encode(
            type(self).__name__, {"kind": kind, "columns": columns, "y": self.y, "w": np.ascontiguousarray(self.w)}
        )

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        if set(values) != {"kind", "columns", "y", "w"}:
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: fields {sorted(values)}")
        w = values["w"]
        try:
            law = law_of(values["kind"], values["columns"]) if values["kind"] else None
        except InputError as problem:
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: {problem}") from None
        return cls(values["y"], law, unit_weights(w.size) if (w == 1).all() else w)
