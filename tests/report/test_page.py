"""What a report says, and what it never holds."""

import base64
import hashlib
import re
import sys
from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.findings import Findings, Line, Measurement, Section, Table, Verdict
from calibrant.errors import MissingExtraError
from calibrant.inputs.kinds import KINDS
from calibrant.report import notebook
from calibrant.report import page as page_module
from calibrant.report.page import AUDIT, COMPARISON, MARKS, MODELS, frame_of, render, tone_of
from calibrant.report.text import as_text

NAMES = ["churn", "digits", "calm", "points", "hostile"]
LIMIT = 500_000


def findings(**changes):
    verdict = Verdict("within", "Fine.", tolerance=0.05)
    return replace(Findings(kind="binary", n=10, level=0.95, verdict=verdict, sections=()), **changes)


def measured(*measurements):
    return findings(sections=(Section("s", "S", "", measurements),))


@pytest.mark.parametrize("name", NAMES)
class TestEveryPage:
    def test_is_small_and_repeats_itself(self, page, sample, name):
        assert len(page(name).encode()) < LIMIT
        assert render(sample(name)) == page(name)

    def test_refers_to_nothing_outside(self, page, parse, name):
        for attrs, _ in parse(page(name)).named("a", "use", "link", "img", "script", "iframe", "object"):
            for key in ("href", "src"):
                assert attrs.get(key, "#").startswith(("#", "data:image/svg+xml,"))
        assert "xlink" not in page(name)
        assert "@import" not in page(name)

    def test_runs_nothing(self, page, parse, name):
        parsed = parse(page(name))
        assert [attrs["type"] for attrs, _ in parsed.named("script")] == ["application/json"]
        assert not [key for _, attrs, _ in parsed.elements for key in attrs if key.startswith("on")]

    def test_has_no_styles_but_the_one_the_policy_names(self, page, parse, name):
        parsed = parse(page(name))
        (style,) = re.findall("<style>(.*?)</style>", page(name), re.DOTALL)
        (policy,) = [a["content"] for a, _ in parsed.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:")
        assert "unsafe" not in policy
        assert not [tag for tag, attrs, _ in parsed.elements if "style" in attrs]

    def test_ids_are_unique_and_found(self, page, parse, name):
        parsed = parse(page(name))
        ids = [attrs["id"] for _, attrs, _ in parsed.elements if "id" in attrs]
        assert len(ids) == len(set(ids))
        referred = {
            identity
            for _, attrs, _ in parsed.elements
            for key in ("href", "aria-labelledby", "clip-path")
            for identity in re.findall(r"#([\w-]+)", attrs.get(key) or "")
            or ([attrs[key]] if key == "aria-labelledby" and key in attrs else [])
            if not (attrs.get(key) or "").startswith("data:")
        }
        assert referred <= set(ids)

    def test_headings_do_not_skip_a_level(self, page, parse, name):
        levels = [int(tag[1]) for tag, _, _ in parse(page(name)).elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))

    def test_pictures_have_words_and_tables_captions_and_scopes(self, page, parse, name):
        parsed = parse(page(name))
        plots = [attrs for attrs, _ in parsed.named("svg") if attrs.get("class") == "plot"]
        assert plots
        assert all(attrs["role"] == "img" and len(attrs["aria-label"]) > 60 for attrs in plots)
        assert len(parsed.named("table")) == len(parsed.named("caption"))
        assert all(attrs["scope"] in {"col", "row", "rowgroup"} for attrs, _ in parsed.named("th"))


class TestOrder:
    def test_verdict_pictures_tables(self, page):
        text = page("churn")
        places = [text.index(part) for part in ('id="verdict"', 'class="plot"', 'class="measurements"', 'id="groups"')]
        assert places == sorted(places)

    @pytest.mark.parametrize(
        ("name", "word", "tone"),
        [
            ("churn", "Miscalibrated", "bad"),
            ("calm", "Calibrated within 2 percentage points", "good"),
            ("digits", "Cannot tell", "unsure"),
            ("points", "Different", "bad"),
        ],
    )
    def test_status_is_a_word_and_an_icon(self, page, name, word, tone):
        status = re.search(r'<h2 class="status">(.*?)</h2>', page(name), re.DOTALL)[1]
        assert f"<title>{word}" in page(name)
        assert '<svg class="icon"' in status
        assert f'class="verdict {tone}"' in page(name)

    def test_each_figure_has_its_sentence_and_its_data(self, page, sample):
        figures = [figure for section in sample("churn").sections for figure in section.figures]
        assert page("churn").count("<details>") == len(figures) == 3
        for figure in figures:
            assert figure.reading in page("churn")
            assert f"Data of “{figure.title}”" in page("churn")

    def test_title_date_and_footer(self, page):
        for part in (
            "<h1>Who leaves next month?</h1>",
            "<title>Miscalibrated: score – Who leaves next month?</title>",
            "<dt>made</dt><dd><bdi>2024-05-01</bdi></dd>",
        ):
            assert part in page("churn")
        assert "<dt>title</dt>" not in page("churn")
        assert "<title>Cannot tell: P – calibration audit</title>" in page("digits")
        footer = page("churn")[page("churn").index("<footer") :]
        for part in ("calibrant 0.1.0", "4,000 rows", "95\u00a0%"):
            assert part in footer


