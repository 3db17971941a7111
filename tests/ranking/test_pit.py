"""Probability integral transform."""

import numpy as np
import pytest
from scipy import stats
from tests.references.books import book, by_id

from calibrant import CdfValues, Intervals, MvNormal, Normal, Quantiles, Samples, summarize
from calibrant.errors import SummaryError
from calibrant.ranking.pit import pit, pit_histogram
from calibrant.summaries import Summary

RNG = np.random.default_rng(0)


def test_continuous_distributions_need_no_chance():
    distribution = Normal([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_array_equal(pit([0.5, -9.0], distribution), distribution.cdf([0.5, -9.0]))
    np.testing.assert_array_equal(pit([0.5, -9.0], distribution, rng=1), distribution.cdf([0.5, -9.0]))
    distribution = MvNormal([[0.0, 1.0]], [[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(pit([[2.0, 1.0]], distribution), [[stats.norm.cdf(1), 0.5]], rtol=1e-15)
    assert pit(np.zeros((3, 2)), Samples(RNG.normal(size=(3, 5, 2))), rng=0).shape == (3, 2)


def test_jumps_are_filled_at_random_and_repeatably():
    y, distribution = np.array([2.0] * 500), Samples([[1.0, 2.0, 2.0, 3.0]] * 500)
    u = pit(y, distribution, rng=3)
    assert 0.2 <= u.min() < 0.21
    assert 0.79 < u.max() <= 0.8
    np.testing.assert_array_equal(u, pit(y, distribution, rng=np.random.default_rng(3)))
    assert (u != pit(y, distribution, rng=4)).any()
    u = pit(None, CdfValues([0.3, 0.9], below=[0.3, 0.7]), rng=0)
    assert u[0] == 0.3
    assert 0.7 <= u[1] <= 0.9
    np.testing.assert_array_equal(pit(None, CdfValues([0.3, 0.9])), [0.3, 0.9])


@pytest.mark.parametrize("M", [1, 4, 9, None])
def test_exchangeable_draws_are_uniform(M):
    rng = np.random.default_rng(M)
    members = rng.integers(0, 6, (20_000, (M or 0) + 1)) * 1.0  # with ties
    u = pit(members[:, 0], Samples(members[:, 1:]), rng=0) if M else None
    if M is None:
        y = np.random.default_rng(5).normal(size=20_000)
        u = pit(y, Normal(np.zeros(y.size), 1.0).quantiles([0.025, 0.5, 0.9]), rng=0)
    assert stats.kstest(u, "uniform").pvalue > 0.001


class TestWeightedDraws:
    def test_equal_weights_and_by_hand(self):
        y, x = RNG.normal(size=20), RNG.normal(size=(20, 60))
        weighted = Samples(x, draw_weights=np.ones((20, 60)))
        np.testing.assert_allclose(pit(y, weighted, rng=1), pit(y, Samples(x), rng=1))
        y, x = RNG.normal(size=(7, 2)), RNG.normal(size=(7, 4, 2))
        u = pit(y, Samples(x, draw_weights=RNG.uniform(1, 2, (7, 4))), rng=0, y_weight=np.ones(7))
        assert u.shape == (7, 2)
        assert ((u >= 0) & (u <= 1)).all()
        # Weights 1, 2, 5 on draws 0, 1, 2 and 2 on the outcome 1: from 1/10 to (1 + 2 + 2)/10.
        samples = Samples([[0.0, 1.0, 2.0]] * 1000, draw_weights=[[1.0, 2.0, 5.0]] * 1000)
        u = pit([1.0] * 1000, samples, rng=0, y_weight=[2.0] * 1000)
        assert 0.1 <= u.min() < 0.102
        assert 0.498 < u.max() <= 0.5

    def test_importance_weights_are_uniform(self):
        # Draws of Normal(0, 1) weighted to Normal(0.5, 1), the distribution of the outcomes.
        rng = np.random.default_rng(2)
        y, x = rng.normal(0.5, size=20_000), rng.normal(size=(20_000, 9))
        weigh = lambda z: np.exp(0.5 * z - 0.125)  # noqa: E731
        u = pit(y, Samples(x, draw_weights=weigh(x)), y_weight=weigh(y), rng=0)
        assert stats.kstest(u, "uniform").pvalue > 0.001

    def test_reference_values(self):
        data, known = book("conditional")["data"]["weights"], by_id("conditional")
        samples = Samples(data["draws"], draw_weights=data["draw_weights"])
        u = pit(data["y"], samples, y_weight=data["y_weight"], rng=Given(data["V"]))
        np.testing.assert_allclose(u, known["weighted PIT"]["value"], rtol=1e-9)
        with pytest.warns(UserWarning, match=r"worth only 2\.81 equal ones"):
            u = pit(data["y"], samples, rng=Given(data["V"]))
        np.testing.assert_allclose(u, known["weighted PIT, mean weight"]["value"], rtol=1e-9)


class Given(np.random.Generator):
    """A generator that returns known values of V."""

    def __init__(self, values):
        super().__init__(np.random.PCG64(0))
        self.values = np.array(values)

    def random(self, shape):
        assert shape == self.values.shape
        return self.values


WEIGHTED = Samples([[1.0, 2.0]], draw_weights=[[1.0, 1.0]])
TIED = Samples([[1, 2, 2, 3], [1, 1, 1, 1], [1, 2, 3, 4]])


@pytest.mark.parametrize(
    ("y", "prediction", "options", "words"),
    [
        ([2, 0, 5], TIED, {}, "3 of 3 values are intervals, from which one value is drawn at random; pass rng="),
        ([0.0], Quantiles([[1.0]], [0.5]), {}, "rng="),
        ([0.0], Intervals([0.0], [1.0], 0.9), {}, "pit judges"),
        ([0.0], CdfValues([0.5]), {}, "contain the outcome already"),
        ([0.0, np.nan], Normal([0.0, 0.0], 1.0), {}, "row 1"),
        ([0.0], WEIGHTED, {"y_weight": [[1.0]], "rng": 0}, "shape (n,) = (1,)"),
        ([0.0], WEIGHTED, {"y_weight": [-1.0], "rng": 0}, "row 0 is -1.0"),
        ([0.0], Samples([[1.0]]), {"y_weight": [1.0], "rng": 0}, "goes with Samples(draws, draw_weights"),
        ([0.0], Normal(0.0, 1.0), {"draw_weights": [[1.0]]}, "Samples(draws, draw_weights=...)"),
    ],
)
def test_refusals(refusal, y, prediction, options, words):
    assert words in refusal(pit, y, prediction, **options)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 1.0], "shape (n, M) = (1, 2); got (2,)"),
        ([[1.0, -1.0]], "row 0, draw 1 is -1.0"),
        ([[1.0, np.nan]], "row 0, draw 1 is nan"),
        ([[0.0, 0.0]], "must not all be 0; row 0"),
    ],
)
def test_refused_weights(refusal, weights, words):
    assert words in refusal(Samples, [[1.0, 2.0]], draw_weights=weights)


def test_refusals_of_the_histogram(refusal):
    assert "at most 1000" in refusal(pit_histogram, [0.0], Normal(0.0, 1.0), bins=1001)
    assert "Pass one coordinate" in refusal(pit_histogram, [[0.0, 0.0]], MvNormal([[0.0, 0.0]], np.eye(2)))
    summary = summarize(pit_histogram, [0.0], Normal(0.0, 1.0), bins=4)
    assert "options that the summary was made with" in refusal(pit_histogram, summary, error=SummaryError)


HISTOGRAM_RNG = np.random.default_rng(0)


def shares(low, high, bins, weights=None):
    return pit_histogram(None, CdfValues(high, below=low), bins=bins, weights=weights).share


def test_rows_are_spread_evenly_or_count_in_the_bin_they_close():
    # [0, 0.5] over bins of 0.25: half each; [0.25, 1] over three bins.
    np.testing.assert_allclose(shares([0.0, 0.25], [0.5, 1.0], 4), [3 / 12, 5 / 12, 2 / 12, 2 / 12], rtol=1e-14)
    np.testing.assert_allclose(shares([0.0, 0.5], [0.5, 1.0], 2, weights=[3, 1]), [0.75, 0.25], rtol=1e-15)
    curve = pit_histogram(None, CdfValues([0.5, 1.0], below=[0.0, 0.0]), bins=2)
    columns = {name: column.tolist() for name, column in curve.columns.items()}
    ends = {"lower": [0.0, 0.5], "upper": [0.5, 1.0]}
    band = {"band_low": [0.0, 0.0], "band_high": [1.0, 1.0]}
    assert columns == {**ends, "share": [0.75, 0.25], "expected": [0.5, 0.5], "density": [1.5, 0.5], **band}
    assert (curve.kind, curve.n) == ("pit_histogram", 2)
    u = np.array([0.0, 0.1, 0.3, 0.30000000000000004, 1.0])
    np.testing.assert_allclose(shares(u, u, 10) * 5, [2, 0, 1, 1, 0, 0, 0, 0, 0, 1], atol=1e-15)


def test_the_band_is_that_of_as_many_uniform_numbers():
    """One of two uniform numbers lies in each half with probability 1/2; weights 3, 1 are worth 16/10 rows."""
    for weights in (None, [3, 1]):
        curve = pit_histogram(None, CdfValues([0.2, 0.7]), bins=2, level=0.5, weights=weights)
        assert (curve.band_low.tolist(), curve.band_high.tolist()) == ([0.5, 0.5], [0.5, 0.5])
    u = HISTOGRAM_RNG.random((200, 50))
    curves = [pit_histogram(None, CdfValues(row), bins=4, level=0.9) for row in u]
    inside = [((c.band_low <= c.share) & (c.share <= c.band_high)).all() for c in curves]
    assert 0.85 < np.mean(inside) < 0.99


@pytest.mark.parametrize("bins", [1, 3, 10, 37])
@pytest.mark.parametrize(
    "prediction",
    [
        Normal(np.zeros(50), 1.0),
        Samples(HISTOGRAM_RNG.normal(size=(50, 7)).round(1)),
        Quantiles(np.sort(HISTOGRAM_RNG.normal(size=(50, 3)), axis=1), [0.1, 0.5, 0.9]),
    ],
    ids=lambda prediction: type(prediction).__name__,
)
def test_shares_add_up_and_batches_too(prediction, bins):
    y = HISTOGRAM_RNG.normal(size=50).round(1)
    w = HISTOGRAM_RNG.uniform(1, 2, 50)
    curve = pit_histogram(y, prediction, bins=bins, weights=w)
    assert curve.share.sum() == pytest.approx(1, abs=1e-14)
    assert curve.share.min() >= 0
    pieces = [
        summarize(pit_histogram, y[s], prediction.take(s), bins=bins, weights=w[s]) for s in (slice(0, 9), slice(9, 50))
    ]
    merged = pit_histogram(Summary.from_bytes(sum(pieces).to_bytes()), bins=bins)
    np.testing.assert_allclose(merged.share, curve.share, atol=1e-15)


def test_calibrated_predictions_are_flat_and_narrow_ones_make_a_u():
    rng = np.random.default_rng(1)
    y = rng.normal(size=50_000)
    distribution = Normal(np.zeros(y.size), 1.0)
    for prediction in (distribution, Samples(distribution.sample(6, rng)), distribution.quantiles([0.025, 0.3, 0.975])):
        np.testing.assert_allclose(pit_histogram(y, prediction).density, 1.0, atol=0.06)
    density = pit_histogram(y, Normal(np.zeros(y.size), 0.7)).density
    assert density[0] > 1.5 < density[-1]
    assert density[4] < 0.8
