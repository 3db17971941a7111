"""The row scores behind a metric that is a mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import find
from calibrant.catalogue.reading import part_of
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.judged import Judged
from calibrant.inputs.weights import FloatArray
from calibrant.summaries import Summary


def per_row(
    metric: Any, y: Any, prediction: Any = None, *, classes: Any = None, pos_label: Any = None, **options: Any
) -> FloatArray:
    """Return the score of each row, of which a metric is the mean.

    Parameters
    ----------
    metric
        A metric that is a mean, such as `coverage`, `interval_score`, `crps` or `brier_score`, or its name.
    y, prediction, classes, pos_label
        As for the metric. A metric that looks at no outcome takes the prediction alone, or None for y.
    **options
        Options of the metric. There are no weights: they belong to the mean, ``(w * scores).sum() / w.sum()``.

    Returns
    -------
    ndarray
        Scores in the order of the rows, (n,); (n, L) where the metric is an array.

    Notes
    -----
    The scores of two models on the same rows are compared by their differences, whose mean has its own standard error;
    two means that are looked at one by one hide that rows hard for one model are hard for the other.

    Examples
    --------
    >>> from calibrant import brier_score
    >>> per_row(brier_score, [0, 1], [0.5, 0.75]).tolist()
    [0.25, 0.0625]
    """
    entry = find(metric)
    if entry.row_scores is None:
        raise NotApplicableError(f"{entry.name} is no mean of row scores, so that rows have no scores of it")
    if isinstance(y, Summary):
        raise InputError("a summary does not hold the rows; pass y and prediction")
    if not entry.outcome and prediction is None:
        y, prediction = None, y
    if "weights" in options:
        raise InputError("per_row takes no weights: they belong to the mean, not to the score of a row")
    rows = entry.read(y, prediction, classes=classes, pos_label=pos_label)
    scores = np.array(entry.row_scores(part_of(rows, slice(None)), **entry.completed(options)), dtype=np.float64)
    single = isinstance(rows, Judged) and getattr(rows.prediction, "single", False)
    return scores[:, 0] if scores.ndim == 2 and single else scores
