"""Which way predictions are off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import direction, ece


def test_by_hand():
    # (0, 0.5]: mean 0.375, one event in two, 1/8 too low. (0.5, 1]: mean 0.875, none, 7/8 too high. Half the rows each.
    found = direction([0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0], bins=2)
    assert (found.over, found.under, found.bias) == (7 / 16, 1 / 16, 1 / 4 - 2.5 / 4)
    assert (found.over_bin, found.under_bin) == ((0.5, 1.0), (0.0, 0.5))


def test_the_bin_that_adds_most_is_not_the_one_with_the_largest_gap():
    # (0, 0.5] is 1/4 too high in four rows, (0.5, 1] 3/4 too high in one.
    found = direction([0, 0, 0, 0, 0], [0.25] * 4 + [0.75], bins=2)
    assert found.over_bin == (0.0, 0.5)


def test_one_sided():
    found = direction([1, 1], [0.25, 0.75], bins=2)
    assert (found.over, found.over_bin) == (0.0, None)
    assert found.under == found.bias == 0.5


def test_perfect():
    found = direction([0, 1], [0.0, 1.0])
    assert (found.over, found.under, found.bias, found.over_bin, found.under_bin) == (0.0, 0.0, 0.0, None, None)


def test_weights():
    # Weights 3, 1: the row that is too high counts three times.
    found = direction([0, 1], [0.25, 0.75], bins=2, weights=[3, 1])
    assert (found.over, found.under, found.bias) == (3 / 16, 1 / 16, -2 / 16)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0.1, 9)), min_size=1, max_size=30),
    st.sampled_from([{}, {"bins": 3}, {"strategy": "mass"}, {"bins": "sweep"}]),
)
def test_distributions(drawn, options):
    y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
    found = direction(y, p, weights=w, **options)
    assert found.over + found.under == pytest.approx(ece(y, p, weights=w, **options), abs=1e-12)
    assert found.under - found.over == pytest.approx(found.bias, abs=1e-12)


def test_refuses_a_matrix(refusal, D2):
    assert "top_label(y, P)" in refusal(direction, *D2)


def test_options_are_checked(refusal):
    assert "strategy must be one of" in refusal(direction, [0, 1], [0.25, 0.75], strategy="equal")
