import math
import re

import numpy as np
import pytest
from scipy import stats
from tests.auditing.found import values

import calibrant as cb
from calibrant.core.evidence import ALL_ROWS, Subject, note
from calibrant.judging.notes import as_text

RNG = np.random.default_rng(7)
P = RNG.random(3000)
CALIBRATED = (RNG.random(3000) < P).astype(int)
OVERCONFIDENT = (RNG.random(3000) < 0.5 + 0.6 * (P - 0.5)).astype(int)
TIMID = (RNG.random(3000) < np.clip(0.5 + 1.5 * (P - 0.5), 0, 1)).astype(int)
ROOT = {"bins": "auto", "norm": "l2", "debias": True}


def _of_groups(shift, share=0.15, n=6000):
    rng = np.random.default_rng(0)
    groups = np.where(np.arange(n) < share * n, "small", "rest")
    p = rng.uniform(0.2, 0.7, n)
    return (rng.random(n) < p + shift * (groups == "small")).astype(int), p, {"groups": groups}


def _of_classes(shift, n=2000):
    """Class 2 is predicted less often than it happens."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([4, 4, 2], n)
    y = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1)
    told = truth + shift * np.array([0.5, 0.5, -1]) * truth[:, 2:]
    return y, told, {}


def _of_intervals(width, groups=False, n=3000, **options):
    rng = np.random.default_rng(2)
    y, half = rng.normal(size=n), np.where(np.arange(n) < n / 5, width, 1.645)
    named = {"groups": np.where(np.arange(n) < n / 5, "a", "b")} if groups else {}
    return y, cb.Intervals(-half, half, 0.9), named | options


def _of_rare_events(n=10_000):
    rng = np.random.default_rng(3)
    p = rng.beta(1, 60, n)
    groups = np.where(np.arange(n) < n / 4, "a", "b")
    return (rng.random(n) < np.where(groups == "a", 2 * p, p)).astype(int), p, {"groups": groups}


def _of_draws(scale, n=600):
    rng = np.random.default_rng(4)
    groups = np.where(np.arange(n) < n / 3, "a", "b")
    y = rng.normal(size=n) * np.where(groups == "a", scale, 1.0)
    return y, cb.Samples(rng.normal(size=(n, 50))), {"groups": groups}


DESIGNS = {
    "a small group is off": lambda: _of_groups(0.16),
    "a small group is off by little": lambda: _of_groups(0.06, share=0.3),
    "groups are right": lambda: _of_groups(0.0),
    "a class is off": lambda: _of_classes(0.4),
    "a class is off by little": lambda: _of_classes(0.15),
    "some intervals are narrow": lambda: _of_intervals(1.2),
    "intervals of a group are narrow": lambda: _of_intervals(1.3, groups=True),
    "intervals of a group are wide, which is right": lambda: _of_intervals(2.5, groups=True, alternative="less"),
    "rare events": _of_rare_events,
    "draws": lambda: _of_draws(1.8),
    "calibrated draws": lambda: _of_draws(1.0),
}


@pytest.mark.usefixtures("no_power")
@pytest.mark.parametrize(
    ("design", "asked"), [*((design, None) for design in DESIGNS), ("a small group is off by little", 0.03)]
)
def test_what_is_listed_for_a_tolerance_is_what_an_audit_with_it_decides(design, asked):
    y, prediction, options = DESIGNS[design]()
    listed = cb.audit(y, prediction, **options, tolerance=asked, resamples=99).verdict.at
    assert len(listed) == (3 if asked is None else 4)
    for step in listed:
        assert step.status == cb.audit(y, prediction, **options, tolerance=step.tolerance, resamples=99).verdict.status


def keys(audit):
    return [each.key for each in audit.verdict.notes]


def test_each_measurement_is_the_one_of_its_verb():
    found = values(cb.audit(OVERCONFIDENT, P, resamples=99))
    assert found["ece"].value == pytest.approx(cb.ece(OVERCONFIDENT, P), abs=1e-12)
    assert found["brier_score"].value == pytest.approx(cb.brier_score(OVERCONFIDENT, P), rel=1e-12)
    assert found["log_score"].value == pytest.approx(cb.log_score(OVERCONFIDENT, P), rel=1e-12)
    parts, way = cb.decompose(OVERCONFIDENT, P), cb.direction(OVERCONFIDENT, P)
    assert found["decompose.mcb"].value == pytest.approx(parts.mcb, rel=1e-12)
    assert found["decompose.dsc"].value == pytest.approx(parts.dsc, rel=1e-12)
    for name in ("over", "under", "bias"):
        assert found[f"direction.{name}"].value == pytest.approx(getattr(way, name), abs=1e-12)
    for verb in (cb.kuiper_test, cb.kolmogorov_smirnov_test, cb.spiegelhalter_test):
        test, line = verb(OVERCONFIDENT, P), found[verb.__name__]
        assert line.value == pytest.approx(test.estimate, abs=1e-12)
        assert line.pvalue == pytest.approx(test.pvalue, rel=1e-6)
        assert line.details["statistic"] == pytest.approx(test.statistic, rel=1e-10)


def test_expected_values_are_those_of_the_consistency_test():
    found = values(cb.audit(CALIBRATED, P, resamples=499))
    test = cb.consistency_test(CALIBRATED, P, metric="ece", resamples=499, rng=1)
    assert found["ece"].expected == pytest.approx(test.details["expected"], rel=0.05)
    assert abs(found["ece"].pvalue - test.pvalue) < 0.12


@pytest.mark.parametrize(
    ("y", "shape", "sides"),
    [
        (OVERCONFIDENT, "over-confident", {"above", "below"}),
        (TIMID, "under-confident", {"above", "below"}),
        ((RNG.random(3000) < 0.7 * P).astype(int), "too high", {"below"}),
        ((RNG.random(3000) < 0.3 + 0.7 * P).astype(int), "too low", {"above"}),
    ],
)
def test_the_verdict_says_which_way(y, shape, sides):
    verdict = cb.audit(y, P, resamples=99).verdict
    first, *others = verdict.claims
    assert verdict.status == first.kind == "miscalibrated"
    assert (first.subject, first.quantity) == (ALL_ROWS, "rms_error")
    assert verdict.notes[0].key == shape
    ranges = [claim for claim in others if claim.subject.kind == "scores"]
    assert {claim.kind for claim in ranges} == sides
    assert all(claim.low > claim.expected or claim.high < claim.expected for claim in ranges)


def test_within_and_cannot_tell():
    verdict = cb.audit(CALIBRATED, P, resamples=99).verdict
    limits = cb.interval("ece", CALIBRATED, P, **ROOT)
    assert (verdict.status, verdict.tolerance) == ("within", 0.05)
    assert verdict.claims[0].high == pytest.approx(limits.high, rel=1e-12)
    assert verdict.claims[0].low == 0  # calibration is not rejected
    assert cb.audit(CALIBRATED, P, resamples=99, tolerance=0.02).verdict.status == "cannot tell"
    small = cb.audit(CALIBRATED[:60], P[:60], resamples=99).verdict
    assert small.status == "cannot tell"
    assert small.needed == (0.05, (2400, "rows"))  # about as for scores from 0 to 1


def test_the_size_that_one_score_can_show():
    """400 rows of score 0.5, 215 events: the test is binomial, and rejects from 21 events beyond 200 on."""
    y = (np.arange(400) < 215).astype(int)
    audit = cb.audit(y, np.full(400, 0.5), resamples=999)
    claim, threshold = audit.verdict.claims
    assert (claim.kind, claim.low) == ("cannot tell", 0)
    assert claim.estimate == pytest.approx(math.sqrt((15**2 - 100) / (400**2 - 400)))  # (Σr)² less Σr²
    assert threshold.high == pytest.approx(0.0375 + 1.959964 * 0.5 / 20, abs=2e-4)
    tail = 2 * stats.binom.cdf(185, 400, 0.5)  # 0.147
    assert claim.pvalue == pytest.approx(tail, abs=3 * math.sqrt(tail * (1 - tail) / 999))
    (said,) = (float(x) for x in re.findall(r"an error of ([\d.]+) percentage points", audit.findings.caveats[1]))
    assert 2 * stats.binom.cdf(179, 400, 0.5) < 0.05 < 2 * stats.binom.cdf(180, 400, 0.5)
    found = {e: stats.binom.sf(220, 400, 0.5 + e / 100) for e in (7.0, 8.2)}  # at least 221 events
    assert found[7.0] < 0.8 < found[8.2] < 0.9
    assert 7.0 < said < 8.2


@pytest.mark.usefixtures("no_power")
def test_the_level_of_the_verdict_is_kept():
    # at most 5 % false alarms; 60 repeats, 3 standard errors above is 13.4 %
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(60):
        p = rng.random(100)
        wrong += cb.audit(rng.random(100) < p, p, resamples=59).verdict.status == "miscalibrated"
    assert wrong <= 8


@pytest.mark.usefixtures("no_power")
def test_the_level_is_kept_with_classes_and_groups():
    # three families: at most 5 % false alarms; 40 repeats, 3 standard errors above is 15.3 %
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        P3 = rng.dirichlet(np.ones(3), 80)
        y = (rng.random((80, 1)) > P3.cumsum(axis=1)).sum(axis=1)
        wrong += cb.audit(y, P3, groups=rng.integers(0, 3, 80), resamples=59).verdict.status == "miscalibrated"
    assert wrong <= 6


def test_a_test_that_does_not_apply_is_left_out_and_named():
    audit = cb.audit([0, 1] * 30, [0.5] * 60, resamples=19)
    assert "spiegelhalter_test" not in values(audit)
    assert any("spiegelhalter_test does not apply" in caveat for caveat in audit.findings.caveats)


def test_the_smallest_error_that_is_seen_depends_on_the_level():
    said = [cb.audit(CALIBRATED, P, level=level, resamples=19).findings.caveats[-1] for level in (0.8, 0.99)]
    assert said[0] != said[1]
    assert all("4 times in 5" in sentence for sentence in said)


def test_errors_on_one_side_of_the_middle_are_not_called_extreme():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    truth = p + 0.08 * ((p > 0.1) & (p < 0.25)) - 0.08 * ((p > 0.3) & (p < 0.45))
    assert keys(cb.audit(rng.random(20_000) < truth, p, resamples=19))[0] == "both ways"


def test_caveats():
    p = np.repeat([0.0, 0.001, 1.0], 200)
    y = np.zeros(600, int)
    y[[0, 300]] = 1
    y[400:] = 1
    y[599] = 0
    caveats = cb.audit(y, p, resamples=99).findings.caveats
    assert {as_text(note("ruled out", ruled_out=2)), as_text(note("tied", n=600, unique=3))} < set(caveats)
    rare = cb.audit([0] * 99 + [1], [0.01] * 100, resamples=99, weights=[1] * 50 + [9] * 50).findings.caveats
    assert rare[0] == as_text(note("few events", rare=1, n=100, kind="events"))
    assert as_text(note("weights", n=100, effective=61)) in rare  # (50 + 450)² / (50 + 50 * 81) = 60.98


def test_classes():
    digits = cb.examples.digits()
    names = [f"digit {k}" for k in range(10)]
    audit = cb.audit([names[k] for k in digits.y], digits.P, classes=names, resamples=99)
    found = values(audit)
    assert found["ece"].value == pytest.approx(cb.ece(digits.y, digits.P), abs=1e-12)
    assert found["classes.brier_score"].value == pytest.approx(cb.brier_score(digits.y, digits.P), rel=1e-12)
    for notion in ("top-label", "classwise"):
        assert found[f"ece.{notion}"].value == pytest.approx(cb.ece(digits.y, digits.P, notion=notion), abs=1e-12)
    table = audit.findings.sections[1].tables[0]
    assert sorted(table.columns["class"]) == names
    k = names.index(table.columns["class"][0])
    y, p = cb.one_vs_rest(digits.y, digits.P, k)
    assert table.columns["rms_error"][0] == pytest.approx(cb.ece(y, p, **ROOT), abs=1e-12)
    assert table.columns["bias"][0] == pytest.approx(np.mean(y - p), abs=1e-12)
    assert table.columns["ece"][0] == pytest.approx(cb.ece(y, p), abs=1e-12)
    rms, shares, stated = (table.columns[name] for name in ("rms_error", "share_if_never", "predicted"))
    for error, share, name, mean in zip(rms, shares, table.columns["class"], stated, strict=True):
        zero = math.sqrt(np.mean(digits.P[:, names.index(name)] ** 2))
        assert share == (pytest.approx(error / zero) if mean < 0.1 else None)
    assert list(table.columns["pvalue_adjusted"]) == sorted(table.columns["pvalue_adjusted"])


def test_the_adjusted_pvalues_of_classes_that_have_one_score_each():
    """20 rows of (0.5, 0.3, 0.2) with 14, 2 and 4 labels: each class has a binomial test."""
    y, q = np.repeat([0, 1, 2], [14, 2, 4]), np.array([0.5, 0.3, 0.2])
    table = cb.audit(y, np.tile(q, (20, 1)), resamples=99).findings.sections[1].tables[0]
    assert table.columns["class"] == ("1", "0", "2")
    pvalues = [binomial_pvalues(20, share) for share in q]
    of_0, of_1 = pvalues[0][14], pvalues[1][2]
    assert (of_0, of_1, pvalues[2][4]) == pytest.approx((0.115, 0.083, 1.0), abs=5e-4)

    def one_of(classes, reached):
        """Return the probability that one of the classes, redrawn independently, has such a p-value."""
        shares = [stats.binom.pmf(np.arange(21), 20, q[k])[pvalues[k] <= reached + 1e-12].sum() for k in classes]
        return 1 - np.prod(1 - np.array(shares))

    # step by step, and twice for two families of tests: the most probable class, and each class
    adjusted = np.maximum.accumulate([one_of((0, 1, 2), of_1), one_of((0, 2), of_0), 1.0])
    error = 3 * np.sqrt(adjusted * (1 - adjusted) / 999)
    found = np.array(table.columns["pvalue_adjusted"])
    assert np.all(np.abs(found - np.minimum(1, 2 * adjusted)) <= 2 * error), (found, 2 * adjusted)


def binomial_pvalues(n, share):
    """Return for 0 to n events the probability of a number at least as far from its mean."""
    far = np.abs(np.arange(n + 1) - n * share)
    return np.array([stats.binom.pmf(np.arange(n + 1), n, share)[far >= each - 1e-9].sum() for each in far])


def test_one_class_off_is_found_though_the_top_label_is_right():
    rng = np.random.default_rng(1)
    P3 = np.tile([0.8, 0.15, 0.05], (6000, 1))
    y = rng.choice(3, p=[0.8, 0.05, 0.15], size=6000)
    verdict = cb.audit(y, P3, resamples=99).verdict
    assert verdict.status == "miscalibrated"
    shares = np.bincount(y, minlength=3) / 6000
    worst = max((1, 2), key=lambda k: abs(shares[k] - P3[0, k]))
    first, *others = verdict.claims
    assert (first.subject, first.pvalue) == (Subject("class", str(worst)), 0.002)
    assert first.estimate == pytest.approx(abs(shares[worst] - P3[0, worst]), rel=2e-3)  # one range, debiased
    bias = {claim.subject.name: claim.estimate for claim in others if claim.quantity == "bias"}
    assert bias == {str(k): pytest.approx(shares[k] - P3[0, k]) for k in (1, 2)}
    assert {(claim.subject, claim.kind) for claim in verdict.claims} == {
        (Subject("class", "2"), "miscalibrated"),
        (Subject("class", "2"), "above"),
        (Subject("class", "1"), "miscalibrated"),
        (Subject("class", "1"), "below"),
        (Subject("most probable class"), "within"),
        (Subject("most probable class"), "limits"),  # at thresholds
        (ALL_ROWS, "gain"),  # by a temperature
        (ALL_ROWS, "limits"),  # the lower limit of the calibration error that follows
    }


def test_a_group_whose_errors_cancel_is_off_and_has_no_direction():
    # 20 % and 80 % are said, 50 % happen: right on average, and at no score
    p = np.repeat([0.2, 0.8], 500)
    verdict = cb.audit(np.arange(1000) % 2, p, groups=["a"] * 1000, resamples=99).verdict
    assert [claim.kind for claim in verdict.claims if claim.subject.kind == "group"] == ["miscalibrated"]


def test_weighted_means_of_groups():
    w = np.where(np.arange(1000) < 500, 3.0, 1.0)
    y, p = np.repeat([1, 0], 500), np.full(1000, 0.5)
    claims = cb.audit(y, p, groups=["a"] * 1000, weights=w, resamples=99).verdict.claims
    of_group = {claim.quantity: claim.estimate for claim in claims if claim.subject.kind == "group"}
    assert of_group == pytest.approx({"rms_error": 0.25, "bias": 0.25}, rel=1e-2)  # 75 % observed


def test_groups_reach_the_verdict():
    group = np.where(np.arange(3000) % 10 == 0, "tail <b>", "body")
    y = np.where(group == "body", CALIBRATED, RNG.random(3000) < np.sqrt(P)).astype(int)
    audit = cb.audit(y, P, groups={"part": group}, resamples=99)
    assert audit.findings.groups.columns["group"][0] == "part = tail <b>"
    assert audit.findings.groups.columns["pvalue_adjusted"][0] <= 0.004
    error, way = (claim for claim in audit.verdict.claims if claim.subject.kind == "group")
    assert error.subject == way.subject == Subject("group", "part = tail <b>")
    assert error.estimate == audit.findings.groups.columns["rms_error"][0]
    assert way.estimate == pytest.approx(np.mean((y - P)[group != "body"]))
    calm = cb.audit(CALIBRATED, P, groups=np.arange(3000) % 2, resamples=19)
    assert note("calm", tested=2, things="groups") in calm.verdict.notes
    pairs = cb.audit(y, P, groups={"a": group, "b": P > 0.5}, intersections=2, resamples=19).findings.groups
    assert len(pairs.columns["n"]) == 8


def test_groups_follow_rows_of_weight_zero():
    w = np.ones(3000)
    w[:1000] = 0
    group = np.repeat(["gone", "here", "there"], 1000)
    table = cb.audit(CALIBRATED, P, groups=group, weights=w, resamples=99).findings.groups
    assert sorted(table.columns["group"]) == ["group = here", "group = there"]


def test_ways_to_show_it():
    audit = cb.audit(OVERCONFIDENT, P, resamples=99, names={"outcome": "<script>alert(1)</script>"})
    assert "expected calibration error" in str(audit)
    assert "<script>" not in audit._repr_html_()
    assert "Miscalibrated" in repr(audit)
    assert audit.table["name"][:4] == ["rms_error", "cutoff_error", "calibration_test", "range_error"]
    assert len({len(column) for column in audit.table.values()}) == 1


def test_an_infinite_log_score_is_kept():
    audit = cb.audit([1, 0, 1, 0], [0.0, 0.5, 0.5, 0.5], resamples=19)
    assert values(audit)["log_score"].value == math.inf
    assert audit.findings.to_dict()["sections"][0]["measurements"][-1]["value"] == "inf"


def test_certain_predictions():
    right = cb.audit([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], resamples=19)
    assert right.verdict.status != "miscalibrated"
    wrong = cb.audit([0, 1, 1, 1], [0.0, 1.0, 1.0, 0.0], resamples=19)
    assert wrong.verdict.status == "miscalibrated"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 95}, "strictly between 0 and 1"),
        ({"groups": ["a"]}, "expected 3000 rows"),
        ({"groups": {}}, "no columns"),
        ({"resamples": 5}, "at least 19"),
        ({"rng": "x"}, "rng must be"),
        ({"names": "abc"}, "names must be a mapping"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(cb.errors.InputError, match=words):
        cb.audit(CALIBRATED, P, **options)


def test_refusals_of_predictions():
    for option, value in {"calibration_size": 100, "alternative": "less"}.items():
        with pytest.raises(cb.errors.InputError, match=f"{option}= is for Intervals and Sets"):
            cb.audit(CALIBRATED, P, **{option: value})
    with pytest.raises(cb.errors.InputError, match="pit_histogram"):
        cb.audit(None, cb.CdfValues([0.2]))
