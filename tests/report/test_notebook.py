"""What notebooks and browsers show of results."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.claims import Claim
from calibrant.core.evidence import Subject
from calibrant.core.results import ConfidenceInterval, Direction, TestResult
from calibrant.report.audit import Claims

RNG = np.random.default_rng(0)
P = RNG.random(600)
Y = (RNG.random(600) < P**2).astype(int)
PARTS = {"<b>part": np.where(P > 0.5, "<i>high", "low")}


@pytest.fixture(scope="module")
def audit():
    return cb.audit(Y, P, groups=PARTS, resamples=99)


@pytest.fixture
def read(parse):
    """Return a function from a result and tags to the texts in these elements."""
    return lambda value, *tags: [text.strip() for _, text in parse(value._repr_html_()).named(*tags)]


class TestRecords:
    def test_names_and_numbers(self, read):
        interval = ConfidenceInterval(0.0125, 0.25, 0.1, 0.95, "<by hand>", 1200)
        assert read(interval, "th") == ["ConfidenceInterval", ""]
        assert read(interval, "td")[::2] == ["low", "high", "estimate", "level", "method", "n"]
        assert read(interval, "td")[1::2] == ["0.01250", "0.2500", "0.1000", "0.9500", "<by hand>", "1,200"]
        assert "<by hand>" not in interval._repr_html_()

    def test_pairs_stand_in_one_cell_and_what_is_missing_is_left_out(self, read):
        shown = read(Direction(0.25, 0.0, -0.25, (0.5, 0.75), None), "td")
        assert shown[::2] == ["over", "under", "bias", "over bin"]
        assert shown[1::2] == ["0.2500", "0", "−0.2500", "0.5000 to 0.7500"]

    def test_coordinates_are_rows_and_what_they_share_stands_above(self, read):
        result = TestResult(np.array([1.5, 2.5]), np.array([0.25, 1e-9]), np.zeros(2), "by hand", 3)
        assert read(result, "th") == ["TestResult", "", "statistic", "p-value"]
        same = ["estimate", "0", "method", "by hand", "n", "3"]
        assert read(result, "td") == [*same, "1.500", "0.250", "2.500", "< 0.001"]

    def test_maps_of_groups(self, read):
        intervals = cb.Intervals(np.zeros(600), np.ones(600), 0.9)
        found = cb.recalibrate(P**2, intervals, method="scale", groups=PARTS["<b>part"])
        cells = read(found, "td")
        for k, fitted in enumerate(found.parameters["groups"], start=1):
            assert cells[cells.index(f"parameters groups {k} scale") + 1] == f"{fitted['scale']:#.4g}"
        assert cells[cells.index("groups") + 1] == "['<i>high', 'low']"
        assert not {"boundary", "warnings", "classes"} & set(cells)  # empty
        of_levels = cb.recalibrate(P**2, cb.Intervals(*np.zeros((2, 600, 2)), [0.5, 0.9]), groups=PARTS["<b>part"])
        assert set(of_levels.to_frame("pandas")["groups"]) == {"['<i>high', 'low']"}
        many = cb.recalibrate(Y, P, method="logistic", groups=np.arange(Y.size))
        cells = read(many, "td")
        assert "1,150 more" in cells[cells.index("…") + 1]
        assert len(cells) == 2 * 61

    def test_all_results(self, for_each):
        draws = cb.Samples(RNG.normal(size=(60, 9, 2)))
        found = {
            "decompose": cb.decompose(Y, P),
            "explain": cb.explain(RNG.normal(size=(60, 2)), draws),
            "recalibrate": cb.recalibrate(Y, P, method="isotonic"),
            "gain": cb.recalibration_gain(Y, P, method="logistic"),
            "power": cb.power(P, error=0.05),
            "compare_predictions": cb.compare_predictions(Y, {"<u>": P, "b": P**2}),
            "density_coverage": cb.points.density_coverage(
                P.reshape(-1, 2)[:50], P.reshape(-1, 2)[50:100], resamples=9
            ),
        }

        def check(name):
            shown = found[name]._repr_html_()
            assert shown.count("<tr") > 2
            assert not any(tag in shown for tag in ("<u>", "object at", "dtype"))

        for_each(list(found), check)


class TestCurves:
    def test_a_picture_and_a_folded_table(self, require):
        require("matplotlib")
        shown = cb.reliability_curve(Y, P, bins=5)._repr_html_()
        assert shown.index("<svg") < shown.index("<details>") < shown.index('<th class="n">mean predicted</th>')

    def test_ids_of_two_pictures_differ(self, require, parse):
        require("matplotlib")
        ids = [
            {
                attributes["id"]
                for attributes, _ in parse(curve._repr_html_()).named("clippath", "path")
                if "id" in attributes
            }
            for curve in (cb.cumulative_differences(Y, P), cb.cumulative_differences(Y, P**2))
        ]
        assert ids[0]
        assert not ids[0] & ids[1]

    def test_without_matplotlib(self, monkeypatch, audit):
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        for shown in (cb.reliability_curve(Y, P, bins=5)._repr_html_(), audit._repr_html_()):
            assert "pip install 'calibrant[plot]'" in shown
            assert "<svg" not in shown
            assert "<table" in shown


class TestAudits:
    def test_first_headline_picture_and_claims_then_what_is_folded(self, audit, require):
        require("matplotlib")
        shown = audit._repr_html_()
        places = [shown.index(text) for text in ('headline">', "<svg", "<th>where</th>", "<details>")]
        assert places == sorted(places)
        assert shown.count("<svg") == 1
        folded = shown[shown.index("<details>") :]
        assert 'class="decides"><td>calibration error' in folded
        for text in ("<summary>Measurements", "<summary>Groups", "<summary>Keep in mind", "<td>Brier score</td>"):
            assert text in folded

    def test_names_are_escaped(self, audit):
        for value in (audit, audit.verdict, audit.claims, audit.findings.groups):
            shown = value._repr_html_()
            assert "&lt;i&gt;high" in shown
            assert not any(tag in shown for tag in ("<i>", "<b>"))

    def test_claims_are_those_of_the_verdict(self, audit, read):
        assert audit.claims == audit.verdict.claims
        claim = Claim("miscalibrated", Subject("group", name="A"), "rms_error", 0.042, 0.0248, 0.0547, 0.95, 4000)
        assert read(Claims([claim]), "th", "td")[-5:] == ["group A", "off by 4.2 points", "2.4 to 5.5", "4,000", ""]
        many = Claims(replace(claim, subject=Subject("group", name=f"g{k}")) for k in range(100))
        assert "88 more" in many._repr_html_()


@pytest.mark.parametrize("has_browser", [True, False])
def test_show_opens_the_page(audit, has_browser, monkeypatch, capsys, require):
    require("jinja2")
    require("matplotlib")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or has_browser)
    path = audit.show()
    assert opened == [path.as_uri()]
    assert audit.verdict.headline[:13] in path.read_text("utf-8")
    assert capsys.readouterr().out == ("" if has_browser else f"{path}\n")
