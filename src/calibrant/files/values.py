"""What columns of files contain, and must contain; a refusal names the column, the file and the row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import InputError, shown
from calibrant.files.lazy_libraries import pl
from calibrant.files.where import Where, quoted
from calibrant.inputs.arrays import is_percentage
from calibrant.inputs.columns import FromColumns, NamedColumns
from calibrant.inputs.covariates import LARGEST, MAX_CATEGORIES
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

AXES = {"draws": ("draw", "coordinate"), "coordinates": ("coordinate",), "columns": ("coordinate",)}
"""What stands along the axes of a cell that is a list, by the role of its column."""


def roles_of(columns: NamedColumns) -> dict[str, str]:
    """Return the role of each column but groups, which says what it must contain."""
    p, y = columns.prediction, columns.y
    kind = p.kind if isinstance(p, FromColumns) else None
    outcome = "coordinates" if kind is Samples else "labels" if kind in (None, Sets) else "numbers"
    found = dict.fromkeys((y,) if isinstance(y, str) else y or (), outcome)
    if isinstance(p, FromColumns):
        for argument, names in p.columns.items():
            role = "members" if kind is Sets else "draws" if kind is Samples else "columns"
            role = "lists" if argument == "log_density" else role
            found |= dict.fromkeys((names,) if isinstance(names, str) else names, role)
    else:
        found |= dict.fromkeys((p,) if isinstance(p, str) else p, "columns")
    found |= dict.fromkeys((*columns.others, *((columns.weights,) if columns.weights else ())), "numbers")
    return found | dict.fromkeys(columns.covariates, "covariates")


def counting(where: Where | None) -> str:
    """Return how rows are counted, for the template of a message."""
    return "counted from 0" + (f" among {where.kept}" if where else "")


def nothing_to_measure(files: Sequence[Path], where: Where | None, weights: str | None = None) -> InputError:
    """Return the error for files without rows, without rows that pass the filter, or without weight."""
    return InputError(
        "{what} nothing to measure: "
        + ("{where=text} keeps none of the rows" if where else "there are no rows")
        + ("" if weights is None else ", or all of them have the weight 0 in {weights}"),
        what=f"{files[0]} has" if len(files) == 1 else f"the {len(files):,} files, from {files[0]} on, have",
        text=None if where is None else where.text,
        weights=shown(weights),
    )


@dataclass(frozen=True)
class Values:
    """Rows of a column of a file: which ones, and whether a CSV could have decimal commas."""

    name: str
    column: Any
    file: Path
    where: Where | None = None
    start: int = 0
    is_csv: bool = False

    def checked(self, role: str) -> Any:
        """Return the column, in which every row has what the role asks for: members as booleans, lists as arrays.

        A column without texts and lists is not looked at, but for the number of missing values that comes with it.
        """
        self.check_present(nulls_only=True)
        if role == "lists" or (role in AXES and depth(self.column.dtype)):
            return self._as_array(AXES["draws" if role == "lists" else role])
        if role == "members":
            return self._as_members()
        if role == "covariates":
            self.check_numbers_or_categories()
        elif role != "labels":
            self.check_numbers()
        return self.column

    def check_present(self, *, nulls_only: bool = False) -> None:
        """Refuse a column in which a value is missing; NaN is looked for only if asked, as it takes a pass."""
        if nulls_only and not self.column.null_count():
            return
        missing = np.asarray(absent(self.column).to_numpy())
        if missing.any():
            raise self.refusal(
                "has no value in {count:,} of "
                + ("{n:,} rows" if not self.start else "the {n:,} rows from row {start:,} on")
                + ", the first of them {row} ({counting}). Repair them, or leave them out with {where=advice}",
                int(missing.argmax()),
                count=int(missing.sum()),
                n=missing.size,
                start=self.start,
                advice=f"{quoted(self.name)} is not null",
            )

    def check_numbers(self, instead: str = "name another column") -> None:
        """Refuse a column that does not contain numbers, naming the first row that does not."""
        if self.column.dtype.is_numeric():
            return
        otherwise = f"{instead[:1].upper()}{instead[1:]}"
        given = [(row, text) for row, text in enumerate(self._texts() or ()) if text is not None]
        if not given:
            dtype = str(self.column.dtype)
            raise self.refusal(
                "must contain numbers; it contains values of type {dtype}. {advice}", dtype=dtype, advice=otherwise
            )
        strange = [(row, text) for row, text in given if not _is_number(text)]
        row, text = (strange or given)[0]
        if not strange:
            remedy = "Save it as numbers"
        elif self.is_csv and all(_is_number(each.replace(",", ".")) for _, each in given):
            remedy = "Add {decimal_comma=yes}"
        elif is_percentage(text):
            remedy = "Write percentages as numbers between 0 and 1, without the percent sign"
        else:
            remedy = "Leave such cells empty" if len(strange) < len(given) else ""
        message = "must contain numbers; {row} ({counting}) is the text {value}. " + (
            remedy + ", or {instead}" if remedy else "{otherwise}"
        )
        raise self.refusal(message, row, value=text, yes=True, instead=instead, otherwise=otherwise)

    def check_numbers_or_categories(self) -> None:
        """Refuse a column that contains neither numbers, texts nor truth values, or numbers with a few texts."""
        texts = self._texts()
        if texts is None and self.column.dtype != pl.Boolean and not self.column.dtype.is_numeric():
            dtype = str(self.column.dtype)
            raise self.refusal(
                "must contain numbers, texts or truth values; it contains values of type {dtype}. Name another column",
                dtype=dtype,
            )
        given = [text for text in texts or () if text is not None]
        numbers = sum(map(_is_number, given))
        if len(given) / 2 < numbers < len(given):
            self.check_numbers("name a column of numbers, texts or truth values")

    def refusal(self, problem: str, row: int | None = None, **fields: Any) -> InputError:
        """Return an error about the column; the template `problem` follows its name."""
        if row is not None:
            fields |= {"row": self.start + row, "place": f"row {self.start + row:,}"}
        message = "column {name} of {file} " + problem.replace("{counting}", counting(self.where))
        return InputError(message, name=shown(self.name), file=str(self.file), **fields)

    def _texts(self) -> list[str | None] | None:
        is_text = isinstance(self.column.dtype, (pl.String, pl.Categorical, pl.Enum))
        return self.column.cast(pl.String).to_list() if is_text else None

    def _as_members(self) -> Any:
        """Return whether a label is in the set; refuse a column that does not say it."""
        column = self.column
        if column.dtype == pl.Boolean or depth(column.dtype):
            return column
        strange = ~((column == 0) | (column == 1)) if column.dtype.is_numeric() else None
        if strange is not None and not strange.any():
            return column.cast(pl.Boolean)
        row = int(0 if strange is None else strange.arg_max() or 0)
        probability = column.dtype.is_float() and column.min() >= 0 and column.max() <= 1
        message = "must say whether a class is in the set, true or false or 1 or 0; {row} ({counting}) is {value}. " + (
            "These are probabilities: compare them with a threshold" if probability else "Name another column"
        )
        raise self.refusal(message, row, value=column[row])

    def _as_array(self, axes: tuple[str, ...]) -> Any:
        """Return lists of one length as arrays; refuse lists of different lengths, or with a number missing."""
        column = self.column
        must = "must contain lists of numbers; it contains {dtype}. Name another column"
        if not depth(column.dtype):
            raise self.refusal(must, dtype=str(column.dtype))
        sizes: list[int] = []
        flat = column
        for axis in axes[: depth(column.dtype)]:
            self._refuse_missing(flat, (len(column), *sizes), axes)
            flat = _as_lists(flat)
            found = flat.list.len()
            strange = found != found[0]
            if strange.any():
                first = int(strange.arg_max() or 0)
                shape = (len(column), *sizes)
                raise self.refusal(
                    "must contain lists of one length; {one} has {size:,} {axis}s and {other} has {length:,} "
                    "({counting})",
                    one=_placed(0, shape, axes, self.start),
                    size=found[0],
                    axis=axis,
                    other=_placed(first, shape, axes, self.start),
                    length=found[first],
                )
            if found[0] == 0:
                raise self.refusal(f"contains empty lists; there must be at least one {axis}")
            sizes.append(int(found[0]))
            flat = flat.explode()
        if not flat.dtype.is_numeric():
            raise self.refusal(must, dtype=str(column.dtype))
        self._refuse_missing(flat, (len(column), *sizes), axes)
        return column.cast(pl.Array(flat.dtype, tuple(sizes)))

    def _refuse_missing(self, flat: pl.Series, shape: tuple[int, ...], axes: tuple[str, ...]) -> None:
        missing = absent(flat)
        if missing.any():
            raise self.refusal(
                "has no value in {first} ({counting}), and {more:,} more are missing. Repair or leave out such rows",
                first=_placed(int(missing.arg_max() or 0), shape, axes, self.start),
                more=missing.sum() - 1,
            )


def absent(column: pl.Series) -> pl.Series:
    """Return in which rows a column has no value: null or NaN."""
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


MAX_TEXTS = 100_000  # different ones that are counted


@dataclass
class Candidate:
    """What was seen of a column that may become a covariate."""

    kinds: set[str] = field(default_factory=set)
    missing: int = 0
    ends: set[Any] = field(default_factory=set)  # least and largest numbers of the batches
    texts: Counter[str] = field(default_factory=Counter)  # of the first rows, if very many are different

    def see(self, column: pl.Series, kind: str) -> None:
        """Add rows of the column; those of one batch have one kind, such as numbers, texts, dates."""
        self.missing += column.null_count()
        column = column.drop_nulls()
        if kind == "numbers":
            self.missing += int(column.is_nan().sum()) if column.dtype.is_float() else 0
            self.ends |= {column.min(), column.max()}
        elif kind == "texts" and len(self.texts) <= MAX_TEXTS:
            self.texts.update(dict(column.cast(pl.String).alias("cells").value_counts().iter_rows()))
            kind = "dates" if self.texts and all(map(_is_date, self.texts)) else kind
        self.kinds.add(kind)

    def unfit(self) -> str | None:
        """Return why the column cannot be searched; None if it can."""
        counted, numbers = self.texts.total(), sum(n for text, n in self.texts.items() if _is_number(text))
        if self.kinds == {"dates"} or not self.kinds <= {"numbers", "texts", "dates"}:
            return " and ".join(sorted(self.kinds))
        if self.missing:
            return f"{self.missing:,} missing value{'' if self.missing == 1 else 's'}"
        if len(self.ends) + len(self.texts) <= 1:
            return "the same value in all rows"
        if (self.ends and self.texts) or counted / 2 < numbers < counted:
            return "numbers and texts"
        if any(abs(end) > LARGEST for end in self.ends):
            return f"values beyond {LARGEST:g}"
        if len(self.texts) == counted > MAX_CATEGORIES:
            return "every value differs"
        if len(self.texts) > max(MAX_CATEGORIES, counted / 2):
            return f"{len(self.texts):,} different texts in {counted:,} rows"
        return None


def depth(dtype: Any) -> int:
    """Return how many axes a cell has: 0 of a number, 1 of a list of numbers, 2 of a list of lists."""
    return 1 + depth(dtype.inner) if isinstance(dtype, (pl.List, pl.Array)) else 0


def list_lengths(column: pl.Series) -> tuple[int, ...]:
    """Return the lengths along the axes of a cell, of numbers; 0 where they differ or there are none."""
    found = []
    for _ in range(depth(column.dtype)):
        column = _as_lists(column.drop_nulls())
        sizes = column.list.len().unique()
        found.append(int(sizes[0]) if len(sizes) == 1 else 0)
        column = column.explode()
    return tuple(found) if column.dtype.is_numeric() else ()


def _as_lists(column: pl.Series) -> pl.Series:
    return column.arr.to_list() if isinstance(column.dtype, pl.Array) else column


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _placed(number: int, shape: tuple[int, ...], axes: tuple[str, ...], start: int) -> str:
    """Return where a number stands among all of a column.

    >>> _placed(13, (2, 4, 3), AXES["draws"], 100)
    'row 101, draw 0, coordinate 1'
    """
    row, *others = (int(i) for i in np.unravel_index(number, shape))
    return ", ".join([f"row {start + row}", *(f"{axis} {i}" for axis, i in zip(axes, others, strict=False))])


PRECISIONS = {bits: f"numbers of {bits} bits" for bits in ("16", "32", "64")}
PRECISIONS |= {"truth": "true and false", "days": "days", "moments": "moments"}
"""Precisions, in words."""


class ColumnType(NamedTuple):
    """What a column contains, in which precision, one of `PRECISIONS` or none; `file` is where it was seen first."""

    what: str
    precision: str
    file: str


def column_types(frame: Any, columns: Iterable[str], file: Path) -> dict[str, ColumnType]:
    """Return what columns of a frame hold; nothing of a column without values."""
    import narwhals as nw

    schema = nw.from_native(frame).schema
    found = {name: _holds(schema[name], str(file)) for name in columns}
    return {name: holds for name, holds in found.items() if holds is not None}


def merged_types(
    before: Mapping[str, ColumnType], now: Mapping[str, ColumnType], scores: Iterable[str], labels: Iterable[str] = ()
) -> dict[str, ColumnType]:
    """Return what is known of the columns after one more file; refuse one that contains something else than before.

    Whole numbers of any size, fractions and truth values are all numbers. Of `scores` the precision counts, because
    bin edges are compared in it, and of `labels` too, because the same label would be two.
    """
    for name, holds in now.items():
        former = before.get(name, holds)
        if former.what != holds.what:
            raise InputError(
                f"column {shown(name)} of {holds.file} contains {holds.what}, but {former.what} in {former.file}; "
                "save all files with the same types"
            )
        if name in scores and _bits(former) != _bits(holds):
            raise InputError(
                f"column {shown(name)} of {holds.file} contains numbers of {_bits(holds)} bits, but of "
                f"{_bits(former)} bits in {former.file}: they would not fall into the same bins. "
                "Save all files with the same precision"
            )
        if name in labels and former.precision != holds.precision:
            raise InputError(
                f"column {shown(name)} of {holds.file} contains {PRECISIONS[holds.precision]}, but "
                f"{PRECISIONS[former.precision]} in {former.file}: they would not fall into the same groups. "
                "Save all files with the same types"
            )
    return {**now, **before}


def _bits(holds: ColumnType) -> str:
    return "64" if holds.precision == "truth" else holds.precision


def _holds(dtype: Any, file: str) -> ColumnType | None:
    import narwhals as nw

    if dtype == nw.Boolean:
        return ColumnType("numbers", "truth", file)
    if dtype.is_numeric():
        narrow = {"Float16": "16", "Float32": "32"}
        return ColumnType("numbers", narrow.get(type(dtype).__name__, "64"), file)
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return ColumnType("texts", "", file)
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        return ColumnType("dates", "days" if isinstance(dtype, nw.Date) else "moments", file)
    if isinstance(dtype, (nw.List, nw.Array)):
        inner = _holds(dtype.inner, file)
        return None if inner is None else ColumnType(f"lists of {inner.what}", inner.precision, file)
    return None if isinstance(dtype, nw.Unknown) else ColumnType(f"values of type {dtype}", "", file)
