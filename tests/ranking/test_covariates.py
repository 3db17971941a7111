"""Ranks against what the predictions were made from: values by hand, levels by simulation, the rows that are kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from calibrant.errors import NotApplicableError
from calibrant.ranking.counting import legendre
from calibrant.ranking.covariates import read_covariates, score_found
from calibrant.summaries import Ranks

KEEP = np.array([True, False, True])


class TestAsTheyCame:
    def test_any_shape_and_type(self):
        x = np.arange(24).reshape(3, 2, 4)
        found = read_covariates(x, 3, None)
        np.testing.assert_array_equal(found, x)
        assert not found.flags.writeable
        assert x.flags.writeable
        assert read_covariates(["a", "b", "c"], 2, KEEP).tolist() == ["a", "c"]

    @pytest.mark.parametrize("x", [[1, 2], np.array(3.0), np.zeros((2, 3))])
    def test_number_of_rows(self, refusal, x):
        assert "expected 3 rows" in refusal(read_covariates, x, 2, KEEP)


def drawn(n=60, M=9, q=2, C=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, M + 1, (n, C)), M, rng.normal(size=(n, q))


def test_projection_and_basis():
    rank, M, x = drawn()
    Q = np.linalg.qr(x - x.mean(axis=0))[0]
    T = sum(((Q.T @ phi[rank]) ** 2).sum(axis=0) for phi in legendre(M)[:2])
    found = score_found(Ranks.of(rank, M, covariates=x))
    np.testing.assert_allclose(found.statistic, T, rtol=1e-10)
    np.testing.assert_allclose(found.pvalue, chi2.sf(T, 4), rtol=1e-10)


@given(st.floats(0.001, 1000), st.floats(-1000, 1000))
def test_units_of_the_covariates_do_not_matter(factor, offset):
    rank, M, x = drawn()
    found, other = (score_found(Ranks.of(rank, M, covariates=v)) for v in (x, x * [factor, 1] + offset))
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)


def test_what_does_not_vary_adds_nothing(refusal):
    rank, M, x = drawn()
    more = np.column_stack([x, np.full(60, 0.1), x[:, 0] * 2 + 1, x.sum(axis=1)])
    found, other = (score_found(Ranks.of(rank, M, covariates=v)) for v in (x, more))
    assert found.shared["dof"] == other.shared["dof"] == 4
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)
    found = score_found(Ranks.of([0, 1, 1, 0], 1, covariates=[1.0, 2.0, 4.0, 0.0]))
    assert found.shared["dof"] == 1
    x = np.array([1.0, 2.0, 4.0, 0.0]) - 1.75
    assert found.statistic[0] == pytest.approx((x @ [-1, 1, 1, -1]) ** 2 / (x @ x))
    for x in ([2.0, 2.0, 2.0], [1e9 + 0.1] * 3):
        assert "no covariate varies" in refusal(
            score_found, Ranks.of([0, 1, 2], 3, covariates=x), error=NotApplicableError
        )


@pytest.mark.parametrize("M", [4, 99])
def test_level(M):
    rank, M, x = drawn(n=50, M=M, q=2, C=400, seed=3)
    assert 0.01 < np.mean(score_found(Ranks.of(rank, M, covariates=x)).pvalue <= 0.05) < 0.09


def test_a_shift_that_changes_sign_is_seen():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    rank = np.clip(np.rint(4.5 + 3 * x + rng.normal(size=200)), 0, 9).astype(int)
    assert score_found(Ranks.of(rank, 9, covariates=x)).pvalue[0] < 1e-10
