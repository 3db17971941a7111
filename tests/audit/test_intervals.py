"""The audit of intervals: what it measures, what it says, and what it can see."""

import json

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.audit.coverage import smallest_seen, tied_pvalue
from calibrant.audit.coverage_words import shares_apart
from calibrant.inference.coverage_test import coverage_test
from calibrant.inference.interval import interval
from calibrant.metrics.interval_score import interval_score
from calibrant.metrics.size_stratified_coverage import size_stratified_coverage
from calibrant.metrics.width import width

RNG = np.random.default_rng(5)
N = 2000
STD = RNG.uniform(1, 3, N)
Y = RNG.normal(0, STD)
Z = {0.5: 0.6744897501960817, 0.9: 1.6448536269514722}


def intervals(factor, level=0.9, std=STD):
    return cb.Intervals(-factor * Z[level] * std, factor * Z[level] * std, level)


def values(audit):
    return {m.name: m for m in audit.findings.measurements}


def hits(k, n, level=0.9, widths=2.0):
    """Return k outcomes inside and n - k outside."""
    y = np.where(np.arange(n) < k, 0.0, 9.0)
    half = np.broadcast_to(np.asarray(widths) / 2, (n,))
    return y, cb.Intervals(-half, half, level)


class TestMeasurements:
    def test_each_is_the_one_of_its_verb(self):
        predicted = intervals(0.9)
        found = values(cb.audit(Y, predicted, resamples=99))
        covered, test = interval(cb.coverage, Y, predicted), coverage_test(Y, predicted)
        assert found["coverage"].value == covered.estimate
        assert found["coverage"].interval == (covered.low, covered.high)
        assert found["coverage"].expected == 0.9
        assert found["coverage"].pvalue == test.pvalue
        assert found["width"].value == pytest.approx(width(predicted), rel=1e-12)
        assert found["width.finite_fraction"].value == 1
        assert found["interval_score"].value == pytest.approx(interval_score(Y, predicted), rel=1e-12)
        score = interval(interval_score, Y, predicted)
        assert found["interval_score"].interval == pytest.approx((score.low, score.high), rel=1e-12)
        assert found["size_stratified_coverage"].value == size_stratified_coverage(Y, predicted)
        hsic = coverage_test(Y, predicted, method="hsic", resamples=99)
        assert found["coverage_hsic"].value == pytest.approx(hsic.statistic, rel=1e-9)
        assert abs(found["coverage_hsic"].pvalue - hsic.pvalue) < 0.2
        assert found["skce_test"].pvalue == cb.skce_test(Y, predicted, resamples=99).pvalue

    def test_several_levels(self):
        predicted = cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])
        audit = cb.audit(Y, predicted, resamples=99)
        found = values(audit)
        for k, level in enumerate((0.5, 0.9)):
            assert found[f"coverage.{level}"].value == cb.coverage(Y, predicted)[k]
            assert found[f"coverage.{level}"].pvalue == coverage_test(Y, predicted.at(level)).pvalue
        joint = coverage_test(Y, predicted, method="joint")
        assert found["coverage_test.joint"].pvalue == joint.pvalue
        assert audit.findings.sections[0].tables == ()
        sizes = audit.findings.sections[1].tables[0]
        assert sizes.columns["nominal"] == (0.5,) * 3 + (0.9,) * 3

    def test_what_several_levels_have_each_is_named_by_the_level(self):
        predicted = cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])
        found = values(cb.audit(Y, predicted, resamples=99))
        for k, level in enumerate((0.5, 0.9)):
            one = interval(interval_score, Y, predicted.at(level))
            assert found[f"interval_score.{level}"].value == pytest.approx(one.estimate, rel=1e-12)
            assert found[f"interval_score.{level}"].interval == pytest.approx((one.low, one.high), rel=1e-12)
            assert found[f"width.{level}"].value == pytest.approx(width(predicted)[k], rel=1e-12)
            assert found[f"width.finite_fraction.{level}"].value == 1
            lowest = size_stratified_coverage(Y, predicted.at(level))
            assert found[f"size_stratified_coverage.{level}"].value == lowest
            hsic = coverage_test(Y, predicted.at(level), method="hsic", resamples=99)
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
        audit = cb.audit(Y, predicted, resamples=99)
        assert not any(name.startswith(("coverage.", "width", "interval_score")) for name in values(audit))
        coverage, table = audit.findings.sections[0].tables
        assert coverage.columns["nominal"] == table.columns["nominal"] == tuple(levels)
        assert table.columns["mean width"] == pytest.approx(tuple(width(predicted)), rel=1e-12)
        assert table.columns["interval score"] == pytest.approx(interval_score(Y, predicted))
        assert table.columns["HSIC"] == pytest.approx(cb.coverage_hsic(Y, predicted))

    def test_infinite_widths(self):
        lower = np.where(np.arange(N) % 4 == 0, -np.inf, -Z[0.9] * STD)
        audit = cb.audit(Y, cb.Intervals(lower, Z[0.9] * STD, 0.9), resamples=99)
        found = values(audit)
        assert found["width.finite_fraction"].value == 0.75
        assert np.isfinite(found["width.median"].value)
        assert found["interval_score"].value == np.inf
        assert "skce_test" not in found
        caveats = " ".join(audit.findings.caveats)
        assert "25 % of the intervals are infinite" in caveats
        assert "skce_test does not apply" in caveats


