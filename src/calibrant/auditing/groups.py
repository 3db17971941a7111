"""The groups of an audit of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from calibrant.core.findings import Grouped, Setting, Table
from calibrant.core.grid import Grid
from calibrant.core.words import SMALL_GROUP, means_words, small_groups
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.group_test import GroupFindings, counted_groups, group_test

GROUP_RESAMPLES = 1999
LAST_COLUMN = "The last column is the constant error found 4 times in 5."


def kuiper_groups(rows: Binary | Classes, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return a table with one row per group, the smallest p-value first, and observed and predicted means in words."""
    pairs = rows if isinstance(rows, Binary) else rows.top_label()
    found = group_test(pairs, groupings, level=setting.level, resamples=GROUP_RESAMPLES, rng=setting.rng)
    return _grouped(
        found,
        f"Kuiper's test of each group on {GROUP_RESAMPLES:,} redraws of all rows; adjusted p-values hold for all "
        "groups together (step-down, Westfall and Young).",
    )


def cell_groups(groups: Iterable[tuple[str, Grid]], setting: Setting) -> Grouped:
    """Return the same for groups whose rows were counted in cells."""
    return _grouped(
        counted_groups(groups, level=setting.level, rng=setting.rng),
        "Kuiper's test of each group, its rows counted in cells; adjusted p-values hold for all groups together "
        "(Holm).",
    )


def _grouped(found: GroupFindings, note: str) -> Grouped:
    order = np.lexsort([-found.statistic, found.pvalue, found.pvalue_adjusted])

    def column(values: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(values)[order].tolist())

    table = Table(
        "groups",
        "Groups",
        {
            "group": tuple(found.names[i] for i in order),
            "n": column(found.n),
            "weight": column(found.weight),
            "estimate": column(found.estimate),
            "statistic": column(found.statistic),
            "pvalue": column(found.pvalue),
            "pvalue_adjusted": column(found.pvalue_adjusted),
            "bias": column(found.bias),
            "minimum_detectable": column(found.minimum_detectable),
        },
        f"{note} {LAST_COLUMN}{small_groups(int(np.count_nonzero(found.n < SMALL_GROUP)))}",
    )
    observed = np.clip(found.predicted + found.bias, 0, 1)  # rounding may leave [0, 1]
    means = zip(observed.tolist(), found.predicted.tolist(), found.estimate.tolist(), strict=True)
    return Grouped(table, dict(zip(found.names, (means_words(*line) for line in means), strict=True)))
