"""Estimates against truths, and z-scores against contraction."""

import numpy as np
import pytest

from calibrant import MvNormal, Normal, Samples
from calibrant.core import pictures as plots
from calibrant.errors import NotApplicableError
from calibrant.ranking import contraction, recovery, z_score_contraction, z_scores

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(60, 3)) * [1, 10, 100]
DRAWS = Y[:, None] + RNG.normal(size=(60, 19, 3)) * [1, 10, 100]
THREE = Samples(DRAWS, names=["a", "b", "c"])


@pytest.mark.parametrize("statistic", ["median", "mean"])
def test_draws(statistic):
    found = recovery(Y, THREE, statistic=statistic, level=0.8)
    np.testing.assert_array_equal(found.truth, Y)
    np.testing.assert_allclose(found.estimate, getattr(np, statistic)(DRAWS, axis=1))
    ordered = np.sort(DRAWS, axis=1)  # 20 · 0.1 = 2: the second draw from either end
    np.testing.assert_array_equal(found.low, ordered[:, 1])
    np.testing.assert_array_equal(found.high, ordered[:, -2])
    for d in range(3):
        assert found.correlation[d] == pytest.approx(np.corrcoef(Y[:, d], found.estimate[:, d])[0, 1])
        assert found.coverage[d] == np.mean((found.low[:, d] <= Y[:, d]) & (Y[:, d] <= found.high[:, d]))
    assert found.names == ("a", "b", "c")


def test_distributions():
    found = recovery([0.0, 3.0], Normal([1.0, 2.0], 2.0), level=0.6826894921370859)
    np.testing.assert_allclose([found.estimate, found.low, found.high], [[1, 2], [-1, 0], [3, 4]], rtol=1e-12)
    cov = np.array([[4.0, 1.0], [1.0, 9.0]])
    of_vectors = recovery(np.zeros((2, 2)), MvNormal(np.ones((2, 2)), cov), level=0.6826894921370859)
    np.testing.assert_allclose(of_vectors.high, [[3, 4]] * 2, rtol=1e-12)


def test_z_and_contraction_are_those_of_the_verbs():
    found = z_score_contraction(Y, THREE)
    np.testing.assert_array_equal(found.z, z_scores(Y, THREE))
    np.testing.assert_allclose(found.mean_contraction, contraction(Y, THREE))
    np.testing.assert_allclose(found.contraction.mean(axis=0), found.mean_contraction)
    assert found.names == ("a", "b", "c")


def test_bad_input(refusal):
    assert "level" in refusal(recovery, Y, THREE, level=90)
    assert "at least 2 rows" in refusal(z_score_contraction, [1.0], Samples([[1.0, 2.0]]))
    alike = [1.0, 1.0], Samples([[1.0, 2.0]] * 2)
    assert "all alike" in refusal(z_score_contraction, *alike, error=NotApplicableError)


class TestPictures:
    def test_recovery_has_a_panel_per_coordinate_in_its_own_units(self, plt):
        curve = recovery(Y, THREE)
        ax = curve.plot()
        assert [panel.get_title() for panel in ax.child_axes] == ["a", "b", "c"]
        for d, panel in enumerate(ax.child_axes):
            (dots,) = [line for line in panel.lines if line.get_marker() == "o"]
            np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([Y[:, d], curve.estimate[:, d]]))
            sticks = panel.lines[0].get_ydata().reshape(-1, 3)[:, :2]
            np.testing.assert_array_equal(sticks, np.column_stack([curve.low[:, d], curve.high[:, d]]))
        assert ax.child_axes[0].get_xlim()[1] < 10 < ax.child_axes[2].get_xlim()[1]

    def test_a_few_coordinates_share_a_picture_of_z(self, plt):
        curve = z_score_contraction(Y, THREE)
        dots = [line for line in curve.plot().lines if line.get_marker() == "o"]
        assert [line.get_label() for line in dots] == ["a", "b", "c"]
        assert len({line.get_color() for line in dots}) == 3
        np.testing.assert_array_equal(dots[1].get_xydata(), np.column_stack([curve.contraction[:, 1], curve.z[:, 1]]))

    def test_many_rows_are_thinned_and_intervals_without_end_left_out(self, plt):
        y = RNG.normal(size=5000)
        ax = recovery(y, Normal(y + 1, 1.0)).plot()
        (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots.get_xdata(), y[::5])
        endless = recovery([0.0, 1.0], Samples([[1.0, 3.0], [1.0, 3.0]])).plot()
        endless.figure.canvas.draw()
        assert endless.lines[0].get_xdata().size == 0

    @pytest.mark.parametrize("verb", [recovery, z_score_contraction])
    def test_thinned_for_a_page(self, verb):
        curve = verb(Y, THREE)
        few = plots.thin(curve.kind, curve.columns, 20)
        assert all(column.shape[1] == 3 and len(column) <= 60 for column in few.values())
        assert plots.marks(curve.kind, few, curve.details)
        assert "b: co" in plots.describe(curve.kind, curve.columns, curve.details)
