"""The audit of intervals: what it measures, what it says, and what it can see."""

import numpy as np
import pytest
from scipy import stats
from tests.auditing.found import notes, values

import calibrant as cb
from calibrant.auditing.interval import interval
from calibrant.core.evidence import ALL_ROWS, Subject, note
from calibrant.core.findings import Setting
from calibrant.inputs.rows import QuantileRows
from calibrant.judging.notes import as_text
from calibrant.regions.coverage_test import coverage_test, multinomial_coverage_test
from calibrant.regions.evidence import smallest_seen
from calibrant.regions.hits import HitTable
from calibrant.regions.hsic import coverage_hsic_test
from calibrant.regions.lines import Rule, central_table, level_lines
from calibrant.regions.sizes import size_stratified_coverage
from calibrant.regions.width import width
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

RNG = np.random.default_rng(5)
N = 2000
STD = RNG.uniform(1, 3, N)
Y = RNG.normal(0, STD)
LEVEL = Subject("intervals", level=0.9)
Z = {0.5: 0.6744897501960817, 0.9: 1.6448536269514722}


def intervals(factor, level=0.9, std=STD):
    return cb.Intervals(-factor * Z[level] * std, factor * Z[level] * std, level)


def claimed(verdict):
    """Return what is claimed of each subject."""
    return {(claim.subject, claim.quantity): claim.kind for claim in verdict.claims}


def hits(k, n, level=0.9, widths=2.0):
    """Return k outcomes inside and n - k outside."""
    y = np.where(np.arange(n) < k, 0.0, 9.0)
    half = np.broadcast_to(np.asarray(widths) / 2, (n,))
    return y, cb.Intervals(-half, half, level)


class TestMeasurements:
    def test_each_is_the_one_of_its_verb(self):
        predicted = intervals(0.9)
        found = values(cb.audit(Y, predicted, resamples=19))
        covered, test = interval(cb.coverage, Y, predicted), coverage_test(Y, predicted)
        assert found["coverage"].value == covered.estimate
        # two families, all rows and widths or places: limits at 97.5 %, and twice the p-value
        half = interval(cb.coverage, Y, predicted, level=0.975)
        assert found["coverage"].interval == pytest.approx((half.low, half.high), rel=1e-12)
        assert found["coverage"].expected == 0.9
        assert found["coverage"].pvalue == pytest.approx(2 * test.pvalue)
        assert found["coverage"].details["pvalue_unadjusted"] == test.pvalue
        assert found["width"].value == pytest.approx(width(predicted), rel=1e-12)
        assert found["width.finite_fraction"].value == 1
        assert found["interval_score"].value == pytest.approx(interval_score(Y, predicted), rel=1e-12)
        score = interval(interval_score, Y, predicted)
        assert found["interval_score"].interval == pytest.approx((score.low, score.high), rel=1e-12)
        assert found["size_stratified_coverage"].value == size_stratified_coverage(Y, predicted)
        hsic = coverage_hsic_test(Y, predicted, resamples=19)
        assert found["coverage_hsic"].value == pytest.approx(hsic.statistic, rel=1e-9)
        assert abs(found["coverage_hsic"].pvalue - hsic.pvalue) < 0.2
        assert found["skce_test"].pvalue == cb.skce_test(Y, predicted, resamples=19).pvalue

    def test_several_levels(self):
        predicted = cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])
        audit = cb.audit(Y, predicted, resamples=19)
        found = values(audit)
        for k, level in enumerate((0.5, 0.9)):
            assert found[f"coverage.{level}"].value == cb.coverage(Y, predicted)[k]
            raw = coverage_test(Y, predicted.at(level)).pvalue
            assert found[f"coverage.{level}"].details["pvalue_unadjusted"] == raw
            # three tests, of two levels and of both together, in each of two families
            assert found[f"coverage.{level}"].pvalue == pytest.approx(min(1, 6 * raw))
        joint = multinomial_coverage_test(Y, predicted)
        assert found["multinomial_coverage_test"].pvalue == pytest.approx(min(1, 6 * joint.pvalue))
        assert audit.findings.sections[0].tables == ()
        sizes = audit.findings.sections[1].tables[0]
        assert sizes.columns["nominal"] == (0.5,) * 3 + (0.9,) * 3
        # what levels have each is named by the level
        for k, level in enumerate((0.5, 0.9)):
            one = interval(interval_score, Y, predicted.at(level))
            assert found[f"interval_score.{level}"].value == pytest.approx(one.estimate, rel=1e-12)
            assert found[f"interval_score.{level}"].interval == pytest.approx((one.low, one.high), rel=1e-12)
            assert found[f"width.{level}"].value == pytest.approx(width(predicted)[k], rel=1e-12)
            assert found[f"width.finite_fraction.{level}"].value == 1
            lowest = size_stratified_coverage(Y, predicted.at(level))
            assert found[f"size_stratified_coverage.{level}"].value == lowest
            hsic = coverage_hsic_test(Y, predicted.at(level), resamples=19)
            assert found[f"coverage_hsic.{level}"].value == pytest.approx(hsic.statistic, rel=1e-9)
            assert abs(found[f"coverage_hsic.{level}"].pvalue - hsic.pvalue) < 0.2
        assert found["width.0.9"].label == "90 % intervals: mean width"
        assert found["interval_score.0.5"].label == "50 % intervals: interval score"
        assert not {"width", "interval_score", "coverage_hsic", "size_stratified_coverage"} & set(found)

    def test_infinite_widths_of_a_level(self):
        upper = np.column_stack([Z[0.5] * STD, np.where(np.arange(N) % 4 == 0, np.inf, Z[0.9] * STD)])
        found = values(cb.audit(Y, cb.Intervals(-np.abs(upper.clip(max=9)), upper, [0.5, 0.9]), resamples=19))
        assert (found["width.finite_fraction.0.5"].value, found["width.finite_fraction.0.9"].value) == (1, 0.75)
        assert np.isfinite([found["width.median.0.5"].value, found["interval_score.0.5"].value]).all()
        assert found["interval_score.0.9"].value == np.inf

    def test_more_than_nine_levels_are_in_a_table(self):
        levels = np.arange(1, 12) / 12
        predicted = cb.Normal(np.zeros(N), STD).interval(levels)
        audit = cb.audit(Y, predicted, resamples=19)
        assert not any(name.startswith(("coverage.", "width", "interval_score")) for name in values(audit))
        coverage, table = audit.findings.sections[0].tables
        assert coverage.columns["nominal"] == table.columns["nominal"] == tuple(levels)
        assert table.columns["mean width"] == pytest.approx(tuple(width(predicted)), rel=1e-12)
        assert table.columns["interval score"] == pytest.approx(interval_score(Y, predicted))
        assert table.columns["HSIC"] == pytest.approx(cb.regions.coverage_hsic(Y, predicted))

    def test_infinite_widths(self):
        lower = np.where(np.arange(N) % 4 == 0, -np.inf, -Z[0.9] * STD)
        audit = cb.audit(Y, cb.Intervals(lower, Z[0.9] * STD, 0.9), resamples=19)
        found = values(audit)
        assert found["width.finite_fraction"].value == 0.75
        assert np.isfinite(found["width.median"].value)
        assert found["interval_score"].value == np.inf
        assert "skce_test" not in found
        caveats = " ".join(audit.findings.caveats)
        assert as_text(note("one-sided", share=0.25)) in caveats
        assert as_text(note("no bound", share=0.25)) not in caveats
        assert "skce_test does not apply" in caveats
        both = cb.audit(Y, cb.Intervals(lower, -lower, 0.9), resamples=19).findings.caveats
        assert as_text(note("no bound", share=0.25)) in both
        assert as_text(note("one-sided", share=0.25)) not in both


