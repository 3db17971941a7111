"""Rows of any kind of prediction with what was known of each: what tests of regions need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.kept_rows import KeptRows, table_of
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.kinds import AnyRows
from calibrant.ranking.counting import pit_bounds

NO_CLUSTERS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class KeptCovariates(Summary):
    """The rows, beside the covariates (n, q) and the cluster of each; memory grows with the rows.

    Examples
    --------
    >>> from calibrant import conditional_test, summarize
    >>> summarize(conditional_test, [0, 1], [0.2, 0.6], covariates=[1.5, 2.0])
    KeptCovariates(n=2)
    """

    grows = True

    kept: tuple[KeptRows, ...]  # one, or none if there are no rows yet
    x: FloatArray  # numbers, or codes of categories
    labels: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    clusters: NDArray[np.int64]  # (n,), or none

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.kept) > 1 or not all(isinstance(rows, KeptRows) for rows in self.kept):
            raise SummaryError("the rows of KeptCovariates must be one KeptRows")
        if self.kept and (
            self.x.shape != (self.n, len(self.names))
            or len(self.labels) != len(self.names)
            or self.clusters.size not in (0, self.n)
        ):
            raise SummaryError("the columns of KeptCovariates must belong to the same rows and covariates")
        self.covariates.check_codes("KeptCovariates")

    @property
    def n(self) -> int:
        return self.kept[0].n if self.kept else 0

    @property
    def covariates(self) -> Covariates:
        """The covariates of the rows."""
        return Covariates(self.x, self.labels, self.names)

    @classmethod
    def of(cls, rows: AnyRows, covariates: Covariates, clusters: NDArray[Any] | None = None) -> Self:
        """Keep a copy of these rows."""
        known = NO_CLUSTERS if clusters is None else np.asarray(clusters, np.int64)
        x = np.ascontiguousarray(covariates.x)
        return cls((KeptRows.of(rows),), x, covariates.labels, covariates.names, known)

    @classmethod
    def zero(cls) -> Self:
        return cls((), np.zeros((0, 0)), (), (), NO_CLUSTERS)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        kept = tuple(KeptRows.from_bytes(part) for part in values.get("kept", ()))
        labels = tuple(tuple(str(label) for label in known) for known in values.get("labels", ()))
        names = tuple(str(name) for name in values.get("names", ()))
        return super()._checked({**values, "kept": kept, "labels": labels, "names": names})

    def merged(self, other: Self) -> Self:
        if self.clusters.size or other.clusters.size:
            raise SummaryError("rows with clusters do not merge: a cluster may have rows in several parts")
        covariates = self.covariates.joined(other.covariates)
        kept = self.kept[0] + other.kept[0]
        return type(self)((kept,), covariates.x, covariates.labels, covariates.names, NO_CLUSTERS)

    def order(self) -> NDArray[np.intp]:
        """Return an order of the rows that depends on their values alone."""
        rows = self.kept[0].rows
        if rows.kind in ("distributions", "cdf"):
            columns = np.concatenate([bound.reshape(self.n, -1) for bound in pit_bounds(rows)], axis=1)
        else:
            columns = table_of(rows.prediction)[1]
        y = np.asarray(rows.y, np.float64).reshape(self.n, -1)
        return np.lexsort((rows.w, *self.clusters[None][: self.clusters.size], *y.T, *columns.T, *self.x.T))
