"""The voice: the only place where wording is tested, and that rounding keeps what is said true."""

import math
import string
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.claims import Claim
from calibrant.core.evidence import ABOVE_0, ALL_ROWS, Note, Subject
from calibrant.core.findings import AtTolerance, Verdict
from calibrant.core.words import expected_share
from calibrant.judging.notes import NOTES, text_of
from calibrant.judging.quantities import QUANTITIES
from calibrant.judging.voice import headline, row_of, rows_of, statement, where

ERROR = Claim("miscalibrated", ALL_ROWS, "cutoff_error", 0.0851, 0.0693, 0.1015, 0.95, 4000, pvalue=1e-9)
INTERVALS = Subject("intervals", "136 to 568", 0.9, "width", 136.0, 568.0)
NARROW = Claim("below", INTERVALS, "coverage", 0.816, 0.773, 0.854, 0.95, 999, 0.9, pvalue=1e-9)


HIGH = Claim(
    "below", Subject("scores", low=0.7, high=1.0), "frequency", 0.56, 0.503, 0.617, 0.95, 1000, 0.85, tolerance=0.05
)
TOO_HIGH = (
    "probabilities of 0.7 to 1 are stated too high by more than 5 points: when 85 % is stated, it happens 56 % of the "
    "time (95 % limits 50 to 62 %)"
)
RARE = Subject("class", name="2")


def error(kind, estimate, low, high, rows, **fields):
    given = {"quantity": "cutoff_error", **fields}
    return Claim(kind, ALL_ROWS, estimate=estimate, low=low, high=high, level=0.95, rows=rows, **given)


def below(subject, quantity, *numbers, pvalue):
    return Claim("below", subject, quantity, *numbers, pvalue=pvalue)


LARGE, FIFTH = Subject("group", name="size = large"), Subject("quantile", level=0.2)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (ERROR, "probabilities are off by 8.5 points (95 % limits 6.9 to 10.2; p < 0.001)"),
        (
            error("within", 0.008, 0.0, 0.0178, 25_000, tolerance=0.02, pvalue=0.3),
            "probabilities are off by at most 1.8 points (95 % confidence)",
        ),
        (
            replace(ERROR, quantity="rms_error"),
            "probabilities are off by 8.5 points (root mean square, 95 % limits 6.9 to 10.2; p < 0.001)",
        ),
        (
            replace(ERROR, kind="within", quantity="rms_error", low=0.0, high=0.018),
            "probabilities are off by at most 1.8 points (root mean square, 95 % confidence)",
        ),
        (
            Claim("miscalibrated", RARE, "rms_error", 0.02, 0.0, 0.0385, 0.95, 900, pvalue=0.01, never=0.083),
            "probabilities of class 2 are off by an amount that tests detect, at most 3.9 points, "
            "47 % of the error if it never happened "
            "(root mean square, 95 % confidence; p = 0.010)",
        ),
        (
            error("miscalibrated", 0.23, 0.19, 0.252, 9, quantity="coverage_error", pvalue=1e-9, test="energy_ranks"),
            "coverage of predictions is off by 23.0 points "
            "(at its worst, 95 % limits 19.0 to 25.2; ranks by density not uniform, p < 0.001)",
        ),
        (
            error("limits", 1e-9, 0.0, 0.0004, 9, pvalue=0.3),
            "probabilities are off by at most 0.040 points (95 % confidence)",
        ),
        (
            error("limits", 0.0001, 0.00002, 0.09, 9),
            "probabilities are off by 0.01 points (95 % limits above 0 to 9.00)",
        ),
        (HIGH, TOO_HIGH),
        (replace(HIGH, tolerance=None), TOO_HIGH.replace(" by more than 5 points", "")),
        (error("cannot tell", 0.1, 0.0, 1.0, 20), "20 rows do not bound the error of probabilities"),
        (
            error("miscalibrated", 0.001, 5e-4, 0.0016, 9, pvalue=0.01, unit=0.002, share_of="the predicted events"),
            "probabilities are off by 50.0 % of the predicted events (95 % limits 25.0 to 80.0; p = 0.010)",
        ),
        (NARROW, "90 % intervals of width 136 to 568 cover 82 % (95 % limits 77 to 86 %; p < 0.001)"),
        (
            below(LARGE, "coverage", 0.79, 0.73, 0.84, 0.95, 590, 0.9, pvalue=0.0004),
            "predictions of size = large cover 79 % (95 % limits 73 to 84 %; p < 0.001), stated 90 %",
        ),
        (
            below(FIFTH, "share_below", 0.16, 0.13, 0.19, 0.95, 600, 0.2, pvalue=0.02),
            "16 % (95 % limits 13 to 19 %; p = 0.020) of the outcomes do not exceed the 20 % quantile",
        ),
        (
            Claim("above", Subject("coordinate", name="mu"), "spread", 1.1336, 1.0566, 1.2193, 0.95, 500, 1.0),
            "the spread of predictions of mu needs the factor 1.13 (95 % limits 1.05 to 1.22)",
        ),
    ],
)
def test_statements(claim, expected):
    assert statement(claim) == expected


