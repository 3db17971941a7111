"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from calibrant.cli.group import DEBUG, Option
from calibrant.core.annotations import Alternative
from calibrant.errors import InputError
from calibrant.files.csv_file import Dialect, read_delimiter
from calibrant.files.table_file import FORMATS
from calibrant.inputs.arrays import is_percentage
from calibrant.inputs.options import LEAST_CONFIDENCE, error_rate_words

F = TypeVar("F", bound=Callable[..., Any])

CONFIDENCE, SEED = 0.95, 0
PATH = click.Path(readable=False, path_type=Path)  # messages about files are calibrant's


NAMING = {
    "binary": ("--p",),
    "classes": ("--p-cols",),
    "intervals": ("--lower", "--upper"),
    "sets": ("--set-cols",),
    "quantiles": ("--quantile-cols",),
    "samples": ("--draws", "--draw-cols"),
}
"""The options that name the columns of each kind."""


@dataclass(frozen=True)
class ReadingOptions:
    """Which rows to read, how the file is written, and the options of measurements."""

    where: str | None = None
    confidence: float | None = None
    seed: int | None = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal_comma: bool = False
    title: str | None = None

    @property
    def dialect(self) -> Dialect:
        """How a CSV is written."""
        return Dialect(self.delimiter, self.encoding, self.decimal_comma)

    @property
    def measured(self) -> dict[str, Any]:
        """Level and random numbers, as the library takes them."""
        return {
            "level": CONFIDENCE if self.confidence is None else self.confidence,
            "rng": SEED if self.seed is None else self.seed,
        }

    @property
    def given(self) -> list[str]:
        """The options that were typed, as they are typed."""
        return [
            "--" + name.replace("_", "-")
            for name, value in vars(self).items()
            if value is not None and value != () and value is not False and name != "typed"
        ]


@dataclass(frozen=True)
class Request(ReadingOptions):
    """The options of an audit."""

    y: str | None = None
    p: str | None = None
    p_cols: str | None = None
    lower: tuple[str, ...] = ()
    upper: tuple[str, ...] = ()
    set_cols: str | None = None
    quantile_cols: str | None = None
    draws: str | None = None
    draw_cols: str | None = None
    log_density: str | None = None
    log_density_y: str | None = None
    covariates: str | None = None
    classes: str | None = None
    pos_label: str | None = None
    level: tuple[float, ...] = ()
    levels: str | None = None
    crossed: str | None = None
    normalise: bool = False
    calibration_size: int | None = None
    tolerance: float | None = None
    relative: bool = False
    alternative: str | None = None
    clusters: str | None = None
    by: tuple[str, ...] = ()
    weights: str | None = None
    stream: bool = False
    exact: bool = False
    resume: bool = False
    typed: tuple[str, ...] = ()  # the whole command, to be repeated with what it lacks

    @property
    def judged(self) -> dict[str, Any]:
        """What the verdict depends on besides the rows, if it was typed, as the library takes it."""
        given = {"tolerance": self.tolerance, "relative": self.relative or None, "alternative": self.alternative}
        return {name: value for name, value in given.items() if value is not None}

    def value(self, option: str) -> Any:
        """Return the value of an option, as it is typed: ``"--p-cols"``."""
        return getattr(self, option.removeprefix("--").replace("-", "_"))


@dataclass(frozen=True)
class FitRequest(Request):
    """The options of a recalibration."""

    method: str | None = None
    score: str | None = None
    smoothing: str | None = None
    ridge: str | None = None
    clip: float | None = None
    inner: str | None = None
    folds: int | None = None
    time: str | None = None
    no_gain: bool = False


@dataclass(frozen=True)
class ApplyRequest(Request):
    """The options of applying a map to new predictions."""

    suffix: str | None = None
    overwrite_column: bool = False


@dataclass(frozen=True)
class CompareRequest(ReadingOptions):
    """The options of a comparison of predictions of the same rows."""

    y: str | None = None
    p: tuple[str, ...] = ()
    weights: str | None = None
    time: str | None = None
    clusters: str | None = None
    pos_label: str | None = None
    metric: tuple[str, ...] = ()
    tolerance: float | None = None


@dataclass(frozen=True)
class PointRequest(ReadingOptions):
    """The options of a comparison of points."""

    columns: str | None = None
    array: tuple[str, ...] = ()
    no_real: bool = False


def _number(text: str) -> float:
    """Return a number; refuse a percentage, and show the number that it stands for."""
    if is_percentage(text):
        raise click.BadParameter(f"{text} is a percentage; write {float(text.strip(' %')) / 100:g}")
    found: float = click.FLOAT(text)
    return found


def _level(text: str) -> float:
    level = _number(text)
    if not 0 < level < 1:
        raise click.BadParameter(outside(level))
    return level


def _confidence(text: str) -> float:
    level = _level(text)
    if level < LEAST_CONFIDENCE:
        raise click.BadParameter(error_rate_words(level))
    return level


