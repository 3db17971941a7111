"""Kuiper's test of groups whose rows were counted in cells."""

import numpy as np
import pytest

from calibrant.inference.counted_groups import _critical, counted_groups
from calibrant.inference.tails import brownian_range_sf, normal_quantile
from calibrant.inputs import read_binary
from calibrant.summaries import Grid


def grid(y, p, weights=None):
    return Grid.of(read_binary(y, p, verb="a test", weights=weights))


def found(**groups):
    return counted_groups(groups.items(), level=0.95, rng=np.random.default_rng(0))


def test_by_hand():
    """Two rows of score 0.2, one of them an event; and scores 0 and 1 that are right."""
    result = found(tied=grid([1, 0], [0.2, 0.2]), certain=grid([0, 1], [0.0, 1.0]))
    assert result.names == ["tied", "certain"]
    assert result.n.tolist() == [2, 2]
    assert result.estimate == pytest.approx([0.3, 0.0], abs=1e-15)
    assert result.predicted == pytest.approx([0.2, 0.5])
    assert result.bias == pytest.approx([0.3, 0.0], abs=1e-15)
    assert result.statistic == pytest.approx([0.3 / np.sqrt(0.08), 0.0])
    # No event has |C| = 0.2, one 0.3, two 0.8: reached unless both fail, 1 - 0.8².
    assert result.pvalue == pytest.approx([0.36, 1.0], abs=0.02)
    assert result.pvalue_adjusted == pytest.approx([2 * result.pvalue[0], 1.0])
    needed = (_critical(0.05 / 2) + normal_quantile(0.8)) * np.sqrt(0.08)
    assert result.minimum_detectable == pytest.approx([needed, 0.0])


def test_a_common_factor_of_the_weights_changes_nothing():
    plain, heavy = (found(a=grid([1, 0, 0], [0.2, 0.4, 0.7], w)) for w in (None, [3.0, 3.0, 3.0]))
    assert heavy.weight == pytest.approx(3 * plain.weight)
    for name in ("estimate", "statistic", "pvalue", "bias", "minimum_detectable"):
        assert getattr(heavy, name) == pytest.approx(getattr(plain, name))


@pytest.mark.parametrize("size", [0.5, 0.05, 1e-3, 1e-9])
def test_the_critical_value_is_exceeded_as_often_as_said(size):
    assert brownian_range_sf(_critical(size)) == pytest.approx(size, rel=1e-9)
