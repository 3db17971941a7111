"""Rank correlations of two sets of points: their values, their p-values, and when they are spoken of."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from calibrant.auditing.compare_points import compare
from calibrant.points import evidence as module
from calibrant.points.evidence import dependence
from calibrant.points.inputs import PointSets


def normal(n, d, correlation, rng):
    covariance = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    return rng.multivariate_normal(np.zeros(d), covariance, size=n)


@pytest.mark.parametrize("digits", [9, 0])
def test_values_are_those_of_spearman(digits, rng):
    y, points = np.round(normal(50, 3, 0.5, rng), digits), np.round(normal(40, 3, 0.2, rng), digits)
    found = dependence(PointSets(y, points), 19, rng)
    assert found.pairs == ((0, 1), (0, 2), (1, 2))
    for values, part in ((found.real, y), (found.generated, points)):
        np.testing.assert_allclose(values, [spearmanr(part[:, j], part[:, k])[0] for j, k in found.pairs])


def test_the_wrong_pair_is_found():
    rng = np.random.default_rng(1)
    y, points = normal(200, 4, 0.0, rng), normal(150, 4, 0.0, rng)
    points[:, 2] = 0.8 * points[:, 1] + 0.6 * points[:, 2]
    p = dependence(PointSets(y, points), 199, rng).pvalue
    assert p[3] == 1 / 200
    assert np.delete(p, 3).min() > 0.05


def test_monotone_changes_of_coordinates_change_nothing():
    rng = np.random.default_rng(2)
    y, points = normal(60, 3, 0.6, rng), normal(70, 3, 0.6, rng)
    plain = dependence(PointSets(y, points), 99, np.random.default_rng(0))
    bent = dependence(PointSets(5 + y**3, np.exp(points)), 99, np.random.default_rng(0))
    for one, other in zip(plain[1:], bent[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n", "m", "d", "correlation"), [(20, 30, 2, 0.9), (40, 40, 4, 0.5)])
def test_level(n, m, d, correlation):
    """If coordinates go together alike, 5 % of tests reject, whatever the laws of single coordinates are."""
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(200):
        sets = PointSets(normal(n, d, correlation, rng), np.exp(1 + 2 * normal(m, d, correlation, rng)))
        rejected += dependence(sets, 59, rng).pvalue.min() <= 0.05
    assert rejected <= 20  # with probability 0.998 at most, if the rate is 5 %


def test_constant_coordinates_are_left_out():
    rng = np.random.default_rng(4)
    y, points = normal(40, 3, 0.5, rng), normal(40, 3, 0.5, rng)
    points[:, 1] = 7.0
    assert dependence(PointSets(y, points), 19, rng).pairs == ((0, 2),)
    assert dependence(PointSets(y[:, :2], points[:, :2]), 19, rng).pairs == ()


def test_nothing_is_said_of_equal_sets_nor_of_a_shift_alone(monkeypatch):
    rng = np.random.default_rng(7)
    found = compare(normal(150, 3, 0.5, rng), normal(150, 3, 0.5, rng) + 1, resamples=399).verdict
    assert found.status == "different"
    assert not any(claim.quantity == "rank_correlation" for claim in found.claims)
    rng = np.random.default_rng(6)
    monkeypatch.setattr(module, "dependence", pytest.fail)
    found = compare(normal(200, 2, 0.5, rng), normal(200, 2, 0.5, rng), resamples=399).verdict
    assert found.status == "no evidence"


def test_every_pair_is_claimed():
    rng = np.random.default_rng(8)
    found = compare(normal(150, 4, 0.9, rng), normal(150, 4, 0.0, rng), resamples=399).verdict
    pairs = [claim for claim in found.claims if claim.quantity == "rank_correlation"]
    assert len(pairs) == 6
    assert {claim.kind for claim in pairs} == {"below"}
