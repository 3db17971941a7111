"""Ranks coordinate by coordinate, of draws and of distribution functions."""

import numpy as np
import pytest
from scipy import stats

from calibrant import CdfValues, Laplace, Mixture, Normal, Quantiles, Samples, ScipyLaw
from calibrant.inputs.judged import read_judged
from calibrant.inputs.outcomes import read_outcomes
from calibrant.primitives.marginal_ranks import cells, marginal_ranks


def of(y, prediction, rng=None):
    read = read_judged if isinstance(prediction, (Quantiles, CdfValues)) else read_outcomes
    return marginal_ranks(read(y, prediction), rng)


def test_draws():
    found = of([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    assert (found.rank.tolist(), found.M, found.cells) == ([2, 0], 3, False)
    vectors = of([[2.5, 0.0]], Samples([[[1.0, -1.0], [3.0, 1.0]]]))
    assert (vectors.rank.tolist(), vectors.names) == ([[1, 1]], ("0", "1"))


def test_cells_are_closed_on_the_right():
    u = np.array([0.0, 0.0005, 0.001, np.nextafter(0.001, 1), 0.5, 0.999, np.nextafter(0.999, 1), 1.0])
    found = cells(u, np.zeros(8, bool))
    assert found.rank.tolist() == [0, 0, 0, 1, 499, 998, 999, 999]
    assert (found.M, found.cells, found.tied.tolist()) == (999, True, [0])
    assert found.rank.dtype == np.int64


@pytest.mark.parametrize("law", [Normal, Laplace])
def test_laws(law):
    made = law(np.zeros(4), 1.0)
    u = np.array([0.0004, 0.2995, 0.5005, 0.9996])
    assert of(made.ppf(u), made).rank.tolist() == [0, 299, 500, 999]


def test_jumps_are_spread_over_their_cells(refusal):
    y = np.repeat([0.0, 1.0], 2000)
    coin = ScipyLaw(stats.bernoulli(np.full(4000, 0.25)))
    assert "jumps at the outcome in 4,000 of 4,000 values" in refusal(of, y, coin)
    found = of(y, coin, rng=0)
    assert found.tied.tolist() == [4000]
    assert found.rank[:2000].max() == 749
    assert found.rank[2000:].min() == 750
    assert stats.kstest((found.rank[:2000] + 0.5) / 750, "uniform").pvalue > 0.001


def test_values_without_a_jump_stay_where_they_are():
    found = of(None, CdfValues([0.3, 0.9], below=[0.3, 0.5]), rng=0)
    assert found.rank[0] == 299
    assert 500 <= found.rank[1] < 900
    assert found.tied.tolist() == [1]


def test_mixtures_and_quantiles():
    assert of([0.0], Mixture([Normal([0.0], 1.0), Normal([0.0], 2.0)], [0.5, 0.5])).rank.tolist() == [499]
    found = of(np.zeros(500), Quantiles(np.tile([-1.0, 1.0], (500, 1)), [0.1, 0.3]), rng=0)
    assert (found.rank.min(), found.rank.max()) == (100, 299)
