"""The rows as they are: for measurements that no smaller value can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core import summary as codec
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, is_unit, unit_weights
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.parametric import Normal
from calibrant.inputs.probabilities import Binary, Classes, two_columns
from calibrant.inputs.rows import DistributionRows
from calibrant.kernels.coverage_rows import CoverageRows, KernelRows
from calibrant.kernels.row_order import distribution_of, joined, table_of


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Summary):
    """Outcomes y as column numbers, class probabilities P, weights w, in the order in which the rows came.

    One probability per row is kept as the vectors (1 - p, p). It grows with the rows: n (K + 1) numbers, and n more
    if there are weights. `dtype` is the precision the probabilities came in.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ("P", "w")
    y: NDArray[np.int64]  # (n,)
    P: FloatArray  # (n, K)
    w: FloatArray  # (n,)
    dtype: str

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        if self.P.ndim != 2 or not self.y.shape == self.w.shape == self.P.shape[:1]:
            raise SummaryError("the columns of a Kept must have one length")
        if self.n and not 0 <= self.y.min() <= self.y.max() < self.K:
            raise SummaryError(f"the outcomes of a Kept must be columns 0 to {self.K - 1}")

    @classmethod
    def of(cls, rows: Binary | Classes) -> Self:
        """Keep a copy of these rows."""
        given = rows.p if isinstance(rows, Binary) else rows.P
        P = two_columns(given) if isinstance(rows, Binary) else np.array(given, dtype=np.float64, order="C")
        w = rows.w if is_unit(rows.w) else rows.w.copy()
        return cls(rows.y.astype(np.int64), P, w, given.dtype.name)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no classes."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 0)), unit_weights(0), "")

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.K != other.K:
            raise SummaryError(f"rows of {self.K} classes do not merge with rows of {other.K} classes")
        if self.dtype != other.dtype:
            raise SummaryError(
                f"probabilities of type {self.dtype} and {other.dtype} fall into different bins at the edges; "
                "convert all batches to one type before they are summarised"
            )
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.y, other.y]),
            np.concatenate([self.P, other.P]),
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
            self.dtype,
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.size)

    @property
    def rows(self) -> Classes:
        """The rows."""
        return Classes(self.y.astype(np.intp, copy=False), self.P, self.w)

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.P.shape[1])


class OneColumn(Kept):
    """The same of one probability per row, between which distances other than the total variation are shorter."""


COORDINATES = {"Intervals": 2, "Sets": 1, "Quantiles": 1, "": 0}
"""How many numbers say where a prediction lies, by what it is."""


@dataclass(frozen=True, eq=False, repr=False)
class KeptCoverage(Summary):
    """Points (n, L, c), residuals of the hits (n, L), levels (L,), weights (n,), and what the predictions are.

    It grows with the rows.
    """

    POSITIVE: ClassVar[tuple[str, ...]] = ("w",)
    FINITE: ClassVar[tuple[str, ...]] = ("e",)
    points: FloatArray
    e: FloatArray
    levels: FloatArray
    w: FloatArray
    kind: str  # "Intervals", "Sets", "Quantiles"; "": no rows yet

    def __post_init__(self) -> None:
        if self.w.strides != (0,) and (self.w == 1).all():
            object.__setattr__(self, "w", unit_weights(self.w.size))
        super().__post_init__()
        n, L = self.e.shape if self.e.ndim == 2 else (-1, -1)
        if self.points.ndim != 3 or (self.points.shape[:2], self.levels.shape, self.w.shape) != ((n, L), (L,), (n,)):
            raise SummaryError("the columns of a KeptCoverage must belong to the same rows and levels")
        if COORDINATES.get(self.kind) != self.points.shape[2]:
            raise SummaryError(
                f"a KeptCoverage holds Intervals by two numbers, Sets or Quantiles by one; got {shown(self.kind)} "
                f"by {self.points.shape[2]}"
            )

    @classmethod
    def of(cls, rows: CoverageRows) -> Self:
        """Keep these rows."""
        return cls(rows.points, rows.e, rows.levels, rows.w, rows.kind)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0), unit_weights(0), "")

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.kind != other.kind:
            raise SummaryError(
                f"rows of {self.kind} do not merge with rows of {other.kind}; summarize each kind of prediction alone"
            )
        if not np.array_equal(self.levels, other.levels):
            raise SummaryError(f"predictions of levels {self.levels} do not merge with those of {other.levels}")
        unit = is_unit(self.w) and is_unit(other.w)
        return type(self)(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.e, other.e]),
            self.levels,
            unit_weights(self.n + other.n) if unit else np.concatenate([self.w, other.w]),
            self.kind,
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.e)

    @property
    def rows(self) -> CoverageRows:
        """The rows."""
        return CoverageRows(self.points, self.e, self.levels, self.w, self.kind)


