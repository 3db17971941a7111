"""What pages of predictions and pages of points call things."""

import re
from dataclasses import replace

import pytest

import calibrant as cb
from calibrant.audit.text import as_html_fragment, as_text
from calibrant.report import render
from calibrant.report.frame import AUDIT, COMPARISON, MARKS, frame_of, tone_of
from calibrant.report.page import KINDS
from calibrant.results.findings import Findings, Measurement, Section, Verdict


def findings(kind, status="no evidence"):
    measured = (Measurement("mmd", "distance", 0.25, expected=0.125, pvalue=0.5, method="permutations"),)
    verdict = Verdict(status, "A headline.", ("A sentence.",))
    return Findings(kind=kind, n=1234, level=0.95, verdict=verdict, sections=(Section("s", "S", "", measured),))


def visible(page):
    """Return what a reader sees: no style, no JSON, no tags."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("kind", [*KINDS, "unknown"])
def test_points_alone_are_compared(kind):
    assert frame_of(kind) is (COMPARISON if kind == "points" else AUDIT)


class TestTones:
    @pytest.mark.parametrize(
        ("status", "tone", "words"),
        [
            ("different", "bad", "Different"),
            ("no evidence", "good", "No evidence of a difference"),
            ("cannot tell", "unsure", "Cannot tell"),
            ("no truth", "unsure", "Nothing to compare with"),
        ],
    )
    def test_of_points(self, status, tone, words):
        assert tone_of("points", status) == (tone, words)
        page = render(findings("points", status))
        assert f'class="verdict {tone}"' in page
        assert f"<span>{words}</span>" in page
        assert f"<title>{words} – comparison of samples</title>" in page
        assert as_text(findings("points", status)).startswith(f"{MARKS[tone]} A headline.")

    def test_of_predictions(self):
        assert tone_of("binary", "miscalibrated") == ("bad", "Miscalibrated")
        assert tone_of("binary", "no evidence") == ("good", "No evidence of miscalibration")

    def test_a_status_that_is_not_known_is_said_as_it_is(self):
        assert tone_of("points", "new") == tone_of("binary", "new") == ("unsure", "new")
        assert tone_of("points", "miscalibrated")[0] == "unsure"

    def test_every_tone_has_a_mark(self):
        tones = {tone for frame in (AUDIT, COMPARISON) for tone, _ in frame.statuses.values()}
        assert tones == set(MARKS)


class TestPageOfPoints:
    def test_words(self):
        page = render(findings("points"))
        assert "<h1>Comparison of samples</h1>" in page
        assert "<dt>points</dt><dd>1,234</dd>" in page
        assert "<dd>Sets of points</dd>" in page
        assert '<th scope="col" class="n">if of one law</th>' in page
        assert "0.1250 if of one law" in page  # the tile
        assert "from 1,234 points" in page
        assert "“If of one law” is the mean the measurement would have if all points came from one law" in page

    def test_never_says_calibrated(self):
        for status in COMPARISON.statuses:
            words = visible(render(findings("points", status))).lower()
            assert "calibrated" not in words
            assert "prediction" not in words
            assert "audit" not in words

    def test_nor_does_a_real_one(self, page):
        words = visible(page("points")).lower()
        assert "comparison of samples" in words
        assert "if of one law" in words
        assert "calibrated" not in words
        assert "prediction" not in words

    def test_nor_do_other_forms(self, sample):
        found = sample("points")
        audit = cb.Audit(found)
        for text in (as_text(found), as_html_fragment(found), repr(audit)):
            assert "calibrated" not in text.lower()
        assert "if of one law" in as_text(found)
        assert "<th>if of one law</th>" in as_html_fragment(found)
        assert repr(audit) == f"<Audit of 700 points: {found.verdict.headline}>"


class TestPageOfPredictions:
    def test_words(self):
        page = render(findings("binary"))
        assert "<h1>Calibration audit</h1>" in page
        assert "<dt>rows</dt><dd>1,234</dd>" in page
        assert '<th scope="col" class="n">if calibrated</th>' in page
        assert "from 1,234 rows" in page
        assert "of one law" not in page

    def test_of_a_kind_that_is_not_known(self):
        page = render(replace(findings("binary"), kind="new"))
        assert "<h1>Calibration audit</h1>" in page
