"""The audit of predictive distributions and of draws."""

import numpy as np
import pytest
from scipy import stats
from tests.auditing.found import values

import calibrant as cb
from calibrant.auditing.distributions import distribution_table, levels_of
from calibrant.core.evidence import note
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.counting import pit_bounds
from calibrant.ranking.spread import sharpness
from calibrant.regions.coverage_test import coverage_test, multinomial_coverage_test
from calibrant.scores.crps import crps
from calibrant.scores.energy_score import energy_score

RNG = np.random.default_rng(8)
N = 2000
MEAN, STD = RNG.normal(0, 2, N), RNG.uniform(1, 3, N)
Y = RNG.normal(MEAN, STD)
RIGHT = cb.Normal(MEAN, STD)
DRAWS = RNG.normal(MEAN[:, None], STD[:, None], (N, 19))


def test_each_measurement_is_the_one_of_its_verb():
    found = values(cb.audit(Y, RIGHT, resamples=99))
    for level in (0.5, 0.8, 0.9, 0.95):
        central = RIGHT.interval(level)
        assert found[f"coverage.{level}"].value == pytest.approx(cb.coverage(Y, central), abs=1e-12)
        raw = coverage_test(Y, central).pvalue
        assert found[f"coverage.{level}"].details["pvalue_unadjusted"] == pytest.approx(raw, rel=1e-9)
        # nine quantiles, four central intervals, and all levels together
        assert found[f"coverage.{level}"].pvalue == pytest.approx(min(1, 14 * raw), rel=1e-9)
        assert found[f"coverage.{level}"].decides
    assert found["crps"].value == pytest.approx(crps(Y, RIGHT), rel=1e-12)
    assert found["log_score"].value == pytest.approx(cb.log_score(Y, RIGHT), rel=1e-12)
    assert found["sharpness"].value == pytest.approx(sharpness(RIGHT), rel=1e-12)
    parts = cb.decompose(Y, RIGHT)
    assert found["decompose.mcb"].value == pytest.approx(parts.mcb, rel=1e-12)
    joint = multinomial_coverage_test(Y, RIGHT.quantiles([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975]))
    assert found["multinomial_coverage_test"].details["pvalue_unadjusted"] == pytest.approx(joint.pvalue, rel=1e-9)
    assert found["skce_test"].pvalue == cb.skce_test(Y, RIGHT, resamples=99).pvalue
    assert found["skce_test"].method.endswith("not part of the verdict")
    assert not found["skce_test"].decides


@pytest.mark.parametrize(
    ("M", "levels"),
    [(1, [1 / 2]), (2, [1 / 3, 2 / 3]), (3, [1 / 4, 1 / 2, 3 / 4]), (10, [1 / 11, 3 / 11, 8 / 11, 10 / 11])],
)
def test_levels_of_draws_are_those_they_can_hold(M, levels):
    assert levels_of(cb.Samples(np.zeros((1, M)))).tolist() == pytest.approx(levels, abs=0)


def test_hits_of_draws_and_of_a_distribution_with_atoms():
    # five draws, the outcome in every one of the six gaps: k of 6 lie at most at the k-th draw
    rows = read_outcomes(np.arange(6) + 0.5, cb.Samples(np.tile(np.arange(1.0, 6.0), (6, 1))))
    table = distribution_table(pit_bounds(rows), np.arange(1, 6) / 6, unit_weights(6))
    assert table.hits.tolist() == [1, 2, 3, 4, 5]
    assert table.inside.tolist() == [1, 2, 3, 4, 5]
    # mass 1/2 on 0 and on 1: the median is 0, and no outcome lies below it
    rows = read_outcomes([0.0, 1.0], cb.ScipyDistribution(stats.bernoulli(np.array([0.5, 0.5]))))
    table = distribution_table(pit_bounds(rows), np.array([0.25, 0.5, 0.75]), unit_weights(2))
    assert table.hits.tolist() == [1, 1, 2]
    assert table.inside.tolist() == [0, 1, 1]


