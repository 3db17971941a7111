"""Which kind of error uneven ranks show."""

import numpy as np
import pytest
from scipy import stats

from calibrant.ranking.bands import ecdf_band
from calibrant.ranking.draw_evidence import DrawEvidence, Far
from calibrant.ranking.effects import below
from calibrant.ranking.failures import diagnosis, normal_errors, outside_pvalue, outward_failure, smallest_effects
from calibrant.ranking.summary import rank_points
from calibrant.summaries import Ranks

RNG = np.random.default_rng(0)
Z = RNG.normal(size=4000)
SIGN = RNG.choice([-1, 1], 4000)


def ranked(u, M=99):
    return np.bincount(RNG.binomial(M, u), minlength=M + 1)


def failures(counts, **options):
    return diagnosis(counts, 0.025, departs=True, **options).failures


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (stats.norm.cdf(Z / 0.7), {"too narrow"}),
        (stats.norm.cdf(Z / 1.4), {"too wide"}),
        (stats.norm.cdf(Z - 0.4), {"too high"}),
        (stats.norm.cdf(Z + 0.4), {"too low"}),
        (stats.norm.cdf(Z - 1.5), {"too high"}),  # which makes a U of its own, and is not called too narrow
        (stats.norm.cdf((Z - 0.4) / 0.7), {"too high", "too narrow"}),
        (stats.norm.cdf((Z + 0.4) / 1.4), {"too wide", "too low"}),
        (stats.norm.cdf((SIGN + 0.3 * Z) / np.sqrt(1.09)), {"two modes"}),
    ],
)
@pytest.mark.parametrize("M", [19, 99, 999])
def test_of_known_errors(values, expected, M):
    assert set(failures(ranked(values, M))) == expected


@pytest.mark.parametrize("M", [19, 99, 999])
def test_of_known_shapes(M):
    assert "skewed" in failures(ranked(stats.gamma.cdf(Z * np.sqrt(2) + 2, 2), M))
    assert "heavy-tailed" in failures(ranked(stats.t.cdf(Z * np.sqrt(3), 3), M))
    light = failures(ranked(stats.norm.cdf(stats.t.ppf(stats.norm.cdf(Z), 3) / np.sqrt(3)), M))
    assert "light-tailed" in light
    assert "too narrow" not in light


@pytest.mark.parametrize("M", [19, 99, 999])
def test_shift_and_spread_are_those_of_mean_and_sd_only_where_outcomes_may_be_normal(M):
    share = (np.arange(2_001) + 0.5) / 2_001

    def normal(outcomes, n=4000):
        chances = stats.binom.pmf(np.arange(M + 1)[:, None], M, stats.norm.cdf(outcomes)).mean(axis=1)
        return diagnosis(np.rint(n * chances).astype(np.int64), 0.025, departs=True).normal

    plain = 0.2 + 1.3 * stats.norm.ppf(share)
    assert normal(plain)
    assert not normal(plain, n=200)  # Student's t would not be told from that
    zeros = np.where(share < 0.3, 0, -np.log(1 - share))
    shapes = stats.t.ppf(share, 3), stats.expon.ppf(share), stats.gumbel_r.ppf(share), zeros
    assert [normal((y - y.mean()) / y.std()) for y in shapes] == [False] * 4


class TestOutside:
    def flat(self, below, above, M=99):
        counts = np.full(M + 1, 20)
        counts[[0, -1]] = below, above
        return counts

    def test_spikes_and_slopes_at_the_ends(self):
        assert failures(self.flat(200, 220)) == ("outside",)
        assert failures(self.flat(300, 20)) == ("outside",)
        assert failures(ranked(stats.norm.cdf(2 * Z))) == ("too narrow",)
        assert failures(self.flat(100, 100, M=4))[0] == "too narrow"
        counts = np.zeros(100, dtype=np.int64)
        counts[[0, -1]] = 500
        assert failures(counts) == ("too narrow",)
        counts = ranked(stats.norm.cdf(1.5 * Z))
        counts[-1] += 1500
        assert failures(counts)[:2] == ("outside", "too narrow")

    def test_pvalue(self):
        # 3 of 3 rows outside one of two draws at each side
        assert outside_pvalue(np.array([2, 0, 1])) == pytest.approx((2 / 3) ** 3)
        # 10 of the 30 outcomes of the reference lie outside 12 draws.
        counts = np.zeros(13, dtype=np.int64)
        counts[[0, 5, -1]] = 4, 20, 6
        assert outside_pvalue(counts) == pytest.approx(0.011504121855338978, rel=1e-9)

    def test_far_outcomes_are_an_error_of_their_own(self):
        counts = np.full(100, 20)
        counts[-1] += 3
        far = DrawEvidence(far=Far((1, 2, 3), np.array([99, 99, 99]), 3, 1e-6))
        assert diagnosis(counts, 0.025, departs=False, evidence=far).failures == ("outside",)
        chance = DrawEvidence(far=Far((1,), np.array([99]), 40, 0.4))
        assert diagnosis(counts, 0.025, departs=False, evidence=chance).failures == ("none",)


