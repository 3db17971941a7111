"""Width of intervals and size of sets: infinite ones, medians under weights, and what is refused."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals, Normal, Quantiles, Sets, summarize
from calibrant.core.catalogue import find
from calibrant.core.moments import Moments
from calibrant.errors import SummaryError
from calibrant.regions.hsic import coverage_hsic
from calibrant.regions.sizes import Sizes, size_stratified_coverage
from calibrant.regions.width import Statistic, width

inf = np.inf
SIZES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5, inf]), st.integers(1, 4)), min_size=1, max_size=12)
SETS = Sets([[False, False, False], [True, False, False], [True, True, True], [False, True, False]], 0.9)


def of_widths(widths, level=0.9):
    return Intervals(np.zeros(len(widths)), widths, level)


class TestByHand:
    def test_means(self):
        found = of_widths([1.0, 3.0, inf, 4.0])
        values = [width(found, statistic=s) for s in ("mean", "median", "finite_mean", "finite_fraction")]
        assert values == [inf, 3.5, pytest.approx(8 / 3), 0.75]

    def test_sets(self):
        values = {s: width(SETS, statistic=s) for s in get_args(Statistic)}
        assert values == {
            "mean": 1.25,
            "median": 1.0,
            "finite_mean": 1.25,
            "finite_fraction": 1.0,
            "empty_fraction": 0.25,
            "singleton_fraction": 0.5,
        }

    def test_weights(self):
        found, w = of_widths([1.0, 3.0, inf]), [1, 2, 1]
        assert width(found, statistic="finite_mean", weights=w) == pytest.approx(7 / 3)
        assert width(found, statistic="finite_fraction", weights=w) == 0.75
        assert width(found, statistic="median", weights=w) == 3.0

    def test_several_levels(self):
        both = Intervals([[0, 0], [0, 0]], [[1, 2], [3, inf]], [0.5, 0.9])
        assert width(both).tolist() == [2.0, inf]
        assert width(both, statistic="median").tolist() == [2.0, inf]
        assert width(both, statistic="finite_mean").tolist() == [2.0, 2.0]

    def test_masks_of_any_true_byte(self):
        mask = np.array([[255, 0, 255], [0, 255, 0]], np.uint8).view(bool)
        sets = Sets(mask, 0.9)
        assert width(sets) == 1.5
        assert sets.sizes.ravel().tolist() == [2, 1]
        assert Sets(np.repeat(mask, 20, axis=1), 0.9).sizes.ravel().tolist() == [40, 20]

    def test_extremes(self):
        assert width(of_widths([0.0, 0.0])) == 0.0
        assert width(Intervals([-1.5e308], [1.5e308], 0.9)) == inf
        assert width(of_widths([1.5e308, 1.6e308]), statistic="median") == pytest.approx(1.55e308)
        found = of_widths([inf, inf])
        assert width(found) == width(found, statistic="median") == inf
        assert width(found, statistic="finite_fraction") == 0.0
        assert np.isnan(width(found, statistic="finite_mean"))


@given(SIZES)
def test_median_is_that_of_numpy(drawn):
    widths, w = np.array(drawn).T
    times = w.astype(int)
    expected = np.median(np.repeat(widths, times)) if np.isfinite(widths).all() else None
    found = width(of_widths(widths), statistic="median", weights=w)
    assert found == width(of_widths(np.repeat(widths, times)), statistic="median")
    if expected is not None:
        assert found == expected


def test_equal_weights_split_evenly_whatever_their_rounding():
    widths = np.arange(1.0, 11.0)
    assert width(of_widths(widths), statistic="median", weights=np.full(10, 0.1)) == 5.5


class TestSummaries:
    def test_one_summary_serves_all_means(self):
        summary = summarize(width, None, of_widths([1.0, 3.0, inf]))
        assert isinstance(summary, Moments)
        assert width(summary) == inf
        assert width(summary, statistic="finite_mean") == 2.0

    def test_a_median_needs_its_own(self, refusal):
        means = summarize(width, None, of_widths([1.0]))
        sizes = summarize(width, None, of_widths([1.0]), statistic="median")
        assert isinstance(sizes, Sizes)
        assert "Moments" in refusal(width, means, statistic="median", error=SummaryError)
        assert "Sizes" in refusal(width, sizes, error=SummaryError)
        other = summarize("coverage", [0.0], of_widths([1.0]))
        assert "no widths" in refusal(width, other, error=SummaryError)


@pytest.mark.parametrize(
    ("prediction", "options", "words"),
    [
        (Quantiles([[0.0, 1.0]], [0.1, 0.9]), {}, "width takes Intervals or Sets alone"),
        (Quantiles([[0.0, 1.0]], [0.1, 0.9]), {}, ".intervals()"),
        (Normal([0.0], [1.0]), {}, ".interval(level)"),
        (of_widths([1.0]), {"statistic": "singleton_fraction"}, "statistic='singleton_fraction' is for Sets; got Int"),
        (summarize(width, None, of_widths([1.0])), {"statistic": "empty_fraction"}, "is for Sets"),
    ],
    ids=str,
)
def test_refusals(prediction, options, words, refusal):
    assert words in refusal(width, prediction, **options)


class TestRows:
    def test_the_scores_whose_mean_it_is(self):
        entry = find(width)
        rows = entry.read(None, of_widths([1.0, inf]))
        assert entry.row_scores(rows, entry.parse({"statistic": "mean"})).tolist() == [[1.0], [inf]]
        assert entry.row_scores(rows, entry.parse({"statistic": "finite_fraction"})).tolist() == [[1.0], [0.0]]
        sets = entry.read(None, SETS)
        assert entry.row_scores(sets, entry.parse({"statistic": "singleton_fraction"}))[:, 0].tolist() == [0, 1, 0, 1]
        assert entry.row_scores(sets, entry.parse({"statistic": "empty_fraction"}))[:, 0].tolist() == [1, 0, 0, 0]

    @pytest.mark.parametrize("statistic", ["median", "finite_mean"])
    def test_no_mean_has_none(self, statistic, refusal):
        entry = find(width)
        message = refusal(entry.row_scores, entry.read(None, of_widths([1.0])), entry.parse({"statistic": statistic}))
        assert "not a mean over the rows" in message


class TestMedian:
    """The sizes that a median needs are sorted and pooled, without outcomes."""

    def of(self, widths, weights=None):
        return summarize(width, None, of_widths(widths), statistic="median", weights=weights)

    def test_by_hand(self):
        found = self.of([3.0, 1.0, 3.0, 2.0])
        assert found.parts[0].unique_scores.tolist() == [1.0, 2.0, 3.0]
        assert found.parts[0].weight_by_score.tolist() == [1.0, 1.0, 2.0]
        assert (found.n, found.median(0), found.judged) == (4, 2.5, False)

    def test_sizes_without_outcomes_tell_no_coverage(self, refusal):
        for verb in (size_stratified_coverage, coverage_hsic):
            assert "made without outcomes" in refusal(verb, self.of([1.0, 2.0]), error=SummaryError)
        judged = summarize(coverage_hsic, [0.0, 3.0], of_widths([1.0, 2.0]))
        assert "do not merge" in refusal(lambda: judged + self.of([1.0, 2.0]), error=SummaryError)
        assert width(judged, statistic="median") == 1.5

    def test_other_levels(self, refusal):
        other = summarize(width, None, of_widths([1.0], 0.5), statistic="median")
        assert "do not merge" in refusal(lambda: self.of([1.0]) + other, error=SummaryError)
