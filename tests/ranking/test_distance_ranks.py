"""Ranks by the distance to a reference point."""

import numpy as np
import pytest
from scipy import stats
from tests.references.books import arrays

from calibrant import Normal, Samples, summarize
from calibrant.errors import NotApplicableError
from calibrant.ranking.distance_ranks import fitted_outcomes, other_outcomes, tarp_ranks

ARRAYS = arrays("samples")
CASES = [("y", "tarp_references", name) for name in ("calibrated", "overdispersed", "biased")]
CASES += [("y_shape", "tarp_references_shape", name) for name in ("skewed", "heavy_tailed")]


@pytest.mark.parametrize(("y", "references", "name"), CASES)
def test_references(y, references, name):
    samples = Samples(ARRAYS[f"samples_{name}"])
    found = tarp_ranks(ARRAYS[y], samples, references=ARRAYS[references], scale=None)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, ARRAYS[f"tarp_ranks_{name}"])
    given = tarp_ranks(ARRAYS[y], samples, references=lambda x, rng: ARRAYS[references], scale=None, rng=0)
    np.testing.assert_array_equal(given, found)


class TestByHand:
    def test_numbers_and_scales(self):
        # Distances from 1: the outcome 2; draws 1, 3, 2.5.
        samples, vectors = Samples([[2.0, -2.0, 3.5]]), Samples([[[2.0], [-2.0], [3.5]]])
        for scale in (None, "pooled", [7.0]):
            np.testing.assert_array_equal(tarp_ranks([3.0], samples, references=[1.0], scale=scale), [1])
        np.testing.assert_array_equal(tarp_ranks([[3.0]], vectors, references=[[1.0]]), [1])
        np.testing.assert_array_equal(tarp_ranks([1.0], Samples([[0.0, 2.0]]), references=[0.0]), [1])  # at a draw
        # From (0, 0): the outcome (2, 0) and the draw (0, 10), with the second coordinate over 1 or 10.
        y, samples = [[2.0, 0.0]], Samples([[[0.0, 10.0]]])
        np.testing.assert_array_equal(tarp_ranks(y, samples, references=[[0.0, 0.0]], scale=None), [0])
        np.testing.assert_array_equal(tarp_ranks(y, samples, references=[[0.0, 0.0]], scale=[1.0, 10.0]), [1])
        rng = np.random.default_rng(0)
        y, x, t = rng.normal(size=(50, 2)), rng.normal(size=(50, 9, 2)), rng.normal(size=(50, 2))
        units = np.array([2.0**500, 2.0**-500])
        found = tarp_ranks(y, Samples(x), references=t)
        np.testing.assert_array_equal(tarp_ranks(y * units, Samples(x * units), references=t * units), found)

    def test_ties(self, refusal):
        y, samples, t = np.ones(300), Samples(np.full((300, 2), -1.0)), np.zeros(300)
        assert sorted(set(tarp_ranks(y, samples, references=t, rng=0).tolist())) == [0, 1, 2]
        message = refusal(tarp_ranks, y, samples, references=t)
        assert "the distance to the reference of the outcome equals that of draws in 300 of 300 ranks" in message


class TestReferencePoints:
    RNG = np.random.default_rng(0)
    X = RNG.normal(size=(400, 2))
    Y = X + RNG.normal(size=(400, 2))
    RIGHT = Samples(X[:, None] + RNG.normal(size=(400, 19, 2)))
    MARGINAL = Samples(RNG.normal(size=(400, 19, 2)) * np.sqrt(2))

    def test_defaults(self):
        other = tarp_ranks(self.Y, self.RIGHT, references="other", rng=3)
        np.testing.assert_array_equal(tarp_ranks(self.Y, self.RIGHT, rng=3), other)
        fitted = tarp_ranks(self.Y, self.RIGHT, references="covariates", covariates=self.X, rng=3)
        np.testing.assert_array_equal(tarp_ranks(self.Y, self.RIGHT, covariates=self.X, rng=3), fitted)
        assert (other != fitted).any()
        assert (other != tarp_ranks(self.Y, self.RIGHT, rng=4)).any()
        generator = np.random.default_rng(3)
        np.testing.assert_array_equal(tarp_ranks(self.Y, self.RIGHT, rng=generator), other)

    @pytest.mark.parametrize("covariates", [None, X])
    def test_right_forecasts_have_uniform_ranks(self, covariates):
        counts = np.bincount(tarp_ranks(self.Y, self.RIGHT, covariates=covariates, rng=0), minlength=20)
        assert stats.chisquare(counts).pvalue > 0.001

    def test_only_covariates_show_a_forecaster_that_knows_nothing(self):
        other, fitted = (
            np.bincount(tarp_ranks(self.Y, self.MARGINAL, covariates=x, rng=0), minlength=20) for x in (None, self.X)
        )
        assert stats.chisquare(other).pvalue > 0.001
        assert stats.chisquare(fitted).pvalue < 1e-6

    def test_rows_of_weight_zero_and_the_order_of_draws(self):
        y, samples = [1.0, np.nan, 5.0], Samples([[0.5], [0.0], [0.0]])
        given = {"references": [0.0, np.nan, 4.0], "weights": [2.0, 0.0, 1.0]}
        assert summarize(tarp_ranks, y, samples, **given).weight[:, 0].tolist() == [1.0, 2.0]
        for options in ({}, {"covariates": self.X}):
            found = tarp_ranks(self.Y, self.RIGHT, rng=0, **options)
            turned = tarp_ranks(self.Y, Samples(self.RIGHT.held[:, ::-1]), rng=0, **options)
            np.testing.assert_array_equal(turned, found)


