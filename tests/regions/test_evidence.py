"""Evidence on coverage: what is claimed of it, and how many rows it would take."""

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.core.evidence import Case, note
from calibrant.core.findings import Setting
from calibrant.inputs.kinds import KINDS
from calibrant.judging.judge import judge
from calibrant.regions.audit_tables import covered
from calibrant.regions.evidence import ERROR, Judged, Plan, coverage_whole, least_hits, part_family, weights_caveat
from calibrant.regions.hits import HitTable
from calibrant.regions.lines import Rule


def judged(y, prediction, **given):
    """Return the verdict on intervals."""
    setting = Setting(0.95, 19, np.random.default_rng(0), families=2, **given)
    rows = KINDS[prediction.prediction_kind].read(y, prediction)
    found = covered(rows, HitTable.of(rows), setting)
    parts = part_family(found.parts("intervals", "width"), setting)
    whole = coverage_whole([Judged(found.lines, "intervals")], found.beside, found.plan(setting), setting)
    return judge(Case(whole, (parts,)), setting)


def plan(levels=(0.9,), rule=None, *, families=2, **given):
    return Plan(np.array(levels), rule or Rule(), 0.05 / families, **given)


def total_of(verdict):
    """Return the claim on the largest error of all levels."""
    return next(claim for claim in verdict.claims if claim.quantity in ERROR.values())


class TestRows:
    def test_least_hits(self):
        for n, p, rate in ((20, 0.7, 0.025), (300, 0.85, 0.0125), (5, 0.5, 0.01)):
            k = int(least_hits(np.array([p]), n, rate)[0])
            assert stats.binom.sf(k - 1, n, p) <= rate
            assert stats.binom.sf(k - 2, n, p) > rate

    @pytest.mark.parametrize("rule", [Rule(), Rule("less", ties=False)])
    @pytest.mark.parametrize("tau", [0.05, 0.02])
    def test_of_one_level_is_exact_to_a_tenth(self, rule, tau):
        found = plan(rule=rule).rows(tau)

        def power(n):
            k = np.arange(n + 1)
            low, high = stats.beta.ppf(0.0125, k, n - k + 1), stats.beta.ppf(0.9875, k + 1, n - k)
            inside = np.nan_to_num(low, nan=0.0) >= 0.9 - tau
            if rule.counts_high:
                inside &= np.nan_to_num(high, nan=1.0) <= 0.9 + tau
            return stats.binom.pmf(k, n, 0.9)[inside].sum()

        assert power(int(found * 1.1)) > 0.8 > power(int(found / 1.1))

    def test_simulated_verdicts_of_several_levels(self):
        levels = np.array([0.5, 0.9])
        n = plan(levels).rows(0.05)
        rng, z = np.random.default_rng(1), stats.norm.ppf((1 + levels) / 2)
        bounds = np.tile(z, (n, 1))
        intervals = cb.Intervals(-bounds, bounds, levels)
        told = [judged(rng.normal(size=n), intervals).status == "within" for _ in range(400)]
        assert np.mean(told) == pytest.approx(0.8, abs=0.06)  # three standard errors

    def test_a_small_calibration_set_limits(self):
        conformal = Rule("less", ties=False)
        assert plan(rule=conformal, calibration_size=100).rows(0.01) is None
        assert plan(rule=conformal, calibration_size=1000).rows(0.05) < 1000

    def test_more_levels_and_copies_need_more_rows(self):
        one, two, both = (
            plan(levels, copies=copies).rows(0.05) for levels, copies in (((0.9,), 1), ((0.5, 0.9), 1), ((0.5, 0.9), 2))
        )
        assert one < two < both


def random_rows(rng):
    """Return outcomes and intervals of a random design: right or wrong, of few or many rows, counts, one-sided."""
    n = int(rng.choice([5, 40, 300, 2000]))
    levels = np.sort(rng.choice([0.1, 0.5, 0.8, 0.9, 0.95], size=rng.integers(1, 4), replace=False))
    spread, middle = rng.choice([0.0, 1.0]) * rng.uniform(0, 2, n) + 1, rng.choice([0.0, 3.0]) * rng.normal(size=n)
    factor = rng.choice([0.7, 0.95, 1.0, 1.2], size=2)[(middle > 0).astype(int)]
    y = middle + spread * rng.normal(size=n)
    half = (factor * spread)[:, None] * stats.norm.ppf((1 + levels) / 2)
    lower, upper = middle[:, None] - half, middle[:, None] + half
    if rng.random() < 0.3:
        y, lower, upper = np.round(y), np.round(lower), np.round(upper)
    if rng.random() < 0.2:
        lower = np.where(rng.random((n, 1)) < 0.5, -np.inf, lower)
    return y, cb.Intervals(lower, upper, levels)


