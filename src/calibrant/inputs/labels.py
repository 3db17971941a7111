"""Outcomes at the boundary: events as 0 and 1, classes as column numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import as_array, is_missing, missing_mask, numbers_of_objects, refuse_where

Rows = NDArray[np.intp]

MAX_LABELS_NAMED = 3  # in a message


def read_events(y: NDArray[Any], rows: Rows | None, *, classes: Any, pos_label: Any) -> NDArray[np.uint8]:
    """Return 1 where the event happened and 0 elsewhere; `rows` are the caller's, if some were dropped."""
    if classes is not None and pos_label is not None:
        raise InputError("pass either {classes=} or {pos_label=}, not both", option="pos_label")
    if pos_label is not None:
        return _events_of_label(y, rows, pos_label)
    if classes is not None:
        names = read_classes(classes, expected=2, given_by="a binary probability")
        return _columns_of_labels(y, rows, names).astype(np.uint8)
    return _events_of_numbers(y, rows)


def read_columns(y: NDArray[Any], rows: Rows | None, *, K: int, classes: Any) -> NDArray[np.intp]:
    """Return the column number 0..K-1 of each outcome."""
    if classes is not None:
        return _columns_of_labels(y, rows, read_classes(classes, expected=K, given_by=f"{K} columns"))
    y = _numbers(y)
    if y.dtype.kind == "b":
        if K > 2:
            raise InputError(
                f"y must contain column numbers 0..{K - 1} ({K} columns); got booleans. If they say whether the most "
                "probable class was right, pass them with its probability: P.max(axis=1)"
            )
        return y.astype(np.intp)
    _refuse_missing(y, rows)
    if y.dtype.kind not in "iuf":
        bad = _not_numbers(y)
    else:
        bad = ~((y >= 0) & (y < K) & (y == np.floor(y))) if y.dtype.kind == "f" else (y < 0) | (y >= K)
    if bad.any():
        message = (
            f"y must contain column numbers 0..{K - 1} ({K} columns); {{row}} is {{value}}. "
            "For labels that start at 1, or are not numbers, pass {classes=}, the labels in the order of the columns"
        )
        raise _refused(message, y, int(np.argmax(bad)), rows)
    return y.astype(np.intp)


def read_classes(classes: Any, *, expected: int, given_by: str) -> list[Any]:
    """Return the labels in the order of the columns, all different."""
    if isinstance(classes, (str, bytes)):
        raise InputError(f"classes must be a list of labels; got the text {shown(classes)}")
    names = (
        list(classes) if isinstance(classes, Sequence) else np.atleast_1d(as_array(classes, name="classes")).tolist()
    )
    if any(np.ndim(name) != 0 or is_missing(name) for name in names):
        raise InputError(f"classes must be a list of single labels; got {shown(names)}")
    if len(names) != expected:
        raise InputError(f"classes must name {expected} labels for {given_by}; got {len(names)}: {shown(names)}")
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise InputError(f"classes must be different from each other; {shown(name)} comes twice")
        seen.add(name)
    return names


def _events_of_numbers(y: NDArray[Any], rows: Rows | None) -> NDArray[np.uint8]:
    y = _numbers(y)
    if y.dtype.kind == "b":
        events = y.view(np.uint8) if y.flags.c_contiguous else y.astype(np.uint8)
        return events if events.max() <= 1 else (events != 0).astype(np.uint8)  # bytes of a foreign buffer
    if y.dtype.kind not in "iuf":
        _refuse_missing(y, rows)
        message = "y must be 0 and 1, or booleans; {row} is {value}. For other labels name the event with {pos_label=}"
        raise _refused(message, y, int(np.argmax(_not_numbers(y))), rows)
    # Two reductions decide for whole numbers; fractions need a look at each value.
    legal = bool(((y == 0) | (y == 1)).all()) if y.dtype.kind == "f" else bool(y.min() >= 0) and bool(y.max() <= 1)
    if not legal:
        i = int(np.argmax(~((y == 0) | (y == 1))))
        raise _refused("y must be 0 and 1; {row} is {value}" + _event_remedy(y[i]), y, i, rows)
    return y.astype(np.uint8)


