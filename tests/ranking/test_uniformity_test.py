"""Tests of uniform ranks: reference values, levels by simulation, what is seen and what is refused."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.references.books import arrays, book

from calibrant import CdfValues, Intervals, MvNormal, Normal, Samples
from calibrant.conditional.conditional_test import conditional_test
from calibrant.conditional.kept import KeptCovariates
from calibrant.core.pvalues import holm
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.ranking import rank_cauchy_test, rank_edf_test, rank_score_test
from calibrant.ranking.effects import band_test
from calibrant.ranking.uniformity_test import rank_chi2_test, rank_smooth_test, uniformity_test
from calibrant.summaries import Ranks

CONTINUOUS = {method: partial(rank_edf_test, method=method) for method in ("ks", "cvm", "ad")} | {
    "piet": rank_cauchy_test
}
ON_COUNTS = {"band": uniformity_test, "smooth": rank_smooth_test, "chi2": rank_chi2_test}
TESTS = ON_COUNTS | CONTINUOUS

ARRAYS = arrays("samples")


def referenced(*starts):
    values = [v for v in book("samples")["values"] if v["verb"] == "uniformity_test" and v["id"].startswith(starts)]
    return pytest.mark.parametrize("value", values, ids=lambda value: value["id"])


def counted(value):
    kind = value["id"].split("/")[-1]
    return Ranks.of(ARRAYS[value["inputs"][0]], ARRAYS[f"samples_{kind}"].shape[1])


def case(kind="calibrated", D=None):
    """Return outcomes and samples of the reference data, one coordinate of them if D is given."""
    y, draws = ARRAYS["y"], ARRAYS[f"samples_{kind}"]
    return (y, Samples(draws)) if D is None else (y[:, D], Samples(draws[:, :, D]))


def drawn(n=60, M=9, D=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)), Samples(rng.normal(size=(n, M, D)))


class TestReference:
    @referenced("band/")
    def test_band(self, value):
        found = uniformity_test(counted(value))
        what, expected = value["id"].split("/")[1], value["value"]
        if isinstance(expected, dict):  # a joint rank: one column
            assert found.statistic == pytest.approx(expected["gamma"], rel=value["rtol"])
            assert found.pvalue == pytest.approx(expected["pvalue"], rel=value["rtol"])
            return
        m = found.details["M"] + 1
        ours = {
            "gamma": found.statistic,
            "pvalue": found.details["pvalue_each"],
            "holm": found.pvalue,
            "where": np.asarray(found.details["where"]) * m,
        }[what]
        np.testing.assert_allclose(np.atleast_1d(ours), expected, rtol=value["rtol"] or 1e-12)

    @referenced("components/")
    def test_smooth(self, value):
        found, expected = rank_smooth_test(counted(value)), value["value"]
        np.testing.assert_allclose(np.atleast_1d(found.statistic), expected["S4"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_1d(found.details["pvalue_each"]), expected["pvalue"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_2d(found.details["Z"].T), expected["Z"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.atleast_1d(found.estimate[0]), expected["shift_sd"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_1d(found.estimate[1]), expected["spread_multiplier"], rtol=value["rtol"])

    @referenced("groups/")
    def test_groups(self, value):
        ranks, groups = (ARRAYS[name] for name in value["inputs"])
        found = uniformity_test(Ranks.of(ranks, counted(value).M, groups=groups))
        raw = found.details["pvalue_each"].reshape(len(value["value"]), -1)
        assert list(found.details["groups"]) == [group["group"] for group in value["value"]]
        assert found.details["rows"].tolist() == [group["n"] for group in value["value"]]
        np.testing.assert_allclose(raw, [group["pvalue"] for group in value["value"]], rtol=value["rtol"])
        np.testing.assert_allclose(found.pvalue.ravel(), holm(raw.ravel()))

    @referenced("covariates/")
    def test_covariates(self, value):
        ranks, x = (ARRAYS[name] for name in value["inputs"])
        found = rank_score_test(Ranks.of(ranks, counted(value).M, covariates=x))
        np.testing.assert_allclose(np.atleast_1d(found.statistic), value["value"]["statistic"], rtol=value["rtol"])
        raw = np.atleast_1d(found.details["pvalue_each"])
        np.testing.assert_allclose(raw, value["value"]["pvalue"], rtol=value["rtol"])
        assert found.details["dof"] == value["value"]["dof"]

    @pytest.mark.parametrize("kind", ["calibrated", "overdispersed", "biased"])
    def test_outcomes_and_samples_give_what_their_ranks_give(self, kind):
        y, samples = case(kind)
        ranks = Ranks.of(ARRAYS[f"ranks_{kind}"], 99)
        for test in (uniformity_test, rank_smooth_test, partial(rank_chi2_test, bins=20)):
            assert test(y, samples) == test(ranks)
        x, groups = ARRAYS["mu"], ARRAYS["groups"]
        both = Ranks.of(ARRAYS[f"ranks_{kind}"], 99, covariates=x, groups=groups)
        assert rank_score_test(y, samples, covariates=x) == rank_score_test(both)
        assert uniformity_test(y, samples, groups=groups) == uniformity_test(both)


@pytest.mark.parametrize("method", TESTS)
def test_one_coordinate_gives_numbers(method):
    found = TESTS[method](*case(D=0), rng=0)
    whole = TESTS[method](*case(), rng=0)
    assert [type(v) for v in (found.statistic, found.pvalue, *found.estimate)] == [float] * 4
    assert type(found.n) is int
    assert (found.pvalue, found.details["names"]) == (found.details["pvalue_each"], ("",))
    assert found.statistic == pytest.approx(whole.statistic[0])
    assert whole.pvalue.shape == whole.statistic.shape == whole.details["pvalue_each"].shape == (3,)
    assert whole.details["names"] == ("0", "1", "2")
    assert "99 draws" in whole.method
    assert "3 columns, Holm" in whole.method
    assert "columns" not in found.method


class TestPredictions:
    def test_distributions(self):
        y, at = np.random.default_rng(0).normal(size=300), np.random.default_rng(0).random(100)
        found = uniformity_test(y, Normal(np.zeros(300), 1.0))
        assert found.pvalue > 0.001
        assert "1,000" in found.method
        wide = uniformity_test(y, Normal(np.zeros(300), 2.0))
        assert wide.pvalue < 1e-6
        assert wide.estimate[1] == pytest.approx(0.5, abs=0.1)
        assert uniformity_test(y.reshape(150, 2), MvNormal(np.zeros((150, 2)), np.eye(2))).pvalue.shape == (2,)
        assert uniformity_test(None, CdfValues(at)).pvalue > 0.01
        assert uniformity_test(None, CdfValues(at**2)).estimate[0] > 0.3

    @pytest.mark.parametrize(
        ("given", "tied"),
        [((None, CdfValues([0.5, 0.75], below=[0.25, 0.5])), 2), ((np.zeros(30), Samples(np.zeros((30, 4)))), 30)],
    )
    def test_ties_and_jumps_need_chance_and_are_counted(self, given, tied, refusal):
        message = refusal(uniformity_test, *given)
        assert f"{tied} of {tied}" in message
        assert "rng=" in message
        assert uniformity_test(*given, rng=0).details["tied"] == tied

    def test_one_row_and_one_draw(self):
        found = uniformity_test([1.0], Samples([[0.0]]))
        assert (found.statistic, found.pvalue, found.n) == (1.0, 1.0, 1)


class TestSeen:
    """Climatology: y = μ + noise, predicted as the law of y without μ."""

    def climatology(self, n=200, M=99, seed=0):
        rng = np.random.default_rng(seed)
        mu = rng.normal(size=n)
        return mu + rng.normal(size=n), Samples(rng.normal(0, np.sqrt(2), (n, M))), mu

    def test_climatology_passes_marginal_tests_alone(self):
        y, samples, mu = self.climatology()
        for test in TESTS.values():
            assert test(y, samples, rng=0).pvalue > 0.01
        assert rank_score_test(y, samples, covariates=mu).pvalue <= 1e-10
        assert conditional_test(y, samples, covariates=mu, resamples=199).pvalue <= 1 / 200
        found = uniformity_test(y, samples, groups=mu > 0)
        assert found.pvalue.max() < 1e-4
        assert found.estimate[0][0] > 0.3  # where μ < 0 predictions are too high
        assert found.estimate[0][1] < -0.3

    @pytest.mark.parametrize("method", [m for m in TESTS if m != "piet"])
    def test_ranks_that_end_in_the_middle(self, method):
        """Ranks are judged by the number of draws, not by the highest rank seen."""
        assert TESTS[method](Ranks.of(np.arange(500), M=1000), rng=0).pvalue < 1e-20

    @pytest.mark.parametrize("method", TESTS)
    def test_too_narrow_predictions_have_small_pvalues_and_none_is_0(self, method):
        if method in ON_COUNTS:
            rank = np.random.default_rng(0).binomial(1, 0.5, (300, 1)) * 9
            assert TESTS[method](Ranks.of(rank, 9)).pvalue[0] < 1e-20
        found = TESTS[method](Ranks.of(np.zeros(20_000, int), M=1000), rng=0)
        assert found.pvalue > 0
        assert found.details["pvalue_each"] > 0

    def test_where(self):
        rank = np.concatenate([np.repeat(np.arange(100), 20), np.full(300, 30)])
        assert uniformity_test(Ranks.of(rank, 99)).details["where"] == 0.31


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=5, max_size=40), st.sampled_from(["band", "smooth"]))
def test_mirrored_ranks(rows, method):
    rank = np.array(rows)
    found, mirrored = (TESTS[method](Ranks.of(r, 9)) for r in (rank, 9 - rank))
    np.testing.assert_allclose(mirrored.pvalue, found.pvalue, rtol=1e-9)
    np.testing.assert_allclose(mirrored.estimate[0], -found.estimate[0], atol=1e-12)


class TestRefusal:
    @pytest.mark.parametrize(
        ("verb", "options", "words"),
        [
            (uniformity_test, {"groups": np.zeros(59)}, "expected 60 rows"),
            (rank_chi2_test, {"bins": 11}, "bins must be at most 10"),
            (rank_score_test, {}, "needs covariates="),
            (rank_score_test, {"covariates": np.zeros(59)}, "expected 60 rows"),
            (conditional_test, {}, "needs covariates="),
        ],
        ids=lambda given: given if isinstance(given, str) else None,
    )
    def test_options(self, verb, options, words, refusal):
        assert words in refusal(verb, *drawn(), **options)

    @pytest.mark.parametrize("method", CONTINUOUS)
    def test_random_numbers_are_asked_for(self, method, refusal):
        message = refusal(CONTINUOUS[method], *drawn())
        assert "pass rng=" in message
        assert "uniformity_test" in message

    def test_small_groups_and_other_predictions(self, refusal):
        message = refusal(uniformity_test, *drawn(), groups=np.arange(60) // 15, error=NotApplicableError)
        assert "20 rows; the largest has 15" in message
        assert "Use coverage_test" in refusal(uniformity_test, [0.5], Intervals([0.0], [1.0], 0.9))
        assert "judges Quantiles, Samples, a distribution" in refusal(uniformity_test, [0.5], [0.5])

    def test_options_that_ranks_do_not_tell(self, refusal):
        ranks = Ranks.of([0, 1], 3)
        assert "Ranks.of(ranks, M, groups=...)" in refusal(uniformity_test, ranks, groups=["a", "b"])
        assert "Ranks.of(ranks, M, covariates=...)" in refusal(rank_score_test, ranks, covariates=[1.0, 2.0])
        assert "covariates" in refusal(rank_score_test, ranks, error=SummaryError)
        kept = KeptCovariates.of_ranks([0, 1], 3, [1.0, 2.0])
        assert "summarize" in refusal(rank_score_test, kept, error=SummaryError)


def raw(verb, ranks, **options):
    """Return the p-values of the columns, not adjusted."""
    return verb(ranks, **options).details["pvalue_each"]


def calibrated(n, M, columns=300, seed=0):
    return Ranks.of(np.random.default_rng(seed).integers(0, M + 1, (n, columns)), M)


class TestLevel:
    """Of hundreds of calibrated columns about 5 % are rejected at 5 %."""

    @pytest.mark.parametrize("M", [4, 20, 1000])
    @pytest.mark.parametrize("method", TESTS)
    def test_hundred_rows(self, method, M):
        """300 columns have a standard error of 1.3 %; an exact p-value of 1,000 draws takes a tenth of a second."""
        p = raw(TESTS[method], calibrated(100, M, columns=60 if (method, M) == ("band", 1000) else 300), rng=0)
        assert 0.005 < np.mean(p <= 0.05) < 0.1
        assert np.mean(p <= 0.5) < 0.62

    @pytest.mark.parametrize("method", ON_COUNTS)
    def test_very_few_rows(self, method):
        options = {} if method == "band" else {"resamples": 499}
        p = raw(TESTS[method], calibrated(6, 3, columns=600), **options)
        assert np.mean(p <= 0.05) < 0.085
        assert p.min() > 0


class TestSmooth:
    def test_one_draw_by_hand(self):
        result = rank_smooth_test(Ranks.of(np.repeat([0, 1], [40, 60]), M=1))
        assert result.statistic == pytest.approx(20**2 / 100)
        assert result.pvalue == pytest.approx(chi2.sf(4, 1))
        assert result.details["dof"] == 1

    def test_few_rows_are_simulated(self):
        """All 27 rank vectors of three rows, against the distribution of their own statistic."""
        every = np.array(list(itertools.product(range(3), repeat=3))).T
        result = rank_smooth_test(Ranks.of(every, 2), resamples=20_000)
        exact = [np.mean(result.statistic >= s - 1e-9) for s in result.statistic]
        np.testing.assert_allclose(result.details["pvalue_each"], exact, atol=0.02)
        assert "simulated" in result.method

    @pytest.mark.parametrize(
        ("verb", "block"),
        [(rank_smooth_test, "uniformity_test.BLOCK"), (partial(rank_chi2_test, bins=10), "effects.BLOCK")],
    )
    def test_blocks_of_simulated_sets(self, verb, block, monkeypatch):
        few = calibrated(20, 9, columns=5)
        expected, same, other = (raw(verb, few, resamples=99, rng=rng) for rng in (None, 0, 1))
        np.testing.assert_array_equal(expected, same)
        assert (expected != other).any()
        assert "99 simulated sets" in verb(few, resamples=99).method
        monkeypatch.setattr(f"calibrant.ranking.{block}", 100)
        np.testing.assert_array_equal(raw(verb, few, resamples=99), expected)

    def test_weights(self):
        rng = np.random.default_rng(0)
        rank, w = rng.integers(0, 10, (300, 500)), rng.uniform(0.1, 5, 300)
        result = rank_smooth_test(Ranks.of(rank, 9, weights=w))
        np.testing.assert_allclose((result.details["Z"] ** 2).mean(axis=1), 1, atol=0.3)
        assert 0.02 < np.mean(result.details["pvalue_each"] <= 0.05) < 0.09
        words = rank_smooth_test(Ranks.of([0, 3, 5], 9, weights=[1, 2, 3])).method
        assert "worth only 2.57 equal rows" in words  # 36/14


def test_by_hand():
    result = rank_chi2_test(Ranks.of(np.repeat([0, 1, 2, 3], [30, 10, 30, 30]), M=3), bins=2)
    assert result.statistic == pytest.approx(10**2 / 50 * 2)
    assert result.pvalue == pytest.approx(chi2.sf(4, 1))
    assert result.details["bins"] == 2
    assert result.details["counts"].tolist() == [40, 60]
    assert result.details["expected"].tolist() == [50, 50]


def grouped(sizes, C=2, M=9, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return Ranks.of(rng.integers(0, M + 1, (labels.size, C)), M, groups=labels)


class TestGroups:
    def test_holm_counts_all_cells(self):
        ranks = grouped([40, 30, 50])
        found, bonferroni, alone = (uniformity_test(ranks, multiplicity=how) for how in ("holm", "bonferroni", "none"))
        each = found.details["pvalue_each"]
        assert each.shape == found.pvalue.shape == found.statistic.shape == (3, 2)
        np.testing.assert_array_equal(found.pvalue, holm(each.ravel()).reshape(3, 2))
        np.testing.assert_allclose(bonferroni.pvalue, np.minimum(1, 6 * each))
        np.testing.assert_array_equal(alone.pvalue, each)
        assert "Bonferroni" in bonferroni.method
        assert "not adjusted" in alone.method

    def test_small_groups_are_listed_and_not_tested(self):
        found = uniformity_test(grouped([40, 19, 20]), multiplicity="bonferroni")
        assert found.details["rows"].tolist() == [40, 19, 20]
        assert np.isnan(found.pvalue).tolist() == [[False] * 2, [True] * 2, [False] * 2]
        assert np.isnan(found.statistic[1]).all()
        assert np.isfinite(np.stack(found.estimate)).all()
        np.testing.assert_allclose(found.pvalue[0], np.minimum(1, 4 * found.details["pvalue_each"][0]))
        assert "1 of them too small" in found.method
        assert "4 p-values" in found.method
        assert found.n == 79

    def test_one_column_without_an_axis(self):
        rank, labels = np.arange(60) % 10, np.arange(60) % 2
        found = uniformity_test(Ranks.of(rank, 9, groups=labels))
        assert found.pvalue.shape == found.estimate[0].shape == (2,)
        assert found.details["pvalue_each"][1] == pytest.approx(band_test(Ranks.of(rank[1::2], 9)).pvalue[0])
        assert found.details["tied"] == 0