class TestMeasurements:
    def test_rows(self):
        text = render(
            measured(
                Measurement("ece", "error", 0.08421, expected=0.01, pvalue=1e-9, method="redraws"),
                Measurement("log_score", "log score", float("nan")),
            )
        )
        rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
        cells = [re.findall(r'<td class="n">(.*?)</td>', row) for row in rows]
        none = '<span aria-hidden="true">–</span><span class="unseen">none</span>'
        assert cells[1:] == [["0.08421", "0.01000", "&lt; 0.001"], [none] * 3]

    def test_columns_with_nothing_in_them_are_left_out(self):
        without = render(measured(Measurement("ece", "error", 0.1)))
        for heading in ("interval</th>", "if calibrated</th>", "p-value</th>"):
            assert heading not in without
        with_one = render(measured(Measurement("ece", "error", 0.1, interval=(0.05, 0.15))))
        assert "95\u00a0% interval</th>" in with_one
        assert "0.05000 to 0.1500" in with_one

    def test_methods_are_notes_once_each(self):
        text = render(
            measured(
                Measurement("a", "a", 1.0, method="redraws"),
                Measurement("b", "b", 1.0, method="redraws"),
                Measurement("c", "c", 1.0, method="limiting distribution", details={"statistic": 2.5}),
            )
        )
        assert re.findall(r'<li id="(s1-n\d)">(.*?)</li>', text) == [
            ("s1-n1", "redraws"),
            ("s1-n2", "limiting distribution"),
        ]
        assert re.findall(r'<a href="#(s1-n\d)">', text) == ["s1-n1", "s1-n1", "s1-n2"]


class TestGroups:
    def test_the_worst_are_shown_and_it_says_so(self, page):
        text = page("hostile")
        assert "The page shows the worst 200 of 100,000 groups." in text
        assert "<code>--json</code>" in text
        assert "(200 of 100,000 groups)" in text

    def test_few_are_all_there(self, page):
        text = page("churn")
        assert "The page shows the worst" not in text
        for label in ("business", "family", "basic"):
            assert f'<tr><th scope="row"><bdi>{label}</bdi></th>' in text
        mark = '<span class="mark" aria-hidden="true">✗&nbsp;</span><span class="unseen">off: </span>'
        assert f'<tr class="bad"><th scope="row">{mark}<bdi>student</bdi></th><td class="n">400</td>' in text

    def test_labels_are_no_quantities(self):
        table = Table("groups", "Groups", {"group": (2024, None), "rows": (1500, None), "p-value": (0.0, None)})
        text = render(findings(groups=table))
        assert '<th scope="row"><bdi>2024</bdi></th><td class="n">1,500</td><td class="n">&lt; 0.001</td>' in text
        assert '<th scope="row"><bdi>–</bdi></th><td class="n"><span aria-hidden="true">–</span>' in text


class TestHostileNames:
    def test_nothing_becomes_an_element(self, page, parse):
        parsed = parse(page("hostile"))
        assert not parsed.named("img", "b")
        assert len(parsed.named("script")) == 1

    def test_everything_is_shown_as_it_is(self, page, samples):
        shown = {"\u202e": r"\u202e", "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"}
        for name in samples["HOSTILE"][:5]:
            assert name.translate(str.maketrans(shown)) in page("hostile")
        assert "{{ 7 * 7 }}" in page("hostile")  # templates are not run

    def test_what_a_page_cannot_hold(self, page):
        assert not {"\x00", "\ud800"} & set(page("hostile"))
        page("hostile").encode("utf-8")
        assert "x" * 159 + "…" in page("hostile")  # endless names are cut
        assert "x" * 2001 not in page("hostile")


