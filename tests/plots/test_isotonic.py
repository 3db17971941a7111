"""What an isotonic reliability diagram draws."""

import numpy as np
import pytest

from calibrant import reliability_curve

CURVE = reliability_curve([1, 0, 1], [0.25, 0.5, 0.75], strategy="isotonic", resamples=99)


@pytest.fixture
def ax(plt):
    return CURVE.plot()


def test_fit(ax):
    (fit,) = [line for line in ax.lines if line.get_label() == "isotonic fit"]
    np.testing.assert_array_equal(fit.get_xdata(), [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(fit.get_ydata(), [0.5, 0.5, 1.0])


def test_region(ax):
    (region,) = ax.collections
    corners = region.get_paths()[0].vertices
    for x, low, high in zip(CURVE.p, CURVE.consistency_low, CURVE.consistency_high, strict=True):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (low, high)
    assert "95 %" in region.get_label()


def test_axes(ax):
    assert ax.get_xlabel() == "predicted probability"
    assert ax.get_ylabel() == "recalibrated probability"
    assert ax.get_aspect() == 1.0


def test_diagonal(ax):
    (diagonal,) = [line for line in ax.lines if line.get_label() == "calibrated"]
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