@pytest.mark.parametrize("seed", range(120))
def test_verdict_claims_and_words_agree(seed):
    rng = np.random.default_rng(seed)
    y, prediction = random_rows(rng)
    given = {
        "tolerance": rng.choice([None, 0.02, 0.05]),
        "alternative": rng.choice([None, "two-sided", "less"]),
        "calibration_size": rng.choice([None, 200]),
    }
    verdict = judged(y, prediction, **given)
    first, total = verdict.claims[0], total_of(verdict)
    of_a_part = first.subject.part is not None
    assert total.kind == verdict.status or (of_a_part and verdict.status == "miscalibrated")
    if verdict.status == "within":
        assert total.high <= verdict.tolerance
    if verdict.status == "miscalibrated":
        assert first.pvalue < 0.05
        assert total.low != 0 or of_a_part
        assert (
            given["tolerance"] is None
            or max(first.low - first.expected, first.expected - first.high) > given["tolerance"]
            or total.low > given["tolerance"]
        )
    for claim in verdict.claims:
        assert not claim.high < claim.estimate < claim.low
        if claim.kind == "below":
            assert claim.high < claim.expected
            assert claim.pvalue < 0.05
        if claim.kind == "above":
            assert claim.low > claim.expected
            assert claim.pvalue < 0.05


class TestFoundCases:
    """What new users met."""

    def test_exact_quartiles_of_counts(self):
        y = np.random.default_rng(1).poisson(3, 2000).astype(float)
        quartiles = cb.Intervals(np.full(2000, 2.0), np.full(2000, 4.0), 0.5)
        usual, both = judged(y, quartiles), judged(y, quartiles, alternative="two-sided")
        assert usual.status == "within"
        assert ("description", None) in [(claim.kind, claim.level) for claim in usual.claims]
        assert (both.status, both.claims[0].kind) == ("miscalibrated", "above")

    def test_split_conformal_on_counts(self):
        y = np.where(np.arange(2000) < 1876, 0.0, 9.0)  # covers 93.8 %
        prediction = cb.Intervals(np.full(2000, -1.0), np.full(2000, 1.0), 0.9)
        assert judged(y, prediction, calibration_size=500).status == "within"
        both = judged(y, prediction, calibration_size=500, alternative="two-sided")
        assert (both.status, total_of(both).kind) == ("miscalibrated", "miscalibrated")

    @pytest.mark.parametrize("calibration_size", [None, 500])
    def test_errors_that_grow_with_the_prediction(self, calibration_size):
        rng = np.random.default_rng(2)
        levels = np.array([0.5, 0.8, 0.9, 0.95])
        x = rng.uniform(0, 1, 2500)
        error = rng.normal(size=2500) * (0.3 + x)
        q = np.sort(np.abs(error[:500]))[np.ceil(501 * levels).astype(int) - 1]
        x, y = x[500:, None], 10 * x[500:] + error[500:]
        verdict = judged(y, cb.Intervals(10 * x - q, 10 * x + q, levels), calibration_size=calibration_size)
        assert verdict.status == "miscalibrated"
        low = [claim for claim in verdict.claims if claim.kind == "below"]
        at_places = [claim for claim in low if (claim.subject.level, claim.subject.part) == (0.9, "place")]
        assert min(claim.estimate for claim in at_places) < 0.85

    def test_alpha_given_as_level(self):
        y = np.random.default_rng(3).normal(size=500)
        found = cb.audit(y, cb.Intervals(np.full(500, -1.645), np.full(500, 1.645), 0.1), resamples=19)
        (asked,) = [note for note in found.verdict.notes if note.key == "error rates?"]
        assert (asked.values["given"], asked.values["meant"]) == ([0.1], [0.9])
        four_in_five = cb.audit(y, cb.Intervals(np.full(500, -1.282), np.full(500, 1.282), 0.2), resamples=19)
        assert "error rates?" in [note.key for note in four_in_five.verdict.notes]
        for half, level in ((0.126, 0.1), (0.598, 0.4)):  # coverage 0.1, and 0.45
            fine = cb.audit(y, cb.Intervals(np.full(500, -half), np.full(500, half), level), resamples=19)
            assert "error rates?" not in [note.key for note in fine.verdict.notes]

    @pytest.mark.parametrize("alternative", [None, "less", "greater", "two-sided"])
    @pytest.mark.parametrize("kind", ["intervals", "sets"])
    def test_predictions_whose_level_is_in_doubt_are_not_within(self, kind, alternative):
        outside = np.arange(1000) < 80
        if kind == "sets":
            y, given = outside.astype(int), cb.Sets(np.tile([True, False], (1000, 1)), 0.1)
        else:
            y, given = 2.0 * outside, cb.Intervals(np.full(1000, -1.0), np.full(1000, 1.0), 0.1)
        found = cb.audit(y, given, alternative=alternative, resamples=19)
        assert "error rates?" in [note.key for note in found.verdict.notes]
        assert found.verdict.status in ("miscalibrated", "cannot tell")
        assert all(step.status != "within" for step in found.verdict.at)

    def test_coverage_far_above_the_promise_is_no_error(self):
        y = (np.arange(1000) < 50).astype(int)
        verdict = cb.audit(y, cb.Sets(np.tile([True, False], (1000, 1)), 0.7), resamples=19).verdict
        assert verdict.status == "within"
        assert (total_of(verdict).low, total_of(verdict).high) == (0, 0)

    def test_limits_that_count_outcomes_on_bounds_do_not_decide(self):
        """Of 2,000 outcomes 1,602 are covered and 3 of these lie on a bound: limits 78.01 % and 82.07 %."""
        y = np.where(np.arange(2000) < 1602, 0.0, 9.0)
        y[:3] = 1.0
        verdict = cb.audit(y, cb.Intervals(np.full(2000, -1.0), np.full(2000, 1.0), 0.8), resamples=19).verdict
        assert (verdict.status, verdict.tolerance) == ("within", 0.02)
        assert verdict.claims[0] is total_of(verdict)
        assert verdict.claims[1].high > 0.82

    def test_one_sided_intervals(self):
        y = np.random.default_rng(4).normal(size=2000)
        verdict = judged(y, cb.Intervals(np.full(2000, -np.inf), np.full(2000, 1.2816), 0.9))
        assert verdict.status == "within"

    def test_unbounded_rows_are_no_fault_of_a_promise(self):
        # 200 rows without bounds cover everything, the others 90 %
        half = np.where(np.arange(2000) < 200, np.inf, 1.0)
        y = np.where(np.arange(2000) % 10 == 0, 9.0, 0.0)
        conformal = judged(y, cb.Intervals(-half, half, 0.9), alternative="less")
        assert conformal.status == "within"
        assert not any(claim.kind == "above" for claim in conformal.claims)


