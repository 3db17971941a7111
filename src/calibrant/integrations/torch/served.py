"""Which verbs can be found from sums of a fixed size, and which sums these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core.bins import GRID_ORDER
from calibrant.core.catalogue import ENTRIES, Entry
from calibrant.core.grid import Grid
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.integrations.torch.scores import SCORES
from calibrant.integrations.torch.sums import CellSums, ScoreSums, Sums


def sums_for(entry: Entry[Any, Any], options: Mapping[str, Any], K: int) -> Sums:
    """Return the sums that serve a verb with these options for K classes, or one probability per row if K is 1.

    The verb is tried on a few rows, so that whatever it refuses is refused in its own words.
    """
    if Grid not in entry.reads and entry.name not in SCORES:
        raise _refusal(entry, {})
    rows = entry.read(*_trial(K))
    summary = entry.summarise(rows, entry.parse({**options, **_without_redraws(options)}))
    if isinstance(summary, Moments):
        entry.finish(summary, entry.parse(options))
        return ScoreSums(entry.name, options, summary.names)
    if Grid not in entry.reads or not isinstance(summary, (Grid, Ordered)):
        raise _refusal(entry, options)
    assert isinstance(rows, (Binary, Classes))
    try:
        entry.finish(Grid.of(rows if isinstance(rows, Binary) else rows.top_label()), entry.parse(options))
    except SummaryError:
        raise _refusal(entry, options) from None
    return CellSums()


def sums_for_any(entry: Entry[Any, Any], options: Mapping[str, Any]) -> Sums:
    """Return the sums for the first kind of prediction that goes with these options."""
    try:
        return sums_for(entry, options, 1)
    except InputError:
        if "classes" not in entry.predictions:
            raise
        return sums_for(entry, options, 2)


def _trial(K: int) -> tuple[Any, Any]:
    """Return rows with which every verb can do something."""
    if K > 1:
        return np.zeros(4, int), np.full((4, K), 1 / K)
    return np.arange(200) % 4 == 0, np.full(200, 0.25)


def _without_redraws(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the null that needs no scores to redraw outcomes from, where that is left open."""
    return {"null": "asymptotic"} if options.get("null") == "auto" else {}


def _refusal(entry: Entry[Any, Any], options: Mapping[str, Any]) -> InputError:
    changed = {name: value for name, value in options.items() if value != entry.defaults[name]}
    words = ", ".join([repr(entry.name), *(f"{name}={shown(value)}" for name, value in changed.items())])
    served = ", ".join(sorted(name for name in ENTRIES if Grid in ENTRIES[name].reads or name in SCORES))
    return InputError(
        f"{words} needs more than the sums of a fixed size that TorchMetric keeps; use StreamingMetric({words}). "
        f"TorchMetric serves {served}, with up to {GRID_ORDER} width bins"
    )
