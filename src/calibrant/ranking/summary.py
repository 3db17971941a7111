"""Counts of integer ranks, the summary of every rank verb; groups, covariates and exchanged outcomes are optional."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import (
    FloatArray,
    as_array,
    is_unit,
    read_numbers,
    read_weights,
    refuse_where,
    take_weights,
)
from calibrant.inputs.groups import Label, RowLabels, label_order, read_row_labels
from calibrant.inputs.options import check_choice, check_count
from calibrant.ranking.counting import Ranked, column_names, legendre

MAX_RANK_POINTS = 1000
MIN_CELLS = 100
MAX_COUNTS = 1 << 27  # counts in a summary, a gigabyte
COVARIATE_POLYNOMIALS = 2  # a shift and a spread that depend on covariates


@dataclass(frozen=True, eq=False, repr=False)
class Ranks(Summary):
    """How often each rank 0 to M occurs, in one column or several; with weights also Σw and Σw².

    Made from ranks by `Ranks.of`, or by ``summarize("energy_ranks", y, samples)``, which also counts ties. Curves and
    tests of ranks take it in place of outcomes and predictions. Three parts are optional: the ranks of each group
    (``groups=``, for `uniformity_test`), their co-moments with covariates (``covariates=``, for `rank_score_test`),
    and the counts of exchanged outcomes (made by ``summarize(rank_exchange_test, ...)``).

    Examples
    --------
    >>> summary = Ranks.of([0, 3, 1, 3], M=3, groups=["b", "a", "b", "a"])
    >>> summary.counts[:, 0]
    array([1, 1, 0, 2])
    >>> summary.labels, summary.groups[0].counts[:, 0]
    (('a', 'b'), array([0, 0, 0, 2]))
    >>> (summary + summary).n
    8
    """

    counts: NDArray[np.int64]  # (M + 1, C)
    weight: FloatArray  # (M + 1, C), sums of the weights
    weight2: FloatArray  # and of their squares
    names: tuple[str, ...]  # (C,)
    single: bool  # one column, without an axis: results are numbers
    tied: NDArray[np.int64]  # (C,), ranks that were drawn at random
    cells: bool  # they are cells of values in [0, 1], not ranks among draws
    outward: bool  # high ranks are outlying outcomes, as those by density or distance, not large ones
    labels: tuple[Label, ...] = ()  # of the groups, ascending
    groups: tuple[Ranks, ...] = ()  # the ranks of each group
    covariates: tuple[CovariateMoments, ...] = ()  # one or none
    exchanged: tuple[ExchangedCounts, ...] = ()  # one or none

    def __post_init__(self) -> None:
        super().__post_init__()
        tables, C = (self.counts, self.weight, self.weight2), len(self.names)
        _ask(all(table.shape == (len(self.counts), C) for table in tables), "the tables of Ranks must have its columns")
        _ask(self.tied.shape == (C,) and (C == 1 or not self.single), "the columns of Ranks do not fit together")
        n = self.counts.sum(axis=0)
        same = (n == n[:1]).all() and (self.tied <= n).all() and (self.M >= 1 or not C)
        _ask(same, "Ranks must be of the same rows in every column, with M >= 1")
        texts = type(self.names) is tuple and all(isinstance(name, str) for name in self.names)
        _ask(texts and len(set(self.names)) == C, "the names of Ranks must be a tuple of different texts")
        flags = all(type(flag) is bool for flag in (self.single, self.cells, self.outward))
        _ask(flags, "single, cells and outward of Ranks must be True or False")
        named = len(set(self.labels)) == len(self.labels) == len(self.groups)
        _ask(named, "Ranks must have one label per group, all different")
        for group in self.groups:
            _ask(isinstance(group, Ranks), "the groups of Ranks must be Ranks")
            self._refuse_other_ranks(group)
        whole = not self.groups or np.array_equal(sum(group.counts for group in self.groups), self.counts)
        _ask(whole, "the groups of Ranks must have the rows of all ranks")
        K = min(COVARIATE_POLYNOMIALS, self.M)
        fits = [x.rows == self.n and x.cross.shape[1:] == (K, C) for x in self.covariates]
        fits += [x.n == self.n and x.tables.shape[1:] == self.counts.shape for x in self.exchanged]
        _ask(all(fits), "covariates and exchanged counts of Ranks must belong to the same rows and columns")
        one = max(len(self.covariates), len(self.exchanged)) <= 1
        _ask(one, "Ranks must have one set of covariates and of exchanged counts at most")

    @classmethod
    def of(
        cls,
        ranks: ArrayLike,
        M: int,
        *,
        names: Iterable[str] | str | None = None,
        weights: ArrayLike | None = None,
        outward: bool = False,
        groups: ArrayLike | None = None,
        covariates: ArrayLike | None = None,
    ) -> Self:
        """Count ranks 0 to M, (n,) or (n, C) for C columns.

        Parameters
        ----------
        ranks
            Whole numbers, as `ranks` and similar verbs return them.
        M
            The number of draws per row: the highest rank there could be, whether it occurs or not.
        names
            Names of the columns.
        weights
            Importance weights of the rows.
        outward
            Whether high ranks mean outlying outcomes, as those of `energy_ranks` and most `joint_ranks` do.
        groups
            Labels of rows: ranks are also counted in each group, for `uniformity_test`.
        covariates
            Numbers (n,) or (n, q) that the predictions were made from, for `rank_score_test`.
        """
        M = check_count("M", M)
        rank = _read_ranks(ranks, M)
        known = column_names(rank)
        if names is not None:
            C = len(known)
            known = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
            if len(known) != C or len(set(known)) != C or not all(isinstance(name, str) for name in known):
                raise InputError(f"names must be {C} different texts, one per column; got {shown(names)}")
        check_choice("outward", outward, False, True)
        w = read_weights(weights, len(rank))
        keep = None if (w > 0).all() else w > 0
        n = int(np.count_nonzero(w > 0))
        labels = None if groups is None else read_row_labels(groups, n, keep=keep)
        x = None if covariates is None else covariate_columns(covariates, n, keep)
        rank, w = (rank, w) if keep is None else (rank[keep], w[keep])
        found = Ranked(rank, M, known, np.zeros(len(known), np.int64), outward=bool(outward))
        return cls.of_ranked(found, w, labels=labels, x=x)

    @classmethod
    def of_ranked(
        cls, found: Ranked, w: FloatArray, *, labels: RowLabels | None = None, x: FloatArray | None = None
    ) -> Self:
        """Count ranks that are known to be legal, of rows whose weight is not 0."""
        columns = found.rank.reshape(len(found.rank), -1).T

        def table(values: FloatArray | None) -> NDArray[Any]:
            return np.stack([np.bincount(column, values, minlength=found.M + 1) for column in columns], axis=1)

        counts = table(None).astype(np.int64)
        weight = weight2 = counts.astype(np.float64)
        if not is_unit(w):
            weight, weight2 = table(w), table(w * w)
        return cls(
            counts,
            weight,
            weight2,
            found.names,
            found.rank.ndim == 1,
            found.tied,
            found.cells,
            found.outward,
            () if labels is None else labels.values,
            () if labels is None else _group_ranks(found, w, labels),
            () if x is None else (CovariateMoments.of(columns.T, found.M, x),),
        )

    @classmethod
    def zero(cls) -> Self:
        """Return the counts of no rows."""
        none = np.zeros((0, 0))
        return cls(none.astype(np.int64), none, none, (), False, np.zeros(0, np.int64), False, False)

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        for name, kind in (("groups", Ranks), ("covariates", CovariateMoments), ("exchanged", ExchangedCounts)):
            if name in values:
                values[name] = tuple(kind.from_bytes(part) for part in values[name])
        return super()._checked(values)

    def merged(self, other: Self) -> Self:
        """Add up rank by rank, and part by part."""
        self._refuse_other_ranks(other)
        for name in ("groups", "covariates", "exchanged"):
            if bool(getattr(self, name)) != bool(getattr(other, name)):
                raise SummaryError(
                    f"ranks with {name} do not merge with ranks without them; make both with the same verb and options"
                )
        labels, groups = _merged_groups(self, other)
        summed = {name: getattr(self, name) + getattr(other, name) for name in ("counts", "weight", "weight2", "tied")}
        covariates = tuple(a + b for a, b in zip(self.covariates, other.covariates, strict=True))
        found = replace(self, **summed, labels=labels, groups=groups, covariates=covariates, exchanged=())
        if self.exchanged and not found.has_equal_weights:
            raise SummaryError("exchanged ranks of different weights do not merge: their tables count all rows alike")
        return replace(found, exchanged=tuple(a + b for a, b in zip(self.exchanged, other.exchanged, strict=True)))

    def _refuse_other_ranks(self, other: Ranks) -> None:
        if (self.M, self.cells, self.outward) != (other.M, other.cells, other.outward):
            raise SummaryError(f"{_kind(self)} do not merge with {_kind(other)}")
        if self.names != other.names or self.single != other.single:
            raise SummaryError(f"ranks of {_listed(self)} do not merge with ranks of {_listed(other)}")

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts[:, 0].sum()) if self.names else 0

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.array([group.n for group in self.groups])

    @property
    def M(self) -> int:
        """The highest rank there could be: the number of draws per row."""
        return int(self.counts.shape[0]) - 1

    @property
    def C(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def points(self) -> NDArray[np.int64]:
        """The ranks j at which #{rank < j} is evaluated."""
        return rank_points(self.n, self.M, cells=self.cells)

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have one weight, up to rounding."""
        total, squares = self.weight[:, 0].sum(), self.weight2[:, 0].sum()
        return bool(np.isclose(total * total, squares * self.n, rtol=1e-12, atol=0))

    def __repr__(self) -> str:
        columns = "" if self.single else f", {self.C} columns"
        groups = f", {len(self.groups)} groups" if self.groups else ""
        return f"{type(self).__name__}(n={self.n}, M={self.M}{columns}{groups})"

    def take(self, columns: Any) -> Self:
        """Return the counts of these columns, by their places, without the optional parts."""
        chosen = np.asarray(columns, dtype=np.intp)
        names = tuple(self.names[c] for c in chosen.tolist())
        weights = (self.weight[:, chosen], self.weight2[:, chosen])
        return type(self)(self.counts[:, chosen], *weights, names, False, self.tied[chosen], self.cells, self.outward)


def rank_points(n: int, M: int, *, cells: bool) -> NDArray[np.int64]:
    """Return the j, 0 < j <= M, at which #{rank < j} is compared with its null distribution, Binomial(n, j/(M + 1)).

    All of them up to M = 999, else 999 that are spread evenly. Values of a distribution function have no ranks of
    their own: their 1000 cells are joined to as many as there are rows, at least 100, and a divisor of 1000.
    """
    m = M + 1
    if cells:
        K = max(k for k in range(1, m + 1) if m % k == 0 and k <= max(n, MIN_CELLS))
        return np.arange(1, K) * (m // K)
    if m <= MAX_RANK_POINTS:
        return np.arange(1, m)
    i, K = np.arange(1, MAX_RANK_POINTS), MAX_RANK_POINTS
    return np.unique((2 * i * m + K) // (2 * K))  # i m/1000, rounded


def _ask(fits: Any, words: str) -> None:
    if not fits:
        raise SummaryError(words)


def _read_ranks(ranks: Any, M: int) -> NDArray[np.int64]:
    array = as_array(ranks, name="ranks")
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or array.size == 0:
        words = f"ranks must be whole numbers, (n,) or (n, C); got shape {array.shape} of type {array.dtype}"
        raise InputError(f"{words}. Ranks divided by M are not ranks: pass what ranks(y, samples) returns")
    if (M + 1) * (array.size // len(array)) > MAX_COUNTS:
        raise InputError(
            f"M must be at most {MAX_COUNTS:,} over the number of columns, as each rank is counted; got {M:,}"
        )
    remedy = "M is the number of draws per row, not the highest rank seen"
    refuse_where((array < 0) | (array > M), array, f"ranks must lie between 0 and M = {M}", remedy)
    return array.astype(np.int64)


def _kind(ranks: Ranks) -> str:
    among = f"cells of {ranks.M + 1:,}" if ranks.cells else f"ranks among {ranks.M:,} draws"
    return f"outward {among}" if ranks.outward else among


def _listed(ranks: Ranks) -> str:
    return "one column" if ranks.names == ("",) else ", ".join(ranks.names)


def _group_ranks(found: Ranked, w: FloatArray, labels: RowLabels) -> tuple[Ranks, ...]:
    """Count the ranks of each group; ties are counted of all rows together."""
    order = np.argsort(labels.code, kind="stable")
    ends = np.cumsum(np.bincount(labels.code, minlength=len(labels.values)))[:-1]
    none = np.zeros_like(found.tied)
    return tuple(
        Ranks.of_ranked(found._replace(rank=found.rank[rows], tied=none), take_weights(w, rows))
        for rows in np.split(order, ends)
    )


def _merged_groups(one: Ranks, other: Ranks) -> tuple[tuple[Label, ...], tuple[Ranks, ...]]:
    found = dict(zip(one.labels, one.groups, strict=True))
    for label, group in zip(other.labels, other.groups, strict=True):
        found[label] = found[label] + group if label in found else group
    labels = list(found)
    labels = [labels[k] for k in label_order(labels)]
    return tuple(labels), tuple(found[label] for label in labels)


def covariate_columns(covariates: Any, n: int, keep: NDArray[np.bool_] | None) -> FloatArray:
    """Return covariates as finite numbers (n, q); `keep` marks which of the caller's rows stayed at the boundary."""
    array = read_numbers(covariates, "covariates")
    check_covariate_rows(array, n, keep)
    if array.ndim > 2 or array.size == 0:
        raise InputError(f"covariates must have shape (n,) or (n, q), numbers for each row; got shape {array.shape}")
    with np.errstate(over="ignore"):
        columns = array.reshape(len(array), -1).astype(np.float64)
    bad = ~np.isfinite(columns) if keep is None else ~np.isfinite(columns) & keep[:, None]
    refuse_where(bad, columns, "covariates must be finite", "Drop or repair such rows", axes=("row", "column"))
    return columns if keep is None else columns[keep]