class TestVerdict:
    def test_too_narrow_and_too_wide(self):
        y, predicted = hits(840, 1000)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert verdict.status == "miscalibrated"
        assert verdict.sentences[0] == (
            "The 90 % intervals hold 84 % of the outcomes (95 % confidence: 82 % to 86 %): they are too narrow."
        )
        y, predicted = hits(970, 1000)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert verdict.status == "miscalibrated"
        assert verdict.sentences[0].endswith("they are wider than they need to be.")

    def test_no_evidence_and_cannot_tell(self):
        y, predicted = hits(905, 1000)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert verdict.status == "no evidence"
        assert "not proof" in verdict.sentences[1]
        y, predicted = hits(27, 30)
        verdict = cb.audit(y, predicted, resamples=19).verdict
        assert verdict.status == "cannot tell"
        assert "collect about" in verdict.sentences[1]

    def test_the_p_value_is_that_of_two_families(self):
        # 880 of 1000 at level 0.9: the exact p-value, times two for the levels and the widths
        y, predicted = hits(880, 1000)
        p = 2 * stats.binom.cdf(880, 1000, 0.9)
        assert f"p = {2 * p:.3f}" in cb.audit(y, predicted, resamples=19).verdict.headline

    def test_of_several_levels_the_worst_is_named(self):
        audit = cb.audit(Y, cb.Normal(np.zeros(N), 0.8 * STD).interval([0.5, 0.8, 0.9]), resamples=99)
        assert audit.verdict.status == "miscalibrated"
        assert "they are too narrow" in audit.verdict.sentences[0]
        assert audit.verdict.sentences[1] == "3 of 3 levels are off by more than chance, all too narrow."

    def test_widths_that_do_not_follow_the_difficulty(self):
        # half the rows are hard; all intervals together cover 90 %, the narrow ones too much
        n = 2000
        half = np.arange(n) < n // 2
        y = np.where(np.arange(n) % 100 < np.where(half, 98, 82), 0.0, 9.0)
        widths = np.where(half, 2.0, 3.0)
        audit = cb.audit(y, cb.Intervals(-widths / 2, widths / 2, 0.9), resamples=99)
        assert audit.verdict.status == "miscalibrated"
        assert audit.verdict.headline.startswith("Some of these predictions")
        assert "hold 98 % of the outcomes, not 90 % (1,000 rows)" in audit.verdict.sentences[0]
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
        assert audit.verdict.sentences[-1] == (
            "2 of 2 groups are off by more than chance: part = bad (covers 44 %, below 90 %); "
            "part = good (covers 100 %, above 90 %)."
        )
        # Holm: the smaller of two p-values is multiplied by two
        worst = coverage_test(y[group == "bad"], predicted.take(group == "bad")).pvalue
        assert table.columns["pvalue_adjusted"][0] == pytest.approx(2 * worst)

    def test_groups_and_levels_and_intersections(self):
        group = {"a": np.arange(N) % 2, "b": np.arange(N) % 3}
        predicted = cb.Normal(np.zeros(N), STD).interval([0.5, 0.9])
        table = cb.audit(Y, predicted, groups=group, intersections=2, resamples=19).findings.groups
        assert table.length == 2 * (2 + 3 + 6)
        assert set(table.columns["nominal"]) == {0.5, 0.9}

    def test_groups_follow_rows_of_weight_zero(self):
        w = np.r_[np.zeros(500), np.ones(1500)]
        group = np.repeat(["gone", "a", "b", "c"], 500)
        table = cb.audit(Y, intervals(1), groups=group, weights=w, resamples=19).findings.groups
        assert sorted(table.columns["group"]) == ["group = a", "group = b", "group = c"]

    def test_unequal_weights_have_no_test(self):
        w = np.where(np.arange(N) % 2, 1.0, 2.0)
        audit = cb.audit(Y, intervals(0.5), weights=w, groups=np.arange(N) % 2, resamples=19)
        assert audit.verdict.status == "cannot tell"
        assert "Weights are unequal" in audit.verdict.headline
        assert values(audit)["coverage"].pvalue is None
        assert values(audit)["coverage"].method == "wilson intervals"
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
        assert values(audit)["coverage"].pvalue == coverage_test(y, predicted, calibration_size=50).pvalue
        assert "allow for a calibration set of 50 scores" in " ".join(audit.findings.caveats)
        method = values(audit)["coverage"].method
        assert method == "clopper-pearson intervals; beta-binomial p-values for 50 calibration scores"
        assert values(cb.audit(y, predicted, resamples=19))["coverage"].method.endswith("; binomial p-values")

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

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_rows(self, n):
        assert cb.audit(*hits(n, n), resamples=19).verdict.status == "cannot tell"

    def test_outcomes_on_the_edge(self):
        # without any the two-sided binomial test; with all of them on the edge nothing speaks against
        assert float(tied_pvalue(3, 3, 4, 0.5)) == 0.625
        assert float(tied_pvalue(100, 0, 100, 0.5)) == 1

    def test_shares_are_told_apart(self):
        assert shares_apart(0.9, 0.8993, 0.8987, 0.8999) == ["89.93 %", "89.87 %", "89.99 %"]


