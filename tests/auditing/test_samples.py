"""Audit of draws by their ranks."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.found import notes, values

import calibrant as cb
from calibrant.core.evidence import Subject, note
from calibrant.core.pvalues import holm
from calibrant.errors import NotApplicableError
from calibrant.judging.notes import as_text
from calibrant.ranking.failures import normal_errors
from calibrant.ranking.pair_dependence import is_affordable
from calibrant.report.page import marked

N, M, D = 400, 49, 3
RNG = np.random.default_rng(5)
MEAN = RNG.normal(size=N)
Y = RNG.normal(MEAN, 1.0)
NOISE = RNG.normal(size=(N, M))
ROOT = np.linalg.cholesky(np.full((D, D), 0.6) + 0.4 * np.eye(D))
MEANS = RNG.normal(size=(N, D))
VECTORS = MEANS + RNG.normal(size=(N, D)) @ ROOT.T
CLIMATE = np.sqrt(2) * np.random.default_rng(8).normal(size=(N, M))
NOISES = RNG.normal(size=(N, M, D))
RIGHT = MEANS[:, None] + NOISES @ ROOT.T


def ensemble(spread=1.0, shift=0.0):
    return cb.Samples(MEAN[:, None] + shift + spread * NOISE)


def claimed(audit, quantity):
    """Return the claims on a quantity, by the name or kind of their subject."""
    claims = audit.verdict.claims
    return {claim.subject.name or claim.subject.kind: claim for claim in claims if claim.quantity == quantity}


class TestNumbers:
    def test_right_draws(self):
        audit = cb.audit(Y, ensemble(), resamples=19)
        main = claimed(audit, "coverage_error")["all rows"]
        assert (audit.verdict.status, main.kind) == ("cannot tell", "cannot tell")
        assert main.low == 0 < main.estimate < 0.05 < main.high
        assert {claim.kind for claim in audit.verdict.claims} == {"cannot tell", "limits", "informative"}
        assert audit.findings.kind == "samples"

    @pytest.mark.parametrize(
        ("options", "quantity", "kind"),
        [
            ({"spread": 0.6}, "spread", "above"),
            ({"spread": 1.6}, "spread", "below"),
            ({"shift": 0.5}, "shift", "above"),
            ({"shift": -0.5}, "shift", "below"),
        ],
    )
    def test_the_verdict_says_what_is_wrong(self, options, quantity, kind):
        audit = cb.audit(Y, ensemble(**options), resamples=19)
        assert audit.verdict.status == "miscalibrated"
        claim = claimed(audit, quantity)["all rows"]
        assert claim.kind == kind
        assert claim.level == 0.95
        truth = {"spread": 1 / options.get("spread", 1), "shift": options.get("shift", 0.0)}[quantity]
        assert not claim.is_false(truth)
        assert values(audit)[f"explain.{quantity}"].interval == (claim.low, claim.high)

    def test_the_tolerance_decides(self):
        narrow = ensemble(0.6)  # central 60 % intervals, ±0.84 sd, cover 2Φ(0.84 * 0.6) - 1 = 39 %
        found = {tau: cb.audit(Y, narrow, tolerance=tau, resamples=19) for tau in (0.05, 0.22, 0.4)}
        assert [audit.verdict.status for audit in found.values()] == ["miscalibrated", "cannot tell", "within"]
        assert [audit.verdict.tolerance for audit in found.values()] == [0.05, 0.22, 0.4]
        errors = {tau: claimed(audit, "coverage_error")["all rows"] for tau, audit in found.items()}
        assert errors[0.05].low > 0.05
        assert errors[0.4].high <= 0.4

    def test_many_rows_show_that_an_error_is_negligible(self):
        rng = np.random.default_rng(3)
        n = 60_000
        verdict = cb.audit(rng.normal(size=n), cb.Samples(1.002 * rng.normal(size=(n, 19))), resamples=19).verdict
        assert (verdict.status, verdict.tolerance) == ("within", 0.01)

    def test_what_the_verdict_rests_on_is_marked(self):
        audit = cb.audit(VECTORS, cb.Samples(RIGHT), covariates=MEANS, resamples=19)
        decides = {m.name for m in audit.findings.measurements if m.decides}
        joint = {"joint_ranks.mean_distance", "joint_ranks.average", "pair_dependence"}
        assert decides == {"coverage_error", "uniformity_test", *joint, "conditional_test", "tarp_ranks"}
        smallest = min(values(audit)[name].pvalue for name in decides - {"coverage_error", "conditional_test"})
        assert claimed(audit, "coverage_error")["all rows"].pvalue == smallest

    def test_the_table_is_that_of_the_verbs(self):
        draws = ensemble(0.8)
        found = values(cb.audit(Y, draws, resamples=19))
        test, said = cb.uniformity_test(Y, draws), cb.explain(Y, draws)
        assert found["uniformity_test"].pvalue == test.pvalue
        assert found["explain.spread"].value == pytest.approx(said.spread, rel=1e-11)
        # 5 %, half of it for the upper limit of the size, the rest for five limits
        errors = normal_errors(np.bincount(cb.ranks(Y, draws), minlength=M + 1), 1 - 0.05 / 10)
        assert found["explain.spread"].interval == pytest.approx((errors.spread_low, errors.spread_high), rel=1e-11)
        assert found["explain.shift"].value == pytest.approx(said.shift, rel=1e-11)
        assert found["crps"].value == pytest.approx(cb.crps(Y, draws, fair=True), rel=1e-12)
        assert found["contraction"].value == pytest.approx(cb.ranking.contraction(Y, draws), rel=1e-11)
        held = np.mean(np.abs(2 * cb.ranks(Y, draws) - M) <= M - 2 * 2)  # ranks 2 to 47 of 49
        assert found["coverage.0.92"].value == pytest.approx(held)

    def test_covariates_find_a_forecast_that_ignores_them(self):
        climate = cb.Samples(CLIMATE)
        assert cb.audit(Y, climate, resamples=19).verdict.status != "miscalibrated"
        audit = cb.audit(Y, climate, covariates=MEAN, resamples=19)
        assert audit.verdict.status == "miscalibrated"
        (region,) = [claim for claim in audit.verdict.claims if claim.subject.kind == "region"]
        assert (region.kind, region.quantity, region.level) == ("below", "shift", 0.95)
        assert claimed(audit, "tarp_ranks")["covariates"].level == 0.95
        assert values(audit)["conditional_test"].pvalue == 2 / 200
        assert values(audit)["tarp_ranks"].pvalue < 1e-4
        right = cb.audit(Y, ensemble(), covariates=MEAN, resamples=19)
        assert right.verdict.status != "miscalibrated"
        assert not [claim for claim in right.verdict.claims if claim.subject.kind == "region"]

    def test_covariates_are_mentioned_whatever_else_rejects(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=800)
        y = rng.normal(x, 1)
        draws = x[:, None] + np.where(x > 0, 0.7, 1.4)[:, None] * rng.normal(size=(800, 99))
        audit = cb.audit(y, cb.Samples(draws), covariates=x, resamples=19)
        assert audit.verdict.status == "miscalibrated"
        (region,) = [claim for claim in audit.verdict.claims if claim.subject.kind == "region"]
        assert (region.quantity, region.level) == ("spread", 0.95)
        assert region.low > 1 or region.high < 1

    def test_bias_by_a_covariate_has_no_other_name(self):
        """Of b, whose bias changes sign with x0, neither "too narrow" nor a wrong dependence on a is said."""
        rng = np.random.default_rng(3)
        x, noise = rng.normal(size=(800, 2)), np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T
        draws = rng.normal(size=(800, 99, 2)) @ noise
        draws[:, :, 1] += 0.9 * np.sign(x[:, [0]])
        audit = cb.audit(rng.normal(size=(800, 2)) @ noise, cb.Samples(draws), covariates=x, columns=["a", "b"])
        claims = audit.verdict.claims
        assert not [claim for claim in claims if claim.quantity == "spread" or claim.subject.kind == "pair"]
        assert [claim.quantity for claim in claims if claim.subject.kind == "region"] == ["shift"]
        columns = audit.findings.sections[0].tables[0].columns
        failures = dict(zip(columns["coordinate"], columns["failure"], strict=True))
        assert failures == {"a": "none", "b": "related to covariates"}

    def test_every_coordinate_that_is_related_to_covariates_is_named(self):
        rng = np.random.default_rng(4)
        x, y = rng.normal(size=(600, 2)), rng.normal(size=(600, 3))
        draws = rng.normal(size=(600, 49, 3)) + 0.8 * (x[:, 0] > 0)[:, None, None] * [1, 1, 0]
        audit = cb.audit(y, cb.Samples(draws), covariates=x, columns=["a", "b", "c"])
        regions = {
            claim.subject.name[:8]: claim.kind for claim in audit.verdict.claims if claim.subject.kind == "region"
        }
        assert regions == {"a for x0": "above", "b for x0": "above"}

    def test_constant_covariates_are_mentioned(self):
        for constant in (np.ones(N), np.array(["a"] * N)):
            verdict = cb.audit(Y, ensemble(), covariates=constant, resamples=19).verdict
            assert any("no covariate varies between rows" in line.text for line in verdict.lines)

    def test_a_region_that_is_off_decides_at_a_tolerance(self):
        climate, options = cb.Samples(CLIMATE), {"covariates": MEAN, "resamples": 19}
        assert cb.audit(Y, climate, tolerance=0.3, resamples=19).verdict.status == "within"
        found = [cb.audit(Y, climate, tolerance=tau, **options).verdict.status for tau in (0.05, 0.3, 0.9)]
        assert found == ["miscalibrated", "cannot tell", "within"]

    def test_groups(self):
        climate = cb.Samples(CLIMATE)
        audit = cb.audit(Y, climate, groups={"side": np.where(MEAN > 0, "up", "down")}, resamples=19)
        assert audit.verdict.status == "miscalibrated"
        assert set(audit.findings.groups.columns) == {"group", "n", "shift", "spread", "pvalue", "pvalue_adjusted"}
        claim = claimed(audit, "coverage_error")["side = up"]
        columns = audit.findings.groups.columns
        assert claim.pvalue == columns["pvalue_adjusted"][columns["group"].index("side = up")]
        assert 0 < claim.low < claim.estimate < claim.high
        assert columns["shift"][columns["group"].index("side = up")] < 0

    def test_groups_count_twice_on_a_page_with_two_families(self):
        alone = cb.audit(Y, ensemble(0.8), resamples=19)
        audit = cb.audit(Y, ensemble(0.8), groups=np.arange(N) % 2, resamples=19)
        assert values(audit)["uniformity_test"].pvalue == pytest.approx(2 * values(alone)["uniformity_test"].pvalue)
        columns = audit.findings.groups.columns
        expected = np.minimum(1, 2 * holm(np.array(columns["pvalue"])))  # 2 families
        np.testing.assert_allclose(columns["pvalue_adjusted"], expected)
        assert "2 families of tests: all rows, groups" in audit.findings.groups.note
        assert as_text(note("families", number=2, names=["all rows", "groups"])) in audit.findings.caveats

    def test_a_small_group_is_listed_and_not_tested(self):
        labels = np.where(np.arange(N) < 10, "few", "many")
        groups = cb.audit(Y, ensemble(), groups=labels, resamples=19).findings.groups.columns
        assert dict(zip(groups["group"], groups["pvalue"], strict=True))["group = few"] is None

    def test_dependent_draws_are_noticed(self):
        walk = np.empty((N, 99))
        walk[:, 0] = NOISE[:, 0]
        for j in range(1, 99):
            walk[:, j] = 0.9 * walk[:, j - 1] + np.sqrt(1 - 0.81) * RNG.normal(size=N)
        audit = cb.audit(Y, cb.Samples(MEAN[:, None] + walk), resamples=19)
        claim = claimed(audit, "draws")["all rows"]
        assert claim.estimate > 5
        assert notes(audit)["dependent draws"]["tau"] == claim.estimate
        assert not claimed(audit, "spread")
        assert not claimed(cb.audit(Y, ensemble(), resamples=19), "draws")

    def test_rows_far_outside_are_named(self):
        y = Y.copy()
        y[[7, 31, 200]] += 60
        audit = cb.audit(y, ensemble(), resamples=19)
        claim = claimed(audit, "outside")["all rows"]
        assert claim.row_numbers == (7, 31, 200)
        assert claim.pvalue < 0.001

    def test_sorted_draws_are_mentioned(self):
        caveats = cb.audit(Y, cb.Samples(np.sort(MEAN[:, None] + NOISE, axis=1)), resamples=19).findings.caveats
        assert any("sorted" in caveat for caveat in caveats)

    def test_ties_are_counted(self):
        y = np.round(Y)
        caveats = cb.audit(y, cb.Samples(np.round(MEAN[:, None] + NOISE)), resamples=19).findings.caveats
        ties = np.count_nonzero((np.round(MEAN[:, None] + NOISE) == y[:, None]).any(axis=1))
        assert any(f"In {ties} of {N} ranks" in caveat for caveat in caveats)

    def test_infinite_draws_have_ranks_and_no_scores(self):
        draws = MEAN[:, None] + NOISE
        draws[3, 5] = np.inf
        audit = cb.audit(Y, cb.Samples(draws), resamples=19)
        assert "crps" not in values(audit)
        assert any("some draws are infinite" in caveat for caveat in audit.findings.caveats)

    def test_weights_are_judged_by_coverage(self):
        audit = cb.audit(Y, ensemble(), weights=RNG.uniform(1, 2, N), resamples=19)
        assert "uniformity_test" not in values(audit)

    def test_a_row_of_weight_zero_is_an_absent_row(self):
        w = np.ones(N)
        w[:7] = 0
        one = cb.audit(Y, ensemble(), weights=w, covariates=MEAN, resamples=19)
        other = cb.audit(Y[7:], ensemble().take(slice(7, None)), covariates=MEAN[7:], resamples=19)
        assert one.table == other.table


class TestVectors:
    def test_right_draws(self):
        audit = cb.audit(VECTORS, cb.Samples(RIGHT), columns=["a", "b", "c"], resamples=19)
        assert audit.verdict.status != "miscalibrated"
        coordinates = audit.findings.sections[0].tables[0].columns
        assert set(coordinates["coordinate"]) == {"a", "b", "c"}
        assert {"joint_ranks.mean_distance", "joint_ranks.average"} <= set(values(audit))

    def test_wrong_dependence(self):
        audit = cb.audit(VECTORS, cb.Samples(MEANS[:, None] + NOISES), resamples=19)
        assert audit.verdict.status == "miscalibrated"
        assert "whole" in claimed(audit, "joint_ranks.average")
        assert not claimed(audit, "shift")
        assert not claimed(audit, "spread")

    def test_a_wrong_coordinate_is_named(self):
        draws = RIGHT.copy()
        draws[:, :, 1] = MEANS[:, None, 1] + 0.5 * (RIGHT[:, :, 1] - MEANS[:, None, 1])
        audit = cb.audit(VECTORS, cb.Samples(draws), columns=["a", "b", "c"], resamples=19)
        (claim,) = claimed(audit, "spread").values()
        assert (claim.subject.name, claim.kind) == ("b", "above")
        coordinates = audit.findings.sections[0].tables[0].columns
        assert coordinates["coordinate"][0] == "b"
        assert coordinates["pvalue_adjusted"][0] == claim.pvalue
        assert list(claimed(audit, "coverage")) == ["b"]

    def test_densities_take_the_place_of_distances(self):
        def log_density(x):
            z = np.linalg.solve(ROOT, (x - MEANS[:, None]).transpose(0, 2, 1))
            return -0.5 * (z**2).sum(axis=1)

        draws = cb.Samples(RIGHT, log_density=log_density(RIGHT))
        with_truth = cb.audit(VECTORS, draws, log_density_y=log_density(VECTORS[:, None])[:, 0], resamples=19)
        assert {"energy_ranks", "joint_ranks.average"} <= set(values(with_truth))
        assert "joint_ranks.mean_distance" not in values(with_truth)
        without = cb.audit(VECTORS, draws, resamples=19)
        assert "joint_ranks.mean_distance" in values(without)
        assert any("pass log_density_y=" in caveat for caveat in without.findings.caveats)

    def test_groups_and_coordinates(self):
        audit = cb.audit(VECTORS, cb.Samples(RIGHT), groups=np.arange(N) % 2, columns=list("abc"), resamples=19)
        assert len(audit.findings.groups.columns["group"]) == 6
        assert audit.verdict.status != "miscalibrated"

    def test_sixty_coordinates(self, tmp_path):
        rng = np.random.default_rng(0)
        y, draws = rng.normal(size=(80, 60)), rng.normal(size=(80, 9, 60))
        draws[:, :, 37] *= 0.3
        audit = cb.audit(y, cb.Samples(draws), resamples=19)
        assert audit.findings.sections[0].tables[0].columns["coordinate"][0] == "37"
        assert audit.to_html(tmp_path / "report.html").stat().st_size < 1_000_000


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(30, 9), (200, 19), (1500, 19)]),
    st.sampled_from([0.7, 1.0, 1.05]),
    st.sampled_from([None, 0.02, 0.1]),
    st.booleans(),
)
def test_table_and_verdict_agree(seed, size, spread, tolerance, with_covariates):
    rng = np.random.default_rng(seed)
    n, M = size
    x = rng.normal(size=n)
    draws = cb.Samples(x[:, None] + spread * rng.normal(size=(n, M)))
    covariates = x if with_covariates else None
    audit = cb.audit(rng.normal(x), draws, tolerance=tolerance, covariates=covariates, resamples=19)
    verdict, main = audit.verdict, claimed(audit, "coverage_error").get("all rows") or audit.verdict.claims[0]
    pvalues = [m.pvalue for m in audit.findings.measurements if m.decides and m.pvalue is not None]
    assert main.pvalue == values(audit)[main.test].pvalue
    assert (main.pvalue <= 0.05) == (min(pvalues) <= 0.05)
    if verdict.status == "miscalibrated":
        assert min(pvalues) <= 0.05
    if min(pvalues) <= 0.05 and tolerance is None:
        assert verdict.status == "miscalibrated" or verdict.tolerance == 0.01
    low, high = values(audit)["coverage_error"].interval
    if verdict.status == "within":
        assert high <= verdict.tolerance
    for claim in verdict.claims:
        if claim.kind in ("above", "below"):
            assert not claim.low <= claim.expected <= claim.high
    assert low <= values(audit)["coverage_error"].value <= high


@pytest.mark.parametrize("M", [1, 9, 39, 999])
def test_few_rows_have_no_words(M, refusal):
    draws = np.arange(1.0, M + 1)
    assert "one row has one rank" in refusal(cb.audit, [0.0], cb.Samples(draws[None]), error=NotApplicableError)
    few = cb.audit(np.zeros(19), cb.Samples(np.tile(draws, (19, 1))), resamples=19)
    assert (few.verdict.status, few.verdict.claims) == ("cannot tell", ())
    assert notes(few)["too few rows"] == {"n": 19, "least": 20}
    assert cb.audit(np.zeros(20), cb.Samples(np.tile(draws, (20, 1))), resamples=19).verdict.status == "miscalibrated"


def test_one_draw():
    draws = MEAN[:, None] + NOISE[:, :1]
    right, high = (cb.audit(Y, cb.Samples(draws + shift), resamples=19) for shift in (0.0, 0.5))
    assert {claim.quantity for claim in right.verdict.claims} == {"coverage_error"}
    assert "visible shift" in notes(right)
    assert {claim.quantity for claim in high.verdict.claims} == {"coverage_error", "shift"}


LOG_DENSITIES = cb.Samples(NOISE, log_density=NOISE)


class TestRefused:
    @pytest.mark.parametrize(
        ("y", "prediction", "options", "words"),
        [
            (Y, ensemble(), {"columns": ["a"]}, "names the coordinates of vectors"),
            (VECTORS, cb.Samples(RIGHT), {"columns": ["a", "a", "b"]}, "columns must be 3 different names"),
            (Y, ensemble(), {"log_density_y": MEAN}, "pass Samples(draws, log_density)"),
            (Y, LOG_DENSITIES, {"log_density_y": [0.0, 1.0, 2.0]}, "shape (400,); got shape (3,)"),
            (Y, LOG_DENSITIES, {"log_density_y": np.where(np.arange(N) == 9, np.nan, 0.0)}, "row 9 is nan"),
            (Y, ensemble(), {"covariates": [1, 2, 3]}, "expected 400 rows, got shape (3,)"),
        ],
    )
    def test_options(self, y, prediction, options, words, refusal):
        assert words in refusal(cb.audit, y, prediction, **options)

    def test_other_predictions(self, refusal):
        message = refusal(cb.audit, Y, cb.Normal(MEAN, 1.0), log_density_y=MEAN)
        assert message == "log_density_y= is for Samples; leave it out for a distribution such as Normal"


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("vectors", [False, True])
def test_the_order_of_rows_changes_nothing(rounded, vectors):
    """Ties, reference points and folds are drawn at random, but not by the place of a row."""
    y, draws = (VECTORS, RIGHT) if vectors else (Y, MEAN[:, None] + NOISE)
    y, draws = (np.round(y), np.round(draws)) if rounded else (y, draws)
    other = np.random.default_rng(0).permutation(N)
    groups = np.arange(N) % 2
    one = cb.audit(y, cb.Samples(draws), covariates=MEAN, groups=groups, resamples=19)
    two = cb.audit(y[other], cb.Samples(draws[other]), covariates=MEAN[other], groups=groups[other], resamples=19)
    assert one.verdict.headline == two.verdict.headline
    for mine, theirs in zip(one.findings.measurements, two.findings.measurements, strict=True):
        np.testing.assert_allclose(mine.value, theirs.value, rtol=1e-9, err_msg=mine.name)
        if mine.pvalue is not None:
            np.testing.assert_allclose(mine.pvalue, theirs.pvalue, rtol=1e-6, err_msg=mine.name)


def test_climatology_is_off_by_what_was_known():
    """The marginal distribution as a forecast: ranks are even, and the covariate predicts them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + 0.5 * rng.normal(size=300)
    found = cb.audit(y, cb.Samples(y[rng.integers(0, 300, (300, 19))]), covariates=x, resamples=99)
    assert found.verdict.claims[0].test == "tarp_ranks"
    assert claimed(found, "coverage")["all rows"].kind == "limits"
    assert {claim.kind for claim in found.verdict.claims if claim.subject == Subject("covariates")} == {"miscalibrated"}


