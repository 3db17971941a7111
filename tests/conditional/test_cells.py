"""Regions of covariates: cells, reference values of the largest deviations, and all regions one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.books import book, by_id

from calibrant.conditional.cells import CHARGE, MIN_INFORMATION, MIN_REGION_ROWS, Axis, RegionSearch, Rule
from calibrant.inputs.covariates import Covariates, read_covariate_table
from calibrant.ranking.counting import legendre

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


def searched(table, contrast, w, m=2, v=None):
    return RegionSearch(table, None, Rule(w, np.ones((len(w), m)) if v is None else v, contrast))


@pytest.mark.parametrize(("null", "contrast", "F"), [("contrast", True, STANDARD), ("uniform", False, RAW)])
def test_largest(null, contrast, F):
    scan = searched(TABLE, contrast, ONES)
    intervals = [abs(scan.clearest(scan.intervals, np.where(np.arange(2) == k, F, 0)).z) for k in range(2)]
    boxes = [
        abs(box.z) if (box := scan.clearest(scan.boxes, np.where(np.arange(2) == k, F, 0))) else 0 for k in range(2)
    ]
    assert max(intervals) == pytest.approx(VALUES[f"intervals, {null}"], rel=1e-9)
    assert max(boxes) == pytest.approx(VALUES[f"boxes, {null}"], rel=1e-9)
    largest = max(VALUES[f"intervals, {null}"] ** 2, VALUES[f"boxes, {null}"] ** 2 - CHARGE)
    assert scan.largest(F[:, None]).max() == pytest.approx(largest, rel=1e-9)


def test_best_region():
    scan, best = searched(TABLE, True, ONES), VALUES["best region"]
    z, place, column = scan.clearest(scan.intervals, STANDARD)
    assert abs(z) == pytest.approx(VALUES["intervals, contrast"], rel=1e-9)
    assert (list(place.covariates), column) == (best["covariates"], best["function"])
    assert int(scan.rows(place).sum()) in best["rows"]


def one_by_one(table, F, contrast, w, v):
    """Return the largest charged square, with a loop over all regions."""
    n = len(F)

    def square(rows, charge=0.0):
        m, found = rows.sum(), 0.0
        if m < MIN_REGION_ROWS or (contrast and n - m < MIN_REGION_ROWS):
            return 0.0
        for k in range(F.shape[1]):
            scale = m * (1 - m / n) if contrast else (w[rows] ** 2 * v[rows, k]).sum()
            legal = contrast or (w[rows] @ v[rows, k]) ** 2 >= MIN_INFORMATION * scale
            found = max(found, legal * (w[rows] @ F[rows, k]) ** 2 / scale - charge)
        return found

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
    return max([*map(square, intervals), *(square(rows, CHARGE) for rows in boxes)])


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), contrast=st.booleans(), weighted=st.booleans())
def test_every_region_is_looked_at(seed, contrast, weighted):
    rng = np.random.default_rng(seed)
    n = 90
    columns = {"x": rng.normal(size=n).round(1), "k": rng.integers(0, 4, n), "c": rng.choice(list("abc"), n)}
    table = read_covariate_table(columns, n, None)
    F, w = rng.normal(size=(n, 2)), rng.uniform(1, 2, n) if weighted and not contrast else np.ones(n)
    v = np.ones((n, 2)) if contrast else rng.uniform(0, 0.25, (n, 2))
    scan = searched(table, contrast, w, v=v)
    assert scan.largest(F[:, None]).max() == pytest.approx(one_by_one(table, F, contrast, w, v), rel=1e-9)


def test_rare_events_have_no_legal_region():
    x, v = np.arange(100.0), np.full((100, 1), 0.04)
    assert searched(read_covariate_table(x, 100, None), False, np.ones(100), v=v).is_empty
    assert not searched(read_covariate_table(x, 100, None), False, np.ones(100), v=2 * v).is_empty


def test_among_some_rows_the_others_do_not_count():
    rng = np.random.default_rng(3)
    table = read_covariate_table({"x": rng.normal(size=120), "k": rng.integers(0, 4, 120)}, 120, None)
    left = table.x[:, 0] < np.quantile(table.x[:, 0], 0.75)
    f = rng.normal(size=120)
    scan = searched(table, False, np.ones(120), m=1).among(left)
    z, place, _ = scan.clearest(scan.intervals, f[:, None])
    rows = scan.rows(place)
    assert not (rows & ~left).any()
    assert rows.sum() >= MIN_REGION_ROWS
    assert z == pytest.approx(f[rows].sum() / np.sqrt(rows.sum()), rel=1e-9)


def test_of_regions_with_the_same_rows_left_an_interval_is_named():
    x = np.arange(160.0)  # 16 cells of ten rows
    left, f = x >= 40, np.where((x >= 40) & (x < 80), 1.0, 0.0)
    scan = searched(read_covariate_table(x, 160, None), False, np.ones(160), m=1).among(left)
    _, place, _ = scan.clearest(scan.intervals, f[:, None])
    assert set(np.flatnonzero(scan.rows(place))) == set(range(40, 80))
    assert not place.outside


def test_cells_of_categories_and_equal_values():
    axis = Axis(np.array([0.0, 1.0, 2.0, 2.0]), 3, 16)
    assert axis.ranges.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert not axis.is_whole.any()
    axis = Axis(np.array([1.0] * 50 + [2.0] * 3), 0, 16)
    assert axis.cells == 2
    assert axis.neighbours.tolist() == [[1.0, 2.0]]
