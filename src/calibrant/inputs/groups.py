"""Groups of rows: the labels of one or several columns, and labels as numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.arrays import FRAMES, as_array, is_missing, missing_mask, read_numbers, refuse_where
from calibrant.inputs.labels import moment_texts, plain_label, time_zone
from calibrant.inputs.named import named_columns

MISSING = "(missing)"
MAX_TINY_GROUPS = 20  # of a column that has no larger group
TINY_GROUP_ROWS = 10  # below which a group is tiny
LEAST_ROWS_COMPARED = 20
Label = str | int | float | bool


class Grouping(NamedTuple):
    """Disjoint groups of rows: the number of each row's group, and the names of the groups."""

    code: NDArray[np.intp]
    names: list[str]


def read_groups(
    groups: Any, n: int, *, intersections: int, keep: NDArray[np.bool_] | None, is_batch: bool = False
) -> list[Grouping]:
    """Return one grouping per column of labels, and one per pair of columns if `intersections` is 2.

    `keep` is the mask of the rows that are used. Columns of many tiny groups are refused, except in one batch of many.
    """
    columns = _columns(groups)
    found = [_coded(name, column, n, keep) for name, column in columns.items()]
    if not is_batch:
        for name, grouping in zip(columns, found, strict=True):
            check_group_sizes(name, np.bincount(grouping.code, minlength=len(grouping.names)))
    return found + [_crossed(a, b) for a, b in combinations(found, 2) if intersections == 2]


def check_group_sizes(name: str, sizes: NDArray[Any]) -> None:
    """Refuse a column with many groups that are all tiny: most likely numbers or identifiers that are all different."""
    if len(sizes) <= MAX_TINY_GROUPS or sizes.max() >= TINY_GROUP_ROWS:
        return
    message = (
        "the groups of {name} are too small to say anything about any of them: there are {number:,}, of a median "
        "size of {median:g}. Put numbers into ranges first, for example with pandas.qcut(column, 5); for rows that "
        "depend on each other, such as those of one customer, use {clusters=}"
    )
    raise InputError(message, option="groups", name=name, number=len(sizes), median=float(np.median(sizes)))


def is_outcome(code: NDArray[np.intp], y: Any) -> bool:
    """Tell whether labels 0, 1, ... are the outcomes under other names; in few rows that may be chance."""
    y = np.asarray(y)
    if y.ndim != 1 or y.size < LEAST_ROWS_COMPARED:
        return False
    outcome = np.zeros(int(code.max()) + 1, dtype=y.dtype)
    outcome[code] = y
    return 2 <= np.unique(outcome).size == outcome.size <= y.size / 2 and bool((outcome[code] == y).all())


def _columns(groups: Any) -> dict[str, Any]:
    pairs = named_columns(groups, "groups is")
    if pairs is None:
        return {str(getattr(groups, "name", None) or "group"): groups}
    columns = dict(pairs)
    if not columns:
        raise InputError("groups has no columns; expected an array of labels, or a mapping from names to such arrays")
    if len(columns) < len(pairs):
        raise InputError(f"the columns of groups must have different names; got {[name for name, _ in pairs]}")
    return columns


def as_labels(column: Any, *, name: str) -> NDArray[Any]:
    """Return a column of labels as an array; whole numbers stay whole even if some are missing.

    NumPy has no missing integers, and floats would round integers beyond 2^53.
    """
    series = _series(column)
    if series is not None and series.dtype.is_integer() and series.null_count():
        return np.array(series.to_list(), dtype=object)
    return as_array(column, name=name)


def batch_labels(column: Any, *, name: str) -> Any:
    """Return a column of labels as an array, or as it is where its type tells a time zone or the order of labels."""
    dtype = getattr(_series(column), "dtype", None)
    says_more = getattr(dtype, "time_zone", None) or getattr(dtype, "categories", None)
    return column if says_more else as_labels(column, name=name)


