"""`calibrant recalibrate`: from a file of predictions and outcomes to a map, with what it gains."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.cli.audit import MAX_ROWS_AT_ONCE, clusters_of, outcome_labels, reshaped, scan_of, within_files
from calibrant.cli.candidates import cells
from calibrant.cli.columns import Columns, split_labels
from calibrant.cli.options import NAMING, FitRequest
from calibrant.cli.output import check_output, doing, emit, refuse_results, tell
from calibrant.core.words import confidence_words, number, short_limits
from calibrant.errors import CalibrantError, InputError, shown
from calibrant.files.scan import Scan
from calibrant.files.where import number as read_number
from calibrant.inputs.columns import FromColumns
from calibrant.inputs.probabilities import normalised
from calibrant.recalibrating.methods import SCORES

if TYPE_CHECKING:
    from calibrant.recalibrating.gain import RecalibrationGain
    from calibrant.recalibrating.recalibration import Recalibration

SCORE_WORDS = {"interval": "interval score", "quantile": "quantile score", "crps": "CRPS", "brier": "Brier score"}
KIND_WORDS = {"binary": "probabilities", "classes": "class probabilities", "samples": "draws"}
MAX_SHOWN = 6  # levels, coordinates or groups that are listed


def run(files: Sequence[Path], request: FitRequest, *, output: Path | None) -> None:
    """Fit a map, print it and what it gains, and write it."""
    if output is not None:
        for file in files:
            check_output(output, endings=(".json",), option="-o", source=file)
    found, gain = fitted(files, request)
    lines = map_lines(found)
    if gain is not None:
        lines += gain_lines(found, gain)
    if output is not None:
        lines.append(f"map: {found.to_json(output)}")
    emit("\n".join(lines))


def fitted(files: Sequence[Path], request: FitRequest) -> tuple[Recalibration, RecalibrationGain | None]:
    """Read what the request names, fit a map, and measure its gain where that is possible."""
    from calibrant.recalibrating.gain import recalibration_gain
    from calibrant.recalibrating.recalibrate import recalibrate

    for file in files:
        refuse_results(file, request.format, "predictions")
    columns, scan = scan_of(files, request)
    _check_groups(columns)
    if request.time is not None:
        labels = dict.fromkeys((*scan.columns.groups, request.time))
        scan = replace(scan, columns=replace(scan.columns, groups=tuple(labels)))
    with doing(f"reading {files[0]}"):
        reading = scan.reading()
        if reading.likely_rows() > MAX_ROWS_AT_ONCE:
            raise InputError(
                f"{scan.files[0].path} has more than {MAX_ROWS_AT_ONCE:,} rows, and all are read at once. A map needs "
                "far fewer: take a part of them with --where"
            )
        rows = reading.whole()
        batch = scan.columns.batch(rows)
    beside = batch.groups or {}
    prediction = normalised(batch.prediction) if request.normalise else batch.prediction
    options: dict[str, Any] = {
        "method": request.method or "auto",
        "score": request.score,
        "smoothing": request.smoothing,
        "ridge": _ridge(request.ridge),
        "clip": request.clip,
        "inner": request.inner or "logistic",
        "weights": batch.weights,
        "groups": beside[columns.by[0]] if columns.by else None,
        **outcome_labels(cells(rows, columns.y[0]), columns, request),
    }
    dealing = {
        "folds": request.folds or 5,
        "clusters": clusters_of(rows, batch, columns),
        "time": None if request.time is None else beside[request.time],
        "rng": request.measured["rng"],
    }
    try:
        y = reshaped(batch.y, columns.y, batch.prediction)
        with doing("fitting"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the map has them too
            found = recalibrate(y, prediction, **options, **(dealing if options["method"] == "auto" else {}))
        for sentence in found.warnings:
            tell(sentence)
    except InputError as problem:
        raise within_files(problem, files, reading, columns) from problem
    gain = None
    if not request.no_gain and SCORES[columns.kind]:
        try:
            with doing("measuring the gain"), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                gain = recalibration_gain(y, prediction, level=request.measured["level"], **options, **dealing)
        except CalibrantError as problem:
            tell(f"the gain on other rows cannot be measured: {problem}")
    return replace(found, columns=_named_columns(columns, scan)), gain


def _check_groups(columns: Columns) -> None:
    if columns.by and columns.kind != "intervals":
        raise InputError("--by gives each group of intervals (--lower, --upper) a map of its own; leave it out")
    if len(columns.by) > 1:
        raise InputError(f"--by names one column of groups; got {len(columns.by)}. Make one column of their pairs")


def _ridge(text: str | None) -> float | tuple[float, float] | None:
    """Return the penalty of ``0.01`` or ``0.01,1``."""
    if text is None:
        return None
    parts = [read_number(part.strip()) for part in split_labels(text)]
    if None in parts or not 1 <= len(parts) <= 2:
        raise InputError(f"--ridge must be a number such as 1, or two such as 0.01,1; got {shown(text)}")
    values = [float(part) for part in parts if part is not None]
    return values[0] if len(values) == 1 else (values[0], values[1])


def _named_columns(columns: Columns, scan: Scan) -> dict[str, tuple[str, ...]]:
    """Return the columns by the options that name them, as `calibrant apply` looks for them."""
    by = {"by": columns.by} if columns.by else {}
    if columns.kind == "intervals":
        half = len(columns.p) // 2
        return {"lower": columns.p[:half], "upper": columns.p[half:], **by}
    if columns.kind == "samples":
        return {"draw_cols" if columns.draw_cols else "draws": columns.p}
    (option,) = NAMING[columns.kind]
    p = scan.columns.prediction  # quantiles are in the order of their levels here
    return {option.removeprefix("--").replace("-", "_"): p.needed if isinstance(p, FromColumns) else columns.p}


def map_lines(found: Recalibration) -> list[str]:
    """Return a map in words, a line for each group."""
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
    return lines + ([f"  and {len(parts) - MAX_SHOWN:,} more"] if len(parts) > MAX_SHOWN else [])


def _parameters(found: Recalibration, parameters: Mapping[str, Any]) -> str:
    """Return parameters in words: numbers and short lists as they are, tables by their size."""
    texts = []
    for name, value in parameters.items():
        words = name.replace("_", " ")
        if isinstance(value, tuple):
            texts.append(f"{len(value)} maps, one for each class")
        elif np.ndim(value) == 0:
            texts.append(f"{words} {number(float(value))}")
        elif np.ndim(value) == 1 and np.size(value) <= MAX_SHOWN:
            texts.append(f"{words} {', '.join(number(float(one)) for one in value)}")
        else:
            texts.append(f"{words} ({' x '.join(map(str, np.shape(value)))} numbers)")
    levels = found.levels
    if levels is not None and 1 < levels.size <= MAX_SHOWN:
        texts.append(f"at levels {', '.join(f'{level:g}' for level in levels)}")
    return ", ".join(texts)


def gain_lines(found: Recalibration, gain: RecalibrationGain) -> list[str]:
    """Return what the map gains on rows it was not fitted on, and what should be known about it."""
    score = SCORE_WORDS.get(gain.score, f"{gain.score} score")
    notes = [gain.note] if gain.note else []
    if found.method == "identity" and gain.low == gain.high == 0:
        why = "No map was chosen: none lowers the score by more than its standard error."
        return [why if found.compared else "Predictions stay as they are, so nothing is gained.", *notes]
    if not np.isfinite(gain.low):
        change = "lower" if gain.estimate >= 0 else "raise"
        estimate = f"it would {change} the {score} by about {number(abs(gain.estimate))}, without limits"
        return [
            f"A few rows decide the mean {score}, so what the map gains on other rows is not clear: {estimate}.",
            *notes,
        ]
    limits = f"{confidence_words(gain.level)}: {short_limits(gain.low, gain.high).replace('-', '−')}"
    if gain.low > 0:
        kept = f"from {number(gain.before)} to {number(gain.after)}"
        said = f"On other rows the map would lower the {score} by {number(gain.estimate)} ({limits}), {kept}."
    elif gain.high < 0:
        said = f"This map would do harm with so few rows: it would raise the {score} by {number(-gain.estimate)} "
        said += f"({confidence_words(gain.level)}: {short_limits(-gain.high, -gain.low)})."
    else:
        said = f"No gain is shown: the estimated gain of the {score} is {number(gain.estimate)} ({limits})."
    return [said, *notes]
