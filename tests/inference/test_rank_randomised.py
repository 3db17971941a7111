"""Continuous tests of ranks spread over their cells, against SciPy and the series of Anderson and Darling."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import cramervonmises, kstest

from calibrant import NotApplicableError
from calibrant.inference.rank_randomised import anderson_darling, cramer_von_mises, kolmogorov, randomised

REFERENCES = Path(__file__).parents[1] / "references"
TESTS = {"ks": kolmogorov, "cvm": cramer_von_mises, "ad": anderson_darling}
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].split("/")[0] in TESTS
]


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    name, (ranks, uniforms) = value["id"].split("/")[0], value["inputs"]
    with np.load(REFERENCES / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        u = (arrays[ranks] + arrays[uniforms]) / (M + 1)
    found = [TESTS[name](column) for column in u.reshape(len(u), -1).T]
    np.testing.assert_allclose([T for T, _ in found], value["value"]["statistic"], rtol=value["rtol"])
    np.testing.assert_allclose([p for _, p in found], value["value"]["pvalue"], rtol=value["rtol"])


@pytest.mark.parametrize("n", [5, 12, 300])
def test_as_in_scipy(n):
    u = np.random.default_rng(n).random(n)
    for ours, theirs in ((kolmogorov(u), kstest(u, "uniform")), (cramer_von_mises(u), cramervonmises(u, "uniform"))):
        assert ours == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


@pytest.mark.parametrize("n", [20, 200, 5000])
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_a_gross_departure_has_a_small_pvalue(test, n):
    """SciPy's p-value of Cramér-von Mises is 0 or negative here."""
    u = np.linspace(0.0, 0.2, n)
    assert 0 <= test(u)[1] < (1e-4 if n == 20 else 1e-20)
    if n == 20:
        assert test(u)[1] > 0


def test_pvalues_fall_with_the_statistic_of_cramer_von_mises():
    found = [cramer_von_mises(np.linspace(0, end, 40)) for end in np.linspace(1, 0.05, 60)]
    T, p = map(np.array, zip(*found, strict=True))
    order = np.argsort(T)
    assert (np.diff(p[order]) <= 5e-7).all()


def test_every_rank_is_spread_over_its_cell():
    counts = np.array([[2, 0], [0, 3], [3, 2]])
    one, other = randomised(counts, np.random.default_rng(0))
    assert np.floor(one * 3).tolist() == [0, 0, 2, 2, 2]
    assert np.floor(other * 3).tolist() == [1, 1, 1, 2, 2]
    assert (np.diff(one) > 0).all()


def test_uniform_ranks_give_uniform_values():
    rng = np.random.default_rng(0)
    counts = np.bincount(rng.integers(0, 5, 20_000), minlength=5)[:, None]
    (u,) = randomised(counts, rng)
    assert kstest(u, "uniform").pvalue > 0.001


def test_the_ends_of_the_range_are_no_infinity():
    T, p = anderson_darling(np.array([0.0, 0.2, 0.5, 0.8, 1.0]))
    assert np.isfinite(T)
    assert 0 < p < 1e-4


@pytest.mark.parametrize("test", [cramer_von_mises, anderson_darling])
def test_too_few_rows_for_a_limit_law(test, refusal):
    assert "at least 5 rows" in refusal(test, np.full(4, 0.5), error=NotApplicableError)
    test(np.linspace(0.1, 0.9, 5))
