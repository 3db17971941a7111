"""The curve of a fitted map: what `Recalibration.plot` draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.results import Curve
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray

if TYPE_CHECKING:
    from calibrant.recalibrating.recalibration import Recalibration

GRID = np.linspace(0.0, 1.0, 201)
INSIDE = np.linspace(0.002, 0.998, 499)  # for maps that are not defined at 0 and 1
MAX_LINES = 12  # of classes or groups; more cannot be told apart
ENDS = {"lower_shift": "lower end", "upper_shift": "upper end"}
AXES = {"scale": "scale", "column": "level of the set"}


def map_curve(found: Recalibration) -> Curve:
    """Return the map as a curve, of new against old probabilities, or of shifts and scales by level or group."""
    if found.kind == "binary":
        return _binary(found)
    if found.method == "identity":
        raise NotApplicableError("identity changes nothing, so there is nothing to draw")
    if found.kind == "classes":
        return _classes(found)
    if found.method == "pit":
        knots, values = (np.asarray(found.parameters[name]) for name in ("knots", "values"))
        return _curve(found, knots, values, axis="CDF value of the outcome")
    if found.method == "location-scale":
        raise NotApplicableError("a location-scale map is a shift and a scale, which .parameters has; see there")
    return _by_level(found)


def _curve(found: Recalibration, x: FloatArray, y: FloatArray, *, axis: str, **more: Any) -> Curve:
    details = {"names": (found.method,), "axis": axis, "turn": (), **more.pop("details", {})}
    return Curve("recalibration_map", {"before": x, "after": y, **more}, found.method, found.n, details)


def _binary(found: Recalibration) -> Curve:
    axis, m = "predicted probability", found.parameters
    if found.groups is not None:
        return _of_groups(found, axis)
    if found.method == "venn-abers":
        x = np.repeat(np.unique(np.concatenate(([0.0], m["scores"], [1.0]))), 2)[1:-1]
        middle = (x[::2] + x[1::2]) / 2  # between two scores all three are constant
        low, high = (np.repeat(bound, 2) for bound in found.bounds(middle))
        return _curve(found, x, np.repeat(found.apply(middle), 2), axis=axis, lower=low, upper=high)
    if found.method == "quadratic":
        turn = _turn(m["slope"], m["curvature"])
        details = {"turn": (turn, float(found.apply([turn])[0]))} if turn is not None else {}
        return _curve(found, INSIDE, found.apply(INSIDE), axis=axis, details=details)
    x = np.unique(np.concatenate(([0.0], m["knots"], [1.0]))) if "knots" in m else GRID
    return _curve(found, x, found.apply(x), axis=axis)


def _of_groups(found: Recalibration, axis: str) -> Curve:
    """Return the map of each group and the common one."""
    groups, common = found.groups or (), found.common or found
    drawn = groups[: MAX_LINES - 1]
    lines = [common.apply(GRID), *(found.apply(GRID, groups=[group] * GRID.size) for group in drawn)]
    names = ("all groups", *(str(group) for group in drawn))
    more = _number_drawn(len(drawn), len(groups), "groups")
    return _curve(found, GRID, np.stack(lines, axis=1), axis=axis + more, details={"names": names})


def _turn(slope: float, curvature: float) -> float | None:
    """Return the score at which a quadratic map turns, if it lies inside what is drawn."""
    if curvature == 0:
        return None
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(slope / (2 * curvature)))
    return float(p) if INSIDE[0] < p < INSIDE[-1] else None


def _classes(found: Recalibration) -> Curve:
    """Return the new probability of each class against the old one, where the other classes share the rest equally."""
    labels = found.classes or ()
    K = len(labels)
    shown = 1 if found.method == "temperature" else min(K, MAX_LINES)
    lines = []
    for k in range(shown):
        P = np.repeat((1 - INSIDE[:, None]) / (K - 1), K, axis=1)
        P[:, k] = INSIDE
        lines.append(found.apply(P)[:, k])
    names = ("every class",) if shown == 1 else tuple(k if isinstance(k, str) else f"class {k}" for k in labels[:shown])
    more = _number_drawn(shown, K, "classes") if len(names) > 1 else ""
    return _curve(
        found,
        INSIDE,
        lines[0] if shown == 1 else np.stack(lines, axis=1),
        axis=f"probability of a class, the others sharing the rest equally{more}",
        details={"names": names},
    )


def _number_drawn(drawn: int, there: int, what: str) -> str:
    """Return a line for the label of an axis if not everything is drawn."""
    return f"\n(the first {drawn} of {there:,} {what} are drawn)" if drawn < there else ""


def _by_level(found: Recalibration) -> Curve:
    levels = np.atleast_1d(np.asarray(found.levels, dtype=np.float64))
    maps: tuple[Mapping[str, Any], ...] = found.parameters["groups"] if found.groups else (found.parameters,)
    lines = {
        ", ".join(filter(None, (str(group), ENDS.get(name, "")))): np.atleast_1d(value)
        for group, one in zip(found.groups or ("",), maps, strict=True)
        for name, value in one.items()
    }
    axis = AXES.get(next(iter(maps[0])), "shift")
    if axis == "level of the set":
        used = np.append(levels, 1.0)  # the full set
        lines = {name: used[np.asarray(column, dtype=np.intp)] for name, column in lines.items()}
    table = np.stack(list(lines.values()), axis=1)  # (levels, lines)
    if levels.size == 1:
        if table.size == 1:
            raise NotApplicableError("this map is one number, which .parameters has; there is nothing to draw")
        place = np.arange(table.size, dtype=np.float64)
        return _levels(found, place, table.T, axis, ticks=tuple(lines), places="group" if found.groups else "end")
    order, names = np.argsort(levels), [name or found.method for name in lines][:MAX_LINES]
    places = f"nominal level{_number_drawn(len(names), len(lines), 'lines')}"
    return _levels(found, levels[order], table[order, :MAX_LINES], axis, names=tuple(names), places=places)


def _levels(found: Recalibration, place: FloatArray, value: NDArray[Any], axis: str, **details: Any) -> Curve:
    """Return a curve of values at places; infinite values have no place in a picture."""
    reference = {"shift": 0.0, "scale": 1.0}.get(axis, math.nan)
    finite = np.where(np.isfinite(value), value, np.nan)
    if np.isnan(finite).all():
        raise NotApplicableError(f"every {axis} is infinite, so there is nothing to draw; pass more calibration rows")
    known = {"names": (found.method,), "ticks": (), "axis": axis, "reference": reference, **details}
    columns = {"place": place, "value": finite[:, 0] if finite.shape[1] == 1 else finite}
    return Curve("recalibration_levels", columns, found.method, found.n, known)
