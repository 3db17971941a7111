"""Audits against what was known of each row: claims, outcomes, what is said, and pictures."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.auditing.covariates import region_evidence
from calibrant.auditing.job import check_part
from calibrant.conditional.residuals import Column
from calibrant.errors import InputError, NotApplicableError

N = 2000
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 3))
P = RNG.uniform(0.2, 0.8, N)
U, Z = RNG.random(N), RNG.normal(size=N)
QUARTER = X[:, 0] > 0.6745
OFF = (P + 0.12 * np.sign(X[:, 0]) > U).astype(int)
RIGHT = (U < P).astype(int)
OPTIONS = {"covariates": X, "tolerance": 0.05, "resamples": 199}


def claims_on(audit, kind):
    return [claim for claim in audit.verdict.claims if claim.subject.kind == kind]


class TestEvents:
    def test_errors_that_cancel_are_found(self):
        without = cb.audit(OFF, P, tolerance=0.05, resamples=99).verdict
        assert without.status == "within"
        assert any(line.label == "looked at" and "anything but the score" in line.text for line in without.lines)
        audit = cb.audit(OFF, P, **OPTIONS)
        assert audit.verdict.status == "miscalibrated"
        first, second = claims_on(audit, "region")
        assert audit.verdict.claims[0] is first
        assert {first.kind, second.kind} == {"below", "above"}
        assert first.subject.name.startswith("x0 ")
        for claim in (first, second):
            truth = claim.expected + (0.12 if claim.kind == "above" else -0.12)
            assert not claim.is_false(truth)
            assert abs(claim.estimate - claim.expected) > 0.05
        (average,) = [claim for claim in audit.verdict.claims if claim.quantity == "average_error"]
        assert 0.05 < average.low <= 0.12
        assert "Pass covariates" not in str(audit.verdict.lines)
        section = audit.findings.sections[-1]
        assert [figure.name for figure in section.figures] == ["conditional_map"]
        assert [table.name for table in section.tables] == ["regions", "parts"]

    def test_right_predictions_fare_no_worse_for_want_of_rows(self):
        without, audit = (cb.audit(RIGHT, P, **{**OPTIONS, "covariates": x}) for x in (None, X))
        assert without.verdict.status == audit.verdict.status == "within"
        quarter, sixteenth = claims_on(audit, "parts")
        assert 0.05 < quarter.high < sixteenth.high
        (said,) = [line.text for line in audit.verdict.lines if line.label == "covariates"]
        assert said.startswith("no region of 3 covariates or the prediction is off by more than chance (p")
        asked = cb.audit(RIGHT, P, part=0.25, **OPTIONS)
        assert asked.verdict.status == "cannot tell"
        assert asked.verdict.claims[0] == quarter
        assert cb.audit(RIGHT, P, part=0.25, **{**OPTIONS, "tolerance": quarter.high}).verdict.status == "within"
        half = cb.audit(RIGHT, P, part=0.125, **{**OPTIONS, "tolerance": quarter.high})
        assert [claim.subject.name for claim in claims_on(half, "parts") if claim.kind == "within"] == ["quarter"]

    def test_levels_and_pvalues_allow_for_all_families(self):
        groups = np.where(X[:, 1] > 0, "a", "b")
        audit = cb.audit(OFF, P, groups=groups, **OPTIONS)
        found = cb.conditional_test(OFF, P, covariates=X, level=1 - 0.05 / 3, resamples=199)
        (test,) = [each for each in audit.findings.measurements if each.name == "conditional_test"]
        assert test.pvalue == pytest.approx(3 * found.pvalue)
        region = found.details["regions"][0]
        claim = claims_on(audit, "region")[0]
        assert claim.low == pytest.approx(region.predicted + region.low)
        assert claim.high == pytest.approx(region.predicted + region.high)

    def test_a_small_error_in_a_region_leaves_within_open(self):
        y = (P + 0.07 * np.sign(X[:, 0]) > U).astype(int)
        assert cb.audit(y, P, **{**OPTIONS, "tolerance": 0.06}).verdict.status == "cannot tell"
        assert cb.audit(y, P, **{**OPTIONS, "tolerance": 0.3}).verdict.status == "within"

    def test_covariates_that_cannot_be_searched_are_said(self):
        audit = cb.audit(RIGHT, P, **{**OPTIONS, "covariates": np.ones(N)})
        assert any("covariates were not searched: no covariate varies" in line.text for line in audit.verdict.lines)
        assert audit.verdict.status == "within"
        assert not any("families" in caveat for caveat in audit.findings.caveats)
        with pytest.raises(NotApplicableError, match="no covariate varies"):
            cb.audit(RIGHT, P, part=0.25, **{**OPTIONS, "covariates": np.ones(N)})

    def test_shares_of_any_type(self):
        assert [check_part(share, X) for share in (1, 0.5, np.float32(0.25), np.int8(1))] == [1.0, 0.5, 0.25, 1.0]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"covariates": X, "part": 0.3}, "part= is a share of the rows that has a limit"),
            ({"covariates": X, "part": 10**400}, "part= is a share of the rows that has a limit"),
            ({"covariates": X, "part": {"a": 1}}, "0.0625; got {'a': 1}"),
            ({"covariates": X, "part": True}, "part= is a share of the rows that has a limit"),
            ({"part": 0.25}, "part= is a share of rows that covariates= cut out"),
            ({"covariates": X[:9]}, "expected 2000 rows"),
            ({"covariates": {"y": OFF}}, "is the outcome"),
        ],
    )
    def test_refused(self, options, words):
        with pytest.raises(InputError, match=words):
            cb.audit(OFF, P, resamples=19, **options)


LEVELS = [0.1, 0.5, 0.9]
OTHERS = {
    "classes": (
        np.where(QUARTER & (RNG.random(N) < 0.5), 0, (U > P).astype(int)),
        np.column_stack([P, 1 - P]),
        "class frequency",
    ),
    "intervals": (Z * (1 + QUARTER), cb.Intervals(np.full(N, -1.96), np.full(N, 1.96), level=0.95), "coverage"),
    "sets": (RNG.integers(0, 3, N), cb.Sets(~(QUARTER[:, None] & [False, False, True]), level=0.9), "coverage"),
    "quantiles": (Z + 0.5 * QUARTER, cb.Quantiles(np.tile([-1.2816, 0, 1.2816], (N, 1)), LEVELS), "share_below"),
    "distributions": (Z + 0.5 * QUARTER, cb.Normal(np.zeros(N), 1.0), "shift"),
    "samples": (Z + 0.5 * QUARTER, cb.Samples(RNG.normal(size=(N, 19))), "shift"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind(kind, plt):
    y, prediction, quantity = OTHERS[kind]
    audit = cb.audit(y, prediction, **OPTIONS)
    region = claims_on(audit, "region")[0]
    assert ("size <= 2.5" if kind == "sets" else "x0 > 0.") in region.subject.name
    assert quantity == region.quantity or (kind, region.quantity) == ("classes", "right class")
    assert region.level == 0.95
    assert region.kind in ("below", "above")
    assert audit.verdict.status == "miscalibrated"
    assert "conditional_map" in [figure.name for figure in audit.findings.sections[-1].figures]
    assert "covariates" in str(audit)
    for figure in audit.findings.sections[-1].figures:
        figure.curve.plot()


def test_intervals_for_counts_may_cover_more():
    y, x = RNG.poisson(3, N), np.column_stack([X, RNG.random(N)])
    intervals = cb.Intervals(np.full(N, 0.0), np.full(N, 6.0), level=0.9)  # 96.6 % of Poisson counts of mean 3
    audit = cb.audit(y, intervals, **{**OPTIONS, "covariates": x})
    assert audit.verdict.status == "within"
    assert not claims_on(audit, "region")


def test_error_of_ranks_is_at_most_that_of_the_coverage_of_an_interval():
    """A shift of δ changes the coverage of one-sided intervals by 2Φ(δ/2) - 1, a spread by less than its limit."""
    y = Z + 0.5 * QUARTER
    region = cb.conditional_test(y, cb.Normal(np.zeros(N), 1.0), covariates=X, resamples=199).details["regions"][0]
    error = region_evidence(region, Column("shift"), 1.0233267079464885).size
    assert error.low < error.estimate < 0.2 < error.most
    assert error.low == pytest.approx(region.low / 1.0233267079464885 / (2 * np.sqrt(3)))
