"""Do tests and bands of ranks keep their word, and which rank sees which error of draws?

    python -m benchmarks.validity.samples [--quick] [--state FILE] [--processes 2]

A run that was stopped goes on where it stopped. `--quick` makes few repeats to see that everything runs; nothing of it
is kept.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity import sample_designs as designs
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.sample_designs import CALIBRATED, TRUTHS, FloatArray, IntArray, Rng, Vectors
from scipy.stats import binom, kstest

import calibrant as cb
from calibrant import Samples, summarize, uniformity_test
from calibrant.conditional.kept import KeptCovariates
from calibrant.summaries import Ranks

LEVEL, SMALL = 0.05, 0.01
RANGE = 0.999  # of the binomial distribution around the level
AGAIN = 4
RESAMPLES = 199  # exchanged sets and permutations
SEEN = 1.96  # standard deviations of a pointwise band

SIZES, NAIVE, CAUCHY, COVARIATES, PERMUTED = "sizes", "naive", "cauchy rules", "score", "permutation"
VERBS, BANDS, POWER, FAMILY, EXCHANGE, GROUPED = "rank verbs", "bands", "power", "columns", "exchange", "groups"
WEIGHTED, EXPLAIN, WHERE, FEW_ROWS = "weighted pit", "explain", "references", "few rows"

METHODS = ("band", "smooth", "chi2", "ks", "cvm", "ad")
TESTS: dict[str, Callable[..., cb.results.TestResult]] = {
    "band": uniformity_test,
    "smooth": cb.ranking.rank_smooth_test,
    "chi2": cb.ranking.rank_chi2_test,
    **{method: partial(cb.ranking.rank_edf_test, method=method) for method in ("ks", "cvm", "ad")},
    "piet": cb.ranking.rank_cauchy_test,
    "score": cb.ranking.rank_score_test,
    "permutation": partial(cb.conditional_test, method="trend"),
}
CAUCHY_METHODS = ("piet",)
JUDGED_BY = ("band", "smooth")
JOINT = ("mean_distance", "band_depth", "average")
MARGINALS, ENERGY, OTHER, FITTED, LIKELIHOOD, AGAINST = (
    "marginals",
    "energy",
    "tarp, other truth",
    "tarp, x-dependent",
    "log likelihood of x",
    "ranks against covariates",
)
RANKED = (MARGINALS, ENERGY, *JOINT, OTHER, FITTED, LIKELIHOOD)
MORE_JOINT = ("multivariate", "spanning_tree")

DRAWS = (4, 9, 20, 99, 1000)
ROWS = (100, 1000, 10_000)
NAIVE_CASES = ((1000, 20), (1000, 100), (10_000, 100))  # rows, draws
COVARIATE_DESIGNS = {
    f"M = {M}, {name}": (M, q, skewed)
    for M in (9, 99)
    for name, q, skewed in (("1 normal", 1, False), ("3 normal", 3, False), ("3 lognormal", 3, True))
}
VERB_CASES = ((20, 9), (100, 9), (1000, 9), (100, 20), (1000, 20), (10_000, 9), (100, 99), (1000, 99), (100, 1000))
BAND_CASES = ((50, 9), (100, 99), (200, 99), (1000, 20), (1000, 99), (1000, 999), (10_000, 99), (10_000, 999))
POWER_ROWS, POWER_DRAWS = 500, 99
POWER_DESIGNS = {"D = 3": (3, "Gaussian"), "D = 10": (10, "Gaussian"), "D = 3, skewed": (3, "skewed")}
REFERENCES = {
    "x + noise": (FITTED, 1.0),
    "other truth, x 1.5 times as spread": (OTHER, 1.5),
}  # what is quoted; spread of x
FEW_CASES = ((20, 3), (40, 10), (100, 3), (100, 30))  # rows, covariates: references are fitted, so rows share chance
FEW_DRAWS = 19
WHERE_TRUTHS = (CALIBRATED, designs.WIDE, designs.NARROW, designs.UNCORRELATED)
FAMILY_DESIGNS = {f"C = {C}, correlation {rho:g}": (C, rho) for C, rho in ((3, 0.6), (10, 0.0), (10, 0.9), (50, 0.9))}
FAMILY_ROWS, FAMILY_DRAWS = 200, 20
EXCHANGE_DESIGNS = {
    f"D = 5, correlation {rho:g}, M = {M}": (rho, M) for rho, M in ((0.0, 9), (0.9, 9), (0.9, 20), (0.9, 99))
}
GROUPS = 5
WEIGHTED_ROWS, WEIGHTED_DRAWS = 1000, (9, 39, 99)
GRID = 200  # at whose points the distribution of weighted PITs is looked at
EXPLAIN_ROWS = 200
EXPLAIN_DESIGNS = {f"D = {D}, M = {M}": (D, M) for D, M in ((1, 20), (1, 99), (3, 99))}

# What the definitions of calibrant quote: rates of rejection, and the table of powers, band and smooth, 300 repeats.
QUOTED_NAIVE = {"r/M": (0.98, 0.10, 0.60), "mid-ranks": (0.65, 0.08, 0.36)}
QUOTED_POINTWISE = {(100, 99): 0.436, (1000, 999): 0.243, (10_000, 999): 0.251}
QUOTED_SCORE = 0.04  # of 50 rows and 9 draws
QUOTED_WEIGHTED = 0.024  # of 9 draws, 7 effective ones
QUOTED_REPEATS = 300
QUOTED_POWER: dict[str, tuple[tuple[float, float], ...]] = {
    MARGINALS: ((0.06, 0.06), (0.88, 0.96), (0.92, 0.98), (0.67, 0.63), (0.03, 0.03), (0.05, 0.05)),
    ENERGY: ((0.06, 0.06), (1, 1), (1, 1), (0.09, 0.08), (0.99, 1), (0.04, 0.03)),
    "mean_distance": ((0.04, 0.06), (1, 1), (1, 1), (0.06, 0.05), (0.99, 0.99), (0.07, 0.04)),
    "band_depth": ((0.04, 0.06), (0.99, 1), (0.99, 0.98), (0.05, 0.05), (1, 1), (0.05, 0.06)),
    "average": ((0.07, 0.04), (0.50, 0.74), (0.58, 0.73), (0.18, 0.14), (1, 1), (0.03, 0.05)),
    OTHER: ((0.06, 0.06), (0.84, 0.91), (0.85, 0.94), (0.06, 0.06), (0.23, 0.35), (0.06, 0.05)),
    FITTED: ((0.03, 0.05), (0.98, 0.96), (0.95, 0.95), (0.03, 0.04), (0.38, 0.45), (1, 1)),
    LIKELIHOOD: ((0.06, 0.06), (1, 1), (1, 1), (0.07, 0.06), (1, 1), (1, 1)),
    AGAINST: tuple((math.nan, rate) for rate in (0.04, 0.01, 0.08, 0.04, 0.08, 1)),
}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first, so that no process is left alone with them at the end."""
    cells = [Cell(POWER, design, POWER_ROWS, truth, 100) for design in ("D = 10", "D = 3, skewed") for truth in TRUTHS]
    cells += [Cell(POWER, "D = 3", POWER_ROWS, truth, 300) for truth in TRUTHS]
    cells += [
        Cell(SIZES, f"M = {M}", n, CALIBRATED, 1000 if M == 1000 or n == 10_000 else 2000)
        for M in reversed(DRAWS)
        for n in reversed(ROWS)
    ]
    cells += [Cell(WHERE, name, POWER_ROWS, truth, 300) for name in REFERENCES for truth in WHERE_TRUTHS]
    repeats = {(10_000, 9): 200, (1000, 99): 200, (100, 1000): 200, (100, 99): 500, (1000, 20): 500}
    cells += [Cell(VERBS, f"M = {M}", n, CALIBRATED, repeats.get((n, M), 1000)) for n, M in reversed(VERB_CASES)]
    cells += [Cell(CAUCHY, "M = 99", 1000, CALIBRATED, 12_000), Cell(CAUCHY, "M = 99", 10_000, CALIBRATED, 500)]
    cells += [
        Cell(CAUCHY, design, n, CALIBRATED, 2000) for design, n in (("M = 9", 1000), ("M = 9", 100), ("M = 99", 100))
    ]
    cells += [Cell(FEW_ROWS, f"{q} covariates", n, CALIBRATED, 6000) for n, q in FEW_CASES]
    cells += [
        Cell(EXCHANGE, name, 100, CALIBRATED, 300 if M == 99 else 1000) for name, (_, M) in EXCHANGE_DESIGNS.items()
    ]
    cells += [
        Cell(FAMILY, name, FAMILY_ROWS, CALIBRATED, 300 if C == 50 else 1000) for name, (C, _) in FAMILY_DESIGNS.items()
    ]
    cells += [Cell(GROUPED, f"M = {M}", n, CALIBRATED, 1000) for M in (9, 99) for n in (200, 1000)]
    cells += [Cell(BANDS, f"M = {M}", n, CALIBRATED, 20_000) for n, M in reversed(BAND_CASES)]
    cells += [
        Cell(WEIGHTED, f"{proposal}, M = {M}", WEIGHTED_ROWS, CALIBRATED, 2000)
        for M in reversed(WEIGHTED_DRAWS)
        for proposal in designs.PROPOSALS
    ]
    cells += [Cell(EXPLAIN, name, EXPLAIN_ROWS, CALIBRATED, 2000) for name in EXPLAIN_DESIGNS]
    cells += [Cell(COVARIATES, name, n, CALIBRATED, 2000) for name in COVARIATE_DESIGNS for n in (50, *ROWS)]
    cells += [Cell(PERMUTED, "M = 9, 3 normal", n, CALIBRATED, 1000) for n in (50, 1000)]
    cells += [Cell(NAIVE, f"M = {M}", n, CALIBRATED, 2000) for n, M in NAIVE_CASES]
    if quick:
        cells = [replace(cell, repeats=max(2, cell.repeats // 400)) for cell in cells]
    return cells


def measure(cell: Cell) -> Counts:
    """Simulate one cell; the tests get the simulation's own generator, so that no two repeats share their chance."""
    rng = cell.rng()
    if cell.procedure in WHOLE:
        return WHOLE[cell.procedure](cell, rng)
    total: Counter[str] = Counter()
    for _ in range(cell.repeats):
        total.update(PROCEDURES[cell.procedure](cell, rng))
    return dict(total)


def draws_of(cell: Cell) -> int:
    """Return M, which ends the name of a design of ranks."""
    return int(cell.design.rpartition("M = ")[2])


def rejects(*given: Any, at: float = LEVEL, method: str = "band", **options: Any) -> int:
    """Tell whether the least p-value, adjusted for columns, rejects."""
    return int(np.min(TESTS[method](*given, **options).pvalue) <= at)


# Uniform ranks.


def sizes(cell: Cell, rng: Rng) -> Counts:
    M = draws_of(cell)
    ranks = Ranks.of(designs.uniform_ranks(rng, cell.n, M), M)
    return {method: rejects(ranks, method=method, rng=rng) for method in METHODS}


def cauchy_rules(cell: Cell, rng: Rng) -> Counts:
    M = draws_of(cell)
    ranks = Ranks.of(designs.uniform_ranks(rng, cell.n, M), M)
    found = {method: TESTS[method](ranks, rng=rng).pvalue for method in CAUCHY_METHODS}
    at_small = {f"{method}, {SMALL:g}": int(p <= SMALL) for method, p in found.items()}
    return {**{method: int(p <= LEVEL) for method, p in found.items()}, **at_small}


def naive(cell: Cell, rng: Rng) -> Counts:
    """Kolmogorov-Smirnov tests of what is not uniform, and of what is."""
    M = draws_of(cell)
    rank = designs.uniform_ranks(rng, cell.n, M)
    values = {"r/M": rank / M, "mid-ranks": (rank + 0.5) / (M + 1)}
    found = {name: int(kstest(u, "uniform").pvalue <= LEVEL) for name, u in values.items()}
    return {**found, "ks": rejects(Ranks.of(rank, M), method="ks", rng=rng)}


def covariate_rows(cell: Cell, rng: Rng) -> tuple[IntArray, int, FloatArray]:
    M, q, skewed = COVARIATE_DESIGNS[cell.design]
    x = rng.standard_normal((cell.n, q))
    return designs.uniform_ranks(rng, cell.n, M), M, np.exp(x) if skewed else x


def score(cell: Cell, rng: Rng) -> Counts:
    rank, M, x = covariate_rows(cell, rng)
    return {COVARIATES: rejects(Ranks.of(rank, M, covariates=x), method="score")}


def permutation(cell: Cell, rng: Rng) -> Counts:
    kept = KeptCovariates.of_ranks(*covariate_rows(cell, rng))
    return {PERMUTED: rejects(kept, method="permutation", resamples=RESAMPLES, rng=rng)}


def columns(cell: Cell, rng: Rng) -> Counts:
    """Columns that depend on each other: a family is in error if one of them is rejected."""
    C, rho = FAMILY_DESIGNS[cell.design]
    ranks = Ranks.of(designs.correlated_ranks(rng, cell.n, FAMILY_DRAWS, C, rho), FAMILY_DRAWS)
    found = {method: TESTS[method](ranks) for method in JUDGED_BY}
    curve = cb.ecdf_difference(ranks)
    outside = (curve.v < curve.lower[:, None]) | (curve.v > curve.upper[:, None])
    return {
        **{f"Holm, {method}": int(result.pvalue.min() <= LEVEL) for method, result in found.items()},
        "ecdf_difference": int(outside.any()),
        "unadjusted": int(found["smooth"].details["pvalue_each"].min() <= LEVEL),
    }


def groups(cell: Cell, rng: Rng) -> Counts:
    M = draws_of(cell)
    rank, label = designs.uniform_ranks(rng, cell.n, M), rng.integers(GROUPS, size=cell.n)
    found = uniformity_test(Ranks.of(rank, M, groups=label))
    return {GROUPED: int(np.nanmin(found.pvalue) <= LEVEL)}  # a group with too few rows has none


def exchange(cell: Cell, rng: Rng) -> Counts:
    rho, M = EXCHANGE_DESIGNS[cell.design]
    members = designs.gaussian_noise(rng, (cell.n, M + 1, 5), rho)
    rows = members[:, 0], Samples(members[:, 1:])
    found = {
        method: cb.ranking.rank_exchange_test(*rows, method=method, resamples=RESAMPLES, rng=rng)
        for method in ("band", "smooth", "chi2")
    }
    return {method: int(np.min(result.pvalue) <= LEVEL) for method, result in found.items()}


# Draws of vectors.


def summaries(data: Vectors, rng: Rng, verbs: tuple[str, ...]) -> Iterator[tuple[str, Ranks]]:
    """Count the ranks of each kind."""
    y, samples, log_density_y, x = data
    for name in verbs:
        if name == MARGINALS:
            yield name, summarize(cb.ranks, y, samples)
        elif name == ENERGY:
            yield name, summarize(cb.ranking.energy_ranks, y, samples, log_density_y=log_density_y)
        elif name == OTHER:
            yield name, summarize(cb.ranking.tarp_ranks, y, samples, references="other", rng=rng)
        elif name == FITTED:
            yield name, summarize(cb.ranking.tarp_ranks, y, samples, covariates=x, rng=rng)
        elif name == LIKELIHOOD:
            yield name, summarize(cb.ranks, y, samples, quantity=designs.likelihood, covariates=x)
        else:
            yield name, summarize(cb.ranking.joint_ranks, y, samples, method=name, rng=rng)


def rejections(data: Vectors, rng: Rng, verbs: tuple[str, ...]) -> Counts:
    found: Counts = {
        f"{name}, {method}": rejects(ranks, method=method)
        for name, ranks in summaries(data, rng, verbs)
        for method in JUDGED_BY
    }
    return {**found, f"{AGAINST}, smooth": rejects(data.y, data.samples, covariates=data.x, method="score")}


def verbs_of(n: int, M: int) -> tuple[str, ...]:
    """Return which kinds of rank are affordable: the spanning tree costs M³ per row, distances M²."""
    if M == 1000:
        return tuple(name for name in RANKED if name != "mean_distance")
    if M > 20:
        return (*RANKED, "multivariate")
    return (*RANKED, *MORE_JOINT) if n <= 100 else (*RANKED, "multivariate")


def rank_verbs(cell: Cell, rng: Rng) -> Counts:
    M = draws_of(cell)
    return rejections(designs.vectors(rng, cell.n, M, 3, CALIBRATED), rng, verbs_of(cell.n, M))


def power(cell: Cell, rng: Rng) -> Counts:
    D, noise = POWER_DESIGNS[cell.design]
    return rejections(designs.vectors(rng, cell.n, POWER_DRAWS, D, cell.truth, noise), rng, RANKED)


def references(cell: Cell, rng: Rng) -> Counts:
    """Tests of accuracy with random points that lie elsewhere than those of `tarp_ranks` by itself."""
    quoted, spread = REFERENCES[cell.design]
    y, samples, _, x = designs.vectors(rng, cell.n, POWER_DRAWS, 3, cell.truth, spread=spread)
    points = "other" if quoted == OTHER else x + rng.standard_normal(x.shape)
    ranks = summarize(cb.ranking.tarp_ranks, y, samples, references=points, rng=rng)
    return {f"{quoted}, {method}": rejects(ranks, method=method) for method in JUDGED_BY}


def few_rows(cell: Cell, rng: Rng) -> Counts:
    """Tests of accuracy with random points, among covariates of which only three tell something."""
    more = int(cell.design.partition(" ")[0]) - 3
    y, samples, _, x = designs.vectors(rng, cell.n, FEW_DRAWS, 3, CALIBRATED)
    x = np.column_stack([x, rng.standard_normal((cell.n, more))])
    given = {OTHER: {"references": "other"}, FITTED: {"covariates": x}}
    found = {name: summarize(cb.ranking.tarp_ranks, y, samples, rng=rng, **options) for name, options in given.items()}
    return {
        f"{name}, {method}": rejects(ranks, method=method, rng=rng)
        for name, ranks in found.items()
        for method in JUDGED_BY
    }


def explained(cell: Cell, rng: Rng) -> Counts:
    D, M = EXPLAIN_DESIGNS[cell.design]
    y, samples, _, _ = designs.vectors(rng, cell.n, M, D, CALIBRATED)
    rows = (y[:, 0], Samples(samples.draws[:, :, 0])) if D == 1 else (y, samples)
    found = cb.explain(*rows)
    said = np.ravel(found.failure).tolist() + ([found.joint_failure] if found.joint_failure else [])
    return {EXPLAIN: int(any(failure != "none" for failure in said))}


# Whole cells at once.


class Curves(NamedTuple):
    """Simulated curves (repeats, points), the limits of the band, and the distribution of each point."""

    counts: IntArray
    lower: IntArray
    upper: IntArray
    share: FloatArray
    attained: float


def bands(cell: Cell, rng: Rng) -> Counts:
    """Count the curves that leave the band that a verb returns, and those that leave 1.96 pointwise deviations."""
    M, n = draws_of(cell), cell.n
    found: Counter[str] = Counter()
    for done in range(0, cell.repeats, 500):
        size = min(500, cell.repeats - done)
        tables = rng.multinomial(n, np.full(M + 1, 1 / (M + 1)), size=size)
        for name, curves in limits(Ranks.of(designs.uniform_ranks(rng, n, M), M), tables).items():
            outside = (curves.counts < curves.lower) | (curves.counts > curves.upper)
            far = np.abs(curves.counts - n * curves.share) > SEEN * np.sqrt(n * curves.share * (1 - curves.share))
            found[name] += int(outside.any(axis=1).sum())
            found[f"{name}, pointwise"] += int(far.any(axis=1).sum())
            found[f"{name}, attained"] = curves.attained
    return dict(found)


def limits(ranks: Ranks, tables: IntArray) -> dict[str, Curves]:
    """Return the curves of tables of counts (repeats, M + 1), and the bands that do not depend on them."""
    n, m = ranks.n, ranks.M + 1
    below = np.concatenate([np.zeros((len(tables), 1), np.int64), np.cumsum(tables, axis=1)], axis=1)  # #{r < j}
    curve = cb.ecdf_difference(ranks)
    t, ends = curve.t[1:-1], np.rint(n * (np.stack([curve.lower, curve.upper]) + curve.t)[:, 1:-1])
    found = {"ecdf_difference": Curves(below[:, places(t, m)], *ends, t, curve.details["coverage"])}
    curve = cb.rank_histogram(ranks)
    held = np.add.reduceat(tables, curve.first, axis=1)
    found["rank_histogram"] = Curves(held, curve.lower, curve.upper, curve.expected / n, curve.details["coverage"])
    for region in ("central", "hpd"):
        curve = cb.expected_coverage(ranks, region=region)
        q = places(curve.level, m)
        first = (m - q) // 2 if region == "central" else np.zeros_like(q)
        inside = below[:, first + q] - below[:, first]
        ends = np.rint(n * np.stack([curve.lower, curve.upper]))
        found[f"{region} coverage"] = Curves(inside, *ends, curve.level, curve.details["attained"])
    return found


def places(t: FloatArray, m: int) -> IntArray:
    """Return j of t = j/m."""
    return np.rint(t * m).astype(np.int64)


def weighted_pit(cell: Cell, rng: Rng) -> Counts:
    """Count rejections, and find how far the distribution of all PITs together is from the uniform one."""
    proposal, M = cell.design.partition(",")[0], draws_of(cell)
    total: Counter[str] = Counter()
    below = {"y_weight": np.zeros(GRID), "mean weight": np.zeros(GRID)}
    for _ in range(cell.repeats):
        y, samples, y_weight = designs.weighted(rng, cell.n, M, proposal)
        weight = samples.draw_weights
        total["ESS"] += float(np.mean(weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)))
        for name, given in (("y_weight", y_weight), ("mean weight", None)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that few effective draws make it inexact
                u = cb.pit(y, samples, y_weight=given, rng=rng)
            total[name] += int(kstest(u, "uniform").pvalue <= LEVEL)
            below[name] += np.bincount((u * GRID).astype(np.int64).clip(0, GRID - 1), minlength=GRID)
    t, middle = np.arange(1, GRID) / GRID, slice(GRID // 10 - 1, GRID - GRID // 10)
    for name, counts in below.items():
        error = np.abs(np.cumsum(counts)[:-1] / counts.sum() - t)
        total[f"{name}, error"], total[f"{name}, error inside"] = float(error.max()), float(error[middle].max())
    return dict(total)


PROCEDURES: dict[str, Callable[[Cell, Rng], Counts]] = {
    SIZES: sizes,
    CAUCHY: cauchy_rules,
    NAIVE: naive,
    COVARIATES: score,
    PERMUTED: permutation,
    FAMILY: columns,
    GROUPED: groups,
    EXCHANGE: exchange,
    VERBS: rank_verbs,
    POWER: power,
    WHERE: references,
    FEW_ROWS: few_rows,
    EXPLAIN: explained,
}
WHOLE: dict[str, Callable[[Cell, Rng], Counts]] = {BANDS: bands, WEIGHTED: weighted_pit}
CURVES = ("ecdf_difference", "rank_histogram", "central coverage", "hpd coverage")
JUDGED: dict[str, tuple[str, ...]] = {
    SIZES: METHODS,
    CAUCHY: CAUCHY_METHODS,
    NAIVE: ("ks",),
    COVARIATES: (COVARIATES,),
    PERMUTED: (PERMUTED,),
    FAMILY: (*(f"Holm, {method}" for method in JUDGED_BY), "ecdf_difference"),
    GROUPED: (GROUPED,),
    EXCHANGE: ("band", "smooth", "chi2"),
    WEIGHTED: ("y_weight",),
    EXPLAIN: (EXPLAIN,),
}
"""What of a procedure is to be at most 5 % where draws are calibrated; the rest is shown beside it."""


class Rate(NamedTuple):
    """How often something was seen, and what is asked: at most a share, exactly a share, or one that is quoted."""

    count: int
    trials: int
    asked: float = LEVEL
    kind: str = "at most"  # "exactly", "quoted", "shown"

    def verdict(self) -> str:
        """Return PASS, low (a test that rejects too seldom is no error), FAIL, or for what is quoted off or nothing."""
        if self.kind == "shown":
            return ""
        if self.kind == "quoted":
            both = (self.count + self.asked * QUOTED_REPEATS) / (self.trials + QUOTED_REPEATS)
            error = math.sqrt(both * (1 - both) * (1 / self.trials + 1 / QUOTED_REPEATS))
            rounding = 0.005 + 0.5 / self.trials
            return "off" if abs(self.count / self.trials - self.asked) > NORMAL_QUANTILE * error + rounding else ""
        low, high = binom.interval(RANGE, self.trials, self.asked)
        if self.count > high or (self.kind == "exactly" and self.count < low):
            return "FAIL"
        return "low" if self.count < low else "PASS"

    def fails(self) -> bool:
        return self.verdict() in ("FAIL", "off")

    def shown(self, *, covered: bool = False) -> str:
        """Return the share with its standard error, of the others if `covered`."""
        rate = 1 - self.count / self.trials if covered else self.count / self.trials
        return f"{rate:.4f} ± {math.sqrt(rate * (1 - rate) / self.trials):.4f} {self.verdict()}".rstrip()


NORMAL_QUANTILE = 3.2905  # of 99.9 %, both sides


def judged(cell: Cell, counts: Counts) -> dict[str, Rate]:
    """Return what of a cell is judged."""
    if cell.procedure == BANDS:
        return {
            name: Rate(int(counts.get(name, 0)), cell.repeats, 1 - counts[f"{name}, attained"], "exactly")
            for name in CURVES
        }
    if cell.procedure in (VERBS, FEW_ROWS, POWER, WHERE) and cell.truth == CALIBRATED:
        names = tuple(name for name in counts if name.endswith(JUDGED_BY))
        found = {name: Rate(int(counts[name]), cell.repeats) for name in names}
    else:
        names = JUDGED.get(cell.procedure, ())
        found = {name: Rate(int(counts.get(name, 0)), cell.repeats) for name in names}
    if (cell.procedure, cell.design) == (POWER, "D = 3") or cell.procedure == WHERE:
        found |= {f"{name}, quoted": rate for name, rate in compared(cell, counts).items()}
    return found


def compared(cell: Cell, counts: Counts) -> dict[str, Rate]:
    """Return the powers beside those that are quoted."""
    at = TRUTHS.index(cell.truth)
    return {
        key: Rate(int(counts[key]), cell.repeats, quoted[at][k], "quoted")
        for rank, quoted in QUOTED_POWER.items()
        for k, method in enumerate(JUDGED_BY)
        if (key := f"{rank}, {method}") in counts
    }


def failing(found: Mapping[Cell, Counts]) -> list[tuple[Cell, str]]:
    """Return the cells, and what of them, that do not hold what is asked."""
    return [
        (cell, name) for cell, counts in found.items() for name, rate in judged(cell, counts).items() if rate.fails()
    ]


def longer(cell: Cell) -> Cell:
    """Return the cell with more repeats, which are new ones: the stream of a cell depends on their number."""
    return replace(cell, repeats=AGAIN * cell.repeats)


class Found:
    """Counts of cells by what was simulated."""

    def __init__(self, found: Mapping[Cell, Counts]) -> None:
        self.cells = {(c.procedure, c.design, c.n, c.truth): (c, counts) for c, counts in found.items()}

    def cell(self, procedure: str, design: str, n: int, truth: str = CALIBRATED) -> tuple[Cell, Counts]:
        return self.cells[procedure, design, n, truth]

    def rate(self, procedure: str, design: str, n: int, name: str, truth: str = CALIBRATED) -> Rate:
        """Return a rate as it is judged, or as it is shown if it is not."""
        cell, counts = self.cell(procedure, design, n, truth)
        return judged(cell, counts).get(name, Rate(int(counts.get(name, 0)), cell.repeats, kind="shown"))


def show_sizes(report: Report, found: Found) -> None:
    report.section("Level of tests of ranks: share of rejections at 5 %, uniform ranks")
    rows = []
    for M, n in product(DRAWS, ROWS):
        cell, _ = found.cell(SIZES, f"M = {M}", n)
        rates = [found.rate(SIZES, f"M = {M}", n, method).shown() for method in METHODS]
        rows.append([f"M = {M}", f"{n:,}", *rates, f"{cell.repeats:,}"])
    report.table(["", "n", *METHODS, "repeats"], rows)


def show_cauchy(report: Report, found: Found) -> None:
    report.section("The same of the Cauchy rules, which are made for dependent values and small p, at 5 % and 1 %")
    rows = []
    for design, n in (("M = 9", 100), ("M = 9", 1000), ("M = 99", 100), ("M = 99", 1000), ("M = 99", 10_000)):
        rates = [found.rate(CAUCHY, design, n, method).shown() for method in CAUCHY_METHODS]
        rates += [found.rate(CAUCHY, design, n, f"{method}, {SMALL:g}").shown() for method in CAUCHY_METHODS]
        rows.append([design, f"{n:,}", *rates, f"{found.cell(CAUCHY, design, n)[0].repeats:,}"])
    report.table(["", "n", *CAUCHY_METHODS, *(f"{method}, 1 %" for method in CAUCHY_METHODS), "repeats"], rows)


def show_naive(report: Report, found: Found) -> None:
    report.section("What is not uniform: Kolmogorov-Smirnov tests of calibrated ranks at 5 %")
    rows = []
    for k, (n, M) in enumerate(NAIVE_CASES):
        row = [f"M = {M}", f"{n:,}", found.rate(NAIVE, f"M = {M}", n, "ks").shown()]
        for name, quoted in QUOTED_NAIVE.items():
            row += [found.rate(NAIVE, f"M = {M}", n, name).shown(), f"{quoted[k]:.2f}"]
        rows.append(row)
    report.table(["", "n", "rank_edf_test", "r/M", "quoted", "(r + 1/2)/(M + 1)", "quoted"], rows)


def show_covariates(report: Report, found: Found) -> None:
    report.section("Level of tests of ranks against covariates: share of rejections at 5 %")
    rows = []
    for design in COVARIATE_DESIGNS:
        rates = [found.rate(COVARIATES, design, n, COVARIATES).shown() for n in (50, *ROWS)]
        rows.append([f"score, {design}", *rates])
    some = [found.rate(PERMUTED, "M = 9, 3 normal", n, PERMUTED).shown() for n in (50, 1000)]
    rows.append(["permutation, M = 9, 3 normal", some[0], "", some[1], ""])
    report.table(["", *(f"n = {n:,}" for n in (50, *ROWS))], rows)
    report.say(f"Quoted for 50 rows and 9 draws: {QUOTED_SCORE:.2f}.")


def show_verbs(report: Report, found: Found) -> None:
    report.section("Level of rank verbs: share of rejections at 5 %, calibrated vectors, D = 3, band/smooth")
    cases = [(f"M = {M}", n) for n, M in VERB_CASES]
    rows = []
    for name in (*RANKED, *MORE_JOINT, AGAINST):
        row = [name]
        for design, n in cases:
            counts = found.cell(VERBS, design, n)[1]
            rates = [
                found.rate(VERBS, design, n, key) if (key := f"{name}, {method}") in counts else None
                for method in JUDGED_BY
            ]
            row.append(shown_pair(rates) if any(rates) else "")
        rows.append(row)
    rows.append(["repeats", *(f"{found.cell(VERBS, design, n)[0].repeats:,}" for design, n in cases)])
    report.table(["", *(f"{design}, n = {n:,}" for design, n in cases)], rows)
    report.say("Columns of the marginals are judged together (Holm). Empty: not measured, for the time it takes.")


def show_few(report: Report, found: Found) -> None:
    report.section(f"Level of tarp_ranks with few rows: share of rejections at 5 %, D = 3, M = {FEW_DRAWS}")
    keys = [f"{name}, {method}" for name in (OTHER, FITTED) for method in JUDGED_BY]
    rows = [
        [f"{q} covariates", f"{n:,}", *(found.rate(FEW_ROWS, f"{q} covariates", n, key).shown() for key in keys)]
        for n, q in FEW_CASES
    ]
    report.table(["", "n", *keys], rows)


def shown_pair(rates: list[Rate | None]) -> str:
    """Return two shares, and verdicts other than PASS."""
    marks = dict.fromkeys(rate.verdict() for rate in rates if rate is not None and rate.verdict() != "PASS")
    return " ".join(["/".join("-" if rate is None else f"{rate.count / rate.trials:.3f}" for rate in rates), *marks])


def show_bands(report: Report, found: Found) -> None:
    report.section("Bands of level 0.95: attained as the verb says, and share of simulated curves inside")
    rows = []
    for n, M in BAND_CASES:
        cell, counts = found.cell(BANDS, f"M = {M}", n)
        for name in CURVES:
            rate, attained = found.rate(BANDS, f"M = {M}", n, name), counts[f"{name}, attained"]
            pointwise = found.rate(BANDS, f"M = {M}", n, f"{name}, pointwise").shown(covered=True)
            quoted = QUOTED_POINTWISE.get((n, M)) if name in ("ecdf_difference", "hpd coverage") else None
            mark = report.mark(attained >= 1 - LEVEL)
            shown = [f"{attained:.6f} {mark}", rate.shown(covered=True), pointwise, f"{quoted:.3f}" if quoted else ""]
            rows.append([f"{name}, M = {M}", f"{n:,}", *shown])
    report.table(["", "n", "attained", "simulated", f"±{SEEN} sd", "quoted"], rows)
    report.say(f"{cell.repeats:,} curves. PASS: the simulated share is that attained; attained at least 0.95.")


def show_power(report: Report, found: Found) -> None:
    for design in POWER_DESIGNS:
        cell, _ = found.cell(POWER, design, POWER_ROWS, CALIBRATED)
        title = (
            f"Which rank sees what: {design}, N = {POWER_ROWS}, M = {POWER_DRAWS}, {cell.repeats} repeats, band/smooth"
        )
        report.section(title)
        report.table(["", *("none" if truth == CALIBRATED else truth for truth in TRUTHS)], power_rows(found, design))
        if design == "D = 3":
            report.say("In brackets what is quoted.")
        if "skewed" in design:
            report.say(
                "Skewed noise: exponential coordinates, Gaussian copula. The energy of its climatology is that of a"
            )
            report.say("Gaussian distribution with the same moments, and the likelihood that of Gaussian noise.")


def power_rows(found: Found, design: str) -> list[list[str]]:
    names = (*RANKED, AGAINST)
    return [[name, *(power_pair(found, (POWER, design), name, truth) for truth in TRUTHS)] for name in names]


def power_pair(found: Found, which: tuple[str, str], name: str, truth: str) -> str:
    """Return two powers, what is quoted of them if anything, and verdicts other than PASS."""
    cell, counts = found.cell(*which, POWER_ROWS, truth)
    asked = judged(cell, counts)
    rates = [
        found.rate(*which, POWER_ROWS, key, truth) if (key := f"{name}, {method}") in counts else None
        for method in JUDGED_BY
    ]
    quoted = [asked.get(f"{name}, {method}, quoted") for method in JUDGED_BY]
    marks = dict.fromkeys(rate.verdict() for rate in [*rates, *quoted] if rate is not None)
    shown = "/".join("-" if rate is None else f"{rate.count / rate.trials:.2f}" for rate in rates)
    if any(quoted):
        shown += " (" + "/".join("-" if rate is None else f"{rate.asked:.2f}" for rate in quoted) + ")"
    return " ".join([shown, *(mark for mark in marks if mark in ("FAIL", "off", "low"))])


def show_where(report: Report, found: Found) -> None:
    report.section("Where references lie: TARP, D = 3, other references, band/smooth (quoted)")
    rows = [
        [name, *(power_pair(found, (WHERE, name), quoted, truth) for truth in WHERE_TRUTHS)]
        for name, (quoted, _) in REFERENCES.items()
    ]
    report.table(["", *("none" if truth == CALIBRATED else truth for truth in WHERE_TRUTHS)], rows)
    report.say(
        "The quoted table does not say where they lay. Those of tarp_ranks(covariates=...) scatter about x with the"
    )
    report.say("correlation of the noise, which shows errors of correlation; noise here is N(0, I).")


def show_family(report: Report, found: Found) -> None:
    report.section("Several columns: share of sets in which one of the calibrated columns is rejected at 5 %")
    names = (*JUDGED[FAMILY], "unadjusted")
    rows = [[name, *(found.rate(FAMILY, name, FAMILY_ROWS, each).shown() for each in names)] for name in FAMILY_DESIGNS]
    report.table([f"n = {FAMILY_ROWS}, M = {FAMILY_DRAWS}", *names], rows)
    report.say()
    rows = [
        [name, *(found.rate(EXCHANGE, name, 100, each).shown() for each in JUDGED[EXCHANGE])]
        for name in EXCHANGE_DESIGNS
    ]
    report.table([f"exchange, n = 100, {RESAMPLES} sets", *JUDGED[EXCHANGE]], rows)
    report.say()
    rows = [[f"M = {M}", *(found.rate(GROUPED, f"M = {M}", n, GROUPED).shown() for n in (200, 1000))] for M in (9, 99)]
    report.table([f"{GROUPS} groups, band", "n = 200", "n = 1,000"], rows)


def show_weighted(report: Report, found: Found) -> None:
    report.section(
        f"pit of weighted draws: Kolmogorov-Smirnov tests at 5 %, n = {WEIGHTED_ROWS:,}, and error of u's distribution"
    )
    rows = []
    for proposal, M in product(designs.PROPOSALS, WEIGHTED_DRAWS):
        design = f"{proposal}, M = {M}"
        cell, counts = found.cell(WEIGHTED, design, WEIGHTED_ROWS)
        ess = counts["ESS"] / cell.repeats
        level = found.rate(WEIGHTED, design, WEIGHTED_ROWS, "y_weight").shown()
        without = found.rate(WEIGHTED, design, WEIGHTED_ROWS, "mean weight").shown()
        error, inside = counts["mean weight, error"], counts["mean weight, error inside"]
        errors = [f"{counts['y_weight, error']:.4f}", without, f"{error:.4f}", f"{inside:.4f}"]
        rows.append([design, f"{ess:.1f}", level, *errors, f"{error * ess:.2f} {report.mark(error * ess <= 1)}"])
    header = ["proposal", "ESS", "with y_weight", "error", "without", "error", "0.1 to 0.9", "error x ESS"]
    report.table(header, rows)
    report.say(
        f"Error: largest |P(u <= t) - t|, of {cell.repeats * WEIGHTED_ROWS:,} rows. Target N(0, 1), proposals N(a, b²)"
    )
    listed = ", ".join(f"{ab} ({name})" for name, ab in designs.PROPOSALS.items())
    report.say(f"with (a, b) = {listed}; weights of the second are unbounded.")
    report.say(f"Without y_weight the error is to be at most 1/ESS. Quoted: {QUOTED_WEIGHTED} with 9 draws, ESS 7.")


def show_explain(report: Report, found: Found) -> None:
    report.section(f"explain: share of calibrated sets that are said to depart from calibration, {EXPLAIN_ROWS} rows")
    rows = []
    for name in EXPLAIN_DESIGNS:
        cell, _ = found.cell(EXPLAIN, name, EXPLAIN_ROWS)
        rows.append([name, found.rate(EXPLAIN, name, EXPLAIN_ROWS, EXPLAIN).shown(), f"{cell.repeats:,}"])
    report.table(["", "not 'none'", "repeats"], rows)


def show_again(report: Report, found: Mapping[Cell, Counts], again: Mapping[Cell, Counts]) -> None:
    doubtful = failing(found)
    marked = sum(len(judged(cell, counts)) for cell, counts in found.items())
    report.section(f"Marked FAIL or off ({len(doubtful)} of {marked}), measured again with {AGAIN} times the repeats")
    rows = []
    for cell, name in doubtful:
        first, second = (judged(c, of[c])[name] for c, of in ((cell, found), (longer(cell), again)))
        mark = report.mark(not second.fails())
        which = f"{cell.procedure}, {cell.design}, {cell.truth}"
        rows.append(
            [
                f"{name}; {which}",
                f"{cell.n:,}",
                f"{first.asked:.4g}",
                first.shown(),
                f"{second.trials:,}",
                second.shown(),
                mark,
            ]
        )
    report.table(["rate", "n", "asked", "first", "trials", "again", ""], rows)


def show_setting(report: Report) -> None:
    report.say()
    report.say("Uniform ranks are drawn as such: a test of ranks does not know what they came from.")
    rho, bias = designs.CORRELATION, designs.BIAS
    report.say(f"Vectors: y = x + e, x standard normal, e with deviations 1 and correlation {rho}; draws x + e'. Wrong")
    report.say(f"draws: e' times 1.15 or 0.87; the first coordinate moved by {bias}; e' uncorrelated; climatology,")
    report.say("which has the x of other rows.")
    report.say("Quoted: what the definitions of calibrant say.")
    report.say("Each rate has its Monte Carlo standard error. FAIL: above, low: below the binomial range of 99.9 %")
    report.say(
        "around 5 % of errors; off: farther from a quoted power than chance in both allows, 99.9 %. What fails is"
    )
    report.say(f"measured again with {AGAIN} times the repeats, and that decides.")


SHOWN = (
    show_sizes,
    show_cauchy,
    show_naive,
    show_covariates,
    show_verbs,
    show_few,
    show_bands,
    show_power,
    show_where,
    show_family,
    show_weighted,
    show_explain,
)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time, and return the report."""
    found = run(measure, cells, state, processes=processes)
    doubtful = list(dict.fromkeys(longer(cell) for cell, _ in failing(found)))
    again = run(measure, doubtful, state, processes=processes)
    report = Report("Validity of ranks of draws", packages=["numpy", "scipy"])
    show_setting(report)
    by_name = Found(found)
    for show in SHOWN:
        show(report, by_name)
    if again:
        show_again(report, found, again)
    report.say()
    report.say(f"{report.failures} targets not met")
    return report


if __name__ == "__main__":
    raise SystemExit(command("samples", "Level, power and bands of ranks of draws.", plan, simulate))
