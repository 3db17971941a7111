"""Fewer points that look the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core import pictures as plots
from calibrant.core.pictures import kept


@given(st.integers(1, 3000), st.integers(8, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_extremes_and_ends_stay(n, most, seed, tied):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 20, n) if tied else rng.uniform(size=n) ** 3).astype(float)
    line = {"x": x, "a": rng.normal(size=n).cumsum(), "b": rng.normal(size=n)}
    places = kept(line, "x", ["a", "b"], most)
    assert len(places) <= max(most, 6)
    assert (np.diff(places) > 0).all()
    assert {0, n - 1} <= set(places.tolist())
    for name in "ab":
        assert line[name][places].min() == line[name].min()
        assert line[name][places].max() == line[name].max()


def test_curves_that_are_short_rising_or_have_gaps():
    line = {"x": np.arange(10.0), "y": np.zeros(10)}
    assert kept(line, "x", ["y"], 10).tolist() == list(range(10))
    y = np.where(np.arange(1000) % 2, np.nan, np.arange(1000.0))  # missing values are no extremes
    places = kept({"x": np.arange(1000.0), "y": y}, "x", ["y"], 20)
    assert (np.nanmin(y[places]), np.nanmax(y[places])) == (0, 998)
    rising = {"x": np.linspace(0, 1, 10_000), "a": np.linspace(0, 1, 10_000), "b": np.linspace(0, 2, 10_000)}
    assert len(kept(rising, "x", ["a", "b"], 600)) > 500


@pytest.mark.parametrize("kind", ["isotonic", "cumulative"])
def test_the_picture_stays_the_same(require, kind):
    require("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 2, size=100_000)
    y = rng.uniform(size=p.size) < p**1.1
    curve = (
        cb.cumulative_differences(y, p)
        if kind == "cumulative"
        else cb.reliability_curve(y, p, strategy="isotonic", resamples=19)
    )

    def pixels(columns):
        figure = Figure(figsize=(4.3, 4.75), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        plots.draw_alone(kind, columns, curve.details, figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba(), dtype=float)

    thinned = plots.thin(kind, curve.columns, 1600)
    assert len(thinned[plots.picture(kind).thinned[0]]) <= 1600
    difference = abs(pixels(curve.columns) - pixels(thinned)).max(axis=2)
    assert (difference > 64).mean() < 0.002
