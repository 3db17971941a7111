"""Histogram of the probability integral transform."""

import numpy as np
import pytest

from calibrant import CdfValues, MvNormal, Normal, Quantiles, Samples, Summary, SummaryError, summarize
from calibrant.curves.pit_histogram import pit_histogram

RNG = np.random.default_rng(0)


def shares(low, high, bins, weights=None):
    return pit_histogram(None, CdfValues(high, below=low), bins=bins, weights=weights).share


def test_rows_are_spread_evenly():
    # [0, 0.5] over bins of 0.25: half each; [0.25, 1] over three bins.
    np.testing.assert_allclose(shares([0.0, 0.25], [0.5, 1.0], 4), [3 / 12, 5 / 12, 2 / 12, 2 / 12], rtol=1e-14)


def test_values_without_spread_count_in_the_bin_they_close():
    u = np.array([0.0, 0.1, 0.3, 0.30000000000000004, 1.0])
    np.testing.assert_allclose(shares(u, u, 10) * 5, [2, 0, 1, 1, 0, 0, 0, 0, 0, 1], atol=1e-15)


def test_weights():
    np.testing.assert_allclose(shares([0.0, 0.5], [0.5, 1.0], 2, weights=[3, 1]), [0.75, 0.25], rtol=1e-15)


def test_columns():
    curve = pit_histogram(None, CdfValues([0.5, 1.0], below=[0.0, 0.0]), bins=2)
    assert curve.kind == "pit_histogram"
    assert curve.n == 2
    np.testing.assert_array_equal(curve.lower, [0.0, 0.5])
    np.testing.assert_array_equal(curve.upper, [0.5, 1.0])
    np.testing.assert_array_equal(curve.share, [0.75, 0.25])
    np.testing.assert_array_equal(curve.expected, [0.5, 0.5])
    np.testing.assert_array_equal(curve.density, [1.5, 0.5])


@pytest.mark.parametrize("bins", [1, 3, 10, 37])
@pytest.mark.parametrize(
    "prediction",
    [
        Normal(np.zeros(50), 1.0),
        Samples(RNG.normal(size=(50, 7)).round(1)),
        Quantiles(np.sort(RNG.normal(size=(50, 3)), axis=1), [0.1, 0.5, 0.9]),
    ],
    ids=lambda prediction: type(prediction).__name__,
)
def test_shares_add_up_and_batches_too(prediction, bins):
    y = RNG.normal(size=50).round(1)
    w = RNG.uniform(1, 2, 50)
    curve = pit_histogram(y, prediction, bins=bins, weights=w)
    assert curve.share.sum() == pytest.approx(1, abs=1e-14)
    assert curve.share.min() >= 0
    pieces = [
        summarize(pit_histogram, y[s], prediction.take(s), bins=bins, weights=w[s]) for s in (slice(0, 9), slice(9, 50))
    ]
    merged = pit_histogram(Summary.from_bytes(sum(pieces).to_bytes()), bins=bins)
    np.testing.assert_allclose(merged.share, curve.share, atol=1e-15)


def test_calibrated_predictions_are_flat():
    rng = np.random.default_rng(1)
    y = rng.normal(size=50_000)
    law = Normal(np.zeros(y.size), 1.0)
    for prediction in (law, Samples(law.sample(6, rng)), law.quantiles([0.025, 0.3, 0.975])):
        np.testing.assert_allclose(pit_histogram(y, prediction).density, 1.0, atol=0.06)


def test_narrow_predictions_make_a_u():
    y = np.random.default_rng(1).normal(size=5000)
    density = pit_histogram(y, Normal(np.zeros(y.size), 0.7)).density
    assert density[0] > 1.5 < density[-1]
    assert density[4] < 0.8


class TestRefusals:
    @pytest.mark.parametrize("bins", [0, 2.5, "cube-root", True])
    def test_bins(self, refusal, bins):
        assert "bins must be" in refusal(pit_histogram, [0.0], Normal(0.0, 1.0), bins=bins)

    def test_too_many_bins(self, refusal):
        assert "at most 1000" in refusal(pit_histogram, [0.0], Normal(0.0, 1.0), bins=1001)

    def test_vectors(self, refusal):
        assert "Pass one coordinate" in refusal(pit_histogram, [[0.0, 0.0]], MvNormal([[0.0, 0.0]], np.eye(2)))

    def test_other_bins_than_the_summary_has(self, refusal):
        summary = summarize(pit_histogram, [0.0], Normal(0.0, 1.0), bins=4)
        assert "options that the summary was made with" in refusal(pit_histogram, summary, error=SummaryError)
