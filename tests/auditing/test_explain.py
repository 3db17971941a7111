"""What ranks say about predictions, in words."""

import inspect
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import CdfValues, Intervals, MvNormal, Normal, Quantiles, Samples, summarize
from calibrant.auditing.explain import explain
from calibrant.core.pvalues import holm
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.ranking.bands import gamma_pvalue, observed_gamma
from calibrant.ranking.failures import normal_errors, smallest_effects
from calibrant.ranking.pair_dependence import is_affordable
from calibrant.ranking.quantities import ranks
from calibrant.ranking.vector_ranks import joint_ranks
from calibrant.summaries import Grid, Ranks

N, M = 2000, 99
RNG = np.random.default_rng(7)
Y = RNG.normal(size=N)
NORMAL = RNG.normal(size=(N, M))
SIGN = RNG.choice([-1.0, 1.0], N)


def autocorrelated(phi):
    draws = np.empty((N, M))
    draws[:, 0] = RNG.normal(size=N)
    for j in range(1, M):
        draws[:, j] = phi * draws[:, j - 1] + np.sqrt(1 - phi**2) * RNG.normal(size=N)
    return draws


def exact_pvalues(counts):
    """Return the exact p-values of columns of counts (M + 1, C) one by one."""
    m, n = len(counts), int(counts[:, 0].sum())
    t = np.arange(1, m) / m
    gamma, _ = observed_gamma(np.cumsum(counts, axis=0)[:-1], n, t)
    return np.array([gamma_pvalue(float(g), n, t) for g in gamma])


class TestTableOfFailures:
    """Every row of the table of pictures in words, at 2000 rows and 99 draws."""

    @pytest.mark.parametrize(
        ("y", "draws", "failure", "claims", "coverage"),
        [
            (Y, NORMAL, "none", {}, (0.50, 0.90)),
            (Y, 0.7 * NORMAL, "too narrow", {"spread": 1.43}, (0.36, 0.75)),
            (Y, 1.4 * NORMAL, "too wide", {"spread": 0.71}, (0.65, 0.98)),
            (Y, NORMAL + 0.4, "too high", {"shift": 0.4}, (0.47, 0.87)),
            (Y, NORMAL - 0.4, "too low", {"shift": -0.4}, (0.47, 0.87)),
            (Y, (RNG.gamma(2, size=(N, M)) - 2) / np.sqrt(2), "skewed", {"skewed": np.nan}, (0.46, 0.85)),
            (Y, RNG.standard_t(3, size=(N, M)) / np.sqrt(3), "heavy-tailed", {"heavy-tailed": np.nan}, (0.34, 0.83)),
            (Y + 0.8 * SIGN, NORMAL, "too narrow", {"spread": 1.3}, (0.38, 0.79)),
            (SIGN + 0.2 * Y, np.sqrt(1.04) * NORMAL, "two modes", {"two modes": np.nan}, (0.11, 1.0)),
            (Y, autocorrelated(0.9), "dependent draws", {"draws": 10.0}, (0.42, 0.81)),
            (
                Y,
                stats.norm.ppf(RNG.uniform(stats.norm.cdf(-1.5), stats.norm.cdf(1.5), (N, M))),
                "outside",
                {"outside": 0.13},
                (0.43, 0.78),
            ),
        ],
        ids=["none", "sd 0.7", "sd 1.4", "+0.4", "-0.4", "skewed", "t3", "bias", "two modes", "dependent", "cut off"],
    )
    def test_row(self, y, draws, failure, claims, coverage):
        found = explain(y, Samples(draws))
        assert found.failure == failure
        estimates = {claim.quantity: claim.estimate for claim in found.claims}
        assert {*claims} <= {*estimates}
        np.testing.assert_allclose([estimates[name] for name in claims], [*claims.values()], rtol=0.25)
        assert list(found.coverage) == [0.5, 0.9]
        np.testing.assert_allclose(list(found.coverage.values()), coverage, atol=0.035)
        assert (found.pvalue > 0.05) == (failure == "none")

    def test_dependence(self):
        L = np.linalg.cholesky([[1.0, 0.6], [0.6, 1.0]])
        rng = np.random.default_rng(1)
        y, draws = rng.normal(size=(800, 2)) @ L.T, rng.normal(size=(800, 49, 2))
        wrong, right = explain(y, Samples(draws)), explain(y, Samples(draws @ L.T))
        assert wrong.joint_failure == "dependence wrong"
        assert [(claim.kind, claim.subject.name) for claim in wrong.claims[:1]] == [("above", "0 and 1")]
        assert wrong.joint in str(wrong)
        assert right.joint_failure == "none"
        assert {*wrong.failure, *right.failure} == {"none"}


