"""Pictures of curves: on axes, and inside a page."""

import re
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pytest

import calibrant as cb
from calibrant.core import palette
from calibrant.core import pictures as plots
from calibrant.core.findings import Table
from calibrant.core.plots import groups_figure
from calibrant.core.words import probability
from calibrant.errors import MissingExtraError
from calibrant.ranking.curves import ecdf_difference, rank_histogram
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.recalibrating.map_curves import map_curve
from calibrant.report.pictures import picture

CHURN = cb.examples.churn()
ERRORS = np.random.default_rng(0).normal(size=200)
RANKS = cb.summaries.Ranks.of(np.random.default_rng(1).integers(0, 20, (100, 20)), M=19)
FORECAST = cb.Normal(np.arange(200) / 20, 1.0)
OUTCOMES = FORECAST.mean + ERRORS
REAL = np.random.default_rng(2).normal(size=(300, 3))
GENERATED = np.random.default_rng(3).normal([0.0, 0.8, 0.0], [1.0, 1.0, 2.0], size=(250, 3))
POINTS = {
    figure.name: figure.curve
    for section in cb.points.compare(REAL, GENERATED, columns=["a", "$b^$", "_c"], resamples=399).findings.sections
    for figure in section.figures
}
MODELS = {"$old": CHURN.p, "new": 0.5 * CHURN.p + 0.25}
COMPARED = {
    figure.name: figure.curve
    for figure in cb.compare_predictions(CHURN.y, MODELS, tolerance=0.01).findings.sections[0].figures
}
GROUPS = Table(
    "groups",
    "Groups",
    {
        "group": ("plan = $5", "plan = _b", "plan = c"),
        "n": (100, 200, 300),
        "rms_error": (0.1, 0.03, 0.0),
        "limits": ((0.04, 0.16), (0.0, 0.07), (0.0, 0.03)),
        "minimum_detectable": (0.08, 0.06, 0.05),
    },
)
CURVES = {
    "reliability": cb.reliability_curve(CHURN.y, CHURN.p, bins=15),
    "isotonic": cb.reliability_curve(CHURN.y, CHURN.p, strategy="isotonic", resamples=99),
    "cumulative": cb.cumulative_differences(CHURN.y, CHURN.p),
    "pit_histogram": cb.pit_histogram(OUTCOMES, FORECAST),
    "quantile_reliability": cb.reliability_curve(OUTCOMES, FORECAST.quantiles([0.1, 0.5, 0.9])),
    "coverage": cb.coverage_curve(OUTCOMES, FORECAST.interval([0.5, 0.8, 0.95])),
    "coverage in groups": cb.coverage_curve(OUTCOMES, FORECAST.interval([0.5, 0.8]), groups=np.arange(200) % 3),
    "rank_histogram": rank_histogram(RANKS.take([0])),
    "rank_histogram of columns": rank_histogram(RANKS),
    "ecdf_difference": ecdf_difference(RANKS),
    "expected_coverage": expected_coverage(RANKS),
    "conditional_map": cb.conditional_map(
        OUTCOMES, FORECAST, covariates={"$a": FORECAST.mean, "b": ERRORS}, resamples=99
    ),
    "recovery": cb.ranking.recovery(OUTCOMES, FORECAST),
    "z_score_contraction": cb.ranking.z_score_contraction(OUTCOMES, FORECAST),
    "cloud": POINTS["cloud"],
    "coordinates": POINTS["location"],
    "coordinates, ratios": POINTS["spread"],
    "two_ecdfs": POINTS["nearest"],
    "vendi_profile": POINTS["profile"],
    "precision_recall": cb.points.precision_recall_curve(REAL, GENERATED),
    "recalibration_map": map_curve(cb.recalibrate(CHURN.y, CHURN.p, method="venn-abers")),
    "recalibration_levels": map_curve(
        cb.recalibrate(OUTCOMES, FORECAST.interval([0.5, 0.8, 0.95]), method="shift-each-end")
    ),
    "reliability_curves": COMPARED["reliability"],
    "differences": COMPARED["brier_score_differences"],
    "groups": groups_figure(GROUPS, level=0.95).curve,
}


