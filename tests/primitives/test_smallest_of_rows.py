"""The smallest entries of each row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.smallest_of_rows import smallest_of_rows


@given(seed=st.integers(0, 10**6), rows=st.integers(1, 9), columns=st.integers(1, 9), data=st.data())
def test_are_those_of_the_whole_table(seed, rows, columns, data):
    rng = np.random.default_rng(seed)
    K = data.draw(st.integers(1, columns))
    table = rng.integers(0, 4, (rows, columns)) * 1.0
    table[rng.random(table.shape) < 0.3] = np.inf
    table[:, :K] = np.where(np.isinf(table[:, :K]), 2.0, table[:, :K])  # K or more of each row
    table = rng.permuted(table, axis=1)
    i, j = np.nonzero(np.isfinite(table))
    mixed = rng.permutation(len(i))
    index, square = smallest_of_rows(i[mixed], j[mixed], table[i, j][mixed], rows, K)
    np.testing.assert_array_equal(square, np.sort(table, axis=1)[:, :K])
    np.testing.assert_array_equal(np.take_along_axis(table, index, axis=1), square)
    assert all(len(set(row)) == K for row in index.tolist())
