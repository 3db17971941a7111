"""Audits, tests and comparisons of extreme input: what is exact, and what is refused with a reason."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.errors import NotApplicableError

RNG = np.random.default_rng(1)
P = RNG.random(400)
Y = (RNG.random(400) < P).astype(int)


def test_an_impossible_outcome_needs_no_independence():
    y, p = np.r_[1, Y], np.r_[0.0, P]
    assert cb.audit(y, p, clusters=np.arange(401) // 5, resamples=99).verdict.claims[0].pvalue == 0


def test_scores_beyond_what_percentages_can_show():
    verdict = cb.audit(np.r_[1, np.zeros(199, int)], np.full(200, 1e-300), resamples=99).verdict
    assert verdict.status == "miscalibrated"
    assert not any("nan" in text for text in (verdict.headline, *(line.text for line in verdict.lines)))


@pytest.mark.parametrize("least", [5e-324, 1e-320, 2.3e-308])
def test_vectors_with_the_smallest_numbers(least):
    vectors = np.full((60, 3), least)
    vectors[:, 0] = 1
    with np.errstate(all="raise"):
        audit = cb.audit(RNG.integers(0, 3, 60), vectors, resamples=99)
    assert audit.verdict.status == "miscalibrated"


def test_power_of_rare_events_is_that_of_the_test():
    # no event can happen, so every data set passes; the upper limit is 1 - 0.025^(1/400) = 0.009
    assert cb.power(np.zeros(400), tolerance=0.05).power == 1
    assert cb.equivalence_test(np.zeros(400, int), np.zeros(400), tolerance=0.05).pvalue < 1e-6


@pytest.mark.parametrize(
    ("verb", "given", "words"),
    [
        *((cb.audit, {"tolerance": tolerance}, "must be at least 1e-06") for tolerance in (1e-300, 5e-324, 1e-7)),
        (cb.audit, {"clusters": [None] + ["a"] * 399}, "clusters must not be missing"),
        (cb.audit, {"clusters": [1, 2]}, "expected 400 rows"),
        (cb.reliability_curve, {"strategy": "isotonic", "simultaneous": True}, "at least 40 resamples; got 39"),
    ],
)
def test_refusals(verb, given, words, refusal):
    assert words in refusal(verb, Y, P, resamples=39, **given)
    sets = cb.Sets([[True, False], [True, True]])
    assert "have no level" in refusal(cb.equivalence_test, [0, 1], sets, tolerance=0.3, error=NotApplicableError)


def test_models_with_equal_confidence_and_other_labels_differ():
    vectors = RNG.dirichlet(np.ones(3), 400)
    y = RNG.integers(0, 3, 400)
    (pair,) = cb.compare_predictions(y, [vectors, vectors[:, ::-1]], metric="cutoff_error").pairs
    errors = [cb.cutoff_error(y, predicted) for predicted in (vectors, vectors[:, ::-1])]
    assert pair.difference == pytest.approx(errors[0] - errors[1], abs=1e-12)
    assert pair.low < pair.difference < pair.high
