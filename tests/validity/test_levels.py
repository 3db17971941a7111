"""A small version of `benchmarks/validity`: levels of tests on data of calibrated predictions, with fixed seeds.

Every cell also shows that its bound has teeth: with p-values that are half of what they should be it is exceeded.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

import calibrant as cb
from calibrant import points, ranking, regions

Rng = np.random.Generator
LEVELS = (0.05, 0.01)
RANGE = 0.999  # of the binomial distribution around the level
REDRAWS, MORE_REDRAWS = 99, 199


def most(level: float, repeats: int) -> int:
    """Return the number of rejections that chance makes of the level."""
    return int(binom.ppf((1 + RANGE) / 2, repeats, level))


def rejections(pvalues: np.ndarray, level: float) -> int:
    return int(np.count_nonzero(pvalues <= level + 1e-12))


class Cell(NamedTuple):
    """A test with a p-value for one data set of calibrated predictions, and how many data sets."""

    pvalue: Callable[[Rng], float]
    repeats: int


# Scores


def fence(rng: Rng) -> np.ndarray:
    """Return scores of 0.5, where Spiegelhalter's statistic has no variance, and a few rare ones that carry it all."""
    return np.where(np.arange(450) < 50, 0.0035, 0.5)


def zeros(rng: Rng) -> np.ndarray:
    return np.where(rng.random(300) < 0.92, 0.0, rng.random(300))


def rare(rng: Rng) -> np.ndarray:
    return np.exp(rng.uniform(np.log(0.001), np.log(0.02), 400))


uniform, few = partial(np.random.Generator.random, size=150), partial(np.random.Generator.random, size=40)
three = partial(np.random.Generator.choice, a=[0.1, 0.35, 0.8], size=200)


def binary(test: Callable[..., Any], scores: Callable[[Rng], np.ndarray], **options: Any) -> Callable[[Rng], float]:
    def pvalue(rng: Rng) -> float:
        p = scores(rng)
        return test((rng.random(p.size) < p).astype(int), p, rng=rng, **options).pvalue

    return pvalue


def weighted(rng: Rng) -> float:
    p = rng.random(150)
    y = (rng.random(p.size) < p).astype(int)
    return cb.calibration_test(y, p, weights=rng.lognormal(size=p.size), resamples=MORE_REDRAWS, rng=rng).pvalue


def classes(rng: Rng) -> float:
    P = rng.dirichlet(np.ones(5), 60)
    y = (rng.random((60, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=4)
    return cb.skce_test(y, P, method="resample", resamples=REDRAWS, rng=rng).pvalue


# Intervals, draws, points


def interval_rows(rng: Rng, n: int, level: float) -> tuple[np.ndarray, cb.Intervals]:
    s = rng.lognormal(size=n)
    hit = rng.random(n) < level
    return np.where(hit, rng.uniform(-1, 1, n), 1.5) * s, cb.Intervals(-s, s, level)


def nested(rng: Rng) -> float:
    half = np.tile([0.6745, 1.2816, 1.96], (100, 1))
    exact = cb.Intervals(-half, half, (0.5, 0.8, 0.95))
    return regions.multinomial_coverage_test(rng.normal(size=100), exact, resamples=REDRAWS, rng=rng).pvalue


def hsic(rng: Rng) -> float:
    return regions.coverage_hsic_test(*interval_rows(rng, 60, 0.8), resamples=REDRAWS, rng=rng).pvalue


def christoffersen(rng: Rng) -> float:
    return regions.christoffersen_test(*interval_rows(rng, 50, 0.8)).pvalue


def conformal(rng: Rng) -> float:
    """Split conformal intervals of 100 scores: a plain binomial test would reject most of them."""
    q = np.sort(np.abs(rng.normal(size=100)))[90]
    given = cb.Intervals(np.full(2000, -q), np.full(2000, q), 0.9)
    return cb.coverage_test(rng.normal(size=2000), given, calibration_size=100).pvalue


def ranked(test: Callable[..., Any], **options: Any) -> Callable[[Rng], float]:
    def pvalue(rng: Rng) -> float:
        both = rng.normal(size=(80, 1)) + rng.normal(size=(80, 20))
        given = {**options, "covariates": rng.normal(size=80)} if "covariates" in options else options
        return float(np.min(test(both[:, 0], cb.Samples(both[:, 1:]), rng=rng, **given).pvalue))

    return pvalue


def mmd(rng: Rng) -> float:
    return points.mmd_test(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), resamples=REDRAWS, rng=rng).pvalue


def c2st(rng: Rng) -> float:
    return points.c2st(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), resamples=REDRAWS, rng=rng).pvalue


