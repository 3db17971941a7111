"""The audit of quantile forecasts."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.audit.coverage import central_lines
from calibrant.audit.sections import Setting
from calibrant.inference.coverage_test import coverage_test
from calibrant.inputs.judged import QuantileRows
from calibrant.metrics.quantile_score import quantile_score
from calibrant.metrics.weighted_interval_score import weighted_interval_score
from calibrant.summaries.hit_table import HitTable

RNG = np.random.default_rng(6)
N = 3000
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
MEAN, STD = RNG.normal(0, 2, N), RNG.uniform(1, 3, N)
Y = RNG.normal(MEAN, STD)


def quantiles(shift=0.0, factor=1.0, levels=LEVELS):
    return cb.Normal(MEAN + shift, factor * STD).quantiles(levels)


def values(audit):
    return {m.name: m for m in audit.findings.measurements}


def test_each_measurement_is_the_one_of_its_verb():
    predicted = quantiles()
    audit = cb.audit(Y, predicted, resamples=99)
    found = values(audit)
    for k, level in enumerate(LEVELS):
        assert found[f"coverage.{level}"].value == cb.coverage(Y, predicted)[k]
        assert found[f"coverage.{level}"].pvalue == pytest.approx(coverage_test(Y, predicted.at(level)).pvalue)
    assert found["coverage_test.joint"].pvalue == coverage_test(Y, predicted, method="joint").pvalue
    assert found["weighted_interval_score"].value == pytest.approx(weighted_interval_score(Y, predicted), rel=1e-12)
    for k, level in enumerate(LEVELS):
        assert found[f"quantile_score.{level}"].value == pytest.approx(quantile_score(Y, predicted)[k], rel=1e-12)
        assert found[f"quantile_score.{level}"].interval is not None
    parts = cb.decompose(Y, predicted)
    assert found["decompose.mcb"].value == pytest.approx(parts.wis.mcb, rel=1e-12)
    scores = audit.findings.sections[0].tables[1]
    assert scores.columns["quantile score"] == pytest.approx(quantile_score(Y, predicted))
    assert scores.columns["miscalibration"] == pytest.approx(tuple(parts.mcb), rel=1e-12)


def test_central_intervals_are_those_between_the_quantiles():
    predicted = quantiles(factor=0.9)
    table = cb.audit(Y, predicted, resamples=19).findings.sections[0].tables[0]
    central = predicted.intervals()
    assert table.columns["nominal"] == (0.5, 0.9)
    for level, coverage, p in zip(*(table.columns[name] for name in ("nominal", "coverage", "pvalue")), strict=True):
        assert coverage == pytest.approx(cb.coverage(Y, central.at(level)), abs=1e-12)
        assert p == pytest.approx(coverage_test(Y, central.at(level)).pvalue, rel=1e-9)


def test_central_intervals_of_weighted_rows():
    w = np.where(np.arange(N) % 2, 1.0, 3.0)
    predicted = quantiles()
    table = HitTable.of(QuantileRows(Y, predicted, w))
    curve = central_lines(table, Setting(0.95, 19, np.random.default_rng(0)))
    expected = [cb.coverage(Y, predicted.intervals().at(level), weights=w) for level in (0.5, 0.9)]
    assert curve.coverage == pytest.approx(expected, abs=1e-12)
    assert np.isnan(curve.pvalue).all()


def test_a_shift_and_a_scale():
    low = cb.audit(Y, quantiles(shift=-0.4), resamples=99).verdict
    assert low.status == "miscalibrated"
    assert any("do not exceed the 50 % quantile" in s and s.endswith("it is too low.") for s in low.sentences)
    narrow = cb.audit(Y, quantiles(factor=0.8), resamples=99).verdict
    assert narrow.sentences[0].startswith("The central 90 % intervals hold")
    assert narrow.sentences[0].endswith("they are too narrow.")
    assert not any("quantile (" in sentence for sentence in narrow.sentences)  # both tails are off: no shift
    assert "off the weighted interval score" in narrow.sentences[-1]


def test_right_quantiles():
    verdict = cb.audit(Y, quantiles(), resamples=99).verdict
    assert verdict.status == "no evidence"
    assert "the largest gap of all levels" in verdict.sentences[0]


def test_outcomes_that_lie_on_quantiles():
    # y is 0 or 1 with probability 1/2; every quantile up to 1/2 is 0 and above 1. Only the median looks off
    y = np.repeat([0.0, 1.0], 500)
    predicted = cb.Quantiles(np.tile([0.0, 0.0, 1.0], (1000, 1)), [0.25, 0.5, 0.75])
    audit = cb.audit(y, predicted, resamples=19)
    assert audit.verdict.status != "miscalibrated"
    assert "coverage_test.joint" not in values(audit)
    assert any("lie on a quantile" in caveat for caveat in audit.findings.caveats)
    wrong = cb.audit(y, cb.Quantiles(np.zeros((1000, 3)), [0.25, 0.5, 0.75]), resamples=19)
    assert wrong.verdict.status == "miscalibrated"
    assert "50 % of the outcomes do not exceed the 75 % quantile" in wrong.verdict.sentences[0]


def test_one_level():
    audit = cb.audit(Y, quantiles(levels=0.9), resamples=19)
    found = values(audit)
    assert found["coverage"].value == cb.coverage(Y, quantiles(levels=0.9))
    assert found["quantile_score"].value == pytest.approx(quantile_score(Y, quantiles(levels=0.9)))
    assert found["decompose.mcb"].value == pytest.approx(cb.decompose(Y, quantiles(levels=0.9)).mcb, rel=1e-12)


def test_levels_that_do_not_mirror():
    audit = cb.audit(Y, quantiles(levels=[0.5, 0.6, 0.9]), resamples=19)
    assert "weighted_interval_score" not in values(audit)
    assert "central" not in [table.name for table in audit.findings.sections[0].tables]


def test_groups_have_at_most_five_levels():
    predicted = quantiles(levels=np.arange(1, 20) / 20)
    audit = cb.audit(Y, predicted, groups=np.arange(N) % 2, resamples=19)
    assert audit.findings.groups.length == 2 * 5
    assert sorted(set(audit.findings.groups.columns["nominal"])) == pytest.approx(
        [0.05, 0.25, 0.5, 0.75, 0.95], abs=0.051
    )
    assert "None of 2 groups" in audit.verdict.sentences[-1]


@pytest.mark.parametrize(("prediction", "highest"), [(quantiles(), "95 %"), (cb.Normal(MEAN, STD), "97.5 %")])
def test_groups_that_are_off(prediction, highest):
    group = np.where(np.arange(N) % 3 == 0, "high", "rest")
    y = np.where(group == "high", MEAN + 9 * STD, Y)
    sentence = cb.audit(y, prediction, groups=group, resamples=19).verdict.sentences[-1]
    assert sentence == (
        f"1 of 2 groups is off by more than chance: group = high (0 % up to the {highest} quantile, too few)."
    )


def test_infinite_quantiles():
    high = quantiles().values.copy()
    high[:10, -1] = np.inf
    audit = cb.audit(Y, cb.Quantiles(high, LEVELS), resamples=19)
    assert "decompose.mcb" not in values(audit)
    assert "left out" in " ".join(audit.findings.caveats)


def test_pictures_stay_small(tmp_path):
    audit = cb.audit(Y, quantiles(levels=np.arange(1, 20) / 20), resamples=19)
    names = {figure.name: figure.curve for figure in audit.findings.sections[0].figures}
    assert set(names) == {"coverage", "quantile_reliability", "pit_histogram"}
    assert len(names["quantile_reliability"].forecast) <= 1000
    assert len(np.unique(names["quantile_reliability"].level)) == 5
    assert names["pit_histogram"].share.sum() == pytest.approx(1)
    assert all(len(line) <= 88 for line in str(audit).splitlines())
    assert "Quantile forecasts" in audit.to_html(tmp_path / "a.html").read_text()
