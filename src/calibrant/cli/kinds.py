"""Which kind of prediction the options name, whether they fit together, and its nominal levels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calibrant.cli.columns import Columns, pairs, split_labels, wild_parts
from calibrant.cli.options import NAMING, Request, outside
from calibrant.cli.output import tell
from calibrant.errors import InputError, listing, shown
from calibrant.files import npz_file
from calibrant.files.table_file import TableFile
from calibrant.files.where import number
from calibrant.inputs.options import DIGITS

# 2.5%, or 0.05 and .05, or 05 and 975 for 0.05 and 0.975, at the end of a name.
LEVEL = re.compile(r".*?(?<![\d.])(?:(?P<percent>\d+(?:\.\d+)?)%|(?P<fraction>0?\.\d+)|(?P<digits>\d{2,}))")
MIN_LEVEL_IN_NAME = 0.5  # of bounds
APPLIES = {
    "--pos-label": (("binary", "classes"), "marks the event of a probability (--p)"),
    "--classes": (("binary", "classes", "sets"), "names the labels of --p-cols or --set-cols"),
    "--level": (("intervals", "sets"), "is the nominal coverage of intervals or sets"),
    "--levels": (("quantiles",), "gives the levels of --quantile-cols"),
    "--crossed": (("intervals", "quantiles"), "is about bounds and quantiles in the wrong order"),
    "--calibration-size": (("intervals", "sets"), "is about split conformal intervals or sets"),
    "--alternative": (("intervals", "sets"), "says which errors of coverage count"),
    "--relative": (("binary",), "makes --tolerance a share of the error there is if no event happens (--p)"),
    "--clusters": (("binary",), "is for probabilities of one event (--p)"),
    "--percent": (("binary", "classes"), "divides probabilities (--p, --p-cols) by 100"),
    "--normalise": (("classes",), "divides class probabilities (--p-cols) by their sums"),
    "--log-density": (("samples",), "is about draws (--draws, --draw-cols)"),
    "--log-density-y": (("samples",), "is about draws (--draws, --draw-cols)"),
}
"""The kinds of prediction that each option applies to, and what it is."""


def kind_named(request: Request) -> str | None:
    """Return the kind of prediction that the options name, if any; refuse options that contradict each other."""
    given = request.given
    named = [kind for kind, options in NAMING.items() if any(option in given for option in options)]
    if not named:
        return None
    if len(named) > 1:
        options = [option for options in NAMING.values() for option in options if option in given]
        if options == ["--p", "--p-cols"]:
            raise InputError("--p names one column and --p-cols several; give one of them")
        raise InputError(f"{' and '.join(options[:2])} name predictions of different kinds; give one kind at a time")
    kind = named[0]
    for option, (kinds, about) in APPLIES.items():
        if option in given and kind not in kinds and not (option == "--clusters" and request.command == "recalibrate"):
            raise InputError(f"{option} {about}; {_instead(option, kind)}")
    if kind == "intervals":
        _check_bounds(given)
    if kind == "samples":
        _check_draws(given)
    wanted = "swap" if kind == "intervals" else "sort"
    if request.crossed not in (None, wanted):
        raise InputError(f"--crossed {request.crossed} is not for {kind}; use --crossed {wanted}")
    return kind


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
                f"{other} names bounds of intervals, and {one} is missing; give both (a column of inf if one-sided)"
            )


def nominal_levels(columns: Columns, request: Request, table: TableFile) -> list[float]:
    """Return the level of each pair of bounds, of the sets, or of each quantile; nothing for other kinds."""
    if columns.kind in ("binary", "classes", "samples"):
        return []
    if columns.kind == "quantiles":
        return _of_quantiles(columns, request, table)
    wanted = len(columns.p) // 2 if columns.kind == "intervals" else 1
    levels = list(request.level) or _of_file(table, wanted) or _of_bounds(columns)
    if not levels:
        named, hint = "--set-cols needs", ""
        if columns.kind == "intervals":
            named, hint = "--lower and --upper need", "; names that end alike, such as lo-80 and hi-80, tell it too"
        raise InputError(
            f"{named} --level, the nominal coverage of the {columns.kind}, such as --level 0.9, never alpha{hint}"
        )
    if len(levels) != wanted and columns.kind == "sets":
        raise InputError(f"there is one set per row; give --level once, not {len(levels)} times")
    if len(levels) != wanted:
        raise InputError(
            f"there must be one --level for each --lower and --upper, in their order; got {len(levels)} for "
            f"{wanted}: {listing(columns.p[:wanted], most=6)}"
        )
    if columns.kind == "intervals" and wanted > 1:
        _check_pairs(columns.p[:wanted], columns.p[wanted:], levels)
    return levels


def _of_bounds(columns: Columns) -> list[float]:
    """Return the levels that names of bounds agree on; numbers below a half may be horizons or steps instead."""
    if columns.kind != "intervals":
        return []
    half = len(columns.p) // 2
    levels, others = _numbers_in(columns.p[:half]), _numbers_in(columns.p[half:])
    if levels != others or not all(MIN_LEVEL_IN_NAME <= level < 1 for level in levels):
        return []
    tell(f"levels are taken from the names of the columns: {pairs(columns.p[:half], levels)}")
    return levels


def _check_pairs(lower: Sequence[str], upper: Sequence[str], levels: Sequence[float]) -> None:
    """Tell the user which bounds and levels belong together; refuse an order that contradicts the names."""
    in_lower, in_upper = _numbers_in(lower), _numbers_in(upper)
    if in_lower != in_upper and sorted(in_lower) == sorted(in_upper):
        raise InputError(
            f"the columns are paired in their order, {pairs(lower, upper)}, and their names say otherwise; "
            "give --lower and --upper in the same order, such as --lower lo80 --upper hi80 --lower lo95 --upper hi95"
        )
    if in_lower == in_upper and in_lower != list(levels) and sorted(in_lower) == sorted(levels):
        raise InputError(
            f"the levels are given in another order than the columns, {pairs(lower, levels)}, as their names say; "
            "give --level in the order of --lower and --upper"
        )
    if in_lower == in_upper == list(levels) or len(set(levels)) < len(levels):  # obvious, or about to be refused
        return
    pairings = (f"{a} to {b} is {level:g}" for a, b, level in zip(lower, upper, levels, strict=True))
    tell(f"intervals: {', '.join(pairings)}")


def _numbers_in(names: Sequence[str]) -> list[float]:
    """Return the last number of each name as a share, 0.8 for lo80, lo_0.8 and lo80%; 0 where there is none."""
    found = (re.findall(r"\d+(?:\.\d+)?", name) for name in names)
    numbers = [float(parts[-1]) if parts else 0.0 for parts in found]
    return [round(value / 100, DIGITS) if value > 1 else value for value in numbers]


def _of_quantiles(columns: Columns, request: Request, table: TableFile) -> list[float]:
    if request.levels is not None:
        levels = typed_levels(request.levels)
        if len(levels) != len(columns.p):
            raise InputError(
                f"--levels must give one level for each of the {len(columns.p)} columns {listing(columns.p, most=6)}; "
                f"got {len(levels)}: {shown(request.levels)}"
            )
        return levels
    if levels := _of_file(table, len(columns.p)):
        return levels
    if found := levels_in(columns.p) or levels_in(wild_parts(columns.p, str(columns.pattern))):
        tell(f"levels are taken from the names of the columns: {pairs(columns.p, found)}")
        return found
    raise InputError(
        f"the names {listing(columns.p, most=6)} do not tell which quantiles these are; add --levels with one level "
        "for each column, in this order, such as --levels 0.05,0.5,0.95"
    )


def _of_file(table: TableFile, wanted: int) -> list[float]:
    name, levels = npz_file.levels(table.path) if table.format == "npz" else ("", [])
    if len(levels) != wanted:
        return []
    for level in levels:
        if not 0 < level < 1:
            raise InputError(f"the array {shown(name)} of {table.path} must contain levels; {outside(level)}")
    tell(f"levels are taken from the array {shown(name)} of {table.path}: {', '.join(f'{v:g}' for v in levels)}")
    return levels


def typed_levels(text: str) -> list[float]:
    """Return the levels of ``0.05,0.5,0.95``.

    >>> typed_levels("0.05, 0.5,0.95")
    [0.05, 0.5, 0.95]
    """
    levels = []
    for part in split_labels(text):
        level = number(part.strip())
        if level is None:
            raise InputError(f"{shown(part)} (--levels) is not a number; write them like --levels 0.05,0.5,0.95")
        if not 0 < level < 1:
            raise InputError(f"{outside(level)} (--levels)")
        levels.append(float(level))
    return levels


def levels_in(names: Sequence[str]) -> list[float] | None:
    """Return the levels that names end with, None where they could mean something else.

    ``q0.05`` and ``q5%`` say it. ``q05`` is believed only next to ``q95``, because ``m05`` may be the fifth of twenty
    members, and ``q5`` never, because it may be 0.5.

    >>> levels_in(["q05", "q50", "q95"]), levels_in(["m01", "m02", "m03"]), levels_in(["q5", "q95"])
    ([0.05, 0.5, 0.95], None, None)
    """
    levels = [level for name in names if (level := level_in(name)) is not None]
    if len(levels) < len(names) or len(set(levels)) < len(levels):
        return None
    in_digits = any((match := LEVEL.fullmatch(name)) and match["digits"] for name in names)
    mirrored = {round(1 - level, DIGITS) for level in levels}
    return None if in_digits and mirrored != {round(level, DIGITS) for level in levels} else levels


def level_in(name: str) -> float | None:
    """Return the level that a name could end with, None if it does not.

    >>> level_in("q0.05"), level_in("97.5%"), level_in("lower90"), level_in("q5")
    (0.05, 0.975, 0.9, None)
    """
    match = LEVEL.fullmatch(name)
    if match is None:
        return None
    if match["percent"]:
        level = round(float(match["percent"]) / 100, DIGITS)
    else:
        level = float(match["fraction"] or f"0.{match['digits']}")
    return level if 0 < level < 1 else None