def test_a_right_discrete_distribution_is_not_accused():
    rng = np.random.default_rng(0)
    mean = rng.uniform(1, 5, 300)
    distribution = cb.ScipyDistribution(stats.poisson(mean))
    audit = cb.audit(rng.poisson(mean), distribution, resamples=19)
    assert audit.verdict.status != "miscalibrated"
    assert any(caveat.startswith("randomised PIT: ") for caveat in audit.findings.caveats)
    assert audit.findings.sections[0].measurements[0].method.startswith("randomised PIT; ")


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_counts_with_a_wrong_mean_are_found(factor):
    rng = np.random.default_rng(0)
    mean = rng.gamma(3, 1, 800)
    y, right = rng.poisson(factor * mean), cb.ScipyDistribution(stats.poisson(mean))
    verdict = cb.audit(y, right, resamples=19).verdict
    assert verdict.status == "miscalibrated"
    (claim,) = (claim for claim in verdict.claims if claim.quantity == "shift")
    z = (mean - y) / np.sqrt(mean)
    assert claim.estimate == pytest.approx(z.mean(), rel=1e-12)
    assert claim.kind == ("below" if factor > 1 else "above")
    tests, half = 9 + 4 + 1 + 1, (claim.high - claim.low) / 2
    error = max(z.std(ddof=1) * stats.t.isf(0.025 / tests, 799), stats.norm.isf(0.025 / tests))
    assert half == pytest.approx(error / np.sqrt(800), rel=1e-9)
    order = rng.permutation(800)
    moved = cb.audit(y[order], right.take(order), resamples=19).verdict
    assert [claim.estimate for claim in moved.claims] == pytest.approx([claim.estimate for claim in verdict.claims])


def test_the_mean_is_tested_where_enough_rows_have_one():
    y = np.zeros(200)
    for distribution, why in (
        (stats.cauchy(loc=y), "no finite mean"),
        (stats.poisson(y + 0.001), "0.2 rows may have another outcome"),  # 200 · 0.001
        (stats.norm(loc=y[:99]), "needs 100 rows; got 99"),
    ):
        prediction = cb.ScipyDistribution(distribution)
        audit = cb.audit(RNG.normal(size=prediction.n) * (why[0] != "0"), prediction, resamples=19)
        assert any("The mean is not tested" in caveat and why in caveat for caveat in audit.findings.caveats)


@pytest.mark.parametrize(
    ("distribution", "kind", "quantity"),
    [
        (cb.Normal(MEAN, 0.7 * STD), "below", "coverage"),
        (cb.Normal(MEAN, 1.4 * STD), "above", "coverage"),
        (cb.Normal(MEAN - 0.6, STD), "below", "share_below"),
        (cb.Normal(MEAN + 0.6, STD), "above", "share_below"),
        (cb.Samples(MEAN[:, None] + 0.7 * (DRAWS - MEAN[:, None])), "miscalibrated", "coverage_error"),
    ],
)
def test_the_verdict_says_which_way(distribution, kind, quantity):
    verdict = cb.audit(Y, distribution, resamples=19).verdict
    assert verdict.status == "miscalibrated"
    assert (verdict.claims[0].kind, verdict.claims[0].quantity) == (kind, quantity)


def test_right_distributions():
    for distribution in (RIGHT, cb.Samples(DRAWS)):
        verdict = cb.audit(Y, distribution, groups=np.arange(N) % 3, resamples=19).verdict
        assert verdict.status != "miscalibrated"
        assert note("calm", tested=3, things="groups") in verdict.notes
    audit = cb.audit(Y, RIGHT, resamples=19)
    assert (audit.verdict.status, audit.verdict.tolerance) == ("within", 0.05)
    assert [figure.name for figure in audit.findings.sections[0].figures] == ["coverage", "pit_histogram"]


def test_a_group_with_a_shift():
    shifted = np.arange(N) % 10 == 0
    audit = cb.audit(Y + 1.5 * shifted, RIGHT, groups=shifted, resamples=19)
    assert audit.findings.groups.columns["group"][0] == "group = True"
    assert audit.verdict.status == "miscalibrated"


def test_distributions_that_do_not_tell_rows_apart():
    audit = cb.audit(np.random.default_rng(0).normal(size=N), cb.Normal(np.zeros(N), 1.0), resamples=19)
    (claim,) = [claim for claim in audit.verdict.claims if claim.quantity == "skill"]
    assert claim.kind in ("no-better", "limits")
    assert claim.low <= 0


class OnlyCdf(cb.Distribution):
    """A distribution that knows its distribution function and nothing else."""

    def __init__(self, mean):
        self.mean = np.asarray(mean)

    @property
    def n(self):
        return len(self.mean)

    def take(self, rows):
        return OnlyCdf(self.mean[rows])

    def cdf(self, x):
        return stats.norm.cdf(x, self.mean)