class TestPairs:
    def one_pair(self, D, rho, n=300, seed=0):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(n, D))
        y[:, 1] = rho * y[:, 0] + np.sqrt(1 - rho**2) * y[:, 1]
        return y, cb.Samples(rng.normal(size=(n, 19, D)), names=[f"p{d}" for d in range(D)])

    def test_the_pair_is_a_claim_and_a_line_of_the_table(self, tmp_path):
        audit = cb.audit(*self.one_pair(3, 0.8), resamples=19)
        (claim,) = [claim for claim in audit.verdict.claims if claim.subject.kind == "pair"]
        assert (claim.kind, claim.subject.name, claim.level) == ("above", "p0 and p1", 0.95)
        assert claim.estimate == pytest.approx(0.68, abs=0.08)  # 0.79 of the outcomes, times 19/21 among 19 draws
        assert claim.pvalue == pytest.approx(4 * 0.001)
        (pairs,) = [found for section in audit.findings.sections for found in section.tables if found.name == "pairs"]
        assert pairs.columns["pair"][0] == "p0 and p1"
        assert marked(pairs, audit.verdict.claims) == ["bad", "", ""]
        assert "p0 and p1" in audit.to_html(tmp_path / "page.html").read_text(encoding="utf-8")

    def test_a_pair_that_only_its_own_test_shows_is_the_headline(self):
        verdict = cb.audit(*self.one_pair(10, 0.4, seed=1), resamples=19).verdict
        assert verdict.status == "miscalibrated"
        assert verdict.claims[0].quantity == "dependence"
        assert verdict.claims[0].subject == Subject("pair", "p0 and p1")

    def test_right_dependence_is_not_named_and_too_many_rows_are_said(self, monkeypatch):
        verdict = cb.audit(*self.one_pair(3, 0.0), resamples=19).verdict
        assert not [claim for claim in verdict.claims if claim.subject.kind == "pair"]
        monkeypatch.setattr(inspect.getmodule(is_affordable), "MAX_RANKS", 1)
        audit = cb.audit(*self.one_pair(3, 0.0), resamples=19)
        assert any("Pairs of coordinates are not compared" in caveat for caveat in audit.findings.caveats)


