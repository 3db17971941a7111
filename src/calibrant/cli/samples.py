"""`calibrant samples`: from files of real and generated points to what differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.conditions import judge, read_condition
from calibrant.cli.deliver import check_places, deliver
from calibrant.cli.messages import doing, emit, printable, tell
from calibrant.cli.output_file import STDOUT
from calibrant.cli.patterns import join_labels
from calibrant.cli.point_files import read_point_files
from calibrant.cli.point_options import PointRequest
from calibrant.cli.results_file import measurements
from calibrant.cli.set_names import file_names, set_names
from calibrant.errors import InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

MOST = 12  # names of coordinates that a report begins with


def run(
    files: Sequence[Path],
    request: PointRequest,
    *,
    output: Path | None,
    json_to: str | None,
    fail_if: Sequence[str] = (),
) -> bool:
    """Compare the points of files; print or write what was found, and tell whether no condition holds."""
    conditions = [read_condition(text) for text in fail_if]
    check_places(output, json_to, files)
    if len(files) == 1 and not request.no_real:
        raise InputError(
            f"there is nothing to compare {files[0]} with; name a file of generated points too, or add --no-real if "
            "it holds some"
        )
    found = compare_files(files, request)
    outcomes = judge(
        conditions, measurements(found.findings.to_dict()), kind=found.findings.kind, status=found.verdict.status
    )
    deliver(found, output, json_to)
    if outcomes:
        say = tell if json_to == STDOUT else emit
        say("\n".join(outcome.line for outcome in outcomes))
    return not any(outcome.failed for outcome in outcomes)


def compare_files(files: Sequence[Path], request: PointRequest) -> Audit:
    """Read what the request names and compare it; the first file holds the real points, if there are any."""
    sets, columns = read_point_files(files, request)
    real, generated = (None, sets) if request.no_real else (sets[0], sets[1:])
    from calibrant.points.comparison import compare

    points: Any = generated[0]
    if len(generated) > 1:
        fakes = slice(len(files) - len(generated), None)
        points = dict(zip(map(printable, set_names(files[fakes], request.array[fakes])), generated, strict=True))
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


def _names(files: Sequence[Path], request: PointRequest, columns: Sequence[str] | None) -> dict[str, str]:
    """Return what the report calls things."""
    called = file_names(files, request.array)
    names = {} if request.no_real else {"real": called.pop(0)}
    names["generated"] = ", ".join(called)
    if columns is not None:
        short = columns if len(columns) <= MOST else (*columns[: MOST - 1], "...", columns[-1])
        names["coordinates"] = request.columns or join_labels(short)
    if request.where is not None:
        names["filter"] = request.where
    return {key: printable(name) for key, name in names.items()}


def _in_the_files(problem: InputError, files: Sequence[Path], request: PointRequest) -> InputError:
    """Say what the words of the library mean in the files."""
    return problem.within(
        "",
        " ({real}points is {generated}{counted})",
        real="" if request.no_real else f"y is {files[0]}, ",
        generated=", ".join(map(str, files if request.no_real else files[1:])),
        counted="" if problem.row is None else "; rows are counted from 0",
    )
