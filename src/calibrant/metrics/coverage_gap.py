"""How far coverage in groups of rows is from its level."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from calibrant.catalogue import AnyRows, metric
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.judged import IntervalRows, QuantileRows, SetRows
from calibrant.inputs.options import check_choice
from calibrant.inputs.row_labels import RowLabels, read_row_labels
from calibrant.inputs.weights import FloatArray
from calibrant.summaries.hit_table import HitTable


def _summarise(rows: AnyRows, *, groups: Any = None, **_: Any) -> HitTable:
    rows = cast(IntervalRows | QuantileRows | SetRows, rows)
    prediction = rows.prediction
    if prediction.levels is None:
        raise NotApplicableError("these sets have no level to compare coverage with; pass Sets(mask, level)")
    labels = _true_classes(rows) if groups is None else read_row_labels(groups, rows.n, keep=rows.keep)
    return HitTable.of(rows, labels)


def _true_classes(rows: AnyRows) -> RowLabels:
    if not isinstance(rows, SetRows):
        raise InputError("coverage_gap compares groups of rows; pass groups=, one label per row")
    values, code = np.unique(rows.y, return_inverse=True)
    return RowLabels(code.astype(np.intp), tuple(values.tolist()))


@metric(
    reads=(HitTable,),
    summarise=_summarise,
    predictions=("intervals", "sets", "quantiles"),
    range=(0.0, 1.0),
    mean=True,
)
def coverage_gap(table: HitTable, *, groups: Any = None, average: str = "macro") -> float | FloatArray:
    r"""Average distance between coverage and its level, over groups of rows.

    .. math:: \sum_g a_g\, |\hat c_g - level|, \qquad \hat c_g = \frac{\sum_{i \in g} w_i c_i}{\sum_{i \in g} w_i},

    where :math:`c_i` is 1 if row i is covered, and :math:`a_g` is one over the number of groups ("macro") or the share
    of the group in the weight of all rows ("weighted"). "max" is the largest distance. A fraction, not percent.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`.
    groups
        One label per row, of any kind that can be told apart. For `Sets` the default is the true class.
    average
        "macro", "weighted" or "max".

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Notes
    -----
    Groups without rows do not exist. The coverage of a small group is far from its level by chance, always to the
    outside, so that the gap of many small groups is biased upwards; ``coverage_curve(..., groups=groups)`` has the
    p-values that take this into account. Coverage within each true class cannot be known before the outcome: a gap
    there says for whom predictions fail, not which predictions.

    References
    ----------
    Ding, Angelopoulos, Bates, Jordan and Tibshirani (2023), Class-conditional conformal prediction with many classes.

    Examples
    --------
    Both rows of group a are covered and one of group b's: gaps 0.25 and 0.25.

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 2.0, 5.0], 0.75)
    >>> coverage_gap([0.0, 1.0, 2.0, 3.0], forecast, groups=["a", "a", "b", "b"])
    0.25
    """
    check_choice("average", average, "macro", "weighted", "max")
    gap = np.abs(table.coverage - table.nominal)
    values = []
    for k in range(table.levels.size):
        here = (table.level == k) & (table.count > 0)
        share = table.w[here] / table.w[here].sum() if average == "weighted" else 1 / np.count_nonzero(here)
        values.append(float(gap[here].max() if average == "max" else (share * gap[here]).sum()))
    return values[0] if table.single else np.array(values)