def test_within_names_a_range_that_may_be_beyond():
    size = error("within", 0.03, 0.0, 0.04, 4000, tolerance=0.05, quantity="rms_error")
    said = headline(Verdict("within", claims=(size,), tolerance=0.05, although=replace(HIGH, tolerance=None)))
    assert said.startswith("Calibrated within 5 points: probabilities are off by at most 4.0 points (root mean square")
    assert said.endswith(", but " + TOO_HIGH.replace(" by more than 5 points", ""))


@pytest.mark.parametrize(
    ("status", "tolerance", "opening"),
    [
        ("miscalibrated", None, "Miscalibrated: "),
        ("within", 0.02, "Calibrated within 2 points: "),
        ("cannot tell", 0.01, "Cannot tell whether calibrated within 1 point: "),
    ],
)
def test_openings(status, tolerance, opening):
    verdict = Verdict(status, claims=(ERROR,), tolerance=tolerance, at=(AtTolerance(0.01, "cannot tell"),))
    assert headline(verdict).startswith(opening)


def test_a_claim_is_a_row():
    row = rows_of([NARROW])[0]
    where = "90 % intervals of width 136 to 568"
    assert row[:7] == (where, "90 %", "82 %", "77 to 86 %", "999", "<0.001", "too narrow")
    assert row.is_fault


def test_the_claim_of_the_headline_is_first_and_the_clearest_follow():
    group = Subject("group", name="plan = a")
    claims = [
        Claim("within", ALL_ROWS, "cutoff_error", 0.01, 0.0, 0.02, 0.95, 9, pvalue=0.9),
        Claim("description", ALL_ROWS, "draws", math.nan, rows=9, pvalue=1e-9),
        Claim("miscalibrated", group, "cutoff_error", 0.12, 0.06, 0.18, 0.95, 9, pvalue=0.01),
        Claim("above", group, "bias", 0.11, 0.05, 0.17, 0.95, 9),
        Claim(
            "miscalibrated", Subject("group", name="plan = b"), "cutoff_error", 0.1, 0.05, 0.2, 0.95, 9, pvalue=0.001
        ),
    ]
    rows = rows_of(claims)
    assert [row.where for row in rows] == ["all rows", "plan = b", "plan = a", "all rows"]
    assert rows[2].meaning == "too low on average"  # one row for the error and its direction


def test_of_ranges_of_scores_that_overlap_the_clearest_is_a_row():
    """Of a tenth and one of its twentieths that which is farther off, or that which is beyond the tolerance."""
    tenth, half, beside = (Subject("scores", low=low, high=high) for low, high in ((0.1, 0.2), (0.1, 0.15), (0.2, 0.3)))
    claims = [
        Claim("within", ALL_ROWS, "rms_error", 0.03, 0.0, 0.04, 0.95, 9, tolerance=0.05),
        Claim("above", tenth, "frequency", 0.24, 0.21, 0.27, 0.95, 9, 0.15),
        Claim("above", half, "frequency", 0.25, 0.18, 0.32, 0.95, 9, 0.12),
        Claim("above", beside, "frequency", 0.3, 0.27, 0.34, 0.95, 9, 0.25),
    ]
    assert [row.where for row in rows_of(claims)] == ["all rows", "scores 0.1 to 0.15", "scores 0.2 to 0.3"]
    claims[1] = replace(claims[1], tolerance=0.05)
    assert [row.where for row in rows_of(claims)] == ["all rows", "scores 0.1 to 0.2", "scores 0.2 to 0.3"]


def test_limits_of_an_error_that_a_test_finds_are_above_0():
    off = error("miscalibrated", 0.074, ABOVE_0, 0.1368, 649, pvalue=0.002)
    assert rows_of([off])[0].limits == "above 0 to 13.7"
    assert "an amount that tests detect, at most 13.7 points" in statement(off)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject("scores", low=0.0, high=0.0), "scores 0"),
        (Subject("scores", low=1 / 3, high=2 / 3), "scores 0.333 to 0.667"),
        (Subject("scores", low=0.99961, high=0.99982), "scores 0.9996 to 0.9998"),
        (Subject("scores", low=0.9996, high=1.0), "scores 0.9996 to 1"),
        (Subject("group", name="group = a"), "group a"),
        (Subject("group", name="a"), "group a"),
        (Subject("class", name="3"), "class 3"),
        (Subject("coordinate", name="0"), "coordinate 0"),
        (Subject("central intervals", level=0.8), "central 80 % intervals"),
        (Subject("intervals", "2 to 3", 0.9, "place"), "90 % intervals around 2 to 3"),
    ],
)
def test_subjects(subject, words):
    assert where(subject) == words


