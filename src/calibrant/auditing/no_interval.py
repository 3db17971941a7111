"""Why a metric has no confidence interval, and what to use in its place."""

from __future__ import annotations

from typing import Any, NamedTuple

from calibrant.core.catalogue import Entry, entries
from calibrant.errors import NotApplicableError


class NoInterval(NamedTuple):
    """Why there is no interval, and what to do."""

    reason: str
    remedy: str


WORST_OF_GROUPS = NoInterval(
    "it is chosen from several groups or averages their distances, so it is biased away from the level",
    "coverage_curve with groups= has limits of the coverage of each group; simultaneous=True makes them joint",
)
PREDICTIONS_ALONE = NoInterval(
    "it does not depend on outcomes, so its value for these predictions is exact", "use the value itself"
)
REFUSALS = {
    "contraction": NoInterval(
        "it is a ratio whose denominator, the spread of all outcomes, is estimated too",
        "compare predictions by crps, which has an interval",
    ),
    "sharpness": PREDICTIONS_ALONE,
    "width": PREDICTIONS_ALONE,
    "coverage_gap": WORST_OF_GROUPS,
    "size_stratified_coverage": WORST_OF_GROUPS,
    "coverage_hsic": NoInterval(
        "near independence it has no normal distribution, and no limits are known that cover",
        "regions.coverage_hsic_test says whether a value is more than chance",
    ),
    "coverage_width_criterion": NoInterval(
        "its penalty jumps where coverage falls below the level", "take the interval of coverage, and width"
    ),
    "decompose": NoInterval(
        "its parts are fitted to the same rows and biased, miscalibration upwards",
        "take the interval of the mean score, and that of cutoff_error for calibration",
    ),
    "direction": NoInterval(
        "its parts are sums of absolute gaps of one sign, which are biased upwards",
        "take the interval of cutoff_error or ece",
    ),
    "ucme": NoInterval(
        "it depends on the test locations, and a calibrated model has a value above 0 of unknown size",
        "take the interval of skce, or test with kernel_errors.cme_test",
    ),
    "skce_test": NoInterval("a test has a p-value in place of an interval", "take the interval of skce"),
    "cme_test": NoInterval("a test has a p-value in place of an interval", "take the interval of skce"),
}
SIZES = {
    "binary": "cutoff_error or ece",
    "intervals": "coverage",
    "samples": "crps, or test with equivalence_test",
}
"""What measures the size of the error of a kind of prediction, and has an interval."""


def no_interval(entry: Entry[Any, Any], served: tuple[str, ...]) -> NotApplicableError:
    """Return the error for a metric without an interval; `served` are the metrics that have one."""
    found = REFUSALS.get(entry.name) or _by_kind(entry, served)
    return NotApplicableError(f"no valid interval is known for {entry.name}: {found.reason}. Instead, {found.remedy}")


def _by_kind(entry: Entry[Any, Any], served: tuple[str, ...]) -> NoInterval:
    size = next((SIZES[kind] for kind in entry.predictions if kind in SIZES), "")
    if entry.kind == "test" and size:
        return NoInterval("a test has a p-value in place of an interval", f"take the interval of {size}")
    if entry.kind == "curve" and size:
        return NoInterval(
            "a curve has many values, with bands of its own", f"read these, or take the interval of {size}"
        )
    return NoInterval(
        "it brings no limits", f"give its Entry limits=, or take one of {', '.join((*served, *own_limits()))}"
    )


def own_limits() -> list[str]:
    return sorted(name for name, entry in entries().items() if entry.limits)
