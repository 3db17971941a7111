"""Reliability curves: the table itself, its options, its words."""

import numpy as np
import pytest

from calibrant import Quantiles, reliability_curve, summarize
from calibrant.errors import SummaryError

COLUMNS = [
    *("lower", "upper", "count", "weight", "mean_predicted", "mean_observed"),
    *("interval_low", "interval_high", "consistency_low", "consistency_high"),
    "outside",
]


class TestTable:
    # (0, 0.25]: 0.125 without and 0.25 with an event; (0.75, 1]: 1 with an event; two bins between are empty.
    curve = reliability_curve([0, 1, 1], [0.125, 0.25, 1.0], bins=4)

    def test_columns(self):
        assert list(self.curve.columns) == COLUMNS
        assert all(column.shape == (4,) for column in self.curve.columns.values())
        assert self.curve.count.dtype == np.int64
        assert (self.curve.kind, self.curve.n, self.curve.level) == ("reliability", 3, 0.95)

    def test_values(self):
        expected = {
            "lower": [0.0, 0.25, 0.5, 0.75],
            "upper": [0.25, 0.5, 0.75, 1.0],
            "count": [2, 0, 0, 1],
            "weight": [2.0, np.nan, np.nan, 1.0],
            "mean_predicted": [0.1875, np.nan, np.nan, 1.0],
            "mean_observed": [0.5, np.nan, np.nan, 1.0],
        }
        for name, column in expected.items():
            np.testing.assert_array_equal(self.curve.columns[name], column)
        # empty bins are NaN in every other column
        for name in COLUMNS[3:-1]:
            assert np.isnan(self.curve.columns[name]).tolist() == [False, True, True, False]
        assert self.curve.outside.dtype == bool
        assert not self.curve.outside[1:3].any()

    def test_always_as_many_rows_as_bins(self):
        assert reliability_curve([1], [0.5]).count.size == 15
        assert reliability_curve([1], [0.5], bins=150).count.sum() == 1

    def test_weights(self):
        curve = reliability_curve([0, 1, 1], [0.125, 0.25, 1.0], bins=4, weights=[1, 3, 2], resamples=19)
        np.testing.assert_array_equal(curve.count, [2, 0, 0, 1])
        np.testing.assert_array_equal(curve.weight, [4.0, np.nan, np.nan, 2.0])
        np.testing.assert_array_equal(curve.mean_predicted, [0.875 / 4, np.nan, np.nan, 1.0])
        np.testing.assert_array_equal(curve.mean_observed, [0.75, np.nan, np.nan, 1.0])

    def test_mass(self):
        curve = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], bins=2, strategy="mass")
        np.testing.assert_array_equal(curve.lower, [0.0, 0.2])
        np.testing.assert_array_equal(curve.upper, [0.2, 1.0])
        np.testing.assert_array_equal(curve.count, [2, 2])

    @pytest.mark.parametrize("dtype", ["float16", "float32"])
    def test_edges_do_not_show_the_precision_of_the_scores(self, dtype):
        curve = reliability_curve([0, 1], np.array([0.3, 0.7], dtype), bins=10)
        assert curve.upper.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
        assert np.flatnonzero(curve.count).tolist() == [2, 6]


class TestIsotonic:
    def test_by_hand(self):
        # Frequencies 1, 0, 1 at 0.25, 0.5, 0.75: the first two pool to 1/2.
        curve = reliability_curve([1, 0, 1], [0.25, 0.5, 0.75], strategy="isotonic", resamples=19)
        assert list(curve.columns) == ["p", "fitted", "weight", "consistency_low", "consistency_high"]
        assert curve.p.tolist() == [0.25, 0.5, 0.75]
        assert curve.fitted.tolist() == [0.5, 0.5, 1.0]
        assert curve.weight.tolist() == [1.0, 1.0, 1.0]
        assert (curve.kind, curve.n) == ("isotonic", 3)
        assert curve.method == "isotonic regression; consistency region from 19 redraws"

    def test_ties_are_pooled_first(self):
        curve = reliability_curve([1, 0, 0, 1], [0.5, 0.5, 0.5, 0.25], strategy="isotonic", resamples=19)
        assert curve.p.tolist() == [0.25, 0.5]
        assert curve.weight.tolist() == [1.0, 3.0]
        assert curve.fitted.tolist() == [0.5, 0.5]

    def test_weights(self):
        curve = reliability_curve([1, 0], [0.25, 0.5], strategy="isotonic", resamples=99, weights=[3, 1])
        assert curve.fitted.tolist() == [0.75, 0.75]