@pytest.mark.parametrize("kind", CURVES)
class TestAxes:
    def test_new_ones(self, plt, kind):
        ax = CURVES[kind].plot()
        assert plt.get_fignums() == [ax.figure.number]
        ax.figure.canvas.draw()
        if ax.child_axes:  # small multiples name their parts themselves
            assert all(panel.get_xlabel() or panel.get_ylabel() or panel.get_title() for panel in ax.child_axes)
            return
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert len(labels) == len(set(labels)) >= 2
        assert ax.get_xlabel()
        assert ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()]

    def test_given_ones(self, plt, kind):
        figure, (left, right) = plt.subplots(1, 2)
        assert CURVES[kind].plot(ax=right) is right
        assert plt.get_fignums() == [figure.number]
        assert not left.has_data()
        assert right.has_data() or all(panel.has_data() for panel in right.child_axes)


def test_options_are_refused_by_name(refusal):
    words = refusal(CURVES["cumulative"].plot, scale="sqrt_n")
    assert words == "a picture of a cumulative curve has no option scale; it has none"


def test_without_matplotlib():
    with (
        mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.pyplot": None}),
        pytest.raises(MissingExtraError, match=r"pip install 'calibrant\[plot\]'"),
    ):
        CURVES["cumulative"].plot()


@pytest.fixture(params=CURVES)
def kind(request, require):
    require("matplotlib")
    return request.param


@cache
def drawn(kind):
    return picture(CURVES[kind], "f1", "A title", points=1600, places=60)


@pytest.fixture
def root(kind):
    return ElementTree.fromstring(drawn(kind))


def test_every_kind_is_here():
    assert {curve.kind for curve in CURVES.values()} == set(plots.DRAWN_BY)


def test_text_is_text(root, kind):
    texts = [element.text for element in root.iter("text")]
    ax_labels = {
        "reliability": ("predicted probability", "observed frequency"),
        "isotonic": ("predicted probability", "recalibrated probability"),
        "cumulative": ("share of rows, by score", "cumulative observed minus predicted", "score"),
        "pit_histogram": ("probability integral transform", "share of rows over expected share"),
        "quantile_reliability": ("forecast quantile", "recalibrated quantile"),
        "coverage": ("nominal coverage", "observed coverage"),
        "coverage in groups": ("observed coverage", "0", "1", "2"),
        "rank_histogram": ("rank of the outcome among its draws", "rows over expected rows", "95 % band, joint"),
        "rank_histogram of columns": ("rank of the outcome among its draws", "rows over expected rows", "observed"),
        "ecdf_difference": ("share below t, minus t", "± 1 sd, pointwise", "observed"),
        "expected_coverage": ("nominal coverage", "observed coverage", "95 % interval, pointwise"),
        "conditional_map": ("$a", "b", "limits: for all cells together"),
        "recovery": ("truth", "estimate (median)", "estimate = truth"),
        "z_score_contraction": ("contraction", "z-score (positive: too high)", "z = ± 2"),
        "cloud": ("first component", "second component", "real", "generated"),
        "coordinates": ("shift, in sd of the real points", "no difference", "a", "$b^$", "_c"),
        "coordinates, ratios": ("ratio of standard deviations", "95 % by chance, joint", "1", "2", "_c"),
        "groups": ("root mean square error, percentage points", "plan", "$5", "_b", "calibrated"),
        "two_ecdfs": ("distance to the nearest other real point", "share up to here", "real", "generated"),
        "vendi_profile": ("length scale", "effective number of different points", "real", "generated"),
        "precision_recall": ("recall", "precision", "one distribution", "observed"),
        "recalibration_map": ("predicted probability", "recalibrated probability", "venn-abers", "unchanged"),
        "recalibration_levels": ("nominal level", "shift", "lower end", "upper end", "unchanged"),
        "reliability_curves": ("predicted probability", "observed frequency", "$old", "new"),
        "differences": ("difference of the Brier score", "$old less new", "within the tolerance"),
    }
    assert set(ax_labels[kind]) <= set(texts)


