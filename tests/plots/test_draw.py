"""Where a picture is drawn."""

import sys
from unittest import mock

import pytest

from calibrant import MissingExtraError, cumulative_differences, reliability_curve

Y, P = [0, 1, 1, 0], [0.1, 0.4, 0.6, 0.9]
CURVES = {
    "reliability": lambda: reliability_curve(Y, P, bins=4),
    "isotonic": lambda: reliability_curve(Y, P, strategy="isotonic", resamples=19),
    "cumulative": lambda: cumulative_differences(Y, P),
}


@pytest.mark.parametrize("kind", CURVES)
class TestAxes:
    def test_new_ones(self, plt, kind):
        ax = CURVES[kind]().plot()
        assert plt.get_fignums() == [ax.figure.number]
        ax.figure.canvas.draw()

    def test_given_ones(self, plt, kind):
        figure, (left, right) = plt.subplots(1, 2)
        assert CURVES[kind]().plot(ax=right) is right
        assert plt.get_fignums() == [figure.number]
        assert not left.lines
        assert right.lines

    def test_every_part_has_its_words(self, plt, kind):
        ax = CURVES[kind]().plot()
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert len(labels) == len(set(labels)) >= 2
        assert ax.get_xlabel()
        assert ax.get_ylabel()


def test_without_matplotlib():
    with (
        mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.pyplot": None}),
        pytest.raises(MissingExtraError, match=r"pip install 'calibrant\[plot\]'"),
    ):
        cumulative_differences(Y, P).plot()
