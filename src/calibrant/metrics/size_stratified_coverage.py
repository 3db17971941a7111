"""Coverage of rows with narrow and with wide predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import AnyRows, metric
from calibrant.errors import NotApplicableError
from calibrant.inputs.options import check_choice, check_count
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.size_groups import size_groups
from calibrant.summaries.sizes import Sizes


def _summarise(rows: AnyRows, **_: Any) -> Sizes:
    return Sizes.of(rows)  # type: ignore[arg-type]  # it judges intervals and sets alone


@metric(
    reads=(Sizes,),
    summarise=_summarise,
    predictions=("intervals", "sets"),
    range=(0.0, 1.0),
    perfect=1.0,
    mean=True,
)
def size_stratified_coverage(
    sizes: Sizes, *, bins: Any = None, summary: str = "min", empty: str = "merge", min_count: int = 1
) -> float | FloatArray:
    r"""Lowest coverage among groups of rows whose intervals or sets are about equally large (SSC).

    With the groups g of rows by width or set size,

    .. math:: \mathrm{SSC} = \min_g \hat c_g, \qquad \hat c_g = \frac{\sum_{i \in g} w_i c_i}{\sum_{i \in g} w_i},

    :math:`c_i` being 1 if row i is covered; with ``summary="violation"`` it is :math:`\max_g |\hat c_g - level|`.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`: `Intervals` or `Sets`.
    bins
        A whole number m: groups of equal count, each ending at the sorted size of rank ⌈k n/m⌉. Rows of one size stay
        together, so that fewer groups may come out. A list of ranges ``[(low, high), ...]``, bounds included: these
        groups; rows outside are left out. None: 3 for intervals, one group per size for sets.
    summary
        "min", or "violation", which needs a level.
    empty
        "merge" takes empty sets and sets of one label as one group; "own" keeps the empty sets apart, whose coverage is
        0 by construction.
    min_count
        Groups of fewer rows are left out.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Notes
    -----
    A predictor whose size tells how hard a row is covers rows of every size alike. The lowest coverage of many small
    groups is low by chance alone: read it with the table ``coverage_curve(..., groups="size")`` and its intervals, or
    test with ``coverage_test(..., method="groups")``. Widths that differ by rounding, as those of split-conformal
    intervals do, are one width; with a single width there is one group and the value is the coverage.

    References
    ----------
    Angelopoulos and Bates (2021), A gentle introduction to conformal prediction; for "violation" Angelopoulos, Bates,
    Jordan and Malik (2021), Uncertainty sets for image classifiers using conformal prediction.

    Examples
    --------
    The two narrow intervals cover one outcome of two, the wide ones both:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 5.0], 0.9)
    >>> size_stratified_coverage([0.5, 2.0, 2.0, 2.0], forecast, bins=2)
    0.5
    """
    check_choice("summary", summary, "min", "violation")
    least = check_count("min_count", min_count)
    values = []
    for k in range(sizes.L):
        table = sizes.tied(k)
        groups = size_groups(table.size, table.weight, K=sizes.K, bins=bins, empty=empty)
        count = groups.sums(table.rows)
        kept = count >= least
        if not kept.any():
            raise NotApplicableError(
                f"no group has min_count={least} rows; the largest has {count.max()}. Lower min_count or use fewer bins"
            )
        c = groups.sums(table.hit_weight)[kept] / groups.sums(table.weight)[kept]
        values.append(float(c.min() if summary == "min" else np.abs(c - sizes.level(k)).max()))
    return sizes.per_level(values)
