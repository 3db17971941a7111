"""The size of an error: reference values of every case, and worked examples."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.binned import similar_table
from calibrant.core.evidence import ALL_ROWS, Case
from calibrant.core.findings import Setting
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.inputs.probabilities import Binary
from calibrant.judging.judge import judge
from calibrant.probabilities.clusters import Clusters, size_of_clusters
from calibrant.probabilities.evidence import whole_evidence
from calibrant.probabilities.size import information, ranges_off, size_of

CASES = json.loads((Path(__file__).parents[1] / "references" / "size.json").read_text())["cases"]
exactly = {"rel": 1e-12, "abs": 1e-12}


def rows_of(y, p, w=None):
    p = np.asarray(p, np.float64)
    return Binary(np.asarray(y, np.uint8), p, np.ones(p.size) if w is None else np.asarray(w, np.float64))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
class TestReferences:
    def test_size(self, case):
        rows, expected = rows_of(case["y"], case["p"], case["weights"]), case["expected"]
        summary = Ordered.of(rows)
        if case["clusters"] is None:
            known, size = (summary.effective, information(summary)), size_of(summary)
        else:
            labels = np.array(case["clusters"])
            clusters = Clusters.of(rows, labels)
            known, size = (clusters.equal, clusters.information), size_of_clusters(rows, labels, clusters)
        assert known == pytest.approx((expected["effective"], expected["information"]), rel=1e-12)
        assert (size.how, size.ranges, size.table.count.tolist()) == (
            expected["how"],
            expected["bins"],
            expected["counts"],
        )
        assert size.table.upper[:-1].tolist() == expected["last_scores"][:-1]
        assert size.limits.estimate == pytest.approx(expected["estimate"], **exactly)
        low, high = size.limits.at(0.95, "both")
        assert high == pytest.approx(expected["high"], abs=1e-9)
        assert low == pytest.approx(expected["low_if_rejected"], abs=1e-9)

    @pytest.mark.parametrize(("pvalue", "status"), [(0.001, "status_if_rejected"), (0.5, "status_if_not")])
    def test_status_and_ranges(self, case, pvalue, status):
        rows, expected = rows_of(case["y"], case["p"], case["weights"]), case["expected"]
        labels, given = None, {"tolerance": case["tolerance"], "relative": case.get("relative", False)}
        summary, size = Ordered.of(rows), size_of(Ordered.of(rows))
        if case["clusters"] is not None:
            labels = np.array(case["clusters"])
            size = size_of_clusters(rows, labels, Clusters.of(rows, labels))
        setting = Setting(0.95, 99, np.random.default_rng(0), clusters=labels, **given)
        test = TestResult(0.0, pvalue, 0.0, "given", rows.n)
        whole = whole_evidence(summary, size, size.limits, test, setting, subject=ALL_ROWS)
        verdict = judge(Case(whole), setting)
        assert verdict.status == expected[status]
        assert verdict.unit == pytest.approx(expected["unit"])
        beyond = [claim for claim in verdict.claims if claim.subject.kind == "scores" and claim.tolerance is not None]
        if pvalue < 0.05:
            found = sorted(((c.rows, c.expected, c.estimate, c.low, c.high) for c in beyond), reverse=True)
            assert found == [pytest.approx(row[2:], abs=1e-9) for row in expected["ranges_beyond_if_rejected"]]
        else:
            assert (beyond, verdict.claims[0].low) == ([], 0)

    def test_bins_auto(self, case):
        if "square" in case["expected"] and case["clusters"] is None:
            options = {"bins": "auto", "norm": "l2-squared", "debias": True, "weights": case["weights"]}
            assert cb.ece(case["y"], case["p"], **options) == pytest.approx(case["expected"]["square"], **exactly)


def test_by_hand():
    """Twenty rows at 0.5 of which 13 happen: I = 5, so the mean alone; the largest distance is the upper limit's."""
    size = size_of(Ordered.of(rows_of(np.arange(20) < 13, np.full(20, 0.5))))
    low, high = size.limits.at(0.95, "both")
    assert (size.how, size.limits.estimate) == ("mean", pytest.approx(0.15))
    assert (low, high) == (0.0, pytest.approx(0.846091 - 0.5, abs=1e-6))  # Clopper and Pearson: 0.407811 to 0.846091


