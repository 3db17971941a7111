"""Hill numbers of shares, of every order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.hill_number import hill_number


def test_by_hand():
    shares = np.array([1.0, 2.0, 3.0])  # 1/6, 1/3, 1/2
    found = [hill_number(shares, q) for q in (0, 1, 2, 3, math.inf)]
    entropy = math.log(6) / 6 + math.log(3) / 3 + math.log(2) / 2
    assert found == pytest.approx([3, math.exp(entropy), 36 / 14, (36 / 216) ** -0.5, 2], rel=1e-14)


@pytest.mark.parametrize("near", [1 - 0.0099, 1 - 1e-6, 1 + 1e-12, 1 + 0.0099])
def test_near_order_1(near):
    shares = np.array([0.5, 0.3, 0.2])
    direct = (shares**near).sum() ** (1 / (1 - near))
    assert hill_number(shares, near) == pytest.approx(direct, rel=1e-3 if abs(near - 1) < 1e-9 else 1e-9)
    assert hill_number(shares, near) == pytest.approx(hill_number(shares, 1), rel=abs(near - 1))


def test_a_large_order_keeps_its_digits():
    # λ^q is 0 in float64; (2 · 0.5^q)^(1/(1-q)) is 2.
    assert hill_number(np.array([0.5, 0.5]), 1e5) == pytest.approx(2.0, rel=1e-12)
    assert hill_number(np.array([0.6, 0.4]), 1e300) == pytest.approx(1 / 0.6, rel=1e-12)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=9), st.floats(0, 50))
def test_between_1_and_their_number(shares, q):
    found = hill_number(np.array(shares), q)
    assert 1 - 1e-12 <= found <= len(shares) * (1 + 1e-12)
