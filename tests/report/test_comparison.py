"""`Comparison`: claims, the words made from them, pictures, page and JSON."""

import json
from itertools import combinations

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.results import Pair
from calibrant.report.comparison import Comparison
from calibrant.report.files import read


def made(*limits, metric="brier_score", names="ab", tolerance=None):
    """Return a comparison with these limits of the differences."""
    couples = zip(combinations(names, 2), limits, strict=True)
    pairs = tuple(Pair(metric, a, b, (low + high) / 2, low, high, 0.01) for (a, b), (low, high) in couples)
    values = {metric: tuple(0.1 * k for k in range(len(names)))}
    return Comparison(tuple(names), values, pairs, {metric: "by hand"}, 0.95, tolerance, 1000)


class TestClaims:
    @pytest.mark.parametrize(
        ("limits", "tolerance", "kind"),
        [
            ((-0.03, -0.01), None, "below"),
            ((0.01, 0.03), None, "above"),
            ((-0.01, 0.03), None, "cannot tell"),
            ((0.0, 0.03), None, "cannot tell"),
            ((0.0, 0.0), None, "within"),
            ((-0.01, 0.03), 0.03, "within"),
            ((0.01, 0.03), 0.02, "above"),
            ((-0.01, 0.03), 0.02, "cannot tell"),
        ],
    )
    def test_what_the_limits_support(self, limits, tolerance, kind):
        found = made(limits, tolerance=tolerance)
        (claim,) = found.claims
        assert (claim.kind, claim.quantity, claim.subject.name) == (kind, "difference of brier_score", "a and b")
        assert (claim.low, claim.high, claim.level, claim.rows, claim.pvalue) == (*limits, 0.95, 1000, 0.01)
        assert found.verdict.claims == found.claims
        for truth in limits:  # what the limits contain never makes a claim false
            assert not claim.is_false(truth)

    def test_of_two_the_lower_is_named(self):
        headline = made((-0.03, -0.01)).verdict.headline
        assert headline.startswith("a has the lower Brier score")
        assert "−0.02000 (95 % limits −0.0300 to −0.0100;" in headline  # as in the table: of the first less the second
        assert made((0.01, 0.03), metric="ece").verdict.headline.startswith("b has the lower squared calibration error")

    @pytest.mark.parametrize(
        ("limits", "status", "start"),
        [
            (((-0.3, -0.1), (-0.3, -0.1), (-0.1, 0.1)), "different", "a has the lowest Brier score of 3 models"),
            (((-0.1, 0.1), (-0.3, -0.1), (-0.1, 0.1)), "different", "Cannot tell which of a and b has"),
            (((-0.3, -0.1), (-0.1, 0.1), (-0.3, -0.1)), "different", "a has the lowest Brier score of 3 models"),
            (((-0.1, 0.1),) * 3, "cannot tell", "Cannot tell which of a, b and c has"),
        ],
    )
    def test_three_models(self, limits, status, start):
        found = made(*limits, names="abc")
        assert found.verdict.status == status
        assert found.verdict.headline.startswith(start)
        assert [claim.pvalue for claim in found.claims] == [0.01] * 3

    def test_of_models_that_are_alike_within_the_tolerance(self):
        found = made((-0.01, 0.01), (-0.3, -0.1), (-0.3, -0.1), names="abc", tolerance=0.02)
        assert found.verdict.status == "different"
        assert [claim.kind for claim in found.claims] == ["within", "below", "below"]


@pytest.fixture(scope="module")
def found():
    """Return a comparison of three models by two metrics."""
    rng = np.random.default_rng(0)
    q = rng.random(600)
    y = rng.random(600) < q
    models = {"right": q, "<b>$x$": np.clip(1.4 * q - 0.2, 0.01, 0.99), "timid": 0.25 + 0.5 * q}
    return cb.compare_predictions(y, models, metric=["ece", "brier_score"], names={"source": "made up"})


