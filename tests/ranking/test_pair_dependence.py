"""Dependence of pairs of coordinates."""

import numpy as np
import pytest

from calibrant import Samples, explain
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.counting import marginal_ranks
from calibrant.ranking.draw_evidence import RankedDraws
from calibrant.ranking.pair_dependence import is_affordable, pair_dependence


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
    # outcomes are the largest of three members in both coordinates: φ_1 = (2 - 1)/√(8/12) each
    y, draws = np.array([[3.0, 3.0]]), np.array([[[1.0, 2.0], [2.0, 1.0]]])
    found = pairs(y, draws)
    assert found.outcomes[0] == pytest.approx(1.5)
    assert found.members[0] == pytest.approx(0.5)  # (1.5 + 0 + 0)/3: the draws are at the middle in one coordinate


def test_level():
    rng = np.random.default_rng(0)
    alarms = [pairs(correlated(0.5, (40,), rng), correlated(0.5, (40, 9), rng), k).pvalue.min() for k in range(200)]
    assert np.mean(np.array(alarms) <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_the_sentence_names_the_pair():
    rng = np.random.default_rng(2)
    y = np.concatenate([correlated(0.8, (300,), rng), rng.normal(size=(300, 1))], axis=1)
    found = explain(y, Samples(rng.normal(size=(300, 19, 3))))
    assert found.joint_failure == "dependence wrong"
    assert "0 and 1 go together more than stated" in found.joint
    assert "adjusted p at most" in found.joint
    (claim,) = [claim for claim in found.claims if claim.quantity == "dependence"]
    assert (claim.kind, claim.subject.name) == ("above", "0 and 1")
    assert claim.estimate > 0.6
    assert claim.expected < 0.1


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(4)
    y, draws, order = rng.normal(size=(60, 2)), rng.normal(size=(60, 9, 2)), rng.permutation(60)
    one, other = explain(y, Samples(draws)), explain(y[order], Samples(draws[order]))
    assert one.joint_pvalue == pytest.approx(other.joint_pvalue, rel=1e-9)


def test_what_takes_long_is_left_out():
    assert is_affordable(1000, 99, 4)
    assert not is_affordable(10**6, 99, 4)
    assert not is_affordable(1000, 99, 1)
