"""`conditional_map`: how far predictions are off along each covariate, with limits for all cells together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.conditional.cells import INTERVAL_CELLS, Axis, CovariateIntervals, deviations
from calibrant.conditional.conditional_test import (
    JUDGED,
    ConditionalOptions,
    Found,
    Predictions,
    SearchOptions,
    found_of,
    keep_covariates,
    prepare,
)
from calibrant.conditional.kept import KeptCovariates
from calibrant.conditional.regions import Region, RegionMean, cut
from calibrant.conditional.statistics import NUMBERS_AT_ONCE, Searched, critical, of_redraws
from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.results import Curve
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import generator

ROWS_PER_CELL = 25  # that cells of numbers are made for


@public
def conditional_map(
    y: Outcomes | None,
    prediction: Predictions | None = None,
    *,
    covariates: Any = None,
    search_prediction: bool | None = None,
    level: float = 0.95,
    resamples: int = 999,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    rng: Rng = 0,
) -> Curve:
    r"""How far predictions are off in cells of each covariate, with limits for all cells together.

    Cells have about 25 rows or more, at most 16 a covariate; shown are those with 20 rows and, where events are rare,
    about 5 expected ones. The limits are those of `conditional_test`, with the critical value of these cells alone.

    Parameters
    ----------
    y, prediction, covariates, search_prediction, weights, classes, pos_label
        As in `conditional_test`.
    level
        Confidence of the limits of all cells together.
    resamples
        Number of redraws of calibrated predictions for the limits, and of redraws for the regions.
    rng
        Generator or seed of these, and of ties between outcome and draws.

    Returns
    -------
    Curve
        One point per covariate, cell and column of `conditional_test`: `covariate`, `cell` (in words), `left`, `right`
        (NaN for categories), `rows`, `column`, `observed`, `predicted`, `difference`, `low`, `high`. Of draws and
        distributions the difference is the shift of the outcomes in predictive standard deviations, positive if
        predictions are too low, or the log of the factor that the spread needs. Covariates are ordered by their
        clearest cell. Details have the `regions` of `conditional_test`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-2, 2, 400)
    >>> y = np.arange(400) % 10 < np.where(x > 1, 8, 5)
    >>> found = conditional_map(y, np.full(400, 0.5), covariates=x, resamples=99)
    >>> found.cell[-1], round(float(found.difference[-1]), 2), found.rows[-1].item()
    ('1.75 to 2', 0.26, 25)
    """
    options = SearchOptions(covariates, search_prediction, level, resamples, rng)
    return CONDITIONAL_MAP(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


def _asked(options: SearchOptions) -> ConditionalOptions:
    """Return the options of the test whose regions are shown."""
    return ConditionalOptions(**vars(options))


def cells_of(searched: Searched) -> list[CovariateIntervals]:
    """Return the cells of each covariate, as intervals."""
    table = searched.covariates
    g = max(2, min(INTERVAL_CELLS, len(table.x) // ROWS_PER_CELL))
    axes = [Axis(table.x[:, j], len(table.labels[j]), g, runs=False) for j in range(table.q)]
    return [CovariateIntervals(j, axis, searched.rule, outside=False) for j, axis in enumerate(axes)]


def squares(cells: CovariateIntervals, wF: FloatArray) -> FloatArray:
    """Return the largest Z² over the cells of a covariate and the columns of wF (n, sets, K), (sets,)."""
    return np.asarray((deviations(cells, wF) ** 2).max(axis=(0, 1, 3)))


def _finish(kept: Any, options: SearchOptions) -> Curve:
    found = prepare(kept, _asked(options))
    curve = map_of(found, found_of(found).details["regions"])
    if curve is None:
        raise NotApplicableError("no cell of a covariate has enough rows; more rows are needed")
    return curve


def map_of(found: Found, regions: tuple[Region, ...]) -> Curve | None:
    """Return the map, given the regions of the same rows; None if no cell has enough rows."""
    searched, residuals, options = found.calibrated, found.calibrated.residuals, found.options
    cells, K = cells_of(searched), residuals.K
    if not any(each.scale.any() for each in cells):
        return None

    def of_cells(F: FloatArray) -> FloatArray:
        wF = searched.w[:, None, None] * F
        return np.asarray(np.max([squares(each, wF) for each in cells], axis=0))[None]

    size, rng = max(1, NUMBERS_AT_ONCE // (residuals.n * K)), generator(options.rng)
    largest = of_redraws(residuals, of_cells, options.resamples, rng, size=size)
    reach = math.sqrt(critical(largest[0], options.level, residuals.C))
    ranked = _clearest_first(cells, searched, regions)
    lines = [
        _line(cells[j], searched, cell, k, reach)
        for j in ranked
        for k in range(len(residuals.columns))
        for cell in np.flatnonzero(cells[j].scale[0, :, k % K]).tolist()
    ]
    return Curve(
        kind="conditional_map",
        columns={key: np.array([line[key] for line in lines], dtype=TEXTS.get(key)) for key in lines[0]},
        method=f"limits of {len(lines):,} cells together, {options.resamples:,} redraws of calibrated predictions",
        n=residuals.n,
        details={
            "names": residuals.names,
            "columns": tuple(column.text for column in residuals.columns),
            "unit": "share" if residuals.is_share else "sd",
            "level": options.level,
            "covariates": tuple(searched.covariates.names[j] for j in ranked),
            "regions": regions,
        },
    )


TEXTS = dict.fromkeys(("covariate", "cell", "column"), object)


def _clearest_first(cells: list[CovariateIntervals], searched: Searched, regions: tuple[Region, ...]) -> list[int]:
    """Return the covariates: those of the first region, and then by their clearest cell."""
    residuals, names = searched.residuals, searched.covariates.names
    wF = searched.w[:, None, None] * residuals.F.reshape(residuals.n, -1, residuals.K)
    most = [float(squares(each, wF).max()) for each in cells]
    first = regions[0].names if regions else ()
    return sorted(range(len(cells)), key=lambda j: (names[j] not in first, -most[j]))


def _line(cells: CovariateIntervals, searched: Searched, cell: int, k: int, reach: float) -> dict[str, Any]:
    """Return what is shown of a column in a cell."""
    residuals, j, axis = searched.residuals, cells.j, cells.axis
    labels, x = searched.covariates.labels[j], searched.covariates.x[:, j]
    rows = axis.code == cell
    v = residuals.v[rows, k]
    if not residuals.is_share:  # the spread of few ranks says little; that of all rows is the least
        v = np.maximum(v, residuals.F[:, k].var())
    seen = RegionMean.of(residuals.F[rows, k], v, residuals.stated[rows, k], searched.w[rows])
    left = math.nan if labels else max(cut(axis, cell - 1)[0], float(x.min()))
    right = math.nan if labels else min(cut(axis, cell)[0], float(x.max()))
    return {
        "covariate": searched.covariates.names[j],
        "cell": labels[cell] if labels else f"{left:.3g} to {right:.3g}",
        "left": left,
        "right": right,
        "rows": seen.n,
        "column": residuals.columns[k].text,
        **seen.numbers(reach, share=residuals.is_share, unit=float(residuals.units[k])),
    }


CONDITIONAL_MAP = enter(
    Entry(
        conditional_map,
        SearchOptions,
        lambda rows, options: keep_covariates(rows, _asked(options), "conditional_map"),
        _finish,
        reads=(KeptCovariates,),
        kind="curve",
        predictions=JUDGED,
        unequal=True,
    )
)
