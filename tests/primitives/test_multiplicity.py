"""Several p-values together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.multiplicity import bonferroni, holm


def test_holm_by_hand():
    # 3 · 0.01, 2 · 0.04 and 1 · 0.03, which may not fall: sorted 0.01, 0.03, 0.04 become 0.03, 0.06, 0.06.
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.zeros(0)).tolist() == []


def test_unknown_ones_do_not_count():
    np.testing.assert_array_equal(holm(np.array([np.nan, 0.25, np.nan])), [np.nan, 0.25, np.nan])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(pvalues):
    p = np.array(pvalues)
    adjusted = holm(p)
    for a in (0.01, 0.05, 0.3):
        rejected, order = np.zeros(p.size, dtype=bool), np.argsort(p, kind="stable")
        for i, k in enumerate(order):
            if p[k] * (p.size - i) > a:
                break
            rejected[k] = True
        np.testing.assert_array_equal(adjusted <= a, rejected)


def test_bonferroni():
    assert bonferroni([0.02, 0.5]) == pytest.approx(0.04)
    assert bonferroni([0.9, 0.8]) == 1.0
    assert bonferroni([]) == 1.0
