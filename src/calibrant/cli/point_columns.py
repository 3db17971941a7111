"""Which columns are coordinates: those that a person names, or all, and the same ones in every file."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from calibrant.cli.cells import cells
from calibrant.cli.list_columns import depth
from calibrant.cli.patterns import each_once, find_column, join_labels, matching
from calibrant.cli.predictions import check_numbers
from calibrant.errors import InputError, did_you_mean, shown
from calibrant.files.table_file import TableFile
from calibrant.files.where import Where

if TYPE_CHECKING:
    import polars as pl

    Schema = Mapping[str, pl.DataType]

MOST = 30  # names that are written out in a proposal


def common_columns(tables: Sequence[TableFile], text: str | None, where: Where | None) -> tuple[str, ...]:
    """Return the columns that `text` stands for in all tables, in the order of the first; without it all columns."""
    first, *others = tables
    schema = first.schema()
    for table in tables:
        _check_header(table)
    chosen = _chosen(first, schema, text, where)
    for table in others:
        own = _chosen(table, table.schema(), text, where)
        both = [name for name in chosen if name in own]
        for lacking, having, names, there in ((table, first, chosen, own), (first, table, own, chosen)):
            odd = [name for name in names if name not in there]
            if odd:
                if any(map(_like_a_header_of_numbers, (lacking, having))):
                    raise _no_header(having if _like_a_header_of_numbers(having) else lacking)
                hint = did_you_mean(odd[0], [name for name in there if name not in names])
                remedy = f"Name the coordinates: {proposed(both, list(schema))}" if both else "Rename the columns"
                more = f" and {len(odd) - 1:,} more" if len(odd) > 1 else ""
                raise InputError(
                    f"{lacking.path} has no column {shown(odd[0])}{more}, which {having.path} has. {hint or remedy}"
                )
    return chosen


def _check_header(table: TableFile) -> None:
    """Refuse a CSV whose first line is a point; different whole numbers may be names, such as years."""
    if _like_a_header_of_numbers(table) and not all(name.isdigit() for name in table.schema()):
        raise _no_header(table)


def _like_a_header_of_numbers(table: TableFile) -> bool:
    return table.format == "csv" and all(_is_number(_plain(name)) for name in table.schema())


def _no_header(table: TableFile) -> InputError:
    names = list(table.schema())
    line = ",".join(f"x{k}" for k in range(min(len(names), 3))) + (",..." if len(names) > 3 else "")
    return InputError(
        f"the first line of {table.path} holds numbers, {shown(_plain(names[0]))} first, where the columns should be "
        f"named. If it has no header, put one above, such as {line}, or save the points with numpy.save"
    )


def _plain(name: str) -> str:
    """Return the name without what polars adds to one that is there twice."""
    return re.sub(r"_duplicated_\d+$", "", name)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def proposed(names: Sequence[str], among: Sequence[str]) -> str:
    """Return the option that names these columns and no others of the file, ready to be typed.

    Examples
    --------
    >>> proposed(["x_0", "x_1", "x_2"], ["id", "x_0", "x_1", "x_2"])
    "--columns 'x_*'"
    >>> proposed(["age", "height"], ["name", "age", "height"])
    '--columns age,height'
    """
    pattern = glob.escape(os.path.commonprefix(list(names))) + "*"  # noqa: RUF071, letter by letter is meant
    if len(names) > 2 and pattern != "*" and [name for name in among if fnmatchcase(name, pattern)] == list(names):
        return f"--columns {shlex.quote(pattern)}"
    text = shlex.quote(join_labels(names[:MOST], ","))
    return f"--columns {text}" + (f" and {len(names) - MOST:,} more" if len(names) > MOST else "")


def _chosen(table: TableFile, schema: Schema, text: str | None, where: Where | None) -> tuple[str, ...]:
    names = list(schema)
    for column in where.columns if where else ():
        find_column(column, names, table.path, option="--where")
    if text is not None:
        return each_once(matching(text, names, table.path, option="--columns"), f"--columns {shown(text)}")
    odd = next((name for name in names if not schema[name].is_numeric()), None)
    if odd is not None:
        check_numbers(cells(table.read([odd], where), odd), odd, table, where, instead=_numeric(schema))
    return tuple(find_column(name, names, table.path, option="all are coordinates") for name in names)


def _numeric(schema: Schema) -> str:
    """Return the advice to name the columns of numbers; where there are none, a column of lists."""
    plain = [name for name, dtype in schema.items() if dtype.is_numeric()]
    lists = [name for name, dtype in schema.items() if depth(dtype) == 1]
    if plain or lists:
        return f"name the coordinates: {proposed(plain or lists[:1], list(schema))}"
    return "name a file with columns of numbers"
