"""The isotonic fit against its min-max formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.isotonic import isotonic_fit


def min_max(events, weights):
    """Return max_{a<=i} min_{b>=i} of the mean over a..b: the isotonic regression, without pooling."""

    def mean(a, b):
        return sum(events[a : b + 1]) / sum(weights[a : b + 1])

    n = len(weights)
    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def test_by_hand():
    # Frequencies 0, 1, 0.5 with weights 1, 2, 2: the last two violate the order and pool to (2 + 1) / 4.
    assert isotonic_fit(np.array([0, 2, 1]), np.array([1, 2, 2])).tolist() == [0.0, 0.75, 0.75]


@pytest.mark.parametrize(("event", "fit"), [(0, 0.0), (1, 1.0)])
def test_one_row(event, fit):
    assert isotonic_fit(np.array([event]), np.array([1])).tolist() == [fit]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=12))
def test_min_max_formula(drawn):
    share, weight = np.array(drawn).T
    fit = isotonic_fit(share * weight, weight)
    np.testing.assert_allclose(fit, min_max((share * weight).tolist(), weight.tolist()), rtol=1e-9, atol=1e-12)
    assert (np.diff(fit) >= 0).all()
    assert fit.min() >= 0
    assert fit.max() <= 1
