"""How the law of a statistic under calibration is found: by its limit, or by redrawing the outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, SummaryError
from calibrant.inputs import check_choice, check_count, generator
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.flips import Flips, is_sparse, redraw_flips
from calibrant.primitives.pool import Pool
from calibrant.primitives.redraw import redraw_events
from calibrant.summaries import Grid, Ordered, Summary

ENOUGH = 25.0
"""Least information I = Σw²p(1-p) / max w² for which a limit law is used by null="auto"."""

NOISE = 4e-3
"""Scale per row of n · SKCE: what differs by less than TIE · NOISE · n, some 20 roundings of each row, is a tie."""

TIE = 1e-12  # a replicate this close to the statistic counts as equal to it


def check_null(null: Any) -> None:
    """Refuse an unknown null."""
    check_choice("null", null, "auto", "asymptotic", "monte-carlo")


def resolved_null(null: str, information: float) -> str:
    """Return "asymptotic" or "monte-carlo"."""
    if null != "auto":
        return null
    return "asymptotic" if information >= ENOUGH else "monte-carlo"


def asymptotic_words(law: str, information: float) -> str:
    """Return how the p-value was found, and a warning where the limit is not to be trusted."""
    if information >= ENOUGH:
        return law
    return f"{law}; only {information:.3g} rows' worth of information (25 wanted), so the level may not be kept"


def monte_carlo_words(resamples: int) -> str:
    """Return how the p-value was found."""
    return f"{resamples} redraws of the outcomes"


def redrawn_words(summary: Summary, resamples: int) -> str:
    """Return how the p-value was found, and which scores the outcomes were redrawn from if not those of the rows."""
    cells = " from the mean score of each cell" if isinstance(summary, Grid) else ""
    return monte_carlo_words(resamples) + cells


def ordered_pool(summary: Summary) -> Pool:
    """Return the scores that outcomes are redrawn from, if the summary keeps them; of a grid the means of its cells."""
    if isinstance(summary, Grid):
        return summary.ordered().pool
    if not isinstance(summary, Ordered):
        raise SummaryError(
            f"a Monte Carlo null redraws outcomes from the scores, which {type(summary).__name__} does not keep; "
            'pass the rows or their Ordered summary, or choose null="asymptotic"'
        )
    return summary.pool


def reaches(redrawn: FloatArray, T: Any, scale: float = 0.0) -> NDArray[np.bool_]:
    """Tell which redrawn values are at least T; what differs by less than rounding of T or of `scale` is a tie."""
    if np.isnan(T).any() or np.isnan(redrawn).any():
        raise InputError(
            "the statistic is nan for these data or for redrawn ones; check the kernel, or the law's sample"
        )
    finite = np.where(np.isfinite(T), T, 0.0)
    least = np.where(np.isfinite(T), finite - TIE * np.maximum(np.abs(finite), scale), T)
    return np.asarray(redrawn >= least)


def resampled_pvalue(extreme: Any, resamples: int) -> Any:
    """Return (1 + extreme) / (B + 1): the observed value is one of those it is compared with, so p is never 0."""
    return (1 + extreme) / (resamples + 1)


def redrawn_pvalue(
    pool: Pool,
    statistic: float,
    of_events: Callable[[NDArray[Any]], FloatArray],
    of_flips: Callable[[Flips], FloatArray],
    *,
    scale: float,
    resamples: Any,
    rng: Any,
) -> float:
    """Return (1 + #{T* >= T}) / (B + 1), T* from outcomes redrawn with everything else fixed.

    `of_events` maps event counts (replicates, entries) to statistics that are large against calibration; `of_flips`
    does the same for replicates kept as flips, as those of rare events are. `scale` is the statistic's standard
    deviation: what differs by less than rounding of it is a tie.
    """
    B, rng = check_count("resamples", resamples), generator(rng)
    if is_sparse(pool):
        replicates = (of_flips(flips) for flips in redraw_flips(pool, B, rng))
    else:
        replicates = (of_events(events) for events in redraw_events(pool, B, rng))
    extreme = sum(int(np.count_nonzero(reaches(values, statistic, scale))) for values in replicates)
    return float(resampled_pvalue(extreme, B))
