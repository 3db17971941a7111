"""`conditional_test`: whether ranks have the same distribution wherever the covariates lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.null import upper_counts
from calibrant.core.results import TestResult
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.options import check_count, check_level, generator
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.conditional_regions import Region, Searched, clearest_function, found_regions
from calibrant.ranking.conditional_statistics import (
    MAX_COVARIATES_IN_PAIRS,
    MIN_ROWS_SEARCHED,
    Asked,
    ConditionalStatistics,
    Method,
    Null,
    ObservedAndRedrawn,
    Prepared,
    joint_pvalues,
    prepared,
    tree_test,
)
from calibrant.ranking.counting import JUDGED, Forecast, marginal_ranks
from calibrant.ranking.effects import rank_effect, ranks_in_words, shaped
from calibrant.ranking.kept_ranks import KeptRanks, needed_covariates
from calibrant.ranking.quantities import RankedBy, ranked_by, uses_covariates


@public
def conditional_test(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    covariates: Any = None,
    method: Method = "joint",
    null: Null = "permutation",
    level: float = 0.95,
    resamples: int = 999,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    quantity: Quantities | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test whether predictions are as good everywhere: whether ranks are unrelated to covariates, and where not.

    With :math:`F_k = \varphi_k(r)`, orthonormal polynomials of the rank for shift (k = 1) and spread (k = 2), the
    statistics are

    ===============  ==================================================================================================
    score            :math:`\sum_k \lVert Q^\top F_k \rVert^2`, Q an orthonormal basis of centred covariates: a trend
    intervals        the largest \|Z\| over covariates and intervals of their 16 cells of equal mass
    boxes            the largest \|Z\| over pairs of covariates and boxes of their 8 × 8 cells
    kernel           :math:`\sum_k \lVert V^\top F_k \rVert^2`, V 400 features of a Gaussian kernel: anything smooth
    ===============  ==================================================================================================

    where Z of a region is the standardised sum of F over its rows. ``"joint"`` takes the smallest p-value of the four
    on shared redraws, and the p-value of that: exact, because all steps treat the data and the redraws alike.

    Shift and spread of a region describe its rows: it was chosen after looking.

    Parameters
    ----------
    y, prediction
        As in `uniformity_test`; or a `summaries.KeptRanks`, such as ``KeptRanks.of(ranks, M, covariates=x)``.
    covariates
        What was known of each row: numbers (n,) or (n, q), texts, booleans, a data frame, or a mapping from names to
        columns; at most 200. Needed, except with a summary. Columns of arrays are called x0, x1, ... A text or boolean
        has a region for each category; more than 16 categories are pooled.
    method
        ``"joint"``, one of the four alone, or ``"trees"``: boosted trees of scikit-learn, fitted to the rows before
        and tested on the next of five random blocks, with ``null="uniform"``.
    null
        ``"permutation"`` permutes ranks against covariates: "unrelated", whatever else is wrong. What is wrong alike
        everywhere is no relation. ``"uniform"`` draws new ranks: "uniform and unrelated".
    level
        Confidence level of the regions that are stated.
    resamples
        Number of redraws.
    pairs
        The pairs of covariates, by number or name, whose boxes are searched; all by default, none above 25 covariates.
    quantity, log_likelihood, log_density_y, draws
        What is ranked in place of the coordinates, and among how many draws: as in `ranks`. The x of ``f(z, x)`` is
        `covariates`.
    rng
        Generator or seed of the redraws, of the random features, of ties between outcome and draws, and of the choice
        of draws.
    weights
        Weights of the rows, for ``null="uniform"`` only.

    Returns
    -------
    TestResult
        `pvalue` is that of all coordinates together, `statistic` the smallest p-value of a statistic, and `estimate`
        shift and spread of all rows. `details` has `pvalue_each` (per coordinate, adjusted for all), `function_each`
        (what changes most with a covariate, "shift" or "spread"; empty if `pvalue_each` is above 1 - `level`), the
        p-value of each statistic (not adjusted), `smallest possible`, `visible` (the bias in predictive standard
        deviations that would have been found 4 times in 5 if half of the rows had it, set apart by one covariate),
        `direction` (what the score statistic found, where it is the clearest), and `regions`: up to three records of
        each coordinate that is related to covariates, the first of each before the second, with `names`, `bounds`,
        `n`, `rows`, `column`, `function` ("shift" or "spread"), `shift`, `spread`, `z`, `pvalue` and `text`.

    Examples
    --------
    Predictions of 0 are too low where x is beyond 1:

    >>> import numpy as np
    >>> from calibrant import Normal
    >>> x = np.linspace(-2, 2, 400)
    >>> y = np.random.default_rng(0).normal(np.where(x > 1, 1.0, 0.0), 1.0)
    >>> found = conditional_test(y, Normal(np.zeros(400), 1.0), covariates=x, resamples=99)
    >>> found.pvalue, found.details["regions"][0].text
    (0.01, 'for x0 > 1 (100 rows) predictions are too low by 0.96 predictive sd')
    """
    by = (quantity, log_likelihood, log_density_y, draws)
    options = ConditionalOptions(covariates, method, null, level, resamples, pairs, rng, *by)
    return CONDITIONAL_TEST(y, prediction, options, weights=weights)


