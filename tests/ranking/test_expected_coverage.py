"""Coverage of central intervals and of regions of highest density: the reference values, and counts by hand."""

import numpy as np
import pytest
from tests.references.books import arrays, by_id

from calibrant import CdfValues, Normal, Quantiles, Samples
from calibrant.errors import NotApplicableError
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.summaries import Ranks

VALUES, ARRAYS = by_id("samples"), arrays("samples")
SETS = [name.removeprefix("central_coverage/") for name in VALUES if name.startswith("central_coverage/")]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", SETS)
class TestReferences:
    def test_central(self, name):
        value, M = VALUES[f"central_coverage/{name}"]["value"], ARRAYS[f"samples_{name}"].shape[1]
        ranks = Ranks.of(ARRAYS[f"ranks_{name}"], M)
        some = expected_coverage(ranks, levels=value["level"])
        np.testing.assert_allclose(some.level, value["level"], rtol=1e-15)
        np.testing.assert_allclose(np.atleast_2d(some.coverage.T), value["coverage"], rtol=1e-12)
        every = expected_coverage(ranks)
        a = np.array(value["a"])
        np.testing.assert_allclose(every.level, (M + 1 - 2 * np.arange(M // 2, 0, -1)) / (M + 1), rtol=1e-15)
        np.testing.assert_array_equal(every.coverage[-a], some.coverage)
        np.testing.assert_array_equal(every.low[-a], some.low)

    def test_hpd(self, name):
        value, M = VALUES[f"hpd_coverage/{name}"]["value"], ARRAYS[f"samples_{name}"].shape[1]
        ranks = Ranks.of(ARRAYS[f"energy_ranks_{name}"], M)
        some = expected_coverage(ranks, region="hpd", levels=value["level"])
        np.testing.assert_allclose(some.level, value["level"], rtol=1e-15)
        np.testing.assert_allclose(some.coverage, value["coverage"], rtol=1e-12)
        every = expected_coverage(ranks, region="hpd")
        np.testing.assert_array_equal(every.coverage[np.array(value["j"]) - 1], some.coverage)
        band = VALUES[f"band/energy/{name}"]["value"]
        assert every.gamma == pytest.approx(band["gamma"], rel=1e-9)
        assert every.pvalue == pytest.approx(band["pvalue"], rel=1e-9)


class TestByHand:
    def test_counts_and_limits(self):
        # Nine ranks among seven draws; (m - 2a)/m with m = 8. Ranks 3 and 4 are inside of all intervals.
        ranks = Ranks.of([0, 0, 1, 2, 3, 4, 4, 6, 7], M=7)
        curve = expected_coverage(ranks)
        assert curve.level.tolist() == [2 / 8, 4 / 8, 6 / 8]
        assert (9 * curve.coverage).round(12).tolist() == [3, 4, 6]
        curve = expected_coverage(ranks, region="hpd")
        assert curve.level.tolist() == [j / 8 for j in range(1, 8)]
        assert (9 * curve.coverage).round(12).tolist() == [2, 3, 4, 5, 7, 7, 8]
        # Three of six in the central half: Clopper-Pearson of 3 of 6, and B(6, 1/2) stays within 2 to 4 with 50/64.
        curve = expected_coverage(Ranks.of([0, 0, 1, 2, 2, 3], M=3), levels=0.5, confidence=0.75)
        assert (curve.level.tolist(), curve.coverage.tolist()) == ([0.5], [0.5])
        assert (curve.lower.tolist(), curve.upper.tolist()) == ([2 / 6], [4 / 6])
        assert curve.attained == pytest.approx(50 / 64)
        # The limits solve P(B >= 3) = P(B <= 3) = 0.125.
        q = curve.low.item()
        above = sum(c * q**k * (1 - q) ** (6 - k) for k, c in {3: 20, 4: 15, 5: 6, 6: 1}.items())
        assert above == pytest.approx(0.125, rel=1e-9)
        assert curve.high.item() == pytest.approx(1 - q, rel=1e-9)
        assert (curve.gamma, curve.pvalue, curve.where) == (pytest.approx(84 / 64), pytest.approx(1), 0.5)

    def test_levels_are_those_that_draws_attain(self):
        # With 19 draws there is 0.5 and 0.9 but no 0.95, and none is called what it is not.
        rng = np.random.default_rng(0)
        y, draws = rng.normal(size=20_000), rng.normal(size=(20_000, 19))
        curve = expected_coverage(y, Samples(draws), levels=[0.5, 0.95])
        assert curve.level.tolist() == [0.5, 0.9]
        np.testing.assert_allclose(curve.coverage, [0.5, 0.9], atol=0.01)
        finer = expected_coverage(rng.normal(size=20_000), Samples(rng.normal(size=(20_000, 39))), levels=[0.5, 0.95])
        assert finer.level.tolist() == [0.5, 0.95]
        np.testing.assert_allclose(finer.coverage, [0.5, 0.95], atol=0.01)
        ranks = Ranks.of(RNG.integers(0, 100, 50), M=99)
        curve = expected_coverage(ranks, levels=[0.9, 0.5, 0.903])
        assert curve.level.tolist() == [0.9, 0.5, 0.9]
        sorted_ones = expected_coverage(ranks, levels=[0.5, 0.9])
        assert curve.upper[[1, 0]].tolist() == sorted_ones.upper.tolist()
        assert curve.pvalue == sorted_ones.pvalue

    def test_many_draws(self):
        for M in (2000, 2001, 5000):
            m = M + 1
            curve = expected_coverage(Ranks.of(RNG.integers(0, m, 100), M))
            q = np.rint(curve.level * m).astype(int)
            assert (q % 2 == m % 2).all()
            assert 900 <= q.size <= 999
            assert np.diff(curve.level).max() < 0.0025
            assert curve.level[0] < 0.0025
            assert curve.level[-1] > 0.9975

    def test_errors_that_cancel_are_hidden(self):
        # Mirrored ranks, and all on one side: the same central coverage.
        ranks = np.arange(100).repeat(3)
        even, bent = (expected_coverage(Ranks.of(r, M=99)) for r in (ranks, np.minimum(ranks, 99 - ranks)))
        np.testing.assert_array_equal(even.coverage, bent.coverage)
        assert expected_coverage(Ranks.of(np.minimum(ranks, 99 - ranks), M=99), region="hpd").pvalue < 1e-9


class TestKinds:
    def test_intervals_of_draws(self):
        """Counted as a user would: is y between the a-th smallest and the a-th largest draw?"""
        y, draws = RNG.normal(size=(80, 2)), np.sort(RNG.normal(size=(80, 20, 2)), axis=1)
        curve = expected_coverage(y, Samples(draws))
        for k, a in enumerate(range(10, 0, -1)):
            inside = (draws[:, a - 1] < y) & (y < draws[:, 20 - a])
            np.testing.assert_allclose(curve.coverage[k], inside.mean(axis=0))
            assert curve.level[k] == pytest.approx((21 - 2 * a) / 21)

    def test_distributions_values_and_quantiles(self):
        y = RNG.normal(size=240)
        curve = expected_coverage(y, Normal(np.zeros(240), 1.0))
        u = Normal(np.zeros(240), 1.0).cdf(y)
        assert curve.cells
        assert curve.level[:3].tolist() == [0.01, 0.02, 0.03]
        expected = [np.mean((u > 0.5 - q / 2) & (u <= 0.5 + q / 2)) for q in curve.level]
        np.testing.assert_allclose(curve.coverage, expected, atol=1e-12)
        at = [0.05, 0.3, 0.5, 0.7, 0.95]
        assert expected_coverage(None, CdfValues(at), levels=[0.5, 0.8]).coverage.tolist() == [0.6, 0.6]
        y, values = np.array([0.5, 1.5, 1.6, 9.0]), np.tile([1.0, 2.0], (4, 1))
        found = expected_coverage(y, Quantiles(values, [0.25, 0.75]), levels=0.5, rng=0)
        assert (found.coverage.item(), found.tied) == (0.5, 4)


def test_no_density_and_no_interval(refusal):
    for prediction in (Samples([[1.0, 2.0]]), Normal(0.0, 1.0)):
        words = refusal(expected_coverage, [0.0], prediction, region="hpd")
        assert 'expected_coverage(summarize("energy_ranks", y, prediction), region="hpd")' in words
    one = Ranks.of([0, 1, 1], M=1)
    assert "at least 2 draws" in refusal(expected_coverage, one, error=NotApplicableError)
    assert expected_coverage(one, region="hpd").coverage.tolist() == [1 / 3]
    assert expected_coverage(Ranks.of([0, 1, 1], M=2)).level.tolist() == [1 / 3]
