"""An order of rows that depends on their content alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.ranking.row_order import content_order


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(*[arrays(np.float64, (n, k), elements=st.integers(0, 2)) for k in (1, 2, 1)])
    ),
    st.randoms(),
)
def test_the_same_rows_come_out_of_any_order(parts, random):
    n = len(parts[0])
    rows = np.concatenate(parts, axis=1)
    moved = np.array(random.sample(range(n), n))
    order, other = content_order(*parts), content_order(*(part[moved] for part in parts))
    assert sorted(order) == list(range(n))
    np.testing.assert_array_equal(rows[order], rows[moved][other])


def test_outcomes_count_first():
    assert content_order(np.array([2.0, 1.0, 3.0]), np.array([0.0, 9.0, 0.0])).tolist() == [1, 0, 2]