class TestVerdict:
    def test_too_narrow_and_too_wide(self):
        y, predicted = hits(840, 1000)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert verdict.status == "miscalibrated"
        of_level, whole = verdict.claims
        # Clopper-Pearson, half of 5 % for a family
        low, high = stats.beta.ppf([0.0125, 0.9875], [840, 841], [161, 160])
        assert (of_level.kind, of_level.subject, of_level.quantity) == ("below", LEVEL, "coverage")
        assert (of_level.estimate, of_level.low, of_level.high) == pytest.approx((0.84, low, high))
        assert (whole.kind, whole.subject, whole.quantity) == ("miscalibrated", ALL_ROWS, "coverage_error")
        assert (whole.estimate, whole.low, whole.high) == pytest.approx((0.06, 0.9 - high, 0.9 - low))
        y, predicted = hits(970, 1000)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert (verdict.status, verdict.claims[0].kind) == ("miscalibrated", "above")

    @pytest.mark.parametrize(
        ("k", "n", "tolerance", "status", "found"),
        [
            (905, 1000, None, "within", 0.05),
            (90_200, 100_000, None, "within", 0.01),
            (89_600, 100_000, None, "within", 0.01),
            (27, 30, None, "cannot tell", None),
            (905, 1000, 0.05, "within", 0.05),
            (905, 1000, 0.01, "cannot tell", 0.01),
            (840, 1000, 0.02, "miscalibrated", 0.02),
            (870, 1000, 0.02, "cannot tell", 0.02),  # rejected, but the limits contain 0.88
        ],
    )
    def test_three_outcomes(self, k, n, tolerance, status, found):
        y, predicted = hits(k, n)
        verdict = cb.audit(y, predicted, tolerance=tolerance, resamples=19).verdict
        assert (verdict.status, verdict.tolerance) == (status, found)
        total = next(claim for claim in verdict.claims if claim.quantity == "coverage_error")
        assert (total.kind, total.tolerance) == (status, found)
        if k == 89_600:  # detectable
            assert verdict.claims[0].kind == "below"
            assert verdict.claims[0].pvalue < 0.001

    def test_cannot_tell_says_how_many_rows_it_would_take(self):
        verdict = cb.audit(*hits(27, 30), resamples=19).verdict
        assert verdict.needed == (0.05, (480, "rows"))  # checked by simulation in tests/regions/test_evidence.py

    def test_of_several_levels_the_worst_is_named(self):
        audit = cb.audit(Y, cb.Normal(np.zeros(N), 0.8 * STD).interval([0.5, 0.8, 0.9]), resamples=19)
        assert audit.verdict.status == "miscalibrated"
        claims = audit.verdict.claims
        levels = [claim for claim in claims if claim.subject.kind == "intervals" and not claim.subject.part]
        assert [(claim.kind, claim.subject.level) for claim in levels] == [("below", c) for c in (0.8, 0.5, 0.9)]
        assert claims[0] == levels[0] == min(levels, key=lambda claim: claim.pvalue)

    def test_widths_that_do_not_follow_the_difficulty(self):
        # half the rows are hard; all intervals together cover 90 %, the narrow ones too much
        n = 2000
        half = np.arange(n) < n // 2
        y = np.where(np.arange(n) % 100 < np.where(half, 98, 82), 0.0, 9.0)
        widths = np.where(half, 2.0, 3.0)
        audit = cb.audit(y, cb.Intervals(-widths / 2, widths / 2, 0.9), resamples=19)
        assert audit.verdict.status == "miscalibrated"
        first, *_ = audit.verdict.claims  # too low a coverage is worse
        wide, narrow = (Subject("intervals", str(width), 0.9, "width", width, width) for width in (3, 2))
        assert (first.subject, first.estimate) == (wide, 0.82)
        assert claimed(audit.verdict) == {
            (wide, "coverage"): "below",
            (narrow, "coverage"): "above",
            (LEVEL, "coverage"): "limits",
            (ALL_ROWS, "coverage_error"): "within",
        }
        assert values(audit)["coverage"].pvalue > 0.5

    def test_groups(self):
        y, predicted = hits(900, 1000)
        order = np.random.default_rng(0).permutation(1000)
        y, group = y[order], np.where(order < 820, "good", "bad")  # 100 of the bad 180 are missed
        audit = cb.audit(y, predicted, groups={"part": group}, resamples=19)
        table = audit.findings.groups
        assert table.columns["group"] == ("part = bad", "part = good")
        assert table.columns["coverage"] == (pytest.approx(80 / 180), 1.0)
        assert audit.verdict.status == "miscalibrated"
        assert audit.verdict.claims[0].subject == Subject("group", "part = bad")
        kinds = {subject.name: kind for (subject, _), kind in claimed(audit.verdict).items() if subject.kind == "group"}
        assert kinds == {"part = bad": "below", "part = good": "above"}
        # two groups, and three families
        worst = coverage_test(y[group == "bad"], predicted.take(group == "bad")).pvalue
        assert table.columns["pvalue_adjusted"][0] == pytest.approx(6 * worst)
        low, high = stats.beta.ppf([0.05 / 12, 1 - 0.05 / 12], [80, 81], [101, 100])
        assert table.columns["interval"][0] == pytest.approx((low, high))
        assert "allow for all of them together and for 3 families" in table.note

    def test_groups_and_levels_and_intersections(self):
        group = {"a": np.arange(N) % 2, "b": np.arange(N) % 3}
        predicted = cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])
        table = cb.audit(Y, predicted, groups=group, intersections=2, resamples=19).findings.groups
        assert table.length == 2 * (2 + 3 + 6)
        assert set(table.columns["nominal"]) == {0.5, 0.9}

    def test_unequal_weights_have_no_test(self):
        w = np.where(np.arange(N) % 2, 1.0, 2.0)
        audit = cb.audit(Y, intervals(0.5), weights=w, groups=np.arange(N) % 2, resamples=19)
        assert audit.verdict.status == "cannot tell"
        assert "weighted coverage" in notes(audit.verdict)
        assert values(audit)["coverage"].pvalue is None
        assert values(audit)["coverage"].method == "wilson limits"
        assert not values(audit)["coverage"].decides
        (claim,) = audit.verdict.claims
        assert (claim.kind, claim.level, claim.subject) == ("description", None, LEVEL)
        assert claim.estimate == values(audit)["coverage"].value
        assert values(audit)["coverage"].value == cb.coverage(Y, intervals(0.5), weights=w)

    def test_a_common_weight_changes_nothing(self):
        one, three = (cb.audit(Y, intervals(1), weights=w, resamples=19) for w in (None, np.full(N, 3.0)))
        assert one.verdict == three.verdict

    def test_a_conformal_predictor_with_few_scores(self):
        # 860 of 1000 where 900 are wanted is far off for a promise, but not for one with 50 calibration scores
        y, predicted = hits(860, 1000)
        assert cb.audit(y, predicted, resamples=19).verdict.status == "miscalibrated"
        audit = cb.audit(y, predicted, calibration_size=50, resamples=19)
        assert audit.verdict.status == "cannot tell"
        raw = values(audit)["coverage"].details["pvalue_unadjusted"]
        assert raw == pytest.approx(coverage_test(y, predicted, calibration_size=50).pvalue)
        assert "allow for a calibration set of 50 scores" in " ".join(audit.findings.caveats)
        method = values(audit)["coverage"].method
        assert method.startswith("clopper-pearson limits; p-value beta-binomial, 50 calibration scores, too low")

    def test_the_calibration_set_is_named_where_it_limits(self):
        y, predicted = hits(167_800, 200_000)
        verdict = cb.audit(y, predicted, calibration_size=100, resamples=19).verdict
        assert verdict.status == "cannot tell"
        assert notes(verdict)["calibration set"] == {"m": 100}
        few = cb.audit(*hits(27, 30), calibration_size=1000, resamples=19).verdict
        assert few.needed is not None
        assert "calibration set" not in notes(few)

    def test_advice_fits_what_was_done(self):
        y, predicted = hits(700, 1000)
        without, with_set = (cb.audit(y, predicted, calibration_size=m, resamples=19).verdict for m in (None, 500))
        assert without.status == with_set.status == "miscalibrated"
        assert "conformal" in notes(without)
        assert "conformal" not in notes(with_set)

    def test_the_test_of_groups_of_a_conformal_predictor(self):
        y, predicted = hits(860, 1000)
        for size, start in ((None, "Binomial test of each group;"), (50, "Beta-binomial test of each group;")):
            audit = cb.audit(y, predicted, groups=np.arange(1000) % 2, calibration_size=size, resamples=19)
            assert audit.findings.groups.note.startswith(start)


