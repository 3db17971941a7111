"""Where a picture is drawn."""

import sys
from unittest import mock

import numpy as np
import pytest

from calibrant import (
    Intervals,
    Normal,
    Quantiles,
    coverage_curve,
    cumulative_differences,
    pit_histogram,
    recalibrate,
    reliability_curve,
)
from calibrant.core import pictures as plots
from calibrant.core.findings import Table
from calibrant.core.plots import groups_figure
from calibrant.errors import MissingExtraError
from calibrant.points import precision_recall_curve, vendi_profile
from calibrant.points.sections import two_ecdfs
from calibrant.ranking.conditional_map import conditional_map
from calibrant.ranking.curves import ecdf_difference, rank_histogram
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.ranking.truth_recovery import recovery, z_score_contraction
from calibrant.recalibrating.map_curves import map_curve
from calibrant.results import Curve
from calibrant.summaries import KeptRanks, Ranks

Y, P = [0, 1, 1, 0], [0.1, 0.4, 0.6, 0.9]
RANKS = Ranks.of([[0, 1], [3, 2], [1, 2]], M=3)
AMONG = KeptRanks.of(np.arange(40) % 10, 9, np.arange(40.0))
QUANTILES = Quantiles([[0.0, 1.0], [0.5, 1.5], [0.5, 2.0], [1.0, 3.0]], [0.25, 0.75])
LEVELS = Intervals([[0.4, 0.3]] * 4, [[0.6, 0.7]] * 4, [0.5, 0.6])
POINTS = {"first": [0.0, 1.0, 5.0, 6.0], "second": [0.0, 2.0, 1.0, 0.0], "set": [0.0, 0.0, 1.0, 1.0]}
SHIFTS = {"place": [0.0, 1.0], "value": [0.1, 0.7], "low": [-0.2, -0.3], "high": [0.2, 0.3]}
OF_SHIFTS = {"names": ("a", "b"), "axis": "shift", "reference": 0.0, "logarithmic": False, "level": 0.95}
DOTS = {"mean_predicted": [0.2, 0.3], "mean_observed": [0.1, 0.4], "interval_low": [0.0, 0.1]}
DOTS |= {"interval_high": [0.5, 0.9], "count": [2, 2], "model": [0, 1]}
PAIRS = {"pair": [0, 1], "difference": [0.1, 0.2], "low": [-0.1, 0.1], "high": [0.2, 0.3]}
OF_PAIRS = {"names": ("a less b", "a less c"), "axis": "difference", "level": 0.95, "tolerance": 0.1}
ERRORS = Table(
    "groups",
    "Groups",
    {
        "group": ("g = $1", "g = 2"),
        "n": (40, 60),
        "cutoff_error": (0.1, 0.02),
        "limits": ((0.03, 0.17), (0.0, 0.06)),
        "minimum_detectable": (0.08, 0.05),
    },
)
CURVES = {
    "reliability": lambda: reliability_curve(Y, P, bins=4),
    "isotonic": lambda: reliability_curve(Y, P, strategy="isotonic", resamples=19),
    "cumulative": lambda: cumulative_differences(Y, P),
    "pit_histogram": lambda: pit_histogram(Y, Normal(P, 1.0), bins=4),
    "quantile_reliability": lambda: reliability_curve(Y, QUANTILES),
    "coverage": lambda: coverage_curve(Y, Intervals([[0.5, 0.0]] * 4, [[1.0, 1.0]] * 4, [0.5, 0.9])),
    "rank_histogram": lambda: rank_histogram(RANKS),
    "ecdf_difference": lambda: ecdf_difference(RANKS),
    "expected_coverage": lambda: expected_coverage(RANKS),
    "conditional_map": lambda: conditional_map(AMONG, resamples=19),
    "recovery": lambda: recovery(Y, Normal(P, 1.0)),
    "z_score_contraction": lambda: z_score_contraction(Y, Normal(P, 1.0)),
    "cloud": lambda: Curve("cloud", POINTS, "", 4, {"names": ("real", "generated"), "axes": ("x", "y")}),
    "two_ecdfs": lambda: two_ecdfs(np.array([1.0, 2.0]), np.array([2.0, 3.0, 4.0]), ("real", "generated"), "x"),
    "coordinates": lambda: Curve("coordinates", SHIFTS, "", 4, OF_SHIFTS),
    "vendi_profile": lambda: vendi_profile({"a": [[0.0], [1.0], [2.0]], "b": [[0.0], [0.0], [5.0]]}),
    "precision_recall": lambda: precision_recall_curve([[0.0], [1.0], [5.0]], [[0.0], [4.0]], clusters=2),
    "recalibration_map": lambda: map_curve(recalibrate(Y, P, method="isotonic")),
    "recalibration_levels": lambda: map_curve(recalibrate(Y, LEVELS, method="shift")),
    "reliability_curves": lambda: Curve("reliability_curves", DOTS, "", 4, {"names": ("a", "b"), "level": 0.95}),
    "differences": lambda: Curve("differences", PAIRS, "", 4, OF_PAIRS),
    "groups": lambda: groups_figure(ERRORS, level=0.95).curve,
}


def test_every_kind_is_here():
    assert set(CURVES) == set(plots.DRAWN_BY)
    assert all(CURVES[kind]().kind == kind for kind in CURVES)


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
        assert not left.has_data()
        assert right.has_data() or all(panel.has_data() for panel in right.child_axes)

    def test_every_part_has_its_words(self, plt, kind):
        ax = CURVES[kind]().plot()
        if ax.child_axes:  # small multiples name their parts themselves
            assert all(panel.get_xlabel() or panel.get_ylabel() or panel.get_title() for panel in ax.child_axes)
            return
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert len(labels) == len(set(labels)) >= 2
        assert ax.get_xlabel()
        assert ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()] == list(CURVES[kind]().names)


def test_options_are_refused_by_name(refusal):
    words = refusal(cumulative_differences(Y, P).plot, scale="sqrt_n")
    assert words == "a picture of a cumulative curve has no option scale; it has none"


def test_without_matplotlib():
    with (
        mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.pyplot": None}),
        pytest.raises(MissingExtraError, match=r"pip install 'calibrant\[plot\]'"),
    ):
        cumulative_differences(Y, P).plot()
