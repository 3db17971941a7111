"""Ranks against covariates, against the reference values and linear algebra."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from calibrant import NotApplicableError
from calibrant.inference.rank_score import permuted_score, score
from calibrant.primitives.legendre import legendre
from calibrant.summaries import KeptRanks, RankCovariates

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("covariates/")
]


def drawn(n=60, M=9, q=2, C=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, M + 1, (n, C)), M, rng.normal(size=(n, q))


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    ranks, covariates = value["inputs"]
    with np.load(REFERENCES / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        given = arrays[ranks], M, arrays[covariates]
    found, expected = score(RankCovariates.of(*given)), value["value"]
    np.testing.assert_allclose(found.statistic, expected["statistic"], rtol=value["rtol"])
    np.testing.assert_allclose(found.pvalue, expected["pvalue"], rtol=value["rtol"])
    assert found.shared["dof"] == expected["dof"]
    np.testing.assert_allclose(
        permuted_score(KeptRanks.of(*given), 9, np.random.default_rng(0)).statistic, expected["statistic"], rtol=1e-8
    )


def test_is_the_projection_on_the_covariates():
    rank, M, x = drawn()
    Q = np.linalg.qr(x - x.mean(axis=0))[0]
    T = sum(((Q.T @ phi[rank]) ** 2).sum(axis=0) for phi in legendre(M)[:2])
    found = score(RankCovariates.of(rank, M, x))
    np.testing.assert_allclose(found.statistic, T, rtol=1e-10)
    np.testing.assert_allclose(found.pvalue, chi2.sf(T, 4), rtol=1e-10)


@given(st.floats(0.001, 1000), st.floats(-1000, 1000))
def test_units_of_the_covariates_do_not_matter(factor, offset):
    rank, M, x = drawn()
    found, other = (score(RankCovariates.of(rank, M, v)) for v in (x, x * [factor, 1] + offset))
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)


def test_constant_and_repeated_covariates_add_nothing():
    rank, M, x = drawn()
    more = np.column_stack([x, np.full(60, 0.1), x[:, 0] * 2 + 1, x.sum(axis=1)])
    found, other = (score(RankCovariates.of(rank, M, v)) for v in (x, more))
    assert found.shared["dof"] == other.shared["dof"] == 4
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)


def test_batches_add_up():
    rank, M, x = drawn()
    whole = score(RankCovariates.of(rank, M, x))
    parts = sum(RankCovariates.of(rank[part], M, x[part]) for part in np.array_split(np.arange(60), 7))
    np.testing.assert_allclose(score(parts).statistic, whole.statistic, rtol=1e-9)


def test_one_draw_has_one_polynomial():
    found = score(RankCovariates.of([0, 1, 1, 0], 1, [1.0, 2.0, 4.0, 0.0]))
    assert found.shared["dof"] == 1
    x = np.array([1.0, 2.0, 4.0, 0.0]) - 1.75
    assert found.statistic[0] == pytest.approx((x @ [-1, 1, 1, -1]) ** 2 / (x @ x))


def test_nothing_varies(refusal):
    for x in ([2.0, 2.0, 2.0], [1e9 + 0.1] * 3):
        assert "no covariate varies" in refusal(score, RankCovariates.of([0, 1, 2], 3, x), error=NotApplicableError)


def test_permutations_do_not_depend_on_the_order_of_rows():
    rank, M, x = drawn()
    order = np.random.default_rng(5).permutation(60)
    one, other = (
        permuted_score(KeptRanks.of(rank[rows], M, x[rows]), 99, np.random.default_rng(0)).pvalue
        for rows in (slice(None), order)
    )
    np.testing.assert_array_equal(one, other)


def test_permutations_of_three_rows():
    x, orders = [0.0, 1.0, 3.0], list(itertools.permutations([0, 1, 3]))
    T = [score(RankCovariates.of(order, 3, x)).statistic[0] for order in orders]
    for order, own in zip(orders, T, strict=True):
        found = permuted_score(KeptRanks.of(order, 3, x), 5000, np.random.default_rng(0))
        assert found.pvalue[0] == pytest.approx(np.mean(np.array(T) >= own - 1e-9), abs=0.04)


@pytest.mark.parametrize("M", [4, 99])
def test_size(M):
    rank, M, x = drawn(n=50, M=M, q=2, C=400, seed=3)
    for found in (
        score(RankCovariates.of(rank, M, x)),
        permuted_score(KeptRanks.of(rank, M, x), 199, np.random.default_rng(1)),
    ):
        assert 0.01 < np.mean(found.pvalue <= 0.05) < 0.09


def test_a_shift_that_changes_sign_is_seen():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    rank = np.clip(np.rint(4.5 + 3 * x + rng.normal(size=200)), 0, 9).astype(int)
    assert score(RankCovariates.of(rank, 9, x)).pvalue[0] < 1e-10
    assert permuted_score(KeptRanks.of(rank, 9, x), 199, rng).pvalue[0] == 1 / 200
