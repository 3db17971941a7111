"""How diverse sets of points are, with or without real ones beside them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calibrant.audit.point_look import PointLook
from calibrant.inputs.points import random_part
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.vendi_scores import vendi_scores
from calibrant.results import Measurement, Section

ORDER = 2.0  # needs no eigenvalues
MOST = 5_000  # points of each set
CAVEAT = "Effective numbers of points compare within one table only: they depend on kernel, length scale, order and n."


def diversity_look(sets: Mapping[str, FloatArray], rng: np.random.Generator) -> PointLook:
    """Compare the Vendi scores of all sets, with one length scale and one number of points."""
    few = {name: random_part(points, MOST, rng) for name, points in sets.items()}
    found = vendi_scores(few, order=ORDER, rng=rng)
    n, kernel = found.n, found.kernel
    measurements = tuple(
        Measurement(
            f"vendi_score.{name}",
            f"{name}: effective number of different points (Vendi)",
            score.mean,
            method=f"order {ORDER:g}, {kernel}, {n:,} points of each set; its size depends on all three",
            details={"sd over subsets": score.sd} if score.sd else {},
        )
        for name, score in found.scores.items()
    )
    section = Section(
        "diversity",
        "Diversity",
        "How many different points is each set worth? 1 if all are alike, n if none are. Diverse is not right.",
        measurements,
    )
    return PointLook(section, None, (), (CAVEAT,))
