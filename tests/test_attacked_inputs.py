"""Inputs that once gave a raw error, a warning or a silent wrong answer."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.errors import InputError, NotApplicableError

RNG = np.random.default_rng(0)
Y, DRAWS = RNG.normal(size=40), RNG.normal(size=(40, 9))
MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


SAMPLES = cal.Samples(DRAWS)
RANKED = {"covariates": Y[::-1], "resamples": 19}
NOT_NAMES = (0, {"a", "b"}, {"a": 1, "b": 2}, [None, "a"], [float("nan"), "a"], [b"a", b"b"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        *(
            (lambda rows=rows: cal.Samples(rows), "masked")
            for rows in ([MASKED, [1.0, 2.0]], [[1.0, 2.0, 3.0], MASKED])
        ),
        (lambda: cal.brier_score([0, 1, 1], [0.1, np.ma.masked, 0.2]), "row 1 has masked"),
        (
            lambda: cal.Samples([np.array([1.0], np.float16), np.array([1e5, 0.1])]),
            r"of one type; row 0 has .* float16 and row 1 .* float64",
        ),
        *((lambda n=n: cal.Samples(np.ones((3, 4, 2)), names=n), "2 different names") for n in NOT_NAMES),
        *(
            (lambda v=v: cal.conditional_test(Y, SAMPLES, covariates=[v] + ["a"] * 39), r"row 0 is .*Convert")
            for v in (Decimal(1), date(2026, 1, 1))
        ),
        (lambda: cal.conditional_test(Y, SAMPLES, pairs=3, **RANKED), "pairs must be a list"),
        (lambda: cal.conditional_map(Y, SAMPLES), "conditional_map needs covariates="),
        (lambda: cal.audit(Y, SAMPLES, draws=np.array([3, 4]), resamples=19), "draws must be a whole number"),
        *(
            (
                lambda folder=folder: cal.simulate_calibration(print, print, print, n=20, draws=9, checkpoint=folder),
                "checkpoint must be the path",
            )
            for folder in (0, b"run", "", "\0", ["run"])
        ),
        (
            lambda: cal.brier_score([Decimal(0), Decimal(1)], [0.2, 0.8], pos_label=np.int64(1)),
            "pos_label 1 is not among the labels",
        ),
        (lambda: cal.ece([0, 1, 1], [0.2, True, 0.3]), r"row 1 is True \(bool\)"),
        (lambda: cal.ece([0, 1], [[0.2, 0.8], [True, 0.0]]), r"row 1 is True \(bool\)"),
        (lambda: cal.crps([1.0, np.False_], cal.Normal([0.0, 0.0], 1.0)), r"row 1 is .*False"),
        (lambda: cal.ece([0, 1], [0.2, 0.7], pos_label=pd.NA), "pos_label must be one label"),
        (lambda: cal.ece([0, 1], [0.2, 0.7], classes=[pd.NA, 1]), "classes must be a list of single labels"),
        (lambda: cal.points.compare(DRAWS, DRAWS, columns=np.array(0.5)), "must be a list of 9 different names"),
        (lambda: cal.measure(cal.ece, [(np.array(1), [0.5])]), "batch 0: y must be 1-D"),
        (lambda: cal.measure("ece", [{"a": np.array(1), "b": [0.5]}], y="a", prediction="b"), "one value per row"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(("p", "weights"), [(1e-310, None), (0.5, np.r_[1e90, np.full(39, 1e-90)])])
def test_clusters_of_extreme_rows(p, weights):
    y = np.arange(40) % 2
    with pytest.raises(NotApplicableError, match="clusters"):
        cal.audit(y, np.full(40, p), weights=weights, clusters=np.arange(40) // 2, resamples=19)


def test_an_event_that_was_all_but_impossible():
    p = np.r_[np.full(20, 1e-310), np.full(20, 0.5)]
    assert cal.calibration_test(np.arange(40) % 2, p, resamples=19).pvalue <= 0.05


@pytest.mark.parametrize(
    "call",
    [
        lambda: cal.audit(Y > 0, np.full(40, 0.3) + 0.01 * Y),
        lambda: cal.audit(Y, cal.Samples(DRAWS), resamples=19),
        lambda: cal.explain(Y, cal.Samples(DRAWS)),
        lambda: cal.points.compare(DRAWS, DRAWS + 3.0),
    ],
)
def test_a_caller_who_asks_for_floating_point_errors_gets_the_same_page(call):
    expected = str(call())
    with np.errstate(all="raise"):
        assert str(call()) == expected


@pytest.mark.parametrize("unit", [1e-163, 1e160])
def test_scores_whose_squares_leave_float64_have_no_interval(unit):
    y, normal = unit * np.linspace(-2, 2, 400), cal.Normal(np.zeros(400), np.full(400, unit))
    with pytest.raises(NotApplicableError, match="Give outcomes and predictions in other units"):
        cal.interval("crps", y, normal)


def test_the_smallest_scale_of_a_laplace():
    assert cal.crps([0.0, 1.0], cal.Laplace([0.0, 0.0], [5e-324, 5e-324])) == 0.5


def test_a_grid_of_scores_next_to_one_half_says_what_it_cannot_tell():
    grid = cal.summarize("ece", [0, 1, 1], [0.5 - 1e-9, 0.5 + 1e-9, 0.5 + 2e-9])
    with pytest.raises(NotApplicableError, match="so near that sums of a Grid cannot tell"):
        cal.spiegelhalter_test(grid, null="asymptotic")
