"""Probability integral transform."""

import numpy as np
import pytest
from scipy import stats

from calibrant import CdfValues, Intervals, MvNormal, Normal, Quantiles, Samples
from calibrant.metrics.pit import pit

RNG = np.random.default_rng(0)


def test_continuous_laws_need_no_chance():
    law = Normal([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_array_equal(pit([0.5, -9.0], law), law.cdf([0.5, -9.0]))
    np.testing.assert_array_equal(pit([0.5, -9.0], law, rng=1), law.cdf([0.5, -9.0]))


def test_ends_are_legal():
    np.testing.assert_array_equal(pit([-1e3, 1e3], Normal([0.0, 0.0], 1.0)), [0.0, 1.0])


def test_vectors_by_coordinate():
    law = MvNormal([[0.0, 1.0]], [[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(pit([[2.0, 1.0]], law), [[stats.norm.cdf(1), 0.5]], rtol=1e-15)
    assert pit(np.zeros((3, 2)), Samples(RNG.normal(size=(3, 5, 2))), rng=0).shape == (3, 2)


def test_draws_fall_between_their_bounds_and_are_repeatable():
    y, law = np.array([2.0] * 500), Samples([[1.0, 2.0, 2.0, 3.0]] * 500)
    u = pit(y, law, rng=3)
    assert 0.2 <= u.min() < 0.21
    assert 0.79 < u.max() <= 0.8
    np.testing.assert_array_equal(u, pit(y, law, rng=np.random.default_rng(3)))
    assert (u != pit(y, law, rng=4)).any()


def test_rows_without_a_jump_stay_exact():
    u = pit(None, CdfValues([0.3, 0.9], below=[0.3, 0.7]), rng=0)
    assert u[0] == 0.3
    assert 0.7 <= u[1] <= 0.9
    np.testing.assert_array_equal(pit(None, CdfValues([0.3, 0.9])), [0.3, 0.9])


@pytest.mark.parametrize("M", [1, 4, 9])
def test_exchangeable_draws_are_uniform(M):
    members = np.random.default_rng(M).integers(0, 6, (20_000, M + 1)) * 1.0  # with ties
    u = pit(members[:, 0], Samples(members[:, 1:]), rng=0)
    assert stats.kstest(u, "uniform").pvalue > 0.001


def test_quantiles_are_spread_over_their_cells():
    y = np.random.default_rng(5).normal(size=20_000)
    u = pit(y, Normal(np.zeros(y.size), 1.0).quantiles([0.025, 0.5, 0.9]), rng=0)
    assert stats.kstest(u, "uniform").pvalue > 0.001


def test_the_inputs_stay_as_they_are():
    given = CdfValues([0.3, 0.9])
    pit(None, given)[0] = 9.0
    assert given.at[0] == 0.3


class TestWeightedDraws:
    def test_equal_weights_are_no_weights(self):
        y, x = RNG.normal(size=20), RNG.normal(size=(20, 60))
        np.testing.assert_allclose(pit(y, Samples(x), draw_weights=np.ones((20, 60)), rng=1), pit(y, Samples(x), rng=1))

    def test_by_hand(self):
        # Weights 1, 2, 5 on draws 0, 1, 2 and 2 on the outcome 1: from 1/10 to (1 + 2 + 2)/10.
        options = {"draw_weights": [[1.0, 2.0, 5.0]] * 1000, "y_weight": [2.0] * 1000}
        u = pit([1.0] * 1000, Samples([[0.0, 1.0, 2.0]] * 1000), rng=0, **options)
        assert 0.1 <= u.min() < 0.102
        assert 0.498 < u.max() <= 0.5

    def test_importance_weights_are_uniform(self):
        # Draws of Normal(0, 1) weighted to Normal(0.5, 1), the law of the outcomes.
        rng = np.random.default_rng(2)
        y, x = rng.normal(0.5, size=20_000), rng.normal(size=(20_000, 9))
        weigh = lambda z: np.exp(0.5 * z - 0.125)  # noqa: E731
        u = pit(y, Samples(x), draw_weights=weigh(x), y_weight=weigh(y), rng=0)
        assert stats.kstest(u, "uniform").pvalue > 0.001

    def test_vectors(self):
        y, x = RNG.normal(size=(7, 2)), RNG.normal(size=(7, 4, 2))
        options = {"draw_weights": RNG.uniform(1, 2, (7, 4)), "y_weight": np.ones(7)}
        low, high = 0.0, 1.0
        u = pit(y, Samples(x), rng=0, **options)
        assert u.shape == (7, 2)
        assert ((u >= low) & (u <= high)).all()

    def test_few_effective_draws_are_told(self):
        with pytest.warns(UserWarning, match=r"worth only 2\.67 equal ones.*Pass y_weight"):
            pit([0.0], Samples([[1.0, 2.0, 3.0]]), draw_weights=[[2.0, 1.0, 1.0]], rng=0)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"y_weight": [1.0]}, "y_weight goes with draw_weights"),
            ({"draw_weights": [1.0, 1.0]}, "shape (n, M) = (1, 2); got shape (2,)"),
            ({"draw_weights": [[1.0, 1.0]], "y_weight": [[1.0]]}, "shape (n,) = (1,)"),
            ({"draw_weights": [[1.0, -1.0]], "y_weight": [1.0]}, "row 0, draw 1 is -1.0"),
            ({"draw_weights": [[0.0, 0.0]], "y_weight": [0.0]}, "must not all be 0"),
        ],
    )
    def test_refusals(self, refusal, options, words):
        assert words in refusal(pit, [0.0], Samples([[1.0, 2.0]]), rng=0, **options)

    def test_laws_have_no_draws(self, refusal):
        assert "draw_weights are for Samples" in refusal(pit, [0.0], Normal(0.0, 1.0), draw_weights=[[1.0]])


class TestRefusals:
    def test_chance_needs_a_generator(self, refusal):
        message = refusal(pit, [2, 0, 5], Samples([[1, 2, 2, 3], [1, 1, 1, 1], [1, 2, 3, 4]]))
        assert "3 of 3 values are intervals" in message
        assert "rng=" in message

    def test_quantiles_too(self, refusal):
        assert "rng=" in refusal(pit, [0.0], Quantiles([[1.0]], [0.5]))

    def test_intervals(self, refusal):
        assert "pit judges" in refusal(pit, [0.0], Intervals([0.0], [1.0], 0.9))

    def test_outcomes_beside_values_of_a_distribution_function(self, refusal):
        assert "hold the outcome already" in refusal(pit, [0.0], CdfValues([0.5]))

    def test_missing_outcomes(self, refusal):
        assert "row 1" in refusal(pit, [0.0, np.nan], Normal([0.0, 0.0], 1.0))
