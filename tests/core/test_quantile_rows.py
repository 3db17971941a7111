"""Outcomes and quantile forecasts as they are."""

import pickle

import numpy as np
import pytest

from calibrant import Quantiles, Summary, SummaryError
from calibrant.core.quantile_rows import KeptQuantiles
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.rows import read_judged

Y, VALUES, LEVELS, W = [0.5, -1.0, 2.0], [[0.0, 1.0], [1.0, 1.0], [-np.inf, 3.0]], [0.1, 0.9], [1.0, 2.0, 0.5]


def of(y, values, levels=LEVELS, weights=None):
    return KeptQuantiles.of(read_judged(y, Quantiles(values, levels), weights=weights))


def test_rows_stay_in_order():
    found = of(Y, VALUES, weights=W)
    assert (found.y.tolist(), found.values.tolist(), found.w.tolist()) == (Y, VALUES, W)
    assert found.levels.tolist() == LEVELS
    assert found.n == 3
    assert not found.single
    assert repr(found) == "KeptQuantiles(n=3)"


def test_merging_is_one_after_the_other():
    for cut in (1, 2):
        parts = [of(Y[s], VALUES[s], weights=W[s]) for s in (slice(cut), slice(cut, None))]
        assert parts[0] + parts[1] == of(Y, VALUES, weights=W)
    assert is_unit((of(Y, VALUES) + of(Y, VALUES)).w)
    assert (of(Y, VALUES) + of(Y, VALUES, weights=W)).w.tolist() == [1.0, 1.0, 1.0, *W]


def test_zero():
    zero, some = KeptQuantiles.zero(), of(Y, VALUES)
    assert zero.n == 0
    assert zero + some == some + zero == some
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize(("values", "levels"), [(VALUES, LEVELS), (Y, 0.5)])
def test_bytes_and_pickle(values, levels, weights):
    found = of(Y, values, levels, weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back.single == (levels == 0.5)


def test_levels_are_compared_after_rounding():
    assert (of([0.0], [1.0], 0.1) + of([0.0], [1.0], 1 - 0.9)).n == 2


def test_other_levels_do_not_merge(refusal):
    message = refusal(lambda: of(Y, VALUES) + of([0.0], [1.0], 0.5), error=SummaryError)
    assert message == "quantiles of levels 0.1, 0.9 do not merge with levels 0.5"


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(SummaryError, match="one length"):
        KeptQuantiles(np.zeros(2), np.zeros((3, 1)), np.array([0.5]), True, np.ones(2))


def test_the_caller_may_write_on():
    y = np.array(Y)
    found = of(y, VALUES)
    y[0] = 99.0
    assert found.y[0] == 0.5
