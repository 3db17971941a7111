"""`calibrant apply`: a copy of a file with recalibrated predictions in further columns."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from calibrant.cli.audit import percent_hint, prediction_of
from calibrant.cli.candidates import cells
from calibrant.cli.columns import Columns, each_once, find_column, matching, pairs
from calibrant.cli.kinds import kind_named
from calibrant.cli.options import NAMING, Request
from calibrant.cli.output import check_output, emit, tell
from calibrant.errors import InputError, listing, shown
from calibrant.files.lazy_libraries import pl
from calibrant.files.reading import BATCH
from calibrant.files.rewriting import WRITTEN, Change, rewrite
from calibrant.files.table_file import TableFile, format_of, open_table
from calibrant.files.values import Values, absent, depth, roles_of
from calibrant.inputs.columns import FromColumns, NamedColumns
from calibrant.recalibrating.recalibration import Recalibration

SUFFIX = "_recalibrated"
IN_PYTHON = "Apply the map in Python: Recalibration.from_json(path).apply(prediction)"
Chosen = dict[str, tuple[str, ...]]
"""The columns of the prediction, by the option that names them."""


def run(map_path: Path, file: Path, request: Request) -> None:
    output = request.output
    if output is None:
        raise InputError("name the file to write, such as -o recalibrated.parquet; FILE itself is never changed")
    for source in (map_path, file):
        check_output(output, endings=WRITTEN, option="-o", source=source)
    found = Recalibration.from_json(map_path)
    if (request.format or format_of(file)) == "npz":
        raise InputError(f"{file} is NPZ, whose arrays are not the columns of a table. {IN_PYTHON}")
    table = open_table(file, format=request.format, dialect=request.dialect)
    work = Work(found, request, table)
    try:
        with warnings.catch_warnings(record=True, action="always", category=UserWarning) as said:
            rows = rewrite(table, work.change(), output, request.dialect)
    except InputError:
        work.find_row()
        raise
    for sentence in dict.fromkeys(str(each.message) for each in said):
        tell(sentence)
    made = listing(list(work.added), most=4)
    empty = f", {work.empty:,} without a prediction left empty" if work.empty else ""
    rows -= work.empty
    emit(f"{rows:,} row{'' if rows == 1 else 's'} recalibrated by {found.method}{empty}; new in {output}: {made}")


class Work:
    """A map, a table, and which of its columns are the prediction."""

    def __init__(self, found: Recalibration, request: Request, table: TableFile) -> None:
        self.found, self.request, self.table = found, request, table
        self.empty = 0  # rows without a probability, counted as they are met
        self.schema = table.schema()
        self.names = list(self.schema)
        chosen = _chosen(found, request, table, self.names)
        by = request.by or tuple((found.columns or {}).get("by", ()))
        groups = _group_column(found, by, table, self.names)
        p = tuple(name for names in chosen.values() for name in names)
        named = Columns((), p, kind=found.kind, draw_cols=bool(chosen.get("draw_cols")))
        levels = [] if found.levels is None else found.levels.tolist()
        prediction = named.prediction_columns(levels, request.crossed or "raise")
        self.columns = NamedColumns(None, prediction, groups=groups, percent=request.percent)
        self.roles = roles_of(self.columns)
        suffix = SUFFIX if request.suffix is None else request.suffix
        self.added = {f"{name}{suffix}": name for name in self.columns.predicted}  # new columns, and of what
        existing = [name for name in self.added if name in self.names]
        if existing and not request.overwrite_column:
            raise InputError(
                f"{table.path} has a column {shown(existing[0])} already; choose another --suffix or --overwrite-column"
            )

    def change(self) -> Change:
        inner = pl.Boolean() if self.found.kind == "sets" else pl.Float64()
        types = {name: _lists(inner, depth(self.schema[source])) for name, source in self.added.items()}
        return Change(self.columns.needed, types, self.made, self.columns.groups)

    def made(self, frame: pl.DataFrame) -> dict[str, Any]:
        """Return the new columns; a row without a probability stays without one."""
        if self.found.kind == "binary" and (lacks := absent(cells(frame, self.columns.predicted[0]))).any():
            return self._made_beside(lacks, frame)
        batch = self.columns.batch(self._checked(frame))
        prediction = prediction_of(batch, self.request)
        groups = None if not self.columns.groups else (batch.groups or {})[self.columns.groups[0]]
        after = self.found.apply(prediction, groups=groups)
        return dict(zip(self.added, _columns_of(self.columns.prediction, after), strict=True))

    def _made_beside(self, lacks: pl.Series, frame: pl.DataFrame) -> dict[str, Any]:
        """Return the new column, in which rows that lack a probability lack the new one; any other stands in for it."""
        ((new, old),) = self.added.items()
        self.empty += int(lacks.sum())
        p = cells(frame, old)
        if lacks.all():
            return {new: pl.repeat(None, len(p), dtype=pl.Float64, eager=True)}
        filled = frame.with_columns(p.set(lacks, p.filter(~lacks)[0]).alias(old))
        return {new: self.made(filled)[new].set(lacks, None)}

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        found = {column.name: column for column in frame.get_columns()}
        for name, role in self.roles.items():
            column = found[name]
            if column.null_count():
                message = "column {name} of {file} has no value in {row}. Repair such rows, or leave them out before"
                raise InputError(
                    message, name=shown(name), file=str(self.table.path), row=int(column.is_null().arg_max() or 0)
                )
            values = Values(name, column.alias("cells"), self.table.path, is_csv=self.table.format == "csv")
            found[name] = values.checked(role).alias(name)
        return pl.DataFrame(list(found.values()))

    def find_row(self) -> None:
        start, file = 0, str(self.table.path)
        for frame in self.table.frames(self.columns.needed, None, size=BATCH, labels=self.columns.groups):
            try:
                self.made(frame)
            except InputError as problem:
                if problem.row is None:
                    raise
                place = f"row {start + problem.row}"
                where = percent_hint(problem, self.found.kind) + " (in {file}, rows are counted from 0)"
                raise problem.within("", where, place=place, file=file) from None
            start += frame.height


def _chosen(found: Recalibration, request: Request, table: TableFile, names: list[str]) -> Chosen:
    """Return the columns of the prediction: those that were typed, or else those that the map was fitted on."""
    if found.kind not in NAMING:
        raise InputError(f"the command line does not read predictions of kind {found.kind}. {IN_PYTHON}")
    options, kind = NAMING[found.kind], kind_named(request)
    if kind is not None and kind != found.kind:
        raise InputError(f"the map was fitted on {found.kind}, and the options name {kind}; use {_or(found.kind)}")
    chosen: Chosen = {}
    for option in options:
        key = option.removeprefix("--").replace("-", "_")
        if kind is None:
            stored = (found.columns or {}).get(key, ())
            chosen[key] = tuple(find_column(name, names, table.path, option=option) for name in stored)
        else:
            typed = request.value(option)
            texts = (typed,) if isinstance(typed, str) else typed or ()
            typed_names = (name for text in texts for name in matching(text, names, table.path, option=option))
            chosen[key] = each_once(tuple(typed_names), option)
    if not any(chosen.values()):
        raise InputError(
            f"the map was fitted in Python and does not say which columns it is for; add {_or(found.kind)}"
        )
    _check_number(found, chosen)
    return chosen


def _or(kind: str) -> str:
    return (" or " if kind == "samples" else " and ").join(NAMING[kind])


def _check_number(found: Recalibration, chosen: Chosen) -> None:
    """Refuse another number of columns than the map has classes or levels, and say which column has which level."""
    if found.kind == "binary" and len(chosen["p"]) > 1:
        raise InputError(
            f"the map was fitted on one probability per row; --p names {len(chosen['p'])} columns: "
            f"{listing(list(chosen['p']), most=6)}. Name one of them"
        )
    wanted = None if found.levels is None or found.kind == "sets" else found.levels.size
    wanted = wanted if found.classes is None else len(found.classes)
    for key, names in chosen.items():
        if wanted is not None and len(names) != wanted:
            what = "classes" if found.classes is not None else "levels"
            labels = list(found.classes or ()) or [] if found.levels is None else found.levels.tolist()
            raise InputError(
                f"the map was fitted on {wanted} {what}, {listing(labels, most=6)}; --{key.replace('_', '-')} names "
                f"{len(names)} column{'' if len(names) == 1 else 's'}. Name one for each, in this order"
            )
        if found.levels is not None and found.columns is None and len(names) > 1 and found.kind != "sets":
            tell(f"levels are those of the map: {pairs(names, found.levels.tolist())}")


def _group_column(found: Recalibration, by: tuple[str, ...], table: TableFile, names: list[str]) -> tuple[str, ...]:
    if found.groups is None:
        if by:
            raise InputError("--by names groups, and the map has none; leave it out")
        return ()
    if len(by) != 1:
        raise InputError(
            f"the map was fitted with groups ({listing(list(found.groups), most=6)}); name their column with --by"
        )
    return (find_column(by[0], names, table.path, option="--by"),)


def _columns_of(named: Any, after: Any) -> list[Any]:
    if not isinstance(named, FromColumns):
        return [_series(after)] if isinstance(named, str) else [_series(column) for column in after.T]
    found = []
    for argument, names in named.columns.items():
        values = after.mask[:, :, 0] if argument == "mask" else getattr(after, argument)
        if isinstance(names, str):
            found.append(_series(values))
        else:
            found += [_series(values[..., j]) for j in range(len(names))]
    return found


def _series(values: Any) -> Any:
    """Return an array as a column; further axes become lists."""
    import numpy as np

    inner = pl.Boolean() if values.dtype == bool else pl.Float64()
    return pl.Series(np.ascontiguousarray(values)).cast(_lists(inner, values.ndim - 1))


def _lists(dtype: Any, axes: int) -> Any:
    return _lists(pl.List(dtype), axes - 1) if axes else dtype