class OnlyDraws(OnlyCdf):
    """A distribution that can be drawn from and nothing else."""

    def cdf(self, x):
        return cb.Distribution.cdf(self, x)

    def sample(self, size, rng):
        return np.random.default_rng(rng).normal(self.mean[:, None], 1.0, (self.n, size))


def test_a_distribution_of_ones_own_needs_a_distribution_function():
    y = np.random.default_rng(0).normal(MEAN)
    audit = cb.audit(y, OnlyCdf(MEAN), resamples=19)
    assert audit.verdict.status == "within"
    assert any(caveat.startswith("crps does not apply") for caveat in audit.findings.caveats)
    none = cb.audit(y[:50], OnlyDraws(MEAN[:50]), resamples=19)
    assert none.verdict.status == "cannot tell"
    with pytest.raises(cb.errors.NotApplicableError, match="cdf"):
        cb.audit(y[:50], OnlyDraws(MEAN[:50]), groups=np.arange(50) % 2, resamples=19)


class TestVectors:
    n = 600
    mean = RNG.normal(size=(600, 2))
    cov = np.tile(np.array([[1.0, 0.6], [0.6, 2.0]]), (600, 1, 1))
    y = mean + np.einsum("ij,nj->ni", np.linalg.cholesky(cov[0]), RNG.normal(size=(600, 2)))

    def test_right(self):
        right = cb.MvNormal(self.mean, self.cov)
        audit = cb.audit(self.y, right, resamples=19)
        assert audit.verdict.status != "miscalibrated"
        assert values(audit)["log_score"].value == pytest.approx(cb.log_score(self.y, right), rel=1e-12)
        (table,) = audit.findings.sections[0].tables
        assert table.length == 2 * 4

    def test_one_coordinate_off(self):
        cov = self.cov.copy()
        cov[:, 1, 1] = 0.8
        cov[:, 0, 1] = cov[:, 1, 0] = 0.3
        audit = cb.audit(self.y, cb.MvNormal(self.mean, cov), resamples=19)
        assert audit.verdict.status == "miscalibrated"
        assert (audit.verdict.claims[0].subject.name, audit.verdict.claims[0].kind) == ("coordinate 1", "below")

    def test_dependence_alone(self):
        wrong = self.cov.copy()
        wrong[:, 0, 1] = wrong[:, 1, 0] = -1.3
        audit = cb.audit(self.y, cb.MvNormal(self.mean, wrong), resamples=99)
        assert audit.verdict.status == "miscalibrated"
        whole = audit.verdict.claims[0]
        assert (whole.kind, whole.test) == ("miscalibrated", "skce_test")
        assert np.isnan(whole.low)  # no limits of this error are known
        assert values(audit)["skce_test"].decides
        assert whole.pvalue == values(audit)["skce_test"].pvalue

    def test_draws(self):
        y, noise = self.y[:200], np.random.default_rng(0).normal(size=(200, 19, 2))
        draws = self.mean[:200, None] + np.einsum("ij,nmj->nmi", np.linalg.cholesky(self.cov[0]), noise)
        audit = cb.audit(y, cb.Samples(draws), resamples=19)
        assert values(audit)["energy_score"].value == pytest.approx(energy_score(y, cb.Samples(draws), fair=True))
        assert audit.verdict.status != "miscalibrated"

    def test_groups_are_refused(self):
        with pytest.raises(cb.errors.InputError, match="one coordinate"):
            cb.audit(self.y, cb.MvNormal(self.mean, self.cov), groups=np.arange(self.n) % 2, resamples=19)


def test_weights():
    w = np.where(np.arange(N) % 2, 1.0, 2.0)
    audit = cb.audit(Y, RIGHT, weights=w, resamples=19)
    assert audit.verdict.status == "cannot tell"
    assert values(audit)["coverage.0.9"].value == pytest.approx(cb.coverage(Y, RIGHT.interval(0.9), weights=w))


def test_unequal_weights_make_no_ties():
    rng = np.random.default_rng(0)
    y, draws = rng.normal(size=300), rng.normal(size=(300, 20))
    audit = cb.audit(y, cb.Samples(draws), weights=rng.uniform(0.5, 2.0, 300))
    assert not any("on a quantile" in caveat for caveat in audit.findings.caveats)
