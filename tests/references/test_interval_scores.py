"""Reference values of coverage, width and scores of intervals and quantiles, to the tolerance stated beside each."""

import numpy as np
import pytest
from tests.references.books import by_id
from tests.references.intervals import DATA, intervals_of, sets_of

import calibrant as cb
from calibrant.core.catalogue import find
from calibrant.regions.coverage import coverage, coverage_width_criterion
from calibrant.regions.width import width
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

CASES = by_id("intervals")
inf = np.inf


def of_quantiles():
    data = DATA["quant12"]
    return np.array(data["y"]), cb.Quantiles(data["values"], data["levels"])


def of_point():
    data = DATA["toy5_point"]
    return np.array(data["point"]), cb.Intervals(data["lower"], data["upper"], data["level"])


def rows_of(verb, y, prediction, **options):
    entry = find(verb)
    return entry.row_scores(entry.read(y, prediction), entry.parse(options))


def scores_by_level(y, intervals):
    parts = ("total", "width", "below", "above")
    values = {part: interval_score(y, intervals, part=part) for part in parts}
    rows = rows_of(interval_score, y, intervals)
    return {
        f"{level:g}": {**{part: values[part][k] for part in parts}, "per_row": rows[:, k]}
        for k, level in enumerate(intervals.levels)
    }


def weighted_scores(y, quantiles):
    parts = ("total", "dispersion", "below", "above")
    values = {part: weighted_interval_score(y, quantiles, part=part) for part in parts}
    return {**values, "per_row": rows_of(weighted_interval_score, y, quantiles)}


def without_median(y, quantiles):
    intervals = quantiles.intervals()
    total = weighted_interval_score(y, intervals)
    return {"total": total, "per_row": rows_of(weighted_interval_score, y, intervals)}


def criteria(y, intervals):
    found = {}
    for k, level in enumerate(intervals.levels):
        for eta in (0, 1, 30, 50):
            variants = ("jensen", "khosravi")
            values = {v: coverage_width_criterion(y, intervals, variant=v, eta=eta)[k] for v in variants}
            found[f"level={level:g}, eta={eta}"] = values
    return found


def sizes_of_sets(_, sets):
    found = {s: width(sets, statistic=s) for s in ("median", "empty_fraction", "singleton_fraction")}
    return {**found, "counts_of_size_0_to_4": [np.bincount(sizes, minlength=5) for sizes in sets.sizes.T]}


def widths(intervals):
    return {s: width(intervals, statistic=s) for s in ("mean", "median", "finite_mean", "finite_fraction")}


