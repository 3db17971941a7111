"""What the pictures of maps draw."""

import numpy as np
import pytest
from scipy.special import expit

import calibrant as cb
from calibrant.core import pictures
from calibrant.errors import NotApplicableError
from calibrant.recalibrating.map_curves import map_curve
from calibrant.recalibrating.methods import METHODS

RNG = np.random.default_rng(5)
P = RNG.uniform(0.02, 0.98, 300)
Y = (RNG.random(300) < P**2).astype(int)
MEAN = RNG.normal(size=300)
OUTCOME = MEAN + RNG.normal(0, 2, 300)
FORECAST = cb.Normal(MEAN, 1.0)
THREE = RNG.dirichlet([1, 1, 1], 300)
CLASS = (RNG.random(300)[:, None] > THREE.cumsum(axis=1)).sum(axis=1)


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


@pytest.mark.parametrize("method", METHODS["binary"])
def test_binary_maps_are_drawn_against_the_diagonal(plt, method):
    found = cb.recalibrate(Y, P, method=method)
    drawn = lines(found.plot())
    np.testing.assert_array_equal(drawn["unchanged"], [[0, 0], [1, 1]])
    x, y = drawn[method].T
    inside = (x > 0) & (x < 1)
    if method != "venn-abers":
        np.testing.assert_allclose(found.apply(x[inside]), y[inside])


def test_isotonic_is_drawn_through_its_knots(plt):
    found = cb.recalibrate(Y, P, method="isotonic")
    x = lines(found.plot())["isotonic"][:, 0]
    assert set(found.parameters["knots"]) <= set(x)


def test_venn_abers_is_drawn_in_steps_with_its_band(plt):
    found = cb.recalibrate([0, 1], [0.3, 0.6], method="venn-abers")
    curve = map_curve(found)
    np.testing.assert_allclose(curve.before, [0, 0.3, 0.3, 0.6, 0.6, 1])
    np.testing.assert_allclose(curve.lower, [0, 0, 0, 0, 0.5, 0.5])
    np.testing.assert_allclose(curve.upper, [0.5, 0.5, 1, 1, 1, 1])
    np.testing.assert_allclose(curve.after, [1 / 3, 1 / 3, 1 / 2, 1 / 2, 2 / 3, 2 / 3])
    (band,) = found.plot().collections
    assert band.get_label() == "from p₀ to p₁"


def test_a_quadratic_map_is_marked_where_it_turns(plt):
    """Events in the middle of the scores: the curvature is negative, and η is largest at -slope / (2 curvature)."""
    x = np.linspace(-3, 3, 300)
    y = (np.random.default_rng(0).random(300) < expit(1 - x**2)).astype(int)
    found = cb.recalibrate(y, expit(x), method="quadratic")
    (turn,) = lines(found.plot())["turns here"]
    assert turn[0] == pytest.approx(expit(-found.parameters["slope"] / (2 * found.parameters["curvature"])))
    assert turn[1] == pytest.approx(found.apply(np.linspace(0.01, 0.99, 999)).max(), abs=1e-5)
    assert f"turns at {turn[0]:.3f}" in pictures.describe(*_parts(map_curve(found)))


def _parts(curve):
    return curve.kind, curve.columns, curve.details


def test_class_maps_have_a_line_for_each_class(plt):
    """The other classes share the rest equally; a temperature is the same for every class."""
    found = cb.recalibrate(CLASS, THREE, method="vector")
    x, y = lines(found.plot())["class 2"].T
    np.testing.assert_allclose(found.apply(np.stack([(1 - x) / 2, (1 - x) / 2, x], axis=1))[:, 2], y)
    assert set(lines(cb.recalibrate(CLASS, THREE, method="temperature").plot())) == {"unchanged", "every class"}


def test_of_many_classes_some_are_drawn_and_said(plt):
    labels = [f"kind {k}" for k in range(30)]
    y = np.repeat(labels, 20)
    found = cb.recalibrate(y, RNG.dirichlet(np.ones(30), y.size), method="vector", classes=labels)
    ax = found.plot()
    assert set(lines(ax)) == {"unchanged", *labels[:12]}
    assert "the first 12 of 30 classes" in ax.get_xlabel()


