"""All commands. Each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from calibrant.cli.group import FAILED, Commands
from calibrant.cli.options import DEBUG_OPTION, PATH, Request, options
from calibrant.files.table_file import FORMATS
from calibrant.version import __version__


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
    calibrant demo
    calibrant audit predictions.parquet --y label --p score -o report.html
    """,
)
@click.version_option(__version__, "-V", "--version", prog_name="calibrant")
@DEBUG_OPTION
def commands() -> None:
    """Tell whether probabilistic predictions can be trusted."""


@commands.command(
    epilog="""
    calibrant audit predictions.parquet
    calibrant audit predictions.parquet --y label --p score
    calibrant audit people.csv --y left --pos-label yes --p score -o report.html
    calibrant audit digits.npz --y y --p-cols 'P_*' --json digits.json
    calibrant audit houses.csv --y price --lower lo --upper hi --level 0.9
    calibrant audit pets.csv --y pet --set-cols cat,dog,bird --level 0.9
    calibrant audit shop.csv --y sold --quantile-cols 'q*' --levels 0.1,0.5,0.9
    calibrant audit weather.parquet --y rain --draws members --by lead
    calibrant audit posterior.npz --y theta --draws draws -o report.html
    calibrant audit 'scores/*.parquet' --y label --p score --resume -o report.html
    """
)
@click.argument("files", metavar="FILE...", type=PATH, nargs=-1)
@options("audit")
def audit(files: tuple[Path, ...], request: Request) -> None:
    """Say whether the predictions in FILE can be trusted.

    FILE is Parquet, CSV, Arrow (Feather), NDJSON or NPZ, or with --format a log of lm-evaluation-harness (lm-eval) or
    Inspect (inspect). Columns that are not named are taken where only one of each could be meant, or only one has a
    name such as label or score, and otherwise listed. COLUMNS are a pattern such as 'p_*', or names separated by
    commas. Without -o and --json, the results are printed. Rows without a value of --p are counted and not judged.

    FILE may also be a folder, or a pattern in quotes such as 'scores/*.parquet': all its files are one set of rows.
    A folder named date=2024-01-31 gives its rows a column date. With more than 20 million rows, probabilities are read
    in batches and counted in narrow cells, so memory does not grow; --exact keeps all distinct probabilities. With
    --resume the state is kept in a file beside the report, or in calibrant.checkpoint, and the same command resumes
    from it.

    For intervals at several levels repeat --lower, --upper and --level. They are matched in the order in which they are
    given.

    Draws are lists of numbers (--draws), in an NPZ file an array of shape (n, M), or have a column each (--draw-cols).
    For vectors name a column for each coordinate, --y a,b --draws draws_of_a,draws_of_b, or arrays of shapes (n, D) and
    (n, M, D).
    """
    from calibrant.cli.audit import run

    if not files:
        raise click.UsageError("Missing argument 'FILE'.")
    run(files, request)


@commands.command(
    epilog="""
    calibrant samples real.parquet generated.parquet
    calibrant samples real.csv generated.csv --columns 'x_*' -o report.html
    calibrant samples real.npy first.npy second.npy --json results.json
    calibrant samples test.npz run.npz --array features
    calibrant samples first.npy second.npy --no-real
    calibrant samples real.npy generated.npy --fail-if different
    """
)
@click.argument("files", metavar="REAL FAKE [FAKE]...", type=PATH, nargs=-1)
@options("samples", format={"type": click.Choice((*FORMATS, "npy")), "help": f"{', '.join(FORMATS)}, npy."})
def samples(files: tuple[Path, ...], request: Request) -> None:
    """Say how generated points differ from real ones.

    REAL contains real points, each FAKE generated points. Files are Parquet, CSV, Arrow (Feather), NDJSON, NPZ or
    NPY. A row is a point. Every column of a table is a coordinate, or those that --columns names: COLUMNS are a pattern
    such as 'x_*', names separated by commas, or a column of lists. Columns are matched by name. In an NPZ file the only
    array (n, d) is taken, or the one that --array names.

    The real points must not be those that the model was fitted to. With --no-real no file contains real points, and
    only the diversity of each file is measured. Without -o and --json, the results are printed.

    With --fail-if the exit status is 1 if a condition holds: the verdict different, or a measurement as in calibrant
    check.
    """
    from calibrant.cli.points import run

    if not files:
        raise click.UsageError(f"Missing argument '{'FAKE' if request.no_real else 'REAL'}'.")
    if not run(files, request):
        raise click.exceptions.Exit(FAILED)


@commands.command(
    epilog="""
    calibrant check a.csv --y y --p p --tolerance 0.02 --fail-if miscalibrated
    calibrant check report.html --fail-if 'verdict != within'
    calibrant check report.html --fail-if 'ece.excess > 0.02'
    calibrant check report.html --fail-if 'worst_group.pvalue < 0.01'
    calibrant check report.html --fail-if 'coverage.0.9.high < 0.9'
    calibrant check report.html --fail-if 'density_coverage.coverage < 0.9'
    """
)
@click.argument("file", type=PATH)
@options("check")
def check(file: Path, request: Request) -> None:
    """Fail if a condition on the predictions in FILE holds.

    FILE contains predictions, as for audit, or is a report or JSON that audit, samples or compare wrote.

    A condition may be a verdict, miscalibrated, within or 'cannot tell' (different for sets of points), or its
    opposite, 'verdict != within'. With --tolerance, miscalibrated means that a larger error was shown, and within that
    a larger one was excluded; 'cannot tell' passes a check for miscalibrated.

    It may also be a path into the JSON, one of > >= < <= = != and a number. NAME is the measurement, NAME.pvalue its
    p-value, NAME.expected the value of calibrated predictions, NAME.excess the excess over it, NAME.low and NAME.high
    are its confidence limits, NAME.LEVEL is the measurement at one of several levels. A group is
    groups.plan.student.low, the largest of all is max(groups.plan.low). worst_group.estimate and worst_group.pvalue are
    those of the group with the smallest p-value; worst_group.low is the largest lower limit of an error, or the lower
    limit of coverage in that group. missing.share is the share of rows without a value in the column of --p.

    The exit status is 0 if no condition holds, 1 if one does, and 2 if something cannot be read. On GitHub the outcome
    is added to the summary of the step.
    """
    from calibrant.cli.check import run

    if not run(file, request):
        raise click.exceptions.Exit(FAILED)