class TestSize:
    def test_long_curves(self, samples):
        rng = np.random.default_rng(0)
        p = rng.uniform(size=200_000)
        figures = samples["figures"](rng.uniform(size=p.size) < p, p)
        page = render(findings(sections=(Section("s", "S", "", (), figures),)))
        assert len(page.encode()) < LIMIT
        assert re.search(r"\((\d+) of 200,001 points; the highest and lowest are among them\)", page)

    def test_many_figures_and_long_labels_in_every_table(self, sample):
        table = Table("t", "T", {"name": tuple(f"<{'&' * 100_000}{k}" for k in range(300)), "value": (1.0,) * 300})
        (section,) = sample("churn").sections
        many = replace(section, figures=section.figures * 6)
        for found in (
            findings(sections=(many,)),
            findings(groups=table, sections=(Section("s", "S", "", (), (), (table,) * 3),)),
        ):
            page = render(found)
            assert len(page.encode()) < LIMIT
            assert page.count('class="plot"') == (18 if found.groups is None else 0)


@pytest.mark.parametrize("p", [[0.5], [0.0, 0.0], [0.0, 1.0], [0.25] * 50])
def test_few_and_equal_scores(p, samples):
    y = [0] * len(p)
    text = render(findings(sections=(Section("s", "S", "", (), samples["figures"](y, p)),)))
    assert "nan" not in text.lower().replace("rknan", "")
    assert text.count('class="plot"') == 3


def test_a_real_audit():
    example = cb.examples.churn()
    result = cb.audit(example.y, example.p, groups={"segment": example.segment}, resamples=99)
    text = render(result.findings)
    assert result.verdict.headline.replace("<", "&lt;") in text.replace("\u00a0", " ")
    assert "segment = student" in text
    assert len(text.encode()) < LIMIT


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_missing_library(sample, library):
    found = sample("churn")
    with (
        mock.patch.dict(sys.modules, {library: None}),
        pytest.raises(MissingExtraError, match=r"a report needs .* pip install 'calibrant\[cli\]'"),
    ):
        render(found)