@pytest.mark.parametrize("key", NOTES)
def test_every_note_has_words(key):
    """Each field of a template is written as its format asks, from numbers of that sort."""
    values = {}
    for _, field, spec, _ in string.Formatter().parse(NOTES[key][1]):
        if field is not None:
            several = {
                "list": ["a", "b"],
                "semicolons": ["a", "b"],
                "shares": [0.5],
                "ranges": [(0.0, 0.3)],
                "counts": [(2, "things")],
                "missing by group": [("task = law", 1, 2)],
            }
            values[field] = (0.1, 0.2) if "limits" in spec else several.get(spec, 0.95 if spec == "level" else 3)
    label, text = text_of(Note(key, values))
    assert "{" not in text
    assert label == label.lower()


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([(0.0, 1.0)], "too low over the whole range"),
        ([(0.9993, 0.9996)], "too low from 0.9993 to 0.9996"),
        ([(0.0, 0.1), (0.1, 0.29), (0.66, 1.0)], "too low up to 0.29 and above 0.66"),
        ([(0.996, 1.0)], "too low above 0.996"),
        ([(5e-324, 1.0)], "too low above 0"),
    ],
)
def test_ranges(ranges, words):
    assert text_of(Note("too low", {"low": ranges}))[1] == words


def test_templates_of_quantities_have_known_fields():
    for quantity in QUANTITIES.values():
        fields = {field for _, field, _, _ in string.Formatter().parse(quantity.says) if field}
        assert fields <= {"who", "found", "expected", "meaning", "brackets"}


@given(expected=st.floats(0.001, 0.999), gap=st.floats(0.0005, 0.4))
@settings(max_examples=200, deadline=None)
def test_an_expected_share_outside_the_limits_is_written_outside(expected, gap):
    says = float(expected_share(expected, expected + gap, expected + gap / 2, expected + 1.5 * gap).removesuffix(" %"))
    assert says < 100 * (expected + gap / 2)


@given(
    expected=st.sampled_from([0.5, 0.9, 0.95]),
    low=st.floats(0.01, 0.98),
    width=st.floats(1e-5, 0.3),
    tolerance=st.sampled_from([None, 0.02, 0.05]),
)
@settings(max_examples=200, deadline=None)
def test_coverage_in_a_row_stays_on_its_side(expected, low, width, tolerance):
    high = min(0.999, low + width)
    subject = Subject("intervals", level=expected)
    claim = Claim("limits", subject, "coverage", (low + high) / 2, low, high, 0.95, 9, expected, tolerance)
    least, most = (float(text) / 100 for text in rows_of([claim])[0].limits.removesuffix(" %").split(" to "))
    assert least <= low + 1e-9
    assert most >= high - 1e-9
    if abs(low - expected) > 1e-6 and abs(high - expected) > 1e-6:
        assert (most < expected) == (high < expected)
        assert (least > expected) == (low > expected)


def test_within_has_the_unit_of_its_quantity():
    points = Claim("within", ALL_ROWS, "cutoff_error", 0.01, 0.0, 0.02, 0.95, 4000, tolerance=0.02)
    share = replace(points, unit=0.1, share_of="the predicted events")
    scores = replace(points, subject=Subject("models", "a and b"), quantity="difference of brier_score")
    meanings = [row_of(claim).meaning for claim in (points, share, scores)]
    assert meanings == ["within 2 points", "within 20 % of the predicted events", "within 0.02"]


def test_a_group_that_redraws_cannot_tell_from_a_smaller_p_value_has_a_bound():
    """One group of two is off in every row: with 999 redraws and two families its p-value is at most 2/1000."""
    p = np.full(2000, 0.5)
    y, groups = np.where(np.arange(2000) < 1000, 1, np.arange(2000) % 2), np.arange(2000) < 1000
    claims = cb.audit(y, p, groups=groups, resamples=99).verdict.claims
    (off,) = [c for c in claims if c.subject.kind == "group" and c.quantity == "rms_error"]
    assert (off.pvalue, off.at_floor) == (pytest.approx(0.002), True)
    assert row_of(off).pvalue == "≤0.002"
