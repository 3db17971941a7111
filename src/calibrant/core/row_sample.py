"""A random sample of the rows as a summary: all of them while they are few, of bounded size beyond that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calibrant.core.kept_rows import KeptRows, table_of
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import FloatArray, read_weights
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.kinds import AnyRows

MAX_ROWS_KEPT = 100_000
MAX_NUMBERS_KEPT = 4_000_000  # in the predictions and covariates of the kept rows


@dataclass(frozen=True, eq=False, repr=False)
class RowSample(Summary):
    """Rows drawn without replacement, in the order in which they came; all of them while they are few.

    Every row has a random number from 0 to 1, and those with the smallest numbers are kept.
    """

    seen: int  # rows that were drawn from
    number: FloatArray  # of each kept row
    kept: tuple[KeptRows, ...]  # one, or none without rows
    x: FloatArray  # (rows, q), the covariates of each kept row: numbers, or codes of categories
    labels: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: AnyRows, rng: np.random.Generator, covariates: Covariates | None = None) -> Self:
        """Draw from these rows: the m smallest of n uniform numbers are ratios of sums of exponential ones."""
        x = covariates or Covariates(np.zeros((rows.n, 0)), (), ())
        n, m = rows.n, min(rows.n, most_kept(rows, x.q))
        sums = np.cumsum(rng.exponential(size=m))
        number = sums / (sums[-1] + rng.gamma(n - m + 1))
        if m < n:
            chosen = np.sort(rng.choice(n, m, replace=False, shuffle=False))
            rows, x = rows.take(chosen), x.take(chosen).seen
        return cls(n, rng.permutation(number), (KeptRows.of(rows),), x.x, x.labels, x.names)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        return super()._checked({**values, "labels": tuple(map(tuple, values["labels"]))})

    def merged(self, other: Self) -> Self:
        both, w = self.kept[0] + other.kept[0], np.concatenate([self.kept[0].rows.w, other.kept[0].rows.w])
        used = read_weights(w, w.size) > 0  # others were dropped
        number, x = np.concatenate([self.number, other.number])[used], self._table.joined(other._table).take(used)
        most = most_kept(both.rows, x.q)
        if both.n > most:
            chosen = np.sort(np.argpartition(number, most)[:most])
            number, x, both = number[chosen], x.take(chosen).seen, KeptRows(both.rows.take(chosen), both.dtype)
        return type(self)(self.seen + other.seen, number, (both,), x.x, x.labels, x.names)

    @property
    def n(self) -> int:
        return self.seen

    @property
    def rows(self) -> Any:
        """The kept rows, probabilities in the type in which they came."""
        (kept,) = self.kept
        rows = kept.rows
        return type(rows)(rows.y, rows.prediction.astype(kept.dtype), rows.w) if kept.dtype else rows

    @property
    def covariates(self) -> Covariates | None:
        """What was known of each kept row; None if batches came without."""
        return self._table if self.names else None

    @property
    def _table(self) -> Covariates:
        return Covariates(self.x, self.labels, self.names)


def most_kept(rows: AnyRows, q: int) -> int:
    _, columns = table_of(rows.take(np.zeros(1, np.intp)).prediction)
    return max(1, min(MAX_ROWS_KEPT, MAX_NUMBERS_KEPT // (int(columns.shape[1]) + q)))
