"""`conditional_test`: whether ranks have the same distribution wherever the covariates lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.dispatch import on_threads
from calibrant.core.null import upper_counts
from calibrant.core.pvalues import holm
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.inputs.options import check_choice, check_count, check_level, generator
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.conditional_regions import Region, Searched, found_regions
from calibrant.ranking.counting import JUDGED, Forecast, legendre, marginal_ranks, shrinkage
from calibrant.ranking.covariates import orthonormal
from calibrant.ranking.effects import SHIFT, rank_effect, ranks_in_words, shaped
from calibrant.ranking.kept_ranks import KeptRanks, needed_covariates
from calibrant.ranking.quantities import Quantities, Quantity, RankedBy, ranked_by, uses_covariates
from calibrant.ranking.scan import Rule, Scan
from calibrant.ranking.summary import COVARIATE_POLYNOMIALS

Method: TypeAlias = Literal["joint", "score", "intervals", "boxes", "kernel", "trees"]
Null: TypeAlias = Literal["permutation", "uniform"]
STATISTICS = ("score", "intervals", "boxes", "kernel")
MIN_ROWS = 10
MIN_ROWS_SEARCHED = 60  # below which the score statistic stands alone
MAX_COVARIATES_IN_PAIRS = 25
FEATURES = 400  # random Fourier features of the kernel
MAX_ROWS_FOR_MEDIAN = 1000
NUMBERS_AT_ONCE = 1 << 22  # of a chunk of redraws: 16 MiB of float32
MAX_COLUMNS_AT_ONCE = 1024
POWER_QUANTILE = 0.84  # of the standard normal at 0.8: found four times in five
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


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
        shift and spread of all rows. `details` has `pvalue_each` (per coordinate, adjusted for all), the p-value of
        each statistic (not adjusted), `smallest possible`, `visible` (the bias in predictive standard deviations that
        would have been found 4 times in 5 if half of the rows had it), `direction` (what the score statistic found,
        where it is the clearest), and `regions`: up to three records with `names`, `bounds`, `n`, `rows`, `function`
        ("shift" or "spread"), `shift`, `spread`, `z`, `pvalue` and `text`.

    Notes
    -----
    The p-value of a region is adjusted for every region that was looked at. With ``null="uniform"`` the probability
    that any region of right rows is stated is at most 1 - `level`, whatever happens elsewhere. With
    ``null="permutation"`` nothing is stated with probability `level` if there is no relation; if there is one, only the
    first region is a claim. Shift and spread of a region describe its rows: it was chosen after looking.

    A contrast does not tell a region from its complement; the side that is further from uniform ranks is named. A
    box is named only if it is clearly better than the best interval. Covariates that go together cannot be told apart.

    With fewer than 60 rows the score statistic stands alone.

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
    """The options of `conditional_test`."""

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
        check_choice("method", self.method, "joint", *STATISTICS, "trees")
        check_choice("null", self.null, "permutation", "uniform")
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


class Prepared(NamedTuple):
    """Rows in an order of their own, and their covariates as they are searched."""

    rank: NDArray[np.int64]  # (n, C)
    phi: FloatArray  # (K, M + 1)
    w: FloatArray  # (n,), 1 on average
    covariates: Covariates
    dropped: tuple[str, ...]  # names of covariates that are constant
    order: NDArray[np.intp]  # which of the caller's rows these are
    cells: bool  # whether ranks are cells of distribution functions


def prepared(kept: KeptRanks) -> Prepared:
    """Sort the rows by their values, so that their order does not matter, and drop constant covariates."""
    if kept.n < MIN_ROWS:
        raise NotApplicableError(f"a relation to covariates needs at least {MIN_ROWS} rows; got {kept.n}")
    order = kept.order()
    varies = (kept.x.max(axis=0) > kept.x.min(axis=0)).tolist()
    if not any(varies):
        raise NotApplicableError("no covariate varies between rows, so ranks cannot vary with them")
    table = kept.covariates.columns([j for j, used in enumerate(varies) if used]).take(order).pooled
    dropped = tuple(name for name, used in zip(kept.names, varies, strict=True) if not used)
    phi = legendre(kept.counted[0].M)[:COVARIATE_POLYNOMIALS]
    w = kept.w[order] / kept.w.mean()
    return Prepared(kept.rank[order], phi, w, table, dropped, order, kept.counted[0].cells)


def _finish(kept: KeptRanks, options: ConditionalOptions) -> TestResult:
    ranks = kept.counted[0]
    equal = ranks.has_equal_weights
    if options.null == "permutation" and not equal:
        raise InputError('permuted ranks need equal weights; leave weights out, or pass null="uniform"')
    data = prepared(kept)
    rng = generator(options.rng)
    if options.method == "trees":
        from calibrant.ranking.conditional_trees import tree_test

        return tree_test(kept, data, rng)
    tests = Statistics(data, options, rng, ranks.names)
    B = options.resamples
    T = Compared(tests.observed(), tests.redrawn(B, rng))
    p = _pvalues(T)
    regions, direction = _where(tests, T, p, options)
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
            **{name: shaped(values, ranks.single) for name, values in zip(tests.names, each, strict=True)},
            "smallest possible": 1 / (B + 1),
            "visible": tests.visible(T.redrawn, options.level),
            "direction": direction,
            "regions": _in_order_of_caller(regions, data.order),
        },
    )


class Compared(NamedTuple):
    """The statistics of the data (S, C) and of redraws (S, B, C), or (S, B, 1) where these serve every coordinate."""

    observed: NDArray[Any]
    redrawn: NDArray[Any]

    @property
    def is_shared(self) -> bool:
        """Whether redraws are of one coordinate and serve each alone."""
        return bool(self.redrawn.shape[2] < self.observed.shape[1])

    def sets(self, c: int) -> NDArray[Any]:
        """Return the statistics of one coordinate, (S, 1 + B): the data first."""
        redrawn = self.redrawn[:, :, min(c, self.redrawn.shape[2] - 1)]
        return np.concatenate([self.observed[:, [c]].astype(redrawn.dtype), redrawn], axis=1)


class Statistics:
    """The statistics of the data, and of redraws."""

    def __init__(
        self, data: Prepared, options: ConditionalOptions, rng: np.random.Generator, columns: tuple[str, ...] = ("",)
    ) -> None:
        self.data, self.null = data, options.null
        n, q = data.covariates.x.shape
        self.phi = data.phi
        few = n < MIN_ROWS_SEARCHED
        names: tuple[str, ...] = STATISTICS if options.method == "joint" else (options.method,)
        self.names = ("score",) if few else names
        self.dtype = DOUBLE if few else SINGLE
        pairs = _pairs(options.pairs, data.covariates)
        self.without_boxes = pairs == [] and q > MAX_COVARIATES_IN_PAIRS
        self.scan = None if few else Scan(data.covariates, pairs, Rule(self.null == "permutation", data.w))
        if self.scan is not None and not self.scan.boxes:
            if options.method == "boxes":
                raise NotApplicableError(
                    "there are no boxes: two covariates that vary, and 20 rows inside and outside of a box are needed"
                )
            self.names = tuple(name for name in self.names if name != "boxes")
        self.Q = orthonormal(data.covariates.numbers) if "score" in self.names else None
        self.V = _fourier(data.covariates.standardised, rng) if "kernel" in self.names else None
        self.F = self._columns()
        self.columns = columns if len(columns) > 1 else ()

    def _columns(self) -> FloatArray:
        """Return F (n, C, K) of the data."""
        F = np.moveaxis(self.phi[:, self.data.rank], 0, -1)
        if self.null == "uniform":
            return F
        centred = F - F.mean(axis=0)
        spread = centred.std(axis=0)
        return np.asarray(centred / np.where(spread > 0, spread, 1.0))

    def observed(self) -> FloatArray:
        """Return the statistics of the data, (S, C)."""
        return np.asarray(self.of(self.F[:, None])[:, 0])

    def of(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return the statistics (S, sets, C) of F (n, sets, C, K)."""
        n, sets, C, K = F.shape
        wF = F if self.null == "permutation" else F * self.data.w.astype(F.dtype)[:, None, None, None]
        columns = np.ascontiguousarray(wF.reshape(n, -1))

        def summed(basis: FloatArray | None) -> NDArray[Any]:
            assert basis is not None
            squares = ((basis.T.astype(F.dtype) @ columns) ** 2).sum(axis=0)
            return np.asarray(squares.reshape(sets, C, K).sum(axis=2))

        def largest(of: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
            return np.asarray(of(columns).reshape(sets, C, K).max(axis=2))

        scan = self.scan
        found = {
            "score": lambda: summed(self.Q),
            "kernel": lambda: summed(self.V),
            "intervals": lambda: largest(scan.largest_over_intervals),  # type: ignore[union-attr]
            "boxes": lambda: largest(scan.largest_over_boxes),  # type: ignore[union-attr]
        }
        return np.stack([found[name]() for name in self.names])

    def redrawn(self, B: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return the statistics of B redraws: of permuted rows (S, B, C), or of new ranks for all columns (S, B, 1)."""
        n, C, K = self.F.shape
        columns = K * (C if self.null == "permutation" else 1)
        size = max(1, min(NUMBERS_AT_ONCE // n, MAX_COLUMNS_AT_ONCE) // columns)
        seeds = rng.integers(2**63, size=-(-B // size))
        F = self.F.astype(self.dtype)
        phi = self.phi.T.astype(self.dtype)

        def work(part: slice) -> NDArray[Any]:
            chance, sets = np.random.default_rng(seeds[part.start // size]), part.stop - part.start
            if self.null == "uniform":
                return self.of(phi[chance.integers(len(phi), size=(n, sets))][:, :, None])
            places = chance.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
            return self.of(F[places.T])

        return np.concatenate(list(on_threads(work, B, size=size)), axis=1)

    def visible(self, redrawn: NDArray[Any], level: float) -> float:
        """Return the bias of half of the rows, in predictive sd, that would have been found four times in five.

        The clearest interval must then exceed what chance exceeds with a quarter of the error rate, which is enough for
        the smallest p-value of four statistics.
        """
        if "intervals" not in self.names:
            return math.nan
        largest = redrawn[self.names.index("intervals")].max(axis=1)
        c = float(np.quantile(largest, 1 - (1 - level) / len(self.names)))
        n, M = len(self.data.rank), self.phi.shape[1] - 1
        halves = 2.0 if self.null == "permutation" else math.sqrt(2.0)  # Z = δ √n/2 as a contrast, else δ √(n/2)
        return halves * (c + POWER_QUANTILE) / math.sqrt(n) * SHIFT / float(shrinkage(M)[0])


def _pairs(given: Sequence[tuple[Any, Any]] | None, covariates: Covariates) -> list[tuple[int, int]] | None:
    """Return which pairs have boxes: None for all."""
    if given is None:
        return None if covariates.q <= MAX_COVARIATES_IN_PAIRS else []
    if not isinstance(given, (list, tuple)):
        raise InputError(f"pairs must be a list of pairs of covariates, such as [(0, 1)]; got {shown(given)}")
    found = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"pairs must be pairs of covariates, such as [(0, 1)]; got {shown(pair)}")
        a, b = (_place(one, covariates) for one in pair)
        if a == b:
            raise InputError(f"a pair must be two different covariates; got {shown(pair)}")
        found.append((min(a, b), max(a, b)))
    return sorted(set(found))


def _place(one: Any, covariates: Covariates) -> int:
    names = covariates.names
    name = one if isinstance(one, str) else f"x{one}"
    if name in names:
        return names.index(name)
    if isinstance(one, (int, np.integer)) and 0 <= one < covariates.q:
        return int(one)
    raise InputError(f"pairs name covariates by number or name ({', '.join(names)}); got {shown(one)}")


def _fourier(z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return centred features (n, 400) of the Gaussian kernel at half the median distance (Rahimi and Recht 2007)."""
    from scipy.spatial.distance import pdist

    some = z[rng.permutation(len(z))[:MAX_ROWS_FOR_MEDIAN]]
    distance = float(np.median(pdist(some))) / 2 or 1.0
    angle = z @ (rng.normal(size=(z.shape[1], FEATURES // 2)) / distance)
    V = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) * math.sqrt(2 / FEATURES)
    return np.asarray(V - V.mean(axis=0))


def _pvalues(T: Compared) -> FloatArray:
    """Return the p-value of each coordinate, adjusted for all of them: by Holm if redraws are of one coordinate."""
    S, C = T.observed.shape
    every = [T.sets(c) for c in range(C)]
    if T.is_shared:
        return holm(np.array([_smallest(each, [slice(None)])[0] for each in every]))
    return _smallest(np.concatenate(every), [slice(c * S, (c + 1) * S) for c in range(C)])


def _smallest(T: NDArray[Any], parts: list[slice]) -> FloatArray:
    """Return the p-values of the smallest p-value of some statistics, given T (statistics, 1 + B), data first.

    Sets are ordered by their smallest p-value over all statistics, and equal ones by their largest standardised value;
    the p-value of a part is the share of the sets that are at least as extreme as it is in the data.
    """
    P = upper_counts(T)
    spread = T.std(axis=1, keepdims=True, dtype=np.float64)
    z = (T - T.mean(axis=1, keepdims=True, dtype=np.float64)) / np.where(spread > 0, spread, 1.0)
    key, size = P.min(axis=0), z.max(axis=0)
    found = []
    for part in parts:
        own, extent = P[part, 0].min(), z[part, 0].max()
        extreme = (key < own) | ((key == own) & (size >= extent))
        extreme[0] = True
        found.append(np.count_nonzero(extreme) / T.shape[1])
    return np.array(found)


def _where(
    tests: Statistics, T: Compared, p: FloatArray, options: ConditionalOptions
) -> tuple[tuple[Region, ...], str]:
    """Return the regions that are stated, and the direction of the score statistic if that is the clearest."""
    scanned = [tests.names.index(name) for name in ("intervals", "boxes") if name in tests.names]
    regions: tuple[Region, ...] = ()
    if scanned and tests.scan is not None:
        largest = np.sort(T.redrawn[scanned].max(axis=(0, 2)).astype(np.float64))  # (B,)
        data, boxes = tests.data, "boxes" in tests.names
        searched = Searched(tests.scan, tests.F, data.rank, data.w, tests.phi, boxes, tests.columns, data.cells)
        regions = found_regions(searched, largest, options.level, copies=len(p) if T.is_shared else 1)
    c = int(p.argmin())
    clearest = tests.names[int(upper_counts(T.sets(c))[:, 0].argmin())]
    is_trend = clearest == "score" and len(tests.names) > 1 and p[c] <= 1 - options.level
    return regions, _direction(tests, c) if is_trend else ""


def _direction(tests: Statistics, c: int) -> str:
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


def _words(tests: Statistics, options: ConditionalOptions, kept: KeptRanks, data: Prepared) -> str:
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
