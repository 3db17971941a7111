"""Sets of points coordinate by coordinate: location and spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.audit.point_look import Compared, PointLook, measured
from calibrant.audit.point_view import point_view
from calibrant.inference.coordinate_differences import Differences, coordinate_differences
from calibrant.inputs.weights import FloatArray
from calibrant.results import Curve, Figure, Section, Table

SHOWN = 20  # coordinates in a figure
SAID = 3  # coordinates in a sentence


def coordinate_look(compared: Compared) -> PointLook:
    """Compare means and spreads."""
    sets = compared.sets
    found = coordinate_differences(sets, compared.level, compared.resamples, compared.rng)
    order = np.lexsort((-np.abs(found.location), np.minimum(found.location_pvalue, found.spread_pvalue)))
    shift = float(np.linalg.norm(sets.points.mean(axis=0) - sets.y.mean(axis=0)))
    spread = _total_variance(sets.points) / (_total_variance(sets.y) or np.nan)
    section = Section(
        "coordinates",
        "Location and spread",
        "Do the points lie in the same place, and reach as far, in each coordinate?",
        (
            measured(
                compared,
                "location",
                "distance of the means (p-value: of all coordinates)",
                shift,
                pvalue=float(found.location_pvalue.min()),
                method=found.method,
            ),
            measured(
                compared,
                "spread",
                "total variance, generated over real (p-value: of all coordinates)",
                spread,
                expected=1.0,
                pvalue=float(found.spread_pvalue.min()),
                method=found.method,
            ),
        ),
        (point_view(compared), *_figures(compared, found, order[:SHOWN])),
        (_table(compared, found, order),),
    )
    return PointLook(section, found.pvalue, _sentences(compared, found))


def _total_variance(points: FloatArray) -> float:
    return float(np.where(np.ptp(points, axis=0) > 0, points.var(axis=0, ddof=1), 0.0).sum())


def _sentences(compared: Compared, found: Differences) -> tuple[str, ...]:
    """Name the coordinates that differ, those with the smallest p-values first."""
    location = [
        f"{compared.columns[j]} by {abs(found.location[j]):.2g} sd {'up' if found.location[j] > 0 else 'down'}wards"
        for j in np.lexsort((-np.abs(found.location), found.location_pvalue))
        if compared.is_found(found.location_pvalue[j])
    ]
    spread = [
        f"{_times(found.spread[j])} as far in {compared.columns[j]}"
        for j in np.lexsort((-_apart(found.spread), found.spread_pvalue))
        if compared.is_found(found.spread_pvalue[j])
    ]
    said = []
    if location:
        said.append(f"Location: the generated points are shifted in {_listed(location)}.")
    if spread:
        said.append(f"Spread: the generated points reach {_listed(spread)} as the real ones.")
    return tuple(said)


def _apart(ratio: FloatArray) -> FloatArray:
    """Return how far ratios are from 1, either way."""
    with np.errstate(divide="ignore"):
        return np.abs(np.log(ratio))


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if np.isfinite(ratio) else "infinitely many times"


def _listed(items: list[str]) -> str:
    shown, more = items[:SAID], len(items) - SAID
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more coordinate{'s' if more > 1 else ''}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _table(compared: Compared, found: Differences, order: np.ndarray) -> Table:
    sets = compared.sets
    columns = {
        "coordinate": tuple(compared.columns[j] for j in order),
        "mean real": tuple(sets.y.mean(axis=0)[order].tolist()),
        "mean generated": tuple(sets.points.mean(axis=0)[order].tolist()),
        "shift in sd": tuple(found.location[order].tolist()),
        "pvalue shift": tuple(found.location_pvalue[order].tolist()),
        "spread ratio": tuple(found.spread[order].tolist()),
        "pvalue spread": tuple(found.spread_pvalue[order].tolist()),
    }
    note = "P-values hold for all coordinates and both questions together."
    return Table("coordinates", "Coordinates, the most different first", columns, note)


OF_CHANCE = "The bars hold what chance alone gives, for all coordinates and both questions together."


def _figures(compared: Compared, found: Differences, shown: np.ndarray) -> tuple[Figure, ...]:
    ratio = found.spread[shown]
    some = shown[np.isfinite(ratio) & (ratio > 0)]
    location = _location_figure(compared, found, shown)
    return (location, _spread_figure(compared, found, some, some.size < shown.size)) if some.size else (location,)


def _location_figure(compared: Compared, found: Differences, shown: np.ndarray) -> Figure:
    reach, reading = found.location_reach[shown], f"Right of the line: generated points lie higher. {OF_CHANCE}"
    curve = _coordinates(
        found.location[shown],
        -reach,
        reach,
        compared,
        found.method,
        names=tuple(compared.columns[j] for j in shown),
        axis="shift, in sd of the real points",
        reference=0.0,
        logarithmic=False,
    )
    return Figure("location", "Shift of each coordinate", reading, curve)


def _spread_figure(compared: Compared, found: Differences, shown: np.ndarray, left_out: bool) -> Figure:
    reach, reading = found.spread_reach[shown], f"Right of the line: generated points reach farther. {OF_CHANCE}"
    curve = _coordinates(
        found.spread[shown],
        np.exp(-reach),
        np.exp(reach),
        compared,
        found.method,
        names=tuple(compared.columns[j] for j in shown),
        axis="ratio of standard deviations",
        reference=1.0,
        logarithmic=True,
    )
    if left_out:
        reading += " A coordinate that is constant in one set alone has no place here."
    return Figure("spread", "Spread of each coordinate", reading, curve)


def _coordinates(
    value: FloatArray, low: FloatArray, high: FloatArray, compared: Compared, method: str, **details: Any
) -> Curve:
    columns = {"place": np.arange(value.size, dtype=np.float64), "value": value, "low": low, "high": high}
    n = compared.sets.n + compared.sets.m
    return Curve("coordinates", columns, method, n, {**details, "level": compared.level})
