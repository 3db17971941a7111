"""Which rows hit, in their order: for what depends on how hits and misses follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import SummaryError
from calibrant.inputs.levels import DIGITS
from calibrant.inputs.row_labels import Label, label_order
from calibrant.inputs.weights import FloatArray
from calibrant.summaries.base import Summary


@dataclass(frozen=True, eq=False, repr=False)
class Hits(Summary):
    """Hits (n, L) as 0 and 1, one column per level, in the order in which the rows came.

    `series` names the series each row belongs to, as a number among `names`, which ascend; rows of one series may stand
    apart, their order is that of the rows. Merging puts one batch after the other, so a series goes on in the next
    batch. All rows have one weight: what depends on their order has no weighted form. It grows with the rows: n (L + 1)
    numbers.
    """

    hits: NDArray[np.int64]  # (n, L)
    levels: FloatArray  # (L,)
    kind: str  # of the prediction, such as "Intervals"; "": no rows yet
    series: NDArray[np.int64]  # (n,)
    names: tuple[Label, ...]
    weight: float = 1.0
    named: bool = False  # series were given

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hits.shape != (self.series.size, self.levels.size):
            raise SummaryError("the hits must have one row per series number and one column per level")

    @classmethod
    def of(
        cls,
        covered: NDArray[np.bool_],
        levels: FloatArray,
        kind: str,
        series: NDArray[np.intp] | None = None,
        names: tuple[Label, ...] = ("",),
        weight: float = 1.0,
    ) -> Self:
        """Keep which rows were covered; without `series` all belong to one."""
        code = np.zeros(len(covered), np.int64) if series is None else series.astype(np.int64)
        return cls(np.ascontiguousarray(covered, dtype=np.int64), levels, kind, code, names, weight, series is not None)

    @classmethod
    def zero(cls) -> Self:
        """Return no rows, of no levels."""
        return cls(np.zeros((0, 0), np.int64), np.zeros(0), "", np.zeros(0, np.int64), ())

    def merged(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""
        if not self.n or not other.n:
            return other if not self.n else self
        if self.kind != other.kind or not np.array_equal(self.levels.round(DIGITS), other.levels.round(DIGITS)):
            raise SummaryError(
                f"hits of {self.kind} at {self.levels.tolist()} do not merge with hits of {other.kind} "
                f"at {other.levels.tolist()}"
            )
        if self.weight != other.weight:
            raise SummaryError(
                f"hits of weight {self.weight:g} do not merge with hits of weight {other.weight:g}: "
                "tests of their order take equal weights alone"
            )
        if self.named != other.named:
            raise SummaryError(
                "hits of named series do not merge with hits of rows without. "
                "Make both summaries with series=, or both without"
            )
        names = list(dict.fromkeys([*self.names, *other.names]))
        names = [names[k] for k in label_order(names)]
        place = {name: k for k, name in enumerate(names)}
        moved = (np.array([place[name] for name in one.names], dtype=np.int64)[one.series] for one in (self, other))
        return type(self)(
            np.concatenate([self.hits, other.hits]),
            self.levels,
            self.kind,
            np.concatenate([*moved]),
            tuple(names),
            self.weight,
            self.named,
        )

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.series.size)