def _numbers(y: NDArray[Any]) -> NDArray[Any]:
    numbers = numbers_of_objects(y) if y.dtype.kind == "O" else None
    return y if numbers is None else numbers


def _not_numbers(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are not numbers; True if the dtype has no numbers at all."""
    found = np.array([isinstance(v, bool) or not isinstance(v, (int, float)) for v in y.tolist()])
    return found if found.any() else ~found


def _event_remedy(value: Any) -> str:
    if np.isnan(value):
        return " (missing); drop rows without an outcome"
    if 0 < value < 1:
        return ". Outcome first, prediction second: were the two arguments swapped? Soft labels are not supported"
    return ". If another number marks the event, name it with {pos_label=}"


def events_of_label(y: NDArray[Any], pos_label: Any, rows: Rows | None = None) -> NDArray[np.uint8]:
    """Return 1 where the outcome is the label and 0 elsewhere; refuse missing outcomes and labels that look like it."""
    if np.ndim(pos_label) != 0 or is_missing(pos_label):
        raise InputError(f"pos_label must be one label; got {shown(pos_label)}")
    _refuse_missing(y, rows)
    events = np.asarray(_equal(y, pos_label)).astype(np.uint8)
    _refuse_look_alikes(y, events, rows, pos_label)
    return events


def _refuse_look_alikes(y: NDArray[Any], events: NDArray[np.uint8], rows: Rows | None, pos_label: Any) -> None:
    """Refuse texts that differ from the event only by case or by spaces around: they would count as non-events."""
    if not isinstance(pos_label, str) or y.dtype.kind not in "UO":
        return
    event = pos_label.strip().casefold()
    for label in {value for value in y[events == 0].tolist() if isinstance(value, str)}:
        if label.strip().casefold() == event:
            message = (
                "y must write the event as in {pos_label=event}; {row} is {value}, which would count as a non-event. "
                "Write both in the same way"
            )
            raise _refused(message, y, int(np.argmax(y == label)), rows, event=pos_label)


def check_label_seen(pos_label: Any, others: Sequence[str]) -> None:
    """Refuse a label that no outcome has where there are two others, in words: one alone may be rows without events."""
    if len(others) > 1:
        raise InputError(f"pos_label {shown(pos_label)} is not among the labels of y, which has {', '.join(others)}")


def _events_of_label(y: NDArray[Any], rows: Rows | None, pos_label: Any) -> NDArray[np.uint8]:
    events = events_of_label(y, pos_label, rows)
    if not events.any():
        others: list[Any] = []
        for label in (y if y.dtype.kind == "O" else np.unique(y)).tolist():
            if label not in others and len(others) < MAX_LABELS_NAMED:
                others.append(label)
        check_label_seen(pos_label, [shown(label) for label in others])
    return events


def _columns_of_labels(y: NDArray[Any], rows: Rows | None, names: list[Any]) -> NDArray[np.intp]:
    _refuse_missing(y, rows)
    if y.dtype.kind in "USO":
        column = _columns_of_objects(y.tolist(), names)
    else:
        column = np.full(y.shape[0], -1, dtype=np.intp)
        for k, name in enumerate(names):
            column[_equal(y, name)] = k
    if (column < 0).any():
        message = "y must contain labels of {classes=names}; {row} is {value}"
        raise _refused(message, y, int(np.argmax(column < 0)), rows, names=names)
    return column


def _columns_of_objects(values: list[Any], names: list[Any]) -> NDArray[np.intp]:
    """Return the column of each value, up to the first that has none (-1)."""
    place = {name: k for k, name in enumerate(names)}
    column = np.zeros(len(values), dtype=np.intp)
    for i, value in enumerate(values):
        try:
            if value not in place:  # a member of an Enum may equal a label that has another hash
                place[value] = _place_of(value, names)
            column[i] = place[value]
        except TypeError:  # the value cannot be hashed
            column[i] = _place_of(value, names)
        if column[i] < 0:
            break
    return column


def _place_of(value: Any, names: list[Any]) -> int:
    return next((k for k, name in enumerate(names) if _same(value, name)), -1)


def _equal(y: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    """Compare without letting NumPy turn numbers into text or the reverse."""
    text = isinstance(label, (str, bytes))
    if y.dtype.kind in "US":
        return np.asarray(y == label) if text else np.zeros(y.shape, dtype=bool)
    if y.dtype.kind == "O":
        return np.fromiter((_same(v, label) for v in y), bool, len(y))
    return np.zeros(y.shape, dtype=bool) if text else np.asarray(y == label)


def _same(value: Any, label: Any) -> bool:
    if isinstance(value, (str, bytes)) != isinstance(label, (str, bytes)):
        return False
    try:
        return bool(value == label)
    except (TypeError, ValueError):  # objects that refuse to be compared are different
        return False


def _refuse_missing(y: NDArray[Any], rows: Rows | None) -> None:
    if y.dtype.kind in "OfmM":
        refuse_where(missing_mask(y), y, "y must not have missing values", "Drop such rows", rows=rows)


def _refused(message: str, y: NDArray[Any], i: int, rows: Rows | None, **fields: Any) -> InputError:
    return InputError(message, row=i if rows is None else int(rows[i]), value=y[i], **fields)


def moment_texts(moments: NDArray[Any]) -> list[str]:
    """Return moments or spans of time as texts, the same in any unit; "NaT" where there is none. Midnight is the day.

    >>> moment_texts(np.array(["2024-01-01T12:00", "2024-01-02T00:00", "NaT"], dtype="M8[ns]"))
    ['2024-01-01T12:00:00', '2024-01-02', 'NaT']
    >>> moment_texts(np.array([90_000], dtype="m8[ms]")) == moment_texts(np.array([90], dtype="m8[s]"))
    True
    """
    if moments.dtype.kind == "m":
        finest = moments.astype("m8[ns]")
        fit = np.array_equal(finest.astype(moments.dtype), moments, equal_nan=True)  # centuries do not
        return [str(span) for span in (finest if fit else moments)]  # an array of texts would cut long ones
    unit, _ = np.datetime_data(moments.dtype)
    spelt_out = moments.astype("M8[s]") if unit in ("h", "m") else moments
    return list(map(_shortened, spelt_out.astype(str).tolist()))


def time_zone(name: str) -> tzinfo:
    """Return a time zone by its name, or by its distance from UTC.

    >>> print(time_zone("+05:30"), time_zone("Asia/Kolkata"))
    UTC+05:30 Asia/Kolkata
    """
    offset = name.removeprefix("UTC")  # as pandas calls them
    if offset[:1] in ("+", "-"):
        return datetime.strptime(offset, "%z").tzinfo or UTC
    return ZoneInfo(name)


def plain_label(value: Any) -> Any:
    """Return a label in the one form that all labels of its value have; most are as they should be.

    Decimals have no zeros at their end, and whole ones are ints. A date, or a datetime without a time zone, is the text
    that `moment_texts` has.

    >>> plain_label(Decimal("1.50")), plain_label(Decimal("2.0")), plain_label("2.0")
    (Decimal('1.5'), 2, '2.0')
    >>> from datetime import datetime
    >>> plain_label(date(2024, 1, 1)), plain_label(datetime(2024, 1, 1)), plain_label(datetime(2024, 1, 1, 12))
    ('2024-01-01', '2024-01-01', '2024-01-01T12:00:00')
    """
    if isinstance(value, date) and not is_missing(value) and getattr(value, "tzinfo", None) is None:
        return _shortened(value.isoformat())
    if not isinstance(value, Decimal) or not value.is_finite():
        return value
    return int(value) if value == value.to_integral_value() else value.normalize()


def _shortened(moment: str) -> str:
    text = moment.rstrip("0").rstrip(".") if "." in moment else moment
    return text.removesuffix("T00:00:00")
