"""Tests of uniform ranks: reference values, options that go together, what is seen and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import (
    CdfValues,
    InputError,
    Intervals,
    MvNormal,
    Normal,
    NotApplicableError,
    Quantiles,
    Ranks,
    Samples,
    SummaryError,
)
from calibrant.core.pvalues import holm
from calibrant.core.summarizing import summarize
from calibrant.ranking.covariates import ExchangedRanks, KeptRanks, RankCovariates
from calibrant.ranking.summary import GroupedRanks
from calibrant.ranking.uniformity_methods import CONTINUOUS, METHODS
from calibrant.ranking.uniformity_test import uniformity_test

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["verb"] == "uniformity_test"
]
with np.load(REFERENCES / "samples.npz") as stored:
    ARRAYS = {name: stored[name] for value in BOOK for name in value["inputs"]}
    for kind in ("calibrated", "overdispersed", "biased", "skewed", "heavy_tailed", "seed_ideal"):
        ARRAYS[f"samples_{kind}"] = stored[f"samples_{kind}"]
    for name in ("y", "y_shape", "y_seed", "mu", "groups"):
        ARRAYS[name] = stored[name]


def referenced(*starts):
    return pytest.mark.parametrize(
        "value", [value for value in BOOK if value["id"].startswith(starts)], ids=lambda value: value["id"]
    )


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
        found, expected = uniformity_test(counted(value), method="smooth"), value["value"]
        np.testing.assert_allclose(np.atleast_1d(found.statistic), expected["S4"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_1d(found.details["pvalue_each"]), expected["pvalue"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_2d(found.details["Z"].T), expected["Z"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.atleast_1d(found.estimate[0]), expected["shift_sd"], rtol=value["rtol"])
        np.testing.assert_allclose(np.atleast_1d(found.estimate[1]), expected["spread_multiplier"], rtol=value["rtol"])

    @referenced("groups/")
    def test_groups(self, value):
        ranks, groups = (ARRAYS[name] for name in value["inputs"])
        found = uniformity_test(GroupedRanks.of(ranks, counted(value).M, groups))
        raw = found.details["pvalue_each"].reshape(len(value["value"]), -1)
        np.testing.assert_allclose(raw, [group["pvalue"] for group in value["value"]], rtol=value["rtol"])
        np.testing.assert_allclose(found.pvalue.ravel(), holm(raw.ravel()))

    @referenced("covariates/")
    def test_covariates(self, value):
        ranks, x = (ARRAYS[name] for name in value["inputs"])
        found = uniformity_test(RankCovariates.of(ranks, counted(value).M, x))
        np.testing.assert_allclose(np.atleast_1d(found.statistic), value["value"]["statistic"], rtol=value["rtol"])
        raw = np.atleast_1d(found.details["pvalue_each"])
        np.testing.assert_allclose(raw, value["value"]["pvalue"], rtol=value["rtol"])
        assert found.details["dof"] == value["value"]["dof"]

    def test_every_id_is_checked(self):
        """Those of ks, cvm, ad and the Cauchy rules give V or mid-ranks: see test_rank_randomised, test_rank_cauchy."""
        here = ("band/", "components/", "groups/", "covariates/")
        there = ("ks/", "cvm/", "ad/", "dependent/")
        assert all(value["id"].startswith((*here, *there)) for value in BOOK)

    @pytest.mark.parametrize("kind", ["calibrated", "overdispersed", "biased"])
    def test_outcomes_and_samples_give_what_their_ranks_give(self, kind):
        y, samples = case(kind)
        ranks = Ranks.of(ARRAYS[f"ranks_{kind}"], 99)
        for options in ({}, {"method": "smooth"}, {"method": "chi2", "bins": 20}):
            assert uniformity_test(y, samples, **options) == uniformity_test(ranks, **options)
        x, groups = ARRAYS["mu"], ARRAYS["groups"]
        whole, parts = uniformity_test(y, samples, covariates=x), RankCovariates.of(ARRAYS[f"ranks_{kind}"], 99, x)
        assert whole == uniformity_test(parts)
        grouped = GroupedRanks.of(ARRAYS[f"ranks_{kind}"], 99, groups)
        assert uniformity_test(y, samples, groups=groups) == uniformity_test(grouped)


class TestShape:
    @pytest.mark.parametrize("method", METHODS)
    def test_one_coordinate_gives_numbers(self, method):
        found = uniformity_test(*case(D=0), method=method, rng=0)
        whole = uniformity_test(*case(), method=method, rng=0)
        assert [type(v) for v in (found.statistic, found.pvalue, *found.estimate)] == [float] * 4
        assert type(found.n) is int
        assert (found.pvalue, found.details["names"]) == (found.details["pvalue_each"], ("",))
        assert found.statistic == pytest.approx(whole.statistic[0])
        assert whole.pvalue.shape == whole.statistic.shape == whole.details["pvalue_each"].shape == (3,)
        assert whole.details["names"] == ("0", "1", "2")
        assert "99 draws" in whole.method
        assert "3 columns, Holm" in whole.method
        assert "columns" not in found.method

    def test_names_of_columns(self):
        found = uniformity_test(Ranks.of([[0, 1], [3, 2]], 3, names=["low", "high"]))
        assert found.details["names"] == ("low", "high")

    @pytest.mark.parametrize("method", [None, "permutation"])
    def test_covariates(self, method):
        y, samples = case(D=1)
        found = uniformity_test(y, samples, covariates=ARRAYS["mu"][:, 1], method=method, resamples=99)
        assert type(found.statistic) is float
        assert found.details["dof"] == 2
        assert np.isfinite(found.estimate).all()

    def test_groups(self):
        found = uniformity_test(*case(D=1), groups=np.where(ARRAYS["groups"], "high", "low"))
        assert found.details["groups"] == ("high", "low")
        assert found.pvalue.shape == (2,)


class TestMultiplicity:
    def test_adjusted(self):
        raw = uniformity_test(*case("biased"), multiplicity="none")
        np.testing.assert_array_equal(raw.pvalue, raw.details["pvalue_each"])
        np.testing.assert_array_equal(uniformity_test(*case("biased")).pvalue, holm(raw.pvalue))
        found = uniformity_test(*case("biased"), multiplicity="bonferroni")
        np.testing.assert_allclose(found.pvalue, np.minimum(1, 3 * raw.pvalue))
        assert "Bonferroni" in found.method
        assert "not adjusted" in raw.method

    def test_exchange(self):
        found = uniformity_test(*case("overdispersed"), multiplicity="exchange", resamples=199)
        np.testing.assert_array_equal(found.statistic, uniformity_test(*case("overdispersed")).statistic)
        assert (found.pvalue >= 1 / 200).all()
        assert np.isin(np.rint(found.pvalue * 200) / 200, found.pvalue).all()
        assert "199 exchanged sets" in found.method

    def test_exchange_of_one_column_says_so(self):
        found = uniformity_test(*case(D=0), multiplicity="exchange", resamples=99)
        assert "99 exchanged sets" in found.method
        assert found.pvalue == pytest.approx(found.details["pvalue_each"], abs=0.12)

    def test_exchange_repeats_itself(self):
        one, same, other = (
            uniformity_test(*drawn(), multiplicity="exchange", resamples=99, rng=rng).pvalue for rng in (None, 0, 7)
        )
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()


class TestPredictions:
    def test_distributions(self):
        y = np.random.default_rng(0).normal(size=300)
        found = uniformity_test(y, Normal(np.zeros(300), 1.0))
        assert found.pvalue > 0.001
        assert "1,000" in found.method
        assert uniformity_test(y, Normal(np.zeros(300), 2.0)).pvalue < 1e-6
        assert uniformity_test(y, Normal(np.zeros(300), 2.0)).estimate[1] == pytest.approx(0.5, abs=0.1)

    def test_vectors(self):
        y = np.random.default_rng(0).normal(size=(100, 2))
        found = uniformity_test(y, MvNormal(np.zeros((100, 2)), np.eye(2)))
        assert found.pvalue.shape == (2,)

    def test_values_of_a_distribution_function(self):
        at = np.random.default_rng(0).random(100)
        assert uniformity_test(None, CdfValues(at)).pvalue > 0.01
        assert uniformity_test(None, CdfValues(at**2)).estimate[0] > 0.3

    def test_jumps_need_chance(self, refusal):
        given = None, CdfValues([0.5, 0.75], below=[0.25, 0.5])
        assert "rng=" in refusal(uniformity_test, *given)
        assert uniformity_test(*given, rng=0).details["tied"] == 2

    def test_quantiles(self):
        y = np.random.default_rng(0).normal(size=200)
        levels = np.arange(1, 10) / 10
        values = np.tile(Normal(0.0, 1.0).ppf(levels[None])[0], (200, 1))
        assert uniformity_test(y, Quantiles(values, levels), rng=0).n == 200

    def test_ties_need_chance_and_are_counted(self, refusal):
        y, samples = np.zeros(30), Samples(np.zeros((30, 4)))
        message = refusal(uniformity_test, y, samples)
        assert "30 of 30" in message
        assert uniformity_test(y, samples, rng=0).details["tied"] == 30

    def test_infinite_draws(self):
        draws = np.random.default_rng(0).normal(size=(50, 9))
        far = np.where(draws > 1, np.inf, draws)
        y = np.full(50, 0.5)
        assert uniformity_test(y, Samples(far)) == uniformity_test(y, Samples(draws))

    def test_one_row_and_one_draw(self):
        found = uniformity_test([1.0], Samples([[0.0]]))
        assert (found.statistic, found.pvalue, found.n) == (1.0, 1.0, 1)


class TestSeen:
    """Climatology: y = μ + noise, predicted as the law of y without μ."""

    def climatology(self, n=200, M=99, seed=0):
        rng = np.random.default_rng(seed)
        mu = rng.normal(size=n)
        return mu + rng.normal(size=n), Samples(rng.normal(0, np.sqrt(2), (n, M))), mu

    def test_passes_all_marginal_tests(self):
        y, samples, _ = self.climatology()
        for method in METHODS:
            assert uniformity_test(y, samples, method=method, rng=0).pvalue > 0.01

    @pytest.mark.parametrize("method", [None, "score", "permutation"])
    def test_fails_against_what_it_ignores(self, method):
        y, samples, mu = self.climatology()
        found = uniformity_test(y, samples, covariates=mu, method=method, resamples=199)
        assert found.pvalue <= (1 / 200 if method == "permutation" else 1e-10)

    def test_fails_in_groups(self):
        y, samples, mu = self.climatology()
        found = uniformity_test(y, samples, groups=mu > 0)
        assert found.pvalue.max() < 1e-4
        assert found.estimate[0][0] > 0.3  # where μ < 0 predictions are too high
        assert found.estimate[0][1] < -0.3

    def test_power_against_climatology(self):
        rejected = [
            uniformity_test(y, s, covariates=mu).pvalue <= 0.05 for y, s, mu in map(self.climatology, [200] * 20)
        ]
        assert all(rejected)

    @pytest.mark.parametrize("method", [m for m in METHODS if m != "piet"])
    def test_ranks_that_end_in_the_middle(self, method):
        assert uniformity_test(Ranks.of(np.arange(500), M=1000), method=method, rng=0).pvalue < 1e-20

    @pytest.mark.parametrize("method", METHODS)
    def test_no_pvalue_is_0(self, method):
        found = uniformity_test(Ranks.of(np.zeros(20_000, int), M=1000), method=method, rng=0)
        assert found.pvalue > 0
        assert found.details["pvalue_each"] > 0

    def test_where(self):
        rank = np.concatenate([np.repeat(np.arange(100), 20), np.full(300, 30)])
        assert uniformity_test(Ranks.of(rank, 99)).details["where"] == 0.31


class TestDistributions:
    @given(st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=5, max_size=40), st.sampled_from(["band", "smooth"]))
    def test_mirrored_ranks(self, rows, method):
        rank = np.array(rows)
        found, mirrored = (uniformity_test(Ranks.of(r, 9), method=method) for r in (rank, 9 - rank))
        np.testing.assert_allclose(mirrored.pvalue, found.pvalue, rtol=1e-9)
        np.testing.assert_allclose(mirrored.estimate[0], -found.estimate[0], atol=1e-12)

    @pytest.mark.parametrize("method", METHODS)
    def test_batches_and_order_of_rows(self, method):
        y, samples = case()
        order = np.random.default_rng(0).permutation(200)
        whole = uniformity_test(y, samples, method=method, rng=0)
        assert uniformity_test(y[order], samples.take(order), method=method, rng=0) == whole
        parts = sum(summarize("ranks", y[part], samples.take(part)) for part in np.array_split(order, 7))
        assert uniformity_test(parts, method=method, rng=0) == whole

    @pytest.mark.parametrize("options", [{"groups": "g"}, {"covariates": "x"}, {"method": "permutation"}], ids=str)
    def test_batches_with_groups_and_covariates(self, options):
        y, samples = drawn()
        rng = np.random.default_rng(0)
        given = {"groups": rng.integers(0, 2, 60)} if "groups" in options else {"covariates": rng.normal(size=60)}
        fixed = {name: value for name, value in options.items() if name == "method"} | {"resamples": 99}
        whole = uniformity_test(y, samples, **given, **fixed)
        parts = [
            summarize(uniformity_test, y[rows], samples.take(rows), **fixed, **{k: v[rows] for k, v in given.items()})
            for rows in np.array_split(rng.permutation(60), 5)
        ]
        found = uniformity_test(sum(parts), **fixed)
        np.testing.assert_allclose(found.statistic, whole.statistic, rtol=1e-9)
        np.testing.assert_allclose(found.pvalue, whole.pvalue, rtol=1e-9)

    def test_equal_weights_are_no_weights(self):
        y, samples = drawn()
        for options in ({}, {"groups": np.arange(60) % 2}, {"covariates": y}, {"method": "chi2"}):
            weighted = uniformity_test(y, samples, weights=np.full(60, 3.0), **options)
            np.testing.assert_allclose(weighted.pvalue, uniformity_test(y, samples, **options).pvalue)

    def test_rows_of_weight_0_are_absent(self):
        y, samples = drawn()
        w = np.minimum(np.arange(60) % 3, 1)
        here = np.flatnonzero(w)
        for name, column in (("groups", np.arange(60) % 2), ("covariates", y[:, 0] ** 2), ("weights", w)):
            given = {name: column, "weights": w}
            left = {} if name == "weights" else {name: column[here]}
            found, expected = uniformity_test(y, samples, **given), uniformity_test(y[here], samples.take(here), **left)
            np.testing.assert_allclose(found.pvalue, expected.pvalue)
            assert found.n == 40

    def test_smooth_takes_weights(self):
        y, samples = drawn(n=200)
        found = uniformity_test(y, samples, method="smooth", weights=np.linspace(1, 2, 200))
        assert (found.pvalue != uniformity_test(y, samples, method="smooth").pvalue).all()

    def test_float32_and_float64_agree(self):
        y, draws = (np.round(a * 64) / 64 for a in (drawn()[0], drawn()[1].held))
        both = [uniformity_test(y.astype(t), Samples(draws.astype(t)), rng=0) for t in (np.float32, np.float64)]
        assert both[0] == both[1]

    def test_inputs_stay_what_they_are(self):
        y, draws, x = np.zeros((20, 1)) + 0.5, np.random.default_rng(0).normal(size=(20, 4, 1)), np.arange(20.0)
        before = y.copy(), draws.copy(), x.copy()
        uniformity_test(y, Samples(draws), covariates=x)
        uniformity_test(y, Samples(draws), multiplicity="exchange", resamples=9)
        for now, then in zip((y, draws, x), before, strict=True):
            np.testing.assert_array_equal(now, then)


class TestRefusal:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"method": "kuiper"}, "method must be one of"),
            ({"multiplicity": "fdr"}, "multiplicity must be one of"),
            ({"resamples": 0}, "resamples must be at least 1"),
            ({"method": "chi2", "bins": 11}, "bins must be at most 10"),
            ({"bins": 5}, 'bins= belongs to method="chi2"'),
            ({"method": "score"}, "needs covariates="),
            ({"method": "permutation"}, "needs covariates="),
            ({"method": "band", "covariates": np.zeros(60)}, "covariates= belongs to"),
            ({"method": "smooth", "groups": np.zeros(60)}, 'groups= belongs to method="band"'),
            ({"groups": np.zeros(60), "covariates": np.zeros(60)}, "one call with each"),
            ({"multiplicity": "exchange", "method": "ks", "rng": 0}, "got method='ks'"),
            ({"multiplicity": "exchange", "groups": np.zeros(60)}, "got groups="),
            ({"multiplicity": "exchange", "covariates": np.zeros(60)}, "got covariates="),
            ({"groups": np.zeros(59)}, "expected 60 rows"),
            ({"covariates": np.zeros(59)}, "expected 60 rows"),
            ({"covariates": np.where(np.arange(60) == 17, np.nan, 1.0)}, "row 17"),
            ({"groups": [None if i == 17 else "a" for i in range(60)]}, "row 17"),
            ({"weights": np.linspace(1, 2, 60)}, "refuses unequal weights"),
            ({"weights": np.linspace(1, 2, 60), "method": "smooth", "multiplicity": "exchange"}, "unequal weights"),
            ({"rng": "seed", "method": "ks"}, "rng must be"),
        ],
        ids=lambda given: given if isinstance(given, str) else None,
    )
    def test_options(self, options, words, refusal):
        assert words in refusal(uniformity_test, *drawn(), **options)

    @pytest.mark.parametrize("method", CONTINUOUS)
    def test_chance_is_asked_for(self, method, refusal):
        assert "pass rng=" in refusal(uniformity_test, *drawn(), method=method)

    def test_other_predictions(self, refusal):
        assert "Use coverage_test" in refusal(uniformity_test, [0.5], Intervals([0.0], [1.0], 0.9))
        assert "judges Quantiles, Samples, a law" in refusal(uniformity_test, [0.5], [0.5])

    def test_constant_covariates(self, refusal):
        message = refusal(uniformity_test, *drawn(), covariates=np.ones(60), error=NotApplicableError)
        assert "no covariate varies" in message

    def test_small_groups_alone(self, refusal):
        message = refusal(uniformity_test, *drawn(), groups=np.arange(60) // 15, error=NotApplicableError)
        assert "20 rows" in message

    def test_exchange_needs_draws(self, refusal):
        assert "needs Samples" in refusal(
            uniformity_test, [0.0], Normal([0.0], 1.0), multiplicity="exchange", error=InputError
        )
        ranks = Ranks.of([0, 1], 3)
        assert "needs the draws" in refusal(uniformity_test, ranks, multiplicity="exchange", error=SummaryError)

    def test_options_that_ranks_do_not_tell(self, refusal):
        ranks = Ranks.of([0, 1], 3)
        assert "GroupedRanks.of" in refusal(uniformity_test, ranks, groups=["a", "b"])
        assert "RankCovariates.of" in refusal(uniformity_test, ranks, covariates=[1.0, 2.0])
        assert "does not hold" in refusal(uniformity_test, ranks, method="score", error=SummaryError)

    @pytest.mark.parametrize(
        ("summary", "options"),
        [
            (GroupedRanks.of([0, 1], 3, ["a", "b"]), {"method": "smooth"}),
            (GroupedRanks.of([0, 1], 3, ["a", "b"]), {"multiplicity": "exchange"}),
            (RankCovariates.of([0, 1], 3, [1.0, 2.0]), {"method": "permutation"}),
            (RankCovariates.of([0, 1], 3, [1.0, 2.0]), {"method": "band"}),
            (KeptRanks.of([0, 1], 3, [1.0, 2.0]), {"method": "score"}),
            (KeptRanks.of([0, 1], 3, [1.0, 2.0]), {"multiplicity": "exchange"}),
        ],
    )
    def test_summaries_that_hold_something_else(self, summary, options, refusal):
        message = refusal(uniformity_test, summary, **options, error=SummaryError)
        assert type(summary).__name__ in message
        assert "summarize" in message

    def test_weights_of_batches_that_differ(self, refusal):
        y, samples = drawn()
        x = {"covariates": y[:, 0]}
        for options in ({}, {"groups": np.arange(60) % 2}, x, {"method": "permutation", **x}):
            parts = [summarize(uniformity_test, y, samples, weights=np.full(60, w), **options) for w in (1.0, 2.0)]
            assert "unequal weights" in refusal(uniformity_test, parts[0] + parts[1])

    def test_exchange_with_the_same_chance_in_two_batches(self, refusal):
        parts = [summarize(uniformity_test, *drawn(seed=seed), multiplicity="exchange") for seed in (0, 1)]
        assert isinstance(parts[0], ExchangedRanks)
        assert "same chance" in refusal(lambda: parts[0] + parts[1], error=SummaryError)

    def test_sum_of_nothing(self, refusal):
        assert "no rows" in refusal(uniformity_test, sum([]))
        assert "no rows" in refusal(uniformity_test, Ranks.zero())
        assert "no rows" in refusal(uniformity_test, GroupedRanks.zero())
