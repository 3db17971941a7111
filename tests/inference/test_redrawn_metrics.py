import numpy as np
import pytest

import calibrant as cb
from calibrant.catalogue import find
from calibrant.inference.redrawn_metrics import MOST_ENTRIES, redrawn_metrics

MEASURES = [
    lambda ordered: {"ece": find("ece").finish(ordered)},
    lambda ordered: {"mcb": find("decompose").finish(ordered).mcb},
]


def run(y, p, weights=None, resamples=299, seed=0):
    summary = cb.summarize("decompose", y, p, weights=weights)
    return redrawn_metrics(summary, MEASURES, width_bins=15, resamples=resamples, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("weighted", [False, True])
def test_expectation_and_pvalue_agree_with_the_consistency_test(weighted):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    w = rng.uniform(0.2, 3, 400) if weighted else None
    found, how = run(y, p, w)
    assert "cells" not in how
    for name, metric in (("ece", "ece"), ("mcb", "decompose")):
        test = cb.consistency_test(y, p, metric=metric, weights=w, resamples=299, rng=5)
        assert found[name].expected == pytest.approx(test.details["expected"], rel=0.08)
        assert abs(found[name].pvalue - test.pvalue) < 0.15


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_stand_in_for_the_rows(weighted):
    rng = np.random.default_rng(1)
    n = MOST_ENTRIES + 5000
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
    assert found["ece"].pvalue == found["mcb"].pvalue == 1 / 60