def in_cells(counts, levels, **options):
    """Return the verdict on quantiles between which so many outcomes lie."""
    y = np.repeat(np.arange(len(counts)) + 0.5, counts)
    values = np.tile(np.arange(1.0, len(counts)), (y.size, 1))
    return cb.audit(y, cb.Quantiles(values, levels), resamples=19, **options).verdict


class TestOneCheckPerClaim:
    def test_the_pvalue_of_a_level_is_its_own(self):
        """Of 600 outcomes 95 are below the 20 % quantile; all three levels together are more surprising."""
        verdict = in_cells([95, 215, 215, 75], [0.2, 0.5, 0.9])
        level, whole = verdict.claims[0], total_of(verdict)
        of_level = 4 * 2 * stats.binom.cdf(95, 600, 0.2)  # three levels, and all together
        together = 4 * stats.chisquare([95, 215, 215, 75], [120, 180, 240, 60]).pvalue
        assert (level.subject.level, level.estimate) == (0.2, pytest.approx(95 / 600))
        assert level.pvalue == pytest.approx(of_level)
        assert whole.pvalue < level.pvalue < 0.05
        assert (whole.test, level.test) == ("multinomial_coverage_test", "coverage_test")
        assert whole.pvalue == pytest.approx(together, rel=0.3)

    def test_all_levels_together_may_reject_what_is_within(self):
        """The coverages are 19.8 %, 52.8 % and 90 %."""
        verdict = in_cells([1190, 1980, 2230, 600], [0.2, 0.5, 0.9], tolerance=0.05)
        assert (verdict.status, total_of(verdict).test) == ("within", "multinomial_coverage_test")
        assert total_of(verdict).pvalue < 0.001

    def test_the_first_claim_is_about_a_level_beyond_the_tolerance(self):
        """The 1 % quantile has the smaller p-value, but only the median is off by more than 4 percentage points."""
        verdict = in_cells([160, 2140, 1700], [0.01, 0.5], tolerance=0.04)
        assert verdict.status == "miscalibrated"
        by_level = {claim.subject.level: claim for claim in verdict.claims if claim.quantity == "share_below"}
        assert by_level[0.01].pvalue < by_level[0.5].pvalue
        assert by_level[0.01].high < 0.01 + 0.04
        assert by_level[0.5].low > 0.5 + 0.04
        assert verdict.claims[0] is by_level[0.5]


def test_weights_that_count_like_fewer_rows():
    assert weights_caveat(4, np.ones(4)) == []
    assert weights_caveat(4, np.array([3.0, 1.0, 1.0, 1.0])) == [note("weights", n=4, effective=3)]  # 36/12