def _series(column: Any) -> Any:
    package = type(column).__module__.partition(".")[0]
    if package not in FRAMES or hasattr(type(column), "columns"):
        return None
    import narwhals as nw

    arrow = sys.modules["pyarrow"] if package == "pyarrow" else None
    wrapped = arrow.chunked_array([column]) if arrow and isinstance(column, arrow.Array) else column
    series = nw.from_native(wrapped, allow_series=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _coded(name: str, column: Any, n: int, keep: NDArray[np.bool_] | None) -> Grouping:
    labels = as_labels(column, name=f"groups ({name})")
    if labels.ndim != 1 or labels.shape[0] != n:
        raise InputError(f"groups must have one label per row: expected {n} rows, got shape {labels.shape} for {name}")
    labels = labels if keep is None else labels[keep]
    if labels.dtype.kind in "OUSfmM":
        dtype = getattr(_series(column), "dtype", None)
        different, place = _different(labels)
        texts = np.array(_texts(different, getattr(dtype, "time_zone", None)), dtype=object)
        values, code = _in_order(texts, getattr(dtype, "categories", None))
        code = code[place]
    else:
        values, code = np.unique(labels, return_inverse=True)
    return Grouping(code.astype(np.intp), [f"{name} = {value}" for value in values.tolist()])


def _in_order(texts: NDArray[Any], categories: Sequence[Any] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the different texts, sorted or in the order of the categories, and the index of each text among them."""
    values, code = np.unique(texts, return_inverse=True)
    if not categories:
        return values, code
    rank = {str(plain_label(category)): k for k, category in enumerate(categories)}
    order = np.argsort([rank.get(value, -1) for value in values], kind="stable")
    return values[order], np.argsort(order)[code]


def _different(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that differ in value or type, and the index of each row's label among them."""
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)
    # A dictionary finds texts in a fraction of the time that sorting takes.
    places: dict[Any, int] = {}
    keys = (label if type(label) is str else (type(label), label) for label in labels.tolist())
    try:
        place = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.intp, len(labels))
    except TypeError:  # a label that is not hashable
        return labels, np.arange(len(labels))
    first = np.empty(len(places), dtype=object)
    first[:] = [key if type(key) is str else key[1] for key in places]
    return first, place


def _texts(labels: NDArray[Any], zone: str | None = None) -> list[str]:
    """Return labels as texts, such that different labels have different texts; moments in UTC are put into a zone."""
    if labels.dtype.kind in "mM":
        texts = moment_texts(labels) if zone is None else _zoned_texts(labels, zone)
        return [MISSING if text == "NaT" else text for text in texts]
    values = [_number(value) for value in labels.tolist()]
    texts = [MISSING if is_missing(value) else str(value) for value in values]
    kinds = {(text, isinstance(value, str)) for text, value in zip(texts, values, strict=True)}
    if len(kinds) == len(set(texts)):
        return texts
    return [MISSING if is_missing(value) else repr(value) for value in values]  # 1 and "1" are two labels


def _zoned_texts(moments: NDArray[Any], zone: str) -> list[str]:
    """Return moments in UTC as texts with the time of a zone and its distance from UTC.

    >>> _zoned_texts(np.array(["2024-01-01T12:00", "NaT"], "M8[us]"), "+05:30")
    ['2024-01-01 17:30+05:30', 'NaT']
    """
    place = time_zone(zone)
    whole = moments.astype("M8[us]")
    if not np.array_equal(whole.astype(moments.dtype), moments, equal_nan=True):  # Python has no nanoseconds
        return [text if text == "NaT" else f"{text}+00:00" for text in moment_texts(moments)]
    return ["NaT" if at is None else _zoned_text(at.replace(tzinfo=UTC).astimezone(place)) for at in whole.tolist()]


def _zoned_text(at: datetime) -> str:
    return at.isoformat(" ", "auto" if at.second or at.microsecond else "minutes")


def _number(value: Any) -> Any:
    """Return 2.0 as 2: in a column of integers a missing value turns all of them into floats."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _zoned_text(value)
    return int(value) if isinstance(value, float) and value.is_integer() else plain_label(value)


def _crossed(a: Grouping, b: Grouping) -> Grouping:
    pairs, code = np.unique(a.code * len(b.names) + b.code, return_inverse=True)
    names = [f"{a.names[pair // len(b.names)]}, {b.names[pair % len(b.names)]}" for pair in pairs.tolist()]
    return Grouping(code.astype(np.intp), names)


class RowLabels(NamedTuple):
    """The number of each row's label, and the labels in ascending order."""

    code: NDArray[np.intp]  # (n,)
    values: tuple[Label, ...]


