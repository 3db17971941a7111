"""Sets of points coordinate by coordinate: location and spread, and a view of both sets."""

from __future__ import annotations

import numpy as np

from calibrant.audit.point_look import Compared, PointLook, measured
from calibrant.inference.coordinate_differences import Differences, coordinate_differences
from calibrant.inputs.weights import FloatArray
from calibrant.results import Curve, Figure, Section, Table

SHOWN = 20  # coordinates in a figure
SAID = 3  # coordinates in a sentence
POINTS = 400  # of each set in a scatter
LARGEST_COVARIANCE = 2000  # coordinates up to which directions of most variance are looked for


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
                "distance of the means",
                shift,
                pvalue=_smallest(found.location_pvalue),
                method=found.method,
            ),
            measured(
                compared,
                "spread",
                "total variance, generated over real",
                spread,
                expected=1.0,
                pvalue=_smallest(found.spread_pvalue),
                method=found.method,
            ),
        ),
        (_view(compared), *_figures(compared, found, order[:SHOWN])),
        (_table(compared, found, order),),
    )
    return PointLook(section, found.pvalue, _sentences(compared, found))


def _smallest(pvalues: FloatArray) -> float:
    return float(pvalues.min())


def _total_variance(points: FloatArray) -> float:
    return float(np.where(np.ptp(points, axis=0) > 0, points.var(axis=0, ddof=1), 0.0).sum())


def _sentences(compared: Compared, found: Differences) -> tuple[str, ...]:
    """Name the coordinates that differ, those with the smallest p-values first."""
    location = [
        f"{compared.columns[j]} by {abs(found.location[j]):.2g} sd {'up' if found.location[j] > 0 else 'down'}wards"
        for j in np.argsort(found.location_pvalue, kind="stable")
        if compared.is_found(found.location_pvalue[j])
    ]
    spread = [
        f"{_times(found.spread[j])} as far in {compared.columns[j]}"
        for j in np.argsort(found.spread_pvalue, kind="stable")
        if compared.is_found(found.spread_pvalue[j])
    ]
    said = []
    if location:
        said.append(f"Location: the generated points are shifted in {_listed(location)}.")
    if spread:
        said.append(f"Spread: the generated points reach {_listed(spread)} as the real ones.")
    return tuple(said)


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


def _figures(compared: Compared, found: Differences, shown: np.ndarray) -> tuple[Figure, ...]:
    of_chance = "The bars hold what chance alone gives, for all coordinates and both questions together."
    location = _coordinates(
        found.location[shown],
        -found.location_reach[shown],
        found.location_reach[shown],
        shown,
        compared,
        "shift, in sd of the real points",
        0.0,
        False,
        found.method,
    )
    figures = [
        Figure(
            "location",
            "Shift of each coordinate",
            f"Right of the line: generated points lie higher. {of_chance}",
            location,
        )
    ]
    some = shown[np.isfinite(found.spread[shown]) & (found.spread[shown] > 0)]
    if not some.size:
        return tuple(figures)
    left_out = "" if some.size == shown.size else " A coordinate that is constant in one set alone has no place here."
    spread = _coordinates(
        found.spread[some],
        np.exp(-found.spread_reach[some]),
        np.exp(found.spread_reach[some]),
        some,
        compared,
        "ratio of standard deviations",
        1.0,
        True,
        found.method,
    )
    figures.append(
        Figure(
            "spread",
            "Spread of each coordinate",
            f"Right of the line: generated points reach farther. {of_chance}{left_out}",
            spread,
        )
    )
    return tuple(figures)


def _coordinates(
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    which: np.ndarray,
    compared: Compared,
    axis: str,
    reference: float,
    logarithmic: bool,
    method: str,
) -> Curve:
    columns = {"place": np.arange(value.size, dtype=np.float64), "value": value, "low": low, "high": high}
    details = {
        "names": tuple(compared.columns[j] for j in which),
        "axis": axis,
        "reference": reference,
        "logarithmic": logarithmic,
        "level": compared.level,
    }
    return Curve("coordinates", columns, method, compared.sets.n + compared.sets.m, details)


def _view(compared: Compared) -> Figure:
    """Return a scatter of two coordinates or directions, or of one coordinate both distribution functions."""
    if compared.sets.d == 1:
        return Figure(
            "values",
            "Both sets",
            "Where one line runs above the other, that set has more points up to there.",
            two_ecdfs(
                compared.sets.y[:, 0],
                compared.sets.points[:, 0],
                (compared.real, compared.generated),
                compared.columns[0],
            ),
        )
    few = compared.few(POINTS)
    Z, axes = few.pooled, compared.columns[:2]
    reading = "Points of both sets. Where only one kind lies, the other is missing or has invented."
    if compared.sets.d > 2:
        Z, axes = _directions(Z, compared)
        reading += f" Of {compared.sets.d} coordinates, each scaled, these are the two directions of most variance."
    columns = {"first": Z[:, 0], "second": Z[:, 1], "set": np.repeat([0.0, 1.0], [few.n, few.m])}
    details = {"names": (compared.real, compared.generated), "axes": tuple(axes)}
    method = f"{few.n:,} and {few.m:,} points"
    return Figure("cloud", "Both sets", reading, Curve("cloud", columns, method, few.n + few.m, details))


def _directions(Z: FloatArray, compared: Compared) -> tuple[FloatArray, tuple[str, str]]:
    """Return the first two principal components of the scaled pooled points; of very many coordinates two of these."""
    sd = np.where(np.ptp(Z, axis=0) > 0, Z.std(axis=0), 0.0)
    scaled = (Z - Z.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    if Z.shape[1] > LARGEST_COVARIANCE:
        first, second = np.argsort(sd)[-2:][::-1]
        return Z[:, [first, second]], (compared.columns[first], compared.columns[second])
    _, vectors = np.linalg.eigh(scaled.T @ scaled)
    axes = vectors[:, [-1, -2]]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # a direction has no sign of its own
    return scaled @ axes, ("first direction", "second direction")


def two_ecdfs(a: FloatArray, b: FloatArray, names: tuple[str, str], axis: str) -> Curve:
    """Return the distribution functions of two samples at all their values."""
    value = np.unique(np.concatenate([a, b]))
    first, second = (np.searchsorted(np.sort(side), value, side="right") / side.size for side in (a, b))
    columns = {"value": value, "first": first, "second": second}
    return Curve(
        "two_ecdfs", columns, "empirical distribution functions", a.size + b.size, {"names": names, "axis": axis}
    )