class TestWhatIsSeen:
    @pytest.mark.parametrize(("n", "level"), [(50, 0.99), (200, 0.9), (1000, 0.5)])
    def test_the_test_finds_that_shortfall_four_times_in_five(self, n, level):
        seen = smallest_seen(n, level, 0.05, None)
        k = np.arange(n + 1)
        p = np.minimum(1, 2 * np.minimum(stats.binom.cdf(k, n, level), stats.binom.sf(k - 1, n, level)))
        rejected = (p < 0.05) & (k < n * level)
        assert stats.binom.pmf(k, n, level - seen)[rejected].sum() == pytest.approx(0.8, abs=1e-9)

    def test_nothing_is_seen_in_a_few_rows(self):
        # all five missed has probability 0.5**5 > 0.025
        assert smallest_seen(5, 0.5, 0.05, None) is None
        assert cb.audit(*hits(2, 3, 0.5), resamples=19).verdict.status == "cannot tell"


class TestCounts:
    """Exact quantiles of counts cover more than their levels; nothing on the page may speak against them."""

    mean = np.exp(RNG.normal(1, 0.5, 500))
    y = RNG.poisson(mean)
    levels = np.array([0.05, 0.25, 0.75, 0.95])
    quantiles = stats.poisson.ppf(levels, mean[:, None])

    @pytest.mark.parametrize("kind", ["quantiles", "intervals"])
    def test_no_evidence_contradicts_the_verdict(self, kind):
        q = self.quantiles
        made = cb.Quantiles(q, self.levels)
        if kind == "intervals":
            made = cb.Intervals(q[:, [0, 1]], q[:, [3, 2]], [0.9, 0.5])
        audit = cb.audit(self.y, made)
        assert audit.verdict.status == "within"
        found = values(audit)
        assert found["skce_test"].pvalue is None
        assert "more coverage than the level is right here" in found["skce_test"].method
        assert all(m.pvalue is None or m.pvalue > 0.05 for m in found.values())
        assert all(m.at_least for m in found.values() if m.expected is not None)
        assert "≥ 0.9" in str(audit)

    def test_what_must_equal_its_level_says_so(self):
        found = values(cb.audit(Y, intervals(1.0)))
        assert found["skce_test"].pvalue is not None
        assert not found["coverage"].at_least