def test_settings_of_the_user_do_not_matter(page, sample, require):
    matplotlib = require("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "path", "font.size": 30, "axes.facecolor": "red", "text.usetex": True}):
        before = dict(matplotlib.rcParams)
        assert render(sample("churn")) == page("churn")
        assert dict(matplotlib.rcParams) == before


def test_kinds_the_page_does_not_know():
    text = render(findings(kind="quantiles", verdict=Verdict("new status", "New.")))
    assert "quantiles" in text
    assert "<title>new status" in text


def findings_frame(kind, status):
    measured = (Measurement("mmd", "distance", 0.25, expected=0.125, pvalue=0.5, method="permutations"),)
    verdict = Verdict(status, "A headline.", lines=(Line("", "A sentence."),))
    return Findings(kind=kind, n=1234, level=0.95, verdict=verdict, sections=(Section("s", "S", "", measured),))


def visible(page):
    """Return what a reader sees: no style, no JSON, no tags."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("kind", [*KINDS, "points", "comparison", "unknown"])
def test_points_and_models_are_compared(kind):
    assert frame_of(kind) is {"points": COMPARISON, "comparison": MODELS}.get(kind, AUDIT)


class TestTones:
    @pytest.mark.parametrize(
        ("status", "tone", "words"),
        [
            ("different", "bad", "Different"),
            ("copies", "bad", "Copies of real points"),
            ("no evidence", "good", "No evidence of a difference"),
            ("cannot tell", "unsure", "Cannot tell"),
            ("no truth", "unsure", "Nothing to compare with"),
        ],
    )
    def test_of_points(self, status, tone, words):
        assert tone_of("points", Verdict(status, "")) == (tone, words)
        page = render(findings_frame("points", status))
        assert f'class="verdict {tone}"' in page
        assert f"<title>{words} – comparison of samples</title>" in page
        assert as_text(findings_frame("points", status)).startswith(f"{MARKS[tone]} A headline.")

    @pytest.mark.parametrize(
        ("kind", "verdict", "expected"),
        [
            ("binary", Verdict("miscalibrated"), ("bad", "Miscalibrated")),
            ("binary", Verdict("cannot tell"), ("unsure", "Cannot tell")),
            ("sets", Verdict("within", tolerance=0.01), ("good", "Calibrated within 1 percentage point")),
            ("points", Verdict("new"), ("unsure", "new")),  # a status that is not known is said as it is
            ("binary", Verdict("new"), ("unsure", "new")),
            ("points", Verdict("miscalibrated"), ("unsure", "miscalibrated")),
        ],
    )
    def test_of_predictions_and_unknown_statuses(self, kind, verdict, expected):
        assert tone_of(kind, verdict) == expected

    def test_every_tone_has_a_mark(self):
        tones = {tone for frame in (AUDIT, COMPARISON, MODELS) for tone, _ in frame.statuses.values()}
        assert tones == set(MARKS)


@pytest.mark.parametrize(
    ("kind", "title", "counted", "expected", "absent"),
    [
        ("points", "Comparison of samples", "points", "if equal", "if calibrated"),
        ("binary", "Calibration audit", "rows", "if calibrated", "if equal"),
        ("new", "Calibration audit", "rows", "if calibrated", "if equal"),
    ],
)
def test_words_of_a_kind(kind, title, counted, expected, absent):
    page = render(findings_frame(kind, "no evidence" if kind == "points" else "within"))
    for part in (
        f"<h1>{title}</h1>",
        f"<dt>{counted}</dt><dd>1,234</dd>",
        f'<th scope="col" class="n">{expected}</th>',
        f"from 1,234 {counted}",
    ):
        assert part in page
    assert absent not in page
    if kind == "points":
        assert "<dd>Sets of points</dd>" in page
        assert "“If equal” is the mean of the measurement if all points come from one distribution" in page


def test_sets_of_points_are_never_called_calibrated(page, sample):
    for text in (page("points"), *(render(findings_frame("points", status)) for status in COMPARISON.statuses)):
        words = visible(text).lower()
        assert "comparison of samples" in words
        assert not [word for word in ("calibrated", "prediction", "audit") if word in words]
    found = sample("points")
    audit = cb.results.Audit(found)
    for text in (as_text(found), notebook.audit(found), repr(audit)):
        assert "calibrated" not in text.lower()
    assert "if equal" in as_text(found)
    assert '<th class="n">if equal</th>' in notebook.audit(found)
    assert repr(audit) == f"<Audit of 700 points: {found.verdict.headline}>"


def test_marks_of_the_writing_direction_are_spelled_out():
    """A group or coordinate with such a name would reverse the words after it, in page, terminal and notebook."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    groups = np.where(rng.random(2000) < 0.5, "first\u202egroup", "second\u2067group")
    y = rng.random(2000) < np.where(groups == "second\u2067group", p**3, p)
    of_groups = cb.audit(y, p, groups=groups)
    points = rng.normal(size=(60, 2))
    of_points = cb.points.compare(points, {"run\u202e7": points + 3}, columns=["a\u202eb", "c"], resamples=399)
    for audit, name in ((of_groups, r"second\u2067group"), (of_points, r"a\u202eb")):
        shown = re.sub("<script.*?</script>", "", render(audit.findings), flags=re.DOTALL)  # the data are as they came
        for text in (shown, as_text(audit.findings), notebook.audit(audit.findings)):
            assert name in text
            assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize(("D", "layout"), [(2, "many"), (6, "two")])
def test_pictures_with_many_panels_have_room(D, layout):
    """Three pictures of a panel per coordinate stand in two columns, where their text is large enough to read."""
    rng = np.random.default_rng(0)
    audit = cb.audit(rng.normal(size=(40, D)), cb.Samples(rng.normal(size=(40, 5, D))), resamples=19)
    assert f'<div class="figures {layout}">' in render(audit.findings)


class TestDetail:
    """Pictures are the slow part of a page, so one that is too large is made again twice at most."""

    def sizes(self, sample, monkeypatch, limit):
        """Return the detail and the size of each page that is made, and the size of the one that is returned."""
        made, one_page = [], page_module._page

        def counted(given, detail):
            made.append((detail, len(one_page(given, detail).encode())))
            return "x" * made[-1][1]

        monkeypatch.setattr(page_module, "MAX_PAGE_BYTES", limit)
        monkeypatch.setattr(page_module, "_page", counted)
        return made, len(render(sample("churn")))

    def test_what_has_no_room_is_made_with_less(self, sample, monkeypatch):
        made, whole = self.sizes(sample, monkeypatch, LIMIT)
        assert [s for _, s in made] == [whole]
        monkeypatch.undo()
        made, size = self.sizes(sample, monkeypatch, int(0.9 * whole))
        assert len(made) == 3
        assert made[1][1] < size < 0.9 * whole
        assert made[1][0] == page_module.LEAST_DETAIL
        monkeypatch.undo()
        made, size = self.sizes(sample, monkeypatch, 1000)
        assert (len(made), size) == (2, made[1][1])
