"""`calibrant recalibrate`: from a file of predictions and outcomes to a map, with what it gains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.cli.audit import (
    MAX_ROWS_AT_ONCE,
    clusters_of,
    outcome_labels,
    prediction_of,
    reshaped,
    scan_of,
    tell_kept,
    within_files,
)
from calibrant.cli.candidates import cells
from calibrant.cli.columns import Columns, split_labels
from calibrant.cli.group import in_option_words
from calibrant.cli.missing import with_predictions
from calibrant.cli.options import NAMING, Request
from calibrant.cli.output import check_output, doing, emit, refuse_results, tell
from calibrant.core.words import confidence_words, number, short_limits
from calibrant.errors import CalibrantError, InputError, shown
from calibrant.files.reading import Reading
from calibrant.files.scan import Scan
from calibrant.files.where import number as read_number
from calibrant.inputs.columns import Batch, FromColumns
from calibrant.recalibrating.methods import METHODS, SCORES

if TYPE_CHECKING:
    from calibrant.recalibrating.gain import RecalibrationGain
    from calibrant.recalibrating.recalibration import Recalibration

KIND_WORDS = {"binary": "probabilities", "classes": "class probabilities", "samples": "draws"}
MAX_SHOWN = 6  # levels, coordinates or groups that are listed


def run(files: Sequence[Path], request: Request) -> None:
    output = request.output
    if output is not None:
        for file in files:
            check_output(output, endings=(".json",), option="-o", source=file)
    found, gains = fitted(files, request)
    lines = map_lines(found)
    lines += [line for gain in gains[:1] for line in gain_lines(found, gain)]
    lines += [line for gain in gains[1:] for line in group_lines(gain)]
    if output is not None:
        lines.append(f"map: {found.to_json(output)}")
    emit("\n".join(lines))


class FitArguments(NamedTuple):
    """Arguments of `recalibrate` and `recalibration_gain`: `dealing` has those that deal rows to folds."""

    y: Any
    prediction: Any
    options: dict[str, Any]
    dealing: dict[str, Any]


def fitted(files: Sequence[Path], request: Request) -> tuple[Recalibration, list[RecalibrationGain]]:
    """Read what the request names, fit a map, and measure its gain, and that of maps of groups over the common one."""
    for file in files:
        refuse_results(file, request.format, "predictions")
    request, columns, scan = scan_of(files, request)
    if columns.by and not any("groups" in rule.uses for rule in METHODS[columns.kind].values()):
        raise InputError("--by gives groups of probabilities (--p) and intervals (--lower, --upper) maps; leave it out")
    if len(columns.by) > 1:
        raise InputError(f"--by names one column of groups; got {len(columns.by)}. Make one column of their pairs")
    if request.time is not None:
        labels = dict.fromkeys((*scan.columns.groups, request.time))
        scan = replace(scan, columns=replace(scan.columns, groups=tuple(labels)))
    scan, missing = with_predictions(scan, columns, request)
    reading, rows, batch = _read(scan)
    arguments = _arguments(rows, batch, columns, request)
    try:
        arguments = arguments._replace(y=reshaped(batch.y, columns.y, batch.prediction))
        found = _fit(arguments)
    except InputError as problem:
        raise within_files(problem, files, reading, columns) from problem
    tell_kept(scan, rows, missing)
    if missing is not None:
        tell(missing.line.text)
    measurable = not request.no_gain and SCORES[columns.kind]
    gains = [_gain(arguments, request)] if measurable else []
    if any(gains) and found.common is not None and found.method != "identity":
        gains.append(_gain(arguments, request, baseline="common"))
    return replace(found, columns=_named_columns(columns, scan)), [gain for gain in gains if gain is not None]


def _read(scan: Scan) -> tuple[Reading, Any, Batch]:
    with doing(f"reading {scan.files[0].path}"):
        reading = scan.reading()
        if reading.likely_rows() > MAX_ROWS_AT_ONCE:
            raise InputError(
                f"{scan.files[0].path} has more than {MAX_ROWS_AT_ONCE:,} rows; a map needs far fewer: add --where"
            )
        rows = reading.whole()
        return reading, rows, scan.columns.batch(rows)


def _arguments(rows: Any, batch: Batch, columns: Columns, request: Request) -> FitArguments:
    labels = batch.groups or {}
    options: dict[str, Any] = {
        "method": request.method or "auto",
        "score": request.score,
        "smoothing": request.smoothing,
        "ridge": _ridge(request.ridge),
        "clip": request.clip,
        "inner": request.inner or "logistic",
        "weights": batch.weights,
        "groups": labels[columns.by[0]] if columns.by else None,
        **outcome_labels(cells(rows, columns.y[0]), columns, request),
    }
    dealing = {
        "folds": request.folds or 5,
        "clusters": clusters_of(rows, batch, columns),
        "time": None if request.time is None else labels[request.time],
        "rng": request.measured["rng"],
    }
    prediction = prediction_of(batch, request)
    return FitArguments(batch.y, prediction, options, dealing)


def _fit(arguments: FitArguments) -> Recalibration:
    from calibrant.recalibrating.recalibrate import recalibrate

    y, prediction, options, dealing = arguments
    with doing("fitting"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the map has them too
        found = recalibrate(y, prediction, **options, **(dealing if options["method"] == "auto" else {}))
    for sentence in found.warnings:
        tell(sentence)
    return found


def _gain(arguments: FitArguments, request: Request, **more: Any) -> RecalibrationGain | None:
    """Measure the gain; tell why where it cannot be measured, and return None."""
    from calibrant.recalibrating.gain import recalibration_gain

    y, prediction, options, dealing = arguments
    try:
        with doing("measuring the gain"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return recalibration_gain(y, prediction, level=request.measured["level"], **options, **dealing, **more)
    except CalibrantError as problem:
        tell(f"the gain on other rows cannot be measured: {in_option_words(problem)}")
        return None


def _ridge(text: str | None) -> float | tuple[float, float] | None:
    if text is None:
        return None
    parts = [read_number(part.strip()) for part in split_labels(text)]
    if None in parts or not 1 <= len(parts) <= 2:
        raise InputError(f"--ridge must be a number such as 1, or two such as 0.01,1; got {shown(text)}")
    values = [float(part) for part in parts if part is not None]
    return values[0] if len(values) == 1 else (values[0], values[1])


def _named_columns(columns: Columns, scan: Scan) -> dict[str, tuple[str, ...]]:
    by = {"by": columns.by} if columns.by else {}
    if columns.kind == "intervals":
        half = len(columns.p) // 2
        return {"lower": columns.p[:half], "upper": columns.p[half:], **by}
    if columns.kind == "samples":
        return {"draw_cols" if columns.draw_cols else "draws": columns.p}
    (option,) = NAMING[columns.kind]
    p = scan.columns.prediction  # quantiles are in the order of their levels here
    return {option.removeprefix("--").replace("-", "_"): p.needed if isinstance(p, FromColumns) else columns.p, **by}


def map_lines(found: Recalibration) -> list[str]:
    rows = f"{found.n:,} row{'' if found.n == 1 else 's'} of {KIND_WORDS.get(found.kind, found.kind)}"
    head = f"{found.method}, fitted on {rows}"
    if found.compared:
        tried = ", ".join(one.method for one in found.compared)
        head += f" (chosen by auto among {tried})"
    if found.groups is None:
        return [": ".join(filter(None, (head, _parameters(found, found.parameters))))]
    lines = [f"{head}, one map for each of {len(found.groups):,} groups:"]
    parts = list(zip(found.groups, found.parameters["groups"], strict=True))
    lines += [f"  {label}: {_parameters(found, part)}" for label, part in parts[:MAX_SHOWN]]
    lines += [f"  and {len(parts) - MAX_SHOWN:,} more"] if len(parts) > MAX_SHOWN else []
    common = {} if found.common is None else found.common.parameters
    return [*lines, f"  other groups: {_parameters(found, common)}"] if common else lines


def _parameters(found: Recalibration, parameters: Mapping[str, Any]) -> str:
    """Return parameters in words: numbers and short lists as they are, tables by their size."""
    texts = []
    for name, value in parameters.items():
        words = name.replace("_", " ")
        if isinstance(value, tuple):
            texts.append(f"{len(value)} maps, one for each class")
        elif np.ndim(value) <= 1 and np.size(value) <= MAX_SHOWN:
            written = str if np.asarray(value).dtype.kind in "iu" else lambda one: number(float(one))
            texts.append(f"{words} {', '.join(map(written, np.atleast_1d(value)))}")
        else:
            texts.append(f"{words} ({' x '.join(map(str, np.shape(value)))} numbers)")
    levels = found.levels
    if levels is not None and 1 < levels.size <= MAX_SHOWN:
        texts.append(f"at levels {', '.join(f'{level:g}' for level in levels)}")
    return ", ".join(texts)


def gain_lines(found: Recalibration, gain: RecalibrationGain) -> list[str]:
    """Return what the map gains on rows it was not fitted on, and what should be known about it."""
    from calibrant.judging.notes import text_of
    from calibrant.recalibrating.gain_claims import gain_claim, gain_note

    notes = [gain.note] if gain.note else []
    if found.method == "identity":  # the gain and its notes are about maps that some folds chose
        why = "No map was chosen: none lowers the score by more than its standard error."
        return [why if found.compared else "Predictions stay as they are, so nothing is gained."]
    _, text = text_of(gain_note(gain_claim(gain), "this map", gain.score, gain.note))
    said = f"{text[0].upper()}{text[1:]}."
    if gain.low > 0:
        said += f" On rows that it was not fitted on, it changes from {number(gain.before)} to {number(gain.after)}."
    return [said, *(notes if np.isfinite(gain.low) else [])]


def group_lines(gain: RecalibrationGain) -> list[str]:
    """Return what maps of groups gain over the common map, in all rows and in each group."""
    of: list[tuple[str, Any]] = [("Maps of groups, beyond the common map", gain)]
    of += [(f"  {one.group}", one) for one in gain.by_group[:MAX_SHOWN]]
    first, *others = [f"{words}: gain {number(one.estimate)} ({_limits(one, gain.level)})" for words, one in of]
    shown = "the maps help" if gain.low > 0 else "the maps do harm" if gain.high < 0 else "no gain is shown"
    return [f"{first}: {shown}", *others]


def _limits(one: Any, level: float) -> str:
    if not np.isfinite(one.low):
        return "no limits"
    return f"{confidence_words(level)} limits {short_limits(one.low, one.high)}"