@pytest.mark.usefixtures("plt")
class TestPictures:
    def test_each_model_has_its_own_colour_and_line(self, found):
        figure = found.plot()
        first, *others = figure.axes
        labels = [text.get_text() for text in first.get_legend().get_texts()]
        assert labels == ["calibrated", "right", r"<b>\$x\$", "timid"]
        bars = first.containers
        assert len({bar.lines[0].get_color() for bar in bars}) == len({bar.lines[0].get_marker() for bar in bars}) == 3
        columns = found.reliability.columns
        for k, bar in enumerate(bars):
            assert bar.lines[0].get_xdata() == pytest.approx(columns["mean_predicted"][columns["model"] == k])
        assert len(others) == 2

    def test_no_legend_covers_a_curve(self, found):
        figure = found.plot()
        figure.canvas.draw()
        for ax in figure.axes:
            assert ax.get_legend().get_window_extent().y1 <= ax.bbox.y0

    def test_differences(self, found):
        figure = found.plot()
        ax = figure.axes[1]
        pairs = [pair for pair in found.pairs if pair.metric == "ece"]
        assert ax.containers[0].lines[0].get_xdata() == pytest.approx([pair.difference for pair in pairs])
        (bars,) = ax.containers[0].lines[2]
        ends = [(segment[0][0], segment[1][0]) for segment in bars.get_segments()]
        assert ends == [pytest.approx((pair.low, pair.high)) for pair in pairs]

    @pytest.mark.parametrize("models", [2, 4, 6])
    def test_no_line_crosses_the_name_of_a_pair(self, models):
        rng = np.random.default_rng(0)
        found = cb.compare_predictions(
            rng.random(300) < 0.5, dict(zip("abcdef", rng.random((models, 300)), strict=False))
        )
        figure = found.findings.sections[0].figures[-1].curve.plot().figure
        figure.canvas.draw()
        (ax,) = figure.axes
        lines = [ax.transData.transform(segment)[:, 1] for segment in ax.collections[0].get_segments()]
        for name in ax.get_yticklabels():
            box = name.get_window_extent()
            assert not any(low < box.y1 and high > box.y0 for low, high in map(sorted, lines))

    def test_twelve_models_are_told_apart(self):
        rng = np.random.default_rng(0)
        p = rng.random((12, 300))
        found = cb.compare_predictions(rng.random(300) < 0.5, list(p))
        lines = [bar.lines[0] for bar in found.reliability.plot().containers]
        assert len({(line.get_color(), line.get_marker()) for line in lines}) == 12


class TestFiles:
    def test_page(self, found, tmp_path):
        page = found.to_html(tmp_path / "a.html").read_text()
        assert "Comparison of predictions" in page
        assert "<b>$x$" not in page
        assert page.count("<svg") >= 3
        assert "A lower score is not better calibration" in page
        assert read(tmp_path / "a.html")["verdict"]["status"] == found.verdict.status

    def test_json_holds_claims(self, found, tmp_path):
        results = json.loads(found.to_json(tmp_path / "a.json").read_text())
        assert [claim["quantity"] for claim in results["verdict"]["claims"]] == [
            f"difference of {metric}" for metric in ("ece", "brier_score") for _ in range(3)
        ]
        assert results["kind"] == "comparison"
        assert results["names"] == {"source": "made up"}

    def test_values_and_differences_are_in_tables(self, found):
        table = found.findings.sections[0].tables[0]
        assert table.columns["Brier score"] == found.values["brier_score"]
        assert found.table["value"] == [pair.difference for pair in found.pairs]
        assert found.table["interval"] == [(pair.low, pair.high) for pair in found.pairs]

    def test_predictions_without_reliability_curves(self, tmp_path):
        rng = np.random.default_rng(0)
        y = rng.normal(size=300)
        found = cb.compare_predictions(
            y, {"a": cb.Normal(np.zeros(300), 1.0), "b": cb.Normal(np.ones(300), 1.0)}, metric="crps"
        )
        assert found.reliability is None
        assert found.to_html(tmp_path / "a.html").exists()
        assert [claim.kind for claim in found.claims] == ["below"]

    def test_repr(self, found):
        assert repr(found).startswith("<Comparison of 3 models on 600 rows: ")
