"""Rows sorted by size and pooled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.weights import is_unit, unit_weights
from calibrant.primitives.pool_sizes import pool_sizes

SIZES = st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1.0, 2.0, 3.5, 1e300, np.inf])


@given(st.lists(st.tuples(SIZES, st.booleans()), min_size=1, max_size=40))
def test_counts_of_each_size(drawn):
    size, covered = np.array([s for s, _ in drawn]), np.array([c for _, c in drawn])
    found = pool_sizes(size, covered, unit_weights(size.size))
    values, rows = np.unique(size, return_counts=True)
    assert found.score.tolist() == values.tolist()
    assert found.rows.tolist() == rows.tolist()
    assert found.events.tolist() == [int(covered[size == value].sum()) for value in values]
    assert is_unit(found.weight)


def test_weights_are_kept_apart():
    found = pool_sizes(np.array([2.0, np.inf, 2.0, 2.0]), np.array([1, 0, 0, 1], bool), np.array([3.0, 1.0, 1.0, 3.0]))
    assert found.score.tolist() == [2.0, 2.0, np.inf]
    assert found.weight.tolist() == [1.0, 3.0, 1.0]
    assert found.rows.tolist() == [1, 2, 1]
    assert found.events.tolist() == [0, 2, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_inputs_stay_as_they_are(weighted):
    size = np.array([3.0, 1.0])
    pool_sizes(size, np.array([True, False]), np.array([1.0, 2.0]) if weighted else unit_weights(2))
    assert size.tolist() == [3.0, 1.0]