@dataclass(frozen=True, eq=False, repr=False)
class KeptDistributions(Summary):
    """Outcomes y, their predictive laws, weights w, in the order in which the rows came. It grows with the rows."""

    POSITIVE: ClassVar[tuple[str, ...]] = ("w",)
    FINITE: ClassVar[tuple[str, ...]] = ("y",)
    y: FloatArray  # (n,) or (n, D)
    distribution: Distribution | None  # None: no rows yet
    w: FloatArray  # (n,)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, shape = (
            (0, self.y.shape[1:]) if self.distribution is None else (self.distribution.n, self.distribution.shape)
        )
        if self.y.shape != (n, *shape) or self.w.shape != (n,):
            raise SummaryError("the columns of a KeptDistributions must have one length")

    @classmethod
    def of(cls, rows: DistributionRows) -> Self:
        """Keep these rows."""
        return cls(rows.y.copy(), rows.distribution, rows.w if is_unit(rows.w) else rows.w.copy())

    @classmethod
    def zero(cls) -> Self:
        """Return no rows."""
        return cls(np.zeros(0), None, unit_weights(0))

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if self.distribution is None or other.distribution is None:
            return other if self.distribution is None else self
        unit = is_unit(self.w) and is_unit(other.w)
        distribution = joined(self.distribution, other.distribution)
        return type(self)(
            np.concatenate([self.y, other.y]),
            distribution,
            unit_weights(distribution.n) if unit else np.concatenate([self.w, other.w]),
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
    def rows(self) -> DistributionRows:
        """The rows."""
        return DistributionRows(self.y, self.distribution or Normal(0.0, 1.0).take(slice(0)), self.w)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptDistributions):
            return NotImplemented
        same = np.array_equal(self.y, other.y) and np.array_equal(self.w, other.w)
        if self.distribution is other.distribution or not same:
            return same
        return self.to_bytes() == other.to_bytes()

    __hash__ = None

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back; laws of one's own have no such form and are refused."""
        if self.distribution is None:
            return codec.encode(
                type(self).__name__, {"kind": "", "columns": np.zeros((0, 0)), "y": self.y, "w": self.w}
            )
        kind, columns = table_of(self.distribution)
        return codec.encode(
            type(self).__name__, {"kind": kind, "columns": columns, "y": self.y, "w": np.ascontiguousarray(self.w)}
        )

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        if set(values) != {"kind", "columns", "y", "w"}:
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: fields {sorted(values)}")
        w = values["w"]
        try:
            distribution = distribution_of(values["kind"], values["columns"]) if values["kind"] else None
        except InputError as problem:
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: {problem}") from None
        return cls(values["y"], distribution, unit_weights(w.size) if (w == 1).all() else w)


def kept(rows: KernelRows) -> Kept | KeptDistributions | KeptCoverage:
    """Keep these rows."""
    if isinstance(rows, CoverageRows):
        return KeptCoverage.of(rows)
    if isinstance(rows, DistributionRows):
        return KeptDistributions.of(rows)
    return OneColumn.of(rows) if isinstance(rows, Binary) else Kept.of(rows)
