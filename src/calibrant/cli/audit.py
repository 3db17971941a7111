"""`calibrant audit`: from files of predictions to a verdict."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.candidates import ROW_NAMES, cells, completed, event_of
from calibrant.cli.columns import ALL, Columns, choose, class_labels, find_column, join_labels
from calibrant.cli.kinds import kind_named, nominal_levels
from calibrant.cli.missing import Missing, with_missing, with_predictions
from calibrant.cli.options import FLAGS, Request
from calibrant.cli.output import check_places, deliver, doing, refuse_results, signed, tell
from calibrant.errors import InputError, listing, printable, shown
from calibrant.files.found import find_files
from calibrant.files.lazy_libraries import pl
from calibrant.files.reading import Reading
from calibrant.files.scan import Scan
from calibrant.files.table_file import open_table
from calibrant.files.values import Candidate, column_types, counting, depth, nothing_to_measure
from calibrant.files.where import literal, read_where
from calibrant.inputs.columns import Batch
from calibrant.inputs.probabilities import normalised
from calibrant.inputs.samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from calibrant.report.audit import Audit

LABEL_ROWS = 10_000  # first rows, which tell labels
BATCH_ROWS = 1 << 20
MAX_ROWS_AT_ONCE = 20_000_000  # rows that are read at once
NEED_ALL_ROWS = ("--clusters", "--normalise", "--log-density-y")


def run(files: Sequence[Path], request: Request) -> None:
    """Audit files; print or write what was found."""
    check_places(request, files)
    deliver(signed(audit_files(files, request), request.title), request)


def audit_files(files: Sequence[Path], request: Request) -> Audit:
    for file in files:
        refuse_results(file, request.format, "predictions")
    with doing(f"reading {files[0]}"):
        request, columns, scan = scan_of(files, request)
        scan, missing = with_predictions(scan, columns, request)
        left_out = ""
        if request.covariates == ALL and columns.covariates != (ALL,):
            scan, left_out = _searchable(scan)
        reading = scan.reading()
        many = request.stream or request.resume or reading.likely_rows() > MAX_ROWS_AT_ONCE
        rows = _first_rows(scan, scan.columns.needed[:1]) if many else reading.whole()
    labels = outcome_labels(cells(rows, columns.y[0]), columns, request)
    if many:
        found = _stream(replace(scan, labels=labels), request, _names(files, scan, request, columns, []))
        return with_missing(_with_caveat(found, left_out), missing)
    if columns.kind == "binary" and depth(rows[columns.p[0]].dtype):
        raise InputError(
            f"column {shown(columns.p[0])} of {reading.files[0].path} (--p) contains lists, and --p names the "
            "probability of one event; save a column for each class, and name these with --p-cols"
        )
    from calibrant.auditing.audit import audit
    from calibrant.report.audit import Audit

    with doing("measuring"):
        try:
            batch = scan.columns.batch(rows)
            y = reshaped(batch.y, columns.y, batch.prediction)
            coordinates = _coordinates(columns.y, y)
            further: dict[str, Any] = {}
            if columns.log_density_y is not None:
                further["log_density_y"] = rows[columns.log_density_y].to_numpy()
            found = audit(
                y,
                prediction_of(batch, request),
                groups={name: (batch.groups or {})[name] for name in columns.by} or None,
                weights=batch.weights,
                clusters=clusters_of(rows, batch, columns),
                covariates=batch.covariates,
                calibration_size=request.calibration_size,
                names=_names(files, scan, request, columns, coordinates),
                columns=[printable(name) for name in coordinates] or None,
                part=request.part,
                **request.measured,
                **request.judged,
                **labels,
                **further,
            )
        except InputError as problem:
            raise within_files(problem, files, reading, columns) from problem
    tell_kept(scan, rows, missing)
    sections = found.findings.sections
    typed = replace(request, pos_label=labels.get("pos_label"))
    sections = tuple(replace(each, code=_commands(files, typed)) if each.code else each for each in sections)
    found = Audit(replace(found.findings, sections=sections))
    return with_missing(_with_caveat(found, left_out), missing)


def _searchable(scan: Scan) -> tuple[Scan, str]:
    """Return the scan with those covariates that can be searched, and which were left out and why; it is said too."""
    names, reading = scan.columns.covariates, scan.reading()
    seen: defaultdict[str, Candidate] = defaultdict(Candidate)
    for number, found in enumerate(scan.files):
        table = reading.open(number)
        for frame in table.frames(names, scan.where, size=BATCH_ROWS, constants=found.constants):
            kinds = column_types(frame, names, found.path)
            for name in names if frame.height else ():
                seen[name].see(frame[name], kinds[name].what if name in kinds else "texts")  # without any value
    if not seen:  # no rows, which is refused later
        return scan, ""
    numbering = dict.fromkeys(ROW_NAMES, "numbers of rows, by its name")
    why = {name: seen[name].unfit() or numbering.get(name.casefold()) for name in names}
    reasons = {name: reason for name, reason in why.items() if reason is not None}
    used = tuple(name for name in names if name not in reasons)
    left_out = ", ".join(f"{printable(name)} ({reason})" for name, reason in reasons.items())
    left_out = left_out and f"left out: {left_out}"
    if not used:
        raise InputError(f"--covariates all: no column of {scan.files[0].path} can be searched; {left_out}")
    columns = f"{len(used):,} column{'s are' if len(used) > 1 else ' is'} searched ({listing(used, most=6)})"
    tell("; ".join(["--covariates all: " + columns, *filter(None, [left_out])]))
    return replace(scan, columns=replace(scan.columns, covariates=used)), left_out


def _with_caveat(found: Audit, left_out: str) -> Audit:
    from calibrant.report.audit import Audit

    said = (f"Covariates {left_out}.",) if left_out else ()
    return Audit(replace(found.findings, caveats=(*found.findings.caveats, *said)))


def prediction_of(batch: Batch, request: Request) -> Any:
    """Return the prediction; rounded vectors sum to 1."""
    return normalised(batch.prediction) if request.normalise else batch.prediction


def tell_kept(scan: Scan, rows: pl.DataFrame, missing: Missing | None) -> None:
    if scan.where is not None and scan.where.text:
        every = sum(map(len, replace(scan, where=None).reading().frames(scan.columns.needed[:1])))
        tell(f"--where keeps {rows.height + (missing.rows if missing else 0):,} of {every:,} rows")


def _commands(files: Sequence[Path], request: Request) -> str:
    """Return the commands that recalibrate, in place of the lines of Python that a report of the library has."""
    from calibrant.auditing.recalibration import METHOD

    named = ("y", "p", "p_cols", "percent", "pos_label", "classes", "normalise", "weights")
    given = {FLAGS[name]: value for name in named if (value := getattr(request, name))}
    words = [word for flag, value in given.items() for word in ((flag,) if value is True else (flag, str(value)))]
    method = METHOD["binary" if request.p else "classes"]
    fit = shlex.join(["calibrant", "recalibrate", *map(str, files), *words, "--method", method, "-o", "map.json"])
    return f"{fit}  # rows that did not train the model\ncalibrant apply map.json NEW -o better.parquet"


def scan_of(files: Sequence[Path], request: Request) -> tuple[Request, Columns, Scan]:
    """Return the request with all columns named, these columns, and a scan; names are looked up in the first file."""
    where = read_where(request.where) if request.where is not None else None
    kind = kind_named(request)
    found = find_files(list(files), format=request.format)
    first = open_table(found[0].path, format=request.format, dialect=request.dialect)
    if request.y is None or kind is None:
        request = completed(first, request, kind)
        kind = kind_named(request)
    names = list(dict.fromkeys((*first.schema(), *found[0].constants)))
    for column in where.columns if where else ():
        find_column(column, names, first.path, option="--where")
    columns = choose(names, first.path, request, str(kind), first.list_schema() if kind == "samples" else None)
    named = replace(columns.named(nominal_levels(columns, request, first), request.crossed), percent=request.percent)
    return request, columns, Scan(found, named, where, {}, request.format, request.dialect)


def clusters_of(rows: pl.DataFrame, batch: Batch, columns: Columns) -> Any:
    """Return the labels of rows that may depend on each other, all of which are known."""
    if columns.clusters is None:
        return None
    missing = cells(rows, columns.clusters).is_null()
    if missing.any():
        raise InputError(
            f"column {shown(columns.clusters)} (--clusters) has no value in {missing.sum():,} of {len(missing):,} "
            f"rows, the first of them row {missing.arg_max()} (counted from 0). Give each of them a label of its own"
        )
    return (batch.groups or {})[columns.clusters]


def _stream(scan: Scan, request: Request, names: Mapping[str, str]) -> Audit:
    """Audit batch by batch; with --resume the state is kept beside the report."""
    from calibrant.auditing.job import AuditJob, check_part
    from calibrant.files.checkpoint import Checkpoint

    for option in NEED_ALL_ROWS:
        if request.value(option):
            raise InputError(f"{option} needs all rows at once; leave out --stream, or take fewer rows with --where")
    given = {**request.measured, **request.judged, **scan.labels, "calibration_size": request.calibration_size}
    share = check_part(request.part, scan.columns.covariates or None)
    job = AuditJob(exact=request.exact, names=names, share=share, **given)
    kept = Path("calibrant.checkpoint")
    if request.output is not None:
        kept = request.output.with_name(f"{request.output.name}.checkpoint")
    if request.resume and kept.exists():
        start = Checkpoint.read(kept, scan.files).fitting(kept, scan.asked(job), scan.files)
        tell(f"resuming after {start.now.done:,} rows, which are kept in {kept}")
    return scan.found(job, kept if request.resume else None)


def _first_rows(scan: Scan, names: Sequence[str]) -> pl.DataFrame:
    first = next((frame for frame in scan.reading().frames(names, LABEL_ROWS) if frame.height), None)
    if first is None:
        raise nothing_to_measure([found.path for found in scan.files], scan.where)
    return first.head(LABEL_ROWS)


def outcome_labels(y: pl.Series, columns: Columns, request: Request) -> dict[str, Any]:
    found = {}
    if request.pos_label is not None:
        found["pos_label"] = literal(request.pos_label, y.dtype, column=columns.y[0], option="pos_label")
    elif columns.kind == "binary" and y.dtype == pl.String and (event := event_of(y)) is not None:
        tell(f"the labels of {columns.y[0]} are taken as {shlex.join(('--pos-label', event))}")
        found["pos_label"] = event
    if request.classes is not None or columns.kind in ("classes", "sets"):
        found["classes"] = class_labels(y, columns, request.classes)
    return found


def reshaped(y: NDArray[Any], names: Sequence[str], prediction: Any) -> NDArray[Any]:
    if not isinstance(prediction, Samples) or y.shape[1:] == prediction.shape:
        return y
    if prediction.shape == (1,) and y.ndim == 1:
        return y[:, None]
    raise InputError(
        f"the number of coordinates must be that of the draws, {(*prediction.shape, 1)[0]}; --y has "
        f"{(*y.shape[1:], 1)[0]} ({listing(names, most=6)}). Name the columns of all coordinates, such as --y a,b"
    )


def _coordinates(names: Sequence[str], y: NDArray[Any]) -> list[str]:
    """Return the names of the coordinates of a vector; none if the outcome is a number or a label."""
    if y.ndim == 1:
        return []
    return list(names) if len(names) == y.shape[1] else [f"{names[0]}_{k}" for k in range(y.shape[1])]


def report_names(files: Sequence[Path], request: Request, **names: str | None) -> dict[str, str]:
    """Return what a report calls its rows and columns; `names` are those that the options alone do not say."""
    source = files[0].name if len(files) == 1 else f"{len(files):,} files"
    options = {name: getattr(request, name) for name in ("covariates", "weights", "time", "clusters")}
    found = {"source": source, "outcome": request.y, **names, **options, "filter": request.where}
    return {key: printable(value) for key, value in found.items() if value is not None}


def _names(files: Sequence[Path], scan: Scan, request: Request, columns: Columns, y: Sequence[str]) -> dict[str, str]:
    """Return the names of an audit; `y` are those of the coordinates of a vector."""
    known = {"outcome": columns.outcome, "prediction": columns.prediction, "coordinates": join_labels(y) or None}
    names = report_names([found.path for found in scan.files], request, **known, groups=", ".join(columns.by) or None)
    if len(files) == 1 < len(scan.files):
        names["source"] = printable(f"{files[0].name or files[0]} ({len(scan.files):,} files)")
    return names


def percent_hint(problem: InputError, kind: str) -> str:
    is_percentage = isinstance(problem.value, float) and 1 < problem.value <= 100
    return ". On the command line add --percent" if kind in ("binary", "classes") and is_percentage else ""


def within_files(problem: InputError, files: Sequence[Path], reading: Reading, columns: Columns) -> InputError:
    place = None
    if problem.row is not None:
        path, row = reading.place(problem.row)
        place = f"row {row} of {path}" if len(reading.files) > 1 else f"row {row}"
    hint = percent_hint(problem, columns.kind)
    counted = "" if problem.row is None else f"; rows are {counting(reading.where)}"
    return problem.within(
        "",
        hint + " (in {files}, y is column {y}, prediction is {prediction}" + counted + ")",
        place=place,
        files=str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1:,} more",
        y=shown(columns.outcome),
        prediction=shown(columns.prediction),
    )
