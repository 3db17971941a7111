"""Covariates: what was known of each row, as numbers and categories with names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, as_array, missing_mask, numbers_of_objects, refuse_where
from calibrant.inputs.labels import Rows
from calibrant.inputs.named import named_columns

MAX_COVARIATES = 200
LARGEST = 1e300  # sums and differences of larger numbers leave float64
MAX_CATEGORIES = 16  # of one covariate; the rarest of more are pooled
OTHERS = "other"
NEITHER_NUMBERS_NOR_TEXTS = (Decimal, Fraction, complex, date, time, timedelta)  # not categories either


@dataclass(frozen=True, eq=False)
class Covariates:
    """Checked covariates: numbers, or codes of the categories that `labels` names."""

    x: FloatArray  # (n, q), finite; whole numbers 0, 1, .. where a covariate has categories
    labels: tuple[tuple[str, ...], ...]  # the categories of each covariate; empty for numbers
    names: tuple[str, ...]  # all different

    @property
    def q(self) -> int:
        return len(self.names)

    def take(self, rows: Rows | NDArray[np.bool_]) -> Covariates:
        return Covariates(self.x[rows], self.labels, self.names)

    def columns(self, chosen: list[int]) -> Covariates:
        return Covariates(
            self.x[:, chosen], tuple(self.labels[j] for j in chosen), tuple(self.names[j] for j in chosen)
        )

    @property
    def numbers(self) -> FloatArray:
        """Numbers alone (n, q'): of each category but the first a column of 0 and 1."""
        parts = [
            (self.x[:, [j]] == np.arange(1, len(labels))) if labels else self.x[:, [j]]
            for j, labels in enumerate(self.labels)
        ]
        return np.concatenate(parts, axis=1).astype(np.float64)

    @property
    def pooled(self) -> Covariates:
        """The same with at most 16 categories of each covariate; the rarest are one, "other"."""
        x, labels = self.x.copy(), list(self.labels)
        for j, known in enumerate(self.labels):
            if len(known) > MAX_CATEGORIES:
                code = x[:, j].astype(np.intp)
                often = np.argsort(-np.bincount(code, minlength=len(known)), kind="stable")[: MAX_CATEGORIES - 1]
                often.sort()
                place = np.full(len(known), MAX_CATEGORIES - 1)
                place[often] = np.arange(MAX_CATEGORIES - 1)
                x[:, j] = place[code]
                labels[j] = (*(known[k] for k in often.tolist()), _other(known))
        return Covariates(x, tuple(labels), self.names)

    @property
    def seen(self) -> Covariates:
        """The same with those categories alone that rows have."""
        x, labels = self.x.copy(), list(self.labels)
        for j, known in enumerate(self.labels):
            if known:
                codes, x[:, j] = np.unique(x[:, j].astype(np.intp), return_inverse=True)
                labels[j] = tuple(known[k] for k in codes.tolist())
        return Covariates(x, tuple(labels), self.names)

    def joined(self, other: Covariates) -> Covariates:
        """Return the rows of both, one after the other; categories are matched by their labels."""
        if self.names != other.names:
            raise SummaryError(
                f"rows with covariates {', '.join(self.names)} do not merge with those with {', '.join(other.names)}"
            )
        for name, a, b in zip(self.names, self.labels, other.labels, strict=True):
            if bool(a) != bool(b):
                raise SummaryError(
                    f"covariates ({name}) has categories in one part and numbers in another; save it as one type"
                )
        every = tuple(tuple(sorted({*a, *b})) for a, b in zip(self.labels, other.labels, strict=True))
        return Covariates(np.concatenate([part._coded(every) for part in (self, other)]), every, self.names)

    def _coded(self, every: tuple[tuple[str, ...], ...]) -> FloatArray:
        x = self.x.copy()
        for j, (known, labels) in enumerate(zip(self.labels, every, strict=True)):
            if known:
                place = {label: k for k, label in enumerate(labels)}
                x[:, j] = np.array([place[label] for label in known], np.float64)[x[:, j].astype(np.intp)]
        return x

    def refuse_identifiers(self) -> None:
        """Refuse texts of which most rows have one of their own; those of one batch can be few by chance."""
        n = len(self.x)
        for name, labels in zip(self.names, self.labels, strict=True):
            if len(labels) > max(MAX_CATEGORIES, n / 2):
                raise InputError(
                    f"covariates ({name}) has {len(labels):,} different categories in {n:,} rows, such as "
                    f"{shown(labels[0])} and {shown(labels[-1])}: most of them would have one row. Leave it out, group "
                    f"them into fewer (the {MAX_CATEGORIES - 1} most frequent are compared, the others are one), or "
                    "pass numbers"
                )

    def check_codes(self, summary: str) -> None:
        """Refuse codes of a stored summary that are not those of labels."""
        for code, known in zip(self.x.T, self.labels, strict=True):
            if known and not np.isin(code, np.arange(len(known))).all():
                raise SummaryError(f"the categories of {summary} must be among their labels")


def _other(known: tuple[str, ...]) -> str:
    name = OTHERS
    while name in known:
        name = f"{name} ones"
    return name


def read_covariate_table(
    covariates: Any, n: int, keep: NDArray[np.bool_] | None, *, is_batch: bool = False
) -> Covariates:
    """Return checked covariates of the rows that stayed at the boundary; `keep` marks these among the caller's.

    They are numbers (n,) or (n, q), an array of texts or booleans, a data frame, or a mapping from names to columns.
    Without names they are called x0, x1, ... Identifiers are refused, except in one batch of many.

    >>> found = read_covariate_table({"age": [30, 41], "city": ["Rome", "Oslo"]}, 2, None)
    >>> found.names, found.labels, found.x.tolist()
    (('age', 'city'), ((), ('Oslo', 'Rome')), [[30.0, 1.0], [41.0, 0.0]])
    """
    named = _named(covariates)
    if not named:
        raise InputError("covariates have no columns; expected numbers (n,) or (n, q), or a data frame")
    if len(named) > MAX_COVARIATES:
        raise InputError(
            f"covariates have {len(named)} columns, and at most {MAX_COVARIATES} are searched; pass summaries of them"
        )
    rows = n if keep is None else keep.size
    read = {name: _column(column, name, rows, keep) for name, column in named}
    if len(read) < len(named):
        raise InputError(f"covariates must have different names; got {shown([name for name, _ in named])}")
    x = np.stack([values for values, _ in read.values()], axis=1)
    found = Covariates(x, tuple(labels for _, labels in read.values()), tuple(read))
    if not is_batch:
        found.refuse_identifiers()
    return found


def _named(covariates: Any) -> list[tuple[str, Any]]:
    named = named_columns(covariates, "covariates are")
    if named is not None:
        return named
    array = as_array(covariates, name="covariates")
    if array.ndim not in (1, 2):
        raise InputError(f"covariates must have shape (n,) or (n, q), values for each row; got shape {array.shape}")
    name = getattr(covariates, "name", None)
    if array.ndim == 1:
        return [(name if isinstance(name, str) else "x0", array)]
    return [(f"x{j}", column) for j, column in enumerate(array.T)]


def _column(column: Any, name: str, n: int, keep: NDArray[np.bool_] | None) -> tuple[FloatArray, tuple[str, ...]]:
    array = as_array(column, name=f"covariates ({name})")
    if array.ndim != 1 or len(array) != n:
        raise InputError(
            f"covariates must have one value per row: expected {n} rows, got shape {array.shape} of {name}. Take all "
            "from the same table"
        )
    used = np.ones(n, bool) if keep is None else keep
    if array.dtype.kind == "O":
        numbers = numbers_of_objects(array)
        array = array if numbers is None else numbers
    if array.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            values = array.astype(np.float64)
        bad = ~(np.abs(values) <= LARGEST) & used
        refuse_where(
            bad, values, f"covariates ({name}) must be finite and at most 1e300 in size", "Drop or repair such rows"
        )
        return values[used], ()
    if array.dtype.kind not in "OUSb":
        raise InputError(
            f"covariates ({name}) must be numbers, texts or booleans; got values of type {array.dtype}, such as "
            f"{shown(array[0])}. Dates are numbers after .astype('int64')"
        )
    odd = np.fromiter((isinstance(value, NEITHER_NUMBERS_NOR_TEXTS) for value in array.tolist()), bool, n) & used
    expected = f"covariates ({name}) must be numbers, texts or booleans"
    refuse_where(odd, array, expected, "Convert decimals to float, and dates to numbers such as date.toordinal()")
    bad = missing_mask(array) & used
    refuse_where(bad, array, f"covariates ({name}) must not be missing", "Drop such rows, or give them a category")
    texts = list(map(str, array[used].tolist()))
    place = {label: k for k, label in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], np.float64), tuple(place)
