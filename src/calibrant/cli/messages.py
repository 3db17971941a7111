"""What the command line says: results on stdout, everything else on stderr, nothing a terminal would obey."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from calibrant.errors import CalibrantError

# Control characters except the line feed, marks that turn the writing direction, and halves of broken characters.
UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
BROKEN_PIPE = 141  # what a shell reports of a program whose reader went away


def printable(text: object) -> str:
    """Return `text` with whatever could steer a terminal spelled out."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), str(text))


def emit(text: str) -> None:
    """Write a result to stdout."""
    try:
        click.echo(printable(text))
    except BrokenPipeError:
        _forget_stdout()
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except OSError as problem:
        _forget_stdout()
        raise CalibrantError(
            f"the results could not be written to standard output: {problem.strerror}. Send them elsewhere"
        ) from problem


def _forget_stdout() -> None:
    """Let the flush at exit succeed, so that Python does not complain a second time."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write one remark to stderr."""
    remark = f"calibrant: {printable(text)}"
    if sys.stderr.isatty():
        remark = "\n".join(_wrapped(line, shutil.get_terminal_size().columns) for line in remark.split("\n"))
    with suppress(OSError):  # nobody is left to hear it
        click.echo(remark, err=True)


def _wrapped(line: str, width: int) -> str:
    """Break a line between words; a command stays whole, so that it can be copied."""
    if line.startswith("  calibrant "):
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Show what is being done while it is done, when a person watches."""
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