def _tolerance(text: str) -> float:
    tolerance = _number(text)
    if not 0 < tolerance < 1:
        hint = f"; for percentage points write {tolerance / 100:g}" if 1 <= tolerance < 100 else ""
        raise click.BadParameter(f"{tolerance:g} does not lie between 0 and 1{hint}")
    return tolerance


def outside(level: float) -> str:
    """Return that a number is not a level, and which one may have been meant."""
    hint = f"; did you mean {level / 100:g}?" if 1 < level < 100 else ""
    return f"{level:g} does not lie between 0 and 1{hint}"


def _delimiter(text: str) -> str:
    try:
        return read_delimiter(text)
    except InputError as problem:
        raise click.BadParameter(str(problem)) from problem


column_option = partial(click.option, cls=Option, section="Columns")
prediction_option = partial(click.option, cls=Option, section="Prediction (one kind)")
about_option = partial(click.option, cls=Option, section="Labels and levels of the prediction")
row_option = partial(click.option, cls=Option, section="Rows")
many_option = partial(click.option, cls=Option, section="More rows than memory")
measure_option = partial(click.option, cls=Option, section="Measuring")
condition_option = partial(click.option, cls=Option, section="Conditions")
output_option = partial(click.option, cls=Option, section="Output")

JUDGED = (
    measure_option(
        "--tolerance",
        type=_tolerance,
        metavar="NUMBER",
        help="Largest acceptable error, such as 0.02 for two percentage points.",
    ),
    measure_option("--relative", is_flag=True, help="--tolerance is a share of the mean of --p, for rare events."),
    measure_option(
        "--alternative",
        type=click.Choice(get_args(Alternative)),
        metavar="NAME",
        help="Which errors of coverage count: two-sided, less (coverage too low) or greater (too high).",
    ),
)
"""What the verdict of an audit depends on besides the rows."""

ROWS = (
    row_option("--where", metavar="FILTER", help="Rows to keep: 'age >= 65 and region in (north, west)'."),
    measure_option("--confidence", type=_confidence, metavar="NUMBER", help="Level of tests and bands (default 0.95)."),
    measure_option("--seed", type=click.IntRange(min=0), metavar="NUMBER", help="Seed of random numbers (default 0)."),
)


def format_options(formats: tuple[str, ...], section: str) -> tuple[Callable[[F], F], ...]:
    """Return the options that say how a file is written."""
    option = partial(click.option, cls=Option, section=section)
    return (
        option("--format", type=click.Choice(formats), metavar="NAME", help=f"{', '.join(formats)}."),
        option("--delimiter", type=_delimiter, metavar="CHAR", help="Delimiter of a CSV: ';', '|' or tab."),
        option("--encoding", metavar="NAME", help="Encoding of a CSV if not UTF-8, such as utf-16."),
        option("--decimal-comma", is_flag=True, help="Numbers in the CSV are written as 0,25."),
    )


CLUSTERS = column_option(
    "--clusters", metavar="COLUMN", help="Labels of rows that may depend on each other, such as ids."
)
TIME = column_option("--time", metavar="COLUMN", help="Numbers that put the rows of a series in order.")
OUTCOME = column_option(
    "--y", metavar="COLUMN", help="Outcome: 0 and 1, true and false, labels or numbers; a,b,c for vectors."
)
WEIGHTS = column_option("--weights", metavar="COLUMN", help="Importance weights of the rows.")
PREDICTIONS = (
    prediction_option("--p", metavar="COLUMN", help="Probability of the event."),
    prediction_option("--p-cols", metavar="COLUMNS", help="Class probabilities, such as 'p_*' or a,b,c."),
    prediction_option("--lower", metavar="COLUMN", multiple=True, help="Lower bounds of intervals. May be repeated."),
    prediction_option("--upper", metavar="COLUMN", multiple=True, help="Their upper bounds, in the same order."),
    prediction_option("--set-cols", metavar="COLUMNS", help="Sets: whether each class is in the set, true or false."),
    prediction_option("--quantile-cols", metavar="COLUMNS", help="Quantiles, such as 'q*' or q05,q50,q95."),
    prediction_option(
        "--draws", metavar="COLUMNS", help="Lists of draws, or an array (n, M) of an NPZ file; one for each --y."
    ),
    prediction_option("--draw-cols", metavar="COLUMNS", help="Draws, one column for each, such as 'member*'."),
)
LABELS = (
    about_option("--pos-label", metavar="LABEL", help="Label in --y that marks the event of --p."),
    about_option("--classes", metavar="A,B,...", help="Labels of --p-cols or --set-cols, in their order."),
    about_option(
        "--level",
        type=_level,
        multiple=True,
        metavar="NUMBER",
        help="Nominal coverage of intervals or sets, such as 0.9: one for each --lower and --upper.",
    ),
    about_option("--levels", metavar="A,B,...", help="Levels of --quantile-cols, in their order."),
)
REPAIRS = (
    about_option(
        "--crossed",
        type=click.Choice(["swap", "sort"]),
        metavar="HOW",
        help="swap (bounds) or sort (quantiles): what to do with those in the wrong order.",
    ),
    about_option("--normalise", is_flag=True, help="Divide rounded class probabilities by the sum of their row."),
)
OPTIONS = (
    OUTCOME,
    column_option("--by", metavar="COLUMN", multiple=True, help="Labels of groups to compare. May be repeated."),
    WEIGHTS,
    CLUSTERS,
    column_option(
        "--covariates",
        metavar="COLUMNS",
        help="Numbers or categories known beforehand, against which ranks are tested.",
    ),
    *PREDICTIONS,
    about_option("--log-density", metavar="COLUMN", help="Log densities of --draws, as lists, where they are known."),
    about_option("--log-density-y", metavar="COLUMN", help="Log density of the prediction at the outcome."),
    *LABELS,
    *REPAIRS,
    about_option(
        "--calibration-size",
        type=click.IntRange(min=1),
        metavar="NUMBER",
        help="Number of calibration scores behind split conformal intervals or sets.",
    ),
    ROWS[0],
    *JUDGED,
    *ROWS[1:],
    many_option("--stream", is_flag=True, help="Read probabilities in batches even if there are few rows."),
    many_option("--exact", is_flag=True, help="Keep all distinct probabilities, on disk if there are many."),
    many_option(
        "--resume", is_flag=True, help="Keep a checkpoint, from which an interrupted run resumes; implies --stream."
    ),
    *format_options(FORMATS, "Format of FILE"),
)

