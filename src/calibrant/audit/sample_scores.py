"""Scores and sharpness of draws in an audit, and the table of coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.audit.scores import Found, of_rows, score
from calibrant.audit.sections import Setting
from calibrant.errors import NotApplicableError
from calibrant.inference.uniformity_test import uniformity_test
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.metrics.contraction import contraction
from calibrant.metrics.crps import crps
from calibrant.metrics.decompose import decompose
from calibrant.metrics.energy_score import energy_score
from calibrant.metrics.sharpness import sharpness
from calibrant.results import Measurement, Table
from calibrant.results.explanation import Explanation
from calibrant.summaries.ranks import Ranks

PAIRS = 400_000_000  # of draws, times coordinates, for the energy score
SPLIT = 4_000_000  # draws, for the parts of the CRPS


def coordinate_scores(rows: LawRows, law: Samples) -> dict[str, FloatArray]:
    """Return CRPS, sharpness and contraction of each coordinate, those that can be told of these draws."""
    if not law.finite or law.M < 2:
        return {}
    weights = None if is_unit(rows.w) else rows.w
    asked: dict[str, Callable[[], Any]] = {
        "crps": lambda: of_rows(crps, rows, fair=True),
        "sharpness": lambda: sharpness(law, statistic="rms", weights=weights),
        "contraction": lambda: of_rows(contraction, rows),
    }
    found = {}
    for name, ask in asked.items():
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of draws whose squares are beyond float64
                value = np.atleast_1d(np.asarray(ask(), dtype=np.float64))
            if name == "contraction" or np.isfinite(value).all():
                found[name] = value
        except NotApplicableError:  # one row, or outcomes that are all alike
            continue
    return found


def score_measurements(rows: LawRows, law: Samples, each: Mapping[str, FloatArray], setting: Setting) -> Found:
    """Return the scores of one coordinate, or of vectors as a whole; and what was left out."""
    if not each:
        why = "one draw per row has no spread" if law.finite else "some draws are infinite"
        return (), (f"Scores and sharpness are left out: {why}.",)
    if law.shape and law.shape[0] > 1:
        if rows.n * law.held[0].size * law.M > PAIRS:
            return (), ("energy_score is left out: its time grows with the square of the draws.",)
        return score(energy_score, "energy score, fair", rows, setting, fair=True)
    found, missing = score(crps, "CRPS, fair", rows, setting, fair=True)
    words = {
        "sharpness": "root mean predictive variance",
        "contraction": "contraction (0: no sharper than all outcomes)",
    }
    others = [Measurement(name, label, float(each[name][0])) for name, label in words.items() if name in each]
    return (*found, *others, *_parts(rows, law)), missing


def _parts(rows: LawRows, law: Samples) -> tuple[Measurement, ...]:
    if law.shape or rows.n * law.M > SPLIT:
        return ()
    parts = of_rows(decompose, rows)
    return (
        Measurement("decompose.mcb", "miscalibration part of CRPS", parts.mcb),
        Measurement("decompose.dsc", "discrimination part of CRPS", parts.dsc),
    )


def coordinate_table(ranks: Ranks, explained: Explanation, each: Mapping[str, FloatArray]) -> Table:
    """Return a line per coordinate, worst first."""
    order = np.argsort(np.atleast_1d(uniformity_test(ranks).details["pvalue_each"]), kind="stable")

    def column(values: Any) -> tuple[Any, ...]:
        return tuple(np.atleast_1d(values)[order].tolist())

    coverage = {f"coverage_{level:.3g}": column(held) for level, held in explained.coverage.items()}
    return Table(
        "coordinates",
        "Coordinates, worst first",
        {
            "coordinate": tuple(ranks.names[c] for c in order.tolist()),
            "failure": tuple(np.atleast_1d(np.array(explained.failure, dtype=object))[order].tolist()),
            "pvalue_adjusted": column(explained.pvalue),
            "shift": column(explained.shift),
            "spread": column(explained.spread),
            **coverage,
            **{name: column(values) for name, values in each.items()},
        },
        "p-values of the curve of ranks, exact, adjusted for all coordinates (Holm). Predictions are too high by "
        "shift predictive standard deviations, and their spread needs the factor spread.",
    )
