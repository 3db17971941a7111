"""The rows sorted and pooled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.bins import COLUMNS, BinTable
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.probabilities import read_binary
from calibrant.summaries import Ordered


def of(y, p, weights=None):
    return Ordered.of(read_binary(y, p, verb="a test", weights=weights))


def test_by_hand():
    found = of([1, 0, 1, 0], [0.5, 0.25, 0.5, 0.5], [1, 1, 2, 2])
    assert found.score.tolist() == [0.25, 0.5, 0.5]
    assert found.weight.tolist() == [1.0, 1.0, 2.0]
    assert found.count.tolist() == [1, 1, 2]
    assert found.events.tolist() == [0, 1, 1]
    assert (found.n, found.weight_max, found.total_weight) == (4, 2.0, 6.0)
    assert found.unique_scores.tolist() == [0.25, 0.5]
    assert found.weight_by_score.tolist() == [1.0, 5.0]
    assert found.event_weight_by_score.tolist() == [0.0, 3.0]


def test_counts_stay_whole_numbers_without_weights():
    found = of([1, 0, 1], [0.5, 0.25, 0.5])
    assert found.weight_by_score.tolist() == [1, 2]
    assert found.weight_by_score.dtype == found.event_weight_by_score.dtype == np.int64
    assert is_unit(found.weight)
    for weights, equal in ((None, True), ([1, 1], True), ([7, 7], True), ([1, 2], False), ([0, 2], True)):
        assert of([0, 1], [0.2, 0.7], weights).has_equal_weights == equal


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=30), st.integers(1, 29))
def test_merge_equals_the_whole(drawn, cut):
    y, p = np.array(drawn).T
    cut = min(cut, len(y) - 1)
    assert of(y[:cut], p[:cut] / 5) + of(y[cut:], p[cut:] / 5) == of(y, p / 5)


def test_merging_weighted_and_unweighted():
    assert of([0], [0.5]) + of([1], [0.5], [3]) == of([0, 1], [0.5, 0.5], [1, 3])
    assert is_unit((of([0], [0.5]) + of([1], [0.25])).weight)


def test_precisions_do_not_mix(refusal):
    single, double = of([0], np.array([0.3], "float32")), of([0], np.array([0.3]))
    message = refusal(lambda: single + double, error=SummaryError)
    assert "float32 and float64" in message
    assert "convert all batches to one type" in message
    assert (Ordered.zero() + single).dtype == "float32"


class TestBins:
    def test_more_than_the_grid_holds(self):
        # (0.5, 0.504] .. : bin 125 of 250 ends at 0.504 and begins after 0.5.
        found = of([1, 1, 0], [0.5, 0.504, 0.5041])
        count = found.bins(found.edges(250, "width")).count
        assert np.flatnonzero(count).tolist() == [124, 125, 126]

    def test_mass(self):
        y, p = [0, 0, 1, 1], np.array([0.1, 0.2, 0.3, 0.4])
        found = of(y, p)
        assert found.edges(2, "mass").tolist() == [0.0, 0.2, 1.0]
        assert found.bins(found.edges(2, "mass")).count.tolist() == [2, 2]
        assert of(y, p, [3, 1, 1, 1]).edges(2, "mass").tolist() == [0.0, 0.1, 1.0]  # half of the weight lies on 0.1
        for dtype in ("float16", "float32"):
            found = of(y, p.astype(dtype))
            assert found.bins(found.edges(4, "mass")).count.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "scores", [[0.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.5, np.nextafter(0.5, 0), 1.0], [0.5, 1.0, 1.0], [1.0, 1.0, 1.0]]
)
def test_means_of_bins_are_all_different(scores):
    """Those of neighbours may round to one number, and verbs take entries of weight 1 for different scores."""
    p = np.array(scores)
    sums = np.zeros((len(COLUMNS), 3))
    sums[:3], sums[COLUMNS.index("wp")] = 1.0, p
    found = Ordered.of_bins(BinTable(np.array([0, 0.3, 0.6, 1.0]), sums), weight=1.0).score
    assert (np.diff(found) > 0).all()
    assert found.min() >= 0
    assert found.max() <= 1
    assert found == pytest.approx(p, abs=1e-15)


def test_an_audit_where_the_means_of_two_cells_round_to_one_number(monkeypatch):
    monkeypatch.setattr("calibrant.core.row_sample.MAX_ROWS_KEPT", 90)
    from calibrant.auditing.job import AuditJob
    from calibrant.inputs.columns import Batch

    edge = 1 / 7
    p = np.r_[np.full(49, edge), np.full(3, np.nextafter(edge, 1)), np.linspace(0.01, 0.99, 40)]
    y = (np.random.default_rng(0).random(p.size) < p).astype(int)
    job = AuditJob(resamples=19)
    assert job.finish(job.part(Batch(y, p))).findings.n == 92
