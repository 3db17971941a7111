"""Sizes in order, with how many rows are covered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.intervals import CASES, DATA, intervals_of, sets_of

from calibrant import Intervals, Sets, coverage
from calibrant.core.pool import pool_rows
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.arrays import is_unit, unit_weights
from calibrant.inputs.kinds import KINDS
from calibrant.regions.sizes import Sizes, read_size_bins, size_groups, size_stratified_coverage


def of(y, prediction, weights=None):
    return Sizes.of(KINDS[prediction.prediction_kind].read(y, prediction, weights=weights))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    lower = rng.integers(-40, 0, (60, 2)) / 8
    upper = lower + rng.integers(0, 20, (60, 2)) / 8
    upper[:3, 1] = np.inf
    return rng.integers(-40, 20, 60) / 8, Intervals(lower, upper, [0.5, 0.9])


def test_by_hand():
    found = of([0.5, 5.0, 0.5, 0.5], Intervals([0.0, 0.0, -1.0, 0.0], [1.0, 1.0, 1.0, np.inf], 0.9))
    table = found.tied(0)
    assert table.size.tolist() == [1.0, 2.0, np.inf]
    assert table.rows.tolist() == [2, 1, 1]
    assert table.hits.tolist() == [1, 1, 1]
    assert table.weight.dtype == table.hit_weight.dtype == np.int64
    assert (found.n, found.L, found.level(0)) == (4, 1, 0.9)
    weighted = of([0.5, 5.0, 0.5], Intervals([0.0, 0.0, -1.0], [1.0, 1.0, 1.0], 0.9), [2.0, 3.0, 0.5]).tied(0)
    assert (weighted.rows.tolist(), weighted.weight.tolist()) == ([2, 1], [5.0, 0.5])
    assert weighted.hit_weight.tolist() == [2.0, 0.5]


def test_a_level_does_not_see_the_bounds_of_another():
    lower, upper = np.array([[0.0, -1e20], [0.0, 0.0]]), np.array([[1.0, 1.0], [1.001, 1.0]])
    found = of([0.5, 0.5], Intervals(lower, upper, [0.5, 0.9]))
    assert found.tied(0).size.tolist() == [1.0, 1.001]


def test_a_chunk_of_float32_brings_its_rounding_along():
    bounds = np.array([0.0, 0.1]), np.array([1.0, 1.1])
    single = of([0.5, 0.5], Intervals(*(b.astype("float32") for b in bounds), 0.9))
    double = of([0.5, 0.5], Intervals(*bounds, 0.9))
    assert (single + double).eps == single.eps > double.eps
    assert (single + double).tied(0).rows.tolist() == [4]


def test_what_does_not_merge(drawn, refusal):
    y, intervals = drawn
    whole, other = of(y, intervals), of(y, intervals.at(0.9))
    assert "Intervals at level 0.5, 0.9 do not merge with sizes of Intervals at level 0.9" in refusal(
        lambda: whole + other, error=SummaryError
    )
    mask = np.ones((2, 3), bool)
    three = of([0, 1], Sets(mask))
    assert "Sets of 3 labels with 1 columns without a level" in refusal(lambda: three + whole, error=SummaryError)
    assert "do not merge" in refusal(lambda: three + of([0], Sets(np.ones((1, 4), bool))), error=SummaryError)
    assert "no level" in refusal(lambda: three.level(0), error=NotApplicableError)


SIZES = st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1.0, 2.0, 3.5, 1e300, np.inf])


@given(st.lists(st.tuples(SIZES, st.booleans()), min_size=1, max_size=40))
def test_counts_of_each_size(drawn):
    size, covered = np.array([s for s, _ in drawn]), np.array([c for _, c in drawn])
    found = pool_rows(covered, size, unit_weights(size.size))
    values, rows = np.unique(size, return_counts=True)
    assert found.score.tolist() == values.tolist()
    assert found.rows.tolist() == rows.tolist()
    assert found.events.tolist() == [int(covered[size == value].sum()) for value in values]
    assert is_unit(found.weight)


def test_weights_are_kept_apart():
    found = pool_rows(np.array([1, 0, 0, 1], bool), np.array([2.0, np.inf, 2.0, 2.0]), np.array([3.0, 1.0, 1.0, 3.0]))
    assert found.score.tolist() == [2.0, 2.0, np.inf]
    assert found.weight.tolist() == [1.0, 3.0, 1.0]
    assert found.rows.tolist() == [1, 2, 1]
    assert found.events.tolist() == [0, 2, 0]


def of_size_groups(size, rows, *, K=0, bins=None, empty="merge"):
    """Return limits and rows of each group."""
    size, rows = np.array(size, dtype=float), np.array(rows)
    found = size_groups(size, rows, K=K, bins=read_size_bins(bins), empty=empty)
    return [*zip(found.low.tolist(), found.high.tolist(), found.sums(rows).tolist(), strict=True)]


def test_equal_counts_end_at_ranks_rounded_up():
    assert [n for *_, n in of_size_groups(range(1, 7), [1] * 6, bins=4)] == [2, 1, 2, 1]
    assert [n for *_, n in of_size_groups(range(16), [1] * 16, bins=5)] == [4, 3, 3, 3, 3]
    assert [n for *_, n in of_size_groups(range(16), [1] * 16)] == [6, 5, 5]
    assert of_size_groups([1, 2, 3, 4, 5, 6], [0.1] * 6, bins=3)[0][:2] == (1, 2)  # as without weights


@pytest.mark.parametrize(
    ("size", "rows", "options", "groups"),
    [
        ([2, 4, 6, 8], [4] * 4, {"bins": 3}, [(2, 4, 8), (6, 6, 4), (8, 8, 4)]),  # tied sizes stay together
        ([1, 2], [2, 2], {"bins": 10}, [(1, 1, 2), (2, 2, 2)]),
        ([5], [7], {"bins": 3}, [(5, 5, 7)]),
        ([0, 1], [5, 5], {"bins": 2}, [(0, 0, 5), (1, 1, 5)]),
        ([1, np.inf], [5, 5], {"bins": 2}, [(1, 1, 5), (np.inf, np.inf, 5)]),
        ([1, 2, 3, 4], [3.0, 1.0, 1.0, 1.0], {"bins": 2}, [(1, 1, 3), (2, 4, 3)]),
        ([0, 1, 3], [1, 2, 4], {"K": 4}, [(0, 1, 3), (2, 2, 0), (3, 3, 4), (4, 4, 0)]),  # sets: each size is a group
        ([0, 1, 3], [1, 2, 4], {"K": 3, "empty": "own"}, [(0, 0, 1), (1, 1, 2), (2, 2, 0), (3, 3, 4)]),
        ([0, 1, 2, 3], [1, 2, 3, 6], {"K": 3, "bins": 4}, [(0, 1, 3), (2, 2, 3), (3, 3, 6)]),
        ([0, 1, 3], [1, 2, 4], {"K": 5, "bins": [(0, 2), (4, 5)]}, [(0, 2, 3), (4, 5, 0)]),
        ([0.5, 1, 3], [1, 2, 4], {"bins": [(0, 1), (1, np.inf)]}, [(0, 1, 3), (1, np.inf, 4)]),
        ([5.0], [2], {"bins": [(1, 2), (7, 8)]}, [(1, 2, 0), (7, 8, 0)]),
    ],
)
def test_groups(size, rows, options, groups):
    assert of_size_groups(size, rows, **options) == groups


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 8))
def test_equal_counts_by_their_definition(drawn, m):
    size = np.sort(np.array(drawn, dtype=float))
    edges = np.unique([size[-(-k * size.size // m) - 1] for k in range(1, m + 1)])
    expected = np.bincount(np.searchsorted(edges, size)).tolist()
    assert [n for *_, n in of_size_groups(*np.unique(size, return_counts=True), bins=m)] == expected


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (10**9, "bins must be at most 10,000,000"),
        ([], "got an empty list"),
        ([1, 2], "a list of ranges (low, high) with 0 <= low <= high, such as [(0, 1), (2, 3)]; got 1"),
        ([(2, 1)], "got (2, 1)"),
        ([(0, 1), (3, np.nan)], "got (3, nan)"),
        ([(0, 2), (1, 3)], "(0, 2) comes before (1, 3)"),
    ],
)
def test_refusals(refusal, bins, words):
    assert words in refusal(of_size_groups, [1, 2], [1, 1], bins=bins)
    assert "share no size" in refusal(of_size_groups, [1, 2], [1, 1], K=3, bins=[(0, 1), (1, 2)])


def table(y, prediction, k, **options):
    """Return limits, rows and coverage of the groups of level k."""
    sizes = Sizes.of(KINDS[prediction.prediction_kind].read(y, prediction))
    columns = sizes.tied(k)
    groups = size_groups(columns.size, columns.weight, K=sizes.K, **{"bins": None, "empty": "merge"} | options)
    n, hits = groups.sums(columns.rows), groups.sums(columns.hits)
    with np.errstate(invalid="ignore"):
        return np.stack([groups.low, groups.high], axis=1).tolist(), n.tolist(), hits / n


@pytest.mark.parametrize(("data", "case"), [("reg16", "ssc-reg16"), ("toy5", "ssc-toy5")])
def test_intervals_of_the_reference(data, case):
    y, prediction = intervals_of(data)
    for bins, levels in CASES[case].items():
        m = int(bins.removeprefix("bins="))
        for k, expected in enumerate(levels):
            _, n, c = table(y, prediction, k, bins=m)
            np.testing.assert_allclose(c, expected["coverage"], rtol=1e-10)
            assert n == expected.get("n", n)
            assert size_stratified_coverage(y, prediction, bins=m)[k] == pytest.approx(expected["score"], rel=1e-10)
            if "violation" in expected:
                found = size_stratified_coverage(y, prediction, bins=m, summary="violation")[k]
                assert found == pytest.approx(expected["violation"], rel=1e-10)


def test_tied_widths_of_the_reference():
    y, prediction = intervals_of("tied16")
    expected = CASES["ssc-ties"]
    rng = np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(16)
        _, n, c = table(np.array(y)[order], prediction.take(order), 0, bins=3)
        assert (c.tolist(), n) == (expected["coverage"], expected["n"])
        assert size_stratified_coverage(np.array(y)[order], prediction.take(order)) == expected["score"]


@pytest.mark.parametrize("data", ["sets16", "sets5"])
@pytest.mark.parametrize("empty", ["own", "merge"])
def test_sets_of_the_reference(data, empty):
    y, prediction = sets_of(data)
    for k, expected in enumerate(CASES[f"ssc-{data}"][empty]):
        limits, n, c = table(y, prediction, k, empty=empty)
        assert limits == [group["size"] for group in expected["groups"]]
        assert n == [group["n"] for group in expected["groups"]]
        np.testing.assert_allclose(c, [float(group["coverage"]) for group in expected["groups"]], rtol=1e-10)
        found = size_stratified_coverage(y, prediction, empty=empty)[k]
        assert found == pytest.approx(expected["score"], rel=1e-10)
        found = size_stratified_coverage(y, prediction, empty=empty, summary="violation")[k]
        assert found == pytest.approx(expected["violation"], rel=1e-10)


@pytest.mark.parametrize("bins", [[(0, 2), (3, 4)], [(0, 1), (2, 3), (4, 4)]])
def test_ranges_of_the_reference(bins):
    y, prediction = sets_of("sets16")
    for k, expected in enumerate(CASES["ssc-sets16-ranges"][str(bins)]):
        _, n, c = table(y, prediction, k, bins=bins)
        np.testing.assert_allclose(c, [float(value) for value in expected["coverage"]], rtol=1e-10)
        assert n == expected["n"]
        found = size_stratified_coverage(y, prediction, bins=bins)[k]
        assert found == pytest.approx(np.nanmin(c))


def test_edge_cases_of_the_reference():
    y, prediction = [0.5, 9.0, 0.5, 0.5], Intervals([0.0] * 4, [1.0, 1.0, 2.0, 2.0], 0.9)
    _, n, c = table(y, prediction, 0, bins=10)
    assert {"coverage": c.tolist(), "n": n} == CASES["edge-ssc-bins-over-distinct"]
    _, n, _ = table(range(6), Intervals([0.0] * 6, np.arange(1.0, 7.0), 0.9), 0, bins=4)
    assert n == CASES["edge-ssc-six-rows"]["n"]


def test_sets_without_a_level(refusal):
    y, mask = DATA["sets16"]["y"], np.array(DATA["sets16"]["mask"])[:, :, 0]
    expected = CASES["edge-sets-no-level-ok"]
    assert coverage(y, Sets(mask)) == expected["coverage"]
    assert size_stratified_coverage(y, Sets(mask)) == pytest.approx(expected["ssc"], rel=1e-10)
    message = refusal(size_stratified_coverage, y, Sets(mask), summary="violation", error=NotApplicableError)
    assert "no level" in message


def test_weights_by_hand():
    # Widths 1 and 2 weigh 1 + 3, width 3 weighs 4: two groups, coverage 3/4 and 1.
    prediction = Intervals([0.0] * 3, [1.0, 2.0, 3.0], 0.9)
    assert size_stratified_coverage([5.0, 1.0, 1.0], prediction, bins=2, weights=[1, 3, 4]) == 0.75
    repeated = np.repeat(np.arange(3), [1, 3, 4])
    rows = np.array([5.0, 1.0, 1.0])[repeated], prediction.take(repeated)
    assert size_stratified_coverage(*rows, bins=2) == 0.75


def test_one_width_gives_the_coverage():
    centre = np.random.default_rng(0).normal(0, 30, 400)
    y = centre + np.random.default_rng(1).normal(size=400)
    prediction = Intervals(centre - 1.1, centre + 1.1, 0.7)  # widths that differ by rounding
    found = of(y, prediction)
    assert found.parts[0].score.size > 1
    assert found.tied(0).rows.tolist() == [400]
    assert size_stratified_coverage(y, prediction, bins=7) == coverage(y, prediction)


def test_infinite_widths_are_a_size():
    prediction = Intervals([0.0, 0.0, -np.inf, 0.0], [1.0, 1.0, 1.0, np.inf], 0.9)
    assert size_stratified_coverage([5.0, 0.5, 0.5, 0.5], prediction, bins=2) == 0.5


def test_small_groups_can_be_left_out(refusal):
    y, prediction = sets_of("sets16")
    kept = size_stratified_coverage(y, prediction, empty="own", min_count=6)
    np.testing.assert_allclose(kept, [2 / 3, 10 / 11])
    message = refusal(size_stratified_coverage, y, prediction, min_count=12, error=NotApplicableError)
    assert "no group has min_count=12 rows; the largest has 9" in message


def test_options_are_checked(refusal):
    y, prediction = intervals_of("reg16")
    assert "min_count must be at least 1" in refusal(size_stratified_coverage, y, prediction, min_count=0)