def test_hostile_names(tmp_path):
    """They do not become part of the page, turn the direction of writing or break a picture; formulas are read."""
    names = ["<script>alert(1)</script>", r"$\alpha_1$", "$$", "a\u202eb", "x" * 500, r"$\frac{"]
    rng = np.random.default_rng(0)
    y, draws = rng.normal(size=(60, 6)), rng.normal(size=(60, 9, 6))
    draws[..., 1] += 1.5
    covariates = {"<b>": rng.normal(size=60), "$$": rng.choice(["<i>", "\u202ex"], 60)}
    audit = cb.audit(y, cb.Samples(draws, names=names), covariates=covariates, resamples=19)
    page = audit.to_html(tmp_path / "page.html").read_text("utf-8")
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # the data of the page
    assert "<script>alert(1)" not in page
    assert "alert(1)</script>" not in shown
    assert "\u202e" not in shown + str(audit) + str(cb.explain(y, cb.Samples(draws, names=names)))
    assert "α₁" in shown
    assert r"$\alpha_1$" not in shown


def test_legends_have_the_pvalues_of_the_tables():
    audit = cb.audit(VECTORS, cb.Samples(RIGHT), columns=["a", "b", "c"], resamples=19)
    ranks, whole, *_ = audit.findings.sections
    coordinates = ranks.tables[0].columns
    adjusted = dict(zip(coordinates["coordinate"], coordinates["pvalue_adjusted"], strict=True))
    (curve,) = [figure.curve for figure in ranks.figures if figure.name == "ecdf_difference"]
    assert dict(zip(curve.names, curve.pvalue.tolist(), strict=True)) == pytest.approx(adjusted)
    (curve,) = [figure.curve for figure in whole.figures if figure.name == "joint_ranks"]
    found = [values(audit)[f"joint_ranks.{name}"].pvalue for name in ("mean_distance", "average")]
    assert curve.pvalue.tolist() == pytest.approx(found)