class TestDraws:
    DEPENDENT, REPEATED = DrawEvidence(tau=9.0, dependence=1e-9), DrawEvidence(repeats=1e-9)

    @pytest.mark.parametrize(
        ("u", "evidence", "names"),
        [
            (1.4 * Z, DEPENDENT, ("dependent draws",)),
            (1.4 * Z - 0.4, DEPENDENT, ("dependent draws", "too high")),
            (0.7 * Z, DEPENDENT, ("dependent draws", "too wide")),
            (0.7 * Z, REPEATED, ("dependent draws",)),
        ],
    )
    def test_what_the_draws_make_too_is_withheld(self, u, evidence, names):
        assert failures(ranked(stats.norm.cdf(u)), evidence=evidence) == names


def test_a_comb_and_one_draw():
    assert failures(np.tile([40, 0], 50)) == ("other",)
    assert failures(np.array([70, 30])) == ("too high",)
    assert failures(np.array([50, 50])) == ("other",)


def test_bias_and_wrong_shape():
    rising = np.arange(1, 11) * 10
    assert outward_failure(rising, 0.05) == "too narrow or biased"
    assert outward_failure(rising[::-1], 0.05) == "too wide"
    # Correlation 0.8 stated as 0, D = 4: regions of 50 % contain 63 %, of 90 % 85 %.
    counts = np.array([126, 126, 126, 126, 126, 55, 55, 55, 56, 149])
    assert outward_failure(counts, 0.05) == "wrong shape"


def test_limits_and_order():
    found, one = normal_errors(np.full(20, 50), 0.95), normal_errors(np.array([0, 0, 1, 0, 0, 0]), 0.95)
    assert found.shift == pytest.approx(0, abs=1e-6)
    assert -0.1 < found.shift_low < 0 < found.shift_high < 0.1
    assert found.names == ()
    assert one.shift_high - one.shift_low > 2
    assert one.spread_high > 3
    assert not DrawEvidence(tau=1.1, dependence=1e-9).dependent  # a small dependence is none
    assert not DrawEvidence(tau=3.0, dependence=0.01).dependent
    assert normal_errors(ranked(stats.norm.cdf(1.8 * Z - 0.2)), 0.95).names == ("too narrow", "too high")
    assert normal_errors(ranked(stats.norm.cdf(1.1 * Z - 0.8)), 0.95).names == ("too high", "too narrow")


def power(shift, spread, n, M, *, tail=0.05, repeats=400, cells=False):
    """Return how often curves with an error leave the band, which is when p <= tail, by simulation."""
    rng = np.random.default_rng(0)
    u = stats.norm.cdf(spread * rng.normal(size=(n, repeats)) - shift)
    ranks = Ranks.of(np.minimum((u * (M + 1)).astype(int), M) if cells else rng.binomial(M, u), M)
    j = rank_points(n, M, cells=cells)
    counts, band = below(ranks.counts, j), ecdf_band(n, j / (M + 1), 1 - tail)
    return np.mean(((counts < band.lower[:, None]) | (counts > band.upper[:, None])).any(axis=0))


@pytest.mark.parametrize(("n", "M", "cells"), [(300, 99, False), (100, 9, False), (200, 999, True)])
def test_are_seen_four_times_in_five(n, M, cells):
    shift, spread = smallest_effects(n, M, cells=cells)
    assert power(shift, 1.0, n, M, cells=cells) == pytest.approx(0.8, abs=0.07)
    sides = [power(0.0, factor, n, M, cells=cells) for factor in (spread, 1 / spread)]
    assert min(sides) == pytest.approx(0.8, abs=0.09)


def test_smallest_effects_of_columns_draws_and_rows():
    tail = 0.05 / 20
    shift, spread = smallest_effects(300, 49, tail=tail)
    assert power(shift, 1.0, 300, 49, tail=tail) == pytest.approx(0.8, abs=0.07)
    assert (shift, spread) > smallest_effects(300, 49)  # several columns leave less to each
    assert (np.array(smallest_effects(200, 9)) > smallest_effects(200, 999)).all()
    shift, spread = smallest_effects(200, 1)  # one draw sees no spread
    assert 0 < shift < 1
    assert np.isnan(spread)
    assert smallest_effects(3, 99)[1] == np.inf
    base, four = smallest_effects(10_000, 19), smallest_effects(40_000, 19)
    assert four[0] == pytest.approx(base[0] / 2)
    assert np.log(four[1]) == pytest.approx(np.log(base[1]) / 2)


class TestRelated:
    """A bias of ± 1 that covariates tell: what it makes of the ranks of all rows is not called by another name."""

    BIASED = np.bincount(np.random.default_rng(1).binomial(99, stats.norm.cdf(Z + SIGN)), minlength=100)

    def test_only_what_covariates_make_is_withheld(self):
        assert "too narrow" in failures(self.BIASED)
        assert failures(self.BIASED, related="shift") == ("related to covariates",)
        counts = ranked(stats.norm.cdf((Z + 0.4) / 1.4))
        assert set(failures(counts, related="shift")) == {"too wide", "too low"}
        counts = ranked(stats.norm.cdf(Z * np.where(SIGN > 0, 1.7, 1.0)))
        assert "too narrow" in failures(counts, related="spread")
        assert diagnosis(np.full(100, 8), 0.025, departs=False, related="shift").failures == ("related to covariates",)


def test_shapes_are_named_at_the_error_rate_of_the_column():
    """Many coordinates and checks share the error rate of a page: so does what else is said of a coordinate."""
    counts = ranked(stats.norm.cdf(stats.skewnorm.ppf(stats.norm.cdf(Z[:1000]), 1.5) - 0.5))
    names = [failures(counts, test_rate=rate) for rate in (0.05, 1e-12)]
    assert ["skewed" in name for name in names] == [True, False]