@dataclass(frozen=True)
class ConditionalOptions:
    covariates: Any
    method: Method
    null: Null
    level: float
    resamples: int
    pairs: Sequence[tuple[Any, Any]] | None
    rng: Rng
    quantity: Quantities | None = None
    log_likelihood: Quantity | None = None
    log_density_y: ArrayLike | None = None
    draws: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_level(self.level))
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples))
        generator(self.rng)
        if self.method == "trees" and self.null != "uniform":
            raise InputError('method="trees" has a normal statistic if ranks are uniform; pass null="uniform"')
        self.ranked_by  # noqa: B018  # refuses options that do not go together

    @property
    def ranked_by(self) -> RankedBy:
        """Which ranks are taken."""
        x = self.covariates if self.quantity is not None and uses_covariates(self.quantity) else None
        return RankedBy(self.quantity, x, self.log_likelihood, self.log_density_y, self.draws, self.rng)


def _keep_quantities(rows: DistributionRows | QuantileRows | CdfRows, options: ConditionalOptions) -> KeptRanks:
    """Keep the ranks that were asked for, of coordinates or quantities, with the covariates of their rows."""
    x = needed_covariates("conditional_test", options.covariates, rows.n, rows.keep)
    return KeptRanks.of_ranked(ranked_by(rows, options.ranked_by), rows.w, x)


def keep_ranks(rows: DistributionRows | QuantileRows | CdfRows, options: Any) -> KeptRanks:
    """Keep the ranks of the rows with their covariates."""
    x = needed_covariates("conditional_map", options.covariates, rows.n, rows.keep)
    return KeptRanks.of_ranked(marginal_ranks(rows, options.rng), rows.w, x)


def _finish(kept: KeptRanks, options: ConditionalOptions) -> TestResult:
    ranks = kept.counted[0]
    equal = ranks.has_equal_weights
    if options.null == "permutation" and not equal:
        raise InputError('permuted ranks need equal weights; leave weights out, or pass null="uniform"')
    data = prepared(kept)
    rng = generator(options.rng)
    if options.method == "trees":
        return tree_test(kept, data, rng)
    tests = ConditionalStatistics(data, Asked(options.method, options.null, options.pairs), rng, ranks.names)
    B = options.resamples
    T = ObservedAndRedrawn(tests.observed(), tests.redrawn(B, rng))
    p = joint_pvalues(T)
    searched = _searched(tests)
    regions, direction = _where(tests, T, p, options, searched)
    first = {region.column: region.function for region in reversed(regions)}  # the clearest of each coordinate
    functions = [
        "" if p[c] > 1 - options.level else first.get(name) or clearest_function(searched, c)
        for c, name in enumerate(tests.columns or [""])
    ]
    each = np.stack([upper_counts(T.sets(c))[:, 0] for c in range(len(p))], axis=1) / (B + 1)  # (S, C)
    effect = rank_effect(ranks)
    return TestResult(
        statistic=float(each.min()),
        pvalue=float(p.min()),
        estimate=(shaped(effect.shift, ranks.single), shaped(effect.spread, ranks.single)),
        method=_words(tests, options, kept, data),
        n=kept.n,
        details={
            "names": ranks.names,
            "pvalue_each": shaped(p, ranks.single),
            "function_each": shaped(np.array(functions), ranks.single),
            **{name: shaped(values, ranks.single) for name, values in zip(tests.names, each, strict=True)},
            "smallest possible": 1 / (B + 1),
            "visible": tests.visible(T.redrawn, options.level),
            "direction": direction,
            "regions": _in_order_of_caller(regions, data.order),
        },
    )


