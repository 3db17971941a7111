"""What an audit says about one probability per row: the verdict, and what to keep in mind."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant.core.findings import Measurement, Setting, Verdict
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import bonferroni, normal_quantile
from calibrant.core.results import Curve
from calibrant.core.words import NOTABLE, POWER, percent, points, pvalue_words, rows_needed
from calibrant.inputs.arrays import FloatArray

ADVICE = "Consider recalibration on held-out data: isotonic, Platt or temperature scaling."
INFINITE = "the log score is infinite. No prediction should be exactly 0 or 1."


def verdict(
    measurements: tuple[Measurement, ...],
    curve: Curve,
    summary: Ordered,
    *,
    tests: tuple[str, ...],
    happens: str,
    setting: Setting,
) -> Verdict:
    """Return the verdict on one probability per row."""
    p = min(1.0, setting.families * combined(measurements, tests))
    seen = smallest_seen(summary, setting.level)
    if p < 1 - setting.level:
        hint = "No single tenth of the rows is off by more than chance, but all together are."
        sentences = [*size(measurements, setting.level), example(curve, happens) or hint, shape(curve), ADVICE]
        return Verdict(
            "miscalibrated",
            f"These predictions are not calibrated ({pvalue_words(p)}).",
            tuple(sentence for sentence in sentences if sentence),
        )
    if seen <= NOTABLE:
        return Verdict(
            "no evidence",
            f"No evidence of miscalibration ({pvalue_words(p)}).",
            (
                f"A test of the mean alone would find an average error of {points(seen)} 4 times in 5 with this many "
                "rows. That is not proof of calibration: smaller errors, and errors that cancel, stay unseen.",
            ),
        )
    return Verdict(
        "cannot tell",
        f"There are too few rows to tell ({summary.n:,}; {pvalue_words(p)}).",
        (
            f"A test of the mean alone would find only an average error of {points(seen)} or more 4 times in 5. "
            f"To see {points(NOTABLE)}, collect about {rows_needed(summary.n * (seen / NOTABLE) ** 2):,} rows.",
        ),
    )


def size(measurements: tuple[Measurement, ...], level: float) -> list[str]:
    """Say how large the error is, by the limits of the cutoff error, rounded outwards; nothing without limits."""
    for line in measurements:
        if line.name == "cutoff_error" and line.interval is not None:
            low, high = math.floor(1000 * line.interval[0]) / 10, math.ceil(1000 * line.interval[1]) / 10
            span = f"{low:.1f} to {high:.1f}" if low > 0 else f"at most {high:.1f}"
            return [
                f"Over the worst stretch of scores the number of events is off by {span} % of all rows "
                f"({percent(level)} limits)."
            ]
    return []


def example(curve: Curve, happens: str) -> str:
    """Return the sentence on the bin that is off most: when it says .., it happens .. of the time."""
    gap = outside(curve)
    b = int(np.argmax(np.abs(gap)))
    if gap[b] == 0:
        return ""
    shares = (curve.mean_predicted[b], curve.mean_observed[b], curve.consistency_low[b], curve.consistency_high[b])
    says, seen, least, most = _percents(shares)
    band = f"{curve.count[b]:,} rows; if calibrated, {least} to {most}"
    return f"When it says {says}, {happens} {seen} of the time ({band})."


def _percents(shares: tuple[float, float, float, float]) -> list[str]:
    """Write a prediction, a frequency outside its band, and the band with so many digits that it stays outside."""
    _, seen, low, high = (100 * share for share in shares)
    smallest = min([100 * share for share in shares if share > 0], default=1.0)
    first = max(0, -math.floor(math.log10(smallest)))
    digits = range(first, first + 4)
    clear = [d for d in digits if not round(low, d) <= round(seen, d) <= round(high, d)]
    return [f"{100 * share:.{[*clear, digits[-1]][0]}f} %" for share in shares]


def shape(curve: Curve) -> str:
    """Return in words which way the bins outside the band are off; empty if there are none."""
    gap = outside(curve)
    low, high = np.flatnonzero(gap > 0), np.flatnonzero(gap < 0)  # predictions too low, too high
    if not low.size and not high.size:
        return ""
    if not low.size:
        return f"Predictions are too high {_where(curve, high)}."
    if not high.size:
        return f"Predictions are too low {_where(curve, low)}."
    middle = 0.5  # too extreme means away from it, too timid towards it
    if curve.mean_predicted[low].max() < middle < curve.mean_predicted[high].min():
        return (
            f"Predictions are too extreme (over-confident): too low {_where(curve, low)} "
            f"and too high {_where(curve, high)}."
        )
    if curve.mean_predicted[high].max() < middle < curve.mean_predicted[low].min():
        return (
            f"Predictions are too timid (under-confident): too high {_where(curve, high)} "
            f"and too low {_where(curve, low)}."
        )
    return f"Predictions are too high {_where(curve, high)} and too low {_where(curve, low)}."


def _where(curve: Curve, bins: NDArray[np.intp]) -> str:
    """Return the union of these bins in words; bins are neighbours if no bin with rows lies between them."""
    filled = np.flatnonzero(curve.count)
    place = np.searchsorted(filled, bins)
    runs = np.split(place, np.flatnonzero(np.diff(place) > 1) + 1)
    return listed([_stretch(curve, filled[run[0]], filled[run[-1]], filled) for run in runs])


def _stretch(curve: Curve, first: int, last: int, filled: NDArray[np.intp]) -> str:
    if last == filled[-1] and first == filled[0]:
        return "over the whole range"
    if first == filled[0]:
        return f"up to {curve.upper[last]:.2g}" if curve.upper[last] > 0 else "where they are 0"
    if last == filled[-1]:
        return f"above {curve.lower[first]:.2g}"
    return f"between {curve.lower[first]:.2g} and {curve.upper[last]:.2g}"


def listed(texts: list[str]) -> str:
    """Return texts as an enumeration.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def outside(curve: Curve) -> FloatArray:
    """Return observed minus predicted where a bin lies outside its band, 0 elsewhere."""
    return np.where(curve.outside, np.nan_to_num(curve.mean_observed - curve.mean_predicted), 0.0)


