"""A report as people meet it: any width, light and dark, on paper, by keyboard, without JavaScript."""

import json
import re

import pytest

SCHEMES = ["light", "dark"]
WIDTHS = [360, 768, 1280, 3840]
SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll('svg.plot text')].map(
    t => Math.abs(parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d || 99)))"""
COLLISIONS = """[...document.querySelectorAll('svg.plot')].flatMap(plot => {
    const boxes = [...plot.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    return boxes.flatMap(([a, p], k) => boxes.slice(k + 1).filter(([b, q]) =>
        p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3
    ).map(([b]) => [a, b]));
})"""
OUTSIDE = """width => [...document.querySelectorAll('main *, header *, footer *')]
    .filter(e => !e.closest('.scroll') && !e.closest('svg') && !e.closest('.unseen'))
    .filter(e => e.getBoundingClientRect().right > width + 0.5 || e.getBoundingClientRect().left < -0.5)
    .map(e => e.outerHTML.slice(0, 80))"""
OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"


AUDITS = ["churn", "digits", "house_prices", "demand", "posterior", "ensemble"]
REPORTS = [f"audit-{name}" for name in AUDITS]
REPORTS += ["compare-generated", "compare-sets", "models", "calm", "unsure", "hostile"]
# Each report in one scheme, and each tone of a verdict in both: bad, good and unsure.
AXE = {
    "light": ["audit-churn", "audit-digits", "audit-demand", "audit-ensemble", *REPORTS[-5:-1]],
    "dark": ["audit-churn", "audit-house_prices", "audit-posterior", "compare-generated", "calm", "unsure", "hostile"],
}


@pytest.mark.parametrize("name", REPORTS)
def test_fits_every_width_and_asks_for_nothing(opened, report, name):
    with opened(report(name)) as view:
        view.page.mouse.wheel(0, 10_000)
        samples = "Comparison of samples" if name.startswith("compare-") else "Calibration audit"
        title = "Comparison of predictions" if name == "models" else samples
        assert view.page.locator("h1").inner_text() == title
        for details in ("closed", "open"):
            if details == "open":
                view.page.evaluate(OPEN_ALL)
            for width in WIDTHS:
                view.page.set_viewport_size({"width": width, "height": 900})
                assert view.page.evaluate("document.documentElement.scrollWidth") <= width, (width, details)
                assert view.page.evaluate(OUTSIDE, width) == [], (width, details)
        assert view.messages == []
        assert [url for url in view.requests if not url.startswith("data:")] == [report(name).as_uri()]


@pytest.mark.parametrize(("scheme", "name"), [(scheme, name) for scheme in SCHEMES for name in AXE[scheme]])
def test_axe_finds_nothing(opened, report, require, scheme, name):
    axe = require("axe_playwright_python.sync_playwright").Axe()
    width = {"light": 360, "dark": 1280}[scheme]
    with opened(report(name), scheme=scheme, width=width, bypass_csp=True) as view:
        view.page.evaluate("document.querySelector('details').open = true")  # the others hold the same elements
        options = {"rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}
        found = axe.run(view.page, options=options)  # of what passes it names one element, which is quicker
        assert found.violations_count == 0, found.generate_report()
        passed = {rule["id"] for rule in found.response["passes"]}
        assert {"color-contrast", "svg-img-alt", "heading-order"} <= passed
        assert scheme == "dark" or "scrollable-region-focusable" in passed  # on a wide page nothing may scroll


def test_text_of_figures_can_be_read(opened, churn):
    with opened(churn) as view:
        assert view.page.locator("svg.plot text").count() > 30
        assert view.page.evaluate(COLLISIONS) == []
        for width in WIDTHS:
            view.page.set_viewport_size({"width": width, "height": 900})
            assert view.page.evaluate(SMALLEST_TEXT) >= 9, width


class TestSchemes:
    def test_figures_follow(self, opened, churn):
        found = {}
        for scheme in SCHEMES:
            with opened(churn, scheme=scheme) as view:
                found[scheme] = view.page.evaluate(
                    """['body', 'svg.plot text', 'svg.plot .stroke-observed', 'svg.plot .fill-band'].map(name => {
                        const style = getComputedStyle(document.querySelector(name));
                        return [style.backgroundColor, style.fill, style.stroke].join();
                    })"""
                )
        assert len(found["light"]) == 4
        assert all(light != dark for light, dark in zip(found["light"], found["dark"], strict=True))

    def test_paper_is_white_whatever_the_scheme(self, opened, churn):
        with opened(churn, scheme="dark") as view:
            view.page.emulate_media(media="print", color_scheme="dark")
            style = "getComputedStyle(document.body)"
            assert view.page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
            assert view.page.evaluate(f"{style}.color") == "rgb(31, 41, 51)"
            assert not view.page.locator("nav").is_visible()
            assert view.page.locator("svg.plot").first.is_visible()
            pdf = view.page.pdf(format="A4")
            assert pdf.startswith(b"%PDF")
            assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8


def test_without_javascript_everything_is_there(opened, churn):
    with opened(churn, java_script_enabled=False) as view:
        for what in ("#verdict", "#verdict h2", ".measurements", "#groups", "footer"):
            assert view.page.locator(what).first.is_visible()
        assert view.page.locator("svg.plot").count() == 5
        assert view.page.locator(".measurements tbody tr").count() >= 8
        table = view.page.locator("details table").first
        assert not table.is_visible()
        view.page.locator("summary").first.click()
        assert table.is_visible()
        assert table.locator("tbody tr").count() == 15


class TestKeyboard:
    def test_skip_link_is_first_and_notes_are_reached(self, opened, churn):
        with opened(churn) as view:
            link = view.page.locator(".skip")
            assert link.bounding_box()["y"] < 0
            view.page.keyboard.press("Tab")
            assert link.bounding_box()["y"] >= 0
            view.page.keyboard.press("Enter")
            assert view.page.evaluate("document.activeElement.id") == "verdict"
            view.page.locator("sup a").first.focus()
            view.page.keyboard.press("Enter")
            assert view.page.evaluate("location.hash") == "#s1-n1"
            assert view.page.locator("#s1-n1").is_visible()

    def test_data_opens_and_closes(self, opened, churn):
        with opened(churn) as view:
            view.page.locator("summary").first.focus()
            for shown in (True, False):
                view.page.keyboard.press("Enter")
                assert view.page.locator("details table").first.is_visible() is shown

    def test_wide_tables_scroll(self, opened, churn):
        with opened(churn, width=360) as view:
            region = view.page.locator(".scroll[aria-labelledby=groups-caption]")
            region.focus()
            for _ in range(5):
                view.page.keyboard.press("ArrowRight")
            for _ in range(100):  # the page's policy forbids it to wait for itself
                if view.page.evaluate("document.activeElement.scrollLeft") > 0:
                    break
                view.page.wait_for_timeout(100)
            else:
                pytest.fail("the table does not scroll")

    def test_focus_is_seen_wherever_it_goes(self, opened, churn):
        with opened(churn) as view:
            stops = view.page.evaluate("document.querySelectorAll('a[href], summary, [tabindex=\"0\"]').length")
            seen = set()
            for _ in range(stops):
                view.page.keyboard.press("Tab")
                width, label = view.page.evaluate(
                    """[getComputedStyle(document.activeElement).outlineWidth, document.activeElement.outerHTML]"""
                )
                assert float(width.removesuffix("px")) >= 2
                seen.add(label)
            assert len(seen) > 10


def test_values_on_hover(opened, churn):
    with opened(churn) as view:
        place = view.page.locator("svg.plot").first.locator(".marks g").nth(5)
        dot = place.locator("circle")
        assert dot.evaluate("e => getComputedStyle(e).visibility") == "hidden"
        place.locator("rect").hover(force=True)
        assert dot.evaluate("e => getComputedStyle(e).visibility") == "visible"
        assert re.match(r"predicted 0\.\d{3}, observed 0\.\d{3}\n", place.locator("title").text_content())


def test_dots_lie_on_what_is_drawn(opened, churn):
    """The dots of hover values and Matplotlib's markers are placed by different code."""
    with opened(churn) as view:
        dots, points = view.page.evaluate(
            """(() => {
                const plot = document.querySelector('svg.plot');
                const box = e => e.getBoundingClientRect();
                const middle = e => [box(e).x + box(e).width / 2, box(e).y + box(e).height / 2];
                const markers = [...plot.querySelectorAll('use')].filter(e => e.classList.contains('fill-observed'));
                return [[...plot.querySelectorAll('.marks circle')].map(middle), markers.map(middle)];
            })()"""
        )
        assert len(dots) == 15
        for x, y in dots:
            assert min(abs(x - a) + abs(y - b) for a, b in points) < 0.5


INTERVALS = ["Nominal against observed coverage", "Coverage by width", "Coverage of 80 % intervals", "size = large"]
QUANTILES = ["Nominal against observed levels", "Recalibrated quantiles", "Where outcomes fall in the prediction"]
DRAWS = ["reproduction number", "infectious days", "reported share", "energy score, fair"]
POINTS = ["Location and spread", "component_1", "MMD over 20 kernels, fused", "Effective number"]


@pytest.mark.parametrize(
    ("name", "kind", "figures", "words"),
    [
        ("audit-house_prices", "intervals", 4, [*INTERVALS, "Coverage of 90 % intervals"]),
        (
            "audit-demand",
            "quantiles",
            4,
            [*QUANTILES, "Outcomes up to 95 % quantile", "Weighted interval score", "product = ice cream"],
        ),
        ("audit-posterior", "samples", 7, DRAWS),
        ("audit-ensemble", "samples", 7, ["CRPS, fair", "lead = 3 days", "lead = 8 days"]),
        ("compare-generated", "points", 5, POINTS),
        (
            "compare-sets",
            "points",
            9,
            ["<script>alert(1)</script>: distance of the means", "a_name_with_nowhere_to_break_it</b> differ"],
        ),
    ],
)
def test_figures_and_measurements_can_be_read(opened, report, name, kind, figures, words):
    with opened(report(name)) as view:
        plots = view.page.locator("svg.plot")
        assert plots.count() == figures
        for plot in plots.all():
            assert plot.is_visible()
            assert min(plot.bounding_box()[side] for side in ("width", "height")) > 150
            assert plot.locator("path").count() > 5
        text = view.page.locator("main").inner_text().lower()
        assert [word for word in words if word.lower() not in text] == []
        assert json.loads(view.page.locator("#calibrant-results").text_content())["kind"] == kind
        assert kind != "points" or "calibrated" not in view.page.locator("body").inner_text().lower()
        shares = view.page.evaluate(
            """[...document.querySelectorAll('svg.plot')].map(plot => {
                const panels = [...plot.querySelectorAll('clipPath rect')].map(
                    rect => [rect.x.baseVal.value, rect.y.baseVal.value, rect.width.baseVal.value]);
                const row = new Map(panels.filter(panel => panel[1] == panels[0][1])
                    .map(panel => [panel[0], panel[2]]));
                return [...row.values()].reduce((sum, width) => sum + width) / plot.viewBox.baseVal.width})"""
        )
        assert len(shares) == plots.count()
        assert min(shares) > 0.4  # axes are not squeezed
        assert view.page.evaluate(SMALLEST_TEXT) >= 9
        assert view.page.evaluate(COLLISIONS) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_both_sets_of_points_are_seen(opened, report, scheme):
    parts = {"body": "backgroundColor", "svg.plot .fill-observed": "fill", "svg.plot .stroke-second": "stroke"}
    with opened(report("compare-generated"), scheme=scheme) as view:
        style = "([name, part]) => getComputedStyle(document.querySelector(name))[part]"
        assert len({view.page.evaluate(style, [*pair]) for pair in parts.items()}) == 3


def test_hostile_names_are_text(opened, report):
    with opened(report("hostile")) as view:
        assert view.page.evaluate("document.images.length") == 0
        assert view.page.evaluate("document.scripts.length") == 1
        results = json.loads(view.page.locator("#calibrant-results").text_content())
        assert results["names"]["outcome"] == "<script>alert(1)</script>"
        assert "<script>alert(1)</script>" in view.page.locator(".facts").inner_text()
        assert "The page shows the worst 200 of 100,000 groups." in view.page.locator("main").inner_text()
        assert view.messages == []


def test_the_policy_stops_what_it_should(opened, churn):
    """Were something to slip in, the browser would not run it."""
    with opened(churn) as view:
        view.page.evaluate(
            """() => {
                const script = document.createElement('script');
                script.textContent = 'window.ran = true';
                document.body.append(script);
                const image = document.createElement('img');
                image.src = 'https://example.org/x.png';
                document.body.append(image);
            }"""
        )
        assert view.page.evaluate("window.ran") is None
        view.page.wait_for_timeout(100)
        assert any("Content Security Policy" in message for message in view.messages)