def test_intervals_without_bounds_are_not_a_fault():
    """They cover every outcome; the others have the right coverage, and one-sided ones are judged."""
    made = intervals(1.0)
    unbounded = np.arange(N) < 200
    lower, upper = np.where(unbounded, -np.inf, made.lower[:, 0]), np.where(unbounded, np.inf, made.upper[:, 0])
    audit = cb.audit(Y, cb.Intervals(lower, upper, 0.9), resamples=99)
    assert not [claim for claim in audit.verdict.claims if claim.subject.part == "width"]
    lines = next(table for section in audit.findings.sections for table in section.tables if table.name == "sizes")
    assert [p is None for p in lines.columns["pvalue_adjusted"]] == [w == "inf" for w in lines.columns["width"]]
    wrong = cb.Intervals(np.where(unbounded, -np.inf, made.lower[:, 0]), np.where(unbounded, 99.0, upper), 0.9)
    assert [claim.subject.name for claim in cb.audit(Y, wrong, resamples=99).verdict.claims if claim.subject.part]


def test_sets_have_no_place():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), 400)
    y = (rng.random((400, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=3)
    found = cb.audit(y, cb.Sets(P > 0.15, 0.6), resamples=99).verdict
    assert notes(found)["calm"]["things"] == "sizes"


def test_predictions_that_are_all_equal_are_said_to_be_so():
    """The refusal of the kernel test names an option that its verb has."""
    caveats = cb.audit(Y[:400], intervals(1.0, std=np.ones(400))).findings.caveats
    (caveat,) = [text for text in caveats if "skce_test" in text]
    assert "the predictions are the same in all 400 rows" in caveat
    assert "kernel=Exponential(1.0)" in caveat
    assert "lengthscale" not in caveat


class TestShown:
    def test_plot_draws_the_curves(self, plt):
        audit = cb.audit(Y, intervals(1), resamples=19)
        (sizes,) = (figure.curve for section in audit.findings.sections for figure in section.figures)
        assert sizes.count.sum() == N
        both = cb.audit(Y, cb.Normal(np.zeros(N), STD).interval([0.5, 0.9]), resamples=19)
        coverage = both.findings.sections[0].figures[0].curve
        assert coverage.coverage.tolist() == cb.coverage(Y, cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])).tolist()
        titles = [ax.get_title() for ax in both.plot().axes]
        assert titles[0] == "Nominal against observed coverage"
        assert titles[1].startswith("Coverage by width, level")

    def test_one_width_needs_no_picture(self):
        y, predicted = hits(90, 100)
        audit = cb.audit(y, predicted, resamples=19)
        assert all(section.figures == () for section in audit.findings.sections)
        assert "calm" not in notes(audit.verdict)

    def test_constant_widths_at_several_levels_have_no_picture(self):
        y = np.random.default_rng(0).normal(size=300)
        audit = cb.audit(y, cb.Normal(np.zeros(300), 1.0).interval([0.5, 0.9]), resamples=19)
        assert audit.findings.sections[1].figures == ()
        assert audit.findings.sections[1].tables == ()