COMPARED = (
    column_option("--y", metavar="COLUMN", help="Outcome: 0 and 1, true and false, or labels with --pos-label."),
    WEIGHTS,
    TIME,
    CLUSTERS,
    prediction_option("--p", metavar="COLUMN", multiple=True, help="Probability of the event. Give it twice or more."),
    about_option("--pos-label", metavar="LABEL", help="Label in --y that marks the event."),
    measure_option(
        "--metric", metavar="NAME", multiple=True, help="ece, cutoff_error, log_score ... (default: ece, brier_score)."
    ),
    measure_option(
        "--tolerance", type=_number, metavar="NUMBER", help="Largest difference that does not matter, of one --metric."
    ),
    ROWS[0],
    ROWS[1],
    *format_options(FORMATS, "Format of FILE"),
)

fit_option = partial(click.option, cls=Option, section="Map")
FITTED = (
    OUTCOME,
    column_option("--by", metavar="COLUMN", multiple=True, help="Groups of intervals that get a map each."),
    WEIGHTS,
    CLUSTERS,
    TIME,
    *PREDICTIONS,
    *LABELS,
    *REPAIRS,
    ROWS[0],
    fit_option(
        "--method", metavar="NAME", help="temperature, logistic, shift, ... (default: auto, the simplest that helps)."
    ),
    fit_option("--score", metavar="NAME", help="Score that is minimised and measured: log, brier, crps."),
    fit_option(
        "--smoothing", type=click.Choice(["platt"]), metavar="NAME", help="platt: Platt's targets, for logistic."
    ),
    fit_option("--ridge", metavar="NUMBER", help="Penalty of matrix (default 1) or dirichlet (default 0.01; or A,B)."),
    fit_option("--clip", type=float, metavar="NUMBER", help="Limit probabilities to [NUMBER, 1 - NUMBER] first."),
    fit_option("--inner", metavar="NAME", help="Method of each class for one-vs-rest (default logistic)."),
    fit_option("--folds", type=click.IntRange(min=2), metavar="NUMBER", help="Folds that judge maps (default 5)."),
    fit_option("--no-gain", is_flag=True, help="Fit the map without measuring what it gains on other rows."),
    *ROWS[1:],
    *format_options(FORMATS, "Format of FILE"),
)

APPLIED = (
    column_option("--by", metavar="COLUMN", multiple=True, help="Groups, if the map has them."),
    *PREDICTIONS,
    *REPAIRS,
    *format_options(tuple(name for name in FORMATS if name != "npz"), "Format of FILE"),
)

POINTS = (
    column_option("--columns", metavar="COLUMNS", help="Coordinates, such as 'x_*' or a,b,c (default: all columns)."),
    column_option(
        "--array",
        metavar="NAME",
        multiple=True,
        help="Array of an NPZ file with the points; repeat it for a different one of each file.",
    ),
    column_option("--no-real", is_flag=True, help="All files contain generated points; there is no REAL."),
    *ROWS,
    *format_options((*FORMATS, "npy"), "Format of the files"),
)


def add(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command."""

    def decorated(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[DEBUG] = value or ctx.meta.get(DEBUG, False)


debug_option = click.option(
    "--debug", is_flag=True, is_eager=True, expose_value=False, callback=_set_debug, help="Show a traceback on error."
)
title_option = output_option("--title", metavar="TEXT", help="Heading of the report.")
html_option = output_option("-o", "output", type=PATH, metavar="HTML", help="Write the report to this file.")
json_option = output_option(
    "--json", "json_to", is_flag=False, flag_value="-", metavar="[PATH]", help="Write JSON to this file, or to stdout."
)