@commands.command(
    epilog="""
    calibrant compare predictions.parquet --y label --p old --p new
    calibrant compare scores.csv --y label --p old --p new -o report.html
    calibrant compare days.csv --y rain --p a --p b --metric log_score --time day
    calibrant compare old.html new.html
    """
)
@click.argument("files", metavar="FILE | A B", nargs=-1, required=True, type=PATH)
@options("compare")
def compare(files: tuple[Path, ...], request: Request) -> None:
    """Compare predictions of the same rows, or two results.

    With --p two or more columns of FILE are compared row by row: which has the lower score or calibration error, with
    confidence limits of the difference. -o writes a report with their reliability curves. Without --p, A and B are
    reports or JSON files that audit or samples wrote, and their measurements are shown side by side.
    """
    from calibrant.cli.compare import run

    run(files, request)


@commands.command(
    epilog="""
    calibrant recalibrate calib.parquet --y label --p score -o map.json
    calibrant recalibrate calib.csv --y label --p score --method beta
    calibrant recalibrate digits.npz --y y --p-cols 'P_*' -o map.json
    calibrant recalibrate a.csv --y y --lower lo --upper hi --level 0.9 --by region -o map.json
    calibrant recalibrate weather.parquet --y rain --draws members -o map.json
    """
)
@click.argument("files", metavar="FILE...", type=PATH, nargs=-1, required=True)
@options("recalibrate", output={"metavar": "JSON", "help": "Write the map to this file."})
def recalibrate(files: tuple[Path, ...], request: Request) -> None:
    """Fit a map that recalibrates the predictions in FILE.

    FILE contains predictions with their outcomes, as for audit: rows that the model was not trained on. The map is
    printed, with what it gains on rows that it was not fitted on, and -o writes it for calibrant apply.

    Without --method the simplest map is taken that helps by more than its standard error, or none. Methods are
    temperature, logistic, beta, quadratic, isotonic, centred-isotonic and venn-abers for --p; temperature, vector,
    matrix, dirichlet and one-vs-rest for --p-cols; shift, shift-each-end and scale for intervals; relevel for sets;
    shift and pit for quantiles; location-scale and pit for draws. --by gives each group of intervals a map of its own,
    and each group of --p a logistic or beta map that is shrunk to the common one.

    Rows of one cluster (--clusters) are never used to judge a map that was fitted on other rows of it, and with --time
    no map is judged by rows before those it was fitted on.
    """
    from calibrant.cli.recalibrate import run

    run(files, request)


@commands.command(
    epilog="""
    calibrant apply map.json new.parquet -o recalibrated.parquet
    calibrant apply map.json new.csv --p risk -o recalibrated.csv
    calibrant apply map.json new.parquet --suffix '' --overwrite-column -o out.parquet
    """
)
@click.argument("map_path", metavar="MAP", type=PATH)
@click.argument("file", type=PATH)
@options(
    "apply",
    format={"type": click.Choice(FORMATS), "help": f"{', '.join(FORMATS)}."},
    output={"metavar": "OUT", "help": "File to write: Parquet, CSV, Arrow or NDJSON."},
)
def apply(map_path: Path, file: Path, request: Request) -> None:
    """Write a copy of FILE with predictions recalibrated by MAP.

    MAP is a file that recalibrate wrote. Its columns are looked for in FILE, or those that the options name. All
    columns of FILE are copied as they are, and the recalibrated predictions are added, score_recalibrated for score.

    FILE is Parquet, CSV, Arrow (Feather) or NDJSON, of any size: it is read and written in batches. The ending of OUT
    is its format. OUT appears once it is complete, and FILE is never changed.
    """
    from calibrant.cli.apply import run

    run(map_path, file, request)


@commands.command(
    epilog="""
    calibrant demo
    calibrant demo house_prices -o report.html
    calibrant demo --all
    """
)
@click.argument(
    "kind",
    metavar="[KIND]",
    type=click.Choice(["churn", "digits", "house_prices", "demand", "posterior", "ensemble", "generated"]),
    required=False,
)
@options("demo", output={"metavar": "PLACE", "help": "A folder, or a file that ends in .html."})
def demo(kind: str | None, request: Request) -> None:
    """Write a report on example predictions.

    KIND is churn (will a customer leave? one probability per row), digits (which digit is it? ten probabilities per
    row), house_prices (what is it sold for? intervals at two levels), demand (how many are sold? five quantiles),
    posterior (what drove the epidemic? draws of three parameters), ensemble (how will the weather be? 50 members) or
    generated (does a mixture make such digits? two sets of points).
    Without it the report is on churn; with --all there is one on each, calibrant-demo-churn.html and so on.
    """
    from calibrant.cli.demo import run

    run(kind, every=request.every, output=request.output)