def test_intervals_by_level(plt):
    found = cb.recalibrate(OUTCOME, FORECAST.interval([0.9, 0.5]), method="shift")
    ax = found.plot()
    expected = [[0.5, found.parameters["shift"][1]], [0.9, found.parameters["shift"][0]]]
    np.testing.assert_allclose(lines(ax)["shift"], expected)
    assert ax.get_xlabel() == "nominal level"


def test_intervals_by_group(plt):
    groups = np.array(["b", "$a"])[np.arange(300) % 2]
    found = cb.recalibrate(OUTCOME, FORECAST.interval(0.5), method="scale", groups=groups)
    ax = found.plot()
    expected = [float(one["scale"]) for one in found.parameters["groups"]]
    np.testing.assert_allclose(lines(ax)["scale"][:, 0], expected)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [r"\$a", "b"]
    assert ax.get_ylabel() == "group"
    marks = pictures.marks(*_parts(map_curve(found)))
    assert [(mark.x, mark.y) for mark in marks] == [(expected[0], 0), (expected[1], 1)]


def test_both_ends_of_one_level(plt):
    ax = cb.recalibrate(OUTCOME, FORECAST.interval(0.5), method="shift-each-end").plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["lower end", "upper end"]
    assert ax.get_ylabel() == "end"


def test_of_many_groups_some_are_named(plt):
    groups = np.array([f"group {g:02d} of a long name that is cut" for g in range(45)])[np.arange(300) % 45]
    ax = cb.recalibrate(OUTCOME, FORECAST.interval(0.8), method="shift", groups=groups).plot()
    assert np.isfinite(lines(ax)["shift"]).all(axis=1).sum() == 45
    assert [tick.get_text()[:8] for tick in ax.get_yticklabels()][:3] == ["group 00", "group 03", "group 06"]


def test_groups_and_both_ends_are_lines(plt):
    found = cb.recalibrate(OUTCOME, FORECAST.interval([0.5, 0.8]), method="shift-each-end", groups=np.arange(300) % 2)
    ends = {f"{group}, {side} end" for group in (0, 1) for side in ("lower", "upper")}
    assert set(lines(found.plot())) == {"unchanged", *ends}


def test_infinite_shifts_are_not_drawn(plt):
    """Five rows determine no shift at the level 0.9, and one at 0.5."""
    with pytest.warns(UserWarning, match="level"):
        found = cb.recalibrate(OUTCOME[:5], cb.Normal(MEAN[:5], 1.0).interval([0.5, 0.9]), method="shift")
    drawn = lines(found.plot())["shift"]
    np.testing.assert_array_equal(np.isnan(drawn[:, 1]), [False, True])
    assert "1 of them are infinite" in pictures.describe(*_parts(map_curve(found)))
    assert len(pictures.marks(*_parts(map_curve(found)))) == 1


def test_sets_show_the_level_that_is_used(plt):
    mask = np.stack([THREE >= 0.5, THREE >= 0.2, THREE >= 0.02], axis=2)
    mask |= (THREE.max(axis=1, keepdims=True) == THREE)[:, :, None]
    found = cb.recalibrate(CLASS, cb.Sets(mask, [0.5, 0.7, 0.8]), method="relevel")
    used = np.array([0.5, 0.7, 0.8, 1.0])[np.asarray(found.parameters["column"], dtype=int)]
    np.testing.assert_allclose(lines(found.plot())["relevel"][:, 1], used)


def test_pit_maps(plt):
    found = cb.recalibrate(None, cb.CdfValues(RNG.random(50)), method="pit")
    np.testing.assert_allclose(lines(found.plot())["pit"][:, 0], found.parameters["knots"])


def test_maps_without_a_picture_say_so(refusal):
    for found, words in (
        (cb.recalibrate(OUTCOME, FORECAST, method="location-scale"), "a shift and a scale"),
        (cb.recalibrate(OUTCOME, FORECAST.interval(0.5), method="shift"), "one number"),
        (cb.recalibrate(OUTCOME, FORECAST, method="identity"), "identity changes nothing"),
    ):
        assert words in refusal(found.plot, error=NotApplicableError)
