"""Survival functions in both tails (the 50-digit table is checked with the references)."""

import itertools
import math

import pytest

from calibrant.inference.tails import brownian_max_sf, brownian_range_sf, normal_sf

TABLE = {
    0.5: (0.99084301, 0.99999991),
    1: (0.62922257, 0.93663541),
    1.5: (0.26721521, 0.51294075),
    2: (0.091000524, 0.18149434),
    3: (0.0053995921, 0.010799168),
    4: (1.2668497e-4, 2.5336993e-4),
    8: (2.4883842e-15, 4.9767685e-15),
    20: (1.1014496e-88, 2.2028993e-88),
}
BOTH = pytest.mark.parametrize("sf", [brownian_max_sf, brownian_range_sf])


@pytest.mark.parametrize("x", TABLE)
def test_table_of_the_specification(x):
    assert brownian_max_sf(x) == pytest.approx(TABLE[x][0], rel=5e-8)
    assert brownian_range_sf(x) == pytest.approx(TABLE[x][1], rel=5e-8)


@pytest.mark.parametrize(
    ("sf", "x", "level"),
    [
        (brownian_max_sf, 1.959964, 0.10),
        (brownian_max_sf, 2.241403, 0.05),
        (brownian_max_sf, 2.807034, 0.01),
        (brownian_range_sf, 2.241175, 0.10),
        (brownian_range_sf, 2.497672, 0.05),
        (brownian_range_sf, 3.023341, 0.01),
    ],
)
def test_critical_values(sf, x, level):
    assert sf(x) == pytest.approx(level, rel=2e-6)


@BOTH
@pytest.mark.parametrize("switch", [1.0, 2.0])
def test_the_two_series_meet(sf, switch):
    assert sf(math.nextafter(switch, 0)) == pytest.approx(sf(switch), rel=1e-12)


@BOTH
def test_falls_from_one_to_zero(sf):
    values = [sf(k / 16) for k in range(640)]
    assert values[0] == 1.0
    assert all(a >= b - 1e-15 for a, b in itertools.pairwise(values))
    assert all(0 <= value <= 1 for value in values)
    assert sf(-1.0) == 1.0
    assert sf(37.0) > 0
    assert sf(40.0) == sf(math.inf) == 0.0


def test_normal():
    assert normal_sf(0.0) == 0.5
    assert normal_sf(1.959963984540054) == pytest.approx(0.025, rel=1e-12)
    assert normal_sf(10.0) == pytest.approx(7.61985302416e-24, rel=1e-10)
    assert normal_sf(-10.0) == 1.0
    assert normal_sf(math.inf) == 0.0