class TestOptions:
    def test_method_names_what_was_done(self, D1):
        w = np.linspace(1, 2, 500)
        assert reliability_curve(*D1).method == "clopper-pearson intervals; consistency band exact"
        assert reliability_curve(*D1, method="wilson").method.startswith("wilson intervals")
        weighted = reliability_curve(*D1, weights=w, resamples=99)
        assert weighted.method == "wilson intervals; consistency band from 99 redraws"

    def test_level_makes_intervals_and_band_wider(self, D1):
        narrow, wide = reliability_curve(*D1, level=0.5), reliability_curve(*D1, level=0.99)
        for low, high in (("interval_low", "interval_high"), ("consistency_low", "consistency_high")):
            assert (wide.columns[low] <= narrow.columns[low]).all()
            assert (wide.columns[high] >= narrow.columns[high]).all()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"resamples": 10}, "resamples must be at least 19"),
            ({"strategy": "isotonic", "method": "wilson"}, "leave it out"),
            ({"weights": [1, 2], "method": "clopper-pearson"}, 'use method="wilson"'),
        ],
    )
    def test_refused(self, refusal, options, words):
        assert words in refusal(reliability_curve, [0, 1], [0.25, 0.5], **options)

    @pytest.mark.parametrize("options", [{"strategy": "mass"}, {"bins": "sweep"}, {"strategy": "isotonic"}])
    def test_a_grid_has_width_bins_only(self, refusal, options):
        grid = summarize("ece", [0, 1], [0.25, 0.5])
        message = refusal(reliability_curve, grid, error=SummaryError, **options)
        assert message.startswith("a Grid has width bins")
        assert "exact=True" in message

    def test_a_generator_moves_on(self):
        rng = np.random.default_rng(0)
        options = {"strategy": "isotonic", "resamples": 19, "rng": rng}
        p = np.linspace(0, 1, 50)
        one, other = (reliability_curve(p > 0.5, p, **options) for _ in range(2))
        assert (one.consistency_low != other.consistency_low).any()


Y = [3.0, 1.0, 5.0, 4.0]


def test_by_hand():
    # Outcomes 3, 1 fall and are pooled, 5 and 4 too: medians anywhere in [1, 3] and [4, 5].
    curve = reliability_curve(Y, Quantiles([1.0, 2.0, 3.0, 4.0], 0.5))
    np.testing.assert_array_equal(curve.level, [0.5] * 4)
    np.testing.assert_array_equal(curve.forecast, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_low, [1.0, 1.0, 4.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_high, [3.0, 3.0, 5.0, 5.0])
    np.testing.assert_array_equal(curve.count, [1] * 4)
    assert curve.kind == "quantile_reliability"
    assert curve.n == 4


def test_equal_forecasts_are_pooled_first():
    curve = reliability_curve(Y, Quantiles([2.0, 1.0, 2.0, 2.0], 0.5))
    np.testing.assert_array_equal(curve.forecast, [1.0, 2.0])
    np.testing.assert_array_equal(curve.recalibrated_low, [1.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_high, [1.0, 4.0])
    np.testing.assert_array_equal(curve.count, [1, 3])


def test_one_tenth_however_it_is_written():
    # Of ten rows the 0.1-quantile is anywhere between the first and the second.
    y, q = np.arange(10.0), np.zeros(10)
    for level in (0.1, 1 - 0.9):
        curve = reliability_curve(y, Quantiles(q, level))
        assert (curve.recalibrated_low[0], curve.recalibrated_high[0]) == (0.0, 1.0)


def test_several_levels_stand_one_below_the_other():
    values = np.stack([np.arange(4.0), np.arange(4.0) + 2], axis=1)
    curve = reliability_curve(Y, Quantiles(values, [0.25, 0.75]))
    for level in (0.25, 0.75):
        alone = reliability_curve(Y, Quantiles(values, [0.25, 0.75]).at(level))
        for name, column in alone.columns.items():
            np.testing.assert_array_equal(curve.columns[name][curve.level == level], column)


def test_calibrated_forecasts_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    mean = rng.integers(0, 5, 20_000) * 1.0
    curve = reliability_curve(rng.normal(mean), Quantiles(mean - 1.2815515655446004, 0.1))
    np.testing.assert_allclose(curve.recalibrated_low, curve.forecast, atol=0.1)


@pytest.mark.parametrize(
    ("option", "value"),
    [("bins", 5), ("strategy", "isotonic"), ("level", 0.9), ("method", "wilson"), ("simultaneous", True)],
)
def test_options_of_probabilities(refusal, option, value):
    message = refusal(reliability_curve, Y, Quantiles(Y, 0.5), **{option: value})
    assert message == f"{option}= is for probabilities; got {value!r} with Quantiles. Leave it out"
