"""Size-stratified coverage."""

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant import Intervals, NotApplicableError, Sets, coverage, summarize
from calibrant.inputs.judged import read_judged
from calibrant.metrics.size_stratified_coverage import size_stratified_coverage
from calibrant.primitives.size_groups import size_groups
from calibrant.summaries.sizes import Sizes

BOOK = json.loads((Path(__file__).parents[1] / "references" / "intervals.json").read_text())
DATA, CASES = BOOK["data"], {case["id"]: case["expected"] for case in BOOK["cases"]}


def intervals_of(name):
    given = DATA[name]
    return given["y"], Intervals(given["lower"], given["upper"], given["level"])


def sets_of(name):
    return DATA[name]["y"], Sets(DATA[name]["mask"], DATA[name]["level"])


def table(y, prediction, k, **options):
    """Return limits, rows and coverage of the groups of level k."""
    sizes = Sizes.of(read_judged(y, prediction))
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
    prediction = Intervals(centre - 1.1, centre + 1.1, 0.7)
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


def test_float_for_one_level_array_for_several():
    y, prediction = intervals_of("reg16")
    assert type(size_stratified_coverage(y, prediction.at(0.8))) is float
    assert size_stratified_coverage(y, prediction).shape == (2,)
    assert size_stratified_coverage(y, prediction)[1] == size_stratified_coverage(y, prediction.at(0.95))


def test_batches_add_up():
    y, prediction = intervals_of("reg16")
    parts = [np.arange(5), np.arange(5, 16)]
    total = sum(summarize(size_stratified_coverage, np.array(y)[p], prediction.take(p)) for p in parts)
    assert size_stratified_coverage(total).tolist() == size_stratified_coverage(y, prediction).tolist()


def test_options_are_checked(refusal):
    y, prediction = intervals_of("reg16")
    assert "summary must be one of 'min', 'violation'" in refusal(
        size_stratified_coverage, y, prediction, summary="max"
    )
    assert "min_count must be at least 1" in refusal(size_stratified_coverage, y, prediction, min_count=0)
    assert "Did you mean bins=?" in refusal(size_stratified_coverage, y, prediction, num_bins=3)
    assert "judges Intervals or Sets" in refusal(size_stratified_coverage, y, np.zeros(16))
