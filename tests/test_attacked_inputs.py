"""Inputs that once gave a raw error, a warning or a silent wrong answer."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import InputError, NotApplicableError

RNG = np.random.default_rng(0)
Y, DRAWS = RNG.normal(size=40), RNG.normal(size=(40, 9))
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


@pytest.mark.parametrize("rows", [[MASKED, [1.0, 2.0]], [[1.0, 2.0, 3.0], MASKED]])
def test_masks_of_the_rows_of_a_list_are_not_dropped(rows):
    with pytest.raises(InputError, match="masked"):
        cal.Samples(rows)


def test_a_masked_element_of_a_list_is_refused():
    with pytest.raises(InputError, match="row 1 has masked"):
        cal.brier_score([0, 1, 1], [0.1, np.ma.masked, 0.2])


def test_rows_of_different_types_are_not_rounded():
    with pytest.raises(InputError, match="of one type; row 0 has float16 and row 1 float64"):
        cal.Samples([np.array([1.0], np.float16), np.array([1e5, 0.1])])


@pytest.mark.parametrize("names", [0, {"a", "b"}, {"a": 1, "b": 2}, [None, "a"], [float("nan"), "a"], [b"a", b"b"]])
def test_names_that_are_not_names(names):
    with pytest.raises(InputError, match="2 different names"):
        cal.Samples(np.ones((3, 4, 2)), names=names)


@pytest.mark.parametrize("value", [Decimal(1), date(2026, 1, 1)])
def test_decimals_and_dates_are_not_taken_as_categories(value):
    with pytest.raises(InputError, match=r"row 0 is .*Convert"):
        cal.conditional_test(Y, cal.Samples(DRAWS), covariates=[value] + ["a"] * 39, resamples=19)


def test_options_of_conditional_verbs():
    with pytest.raises(InputError, match="pairs must be a list"):
        cal.conditional_test(Y, cal.Samples(DRAWS), covariates=Y, pairs=3, resamples=19)
    with pytest.raises(InputError, match="conditional_map needs covariates="):
        cal.conditional_map(Y, cal.Samples(DRAWS))


def test_draws_as_an_array():
    with pytest.raises(InputError, match="draws must be a whole number"):
        cal.audit(Y, cal.Samples(DRAWS), draws=np.array([3, 4]), resamples=19)


@pytest.mark.parametrize("checkpoint", [0, b"run", "", "\0", ["run"]])
def test_checkpoints_that_are_not_folders(checkpoint):
    with pytest.raises(InputError, match="checkpoint must be the path"):
        cal.simulate_calibration(print, print, print, n=20, draws=9, checkpoint=checkpoint)


def test_numbers_that_cannot_be_compared_are_different_labels():
    y = [Decimal(0), Decimal(1)]
    with pytest.raises(InputError):
        cal.brier_score(y, [0.2, 0.8], pos_label=np.int64(1))


@pytest.mark.parametrize(("p", "weights"), [(1e-310, None), (0.5, np.r_[1e90, np.full(39, 1e-90)])])
def test_clusters_of_extreme_rows(p, weights):
    y = np.arange(40) % 2
    with pytest.raises(NotApplicableError, match="clusters"):
        cal.audit(y, np.full(40, p), weights=weights, clusters=np.arange(40) // 2, resamples=19)


def test_an_event_that_was_all_but_impossible():
    p = np.r_[np.full(20, 1e-310), np.full(20, 0.5)]
    assert cal.calibration_test(np.arange(40) % 2, p, resamples=19).pvalue <= 0.05