def test_colours_are_named_and_ids_begin_with_the_prefix(root):
    names = {f"{what}-{name}" for what in ("fill", "stroke") for name in palette.NAMES.values()}
    for element in root.iter():
        assert "style" not in element.attrib
        assert element.get("fill", "none") == "none"
        assert element.get("stroke", "none") == "none"
        if element.tag not in {"svg", "g"}:
            assert set(element.get("class", "").split()) <= names
    assert "#" not in re.sub(r"#f1-\d+", "", ElementTree.tostring(root, encoding="unicode"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert ids
    assert all(identity.startswith("f1-") for identity in ids)


def test_words_for_those_who_do_not_see_it(root, kind):
    words = root.get("aria-label")
    assert words.startswith("A title. ")
    assert plots.describe(CURVES[kind].kind, CURVES[kind].columns, CURVES[kind].details) in words
    assert picture(CURVES[kind], "f1", "A title", points=1600, places=60) == drawn(kind)  # it repeats itself


def test_title_is_escaped():
    text = picture(CURVES["cumulative"], "f1", '"><script>alert(1)</script>', points=100, places=5)
    assert "<script" not in text


class TestHover:
    def test_one_strip_for_each_bin(self):
        root = ElementTree.fromstring(drawn("reliability"))
        titles = [title.text for title in root.iter("title")]
        curve = CURVES["reliability"]
        assert len(titles) == int((curve.count > 0).sum())
        predicted, observed = (probability(column[0]) for column in (curve.mean_predicted, curve.mean_observed))
        assert titles[0].startswith(f"predicted {predicted}, observed {observed}")

    def test_strips_cover_the_axes_without_gaps(self, root):
        panels = [group for group in root.iter("g") if group.get("class") == "marks"]
        assert panels
        for panel in panels:
            strips = [(float(box.get("x")), float(box.get("width"))) for box in panel.iter("rect")]
            for (x, width), (after, _) in pairwise(strips):
                assert x + width == pytest.approx(after, abs=0.02)

    def test_dots_lie_on_the_curve(self):
        root = ElementTree.fromstring(drawn("cumulative"))
        line = max((e for e in root.iter("path") if e.get("class") == "stroke-observed"), key=lambda e: len(e.get("d")))
        path = np.array(re.findall(r"-?[\d.]+", line.get("d")), dtype=float).reshape(-1, 2)
        for dot in root.iter("circle"):
            x, y = float(dot.get("cx")), float(dot.get("cy"))
            assert abs(np.interp(x, path[:, 0], path[:, 1]) - y) < 1.0

    def test_long_curves_have_few_and_the_extremes(self):
        curve = CURVES["cumulative"]
        titles = [
            title.text
            for title in ElementTree.fromstring(picture(curve, "f", "A", points=1600, places=30)).iter("title")
        ]
        assert len(titles) <= 30
        assert any(f"cumulative difference {curve.difference.max():.4g}" in title for title in titles)
        assert any(f"cumulative difference {curve.difference[1:].min():.4g}" in title for title in titles)


def test_formulas_in_names_of_coordinates_are_read_and_covariates_keep_their_cells():
    """Cells of a covariate are found by its name, which stays as it was written."""
    rng = np.random.default_rng(0)
    draws = cb.Samples(rng.normal(size=(120, 9, 2)), names=[r"$\theta_1$", "b"])
    y, x = rng.normal(size=(120, 2)), rng.normal(size=120)
    curve = cb.conditional_map(y, draws, covariates={"x$_2$": x})
    written = picture(curve, "f", "Map", points=100, places=100)
    assert "θ₁" in written
    assert r"\theta" not in written
    plain = cb.conditional_map(y, draws, covariates={"x": x})
    assert written.count("<path") == picture(plain, "f", "Map", points=100, places=100).count("<path")


def test_titles_have_no_control_characters():
    """A page that holds them is no XML."""
    names = tuple(f"{name}{strange}" for name, strange in zip("abc", "\x00\x1b\x07", strict=True))
    curve = groups_figure(replace(GROUPS, columns={**GROUPS.columns, "group": names}), level=0.95).curve
    text = picture(curve, "f", "A", points=100, places=100)
    assert not re.search("[\x00-\x08\x0b-\x1f]", text)
    assert ElementTree.fromstring(text) is not None
