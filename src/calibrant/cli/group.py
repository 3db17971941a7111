"""How a command ends: every problem becomes one sentence on stderr and exit status 2."""

from __future__ import annotations

import shlex
import sys
import traceback
from functools import partial
from typing import IO, Any

import click

from calibrant.cli.output import tell
from calibrant.errors import CalibrantError, as_keyword, shown

MAX_VALUE_LENGTH = 60  # characters; longer values are cut
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
DEBUG, TYPED = "calibrant.debug", "calibrant.typed"  # what the context of a command remembers
INSTEAD_OF_TWICE = {
    "--p": "for several columns of probabilities use --p-cols",
    "--y": "for outcomes that are vectors write --y a,b",
    "--columns": "for several write --columns a,b",
    "--draws": "for vectors write --draws a,b, one for each column of --y",
}


OTHER_WORDS = {
    "--y": ("y-true", "true", "target", "label", "labels", "outcome", "actual"),
    "--p": ("y-pred", "y-prob", "y-score", "prob", "probs", "probability", "score", "prediction", "pred"),
    "--p-cols": ("probabilities", "proba", "predict-proba"),
    "--weights": ("sample-weight", "sample-weights", "weight", "w"),
    "--by": ("groups", "group", "group-by", "groupby", "segment"),
    "--clusters": ("cluster", "id", "ids", "cluster-by"),
    "--level": ("alpha", "coverage", "nominal"),
    "--confidence": ("alpha", "level", "confidence-level", "ci"),
    "--levels": ("quantiles", "quantile-levels"),
    "--tolerance": ("tol", "tau", "threshold", "margin"),
    "--normalise": ("normalize", "renormalise", "renormalize"),
    "--seed": ("random-state", "rng"),
    "--where": ("filter", "query"),
    "--percent": ("percentages", "percents"),
    "--json": ("to-json",),
    "-o": ("output", "out", "html", "to-html", "report", "file"),
}
"""What other tools call an option, without the dashes and with dashes for underscores."""

NO_OPTION = {
    ("bins", "n-bins"): "bins are chosen by calibrant; in Python ece and reliability_curve take bins=",
    ("resamples",): "in Python audit takes resamples=",
    ("by",): "this command has no groups; choose the rows of one group with --where",
}
"""What to do instead of an option that no command has, or not this one."""


class Option(click.Option):
    """An option with the section of the help that lists it."""

    def __init__(self, *args: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class WithExamples(click.Command):
    """A command whose epilog is lines of examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are: a command broken at a blank could not be copied."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line.strip()}\n" for line in self.epilog.strip().splitlines()))


class Command(WithExamples):
    """A command that refuses an option given twice; click would take the last one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        *_, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in order:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and order.count(option) > 1:
                name = max(option.opts, key=len)
                raise click.UsageError(f"{name} is given twice; {INSTEAD_OF_TWICE.get(name, 'give it once')}", ctx)
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for title, records in sections.items():  # in the order in which options are declared
            with formatter.section(title):
                formatter.write_dl(records)


class Commands(WithExamples, click.Group):
    """The group of commands; every failure ends in one sentence."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as problem:
            raise Refusal(_sentence(problem, "calibrant")) from problem

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
            raise
        except BaseException as problem:
            if isinstance(problem, (SystemExit, GeneratorExit)):
                raise
            if _interrupted(problem):
                if sys.stderr.isatty():
                    click.echo(err=True)  # leave the line on which the terminal wrote ^C
                raise click.exceptions.Exit(INTERRUPTED) from None
            if ctx.meta.get(DEBUG):
                traceback.print_exc()
            command = " ".join(filter(None, ("calibrant", ctx.invoked_subcommand)))
            asked = self.commands.get(ctx.invoked_subcommand or "")
            raise Refusal(_sentence(problem, command, asked)) from problem


def _interrupted(problem: BaseException) -> bool:
    """Tell whether a user pressed Ctrl-C; polars panics if that happens while it calls Python."""
    panic = type(problem).__name__ == "PanicException"
    return isinstance(problem, KeyboardInterrupt) or (panic and "KeyboardInterrupt" in str(problem))


class Refusal(click.ClickException):
    """An error that is shown as one sentence."""

    exit_code = BAD_INPUT

    def show(self, file: IO[Any] | None = None) -> None:
        tell(self.message)


def typed(ctx: click.Context) -> tuple[str, ...]:
    return (*ctx.command_path.split(), *ctx.meta[TYPED])


def in_option_words(problem: CalibrantError) -> str:
    """Return the message of an error with options as they are typed for the command that is running."""
    context = click.get_current_context(silent=True)
    return problem.in_words(partial(_spelled, context.command if context else None))


def _spelled(command: click.Command | None, name: str, value: Any) -> str:
    """Return an option as it is typed, if the command has it: all but ``--by`` are words of the library."""
    option = "--by" if name == "groups" else "--" + name.replace("_", "-")
    if command is None or not any(option in parameter.opts for parameter in command.params):
        return as_keyword(name, value)
    if value is None or value is True:
        return option
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{option} {shlex.quote(text) if len(text) <= MAX_VALUE_LENGTH else shown(text)}"


def _advice(problem: click.NoSuchOption, asked: click.Command | None) -> str:
    """Say what an option of other tools is called here, or what to do instead; nothing if neither is known."""
    typed = problem.option_name.lstrip("-").replace("_", "-").casefold()
    known = {name for parameter in (asked.params if asked else ()) for name in parameter.opts}
    meant = next((name for name, words in OTHER_WORDS.items() if typed in words and name in known), "")
    if typed == "alpha" and meant:
        meant += f", and is {'the nominal coverage, ' if meant == '--level' else ''}1 - alpha,"
    if meant or f"--{typed}" in known:
        return f"it is called {meant or f'--{typed}'} here"
    return next((advice for words, advice in NO_OPTION.items() if typed in words), "")


def _sentence(problem: BaseException, command: str, asked: click.Command | None = None) -> str:
    if isinstance(problem, click.NoSuchOption) and (advice := _advice(problem, asked)):
        return f"there is no option {problem.option_name}; {advice}. See {command} --help"
    if isinstance(problem, click.UsageError):
        text = problem.format_message().rstrip(".")
        return f"{text[:1].lower()}{text[1:]}{'' if text.endswith(('?', '?)')) else '.'} See {command} --help"
    if isinstance(problem, click.ClickException):
        return problem.format_message()
    if isinstance(problem, CalibrantError):
        return problem.in_words(partial(_spelled, asked))
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this; take fewer rows with --where, or a larger machine"
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename else ""
        remedy = "; check the permissions of it and its folder" if isinstance(problem, PermissionError) else ""
        return f"{where}{problem.strerror or problem}{remedy}"
    first_line = next(iter(str(problem).splitlines()), "")
    return (
        f"something went wrong inside calibrant ({type(problem).__name__}: {first_line}); "
        "this is a bug in calibrant: please report it, with the output of the same command with --debug"
    )
