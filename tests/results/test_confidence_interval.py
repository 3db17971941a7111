"""What `interval` returns."""

import pickle

import numpy as np
import pytest

from calibrant.results import ConfidenceInterval

ONE = ConfidenceInterval(0.476229181, 0.927337962, 0.75, 0.95, "exact (Clopper-Pearson)", 16)
SEVERAL = ConfidenceInterval(np.array([0.25, 0.5]), np.array([0.75, np.inf]), np.array([0.5, 0.75]), 0.9, "t", 16)


def test_text():
    assert repr(ONE) == (
        "ConfidenceInterval(low=0.476229, high=0.927338, estimate=0.75, level=0.95, n=16, "
        "method='exact (Clopper-Pearson)')"
    )
    assert "low=[0.25, 0.5], high=[0.75, inf], estimate=[0.5, 0.75]" in repr(SEVERAL)
    each = ConfidenceInterval(np.zeros(2), np.ones(2), np.ones(2), 0.9, "t", np.array([3, 4]))
    assert "n=[3, 4]" in repr(each)


def test_frozen():
    low = np.array([0.25, 0.5])
    found = ConfidenceInterval(low, low, low, 0.9, "t", 2)
    low[0] = 9.0
    assert found.low.tolist() == [0.25, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        found.low[0] = 1.0
    with pytest.raises(AttributeError):
        found.level = 0.5


def test_travels():
    back = pickle.loads(pickle.dumps(SEVERAL))
    assert repr(back) == repr(SEVERAL)