def combined(measurements: tuple[Measurement, ...], names: tuple[str, ...]) -> float:
    """Return the p-value of several tests together: the smallest, times their number (Bonferroni)."""
    return bonferroni([m.pvalue for m in measurements if m.name in names and m.pvalue is not None])


def smallest_seen(summary: Ordered, level: float) -> float:
    """Return the smallest constant error that a test of the mean difference finds 4 times in 5: (z + 0.84) σ."""
    deviations = normal_quantile((1 + level) / 2) + normal_quantile(POWER)
    return deviations * math.sqrt(summary.walk.variance) / summary.total_weight


def caveats(
    summary: Ordered, level: float, measurements: tuple[Measurement, ...], *, pooled: bool = False
) -> list[str]:
    """Return what to keep in mind about these rows; `pooled` if an entry is a cell in which rows were counted."""
    n, unique = summary.n, summary.unique_scores.size
    events = int(summary.events.sum())
    rare = min(events, n - events)
    found = []
    if rare < 30:
        kind = "events" if events <= n - events else "non-events"
        few = f"Only {rare}" if rare else "No"
        found.append(f"{few} {kind} among {n:,} rows: what is said about them rests on few cases.")
    if pooled:
        found.append(
            f"The rows were counted in cells of the score, of which {unique:,} hold some: bins of equal width are "
            "exact, the method says by how much others may be off, and each cell is drawn as one score."
        )
    elif unique < n / 2:
        found.append(f"There are {unique:,} different scores among {n:,} rows; tied scores are judged together.")
    effective = summary.total_weight**2 / float((summary.weight**2 * summary.count).sum())
    if effective < 0.9 * n:
        found.append(f"With these weights {n:,} rows count like {effective:,.0f}.")
    if any(line.name == "log_score" and math.isinf(line.value) for line in measurements):
        found.append(f"{_impossible(summary, pooled)} happened that were given probability 0: {INFINITE}")
    found.append(
        f"With this many rows a test of the mean alone would find a constant error of "
        f"{points(smallest_seen(summary, level))} 4 times in 5 at the {percent(1 - level)} level; errors that are "
        "smaller, or that cancel, may stay unseen."
    )
    return found


def _impossible(summary: Ordered, pooled: bool) -> str:
    """Say how many outcomes were ruled out; cells do not tell 0 from what is next to it."""
    if pooled:
        return "Outcomes"
    ruled_out = summary.events[summary.score == 0].sum() + (summary.count - summary.events)[summary.score == 1].sum()
    return f"{int(ruled_out):,} outcomes"
