"""Regions of covariates: cells, reference values of the largest deviations, and all regions one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.books import book, by_id

from calibrant.inputs.covariates import Covariates, read_covariate_table
from calibrant.ranking.counting import legendre
from calibrant.ranking.region_search import MIN_REGION_ROWS, Axis, RegionSearch, Standardisation

VALUES = {name: case["value"] for name, case in by_id("conditional").items()}
DATA = book("conditional")["data"]["scan"]
X, RANK = np.array(DATA["x"]), np.array(DATA["ranks"])
TABLE = Covariates(X, ((),) * 3, ("a", "b", "c"))
RAW = legendre(DATA["M"])[:2][:, RANK].T
STANDARD = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
ONES = np.ones(len(X))


@pytest.mark.parametrize("g", [16, 8])
def test_cells(g):
    for j in range(3):
        assert Axis(X[:, j], 0, g).code.tolist() == VALUES[f"cells {g}"][j]


@pytest.mark.parametrize(("null", "contrast", "F"), [("contrast", True, STANDARD), ("uniform", False, RAW)])
def test_largest(null, contrast, F):
    scan = RegionSearch(TABLE, None, Standardisation(contrast, ONES))
    assert scan.largest_over_intervals(F).max() == pytest.approx(VALUES[f"intervals, {null}"], rel=1e-9)
    assert scan.largest_over_boxes(F).max() == pytest.approx(VALUES[f"boxes, {null}"], rel=1e-9)
    single = F.astype(np.float32)
    assert scan.largest_over_intervals(single) == pytest.approx(scan.largest_over_intervals(F), rel=1e-4)
    assert scan.largest_over_boxes(single) == pytest.approx(scan.largest_over_boxes(F), rel=1e-4)


def test_best_region():
    scan, best = RegionSearch(TABLE, None, Standardisation(True, ONES)), VALUES["best region"]
    z, place, _ = scan.clearest_interval(STANDARD[:, [best["function"]]])
    assert abs(z) == pytest.approx(VALUES["intervals, contrast"], rel=1e-9)
    assert list(place.covariates) == best["covariates"]
    assert int(scan.rows(place).sum()) in best["rows"]


def one_by_one(table, F, contrast, w):
    """Return the largest |Z| over intervals and over boxes, with a loop over all regions."""
    n = len(F)

    def Z(rows):
        m = rows.sum()
        if m < MIN_REGION_ROWS or (contrast and n - m < MIN_REGION_ROWS):
            return 0.0
        square = m * (1 - m / n) if contrast else (w[rows] ** 2).sum()
        return np.abs((F[rows] if contrast else w[rows, None] * F[rows]).sum(axis=0)).max() / np.sqrt(square)

    def ranges(j, g):
        axis = Axis(table.x[:, j], len(table.labels[j]), g)
        return [(axis.rows(r), bool(axis.is_whole[r])) for r in range(len(axis.ranges))]

    intervals = [rows for j in range(table.q) for rows, _ in ranges(j, 16)]
    intervals += [] if contrast else [~rows for rows in intervals]
    boxes = [
        one & two
        for a, b in combinations(range(table.q), 2)
        for one, whole in ranges(a, 8)
        for two, all_of_it in ranges(b, 8)
        if not whole and not all_of_it
    ]
    return max(map(Z, intervals)), max(map(Z, boxes), default=0.0)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), contrast=st.booleans(), weighted=st.booleans())
def test_every_region_is_looked_at(seed, contrast, weighted):
    rng = np.random.default_rng(seed)
    n = 90
    table = read_covariate_table(
        {"x": rng.normal(size=n).round(1), "k": rng.integers(0, 4, n), "c": rng.choice(list("abc"), n)}, n, None
    )
    F, w = rng.normal(size=(n, 2)), rng.uniform(1, 2, n) if weighted and not contrast else np.ones(n)
    scan = RegionSearch(table, None, Standardisation(contrast, w))
    wF = F * w[:, None]
    found = scan.largest_over_intervals(wF).max(), scan.largest_over_boxes(wF).max()
    assert found == pytest.approx(one_by_one(table, F, contrast, w), rel=1e-9)


def test_among_some_rows_the_others_do_not_count():
    rng = np.random.default_rng(3)
    table = read_covariate_table({"x": rng.normal(size=120), "k": rng.integers(0, 4, 120)}, 120, None)
    left = table.x[:, 0] < np.quantile(table.x[:, 0], 0.75)
    f = np.where(left, rng.normal(size=120), 0.0)
    scan = RegionSearch(table, None, Standardisation(False, np.ones(120))).among(left)
    z, place, _ = scan.clearest_interval(f[:, None])
    rows = scan.rows(place) & left
    assert z == pytest.approx(f[rows].sum() / np.sqrt(rows.sum()), rel=1e-9)
    assert abs(z) == pytest.approx(scan.largest_over_intervals(f[:, None])[0], rel=1e-9)
    assert rows.sum() >= MIN_REGION_ROWS


def test_of_regions_with_the_same_rows_left_the_smallest_is_named():
    x = np.arange(160.0)  # 16 cells of ten rows
    left, f = x >= 40, np.where((x >= 40) & (x < 80), 1.0, 0.0)
    for contrast in (False, True):
        table = read_covariate_table(x, 160, None)
        scan = RegionSearch(table, None, Standardisation(contrast, np.ones(160))).among(left)
        centred = np.where(left, f - contrast * f[left].mean(), 0.0)
        _, place, _ = scan.clearest_interval(centred[:, None])
        assert set(np.flatnonzero(scan.rows(place))) == set(range(40, 80))


def test_cells_of_categories_and_equal_values():
    axis = Axis(np.array([0.0, 1.0, 2.0, 2.0]), 3, 16)
    assert axis.ranges.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert not axis.is_whole.any()
    axis = Axis(np.array([1.0] * 50 + [2.0] * 3), 0, 16)
    assert axis.cells == 2
    assert axis.neighbours.tolist() == [[1.0, 2.0]]