class TestAgreement:
    """The verdict and the tables never contradict each other."""

    @pytest.mark.parametrize("seed", range(24))
    def test_what_decides_is_what_the_verdict_says(self, seed):
        rng = np.random.default_rng(seed)
        n, levels = int(rng.choice([60, 400, 1500])), [[0.9], [0.5, 0.9]][seed % 2]
        std = rng.uniform(1, 2, n)
        factor = rng.choice([0.8, 0.95, 1.0, 1.1])
        m = [None, 300][seed % 3 == 0]
        predicted = cb.Normal(np.zeros(n), factor * std).interval(levels)
        audit = cb.audit(rng.normal(0, std), predicted, calibration_size=m, resamples=19)
        deciding = [line.pvalue for line in audit.findings.measurements if line.decides]
        tables = {table.name: table for section in audit.findings.sections for table in section.tables}
        by_size = tables["sizes"].columns["pvalue_adjusted"]
        claims = audit.verdict.claims
        whole = next(claim for claim in claims if claim.subject == ALL_ROWS)
        assert whole.pvalue == pytest.approx(min(deciding))
        named = {claim.pvalue for claim in claims if claim.kind in ("below", "above") and claim.subject.part == "width"}
        assert named == {p for p in by_size if p < 0.05}
        if audit.verdict.status == "miscalibrated":
            assert min([*deciding, *by_size]) < 0.05
        elif audit.verdict.tolerance != 0.01:
            assert min([*deciding, *by_size]) >= 0.05

    @pytest.mark.parametrize("m", [None, 300])
    def test_other_p_values_are_marked(self, m):
        audit = cb.audit(Y, intervals(1), calibration_size=m, resamples=19)
        for line in audit.findings.measurements:
            if line.pvalue is not None and not line.decides:
                assert line.method.endswith("not part of the verdict")
        skce = values(audit)["skce_test"]
        assert (skce.pvalue is None) == (m is not None)
        assert ("cannot allow for the calibration set" in skce.method) == (m is not None)
        assert values(audit)["coverage_hsic"].pvalue is not None  # its permutations keep the number of hits


def test_a_calibration_set_has_rows(refusal):
    assert "calibration_size" in refusal(cb.audit, Y, intervals(1), calibration_size=0)


def test_levels_that_are_exchanged_are_told():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    lower, upper = np.tile([-1.96, -1.28], (200, 1)), np.tile([1.96, 1.28], (200, 1))
    caveats = cb.audit(y, cb.Intervals(lower, upper, [0.8, 0.95]), resamples=19).findings.caveats
    assert any("In 200 of 200 rows a prediction of a lower level reaches beyond" in caveat for caveat in caveats)


N_SETS, K = 2000, 5


def exact(rng, share=0.9):
    """Return sets of one to three labels that hold the outcome with one probability, whatever their size."""
    size = rng.integers(1, 4, N_SETS)
    order = rng.permuted(np.tile(np.arange(K), (N_SETS, 1)), axis=1)
    mask = np.zeros((N_SETS, K), bool)
    np.put_along_axis(mask, order, np.arange(K) < size[:, None], axis=1)
    held = rng.random(N_SETS) < share
    place = np.where(held, rng.integers(0, size), rng.integers(size, K))
    return order[np.arange(N_SETS), place], mask


Y_SETS, MASK = exact(np.random.default_rng(2))


