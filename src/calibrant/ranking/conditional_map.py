"""`conditional_map`: shift and spread of predictions along each covariate, with simultaneous limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.dispatch import on_threads
from calibrant.core.results import Curve, TestResult
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_count, check_level, generator
from calibrant.ranking.conditional_regions import Region
from calibrant.ranking.conditional_statistics import NUMBERS_AT_ONCE, Prepared, prepared
from calibrant.ranking.conditional_test import CONDITIONAL_TEST, ConditionalOptions, keep_ranks
from calibrant.ranking.counting import JUDGED, Forecast, shrinkage
from calibrant.ranking.effects import SHIFT, SPREAD, ranks_in_words, shaped
from calibrant.ranking.kept_ranks import KeptRanks
from calibrant.ranking.region_search import BOX_CELLS, INTERVAL_CELLS, MIN_REGION_ROWS, Axis, sums_over_cells

ROWS_PER_CELL = 25  # that cells of numbers are made for


@public
def conditional_map(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    covariates: Any = None,
    level: float = 0.95,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
) -> Curve:
    r"""Shift and spread of predictions in cells of each covariate, with limits for all cells together.

    In a cell of m rows the mean of :math:`\varphi_k(r)`, k = 1 for shift and 2 for spread, has the limits

    .. math:: \bar\varphi_k \pm t\, s / \sqrt m

    with s the larger of the standard deviations in the cell and of all rows, and t the quantile of Student's
    distribution with m - 1 degrees of freedom at the probability :math:`\Phi(c)`: c is what the largest standardised
    mean of all cells exceeds with probability 1 - `level` if ranks are uniform.

    Parameters
    ----------
    y, prediction, covariates, weights
        As in `conditional_test`; weights must be equal.
    level
        Confidence of the limits of all cells together; of each coordinate 1 - (1 - level)/C.
    resamples
        Number of draws of uniform ranks for c, and of permutations for the regions.
    rng
        Generator or seed of these, and of ties between outcome and draws.

    Returns
    -------
    Curve
        One point per covariate and cell: `covariate`, `cell` (in words), `left`, `right` (NaN for categories), `rows`,
        `shift`, `shift_low`, `shift_high` (predictive standard deviations, positive if predictions are too high),
        `spread`, `spread_low`, `spread_high` (the factor that the spread needs); (T, C) for several coordinates.
        Covariates are ordered by the p-value of their clearest cell (`pvalues`, adjusted for all cells), and of equal
        ones that of the first region comes first. Details also have the `regions` of `conditional_test`, and
        `pair_shift`, the shift in 8 × 8 cells, where the first is a box. In the picture is the coordinate of the first
        region.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Normal
    >>> x = np.linspace(-2, 2, 400)
    >>> y = np.random.default_rng(0).normal(np.where(x > 1, 1.0, 0.0), 1.0)
    >>> found = conditional_map(y, Normal(np.zeros(400), 1.0), covariates=x, resamples=99)
    >>> found.cell[-1], bool(found.shift_high[-1] < 0)
    ('1.75 to 2', True)
    """
    return CONDITIONAL_MAP(y, prediction, MapOptions(covariates, level, resamples, rng), weights=weights)


@dataclass(frozen=True)
class MapOptions:
    covariates: Any
    level: float
    resamples: int
    rng: Rng

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_level(self.level))
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples))
        generator(self.rng)


class Cells(NamedTuple):
    """The cells of all covariates that have enough rows: where each begins among those of its covariate."""

    axes: list[Axis]
    covariate: NDArray[np.intp]  # (T,)
    cell: NDArray[np.intp]  # (T,)
    rows: NDArray[np.int64]  # (T,)

    def sums(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of F (n, columns) over the cells, (T, columns)."""
        parts = [sums_over_cells(axis.order, axis.code, axis.cells, F) for axis in self.axes]
        return np.concatenate([part[self.cell[self.covariate == j]] for j, part in enumerate(parts)])


