"""The table of options: each with its type, its help, and the commands that take it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click

from calibrant.cli.group import DEBUG, Option, typed
from calibrant.core.annotations import Alternative
from calibrant.errors import InputError
from calibrant.files.csv_file import Dialect, read_delimiter
from calibrant.files.table_file import READ
from calibrant.inputs.arrays import is_percentage
from calibrant.inputs.options import LEAST_CONFIDENCE, error_rate_words

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

SIDES, REPAIRS, POSITIVE = get_args(Alternative), ("swap", "sort"), click.IntRange(min=1)
OPTIONAL: dict[str, Any] = {"is_flag": False, "flag_value": "-"}  # settings of an option whose value may be left out

CONDITIONS, COLUMNS, PREDICTION = "Conditions", "Columns", "Prediction (one kind)"
ABOUT, ROWS, MAP, MEASURING = "Labels and levels of the prediction", "Rows", "Map", "Measuring"
MANY, FORMAT, OUTPUT = "More rows than memory", "Format of FILE", "Output"
"""The headings of the help, in their order."""

FIT = "recalibrate"
AUDITS = "audit check"
FITS = "audit check recalibrate"
NAMED = "audit check recalibrate apply"
MODELS = "audit check recalibrate compare"
READS = "audit check recalibrate compare samples"
FILES = f"{READS} apply"
REPORTS = "audit check compare samples"
"""Commands that have options in common."""


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


def _row(commands: str, section: str, metavar: str | None, help: str, *, flag: str = "", **settings: Any) -> Any:
    """Return a row of the table; without a `flag` the option is called like its field."""
    default = settings.pop("default", None)
    settings |= {"section": section, "metavar": metavar, "help": help}
    return field(default=default, metadata={"commands": commands.split(), "flag": flag, "settings": settings})


def _many(commands: str, section: str, metavar: str, help: str, **settings: Any) -> Any:
    return _row(commands, section, metavar, help, multiple=True, default=(), **settings)


def _flag(commands: str, section: str, help: str) -> Any:
    return _row(commands, section, None, help, is_flag=True, default=False)


@dataclass(frozen=True)
class Request:
    """What was typed: a field for each option of all commands; those that a command does not have keep the default."""

    fail_if: tuple[str, ...] = _many(
        "check samples", CONDITIONS, "CONDITION", "Fail when this holds: miscalibrated, 'ece.low > 0.05'. Repeatable."
    )
    y: str | None = _row(MODELS, COLUMNS, "COLUMN", "Outcome: 0/1, true/false, labels or numbers; a,b,c for vectors.")
    by: tuple[str, ...] = _many(NAMED, COLUMNS, "COLUMN", "Labels of groups. May be repeated.")
    weights: str | None = _row(MODELS, COLUMNS, "COLUMN", "Importance weights of the rows.")
    clusters: str | None = _row(MODELS, COLUMNS, "COLUMN", "Labels of rows that may depend on each other, such as ids.")
    time: str | None = _row("recalibrate compare", COLUMNS, "COLUMN", "Numbers that put the rows of a series in order.")
    covariates: str | None = _row(
        AUDITS,
        COLUMNS,
        "COLUMNS",
        "What was known of each row: find where predictions are off. all: the other columns.",
    )
    columns: str | None = _row("samples", COLUMNS, "COLUMNS", "Coordinates, such as 'x_*' or a,b,c (default: all).")
    array: tuple[str, ...] = _many("samples", COLUMNS, "NAME", "Array of points in an NPZ file; one, or one for each.")
    no_real: bool = _flag("samples", COLUMNS, "All files contain generated points; there is no REAL.")

    p: str | None = _row(NAMED, PREDICTION, "COLUMN", "Probability of the event.")
    models: tuple[str, ...] = _many(
        "compare", PREDICTION, "COLUMN", "Probability of the event. Give it twice or more.", flag="--p"
    )
    p_cols: str | None = _row(NAMED, PREDICTION, "COLUMNS", "Class probabilities, such as 'p_*' or a,b,c.")
    percent: bool = _flag(NAMED, PREDICTION, "--p or --p-cols are percentages, from 0 to 100.")
    lower: tuple[str, ...] = _many(NAMED, PREDICTION, "COLUMN", "Lower bounds of intervals. May be repeated.")
    upper: tuple[str, ...] = _many(NAMED, PREDICTION, "COLUMN", "Their upper bounds, in the same order.")
    set_cols: str | None = _row(NAMED, PREDICTION, "COLUMNS", "Sets: whether each class is in the set, true or false.")
    quantile_cols: str | None = _row(NAMED, PREDICTION, "COLUMNS", "Quantiles, such as 'q*' or q05,q50,q95.")
    draws: str | None = _row(NAMED, PREDICTION, "COLUMNS", "Lists of draws, or NPZ arrays (n, M); one for each --y.")
    draw_cols: str | None = _row(NAMED, PREDICTION, "COLUMNS", "Draws, one column for each, such as 'member*'.")

    log_density: str | None = _row(AUDITS, ABOUT, "COLUMN", "Log densities of --draws, as lists, where they are known.")
    log_density_y: str | None = _row(AUDITS, ABOUT, "COLUMN", "Log density of the prediction at the outcome.")
    pos_label: str | None = _row(MODELS, ABOUT, "LABEL", "Label in --y that marks the event of --p.")
    classes: str | None = _row(FITS, ABOUT, "A,B,...", "Labels of --p-cols or --set-cols, in their order.")
    level: tuple[float, ...] = _many(
        FITS, ABOUT, "NUMBER", "Nominal coverage of intervals or sets, such as 0.9: one for each --lower.", type=_level
    )
    levels: str | None = _row(FITS, ABOUT, "A,B,...", "Levels of --quantile-cols, in their order.")
    crossed: str | None = _row(
        NAMED, ABOUT, "HOW", "swap (bounds) or sort (quantiles) those in the wrong order.", type=click.Choice(REPAIRS)
    )
    normalise: bool = _flag(NAMED, ABOUT, "Divide rounded class probabilities by the sum of their row.")
    calibration_size: int | None = _row(
        AUDITS, ABOUT, "NUMBER", "Number of scores that split conformal predictions were calibrated on.", type=POSITIVE
    )

    where: str | None = _row(READS, ROWS, "FILTER", "Rows to keep: 'age >= 65 and region in (north, west)'.")

    method: str | None = _row(FIT, MAP, "NAME", "temperature, shift, ... (default: auto, the simplest that helps).")
    score: str | None = _row(FIT, MAP, "NAME", "Score that is minimised and measured: log, brier, crps.")
    smoothing: str | None = _row(FIT, MAP, "NAME", "platt: Platt's targets for logistic.", type=click.Choice(["platt"]))
    ridge: str | None = _row(FIT, MAP, "NUMBER", "Penalty of matrix (default 1) or dirichlet (default 0.01; or A,B).")
    clip: float | None = _row(FIT, MAP, "NUMBER", "Limit probabilities to [NUMBER, 1 - NUMBER] first.", type=float)
    inner: str | None = _row(FIT, MAP, "NAME", "Method of each class for one-vs-rest (default logistic).")
    folds: int | None = _row(FIT, MAP, "NUMBER", "Folds that judge maps (default 5).", type=click.IntRange(min=2))
    no_gain: bool = _flag(FIT, MAP, "Fit the map without measuring what it gains on other rows.")

    metric: tuple[str, ...] = _many("compare", MEASURING, "NAME", "ece, log_score, ... (default: ece, brier_score).")
    difference: float | None = _row(
        "compare", MEASURING, "NUMBER", "Largest difference that does not matter.", flag="--tolerance", type=_number
    )
    tolerance: float | None = _row(
        AUDITS, MEASURING, "NUMBER", "Largest acceptable error: 0.02 for two percentage points.", type=_tolerance
    )
    part: float | None = _row(
        AUDITS, MEASURING, "NUMBER", "No such share of the rows, 0.5 to 0.0625, may be off by more either.", type=float
    )
    relative: bool = _flag(AUDITS, MEASURING, "--tolerance is a share of the error if no event happens, for rare ones.")
    alternative: str | None = _row(
        AUDITS, MEASURING, "NAME", f"Errors of coverage that count: {', '.join(SIDES)}.", type=click.Choice(SIDES)
    )
    confidence: float | None = _row(
        READS, MEASURING, "NUMBER", "Level of tests and bands (default 0.95).", type=_confidence
    )
    seed: int | None = _row(
        f"{FITS} samples", MEASURING, "NUMBER", "Seed of random numbers (default 0).", type=click.IntRange(min=0)
    )

    stream: bool = _flag(AUDITS, MANY, "Read rows in batches even if there are few.")
    exact: bool = _flag(AUDITS, MANY, "Keep all distinct probabilities.")
    resume: bool = _flag(AUDITS, MANY, "Keep a checkpoint, from which an interrupted run resumes; implies --stream.")

    format: str | None = _row(FILES, FORMAT, "NAME", f"{', '.join(READ)}.", type=click.Choice(READ))
    delimiter: str | None = _row(FILES, FORMAT, "CHAR", "Delimiter of a CSV: ';', '|' or tab.", type=_delimiter)
    encoding: str | None = _row(FILES, FORMAT, "NAME", "Encoding of a CSV if not UTF-8, such as utf-16.")
    decimal_comma: bool = _flag(FILES, FORMAT, "Numbers in the CSV are written as 0,25.")

    every: bool = _row(
        "demo", OUTPUT, None, "Write a report on each example.", flag="--all", is_flag=True, default=False
    )
    output: Path | None = _row(  # noqa: RUF009, it is immutable
        f"{REPORTS} recalibrate apply demo", OUTPUT, "HTML", "Write the report to this file.", flag="-o", type=PATH
    )
    json_to: str | None = _row(
        "audit samples compare", OUTPUT, "[PATH]", "Write JSON to this file, or to stdout.", flag="--json", **OPTIONAL
    )
    title: str | None = _row(REPORTS, OUTPUT, "TEXT", "Heading of the report.")
    junit: Path | None = _row("check", OUTPUT, "XML", "Write the outcome as JUnit XML.", type=PATH)  # noqa: RUF009
    suffix: str | None = _row("apply", OUTPUT, "TEXT", "End of the names of new columns (default _recalibrated).")
    overwrite_column: bool = _flag("apply", OUTPUT, "Replace columns that have the names of the new ones.")

    command: str = "audit"
    typed: tuple[str, ...] = ()  # the whole command, to be repeated with what it lacks

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.delimiter, self.encoding, self.decimal_comma)

    @property
    def measured(self) -> dict[str, Any]:
        """Level and random numbers, as the library takes them."""
        return {
            "level": CONFIDENCE if self.confidence is None else self.confidence,
            "rng": SEED if self.seed is None else self.seed,
        }

    @property
    def judged(self) -> dict[str, Any]:
        """What the verdict depends on besides the rows, if it was typed, as the library takes it."""
        given = {"tolerance": self.tolerance, "relative": self.relative or None, "alternative": self.alternative}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def given(self) -> list[str]:
        values = ((flag, getattr(self, name)) for name, flag in FLAGS.items())
        return [flag for flag, value in values if value is not None and value is not False and value != ()]

    def value(self, option: str) -> Any:
        """Return the value of an option, as it is typed: ``"--p-cols"``."""
        return getattr(self, option.removeprefix("--").replace("-", "_"))


ROWS_OF_TABLE = {row.name: row.metadata for row in fields(Request) if row.metadata}
FLAGS = {name: row["flag"] or "--" + name.replace("_", "-") for name, row in ROWS_OF_TABLE.items()}


def options(command: str, **changes: dict[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a function the options of a command as one request, some of them with changes."""
    rows = {name: row for name, row in ROWS_OF_TABLE.items() if command in row["commands"]}

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def called(**given: Any) -> None:
            chosen = {name: given.pop(name) for name in rows}
            words = typed(click.get_current_context())
            function(**given, request=Request(**chosen, command=command, typed=words))

        with_options: Callable[..., None] = DEBUG_OPTION(called)
        for name, row in reversed(rows.items()):
            settings = {**row["settings"], **changes.get(name, {})}
            with_options = click.option(FLAGS[name], name, cls=Option, **settings)(with_options)
        return with_options

    return decorated


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[DEBUG] = value or ctx.meta.get(DEBUG, False)


DEBUG_OPTION = click.option(
    "--debug", is_flag=True, is_eager=True, expose_value=False, callback=_set_debug, help="Show a traceback on error."
)