CELLS = {
    "calibration_test, uniform": Cell(binary(cb.calibration_test, uniform, resamples=MORE_REDRAWS), 1000),
    "calibration_test, fence": Cell(binary(cb.calibration_test, fence, resamples=MORE_REDRAWS), 800),
    "calibration_test, zeros": Cell(binary(cb.calibration_test, zeros, resamples=MORE_REDRAWS), 600),
    "calibration_test, rare": Cell(binary(cb.calibration_test, rare, resamples=MORE_REDRAWS), 500),
    "calibration_test, weights": Cell(weighted, 600),
    "kuiper_test": Cell(binary(cb.kuiper_test, uniform, resamples=REDRAWS), 1000),
    "kuiper_test, three scores": Cell(binary(cb.kuiper_test, three, null="monte-carlo", resamples=REDRAWS), 1000),
    "kolmogorov_smirnov_test": Cell(binary(cb.kolmogorov_smirnov_test, uniform, resamples=REDRAWS), 1000),
    "spiegelhalter_test": Cell(binary(cb.spiegelhalter_test, uniform, resamples=REDRAWS), 1000),
    "consistency_test": Cell(binary(cb.consistency_test, few, metric="ece", resamples=19), 400),
    "skce_test, binary": Cell(binary(cb.skce_test, uniform, method="resample", resamples=REDRAWS), 600),
    "skce_test, classes": Cell(classes, 500),
    "cme_test": Cell(binary(cb.kernel_errors.cme_test, few, resamples=REDRAWS), 300),
    "multinomial_coverage_test": Cell(nested, 1000),
    "coverage_hsic_test": Cell(hsic, 500),
    "christoffersen_test": Cell(christoffersen, 300),
    "coverage_test, conformal": Cell(conformal, 1000),
    "uniformity_test": Cell(ranked(cb.uniformity_test), 1000),
    "rank_smooth_test": Cell(ranked(ranking.rank_smooth_test, resamples=REDRAWS), 1000),
    "rank_chi2_test": Cell(ranked(ranking.rank_chi2_test, resamples=REDRAWS), 1000),
    "rank_edf_test": Cell(ranked(ranking.rank_edf_test, method="ad"), 1000),
    "rank_score_test": Cell(ranked(ranking.rank_score_test, covariates=None), 1000),
    "mmd_test": Cell(mmd, 600),
    "c2st": Cell(c2st, 600),
}


@cache
def pvalues(name: str) -> np.ndarray:
    return drawn(CELLS[name])


def drawn(cell: Cell) -> np.ndarray:
    rng = np.random.default_rng(20_250_117)
    return np.array([cell.pvalue(rng) for _ in range(cell.repeats)])


@pytest.mark.parametrize("name", CELLS)
def test_calibrated_predictions_are_rejected_no_more_often_than_the_level_says(name: str) -> None:
    found = pvalues(name)
    rates = {level: rejections(found, level) for level in LEVELS}
    assert rates == {level: min(count, most(level, found.size)) for level, count in rates.items()}


@pytest.mark.parametrize("name", CELLS)
def test_the_bound_is_exceeded_by_pvalues_that_are_too_small(name: str) -> None:
    halved = pvalues(name) / 2
    assert any(rejections(halved, level) > most(level, halved.size) for level in LEVELS)


def test_spiegelhalter_redraws_where_its_limit_distribution_is_off() -> None:
    redrawn, limit = (
        Cell(binary(cb.spiegelhalter_test, fence, null=null, resamples=REDRAWS), 1000)
        for null in ("auto", "asymptotic")
    )
    assert rejections(drawn(redrawn), 0.05) <= most(0.05, redrawn.repeats)
    assert rejections(drawn(limit), 0.05) > 2 * most(0.05, limit.repeats)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("test", [cb.coverage_test, regions.kupiec_test], ids=lambda test: test.__name__)
def test_tests_of_coverage_have_at_most_their_level_added_up_over_all_numbers_of_hits(
    test: Callable[..., Any], level: float
) -> None:
    n = 60
    k = np.arange(n + 1)
    given = cb.Intervals(np.full(n, -1.0), np.ones(n), level)
    found = np.array([test(np.where(np.arange(n) < hits, 0.0, 2.0), given).pvalue for hits in k])
    for bound in LEVELS:
        assert float(binom.pmf(k, n, level)[found <= bound].sum()) <= bound + 1e-9