def cells_of(data: Prepared) -> Cells:
    """Cut every covariate into cells."""
    table = data.covariates
    g = max(2, min(INTERVAL_CELLS, len(table.x) // ROWS_PER_CELL))
    axes = [Axis(table.x[:, j], len(table.labels[j]), g) for j in range(table.q)]
    counts = [np.bincount(axis.code, minlength=axis.cells) for axis in axes]
    shown = [np.flatnonzero(count >= MIN_REGION_ROWS) for count in counts]
    return Cells(
        axes,
        np.repeat(np.arange(table.q), [each.size for each in shown]),
        np.concatenate(shown),
        np.concatenate([count[each] for count, each in zip(counts, shown, strict=True)]).astype(np.int64),
    )


def largest_of_uniform(cells: Cells, data: Prepared, B: int, rng: np.random.Generator) -> FloatArray:
    """Return the largest standardised mean over all cells of each of B sets of uniform ranks, in ascending order."""
    n, K = len(data.rank), len(data.phi)
    size = max(1, NUMBERS_AT_ONCE // (n * K))
    seeds = rng.integers(2**63, size=-(-B // size))
    phi, root = data.phi.T.astype(np.float32), np.sqrt(cells.rows).astype(np.float32)[:, None]

    def work(part: slice) -> NDArray[Any]:
        chance, sets = np.random.default_rng(seeds[part.start // size]), part.stop - part.start
        F = phi[chance.integers(len(phi), size=(n, sets))].reshape(n, -1)
        return np.asarray(np.abs(cells.sums(F) / root).reshape(-1, sets, K).max(axis=(0, 2)))

    return np.sort(np.concatenate(list(on_threads(work, B, size=size))).astype(np.float64))


def _finish(kept: KeptRanks, options: MapOptions) -> Curve:
    if not kept.counted[0].has_equal_weights:
        raise InputError("conditional_map refuses unequal weights; leave weights out")
    seed = int(generator(options.rng).integers(2**31))
    asked = ConditionalOptions(None, "joint", "permutation", options.level, options.resamples, None, seed)
    curve = map_of(kept, options, CONDITIONAL_TEST.finish(kept, asked))
    if curve is None:
        raise NotApplicableError(f"no cell of a covariate has {MIN_REGION_ROWS} rows; more rows are needed")
    return curve


def map_of(kept: KeptRanks, options: MapOptions, found: TestResult) -> Curve | None:
    """Return the map, given what the test of the same ranks found; None if no cell has enough rows."""
    from scipy.special import ndtr, stdtrit

    ranks = kept.counted[0]
    data, rng = prepared(kept), generator(options.rng)
    cells = cells_of(data)
    if not cells.rows.size:
        return None
    largest = largest_of_uniform(cells, data, options.resamples, rng)
    c = float(np.quantile(largest, 1 - (1 - options.level) / ranks.C, method="higher"))
    phi = data.phi[:, data.rank]  # (K, n, C)
    K, n, C = phi.shape
    flat = np.ascontiguousarray(phi.transpose(1, 2, 0).reshape(n, -1))
    m = cells.rows[:, None].astype(np.float64)
    mean = cells.sums(flat) / m
    square = cells.sums((flat - flat.mean(axis=0)) ** 2) / m - (mean - flat.mean(axis=0)) ** 2
    sd = np.maximum(np.sqrt(np.maximum(square, 0.0) * m / (m - 1)), flat.std(axis=0, ddof=1))
    reach = stdtrit(m - 1, float(ndtr(c))) * sd / np.sqrt(m)
    mean, reach = (values.reshape(-1, C, K) for values in (mean, reach))
    clearest = np.abs(mean).max(axis=(1, 2)) * np.sqrt(cells.rows)  # (T,)
    most = np.array([clearest[cells.covariate == j].max(initial=0.0) for j in range(len(cells.axes))])
    p = np.array([_pvalue(value, largest, C) for value in most.tolist()])
    regions: tuple[Region, ...] = found.details["regions"]
    named = regions[0].covariates if regions else ()
    place = {j: k for k, j in enumerate(sorted(range(most.size), key=lambda j: (p[j], j not in named, -most[j])))}
    order = np.lexsort((cells.cell, np.array([place[int(j)] for j in cells.covariate])))
    names, words, left, right = _cells_in_words(cells, data)
    columns = {
        "covariate": np.array(names, dtype=object),
        "cell": np.array(words, dtype=object),
        "left": left,
        "right": right,
        "rows": cells.rows,
        **{name: shaped(value, ranks.single) for name, value in _in_units(mean, reach, ranks.M).items()},
    }
    return Curve(
        kind="conditional_map",
        columns={name: column[order] for name, column in columns.items()},
        method=f"means of rank polynomials in cells; limits of {len(order):,} cells together, "
        f"{options.resamples:,} draws of uniform ranks; {ranks_in_words(ranks)}",
        n=kept.n,
        details={
            "names": ranks.names,
            "level": options.level,
            "M": ranks.M,
            "covariates": tuple(data.covariates.names[j] for j in place),
            "pvalues": p[list(place)],
            "smallest possible": min(1.0, C / (options.resamples + 1)),
            "pvalue_each": found.details["pvalue_each"],
            "regions": regions,
            **_pair(regions, data, ranks.M, ranks.names),
        },
    )


def _pvalue(Z: float, largest: FloatArray, copies: int) -> float:
    reached = largest.size - int(np.searchsorted(largest, Z * (1 - 1e-6), side="left"))  # redraws are in float32
    return min(1.0, copies * (1 + reached) / (largest.size + 1))


def _in_units(mean: FloatArray, reach: FloatArray, M: int) -> dict[str, FloatArray]:
    """Return shift and spread with their limits, (T, C), from means of φ_k and half widths, (T, C, K)."""
    rho = shrinkage(M)
    shift, half = (values[..., 0] * (SHIFT / rho[0]) for values in (-mean, reach))
    found = {"shift": shift, "shift_low": shift - half, "shift_high": shift + half}
    if mean.shape[2] == 1:
        return found
    spread, half = (values[..., 1] * (SPREAD / rho[1]) for values in (mean, reach))
    with np.errstate(over="ignore"):
        return {
            **found,
            "spread": np.exp(spread),
            "spread_low": np.exp(spread - half),
            "spread_high": np.exp(spread + half),
        }


def _cells_in_words(cells: Cells, data: Prepared) -> tuple[list[str], list[str], FloatArray, FloatArray]:
    names, words, ends = [], [], []
    for j, cell in zip(cells.covariate.tolist(), cells.cell.tolist(), strict=True):
        axis, labels = cells.axes[j], data.covariates.labels[j]
        names.append(data.covariates.names[j])
        if labels:
            words.append(labels[cell])
            ends.append((math.nan, math.nan))
            continue
        x = data.covariates.x[:, j]
        low = x.min() if cell == 0 else axis.neighbours[cell - 1].mean()
        high = x.max() if cell == axis.cells - 1 else axis.neighbours[cell].mean()
        words.append(f"{low:.3g} to {high:.3g}")
        ends.append((low, high))
    left, right = np.array(ends, np.float64).T
    return names, words, left, right


def _pair(regions: tuple[Region, ...], data: Prepared, M: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the shift in the cells of the two covariates of the first region, if it is a box."""
    if not regions or len(regions[0].covariates) < 2:
        return {}
    first = regions[0]
    axes = [Axis(data.covariates.x[:, j], len(data.covariates.labels[j]), BOX_CELLS) for j in first.covariates]
    c = names.index(first.column) if first.column else 0
    code = axes[0].code.astype(np.intp) * axes[1].cells + axes[1].code
    count = np.bincount(code, minlength=axes[0].cells * axes[1].cells)
    total = np.bincount(code, data.phi[0, data.rank[:, c]], minlength=count.size)
    shift = np.where(count > 0, -SHIFT / shrinkage(M)[0] * total / np.maximum(count, 1), np.nan)
    shape = axes[0].cells, axes[1].cells
    return {"pair": first.names, "pair_shift": shift.reshape(shape), "pair_rows": count.reshape(shape)}


CONDITIONAL_MAP = enter(
    Entry(
        conditional_map,
        MapOptions,
        keep_ranks,
        _finish,
        reads=(KeptRanks,),
        kind="curve",
        predictions=JUDGED,
        instead=CONDITIONAL_TEST.instead,
        unequal=True,
    )
)