def check_covariate_rows(array: NDArray[Any], n: int, keep: NDArray[np.bool_] | None) -> None:
    """Refuse covariates that are not one value, vector or array for each row."""
    expected = n if keep is None else keep.size
    if array.ndim == 0 or len(array) != expected:
        words = f"expected {expected} rows, got shape {array.shape}. Take them from the table of the outcomes"
        raise InputError(f"covariates must have one value or vector per row: {words}")


@dataclass(frozen=True, eq=False, repr=False)
class CovariateMoments(Summary):
    """Means of q covariates x and of φ_k(r), k = 1, 2; Σ(x - x̄)(x - x̄)' and Σ(x - x̄) φ_k(r), per column of ranks.

    Merged by Chan's formula, which subtracts no large numbers. All rows count alike.
    """

    rows: int
    mean: FloatArray  # (q,)
    mean_phi: FloatArray  # (K, C)
    spread: FloatArray  # (q, q)
    cross: FloatArray  # (q, K, C)

    def __post_init__(self) -> None:
        super().__post_init__()
        q = self.mean.size
        same = self.spread.shape == (q, q) and self.cross.shape == (q, *self.mean_phi.shape)
        _ask(same, "the moments of covariates do not fit together")
        finite = all(np.isfinite(m).all() for m in (self.mean, self.mean_phi, self.spread, self.cross))
        legal = finite and (np.diagonal(self.spread) >= 0).all()
        _ask(legal, "the moments of covariates must be finite; divide covariates by their largest value")

    @property
    def n(self) -> int:
        return self.rows

    @classmethod
    def of(cls, rank: NDArray[np.int64], M: int, x: FloatArray) -> Self:
        """Take ranks (n, C) and covariates (n, q) that are known to be legal."""
        phi = legendre(M)[:COVARIATE_POLYNOMIALS][:, rank]  # (K, n, C)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = x.mean(axis=0)
            step = x - mean
            step -= step.mean(axis=0)  # what was lost when the mean was rounded
            spread = step.T @ step
            cross = np.tensordot(step, phi, axes=(0, 1))
        if not (np.isfinite(spread).all() and np.isfinite(cross).all()):
            raise InputError("covariates are too large for their squares; divide them by their largest value")
        return cls(len(x), mean, phi.mean(axis=1), spread, cross)

    def merged(self, other: Self) -> Self:
        if self.mean.size != other.mean.size:
            raise SummaryError(f"ranks with {self.mean.size} covariates do not merge with ranks with {other.mean.size}")
        n = self.rows + other.rows
        step, step_phi = other.mean - self.mean, other.mean_phi - self.mean_phi
        share, factor = other.rows / n, self.rows * other.rows / n
        with np.errstate(over="ignore", invalid="ignore"):  # values beyond float64 are refused
            return type(self)(
                n,
                self.mean + step * share,
                self.mean_phi + step_phi * share,
                self.spread + other.spread + factor * np.multiply.outer(step, step),
                self.cross + other.cross + factor * np.multiply.outer(step, step_phi),
            )


