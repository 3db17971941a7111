"""The picture of groups of rows, which all subjects share: an estimate with limits for each, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.findings import Figure, Table
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import dots, dress, legend_inside, plain, shortened
from calibrant.core.results import Curve
from calibrant.core.words import confidence_words, short_limits
from calibrant.inputs.arrays import FloatArray

MAX_GROUPS_DRAWN = 30
MAX_NAME_LETTERS = 20
SMALLEST_TEXT = 6.5  # points, of the names of many groups
ROOM = 0.06  # beside the limits, as a share of their range
DETECTABLE = "detectable beyond"


def groups_figure(table: Table, *, level: float, nominal: float | None = None) -> Figure:
    """Return the picture of a table of groups: errors, or coverage of intervals, sets or quantiles.

    The table has one row per group (and level), the worst first. The first column names the groups; others are ``n``
    and either ``rms_error``, ``limits`` and ``minimum_detectable``, or ``coverage``, ``interval`` and perhaps
    ``nominal``, for which `nominal` stands in. `level` is the confidence level of the limits.
    """
    found = _error(table) if "rms_error" in table.columns else _coverage(table, nominal)
    columns, details, reading = found
    total = len(columns["name"])
    columns["named"] = np.zeros(total, dtype=bool)
    curve = Curve(
        "groups",
        {"place": np.arange(total)[:MAX_GROUPS_DRAWN]}
        | {name: column[:MAX_GROUPS_DRAWN] for name, column in columns.items()},
        "limits of each group",
        int(sum(table.columns["n"])),
        {**details, "joint": True, "level": level, "groups": total, "column": _common_column(columns["name"].tolist())},
    )
    shown = f" The {MAX_GROUPS_DRAWN} worst of {total:,} groups are shown." if total > MAX_GROUPS_DRAWN else ""
    return Figure(table.name, table.title, f"{reading.format(level=confidence_words(level))}{shown}", curve)


def with_names(figure: Figure, tones: Sequence[str]) -> Figure:
    """Return a picture of groups that marks those which the verdict names; `tones` are those of the table's lines."""
    columns = figure.curve.columns
    named = np.array([tones[line] == "bad" for line in columns["line"].tolist()], dtype=bool)
    return replace(figure, curve=replace(figure.curve, columns={**columns, "named": named}))


def _error(table: Table) -> tuple[dict[str, Any], dict[str, Any], str]:
    low, high = (_percent([pair and pair[side] for pair in table.columns["limits"]]) for side in (0, 1))
    rms = table.columns["rms_error"]
    others = table.columns.get("cutoff_error", rms)  # of groups that have no limits of the first
    columns = {
        "name": np.array(next(iter(table.columns.values())), dtype=str),
        "estimate": _percent([cutoff if rms is None else rms for rms, cutoff in zip(rms, others, strict=True)]),
        "low": low,
        "high": high,
        "reference": np.zeros(table.length),
        "detectable": _percent(table.columns["minimum_detectable"]),
    }
    reading = (
        "Each mark is the error of a group in percentage points, the root mean square over ranges of similar scores; a "
        "cross is a group that the verdict names. The lines are {level} limits that cover in all groups together. One "
        "that begins at its cross has no lower limit: tests find an error, but not how small it may be. Beyond the "
        "grey bar a constant error is found at least 4 times in 5."
    )
    columns["line"] = np.arange(table.length)
    return columns, {"axis": "root mean square error, percentage points", "calibrated": "calibrated"}, reading


def _coverage(table: Table, nominal: float | None) -> tuple[dict[str, Any], dict[str, Any], str]:
    levels = table.columns.get("nominal", (nominal,) * table.length)
    shown = [k for k in range(table.length) if levels[k] == levels[0]]  # the level of the worst line
    names, coverage, intervals = (
        [table.columns[name][k] for k in shown] for name in (next(iter(table.columns)), "coverage", "interval")
    )
    low, high = (_percent([pair[side] for pair in intervals]) for side in (0, 1))
    columns = {
        "name": np.array(names, dtype=str),
        "estimate": _percent(coverage),
        "low": low,
        "high": high,
        "reference": np.full(len(shown), np.nan if levels[0] is None else 100 * levels[0]),
        "detectable": np.full(len(shown), np.nan),
        "line": np.array(shown),
    }
    reading = (
        "Each mark is the share of outcomes of a group that were covered, or that lie below a quantile; a cross is a "
        "group that the verdict names. The lines are {level} limits that cover in all groups together; the dashed line "
        "is the nominal level."
    )
    return columns, {"axis": "observed share, %", "calibrated": "nominal"}, reading