TWO = cb.Intervals([1, 1, 1], [3, 3, 3], 0.9)
CROSSED = {"values": [[0, 1, 2], [0, 2, 1.5]], "levels": [0.1, 0.5, 0.9]}
VALUES = {
    "coverage-reg16": lambda: coverage(*intervals_of()),
    "coverage-toy5": lambda: coverage(*intervals_of("toy5")),
    "coverage-toy5-point": lambda: coverage(DATA["toy5"]["y"], of_point()[1]),
    "coverage-closed": lambda: coverage([1, 2, 3], cb.Intervals([1, 0, 3], [2, 2, 3], 0.9)),
    "coverage-weighted": lambda: coverage(*intervals_of(), weights=DATA["weights16"]),
    "coverage-sets16": lambda: coverage(*sets_of()),
    "width-reg16": lambda: width(intervals_of()[1]),
    "width-reg16-median": lambda: width(intervals_of()[1], statistic="median"),
    "width-toy5": lambda: width(intervals_of("toy5")[1]),
    "width-infinite": lambda: widths(cb.Intervals([-inf, 0, 1, 2], [1, 1, inf, 5], 0.9)),
    "width-sets16": lambda: width(sets_of()[1]),
    "width-sets5": lambda: width(sets_of("sets5")[1]),
    "width-sets16-statistics": lambda: sizes_of_sets(*sets_of()),
    "interval-score-reg16": lambda: scores_by_level(*intervals_of()),
    "interval-score-crossed-swap": lambda: interval_score(
        [10, 10, 10, 10], cb.Intervals([5, 15, 12, -5], [15, 25, 8, 0], 0.9, crossed="swap")
    ),
    "wis-quant12": lambda: weighted_scores(*of_quantiles()),
    "wis-no-median": lambda: without_median(*of_quantiles()),
    "wis-shift": lambda: weighted_interval_score(
        of_quantiles()[0] + 100, cb.Quantiles(np.array(DATA["quant12"]["values"]) + 100, DATA["quant12"]["levels"])
    ),
    "quantile-score-quant12": lambda: quantile_score(*of_quantiles()),
    "cwc-reg16": lambda: criteria(*intervals_of()),
    "cwc-toy5": lambda: [coverage_width_criterion(*of_point(), eta=eta) for eta in (30, 0.01, 0)],
    "edge-coverage-infinite": lambda: coverage(
        [0, 5, -7, 3], cb.Intervals([-inf, -inf, -8, 4], [1, inf, inf, inf], 0.9)
    ),
    "edge-crossed-swap": lambda: coverage([1, 2, 3.7], cb.Intervals([0, 0, 4], [1, 2, 3.5], 0.9, crossed="swap")),
    "edge-interval-score-infinite": lambda: {
        part: interval_score([0, 9], cb.Intervals([-inf, 1], [5, 4], 0.8), part=part)
        for part in ("total", "width", "below", "above")
    },
    "edge-quantiles-sorted": lambda: quantile_score([1.0, 1.0], cb.Quantiles(**CROSSED, crossed="sort")),
    "edge-cwc-normalizer": lambda: {
        variant: coverage_width_criterion([2, 2, 2], TWO, normalizer=10, eta=30, variant=variant)
        for variant in ("jensen", "khosravi")
    },
}


def with_nan():
    y, intervals = intervals_of()
    upper = intervals.upper.copy()
    upper[2, 0] = np.nan
    return coverage(y, cb.Intervals(intervals.lower, upper, intervals.levels))


REFUSALS = {
    "edge-crossed": lambda: coverage([1, 2, 3], cb.Intervals([0, 0, 4], [1, 2, 3.5], 0.9)),
    "edge-inverted-infinity": lambda: coverage([1.0], cb.Intervals([inf], [inf], 0.9)),
    "edge-sets-float": lambda: coverage([0, 1], cb.Sets([[0.7, 0.3], [0.4, 0.6]], 0.9)),
    "edge-wis-unpaired": lambda: weighted_interval_score([1.0], cb.Quantiles([[0.0, 1.0, 2.5]], [0.1, 0.5, 0.8])),
    "edge-quantiles-crossed": lambda: quantile_score([1.0, 1.0], cb.Quantiles(**CROSSED)),
    "edge-cwc-constant-y": lambda: coverage_width_criterion([2, 2, 2], TWO),
    "edge-cwc-eta": lambda: coverage_width_criterion(*intervals_of(), eta=-2),
    "edge-nan-bound": with_nan,
    "edge-y-2d": lambda: coverage(intervals_of()[0][:, None], intervals_of()[1]),
    "edge-level-percent": lambda: coverage(
        intervals_of()[0], cb.Intervals(DATA["reg16"]["lower"], DATA["reg16"]["upper"], [80, 95])
    ),
}


def agrees(found, expected, rtol):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            agrees(found[key], expected[key], rtol)
        return
    numbers = np.array(expected, dtype=float)  # float("inf") reads the strings of the file
    assert np.shape(found) == numbers.shape
    np.testing.assert_allclose(found, numbers, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", VALUES)
def test_value(name):
    agrees(VALUES[name](), CASES[name]["expected"], CASES[name]["rtol"])


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, refusal):
    message = refusal(REFUSALS[name])
    assert all(word in message for word in CASES[name]["expected"]["message_mentions"])


def test_sets_without_a_level_have_a_coverage():
    y, sets = sets_of()
    expected = CASES["edge-sets-no-level-ok"]["expected"]["coverage"]
    assert coverage(y, cb.Sets(sets.mask[:, :, 0])) == expected