@dataclass(frozen=True, eq=False, repr=False)
class ExchangedCounts(Summary):
    """B tables of counts of ranks in which another member of each row stands for the outcome.

    The tables of two batches add up one by one. They must come from different random streams: batches made with the
    same whole number as `rng` would take the same members, and are refused.
    """

    tables: NDArray[np.int64]  # (B, M + 1, C)
    streams: tuple[int, ...]  # a number that each batch has drawn, by which the same stream is recognised

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self.tables.sum(axis=1)
        legal = self.tables.ndim == 3 and (self.tables >= 0).all() and (rows == rows.flat[:1]).all()
        _ask(legal, "exchanged counts must be tables of the same rows")

    @property
    def n(self) -> int:
        return int(self.tables[0, :, 0].sum()) if self.tables.size else 0

    def merged(self, other: Self) -> Self:
        if len(self.tables) != len(other.tables):
            sizes = f"{len(self.tables):,} exchanged tables do not merge with {len(other.tables):,}"
            raise SummaryError(f"{sizes}; make both summaries with the same resamples")
        if set(self.streams) & set(other.streams):
            words = "two batches were exchanged with the same random numbers"
            raise SummaryError(f"{words}; pass one numpy Generator as rng to all, or a different number to each")
        return type(self)(self.tables + other.tables, (*self.streams, *other.streams))
