"""What an audit expects of its measurements if the predictions are calibrated."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.auditing.measurements import FIRST, _growing, redrawn_metrics
from calibrant.core.catalogue import entries, find
from calibrant.core.null import MAX_ENTRIES_REDRAWN


def run(y, p, weights=None, resamples=299, seed=0):
    summary = cb.summarize("decompose", y, p, weights=weights)
    entries = [find(name) for name in ("ece", "decompose")]
    return redrawn_metrics(summary, entries, resamples=resamples, rng=np.random.default_rng(seed))


def test_the_measurements_of_one_probability_are_those_marked_in_the_catalogue():
    assert {entry.name for entry in FIRST} == {
        name for name, entry in entries().items() if entry.audit and "binary" in entry.predictions
    }


@pytest.mark.parametrize("weights", [None, [1, 2, 0.5, 1, 3, 1]])
def test_all_replicates_at_once_give_the_values_of_each(weights):
    p = [0.0, 0.05, 0.05, 0.4, 0.41, 1.0]
    outcomes = np.array([[0, 0, 1, 0, 1, 1], [1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 1, 0]])
    summaries = [cb.summarize("decompose", y, p, weights=weights) for y in outcomes]
    entries = [find(name) for name in ("ece", "direction", "mmce", "decompose")]
    found = _growing(entries, summaries[0], np.array([summary.events for summary in summaries]))
    given = {"weights": weights}
    direction = [cb.direction(y, p, **given) for y in outcomes]
    expected = {
        "ece": [cb.ece(y, p, **given) for y in outcomes],
        "direction.over": [one.over for one in direction],
        "direction.under": [one.under for one in direction],
        "mmce": [cb.mmce(y, p, **given) for y in outcomes],
        "decompose.mcb": [cb.decompose(y, p, **given).mcb for y in outcomes],
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, rel=1e-12, abs=1e-14), name


@pytest.mark.parametrize("weighted", [False, True])
def test_expectation_and_pvalue_agree_with_the_consistency_test(weighted):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    w = rng.uniform(0.2, 3, 400) if weighted else None
    found, how = run(y, p, w)
    assert "cells" not in how
    for name, metric in (("ece", "ece"), ("decompose.mcb", "decompose")):
        test = cb.consistency_test(y, p, metric=metric, weights=w, resamples=299, rng=5)
        assert found[name].expected == pytest.approx(test.details["expected"], rel=0.08)
        assert abs(found[name].pvalue - test.pvalue) < 0.15


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_stand_in_for_the_rows(weighted):
    rng = np.random.default_rng(1)
    n = MAX_ENTRIES_REDRAWN + 5000
    p = rng.random(n)
    y = rng.random(n) < p
    w = rng.uniform(0.2, 3, n) if weighted else None
    found, how = run(y, p, w, resamples=199)
    assert "cells" in how
    test = cb.consistency_test(y, p, metric="ece", weights=w, resamples=199, rng=5)
    assert found["ece"].expected == pytest.approx(test.details["expected"], rel=0.08)
    assert abs(found["ece"].pvalue - test.pvalue) < 0.2


def test_the_pvalue_is_small_for_a_real_error():
    rng = np.random.default_rng(2)
    p = rng.random(20_000)
    found, _ = run(rng.random(20_000) < p**1.3, p, resamples=59)
    assert found["ece"].pvalue == found["decompose.mcb"].pvalue == 1 / 60
