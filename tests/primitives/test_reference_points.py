"""Reference points that have not seen the outcome of their row."""

import numpy as np
import pytest

from calibrant import NotApplicableError
from calibrant.primitives.reference_points import fitted_outcomes, other_outcomes


class TestOther:
    @pytest.mark.parametrize("seed", range(20))
    def test_is_another_row(self, seed):
        y = np.arange(7.0)[:, None] * [1.0, 10.0]
        found = other_outcomes(y, np.random.default_rng(seed))
        assert (found != y).all()
        np.testing.assert_array_equal(np.sort(found, axis=0), y)
        assert len(set(((found - y)[:, 0] % 7).tolist())) == 1

    def test_every_shift_occurs(self):
        y = np.arange(4.0)[:, None]
        assert {other_outcomes(y, np.random.default_rng(seed))[0, 0] for seed in range(30)} == {1.0, 2.0, 3.0}

    def test_one_row(self, refusal):
        assert "one row" in refusal(other_outcomes, np.ones((1, 2)), None, error=NotApplicableError)


class TestFitted:
    def test_a_line_without_noise_is_found(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(30, 2))
        y = x @ np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 0.0]]) + [3.0, 0.0, 7.0]
        np.testing.assert_allclose(fitted_outcomes(y, x, rng), y, atol=1e-12)

    def test_noise_is_added(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4000, 1))
        y = 2 * x + rng.normal(size=(4000, 1))
        gap = fitted_outcomes(y, x, rng) - 2 * x
        assert abs(gap.std() - 1) < 0.05
        assert abs(np.corrcoef(gap[:, 0], (y - 2 * x)[:, 0])[0, 1]) < 0.05

    def test_its_own_outcome_is_not_seen(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(20, 1)), rng.normal(size=(20, 2))
        found = fitted_outcomes(y, x, np.random.default_rng(5))
        for i in range(20):
            changed = y.copy()
            changed[i] += 100
            again = fitted_outcomes(changed, x, np.random.default_rng(5))
            np.testing.assert_array_equal(again[i], found[i])
            assert (again != found).any()

    @pytest.mark.parametrize(
        "x", [np.ones((48, 2)), np.repeat(np.eye(4), 12, axis=0), np.arange(480.0).reshape(48, 10)]
    )
    def test_covariates_that_determine_each_other(self, x):
        y = np.random.default_rng(0).normal(size=(48, 1))
        assert np.isfinite(fitted_outcomes(y, x, np.random.default_rng(0))).all()

    def test_units_of_covariates_do_not_matter(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
        one, two = (fitted_outcomes(y, x * unit, np.random.default_rng(1)) for unit in (1.0, [1e-200, 1e200]))
        np.testing.assert_allclose(one, two, rtol=1e-9)

    def test_few_rows(self, refusal):
        assert "got 3" in refusal(fitted_outcomes, np.ones((3, 1)), np.ones((3, 1)), None, error=NotApplicableError)
        assert np.allclose(fitted_outcomes(np.ones((6, 1)), np.ones((6, 1)), np.random.default_rng(0)), 1.0)
