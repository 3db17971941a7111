"""`pit` of CdfValues, draws and quantiles: the reference, hand-worked cases, properties and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import CdfValues, Quantiles, Samples
from calibrant.errors import InputError
from calibrant.recalibrating.pit_maps import Table, pit_table
from calibrant.recalibrating.recalibrate import recalibrate


class TestByHand:
    def test_ties_share_their_mean_rank(self):
        table = pit_table(np.array([0.2, 0.6, 0.2, 0.9]))
        np.testing.assert_allclose(table.knots, [0.2, 0.6, 0.9])
        np.testing.assert_allclose(table.values, [1.5 / 5, 3 / 5, 4 / 5])
        np.testing.assert_allclose(table(np.array([0.0, 0.1, 0.4, 1.0])), [0.0, 0.15, 0.45, 1.0])
        np.testing.assert_allclose(table.inverse(np.array([0.15, 0.45, 0.9])), [0.1, 0.4, 0.95])

    def test_pits_of_0_and_1_count_but_stay(self):
        table = pit_table(np.array([0.0, 0.5, 1.0]))
        np.testing.assert_allclose(table.knots, [0.5])
        np.testing.assert_allclose(table.values, [0.5])
        with pytest.raises(InputError, match="every PIT is 0 or 1"):
            pit_table(np.array([0.0, 1.0]))

    def test_both_values_of_an_atom_are_mapped(self):
        at = np.linspace(0.1, 0.9, 20) ** 2
        found = recalibrate(None, CdfValues(at), method="pit")
        after = found.apply(CdfValues([at[4]], below=[at[2]]))
        assert (after.at[0], after.below[0]) == (pytest.approx(5 / 21), pytest.approx(3 / 21))

    def test_outcomes_outside_the_support_are_said(self):
        at = np.linspace(0.0, 0.9, 20)
        with pytest.warns(UserWarning, match="1 of 20 outcomes lie where F is 0 or 1"):
            recalibrate(None, CdfValues(at), method="pit")

    def test_draws(self):
        # Two draws, 0 and 1, at the levels 1/4 and 3/4. Of 20 outcomes 4 lie below, 8 at 1/2, 8 above.
        y = np.r_[np.full(4, -1.0), np.full(8, 0.5), np.full(8, 2.0)]
        found = recalibrate(y, Samples(np.tile([1.0, 0.0], (20, 1))), method="pit")
        np.testing.assert_allclose(found.parameters["knots"], [0.25, 0.5, 0.75])
        np.testing.assert_allclose(found.parameters["values"], [4 / 21, 8.5 / 21, 13 / 21])
        # R⁻¹(1/4): 5.25/21 lies 1.25/4.5 of the way from 1/4 to 1/2. R⁻¹(3/4) is beyond 3/4: the last draw stays.
        after = found.apply(Samples([[10.0, 20.0]]))
        np.testing.assert_allclose(after.draws, [[10 + 10 * (1.25 / 4.5) / 2, 20.0]])

    def test_outcomes_equal_to_draws(self):
        y = np.r_[np.full(10, 0.0), np.full(10, 1.0)]
        found = recalibrate(y, Samples(np.tile([0.0, 1.0, 1.0, 2.0], (20, 1))), method="pit")
        np.testing.assert_allclose(found.parameters["knots"], [1 / 8, 1 / 2, 7 / 8])  # 1 is the 2nd and 3rd draw
        np.testing.assert_allclose(found.parameters["values"], [5.5 / 21, 15.5 / 21, 1.0])

    def test_quantiles(self):
        # Levels 0.1, 0.5, 0.9 at 0, 4, 8; 20 outcomes: 2 below, 10 at 2 (level 0.3), 7 at 6 (0.7), 1 above.
        levels = [0.1, 0.5, 0.9]
        y = np.r_[-np.ones(2), np.full(10, 2.0), np.full(7, 6.0), 9.0]
        found = recalibrate(y, Quantiles(np.tile([0.0, 4.0, 8.0], (20, 1)), levels), method="pit")
        np.testing.assert_allclose(found.parameters["knots"], [0.1, 0.3, 0.7, 0.9])
        np.testing.assert_allclose(found.parameters["values"], [2 / 21, 7.5 / 21, 16 / 21, 20 / 21])
        wanted = np.interp([0.1, 0.5, 0.9], np.array([2, 7.5, 16, 20]) / 21, [0.1, 0.3, 0.7, 0.9])
        after = found.apply(Quantiles([[0.0, 4.0, 8.0]], levels))
        np.testing.assert_allclose(after.values, [np.interp(wanted, levels, [0.0, 4.0, 8.0])])


class TestProperties:
    @given(seed=st.integers(0, 10**6), n=st.integers(20, 60), M=st.integers(2, 12), rounded=st.booleans())
    @settings(max_examples=40)
    def test_draws_are_sorted_and_stay_in_range(self, seed, n, M, rounded):
        rng = np.random.default_rng(seed)
        draws, y = rng.normal(size=(n, M)), rng.normal(0.5, 1, n)
        if rounded:
            draws, y = draws.round(0), y.round(0)
        try:
            found = recalibrate(y, Samples(draws), method="pit")
        except InputError:
            pytest.fail("draws always have knots: the extreme levels lie inside (0, 1)")
        table = Table(found.parameters["knots"], found.parameters["values"])
        assert (np.diff(table.knots) > 0).all()
        assert (np.diff(table.values) >= 0).all()
        after = found.apply(Samples(draws)).draws
        assert (np.diff(after, axis=1) >= 0).all()
        assert (after >= draws.min(axis=1, keepdims=True) - 1e-12).all()
        assert (after <= draws.max(axis=1, keepdims=True) + 1e-12).all()
        order = rng.permutation(n)
        turned = recalibrate(y[order], Samples(draws[order][:, ::-1]), method="pit")
        np.testing.assert_allclose(turned.parameters["values"], table.values)

    def test_recalibrated_pits_are_even(self, rng):
        at = rng.beta(2, 5, 400)
        found = recalibrate(None, CdfValues(at), method="pit")
        np.testing.assert_allclose(np.sort(found.apply(CdfValues(at)).at), np.arange(1, 401) / 401, atol=1e-12)
        again = recalibrate(None, found.apply(CdfValues(at)), method="pit")
        grid = np.linspace(0, 1, 50)
        np.testing.assert_allclose(again.apply(CdfValues(grid)).at, grid, atol=1e-12)
        fresh = found.apply(CdfValues(rng.beta(2, 5, 4000))).at
        assert np.abs(np.sort(fresh) - np.linspace(0, 1, 4000)).max() < 0.08

    def test_quantiles_of_new_rows_are_reached_as_often_as_they_say(self):
        rng = np.random.default_rng(1)
        levels = np.linspace(0.02, 0.98, 49)
        centre = rng.normal(size=3000)
        from scipy.stats import norm

        prediction = Quantiles(centre[:, None] + 2 * norm.ppf(levels), levels)  # twice as wide as the truth
        y = centre + rng.normal(size=3000)
        found = recalibrate(y[:1500], prediction.take(slice(1500)), method="pit")
        after = found.apply(prediction.take(slice(1500, None)))
        shares = (y[1500:, None] <= after.values).mean(axis=0)
        assert np.abs(shares - levels).max() < 0.06
