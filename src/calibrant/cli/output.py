"""What a command says and writes: results on stdout or in files, everything else on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from calibrant.errors import CalibrantError, InputError, printable
from calibrant.files.table_file import check_file, format_of

if TYPE_CHECKING:
    from calibrant.cli.options import Request
    from calibrant.report.audit import Audit, Reported

STDOUT = "-"
ENDINGS = (".html", ".htm", ".json")  # of results that were made before
COLOURS = {"bad": "red", "good": "green", "unsure": "yellow"}
BROKEN_PIPE = 141  # what a shell reports when the reader of a pipe has gone


def emit(text: str, headline: Headline | None = None) -> None:
    """Write a result to stdout; on a terminal its headline is in colour."""
    try:
        click.echo(_painted(printable(text), headline))
    except BrokenPipeError:
        _forget_stdout()
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except OSError as problem:
        _forget_stdout()
        raise CalibrantError(
            f"the results could not be written to standard output: {problem.strerror}. Send them elsewhere"
        ) from problem


class Headline(NamedTuple):
    """The tone of a verdict, and how many lines its headline takes."""

    tone: str
    lines: int

    @classmethod
    def of(cls, found: Audit) -> Headline:
        from calibrant.report.page import tone_of
        from calibrant.report.text import headline_lines

        tone, _ = tone_of(found.findings.kind, found.verdict)
        return cls(tone, len(headline_lines(found.findings, terminal_width())))


def _painted(text: str, headline: Headline | None) -> str:
    """Return a text whose first lines are in colour, if the reader can see and wants that (https://no-color.org)."""
    if headline is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    lines = text.split("\n")
    head = [click.style(line, fg=COLOURS[headline.tone], bold=True) for line in lines[: headline.lines]]
    return "\n".join([*head, *lines[headline.lines :]])


def terminal_width() -> int:
    """Return how many characters a line of stdout has; 88 if it is not a terminal."""
    from calibrant.report.text import WIDTH

    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def _forget_stdout() -> None:
    """Let the flush at exit succeed, so that Python does not complain a second time."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    remark = f"calibrant: {printable(text)}"
    if sys.stderr.isatty():
        remark = "\n".join(_wrapped(line, shutil.get_terminal_size().columns) for line in remark.split("\n"))
    with suppress(OSError):  # nobody reads it any more
        click.echo(remark, err=True)


def _wrapped(line: str, width: int) -> str:
    """Break a line between words; a command stays whole, so that it can be copied."""
    if line.startswith("  calibrant "):
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@contextmanager
def doing(what: str) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(f"\r\x1b[K{printable(what)} ...")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def check_output(path: Path, *, endings: tuple[str, ...], option: str, source: Path | None = None) -> None:
    if not path.name.lower().endswith(endings) or path.name.lower() in endings:
        raise InputError(f"the file of {option} must end in {' or '.join(endings)}; got {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it, such as {path / ('report' + endings[0])}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} to; make it first")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise InputError(f"{option} would overwrite {source}, which is an input file; choose another name")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"you do not have permission to write to {path.parent}; choose another folder for {option}")


def check_places(request: Request, sources: Sequence[Path]) -> None:
    for source in sources:
        if request.output is not None:
            check_output(request.output, endings=(".html", ".htm"), option="-o", source=source)
        if request.json_to not in (None, STDOUT):
            check_output(Path(str(request.json_to)), endings=(".json",), option="--json", source=source)


def deliver(found: Audit, request: Request) -> None:
    """Print what was found, or write the report and the JSON and print the verdict."""
    from calibrant.report.text import as_text

    output, json_to = request.output, request.json_to
    if output is None and json_to is None:
        emit(as_text(found.findings, terminal_width()), Headline.of(found))
        return
    # When JSON goes to stdout nothing else may, or no program could read it.
    say = tell if json_to == STDOUT else partial(emit, headline=Headline.of(found))
    written = []
    if output is not None:
        with doing(f"drawing {output}"):
            written.append(f"report: {found.to_html(output)}")
    if json_to == STDOUT:
        emit(json.dumps(found.findings.to_dict(), indent=1))
    elif json_to is not None:
        written.append(f"JSON: {found.to_json(json_to)}")
    if written:
        say("\n".join((verdict_text(found), *written)))


def verdict_text(found: Audit) -> str:
    from calibrant.report.text import verdict_lines

    return "\n".join(verdict_lines(found.findings, terminal_width()))


def signed(found: Reported, title: str | None = None) -> Audit:
    """Return the audit with the date on which it was made, and with the title of its report.

    The date is that of SOURCE_DATE_EPOCH if it is set, so that a report can be made again to the letter
    (https://reproducible-builds.org/specs/source-date-epoch).
    """
    from calibrant.report.audit import Audit
    from calibrant.report.page import TITLE

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    heading = {} if title is None else {TITLE: printable(title, one_line=True)}
    names = {**heading, **found.findings.names, "made": f"{moment:%Y-%m-%d}"}
    return Audit(replace(found.findings, names=names))


def holds_results(path: Path) -> bool:
    """Tell by its name whether a file is a report or a JSON file."""
    return path.suffix.lower() in ENDINGS


def refuse_results(path: Path, format: str | None, expected: str) -> None:
    if holds_results(path) and format is None:
        raise InputError(
            f"{path} seems to contain results, not {expected}; use calibrant check or calibrant compare. "
            "If it contains one JSON object per row, add --format ndjson; to a log of Inspect --format inspect"
        )


def read_results(path: Path) -> dict[str, Any]:
    check_file(path)
    if format_of(path):
        raise InputError(
            f"{path} contains predictions, not results; measure them first: calibrant audit {path} --json results.json"
        )
    from calibrant.report.files import read

    results = read(path)
    if not _is_sound(results):
        raise InputError(f"{path} is not a result that this calibrant can read; make it again with calibrant audit")
    return results


def measurements(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [measurement for section in results["sections"] for measurement in section["measurements"]]


def _is_sound(results: Any) -> bool:
    try:
        found, claims = measurements(results), results["verdict"].get("claims") or ()
        texts = [results["verdict"]["headline"]]
        texts += [text for claim in claims for text in (claim["subject"]["kind"], claim["quantity"])]
        texts += [m[key] for m in found for key in ("name", "label")]
        numbers = [claim[key] for claim in claims for key in ("low", "high")]
        for m in found:
            numbers += [m["value"], m["expected"], m["pvalue"], *(m["interval"] or ()), *m["details"].values()]
        for number in numbers:
            float(0 if number is None else number)  # infinities are texts
        groups = results["groups"]["columns"] if results.get("groups") else {"group": ()}
        is_table = "group" in groups and len(set(map(len, groups.values()))) == 1
        are_texts = all(isinstance(text, str) for text in texts)
        return is_table and are_texts and isinstance(results["n"], int) and isinstance(results["level"], float)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
