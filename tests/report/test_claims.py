"""Marks and rows are made from claims; measurements stand in the part that the verdict rests on, or in the other."""

import re
from dataclasses import replace

import pytest

import calibrant as cb
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Subject
from calibrant.core.findings import Findings, Measurement, Section, Table, Verdict
from calibrant.report import notebook
from calibrant.report.page import DESCRIBES, RESTS, marked, render
from calibrant.report.text import as_text

ERROR = Claim("miscalibrated", ALL_ROWS, "cutoff_error", 0.0401, 0.0243, 0.0549, 0.95, 4000)


def group(name):
    return Subject("group", name=name)


def findings(*claims, status="within", tolerance=None, **changes):
    verdict = Verdict(status, "A headline.", claims, tolerance=tolerance)
    return replace(Findings("binary", 10, 0.95, verdict, ()), **changes)


class TestMarks:
    TABLE = Table(
        "groups",
        "Groups",
        {"group": ("A", "B", "B", "C"), "n": (1, 2, 3, 4), "pvalue_adjusted": (0.001, 0.002, 0.5, 1.0)},
    )

    PART = replace(ERROR, subject=Subject("intervals", "B", 0.9, "width"), pvalue=0.002)

    @pytest.mark.parametrize(
        ("claims", "tones"),
        [
            (
                (
                    replace(ERROR, subject=group("A"), pvalue=0.001),
                    replace(ERROR, subject=group("C"), kind="within"),
                    replace(ERROR, subject=group("D")),
                ),
                ["bad", "", "", "good"],
            ),
            # of several lines of one name, those with the p-value
            ((replace(ERROR, subject=group("B"), pvalue=0.002),), ["", "bad", "", ""]),
            ((replace(ERROR, subject=group("B")),), ["", "bad", "bad", ""]),
            # a class with the name of a group, and a description
            ((replace(ERROR, subject=Subject("class", name="A"), pvalue=0.001),), [""] * 4),
            ((replace(ERROR, subject=group("A"), level=None),), [""] * 4),
        ],
    )
    def test_lines_that_claims_name(self, claims, tones):
        assert marked(self.TABLE, claims) == tones

    def test_parts_of_one_level_are_marked_by_their_pvalue(self):
        table = replace(self.TABLE, columns={"width": self.TABLE.columns["group"], **self.TABLE.columns})
        assert marked(table, (self.PART,)) == ["", "bad", "", ""]
        assert marked(table, (replace(self.PART, pvalue=0.3),)) == [""] * 4

    def test_in_page_and_terminal(self):
        found = findings(replace(ERROR, subject=group("A")), groups=self.TABLE)
        assert re.search(r'<tr class="bad"><th scope="row">\s*<span class="mark" aria-hidden="true">✗', render(found))
        assert "The verdict names the marked lines." in render(found)
        assert "\n✗ A " in as_text(found)
        assert "\n  B " in as_text(found)


class TestRows:
    def test_a_claim_is_a_row_in_page_terminal_and_notebook(self):
        found = findings(ERROR, replace(ERROR, subject=group("A")))
        for text in (render(found), as_text(found), notebook.audit(found)):
            for shown in ("all rows", "group A", "off by 4", "2.4 to 5.5"):
                assert shown in text

    def test_one_claim_stands_in_the_headline_alone(self):
        assert "2.4 to 5.5" not in as_text(findings(ERROR))
        assert 'id="claims"' not in render(findings(ERROR))

    def test_long_tables_are_cut(self):
        found = findings(*(replace(ERROR, subject=group(f"g{k}")) for k in range(300)))
        assert "(100 of 300 claims)" in render(found)
        assert "292 more" in as_text(found)


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
        assert '<tr class="decides"><td>Kuiper</td>' in notebook.audit(found)
        assert "<tr><td>SKCE</td>" in notebook.audit(found)

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
        assert as_text(sample("calm")).startswith("✓ Probabilities are off by 0.8 percentage points")

    def test_str_does_not_depend_on_the_terminal(self, sample, monkeypatch):
        before = str(cb.results.Audit(sample("calm")))
        monkeypatch.setenv("COLUMNS", "40")
        assert str(cb.results.Audit(sample("calm"))) == before
        assert "\x1b" not in before


def test_one_row():
    found = findings(n=1)
    assert "from 1 row." in render(found)
    assert repr(cb.results.Audit(found)) == "<Audit of 1 row: A headline.>"
