"""Both sets of points in one picture."""

from __future__ import annotations

import numpy as np

from calibrant.audit.point_look import Compared
from calibrant.inputs.weights import FloatArray
from calibrant.results import Curve, Figure

POINTS = 400  # of each set in a scatter
MOST_COORDINATES = 2000  # up to which directions of most variance are looked for


def point_view(compared: Compared) -> Figure:
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
    if Z.shape[1] > MOST_COORDINATES:
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