class TestShown:
    def test_text_html_json(self, tmp_path):
        audit = cb.audit(Y, cb.Normal(np.zeros(N), STD).interval([0.5, 0.9]), groups=np.arange(N) % 3, resamples=19)
        assert all(len(line) <= 88 for line in str(audit).splitlines())
        page = audit.to_html(tmp_path / "a.html").read_text()
        assert "Prediction intervals" in page
        assert "Coverage of 90\u00a0% intervals" in page or "Coverage of 90 % intervals" in page
        found = json.loads(audit.to_json(tmp_path / "a.json").read_text())
        assert found["kind"] == "intervals"
        assert found == json.loads(json.dumps(audit.findings.to_dict()))
        assert "coverage of 50 % intervals" in audit._repr_html_()

    def test_plot_draws_the_curves(self):
        import matplotlib.pyplot as plt

        audit = cb.audit(Y, intervals(1), resamples=19)
        coverage, sizes = (figure.curve for section in audit.findings.sections for figure in section.figures)
        assert coverage.coverage.tolist() == [cb.coverage(Y, intervals(1))]
        assert sizes.count.sum() == N
        canvas = audit.plot()
        assert [ax.get_title() for ax in canvas.axes] == ["Nominal against observed coverage", "Coverage by width"]
        plt.close(canvas)

    def test_one_width_needs_no_picture(self):
        y, predicted = hits(90, 100)
        audit = cb.audit(y, predicted, resamples=19)
        assert audit.findings.sections[1].figures == ()
        assert not any("like width" in sentence for sentence in audit.verdict.sentences)

    def test_same_in_any_order(self):
        order = np.random.default_rng(1).permutation(N)
        one = cb.audit(Y, intervals(1), groups=np.arange(N) % 3, resamples=19)
        other = cb.audit(Y[order], intervals(1).take(order), groups=(np.arange(N) % 3)[order], resamples=19)
        assert one.verdict == other.verdict
        for name in ("coverage", "width", "interval_score", "size_stratified_coverage", "coverage_hsic"):
            assert values(one)[name].value == pytest.approx(values(other)[name].value, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": [0, 1]}, "classes= is for labels"),
        ({"pos_label": 1}, "pos_label= is for labels"),
        ({"calibration_size": 0}, "calibration_size"),
        ({"groups": ["a"]}, "expected 2000 rows"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(cb.InputError, match=words):
        cb.audit(Y, intervals(1), **options)


def test_calibration_size_is_for_intervals_and_sets():
    with pytest.raises(cb.InputError, match="calibration_size= is for Intervals and Sets"):
        cb.audit([0, 1], [0.2, 0.7], calibration_size=100)


def test_cdf_values_are_refused_with_advice():
    with pytest.raises(cb.InputError, match="pit_histogram"):
        cb.audit(None, cb.CdfValues([0.2]))


def test_levels_that_are_exchanged_are_told():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    lower, upper = np.tile([-1.96, -1.28], (200, 1)), np.tile([1.96, 1.28], (200, 1))
    caveats = cb.audit(y, cb.Intervals(lower, upper, [0.8, 0.95]), resamples=99).findings.caveats
    assert any("In 200 of 200 rows a prediction of a lower level reaches beyond" in caveat for caveat in caveats)
