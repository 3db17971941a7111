"""Dependence of pairs of coordinates."""

import numpy as np
import pytest

from calibrant import Samples, explain
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.counting import marginal_ranks
from calibrant.ranking.draw_evidence import RankedDraws
from calibrant.ranking.pair_dependence import PairDependence, is_affordable, pair_dependence


def correlated(rho, shape, rng):
    root = np.linalg.cholesky([[1.0, rho], [rho, 1.0]])
    return rng.normal(size=(*shape, 2)) @ root.T


def pairs(y, draws, seed=0):
    rows = read_outcomes(y, Samples(draws))
    return pair_dependence(RankedDraws.of(rows, marginal_ranks(rows, 0).rank), np.random.default_rng(seed))


def test_correlation_that_is_not_stated():
    """The reference: rank correlation of the outcomes about 0.73, of the draws about 0.02."""
    rng = np.random.default_rng(1)
    found = pairs(correlated(0.8, (400,), rng), rng.normal(size=(400, 49, 2)))
    assert found.outcomes[0] == pytest.approx(0.77, abs=0.06)
    assert found.members[0] == pytest.approx(0.02, abs=0.03)
    assert found.pvalue[0] == 0.001


def test_by_hand():
    # ranks of the outcomes (0, 0), (1, 2), (2, 1): less 1 their products are 1, 0, 0 and their squares add up to 2
    y = np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])
    # products of all members: 1, 0, 1 in the first row, where they go together, and 0, 1, 0 in the others
    draws = np.array([[[2.0, 2.0], [3.0, 3.0]], [[1.0, 1.0], [3.0, 2.0]], [[1.0, 1.0], [2.0, 3.0]]])
    found = pairs(y, draws)
    assert found.outcomes[0] == pytest.approx(1 / 2)
    assert found.members[0] == pytest.approx(4 / 6)
    assert found.difference[0] == pytest.approx(-1 / 6)
    rng = np.random.default_rng(0)
    y = np.stack([np.full(30, 9.0), np.arange(30.0)], axis=1)  # above all draws: every rank of the first is M
    assert pairs(y, rng.normal(size=(30, 5, 2))).outcomes[0] == 0
    y, draws = rng.normal(size=(50, 1)), rng.normal(size=(50, 9, 1))
    found = pairs(np.repeat(y, 2, axis=1), np.repeat(draws, 2, axis=2))
    assert found.pvalue[0] == 1
    assert found.outcomes[0] == pytest.approx(1)


def test_errors_of_coordinates_are_not_those_of_pairs():
    # The mean product of their ranks is far from 0; their correlation is not.
    rng = np.random.default_rng(3)
    found = pairs(rng.normal(size=(1000, 2)) + 0.5, rng.normal(size=(1000, 19, 2)))
    assert abs(found.difference[0]) < 0.1
    assert found.pvalue[0] > 0.01
    # Correlations of their ranks do not tell their dependence alone.
    rng = np.random.default_rng(4)
    y, draws = correlated(0.8, (300,), rng), rng.normal(size=(300, 19, 2)) + np.array([0.0, 1.0])
    assert pairs(y, draws).pvalue[0] < 0.01
    found = explain(y, Samples(draws))
    assert not [claim for claim in found.claims if claim.quantity == "dependence"]


def known(outcomes, members, pvalue=0.001):
    each = np.array([outcomes]), np.array([members]), np.array([pvalue])
    return PairDependence(np.array([0]), np.array([1]), *each)


@pytest.mark.parametrize(("outcomes", "members"), [(0.7, 0.1), (0.1, 0.7), (-0.7, -0.1), (0.6, -0.2), (-0.6, 0.2)])
def test_claim(outcomes, members):
    claim = known(outcomes, members).claim(0, ("a", "b"), 0.95, 100, 0.004)
    assert claim.kind == ("above" if outcomes > members else "below")
    assert claim.subject.name == "a and b"
    assert claim.at_floor
    assert claim.is_false(0.0)
    assert not claim.is_false(outcomes - members)


def test_the_clearest_pairs_come_first():
    found = PairDependence(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.2, 0.9, 0.5]), np.zeros(3), np.array([0.001, 0.03, 0.001])
    )
    assert found.order.tolist() == [2, 0, 1]
    assert found.wrong(0.05, (True, True, True)) == [2, 0, 1]
    assert found.wrong(0.01, (True, True, True)) == [2, 0]
    assert found.wrong(0.05, (True, True, False)) == [0]


def test_level():
    rng = np.random.default_rng(0)
    alarms = [pairs(correlated(0.5, (40,), rng), correlated(0.5, (40, 9), rng), k).pvalue.min() for k in range(200)]
    assert np.mean(np.array(alarms) <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_what_takes_long_is_left_out():
    assert is_affordable(1000, 99, 4)
    assert not is_affordable(10**6, 99, 4)
    assert not is_affordable(1000, 99, 1)
    assert not is_affordable(20, 9, 1000)