class TestEffects:
    def test_are_those_that_made_the_draws(self):
        # draws N(0.4, 0.8²): against these very outcomes, whose mean and deviation are not quite 0 and 1
        found = explain(Y, Samples((NORMAL + 0.5) * 0.8))
        assert found.shift_low < (0.4 - Y.mean()) / 0.8 < found.shift_high
        assert found.spread_low < Y.std() / 0.8 < found.spread_high

    def test_do_not_depend_on_the_number_of_draws(self):
        few, many = (explain(Y, Samples(0.7 * NORMAL[:, :m])) for m in (4, 99))
        assert few.spread_low < 1 / 0.7 < few.spread_high
        assert many.spread_low < 1 / 0.7 < many.spread_high

    def test_a_bias_alone_asks_for_no_other_spread(self):
        found = explain(Y, Samples(NORMAL + 1))
        assert found.failure == "too high"
        assert found.spread == pytest.approx(1.0, abs=0.06)
        assert {claim.quantity for claim in found.claims} == {"shift"}

    def test_smallest_visible(self):
        found = explain(Ranks.of(RNG.integers(0, 1000, 200), 999))
        assert (found.smallest_shift, found.smallest_spread) == smallest_effects(200, 999)
        assert f"by a factor of {np.ceil(100 * found.smallest_spread) / 100:g}, or a shift" in found.sentence

    @given(st.integers(0, 10**6), st.integers(1, 12))
    def test_mirrored_ranks(self, seed, m):
        r = np.random.default_rng(seed).binomial(m, 0.35, 150)
        one, other = explain(Ranks.of(r, m)), explain(Ranks.of(m - r, m))
        opposite = {"too high": "too low", "too low": "too high"}
        assert other.failure == opposite.get(one.failure, one.failure)
        assert other.pvalue == pytest.approx(one.pvalue, rel=1e-8)
        assert other.shift == pytest.approx(-one.shift, abs=1e-6)
        assert other.coverage == pytest.approx(one.coverage)


class TestLimits:
    def test_are_of_all_columns_together(self):
        counts = np.bincount(RNG.binomial(9, 0.4, 300), minlength=10)
        r = np.repeat(np.arange(10), counts)
        one, two = explain(Ranks.of(r, 9)), explain(Ranks.of(np.column_stack([r, r]), 9))
        expected = normal_errors(counts, 1 - 0.05 / 2)  # shift and spread
        assert (one.shift_low, one.spread_high) == pytest.approx((expected.shift_low, expected.spread_high))
        assert two.shift_low[0] == pytest.approx(normal_errors(counts, 1 - 0.05 / 4).shift_low)

    @given(st.integers(0, 10**6), st.sampled_from([1, 4, 19]), st.integers(5, 300))
    def test_an_error_is_named_only_if_its_limits_exclude_calibration(self, seed, M, n):
        rng = np.random.default_rng(seed)
        u = stats.norm.cdf(rng.choice([0.6, 1, 1.6]) * rng.normal(size=n) - rng.choice([0.0, 0.5]))
        found = explain(Ranks.of(rng.binomial(M, u), M))
        if np.isinf(found.shift_low):  # beyond measure
            return
        excluded = {
            "too high": found.shift_low > 0,
            "too low": found.shift_high < 0,
            "too narrow": found.spread_low > 1,
            "too wide": found.spread_high < 1,
        }
        assert excluded.get(found.failure, True)


