"""Options of files of points."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.cli.options import ROWS, F, Reading, column_option, format_options
from calibrant.files.table_file import FORMATS


@dataclass(frozen=True)
class PointRequest(Reading):
    """What is asked of files of points, also: which coordinates, and whether the first file is the real one."""

    columns: str | None = None
    array: tuple[str, ...] = ()
    no_real: bool = False


POINTS = (
    column_option("--columns", metavar="COLUMNS", help="Coordinates, such as 'x_*' or a,b,c; all if not given."),
    column_option(
        "--array",
        metavar="NAME",
        multiple=True,
        help="Array of an NPZ file that holds the points; repeat it for a different one of each file.",
    ),
    column_option("--no-real", is_flag=True, help="Every file holds generated points; there is no REAL."),
    *ROWS,
    *format_options((*FORMATS, "npy"), "Format of the files"),
)


def point_options(function: F) -> F:
    """Add the options that say what is in files of points."""
    for option in reversed(POINTS):
        function = option(function)
    return function
