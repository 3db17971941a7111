"""Any number of verbs over any iterator of batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calibrant.engines.fold import total_of
from calibrant.engines.measuring import Measured, Measuring


def measure(
    verbs: Any, batches: Iterable[Any], *, exact: bool = False, classes: Any = None, pos_label: Any = None
) -> dict[str, Measured]:
    """Measure rows that come in batches: any number of verbs in one pass, one batch in memory at a time.

    Parameters
    ----------
    verbs
        A verb or a list of them: functions, names, or ``functools.partial(ece, bins=10)`` for one with options.
    batches
        Tuples (y, prediction) or (y, prediction, weights), from a list, a generator, a data loader.
    exact
        Whether verbs may keep what grows with the rows, as in `fold`. Without it rows of one probability are counted in
        the cells of a `Grid` where that will do, and each result comes with a bound of its rounding; a verb that needs
        the rows, such as `mmce`, is refused.
    classes, pos_label
        As for the verbs.

    Returns
    -------
    dict
        For each verb, under its name with the given options, a `Measured`: `value` is what the verb returns, `rounding`
        by how much it may differ from the value of the rows themselves (0 for most).

    Notes
    -----
    What is kept of the rows is shared: ece, brier_score and the tests of one probability all read one `Grid`. `scan`
    does the same with files, `calibrant.dask` and `calibrant.spark` with their frames.

    Examples
    --------
    >>> from functools import partial
    >>> from calibrant import brier_score, ece
    >>> batches = [([0, 1], [0.2, 0.6]), ([1, 1], [0.8, 0.4])]
    >>> found = measure([partial(ece, bins=2), brier_score], batches)
    >>> round(found["ece(bins=2)"].value, 3), round(found["brier_score"].value, 3)
    (0.25, 0.15)
    >>> found["brier_score"].rounding
    0.0
    """
    job = Measuring.of(verbs, exact=exact, classes=classes, pos_label=pos_label)
    return job.finish(total_of(batches, job.part))