class TestPvalues:
    def test_are_those_of_the_band(self):
        r = RNG.integers(0, 20, 300)
        expected = exact_pvalues(np.bincount(r, minlength=20)[:, None])[0]
        assert explain(Ranks.of(r, 19)).pvalue == pytest.approx(expected, rel=1e-12)

    def test_of_several_columns_and_the_joint_ranks_are_corrected_together(self):
        r = np.column_stack([RNG.integers(0, 10, (200, 2)), RNG.binomial(9, 0.4, 200)])
        whole = RNG.binomial(9, 0.45, 200)
        counts = np.stack([np.bincount(column, minlength=10) for column in (*r.T, whole)], axis=1)
        found = explain(Ranks.of(r, 9), joint=Ranks.of(whole, 9))
        np.testing.assert_allclose([*found.pvalue, found.joint_pvalue], holm(exact_pvalues(counts)), rtol=1e-12)

    def test_are_never_zero(self):
        found = explain(Ranks.of(np.zeros(5000, dtype=int), 9))
        assert 0 < found.pvalue < 1e-100
        assert found.failure == "too high"
        assert "inf" not in found.sentence

    def test_false_alarms_are_rare(self):
        rng = np.random.default_rng(5)
        alarms = [explain(Ranks.of(rng.integers(0, 10, 60), 9)).failure != "none" for _ in range(300)]
        assert np.mean(alarms) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)

    def test_level(self):
        r = np.random.default_rng(0).binomial(9, np.random.default_rng(1).beta(1.25, 1, 300))
        p = explain(Ranks.of(r, 9)).pvalue
        assert 1e-6 < p < 0.2
        assert explain(Ranks.of(r, 9), level=1 - 2 * p).failure != "none"
        assert explain(Ranks.of(r, 9), level=1 - p / 2).failure == "none"