def _percent(values: Any) -> FloatArray:
    """Return shares in percent; None becomes NaN."""
    return 100 * np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _common_column(names: list[str]) -> str:
    """Return the column that all groups are labels of, "" if they belong to several.

    >>> _common_column(["plan = basic", "plan = pro"]), _common_column(["plan = basic", "region = north"])
    ('plan', '')
    """
    columns = {name.partition(" = ")[0] for name in names}
    crossed = any(", " in name and name.count(" = ") > 1 for name in names)
    return columns.pop() if len(columns) == 1 and not crossed and all(" = " in name for name in names) else ""


def draw_groups(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Draw a dot with limits per group, the first at the top, and a bar of the errors that would not be found."""
    place, estimate, low, high, reference, detectable = (
        np.asarray(columns[name], np.float64)
        for name in ("place", "estimate", "low", "high", "reference", "detectable")
    )
    known = ~np.isnan(detectable)
    reach = [0.0, np.nanmin(detectable)] if known.any() else [0.0]  # the bars of small groups may be much longer
    values = np.concatenate([estimate, low, high, reference[0] + np.array(reach)])
    least, most = (float(end(values[np.isfinite(values)])) for end in (np.min, np.max))
    room = ROOM * (most - least) or 1.0
    if known.any():
        ax.barh(
            place[known],
            detectable[known],
            left=reference[known],
            height=0.6,
            color=(palette.BAND, 0.35),
            label=DETECTABLE,
        )
    if not np.isnan(reference).all():
        ax.axvline(
            reference[0], color=palette.REFERENCE, linewidth=1.2, linestyle="--", label=plain(details["calibrated"])
        )
    named = np.asarray(columns["named"], dtype=bool)
    begins = np.where(named & (low <= reference) & (estimate > reference), estimate, low)  # 0 is excluded by the tests
    limits = f"{100 * details['level']:g} % limits{', joint' if details['joint'] else ''}"
    for chosen, colour, marker, label in (
        (~named, palette.OBSERVED, "o", limits),
        (named, palette.SECOND, "X", "named by the verdict"),
    ):
        if chosen.any():
            style = {"fmt": marker, "color": colour, "markersize": 5, "capsize": 2.0, "label": label}
            ends = np.minimum(begins, estimate)[chosen], np.maximum(high, estimate)[chosen]
            dots(ax, estimate[chosen], place[chosen], *ends, axis="x", **style)
    dress(ax)
    before = f"{details['column']} = " if details["column"] else ""
    names = [plain(shortened(str(name).removeprefix(before), MAX_NAME_LETTERS)) for name in columns["name"]]
    ax.set_yticks(place, names)
    ax.tick_params(axis="y", labelsize=text_size(ax, place.size))
    ax.set(xlim=(least - room, most + room), ylim=(place.max() + 0.7, place.min() - 0.7), xlabel=details["axis"])
    ax.set_ylabel(plain(shortened(details["column"] or "group", MAX_NAME_LETTERS)))
    legend_inside(ax, "best")


def text_size(ax: Any, groups: float) -> float:
    usual = float(ax.xaxis.label.get_size())
    return max(SMALLEST_TEXT, min(0.95 * usual, 210 / groups))


def marks_groups(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    names = ("name", "place", "estimate", "low", "high", "reference", "detectable")
    level = f"{100 * details['level']:g} %"
    return [
        Mark(
            estimate,
            place,
            f"{name}\n{details['axis']}: {estimate:.3g}"
            + ("" if np.isnan(low) else f"\n{level} limits {short_limits(low, high)}")
            + ("" if np.isnan(detectable) else f"\nan error of {detectable:.2g} is found 4 times in 5"),
        )
        for name, place, estimate, low, high, _, detectable in zip(
            *(np.asarray(columns[name]).tolist() for name in names), strict=True
        )
    ]


def describe_groups(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """Say how many groups the verdict names, and what the first one is."""
    name, estimate, low, high = (np.asarray(columns[key]) for key in ("name", "estimate", "low", "high"))
    named = int(np.sum(columns["named"]))
    many = (
        f"{name.size:,} of {details['groups']:,} groups" if details["groups"] > name.size else f"{name.size:,} groups"
    )
    first = f"The first is {name[0]} with {estimate[0]:.3g} (limits {short_limits(low[0], high[0])})."
    axis = details["axis"].capitalize()
    return f"{axis} of {many} with limits; the verdict names {f'{named:,}' if named else 'none'} of them. {first}"


GROUPS = Picture(draw_groups, marks_groups, describe_groups, thinned=("place", "estimate", "low", "high"))
