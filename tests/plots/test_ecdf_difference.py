"""What a difference of rank distribution functions draws."""

import numpy as np
import pytest

from calibrant import Normal, Ranks, plots
from calibrant.curves.ecdf_difference import ecdf_difference
from calibrant.plots.lines import MOST

RNG = np.random.default_rng(0)
ONE = ecdf_difference(Ranks.of(RNG.integers(0, 30, (60, 2)).min(axis=1), M=29))
THREE = ecdf_difference(Ranks.of(RNG.integers(0, [30, 30, 25], (300, 3)), M=29, names=["a", "b", "c"]))
MANY = ecdf_difference(Ranks.of(RNG.integers(0, 10, (50, 40)), M=9))
LAW = ecdf_difference(RNG.normal(size=30), Normal(np.zeros(30), 1.0))
CURVES = {"one": ONE, "three": THREE, "many": MANY, "law": LAW}


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def band(ax):
    (found,) = [shape for shape in ax.collections if shape.get_label() == "95 % band, joint"]
    return found.get_paths()[0].vertices


@pytest.mark.parametrize(("scale", "factor"), [(None, 1), ("sqrt_n", np.sqrt(60))])
def test_one_column(plt, scale, factor):
    ax = ONE.plot(scale=scale)
    assert ONE.pvalue < 0.001
    curve = lines(ax)["observed, p < 0.001"]
    np.testing.assert_array_equal(curve.get_xdata(), ONE.t)
    np.testing.assert_allclose(curve.get_ydata(), factor * ONE.v)
    corners = {(x, round(y, 12)) for x, y in band(ax).tolist()}
    for side in (ONE.lower, ONE.upper):
        assert {(t, round(y, 12)) for t, y in zip(ONE.t.tolist(), (factor * side).tolist(), strict=True)} <= corners
    deviations = [line for line in ax.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose([line.get_ydata() for line in deviations], factor * np.array([ONE.sd, -ONE.sd]))
    assert ax.get_ylabel() == "share below t, minus t" + (", times √n" if scale else "")
    assert ax.get_xlabel() == "rank over number of ranks, t"


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_bands_are_called_joint_or_pointwise(plt, curve):
    labels = [text.get_text() for text in curve.plot().get_legend().get_texts()]
    assert "95 % band, joint" in labels
    assert "± 1 sd, pointwise" in labels


def test_three_columns(plt):
    found = lines(THREE.plot())
    for c, name in enumerate("abc"):
        (line,) = [line for label, line in found.items() if label.startswith(f"{name}, p ")]
        np.testing.assert_array_equal(line.get_ydata(), THREE.v[:, c])
    order = [label[0] for label in found if ", p " in label]
    assert order == [THREE.names[c] for c in np.argsort(THREE.pvalue_each)]


def test_many_columns(plt):
    ax = MANY.plot()
    worst = np.argsort(MANY.pvalue_each, kind="stable")[:MOST]
    shown = [label for label in lines(ax) if label.startswith("column")]
    assert [label.split(",")[0] for label in shown] == [f"column {c}" for c in worst]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert set(shown) | {"28 others"} <= set(labels)
    (others,) = [shape for shape in ax.collections if shape.get_label() == "28 others"]
    assert len(others.get_paths()) == 28
    given = plt.subplots()[1]
    MANY.plot(ax=given)
    assert len(given.get_legend().get_texts()) == 8


def test_law(plt):
    assert LAW.plot().get_xlabel() == "probability integral transform t"


class TestOptions:
    def test_scale(self, refusal):
        assert "scale must be one of None, 'sqrt_n'" in refusal(ONE.plot, scale="log")

    def test_unknown(self, refusal):
        assert "no option size; its options are scale" in refusal(ONE.plot, size=3)


class TestWords:
    def test_marks(self):
        found = plots.marks(THREE.kind, THREE.columns, THREE.details)
        assert [mark.x for mark in found] == THREE.t[1:-1].tolist()
        for mark, v in zip(found, THREE.v[1:-1], strict=True):
            farthest = int(abs(v).argmax())
            assert mark.y == v[farthest]
            assert mark.text.startswith(f"{THREE.names[farthest]} {mark.y:+.4f} at t = ")
            assert "joint band" in mark.text

    def test_one(self):
        words = plots.describe(ONE.kind, ONE.columns, ONE.details)
        k = int(np.flatnonzero(ONE.t == ONE.where)[0])
        assert "The curve leaves the 95 % band, joint over all points." in words
        assert f"It departs most at t = {ONE.where:.3g}, by {ONE.v[k]:+.3f}; p < 0.001." in words

    def test_several(self):
        words = plots.describe(THREE.kind, THREE.columns, THREE.details)
        assert "1 of 3 curves leave the 95 % band" in words
        assert "The worst, c, departs most at t = " in words
        calm = plots.describe(LAW.kind, LAW.columns, LAW.details)
        assert "stays inside" in calm


class TestThinned:
    def test_all_stay_if_there_is_room(self):
        few = plots.thin(THREE.kind, THREE.columns, 100)
        np.testing.assert_array_equal(few["v"], THREE.v)

    def test_extremes_stay(self, plt):
        curve = ecdf_difference(Ranks.of(RNG.integers(0, 1000, (100, 3)), M=999))
        few = plots.thin(curve.kind, curve.columns, 200)
        assert 50 < len(few["t"]) <= 200
        assert few["v"].shape == (len(few["t"]), 3)
        assert (few["v"].min(), few["v"].max()) == (curve.v.min(), curve.v.max())
        assert (few["upper"].max(), few["t"][0], few["t"][-1]) == (curve.upper.max(), 0, 1)
        plots.draw(curve.kind, few, curve.details)

    def test_many_lines_share_the_points(self):
        curve = ecdf_difference(Ranks.of(RNG.integers(0, 1000, (30, 60)), M=999), points=400)
        assert len(plots.thin(curve.kind, curve.columns, 1600)["t"]) <= 150