class TestInputs:
    def test_a_summary_says_what_the_data_say(self):
        draws = Samples(0.7 * NORMAL)
        found = explain(summarize(ranks, Y, draws))
        assert found.sentence == explain(Y, draws).sentence
        assert found.n == N
        assert found.M == M

    def test_columns_are_tuples_and_arrays(self):
        r = np.column_stack([RNG.integers(0, 10, 500), RNG.binomial(9, 0.3, 500)])
        found = explain(Ranks.of(r, 9, names=("wind", "rain")))
        assert found.names == ("wind", "rain")
        assert found.failure[0] == "none"
        assert found.failure[1] != "none"
        assert found.shift.shape == found.pvalue.shape == found.coverage[0.8].shape == (2,)
        assert str(found).splitlines()[0].startswith("rain: ")  # the worst first

    def test_distributions_quantiles_and_cdf_values(self):
        narrow = explain(Y, Normal(np.zeros(N), 0.7))
        assert narrow.failure == "too narrow"
        assert narrow.M == 999
        assert narrow.coverage[0.9] == pytest.approx(0.75, abs=0.03)
        assert explain(None, CdfValues(stats.norm.cdf(Y / 0.7))).sentence == narrow.sentence
        levels = np.arange(1, 100) / 100
        values = np.tile(0.7 * stats.norm.ppf(levels), (N, 1))
        assert explain(Y, Quantiles(values, levels), rng=0).failure == "too narrow"

    def test_distributions_of_vectors_are_judged_together(self):
        rng = np.random.default_rng(4)
        cov = np.array([[1.0, 0.6], [0.6, 1.0]])
        y = rng.multivariate_normal([0, 0], cov, 800)
        assert explain(y, MvNormal(np.zeros((800, 2)), np.eye(2))).joint_failure == "dependence wrong"
        assert explain(y, MvNormal(np.zeros((800, 2)), cov)).joint_failure == "none"

    def test_joint_ranks_are_average_ranks_unless_given(self):
        rng = np.random.default_rng(4)
        y, draws = rng.normal(size=(300, 2)), Samples(rng.normal(size=(300, 19, 2)))
        average = summarize(joint_ranks, y, draws, method="average", rng=0)
        uneven = Ranks.of(np.zeros(300, dtype=int), 19)
        assert explain(y, draws, joint=average).joint_failure == "none"
        assert explain(y, draws).joint_failure == "none"
        assert explain(y, draws, joint=uneven).joint_failure == "dependence wrong"
        assert explain(summarize(ranks, y, draws)).joint_pvalue is None

    def test_what_takes_long_is_left_to_the_caller(self, monkeypatch):
        monkeypatch.setattr(inspect.getmodule(explain), "MAX_JOINT_NUMBERS", 300 * 19 * 2 - 1)
        monkeypatch.setattr(inspect.getmodule(is_affordable), "MAX_RANKS", 1)
        rng = np.random.default_rng(4)
        found = explain(rng.normal(size=(300, 2)), Samples(rng.normal(size=(300, 19, 2))))
        assert found.joint_pvalue is None
        assert found.joint == found.joint_failure == ""

    def test_infinite_draws_and_outcomes_without_spread_have_ranks(self):
        draws = NORMAL[:200].copy()
        draws[0, 0] = np.inf
        assert explain(Y[:200], Samples(draws)).n == 200
        assert explain(np.zeros(200), Samples(NORMAL[:200] + 2)).failure == "too high"

    def test_one_draw(self):
        found = explain(Y, Samples(NORMAL[:, :1] + 1))
        assert found.failure == "too high"
        assert found.coverage == {}
        assert np.isnan(found.spread)

    def test_few_rows_have_no_words(self, refusal):
        assert "one row has one rank" in refusal(explain, Ranks.of([0], 39), error=NotApplicableError)
        for n in (2, 19):
            found = explain(Ranks.of([0] * n, 39))
            assert found.failure == "too few rows"
            assert str(found).startswith(f"{n} rows are too few")
            assert found.claims == ()
        assert explain(Ranks.of([0] * 20, 39)).failure != "too few rows"

    def test_outward_ranks(self):
        r = RNG.binomial(99, RNG.beta(2, 1, 1000))
        found = explain(Ranks.of(r, 99), outward=True)
        assert found.failure == "too narrow or biased"
        assert found.coverage[0.9] == pytest.approx(np.mean(r < 90))
        assert np.isnan([found.shift, found.spread, found.smallest_shift]).all()
        assert [claim.quantity for claim in found.claims] == ["too narrow or biased"]
        assert "Regions of 50 % and 90 % contain" in found.sentence


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "options", "words"),
        [
            (([0, 1, 2],), {}, "pass Ranks.of(ranks, M)"),
            ((Ranks.zero(),), {}, "there are no rows"),
            ((Ranks.of([0], 1), Samples([[1.0]])), {}, "cannot be given with a summary"),
            (([0.0], Intervals([0.0], [1.0], 0.9)), {}, "explain judges"),
            ((Ranks.of([0, 1], 1),), {"level": 1e-300}, "level must be at least 0.5"),
            ((Ranks.of([0, 1], 1),), {"level": 1 - 2.0**-53}, "level must be at most 1 - 1e-12"),
            *(
                ((Ranks.of([0, 1], 2),), {"joint": joint}, "joint must be a Ranks summary of one column")
                for joint in (3, "energy", Ranks.of([[0, 1]], 2), Ranks.zero())
            ),
        ],
        ids=str,
    )
    def test_calls(self, refusal, given, options, words):
        assert words in refusal(explain, *given, **options)
        message = refusal(explain, Grid.zero(), error=SummaryError)
        assert message.startswith("explain reads a summary of kind Ranks; got Grid")

    def test_unequal_weights(self, refusal):
        weighted = Ranks.of([0, 1, 2], 2, weights=[1, 2, 3])
        assert "explain refuses unequal weights" in refusal(explain, weighted)
        assert explain(Ranks.of([0, 1, 2], 2, weights=[2, 2, 2])).n == 3
        joint = refusal(explain, Ranks.of([0, 1, 2], 2), joint=weighted)
        assert "unequal weights" in joint


def test_an_explanation_is_frozen_and_picklable():
    found = explain(Ranks.of(np.arange(100) % 10, 9))
    with pytest.raises(FrozenInstanceError):
        found.failure = "two modes"
    with pytest.raises(TypeError):
        found.coverage[0.5] = 0.5
    back = pickle.loads(pickle.dumps(found))
    assert (str(back), back.coverage) == (str(found), found.coverage)


def test_printing():
    def several(C):
        return explain(Ranks.of(RNG.integers(0, 10, (200, C)), 9, names=tuple(f"x{c}" for c in range(C))))

    found = several(3)
    worst_first = np.argsort(found.pvalue, kind="stable")
    assert [line.split(":")[0] for line in str(found).splitlines()] == [f"x{c}" for c in worst_first]
    lines = str(several(20)).splitlines()
    assert (len(lines), lines[12]) == (13, "8 further columns have larger p-values.")
    one_draw = str(explain(Ranks.of(RNG.integers(0, 2, 200), 1)))
    assert "spread" not in one_draw
    assert "nan" not in one_draw
    assert repr(explain(Ranks.of(np.arange(100) % 10, 9))) == "Explanation('none', n=100, M=9)"