def test_each_measurement_is_the_one_of_its_verb():
    sets = cb.Sets(MASK, 0.9)
    found = values(cb.audit(Y_SETS, sets, resamples=19))
    assert found["coverage"].value == cb.coverage(Y_SETS, sets)
    raw = coverage_test(Y_SETS, sets, alternative="less").pvalue
    assert found["coverage"].details["pvalue_unadjusted"] == pytest.approx(min(1, 2 * raw))
    assert found["width"].value == width(sets)
    assert found["width.empty_fraction"].value == 0
    assert found["width.singleton_fraction"].value == width(sets, statistic="singleton_fraction")


def test_right_sets():
    verdict = cb.audit(Y_SETS, cb.Sets(MASK, 0.9), groups=np.arange(N_SETS) % 4, resamples=19).verdict
    assert verdict.status == "within"
    assert [each.values for each in verdict.notes if each.key == "calm"] == [
        {"tested": 3, "things": "sizes"},
        {"tested": 4, "things": "groups"},
    ]


def test_sets_promise_at_least_their_level():
    y, mask = exact(np.random.default_rng(3), 0.8)
    low = cb.audit(y, cb.Sets(mask, 0.9), resamples=19).verdict
    assert (low.status, low.claims[0].kind) == ("miscalibrated", "below")
    y, mask = exact(np.random.default_rng(4), 0.86)  # 86 % is no surprise after 50 calibration scores
    few = [cb.audit(y, cb.Sets(mask, 0.9), calibration_size=m, resamples=19).verdict.status for m in (None, 50)]
    assert few == ["miscalibrated", "cannot tell"]
    y, mask = exact(np.random.default_rng(3), 0.97)
    high = cb.audit(y, cb.Sets(mask, 0.9), resamples=19).verdict
    assert (high.status, high.tolerance) == ("within", 0.01)
    assert (high.claims[1].kind, high.claims[1].level) == ("description", None)
    both = cb.audit(y, cb.Sets(mask, 0.9), alternative="two-sided", resamples=19).verdict
    assert (both.status, both.claims[0].kind) == ("miscalibrated", "above")


def test_only_too_low_a_coverage_counts_by_size_and_in_groups():
    # sets of one label always cover, sets of three cover 80 %
    size = np.repeat([1, 3], 1000)
    mask = np.arange(K) < size[:, None]
    y = np.where(np.arange(2000) % 1000 < np.where(size == 1, 1000, 800), 0, 4)
    audit = cb.audit(y, cb.Sets(mask, 0.9), groups=size, resamples=19)
    sizes = audit.findings.sections[1].tables[0]
    assert sizes.columns["size"] == ("1", "3")
    assert sizes.columns["pvalue_adjusted"][0] == 1
    assert sizes.columns["pvalue_adjusted"][1] < 1e-6
    assert {(claim.subject.kind, claim.subject.name, claim.kind) for claim in audit.verdict.claims} == {
        ("sets", "3", "below"),
        ("sets", "", "limits"),
        ("all rows", "", "within"),
        ("group", "group = 3", "below"),
    }


def test_labels_are_shown_and_not_judged():
    # the rare label is never in a set; 900 of 1000 outcomes are held
    mask = np.tile([True, True, False], (1000, 1))
    y = np.repeat([0, 1, 2], [500, 400, 100])
    audit = cb.audit(y, cb.Sets(mask, 0.9), resamples=19)
    assert audit.verdict.status == "within"
    table = audit.findings.sections[2].tables[0]
    assert table.columns["label"] == ("2", "0", "1")
    assert table.columns["coverage"] == (0, 1, 1)
    assert "pvalue" not in table.columns


def test_labels_have_names_and_are_sorted_within_each_level():
    both, names = np.stack([MASK, np.ones_like(MASK)], axis=2), ["a", "b", "c", "d", "e"]
    audit = cb.audit([names[k] for k in Y_SETS], cb.Sets(both, [0.9, 0.99]), classes=names, resamples=19)
    columns = audit.findings.sections[2].tables[0].columns
    assert columns["nominal"] == (0.9,) * 5 + (0.99,) * 5
    assert list(columns["coverage"][:5]) == sorted(columns["coverage"][:5])
    assert sorted(columns["label"][:5]) == names


def test_sets_without_a_level():
    audit = cb.audit(Y_SETS, cb.Sets(MASK), groups=np.arange(N_SETS) % 2, resamples=19)
    assert audit.verdict.status == "cannot tell"
    assert "no level" in notes(audit.verdict)
    (claim,) = audit.verdict.claims
    assert (claim.kind, claim.subject) == ("description", Subject("sets"))
    assert claim.estimate == cb.coverage(Y_SETS, cb.Sets(MASK))
    assert values(audit)["coverage"].pvalue is None
    assert "skce_test" not in values(audit)