def _searched(tests: ConditionalStatistics) -> Searched | None:
    """Return what is searched for regions; None if rows are too few."""
    data, boxes = tests.data, "boxes" in tests.names
    if tests.scan is None:
        return None
    return Searched(tests.scan, tests.F, data.rank, tests.phi, boxes, tests.columns, data.cells)


def _where(
    tests: ConditionalStatistics,
    T: ObservedAndRedrawn,
    p: FloatArray,
    options: ConditionalOptions,
    searched: Searched | None,
) -> tuple[tuple[Region, ...], str]:
    """Return the regions that are stated, and the direction of the score statistic if that is the clearest."""
    scanned = [tests.names.index(name) for name in ("intervals", "boxes") if name in tests.names]
    regions: tuple[Region, ...] = ()
    if scanned and searched is not None:
        largest = np.sort(T.redrawn[scanned].max(axis=(0, 2)).astype(np.float64))  # (B,)
        related = np.flatnonzero(p <= 1 - options.level).tolist()
        regions = found_regions(searched, related, largest, options.level, copies=len(p) if T.is_shared else 1)
    c = int(p.argmin())
    clearest = tests.names[int(upper_counts(T.sets(c))[:, 0].argmin())]
    is_trend = clearest == "score" and len(tests.names) > 1 and p[c] <= 1 - options.level
    return regions, _direction(tests, c) if is_trend else ""


def _direction(tests: ConditionalStatistics, c: int) -> str:
    """Return along which combination of standardised covariates the ranks change most."""
    z = tests.data.covariates.standardised
    F = tests.F[:, c]
    k = int(((tests.Q.T @ F) ** 2).sum(axis=0).argmax())  # type: ignore[union-attr]
    slope = np.linalg.lstsq(z, F[:, k] - F[:, k].mean(), rcond=None)[0]
    slope /= np.linalg.norm(slope) or 1.0
    names = _number_names(tests.data.covariates)
    terms = [f"{slope[j]:+.1f} {names[j]}" for j in np.argsort(-np.abs(slope))[:3] if abs(slope[j]) >= 0.05]
    return f"along {' '.join(terms)}".replace("along +", "along ")


def _number_names(covariates: Covariates) -> list[str]:
    names = []
    for name, labels in zip(covariates.names, covariates.labels, strict=True):
        names += [f"({name} = {label})" for label in labels[1:]] if labels else [name]
    return names


def _words(tests: ConditionalStatistics, options: ConditionalOptions, kept: KeptRanks, data: Prepared) -> str:
    redraws = "permutations of the rows" if options.null == "permutation" else "draws of uniform ranks"
    what = tests.names[0] if len(tests.names) == 1 else f"smallest p-value of {', '.join(tests.names)}"
    words = [f"ranks against covariates; {what} on {options.resamples:,} {redraws}", ranks_in_words(kept.counted[0])]
    C = kept.rank.shape[1]
    if C > 1:
        words.append(f"{C} columns, {'Holm' if options.null == 'uniform' else 'smallest over all'}")
    if tests.without_boxes:
        words.append(f"no boxes of more than {MAX_COVARIATES_IN_PAIRS} covariates without pairs=")
    if tests.scan is None and options.method != "score":
        words.append(f"score alone with fewer than {MIN_ROWS_SEARCHED} rows")
    if data.dropped:
        words.append(f"constant covariates left out: {', '.join(data.dropped)}")
    return "; ".join(words)


def _in_order_of_caller(regions: tuple[Region, ...], order: NDArray[np.intp]) -> tuple[Region, ...]:
    return tuple(region.reordered(order) for region in regions)


CONDITIONAL_TEST = enter(
    Entry(
        conditional_test,
        ConditionalOptions,
        _keep_quantities,
        _finish,
        reads=(KeptRanks,),
        kind="test",
        predictions=JUDGED,
        instead=dict.fromkeys(("intervals", "sets"), "Use coverage_test with groups="),
        unequal=True,
    )
)
