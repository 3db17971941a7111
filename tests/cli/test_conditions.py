"""The grammar of --fail-if, and how conditions are judged."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant.cli.conditions import judge, read_condition
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS
from calibrant.core.findings import Measurement, Section, Verdict
from calibrant.errors import InputError

MEASUREMENTS = (
    Measurement("ece", "expected calibration error", 0.05, expected=0.01, interval=(0.04, 0.06), pvalue=0.001),
    Measurement("cutoff_error", "cutoff error", 0.04),
    Measurement("kuiper_test", "Kuiper", 0.1, pvalue=1e-9, details={"statistic": 3.5, "low": 7.0}),
    Measurement("decompose.mcb", "miscalibration", 0.0),
    Measurement("log_score", "log score", float("inf")),
    Measurement("mce", "largest error", float("nan")),
    Measurement("mmd.run 2", "MMD of a set", 0.25, pvalue=0.5),
    Measurement("mmd.lr=0.1", "MMD of a set", 0.125),
)


def audited_plans(y, prediction, rows, **options):
    """Return the findings of an audit of plans a, b, ... of so many rows each."""
    plan = np.repeat(list("abcdef"[: len(rows)]), rows)
    return cb.audit(y, prediction, groups={"plan": plan}, resamples=19, **options).findings


def outcomes(*events_of):
    """Return 1 for the first events and 0 for the other rows, given pairs (events, rows)."""
    return np.concatenate([np.arange(rows) < events for events, rows in events_of]).astype(int)


@pytest.fixture(scope="module")
def measured():
    """Return the results of an audit with three groups, and in it the measurements above.

    All scores are 0.5. The frequency of events is 0.6 in plan b (400 rows), 0.7 in plan a (20 rows), 0.5 in plan c.
    """
    found = audited_plans(outcomes((14, 20), (240, 400), (50, 100)), np.full(520, 0.5), (20, 400, 100))
    section = Section("probabilities", "Probabilities", "", MEASUREMENTS)
    claim = Claim("cannot tell", ALL_ROWS, "cutoff_error", 0.04, 0.01, 0.055, 0.95)
    verdict = Verdict("cannot tell", "Too few rows.", (claim,))
    return replace(found, verdict=verdict, sections=(section,)).to_dict()


def results(*measurements, kind="binary", status="cannot tell"):
    return {"kind": kind, "verdict": {"status": status}, "sections": [{"measurements": measurements}]}


def judged(text, found):
    (outcome,) = judge([read_condition(text)], found)
    return outcome


JUDGED = [
    ("ece > 0.05", False, "0.05"),
    ("ece >= 0.05", True, "0.05"),
    ("ece=.05", True, "0.05"),
    ("  ece  !=  5e-2  ", False, "0.05"),
    ("ece.value<1", True, "0.05"),
    ("ece.expected <= 0.01", True, "0.01"),
    ("ece.low < 0.05", True, "0.04"),
    ("kuiper_test.pvalue < 0.01", True, "1e-09"),
    ("kuiper_test.statistic == 3.5", True, "3.5"),
    ("kuiper_test.low > 6", True, "7"),
    ("decompose.mcb < -1", False, "0"),
    ("decompose.mcb.value < +1", True, "0"),
    ('"mmd.run 2" > 0.2', True, "0.25"),
    ("'mmd.run 2.pvalue'<0.1", False, "0.5"),
    ('"mmd.lr=0.1" = 0.125', True, "0.125"),
    ('"ece" > 0.9', False, "0.05"),
    ("ece.excess > 0.02", True, "0.04"),
    ("cutoff_error.high > 0.05", True, "0.055"),
    # the root of (40² - 100)/(400² - 400)
    ("worst_group.estimate > 0.05", True, "0.09695, plan = b"),
    ("worst_group.rms_error > 0.9", False, "0.09695, plan = b"),
    # that of interval(ece, bins="auto", norm="l2", debias=True) at level 1 - 0.05/6: two families, three groups
    ("worst_group.low > 0.02", True, "0.03371, plan = b"),
    ("worst_group.n > 400", False, "400, plan = b"),
    ("worst_group.bias < 0", False, "0.1, plan = b"),
    ('"groups.plan = a.estimate" > 0.15', True, "0.2, plan = a"),
    ('"groups.plan = c.pvalue" < 0.01', False, "1, plan = c"),
    ("groups.plan.a.estimate > 0.15", True, "0.2, plan = a"),
    ("groups.plan=a.bias>.15", True, "0.2, plan = a"),
    ("max(groups.plan.estimate) > 0.3", False, "0.2, plan = a"),
    ("min(groups.plan.n) < 100", True, "20, plan = a"),
    ("kuiper_test[pvalue] < 0.01", True, "1e-09"),
    ("log_score > 1e300", True, "inf"),
]


def test_judged(measured):
    outcomes = judge([read_condition(text) for text, _, _ in JUDGED], measured)
    found = [(text, one.failed, one.value_text) for (text, _, _), one in zip(JUDGED, outcomes, strict=True)]
    assert found == JUDGED


def test_line(measured):
    texts = ("ece=.05", " ece  !=  5e-2  ", "groups.plan = a.estimate > 0.15", "kuiper_test.low > 6")
    assert [outcome.line for outcome in judge([read_condition(text) for text in texts], measured)] == [
        "FAILED  ece = 0.05  (fails if = 0.05)",
        "passed  ece = 0.05  (fails if != 0.05)",
        "FAILED  groups.plan = a.estimate = 0.2, plan = a  (fails if > 0.15)",
        "FAILED  kuiper_test.low = 7  (fails if > 6)",
    ]
    close = judged("ece > 0.05", results({"name": "ece", "value": 0.05000001}))
    assert close.line == "FAILED  ece = 0.05000001  (fails if > 0.05)"


@pytest.mark.parametrize(
    ("text", "kind", "status", "failed"),
    [
        ("different", "points", "different", True),
        ("different", "points", "cannot tell", False),
        (" cannot  tell ", "points", "cannot tell", True),
        ("miscalibrated", "binary", "within", False),
        ("within", "sets", "within", True),
        ("verdict = miscalibrated", "binary", "miscalibrated", True),
        ("different", "comparison", "within", False),
        ("verdict != within", "binary", "cannot tell", True),
        ("verdict!='within'", "binary", "within", False),
        ("verdict.status==within", "binary", "within", True),
        ('verdict == "cannot  tell"', "binary", "within", False),
    ],
)
def test_verdicts(text, kind, status, failed):
    outcome = judged(text, results(kind=kind, status=status))
    assert (outcome.failed, outcome.found.value) == (failed, status)


def test_verdicts_that_cannot_be(refuses):
    cases = [
        ("different", "binary", "within", "cannot be 'different'; it is one of miscalibrated, within, cannot tell"),
        ("verdict != calibrated", "binary", "within", "cannot be 'calibrated'; it is one of miscalibrated, within, c"),
        ("no evidence", "binary", "within", "cannot be 'no evidence'; it is one of miscalibrated, within, cannot t"),
        ("within", "binary", "no evidence", "'no evidence', is one of an older calibrant; make them again"),
        ("miscalibrated", "points", "different", "cannot be 'miscalibrated'; it is one of different, copies, no"),
        ("different", "points", "no truth", "there is no verdict that could be 'different', as there are no real"),
    ]
    refuses(lambda text, kind, status: judged(text, results(kind=kind, status=status)), cases)


def test_what_is_no_condition(refuses):
    texts = ("", "ece", "ece >", "> 1", "ece > x", "ece > nan", "ece => 1", "ece >> 1", "1 < ece < 2", "ece > 1_0")
    cases = [(text, f"--fail-if {text!r} is not a condition; write ") for text in texts]
    infinite = "compares with an infinite number; give a finite threshold"
    cases += [(text, infinite) for text in ("ece > 1e999", "ece < -1e999")]
    cases += [("ece > ece.expected + 0.02", "write 'ece.excess > 0.02', the excess over what chance gives")]
    refuses(read_condition, cases)


NOT_MEASURED = [
    ("ecce > 1", "nothing called 'ecce' was measured. Did you mean 'ece'? There are ece, cutoff_error,"),
    ("kuiper_tst.pvalue > 1", "Did you mean 'kuiper_test.pvalue'?"),
    ("frob > 1", "nothing called 'frob' was measured. There are ece, "),
    ("ece.statistic > 1", "ece has no field 'statistic' here; it has 'value', 'expected', 'pvalue'"),
    ("decompose.mcb.pvalue > 1", "decompose.mcb has no field 'pvalue' here; it has 'value'"),
    ("mce > 0", "mce has no value in these results, so it cannot be checked"),
    ("decompose > 1", "there are several of decompose; say which one: decompose.mcb"),
    ("mmd > 1", "there are several of mmd; say which one: mmd.run 2, mmd.lr.0.1"),
    ("mmd.pvalue > 1", "there are several of mmd.pvalue; say which one: mmd.run 2.pvalue"),
    ("ece.__class__ > 1", "ece has no field '__class__' here"),
    ("ece > 1", "'ece > 1' can never be true: ece lies between 0 and 1"),
    ("ece.low > 5", "can never be true: ece.low lies between 0 and 1; for percentage points write 0.05"),
    ("kuiper_test.pvalue < 0", "'kuiper_test.pvalue < 0' can never be true: kuiper_test.pvalue lies between"),
    ("worst_group.pvalue > 1", "can never be true: worst_group.pvalue lies between 0 and 1"),
    ("groups.plan.a.ece > 0.05", "Write 'groups.plan.a.estimate > 0.05'"),
    ("groups.plan.a > 0.05", "Write 'groups.plan.a.estimate > 0.05'"),
    ("max(groups.plan.ece) > 0.05", "Write 'max(groups.plan.estimate) > 0.05'"),
    ("worst_group.frob > 1", "worst_group has no field 'frob' here; it has 'n', 'predicted', 'bias', 'bias_low', "),
    (
        '"groups.plan = d.estimate" > .1',
        ["no group 'plan.d'; groups are 'plan = c', ", "Write 'groups.plan."],
    ),
    ("groups.plan.d.ece > 0.05", ".estimate > 0.05'"),
    ("groups.b.bias > 0.05", "Write 'groups.plan.b.bias > 0.05'"),
    ("plan.b.bias > 0.05", "Write 'groups.plan.b.bias > 0.05'"),
    ("b.bias > 0.05", "Write 'groups.plan.b.bias > 0.05'"),
]


def test_what_was_not_measured(measured, refuses, refusal):
    refuses(lambda text: judged(text, measured), NOT_MEASURED)
    message = refusal(judged, "worst_group.pvalue < 0.01", results())
    assert message == "there are no groups in these results; name their column with --by"


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    with suppress(InputError):
        assert read_condition(text).path


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0498, "; counted in cells, off by at most 0.0003: an audit with --exact tells)"),
        (0.0502, "; counted in cells, off by at most 0.0003: an audit with --exact tells)"),
        (0.0490, "(fails if > 0.05)"),
    ],
)
def test_rounding_that_leaves_it_open(value, words):
    measured = results({"name": "kuiper_test", "value": value, "details": {"rounding": 0.0003}})
    outcome = judged("kuiper_test > 0.05", measured)
    assert outcome.failed == (value > 0.05)
    assert outcome.line.endswith(words)


def test_the_pvalue_of_the_worst_group(measured):
    """The events of plan b are 4 standard deviations off: at most a few of 999 redraws are, and p is doubled."""
    outcome = judged("worst_group.pvalue < 0.01", measured)
    assert outcome.failed
    assert outcome.found.of == "plan = b"
    assert 0.002 <= outcome.found.value <= 0.006


def test_no_group_was_tested(refusal):
    """Each of four groups has the rows of 10 clusters only."""
    y, clusters = np.tile([0, 1], 200), np.repeat(np.arange(40), 10)
    found = audited_plans(y, np.tile(np.linspace(0.2, 0.8, 25), 16), (100,) * 4, clusters=clusters)
    assert found.groups.columns["pvalue_adjusted"] == (None,) * 4
    assert "no group has enough rows to be tested" in refusal(judged, "worst_group.pvalue < 0.01", found.to_dict())


def test_the_worst_group_of_coverage():
    """Its estimate is its coverage. Three families of tests and two groups share the error rate of two-sided limits."""
    covered = outcomes((160, 200), (54, 60))
    predicted = cb.Intervals(np.full(260, 0.5), np.full(260, 1.5), 0.9)
    found = audited_plans(covered, predicted, (200, 60)).to_dict()
    fields = ("coverage", "estimate", "low", "high", "pvalue")
    outcome = dict(zip(fields, judge([read_condition(f"worst_group.{x} < 0.9") for x in fields], found), strict=True))
    assert {one.found.of for one in outcome.values()} == {"plan = a"}
    assert outcome["coverage"].found.value == outcome["estimate"].found.value == 0.8
    low, high = stats.beta.ppf([0.05 / 12, 1 - 0.05 / 12], [160, 161], [41, 40])  # Clopper and Pearson
    assert [outcome[x].found.value for x in ("low", "high")] == pytest.approx([low, high])
    assert outcome["pvalue"].found.value == pytest.approx(6 * 2 * stats.binom.cdf(160, 200, 0.9))


def test_the_group_with_the_largest_error_at_least():
    """A large group with a small error has the smallest p-value; the lower limit is that of the group that is worst."""
    columns = {
        "group": ["a", "b", "c"],
        "rms_error": [0.02, 0.2, 0.3],
        "limits": [[0.01, 0.03], [0.1, 0.3], None],
        "pvalue_adjusted": [0.001, 0.002, 0.8],
    }
    found = {**results(), "groups": {"columns": columns}}
    texts = ("worst_group.low > 0.02", "worst_group.pvalue < 0.01", "worst_group.high > 0.02")
    assert [judged(text, found).found[:2] for text in texts] == [(0.1, "b"), (0.001, "a"), (0.03, "a")]


def grouped(*labels):
    """Return results with a group of each label, errors 0.1, 0.2, ..."""
    errors = [0.1 * (k + 1) for k in range(len(labels))]
    columns = {"group": labels, "n": [100] * len(labels), "rms_error": errors}
    return {"kind": "binary", "verdict": {"status": "within"}, "sections": [], "groups": {"columns": columns}}


def test_groups_of_a_column_whose_name_begins_another():
    results = grouped("user = a", "user.region = b", "user = c.d")
    for path, found in (("user.rms_error", 0.3), ("user.n", 100), ("user.region.rms_error", 0.2)):
        assert judged(f"max(groups.{path}) > {500 if path == 'user.n' else 0.5}", results).found.value == pytest.approx(
            found
        )


def test_conditions_on_groups_that_cannot_be_judged(refuses):
    alike, results = "cannot all be told apart in a condition; rename a group", grouped("g = its", "g = it's")
    cases = [(f"{path} > 0.5", results, alike) for path in ("groups.g.its.rms_error", "max(groups.g.rms_error)")]
    for path in ("max(groups.g.rms_error)", "groups.g.a.estimate", "groups.g.a.rms_error"):
        cases.append((f"{path} > 5", grouped("g = a", "g = b"), "can never be true"))
    refuses(judged, cases)
    assert judged("verdict = within", results).failed  # it names no group


def test_the_error_of_the_coverage_of_a_group():
    """In group a 60 of 100 outcomes lie inside; of 80 % intervals that is off by 0.2, and of 40 % intervals too."""
    y, plan = np.where(np.arange(200) < 40, 5.0, 0.0), np.repeat(["a", "b"], 100)
    for levels, shape in ((0.8, 200), ([0.4, 0.8], (200, 2))):
        found = cb.audit(y, cb.Intervals(-np.ones(shape), np.ones(shape), levels), groups={"plan": plan}, resamples=19)
        outcome = judged("groups.plan.a.coverage_error > 0.15", found.findings.to_dict())
        assert outcome.failed
        assert outcome.found.value == pytest.approx(0.2)
