"""`calibrant samples`: from files of real and generated points to what differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.columns import join_labels
from calibrant.cli.conditions import judge, read_condition
from calibrant.cli.options import Request
from calibrant.cli.output import STDOUT, check_places, deliver, doing, emit, signed, tell
from calibrant.cli.points import read_point_files
from calibrant.errors import InputError, printable
from calibrant.files.table_file import SUFFIXES

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

REAL = "real"  # what the report calls the set that all others are compared with
MAX_NAMES_SHOWN = 12  # names of coordinates that a report begins with


def run(files: Sequence[Path], request: Request) -> bool:
    """Compare the points of files; print or write what was found, and tell whether no condition holds."""
    conditions = [read_condition(text) for text in request.fail_if]
    check_places(request, files)
    if len(files) == 1 and not request.no_real:
        raise InputError(
            f"there is nothing to compare {files[0]} with; name a file of generated points too, or add --no-real"
        )
    found = signed(compare_files(files, request), request.title)
    outcomes = judge(conditions, found.findings.to_dict())
    deliver(found, request)
    if outcomes:
        say = tell if request.json_to == STDOUT else emit
        say("\n".join(outcome.line for outcome in outcomes))
    return not any(outcome.failed for outcome in outcomes)


def compare_files(files: Sequence[Path], request: Request) -> Audit:
    """Read what the request names and compare it; the first file contains the real points, if there are any."""
    sets, columns = read_point_files(files, request)
    real, generated = (None, sets) if request.no_real else (sets[0], sets[1:])
    from calibrant.auditing.compare_points import compare

    points: Any = generated[0]
    if len(generated) > 1:
        fakes = slice(len(files) - len(generated), None)
        points = dict(
            zip(map(printable, file_names(files[fakes], request.array[fakes], endings=False)), generated, strict=True)
        )
    with doing("measuring"):
        try:
            return compare(
                real,
                points,
                columns=None if columns is None else [printable(name) for name in columns],
                names=_names(files, request, columns),
                **request.measured,
            )
        except InputError as problem:
            raise _in_the_files(problem, files, request) from problem


def _names(files: Sequence[Path], request: Request, columns: Sequence[str] | None) -> dict[str, str]:
    called = file_names(files, request.array)
    names = {} if request.no_real else {"real": called.pop(0)}
    names["generated"] = ", ".join(called)
    if columns is not None:
        short = columns if len(columns) <= MAX_NAMES_SHOWN else (*columns[: MAX_NAMES_SHOWN - 1], "...", columns[-1])
        names["coordinates"] = request.columns or join_labels(short)
    if request.where is not None:
        names["filter"] = request.where
    return {key: printable(name) for key, name in names.items()}


def _in_the_files(problem: InputError, files: Sequence[Path], request: Request) -> InputError:
    return problem.within(
        "",
        " ({real}points is {generated}{counted})",
        real="" if request.no_real else f"y is {files[0]}, ",
        generated=", ".join(map(str, files if request.no_real else files[1:])),
        counted="" if problem.row is None else "; rows are counted from 0",
    )


def file_names(files: Sequence[Path], arrays: Sequence[str] = (), *, endings: bool = True) -> list[str]:
    """Return a name for each file, as short as it can be if all are to differ, also from "real".

    Without `endings` these are left out where possible. If each file has one of the `arrays`, names may end with them.

    >>> file_names([Path("a/points.npy"), Path("b/points.npy")])
    ['a/points.npy', 'b/points.npy']
    >>> file_names([Path("run.npz"), Path("run.npz")], ["y", "points"])
    ['run.npz, y', 'run.npz, points']
    >>> file_names([Path("out/first.csv.gz"), Path("out/second.npy")], endings=False)
    ['first', 'second']
    >>> file_names([Path("out/first.csv.gz"), Path("out/real.npy")], endings=False)
    ['first.csv.gz', 'real.npy']
    """
    spellings = [[file.name for file in files], [str(file) for file in files]]
    if len(arrays) == len(files):
        spellings += [[f"{name}, {array}" for name, array in zip(names, arrays, strict=True)] for names in spellings]
    if not endings:
        spellings.insert(0, [_stem(file) for file in files])
    for names in spellings:
        if len({*names, REAL}) > len(names):
            return names
    return [f"{name} ({names[: i + 1].count(name)})" for i, name in enumerate(names)]


def _stem(file: Path) -> str:
    endings = [ending for ending in (*SUFFIXES, ".npy") if file.name.lower().endswith(ending)]
    return file.name[: len(file.name) - max(map(len, endings), default=0)] or file.name