def test_several_levels():
    both = np.stack([MASK, np.ones_like(MASK)], axis=2)
    audit = cb.audit(Y_SETS, cb.Sets(both, [0.9, 0.99]), resamples=19)
    assert values(audit)["coverage.0.99"].value == 1
    found = values(audit)
    assert (found["width.0.9"].value, found["width.0.99"].value) == tuple(width(cb.Sets(both, [0.9, 0.99])))
    assert found["width.singleton_fraction.0.99"].value == 0
    assert found["size_stratified_coverage.0.99"].value == 1
    assert audit.findings.sections[0].tables == ()


RNG_QUANTILES = np.random.default_rng(6)
N_QUANTILES = 3000
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
MEAN, STD_QUANTILES = RNG_QUANTILES.normal(0, 2, N_QUANTILES), RNG_QUANTILES.uniform(1, 3, N_QUANTILES)
Y_QUANTILES = RNG_QUANTILES.normal(MEAN, STD_QUANTILES)


def quantiles(shift=0.0, factor=1.0, levels=LEVELS):
    return cb.Normal(MEAN + shift, factor * STD_QUANTILES).quantiles(levels)


def test_each_measurement_is_the_one_of_its_verb_quantiles():
    predicted = quantiles()
    audit = cb.audit(Y_QUANTILES, predicted, resamples=19)
    found = values(audit)
    for k, level in enumerate(LEVELS):
        assert found[f"coverage.{level}"].value == cb.coverage(Y_QUANTILES, predicted)[k]
        raw = coverage_test(Y_QUANTILES, predicted.at(level)).pvalue
        assert found[f"coverage.{level}"].details["pvalue_unadjusted"] == pytest.approx(raw)
        # five quantiles, two central intervals, and all levels together
        assert found[f"coverage.{level}"].pvalue == pytest.approx(min(1, 8 * raw))
    joint = multinomial_coverage_test(Y_QUANTILES, predicted).pvalue
    assert found["multinomial_coverage_test"].details["pvalue_unadjusted"] == pytest.approx(joint)
    score, by_level = weighted_interval_score(Y_QUANTILES, predicted), quantile_score(Y_QUANTILES, predicted)
    assert found["weighted_interval_score"].value == pytest.approx(score, rel=1e-12)
    for k, level in enumerate(LEVELS):
        assert found[f"quantile_score.{level}"].value == pytest.approx(by_level[k], rel=1e-12)
        assert found[f"quantile_score.{level}"].interval is not None
    parts = cb.decompose(Y_QUANTILES, predicted)
    assert found["decompose.mcb"].value == pytest.approx(parts.wis.mcb, rel=1e-12)
    scores = audit.findings.sections[0].tables[1]
    assert scores.columns["quantile score"] == pytest.approx(quantile_score(Y_QUANTILES, predicted))
    assert scores.columns["miscalibration"] == pytest.approx(tuple(parts.mcb), rel=1e-12)


def test_central_intervals_are_those_between_the_quantiles():
    predicted = quantiles(factor=0.9)
    table = cb.audit(Y_QUANTILES, predicted, resamples=19).findings.sections[0].tables[0]
    central = predicted.intervals()
    assert table.columns["nominal"] == (0.5, 0.9)
    columns = (table.columns[name] for name in ("nominal", "coverage", "pvalue_adjusted"))
    for level, coverage, p in zip(*columns, strict=True):
        assert coverage == pytest.approx(cb.coverage(Y_QUANTILES, central.at(level)), abs=1e-12)
        raw = coverage_test(Y_QUANTILES, central.at(level)).pvalue
        assert p == pytest.approx(min(1, 8 * raw), rel=1e-9)


def test_central_intervals_of_weighted_rows():
    w = np.where(np.arange(N_QUANTILES) % 2, 1.0, 3.0)
    predicted = quantiles()
    table = HitTable.of(QuantileRows(Y_QUANTILES, predicted, w))
    curve = level_lines(central_table(table), Setting(0.95, 19, np.random.default_rng(0)), Rule(), tests=2).curve
    expected = [cb.coverage(Y_QUANTILES, predicted.intervals().at(level), weights=w) for level in (0.5, 0.9)]
    assert curve.coverage == pytest.approx(expected, abs=1e-12)
    assert np.isnan(curve.pvalue).all()


def test_a_shift_and_a_scale():
    low = cb.audit(Y_QUANTILES, quantiles(shift=-0.4), resamples=19).verdict
    assert low.status == "miscalibrated"
    assert {claim.kind for claim in low.claims if claim.quantity == "share_below"} == {"below"}
    narrow = cb.audit(Y_QUANTILES, quantiles(factor=0.8), resamples=19).verdict
    first, *_ = narrow.claims
    assert (first.kind, first.subject) == ("below", Subject("central intervals", level=0.9))
    assert {claim.kind for claim in narrow.claims if claim.quantity == "share_below"} == {"above", "limits", "below"}
    assert "recalibrate" in notes(narrow)


def test_right_quantiles():
    verdict = cb.audit(Y_QUANTILES, quantiles(), resamples=19).verdict
    assert (verdict.status, verdict.tolerance) == ("within", 0.05)
    error = verdict.claims[0]
    assert (error.subject, error.quantity, error.low) == (ALL_ROWS, "coverage_error", 0)  # calibration is not rejected


