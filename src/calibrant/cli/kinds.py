"""Which kind of prediction the options name, and whether they fit together."""

from __future__ import annotations

from calibrant.cli.options import Request
from calibrant.errors import InputError

NAMING = {
    "binary": ("--p",),
    "classes": ("--p-cols",),
    "intervals": ("--lower", "--upper"),
    "sets": ("--set-cols",),
    "quantiles": ("--quantile-cols",),
    "samples": ("--draws", "--draw-cols"),
}
"""The options that name the columns of each kind."""

BELONGS = {
    "--pos-label": ("binary", "classes"),
    "--classes": ("binary", "classes", "sets"),
    "--level": ("intervals", "sets"),
    "--levels": ("quantiles",),
    "--crossed": ("intervals", "quantiles"),
    "--calibration-size": ("intervals", "sets"),
    "--covariates": ("samples",),
    "--log-density": ("samples",),
    "--log-density-y": ("samples",),
}
"""The kinds that each option says something about."""

ABOUT = {
    "--pos-label": "marks the event of a probability (--p)",
    "--classes": "names the labels of --p-cols or --set-cols",
    "--level": "is the nominal coverage of intervals or sets",
    "--levels": "gives the levels of --quantile-cols",
    "--crossed": "is about bounds and quantiles in the wrong order",
    "--calibration-size": "is about split conformal intervals or sets",
    "--covariates": "is what draws (--draws, --draw-cols) are judged by",
    "--log-density": "is about draws (--draws, --draw-cols)",
    "--log-density-y": "is about draws (--draws, --draw-cols)",
}


def kind_named(request: Request) -> str | None:
    """Return the kind of prediction whose columns are named, None if there are none; refuse what contradicts itself."""
    given = request.given
    named = [kind for kind, options in NAMING.items() if any(option in given for option in options)]
    if not named:
        return None
    if len(named) > 1:
        raise InputError(_two_kinds(given))
    kind = named[0]
    for option, kinds in BELONGS.items():
        if option in given and kind not in kinds:
            raise InputError(f"{option} {ABOUT[option]}; {_instead(option, kind)}")
    if kind == "intervals":
        _check_bounds(given)
    if kind == "samples":
        _check_draws(given)
    if kind in ("intervals", "quantiles") and request.crossed is not None:
        wanted = "swap" if kind == "intervals" else "sort"
        if request.crossed != wanted:
            raise InputError(f"--crossed {request.crossed} is not for {kind}; use --crossed {wanted}")
    return kind


def _two_kinds(given: list[str]) -> str:
    options = [option for options in NAMING.values() for option in options if option in given]
    if options == ["--p", "--p-cols"]:
        return "--p names one column and --p-cols several; give one of them"
    return f"{' and '.join(options[:2])} name predictions of different kinds; give one kind at a time"


def _instead(option: str, kind: str) -> str:
    if option == "--level" and kind == "quantiles":
        return "give the levels of quantiles with --levels, such as --levels 0.05,0.5,0.95"
    if option == "--level":
        return "for the level of tests and bands use --confidence"
    if option == "--levels" and kind in ("intervals", "sets"):
        return "give the nominal coverage with --level, such as --level 0.9"
    return "leave it out"


def _check_draws(given: list[str]) -> None:
    if "--draws" in given and "--draw-cols" in given:
        raise InputError("--draws names lists of draws and --draw-cols a column for each draw; give one of them")
    if ("--log-density" in given) != ("--log-density-y" in given):
        raise InputError(
            "--log-density, of the draws, and --log-density-y, of the outcome, are compared with each other; give both"
        )


def _check_bounds(given: list[str]) -> None:
    for one, other in (("--lower", "--upper"), ("--upper", "--lower")):
        if one not in given:
            raise InputError(
                f"{other} names bounds of intervals, and {one} is missing; give both. "
                "An interval without one has the bound -inf or inf, in a column of its own"
            )