def read_row_labels(labels: Any, n: int, *, name: str = "groups", keep: NDArray[np.bool_] | None = None) -> RowLabels:
    """Return labels of `n` rows, those of the caller that `keep` marks, as numbers 0, 1, ... in order of the labels.

    Texts, numbers and booleans are kept, other labels become texts. A missing label is refused.

    >>> read_row_labels(["b", "a", "b"], 3)
    RowLabels(code=array([1, 0, 1]), values=('a', 'b'))
    """
    column = _column(labels, name)
    expected = n if keep is None else keep.size
    if column.ndim != 1 or column.size != expected:
        raise InputError(f"{name} must have one label per row: expected {expected} rows, got shape {column.shape}")
    rows = np.arange(expected) if keep is None else np.flatnonzero(keep)
    column = column[rows]
    remedy = "Give such rows their own label, or drop them"
    refuse_where(missing_mask(column), column, f"{name} must not be missing", remedy, rows=rows)
    if column.dtype.kind in "OmMV":
        return _of_objects(column, rows, name)
    values, code = np.unique(column + 0.0 if column.dtype.kind == "f" else column, return_inverse=True)  # -0.0 is 0.0
    return RowLabels(code.astype(np.intp), tuple(values.tolist()))


def read_times(time: Any, n: int, *, keep: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """Return the number of each row's time, which is a number or a date, 0, 1, ... in ascending order.

    >>> read_times([2.5, 1.0, 2.5], 3).tolist()
    [1, 0, 1]
    """
    when = as_array(time, name="time")
    if when.dtype.kind in "OU" and when.ndim == 1:
        when = _moments(when)
    dates = when.dtype.kind in "mM"
    when = when if dates else read_numbers(when, "time")
    expected = n if keep is None else keep.size
    if when.shape != (expected,):
        raise InputError(f"time must have one number for each of the {expected} rows; got shape {when.shape}")
    rows = np.arange(n) if keep is None else np.flatnonzero(keep)
    when = when[rows]
    bad = np.isnat(when) if dates else ~np.isfinite(when)
    refuse_where(bad, when, "time must be finite numbers or dates", "Drop or repair such rows", rows=rows)
    return np.unique(when, return_inverse=True)[1].astype(np.intp)


def _moments(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of Python dates as NumPy's, and one without dates and texts as it is; refuse others."""
    dated = np.array([isinstance(value, date) for value in column], dtype=bool)
    known = np.array([getattr(value, "tzinfo", None) is None for value in column], dtype=bool) & dated
    if known.all():
        return column.astype("M8[us]")
    text = np.array([isinstance(value, str) for value in column], dtype=bool)
    remedy = "Drop rows without a time, and convert texts and time zones with pandas.to_datetime(column, utc=True)"
    refuse_where(~known if dated.any() else text, column, "time must be finite numbers or dates", remedy)
    return column


def _column(labels: Any, name: str) -> NDArray[Any]:
    if isinstance(labels, (list, tuple)):  # tuples are labels too, not rows of a matrix
        column = np.empty(len(labels), dtype=object)
        column[:] = labels
        return column
    return as_labels(labels, name=name)


def _of_objects(column: NDArray[Any], rows: NDArray[np.intp], name: str) -> RowLabels:
    labels = moment_texts(column) if column.dtype.kind in "mM" else list(map(plain_label, column.tolist()))
    number: dict[Any, int] = {}
    code = np.empty(len(labels), dtype=np.intp)
    for i, label in enumerate(labels):
        try:
            code[i] = number.setdefault(label, len(number))
        except TypeError:
            raise InputError(
                "{name} must be hashable labels, such as texts or numbers; {row} is {value}",
                name=name,
                row=int(rows[i]),
                value=label,
            ) from None
    values = _plain(list(number))
    order = label_order(values)
    return RowLabels(np.argsort(order)[code], tuple(values[k] for k in order))


def label_order(labels: Sequence[Label]) -> list[int]:
    """Return the order that sorts labels; labels that do not compare are sorted by type first."""
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return sorted(range(len(labels)), key=lambda k: (type(labels[k]).__name__, str(labels[k])))


def _plain(labels: list[Any]) -> list[Label]:
    """Return labels that JSON can store: texts, numbers and booleans as they are, others as different texts."""
    items = [label.item() if isinstance(label, np.generic) else label for label in labels]
    texts = [item if isinstance(item, Label) else str(item) for item in items]
    if len(set(texts)) == len(texts):
        return texts
    return [item if isinstance(item, Label) else f"{type(item).__name__} {item!r}" for item in items]