class TestRefusals:
    Y, SAMPLES = np.zeros((4, 2)), Samples(np.arange(24.0).reshape(4, 3, 2))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "draws the references at random; pass rng="),
            ({"references": lambda x, rng: np.ones((4, 2))}, "pass rng="),
            ({"references": "uniform", "rng": 0}, 'references must be "covariates", "other"'),
            ({"references": "covariates", "rng": 0}, "needs covariates="),
            ({"references": "other", "covariates": [1, 2, 3, 4], "rng": 0}, "covariates= has no use"),
            ({"references": np.ones((4, 2)), "covariates": [1, 2, 3, 4]}, "covariates= has no use"),
            ({"references": np.ones((4, 3))}, "must have the shape of y, one point per row, (4, 2); got shape (4, 3)"),
            ({"references": np.ones(4)}, "got shape (4,)"),
            ({"references": [[0, 1], [0, 1], [np.nan, 1], [0, 1]]}, "row 2, coordinate 0 is nan"),
            ({"references": lambda x, rng: np.ones(4), "rng": 0}, "what references(covariates, rng) returns must have"),
            ({"references": np.zeros((4, 2))}, "must not be the outcomes themselves"),
            ({"covariates": [1, 2, 3], "rng": 0}, "expected 4 rows, got shape (3,)"),
            ({"covariates": [1, 2, np.nan, 4], "rng": 0}, "row 2, column 0 is nan"),
            ({"scale": "sd", "references": np.ones((4, 2))}, "scale must be"),
            ({"reference": np.ones((4, 2))}, ", references=...)?"),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(tarp_ranks, self.Y, self.SAMPLES, **options)

    def test_too_few_rows_and_other_predictions(self, refusal):
        one, three = Samples(np.ones((1, 3))), Samples(np.ones((3, 3)))
        assert "there is one row" in refusal(tarp_ranks, [0.0], one, rng=0, error=NotApplicableError)
        message = refusal(tarp_ranks, [0.0] * 3, three, covariates=[1, 2, 3], rng=0, error=NotApplicableError)
        assert "6 rows or more for 1 covariates; got 3" in message
        assert np.allclose(fitted_outcomes(np.ones((6, 1)), np.ones((6, 1)), np.random.default_rng(0)), 1.0)
        assert "Samples(distribution.sample(999, rng))" in refusal(tarp_ranks, [0.0], Normal(0.0, 1.0), rng=0)
        assert "row 0, draw 0 is inf" in refusal(tarp_ranks, [0.0], Samples([[np.inf]]), references=[1.0])


def test_is_another_row():
    y = np.arange(7.0)[:, None] * [1.0, 10.0]
    shifts = set()
    for seed in range(60):
        found = other_outcomes(y, np.random.default_rng(seed))
        assert (found != y).all()
        np.testing.assert_array_equal(np.sort(found, axis=0), y)
        (shift,) = set(((found - y)[:, 0] % 7).tolist())
        shifts.add(shift)
    assert shifts == set(range(1, 7))


class TestFitted:
    @pytest.mark.parametrize("unit", [1.0, [1e-200, 1e200]])
    def test_a_line_without_noise_is_found(self, unit):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(30, 2))
        y = x @ np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 0.0]]) + [3.0, 0.0, 7.0]
        np.testing.assert_allclose(fitted_outcomes(y, x * unit, rng), y, atol=1e-12)

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
