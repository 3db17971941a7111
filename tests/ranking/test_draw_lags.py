"""Do draws depend on those before them."""

import numpy as np
import pytest
from tests.references.books import book, by_id

from calibrant import Samples
from calibrant.core.pvalues import holm
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.ranking import draw_dependence
from calibrant.ranking.draw_lags import DrawLags


def chains(phi, n, M, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, M))
    for t in range(1, M):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi * phi) * x[:, t]
    return rng.normal(size=(n, 1)) * 5 + x * rng.uniform(0.1, 10, (n, 1))


def test_reference():
    found, expected = (
        draw_dependence(Samples(book("conditional")["data"]["draws"]["draws"])),
        by_id("conditional")["dependence"]["value"],
    )
    assert (found.details["rho"], found.statistic, found.estimate) == pytest.approx(expected, rel=1e-9)


def test_level():
    rng = np.random.default_rng(2)
    pvalues = [draw_dependence(Samples(rng.standard_cauchy((5, 9)))).pvalue for _ in range(400)]
    assert np.mean(np.array(pvalues) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_long_chains(phi):
    # The sum of phi^k on both sides is (1 + phi)/(1 - phi), less the terms below 0.02.
    found = draw_dependence(Samples(chains(phi, 100, 2000)))
    assert found.estimate == pytest.approx((1 + phi) / (1 - phi), rel=0.08)
    assert found.pvalue < 1e-10


def test_coordinates_are_adjusted():
    x = np.stack([chains(0.0, 60, 30), chains(0.05, 60, 30, seed=1), chains(0.5, 60, 30, seed=2)], axis=2)
    found = draw_dependence(Samples(x))
    alone = [draw_dependence(Samples(x[:, :, d])) for d in range(3)]
    np.testing.assert_allclose(found.details["pvalue_each"], [one.pvalue for one in alone], rtol=1e-9)
    np.testing.assert_allclose(found.pvalue, holm(found.details["pvalue_each"]))
    np.testing.assert_allclose(found.estimate, [one.estimate for one in alone], rtol=1e-9)


def test_sorted_draws_tell_nothing_and_rows_of_equal_draws_are_left_out():
    found = draw_dependence(Samples(np.sort(chains(0.0, 20, 9), axis=1)))
    assert np.isnan(found.pvalue)
    assert "sorted" in found.method
    assert found.details["ordered"] == 20
    x = chains(0.5, 30, 20)
    found = draw_dependence(Samples(np.concatenate([x, np.full((9, 20), 0.1)])))
    assert found.details["rows"] == 30
    assert found.statistic == pytest.approx(draw_dependence(Samples(x)).statistic)


def test_refused(refusal):
    assert "at least 5 rows" in refusal(draw_dependence, Samples(chains(0.5, 4, 9)), error=NotApplicableError)
    assert "at least 3 draws" in refusal(draw_dependence, Samples(chains(0.5, 9, 2)), error=NotApplicableError)
    x = chains(0.5, 40, 12)
    with pytest.raises(SummaryError, match="do not merge"):
        DrawLags.of(x) + DrawLags.of(x[:, :5])
