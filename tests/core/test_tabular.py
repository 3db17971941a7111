"""Results as data frames."""

import sys

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.results import ConfidenceInterval, TestResult

Y, P = np.array([0, 1, 1, 0] * 100), np.array([0.2, 0.4, 0.9, 0.3] * 100)
BACKENDS = ["pandas", "polars"]


def rows(frame):
    """Return the rows of a data frame of pandas or polars, missing values as None."""
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@pytest.mark.parametrize("backend", BACKENDS)
class TestFrames:
    def test_a_record_is_a_row(self, backend):
        found = cb.decompose(Y, P)
        assert rows(found.to_frame(backend)) == [vars(found)]

    def test_arrays_are_rows_and_tuples_of_them_columns(self, backend):
        shift, spread = np.array([0.125, -1.0]), np.array([1.0, 2.0])
        result = TestResult(spread, np.array([0.25, 0.5]), (shift, spread), "by hand", 3, {"scale": 2.0, "n": 1})
        same = {"method": "by hand", "n": 3, "details_scale": 2.0, "details_n": 1}
        assert rows(result.to_frame(backend)) == [
            {"statistic": 1.0, "pvalue": 0.25, "estimate_1": 0.125, "estimate_2": 1.0, **same},
            {"statistic": 2.0, "pvalue": 0.5, "estimate_1": -1.0, "estimate_2": 2.0, **same},
        ]

    def test_pairs_are_two_columns(self, backend):
        (row,) = rows(cb.direction(Y, P).to_frame(backend))
        assert {"over_bin_low", "over_bin_high", "under_bin_low", "under_bin_high"} < set(row)

    def test_audits_claims_and_tables(self, backend):
        audit = cb.audit(Y, P, groups={"side": np.tile(["a", "b"], 200)}, resamples=19)
        measured = rows(audit.to_frame(backend))
        assert [row["name"] for row in measured] == audit.table["name"]
        ends = [interval and (interval[0], interval[1]) for interval in audit.table["interval"]]
        low = [None if row["interval_low"] is None else (row["interval_low"], row["interval_high"]) for row in measured]
        assert low == ends
        claimed = rows(audit.claims.to_frame(backend))
        assert [row["quantity"] for row in claimed] == [claim.quantity for claim in audit.verdict.claims]
        assert [row["pvalue"] for row in claimed] == [claim.pvalue for claim in audit.verdict.claims]
        assert claimed[0]["where"] == "all rows"
        table = audit.findings.groups
        assert [row["group"] for row in rows(table.to_frame(backend))] == list(table.columns["group"])


@pytest.mark.parametrize(("unloaded", "kind"), [("pandas", "polars"), ("polars", "pandas"), ("", "pandas")])
def test_the_library_that_is_loaded_is_used(unloaded, kind, monkeypatch, require):
    for name in BACKENDS:
        require(name)
    monkeypatch.delitem(sys.modules, unloaded, raising=False)
    frame = ConfidenceInterval(0.1, 0.3, 0.2, 0.95, "by hand", 5).to_frame()
    assert type(frame).__module__.split(".")[0] == kind
    assert list(frame["low"]) == [0.1]
