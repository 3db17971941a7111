"""Boxes, tolerances and marks are made from claims, and do not contradict the verdict."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.claims import Claim, outcome
from calibrant.core.evidence import ALL_ROWS, Subject
from calibrant.core.findings import Findings, Measurement, Section, Table, Verdict, at_tolerances
from calibrant.core.words import points
from calibrant.report.claims import (
    BEYOND,
    DESCRIBES,
    OPEN,
    RESTS,
    WITHIN,
    boxes,
    claim_numbers,
    marked,
    tolerances,
)
from calibrant.report.page import render
from calibrant.report.text import as_html_fragment, as_text

ERROR = Claim("miscalibrated", ALL_ROWS, "cutoff_error", 0.0401, 0.0243, 0.0549, 0.95, 4000)
COVERAGE = Claim("within", Subject("intervals", level=0.9), "coverage", 0.91, 0.896, 0.919, 0.95, 4000, 0.9, 0.02)


def scores(low, high):
    return Subject("scores", low=low, high=high)


def group(name):
    return Subject("group", name=name)


def findings(*claims, status="within", tolerance=None, **changes):
    verdict = Verdict(status, "A headline.", (), claims, tolerance)
    return replace(Findings("binary", 10, 0.95, verdict, ()), **changes)


class TestBoxes:
    def test_error(self):
        (box,) = boxes(findings(replace(ERROR, tolerance=0.02)))
        assert box.label == "Cutoff calibration error"
        assert box.value == "4.0\u00a0%"
        assert box.lines == ("95\u00a0% limits: 2.4\u00a0% to 5.5\u00a0%", "tolerance: 2 percentage points")

    @pytest.mark.parametrize(
        ("numbers", "value", "limits"),
        [
            ((0.09993, 0.05445, 0.1454), "10.0", "5.4\u00a0% to 14.6"),
            ((-0.03, -0.0597, -0.0004), "−3.00", "−5.97\u00a0% to −0.04"),
        ],
    )
    def test_bias_has_the_unit_of_the_other_boxes_and_stays_on_its_side(self, numbers, value, limits):
        bias = Claim("above", group("west"), "bias", *numbers, 0.95, 959)
        (box,) = boxes(findings(bias))
        assert box.label == "Observed less predicted frequency, group west"
        assert box.value == f"{value}\u00a0%"
        assert box.lines == (f"95\u00a0% limits: {limits}\u00a0%",)

    def test_coverage(self):
        (box,) = boxes(findings(COVERAGE))
        assert box.label == "Coverage, 90 % intervals"
        assert box.value == "91.0\u00a0%"
        assert box.lines == (
            "95\u00a0% limits: 89.6\u00a0% to 91.9\u00a0%",
            "90\u00a0% if calibrated",
            "tolerance: 2 percentage points",
        )

    def test_more_coverage_than_the_level_where_that_is_right(self):
        """Sets and counts: limits that exclude the level, and no fault."""
        (box,) = boxes(findings(replace(COVERAGE, estimate=0.95, low=0.93, high=0.97, tolerance=0.01)))
        assert box.lines[1] == "at least 90\u00a0% if calibrated"

    def test_descriptions_are_not_among_them(self):
        description = Claim("description", Subject("scores", low=0.8, high=0.9), "frequency", 0.61)
        found = boxes(findings(description, ERROR, replace(ERROR, kind="limits"), COVERAGE))
        assert [box.value for box in found] == ["4.0\u00a0%", "91.0\u00a0%"]

    def test_one_range_of_scores_the_worst(self):
        ranges = [
            Claim("above", scores(low, low + 0.123456), "frequency", p, p - 0.01, p + 0.01, 0.95, 9, 0.1)
            for low, p in ((0.1, 0.2), (0.2, 0.4), (0.3, 0.3))
        ]
        found = boxes(findings(ERROR, *ranges))
        assert [box.label for box in found[1:]] == ["Observed frequency, scores 0.2 to 0.323"]

    def test_measurements_of_small_pvalues_are_not_among_them(self):
        section = Section("s", "S", "", (Measurement("ece", "error", 0.1, expected=0.05, pvalue=0.001),))
        assert boxes(findings(sections=(section,))) == []

    def test_the_score_of_a_gain_is_named(self):
        (box,) = boxes(findings(replace(ERROR, kind="gain", quantity="recalibration_gain")))
        assert box.label == "Gain of the log score by recalibration"

    def test_what_is_no_share(self):
        claim = replace(
            ERROR, quantity="difference of log_score", subject=Subject("models", name="a and b"), tolerance=0.01
        )
        (box,) = boxes(findings(claim, kind="comparison"))
        assert (box.label, box.value) == ("Difference of log score, a and b", "0.04010")
        assert box.lines == ("95\u00a0% limits: 0.02430 to 0.05490", "tolerance: 0.01")

    def test_all_pairs_of_models_and_one_group(self):
        pairs = [
            replace(ERROR, subject=Subject("models", name=f"a and {name}"), quantity="difference") for name in "bc"
        ]
        groups = [
            replace(ERROR, kind="miscalibrated", subject=group(name), pvalue=p)
            for name, p in (("A", 0.02), ("B", 0.01))
        ]
        labels = [box.label for box in boxes(findings(*pairs, *groups))]
        assert labels == ["Difference, a and b", "Difference, a and c", "Cutoff calibration error, group B"]

    def test_limits_of_what_is_no_share_are_rounded_outwards(self):
        claim = replace(ERROR, quantity="spread", estimate=1.23456, low=1.11119, high=1.33331, expected=1.0)
        assert claim_numbers(claim) == ("1.111", "1.334", "1.235")

    def test_of_several_levels_that_of_the_smallest_pvalue(self):
        levels = [
            Claim("below", Subject("intervals", level=level), "coverage", 0.7, 0.6, 0.75, 0.95, 9, level, pvalue=p)
            for level, p in ((0.8, 0.01), (0.9, 0.001), (0.95, 0.02))
        ]
        assert boxes(findings(ERROR, *levels))[1].label == "Coverage, 90 % intervals"

    def test_without_limits(self):
        (box,) = boxes(findings(replace(ERROR, low=math.nan, high=math.nan)))
        assert box.lines == ()

    def test_they_are_on_the_page(self):
        text = render(findings(ERROR))
        assert "<dt>Cutoff calibration error</dt><dd><strong>4.0\u00a0%</strong>" in text


shares = st.floats(0, 1, allow_subnormal=False)


class TestRounding:
    def test_what_is_expected_has_the_digits_of_the_estimate(self):
        claim = Claim("above", ALL_ROWS, "coverage", 0.39, 0.335, 0.448, 0.95, 400, expected=18 / 71)
        (box,) = boxes(findings(claim))
        assert box.value == "39.0\u00a0%"
        assert "25.4\u00a0% if calibrated" in box.lines
        near = replace(claim, estimate=0.2551, low=0.25359, high=0.2566)
        (box,) = boxes(findings(near))
        assert "25.352\u00a0% if calibrated" in box.lines  # not above the lower limit, 25.359 %

    @given(shares, shares, shares, st.sampled_from([0.01, 0.02, 0.05]))
    def test_limits_contain_the_limits(self, a, b, c, tolerance):
        low, estimate, high = sorted((a, b, c))
        claim = Claim("limits", ALL_ROWS, "cutoff_error", estimate, low, high, 0.95, tolerance=tolerance)
        below, above, _ = (float(text.removesuffix("\u00a0%")) / 100 for text in claim_numbers(claim))
        assert below <= low + 1e-9
        assert above >= high - 1e-9

    @pytest.mark.parametrize(
        ("low", "high", "texts"),
        [(0.0, 0.01999, ("0.0", "2.0")), (0.02001, 0.03, ("2.001", "3.000")), (0.01, 0.02001, ("1.0", "2.1"))],
    )
    def test_comparisons_with_the_tolerance_stay_true(self, low, high, texts):
        claim = Claim("limits", ALL_ROWS, "cutoff_error", low, low, high, 0.95, tolerance=0.02)
        assert tuple(text.removesuffix("\u00a0%") for text in claim_numbers(claim)[:2]) == texts

    @given(st.floats(1e-6, 1))
    def test_tolerances_are_rounded_upwards(self, tolerance):
        assert float(points(tolerance, up=True).split()[0]) / 100 >= tolerance * (1 - 1e-9)


def at(low, high, asked=None):
    return at_tolerances(asked, lambda tau: outcome(low, high, rejected=True, tolerance=tau).status)


class TestTolerances:
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0.0, 0.009, [WITHIN, WITHIN, WITHIN]),
            (0.0, 0.02, [OPEN, WITHIN, WITHIN]),
            (0.012, 0.03, [BEYOND, OPEN, WITHIN]),
            (0.06, 0.1, [BEYOND, BEYOND, BEYOND]),
        ],
    )
    def test_outcomes(self, low, high, expected):
        found = tolerances(Verdict("miscalibrated", "", at=at(low, high)))
        assert [line.outcome for line in found] == expected

    def test_the_one_of_the_verdict_is_among_them(self):
        found = tolerances(Verdict("cannot tell", "", tolerance=0.03, at=at(0.01, 0.04, asked=0.03)))
        assert [(line.tolerance, line.chosen) for line in found] == [
            ("1 percentage point", False),
            ("2 percentage points", False),
            ("3 percentage points", True),
            ("5 percentage points", False),
        ]

    def test_none_without_limits(self):
        assert tolerances(Verdict("within", "")) == []

    def test_in_page_and_terminal(self):
        verdict = Verdict("within", "A headline.", tolerance=0.02, at=at(0.0, 0.015))
        found = Findings("binary", 10, 0.95, verdict, ())
        page = render(found)
        assert "Which tolerance do these rows support?" in page
        assert '2 percentage points <span class="tag">this verdict</span></th><td class="good">' in page
        text = " ".join(as_text(found).split())
        assert "1 percentage point: cannot tell; 2 percentage points: no error is larger;" in text


class TestMarks:
    TABLE = Table(
        "groups",
        "Groups",
        {"group": ("A", "B", "B", "C"), "n": (1, 2, 3, 4), "pvalue_adjusted": (0.001, 0.002, 0.5, 1.0)},
    )

    def test_lines_that_claims_name(self):
        claims = (
            replace(ERROR, subject=group("A"), pvalue=0.001),
            replace(ERROR, subject=group("C"), kind="within"),
            replace(ERROR, subject=group("D")),
        )
        assert marked(self.TABLE, claims) == ["bad", "", "", "good"]

    def test_of_several_lines_those_with_the_pvalue(self):
        assert marked(self.TABLE, (replace(ERROR, subject=group("B"), pvalue=0.002),)) == ["", "bad", "", ""]
        assert marked(self.TABLE, (replace(ERROR, subject=group("B")),)) == ["", "bad", "bad", ""]

    def test_of_lines_with_one_name_the_one_with_the_claims_pvalue_is_meant(self):
        table = replace(self.TABLE, columns={"group": ("B", "B"), "pvalue_adjusted": (0.01, 0.02)})
        assert marked(table, (replace(ERROR, subject=group("B"), pvalue=0.02),)) == ["", "bad"]

    def test_parts_of_one_level_are_marked_by_their_pvalue(self):
        table = replace(self.TABLE, columns={"width": self.TABLE.columns["group"], **self.TABLE.columns})
        part = replace(ERROR, subject=Subject("intervals", "B", 0.9, "width"), pvalue=0.002)
        assert marked(table, (part,)) == ["", "bad", "", ""]
        assert marked(table, (replace(part, pvalue=0.3),)) == [""] * 4

    def test_a_class_with_the_name_of_a_group_is_not_marked(self):
        claim = replace(ERROR, subject=Subject("class", name="A"), pvalue=0.001)
        assert marked(self.TABLE, (claim,)) == [""] * 4

    def test_descriptions_mark_nothing(self):
        assert marked(self.TABLE, (replace(ERROR, subject=group("A"), level=None),)) == [""] * 4

    def test_in_page_and_terminal(self):
        found = findings(replace(ERROR, subject=group("A")), groups=self.TABLE)
        assert re.search(r'<tr class="bad"><th scope="row">\s*<span class="mark" aria-hidden="true">✗', render(found))
        assert "The verdict names the marked lines." in render(found)
        assert "\n✗ A " in as_text(found)
        assert "\n  B " in as_text(found)


class TestParts:
    DECIDES = Measurement("kuiper_test", "Kuiper", 0.1, pvalue=0.5, decides=True)
    DESCRIBES = Measurement("skce_test", "SKCE", 0.1, pvalue=0.001)

    def measured(self, *measurements):
        return findings(sections=(Section("s", "S", "", measurements),))

    def test_page(self):
        text = render(self.measured(self.DESCRIBES, self.DECIDES))
        rests, describes = text.index(RESTS), text.index(DESCRIBES)
        assert rests < text.index("Kuiper", rests) < describes < text.index("SKCE", describes)
        assert '<tbody class="described">' in text
        assert 'colspan="3"' in text

    def test_terminal_and_notebook(self):
        found = self.measured(self.DESCRIBES, self.DECIDES)
        lines = as_text(found).splitlines()[-5:]
        assert [line.split()[0] for line in lines] == ["measurement", "Used", "Kuiper", "Description:", "SKCE"]
        assert "<tr><th>Kuiper</th>" in as_html_fragment(found)
        assert "<tr><td>SKCE</td>" in as_html_fragment(found)

    def test_a_section_on_which_nothing_rests(self):
        sections = (Section("a", "A", "", (self.DECIDES,)), Section("b", "B", "", (self.DESCRIBES,)))
        lines = as_text(findings(sections=sections)).splitlines()
        assert [line.split()[0] for line in lines[-4:]] == ["B", "measurement", "Description:", "SKCE"]

    def test_nothing_is_said_where_nothing_decides(self):
        for text in (render(self.measured(self.DESCRIBES)), as_text(self.measured(self.DESCRIBES))):
            assert RESTS not in text
            assert DESCRIBES not in text


class TestTerminal:
    def test_width(self, sample):
        for width in (60, 88, 140):
            assert max(map(len, as_text(sample("calm"), width).splitlines())) <= max(width, 75)  # a table needs room
        assert max(map(len, as_text(findings(ERROR), 40).splitlines())) <= 40

    def test_names_are_whole_where_there_is_room(self):
        name = "a long name of a group that has many words in it, and more than that"
        table = Table("groups", "Groups", {"group": (name,), "n": (1,), "interval": ((0.123, 0.234),)})
        assert name not in as_text(findings(groups=table), 80)
        assert name in as_text(findings(groups=table), 120)

    def test_verdict_first(self, sample):
        assert as_text(sample("calm")).startswith("✓ Probabilities are off by 0.8 percentage points (95 % limits:")

    def test_str_does_not_depend_on_the_terminal(self, sample, monkeypatch):
        before = str(cb.results.Audit(sample("calm")))
        monkeypatch.setenv("COLUMNS", "40")
        assert str(cb.results.Audit(sample("calm"))) == before
        assert "\x1b" not in before


def test_one_row():
    found = findings(n=1)
    assert "from 1 row." in render(found)
    assert repr(cb.results.Audit(found)) == "<Audit of 1 row: A headline.>"


def test_claims_come_back(sample, tmp_path):
    page = cb.results.Audit(sample("churn")).to_html(tmp_path / "report.html")
    claims = cb.report.read(page)["verdict"]["claims"]
    assert claims[0]["low"] == 0.0243
    assert claims[2] == {**claims[2], "kind": "description", "low": None, "level": None}