def test_outcomes_that_lie_on_quantiles():
    # y is 0 or 1 with probability 1/2; every quantile up to 1/2 is 0 and above 1. Only the median looks off
    y = np.repeat([0.0, 1.0], 500)
    predicted = cb.Quantiles(np.tile([0.0, 0.0, 1.0], (1000, 1)), [0.25, 0.5, 0.75])
    audit = cb.audit(y, predicted, resamples=19)
    assert audit.verdict.status != "miscalibrated"
    assert "multinomial_coverage_test" not in values(audit)
    assert any("lie on a quantile" in caveat for caveat in audit.findings.caveats)
    wrong = cb.audit(y, cb.Quantiles(np.zeros((1000, 3)), [0.25, 0.5, 0.75]), resamples=19)
    assert wrong.verdict.status == "miscalibrated"
    assert (wrong.verdict.claims[0].subject, wrong.verdict.claims[0].estimate) == (Subject("quantile", level=0.75), 0.5)


def test_one_level():
    given = Y_QUANTILES, quantiles(levels=0.9)
    found = values(cb.audit(*given, resamples=19))
    assert found["coverage"].value == cb.coverage(*given)
    assert found["quantile_score"].value == pytest.approx(quantile_score(*given))
    assert found["decompose.mcb"].value == pytest.approx(cb.decompose(*given).mcb, rel=1e-12)


def test_levels_that_do_not_mirror():
    audit = cb.audit(Y_QUANTILES, quantiles(levels=[0.5, 0.6, 0.9]), resamples=19)
    assert "weighted_interval_score" not in values(audit)
    assert "central" not in [table.name for table in audit.findings.sections[0].tables]


@pytest.fixture(scope="module")
def of_19_levels():
    predicted = quantiles(levels=np.arange(1, 20) / 20)
    return cb.audit(Y_QUANTILES, predicted, groups=np.arange(N_QUANTILES) % 2, resamples=19)


def test_groups_have_at_most_five_levels(of_19_levels):
    groups = of_19_levels.findings.groups
    assert groups.length == 2 * 5
    assert sorted(set(groups.columns["nominal"])) == pytest.approx([0.05, 0.25, 0.5, 0.75, 0.95], abs=0.051)
    assert notes(of_19_levels.verdict)["calm"] == {"tested": 2, "things": "groups"}


@pytest.mark.parametrize(("prediction", "highest"), [(quantiles(), 0.95), (cb.Normal(MEAN, STD_QUANTILES), 0.975)])
def test_groups_that_are_off(prediction, highest):
    group = np.where(np.arange(N_QUANTILES) % 3 == 0, "high", "rest")
    y = np.where(group == "high", MEAN + 9 * STD_QUANTILES, Y_QUANTILES)
    claims = cb.audit(y, prediction, groups=group, resamples=19).verdict.claims
    off = [claim for claim in claims if claim.subject.kind == "group"]
    assert {(claim.subject.name, claim.kind, claim.estimate) for claim in off} == {("group = high", "below", 0.0)}
    assert max(claim.expected for claim in off) == highest


@pytest.mark.parametrize(("levels", "bins"), [(LEVELS, 4), (np.arange(1, 20) / 20, 10), ([0.1, 0.5, 0.9], None)])
def test_histograms_use_bins_that_quantiles_can_tell_apart(levels, bins):
    figures = cb.audit(Y_QUANTILES, quantiles(levels=levels), resamples=19).findings.sections[0].figures
    shown = {figure.name: figure for figure in figures}
    if bins is None:
        assert "pit_histogram" not in shown
    else:
        assert len(shown["pit_histogram"].curve.share) == bins


def test_infinite_quantiles():
    high = quantiles().values.copy()
    high[:10, -1] = np.inf
    audit = cb.audit(Y_QUANTILES, cb.Quantiles(high, LEVELS), resamples=19)
    assert "decompose.mcb" not in values(audit)
    assert "left out" in " ".join(audit.findings.caveats)


def test_pictures_stay_small(of_19_levels):
    audit = of_19_levels
    names = {figure.name: figure.curve for figure in audit.findings.sections[0].figures}
    assert set(names) == {"coverage", "quantile_reliability", "pit_histogram"}
    assert len(names["quantile_reliability"].forecast) <= 1000
    assert len(np.unique(names["quantile_reliability"].level)) == 5
    assert names["pit_histogram"].share.sum() == pytest.approx(1)


def test_advice_where_only_rows_of_one_size_are_off():
    y, inside = np.zeros(2000, int), np.ones((2000, 3), bool)
    inside[:400, 1:] = False  # sets of one label, of which a quarter miss
    inside[:100] = [False, True, False]
    inside[400:500] = [False, True, True]  # 90 % of all rows are covered
    verdict = cb.audit(y, cb.Sets(inside, level=0.9), calibration_size=2000).verdict
    assert verdict.status == "miscalibrated"
    beyond = {"beyond": ["the predictions", "these sizes"]}
    assert notes(verdict) == {"conformal parts": {"size": "size"}, "average": beyond}