def test_unequal_weights_need_an_information_of_25():
    rng = np.random.default_rng(0)
    p, w = rng.random(2000), rng.lognormal(size=2000)
    assert information(Ordered.of(rows_of(p < 0.5, p, w))) < 10
    assert size_of(Ordered.of(rows_of(p < 0.5, p, w))) is None
    assert size_of(Ordered.of(rows_of(p < 0.5, p, np.full(2000, 3.0)))).how == "gamma"


@given(st.integers(30, 400), st.integers(0, 10**6), st.sampled_from([1, 2, 9]))
def test_clusters_of_one_row_are_rows(n, seed, digits):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.2, 0.8, max(200, n)).round(digits)
    rows = rows_of(rng.random(p.size) < p, p)
    each = np.arange(p.size)
    alone, clustered = size_of(Ordered.of(rows)), size_of_clusters(rows, each, Clusters.of(rows, each))
    assert clustered.limits.estimate == pytest.approx(alone.limits.estimate, abs=1e-9)
    assert clustered.limits.high(0.025) == pytest.approx(alone.limits.high(0.025), rel=0.1)


def test_cells_are_taken_for_scores():
    """Scores that are edges of cells are alone in their cells: the same ranges, sums and limits as of the rows."""
    rng = np.random.default_rng(0)
    p = rng.integers(1, 100, 3000) / 100
    rows = rows_of(rng.random(3000) < p**1.2, p)
    of_rows, of_cells = (size_of(kind.of(rows)) for kind in (Ordered, Grid))
    assert of_cells.table.sums == pytest.approx(of_rows.table.sums)
    assert of_cells.limits.at(0.95, "both") == pytest.approx(of_rows.limits.at(0.95, "both"))


class TestRanges:
    def test_a_twentieth_is_named_if_it_is_farther_off_than_its_tenth(self):
        """The last twentieth never happens, the others happen as often as stated: half of the last tenth is off."""
        p = (np.arange(2000) + 0.5) / 2000
        y = np.where(p > 0.95, 0, np.random.default_rng(1).random(2000) < p)
        found = ranges_off(Ordered.of(rows_of(y, p)), 0.025)
        assert [(each.low, each.high, each.rows) for each in found] == [(0.89975, 1, 200), (0.94975, 1, 100)]
        last = found[-1]
        assert (last.happens, last.least, last.stated) == (0, 0, pytest.approx(0.975))
        assert last.most == pytest.approx(1 - (0.0125 / 20 / 2) ** (1 / 100))  # no event in 100 rows

    def test_tied_scores_are_ranges_of_their_own(self):
        p = np.repeat([0.0, 0.5, 0.9], [50, 900, 50])
        y = np.concatenate([np.ones(50), np.arange(900) % 2, np.zeros(50)])
        assert [(each.low, each.high) for each in ranges_off(Ordered.of(rows_of(y, p)), 0.025)] == [(0, 0), (0.5, 1)]

    def test_limits_in_all_ranges_hold_together(self):
        """Calibrated rows: a range is named in at most 2.5 % of the sets, so in at most 12 of 200 but for 1 in 400."""
        rng = np.random.default_rng(3)
        p = rng.random(500)
        named = sum(bool(ranges_off(Ordered.of(rows_of(rng.random(500) < p, p)), 0.025)) for _ in range(200))
        assert named <= 12


def test_one_range_for_each_score_joins_no_rare_score():
    p = np.repeat([0.1, 0.5, 0.9], [5, 990, 5])
    assert similar_table(Ordered.of(rows_of(p > 0.5, p))).count.tolist() == [5, 990, 5]
    assert math.isclose(Ordered.of(rows_of(p > 0.5, p, np.where(p > 0.5, 3.0, 1.0))).effective, 1010**2 / 1040)
