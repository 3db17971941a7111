"""Profiles of Vendi scores and the test of diversity: references, closed forms, subsets, level, what is refused."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist
from tests.references.books import book, by_id

from calibrant.points import diversity as module
from calibrant.points import diversity_test, vendi_profile, vendi_score

CASES = by_id("points")
A, B = (np.array(book("points")["data"]["points"][name]) for name in "ab")
RNG = np.random.default_rng(0)
LARGE = RNG.normal(size=(200, 2))
SMALL = RNG.normal(size=(60, 2))


class TestProfile:
    @pytest.mark.parametrize("order", [1, 2])
    def test_references(self, order):
        case = CASES[f"profile order {order}"]
        found = vendi_profile({"a": A, "b": B}, order=order)
        np.testing.assert_allclose(found.score.T, case["value"], rtol=case["rtol"])
        assert found.bandwidth[0] == pytest.approx(CASES["pooled median"]["value"], rel=1e-9)
        np.testing.assert_allclose(found.bandwidth, found.bandwidth[0] / 2.0 ** np.arange(8), rtol=1e-12)
        assert (found.names, found.points, found.n) == (("a", "b"), 24, 48)

    @pytest.mark.parametrize("order", [1, 2, math.inf])
    def test_equal_sizes_are_scores_at_the_pooled_median(self, order):
        sets = {"a": SMALL, "wide": 3 * LARGE[:60]}
        median = float(np.median(pdist(np.vstack(list(sets.values())))))
        found = vendi_profile(sets, order=order)
        for c, points in enumerate(sets.values()):
            expected = [vendi_score(points, order=order, bandwidth=median / 2**k) for k in range(8)]
            np.testing.assert_allclose(found.score[:, c], expected, rtol=1e-9)
        assert not found.spread.any()

    def test_given_bandwidths_in_any_order(self):
        found = vendi_profile(SMALL, bandwidths=[0.1, 2.0])
        expected = [vendi_score(SMALL, order=2, bandwidth=sigma) for sigma in (2.0, 0.1)]
        assert found.bandwidth.tolist() == [2.0, 0.1]
        np.testing.assert_allclose(found.score[:, 0], expected, rtol=1e-12)

    def test_of_a_larger_set_the_harmonic_mean_over_subsets(self):
        """Of three points of four, all subsets by hand."""
        large, small = np.array([[0.0], [1.0], [2.5], [7.0]]), np.array([[0.0], [3.0], [4.0]])
        found = vendi_profile({"large": large, "small": small}, bandwidths=[1.5])
        scores = [vendi_score(np.delete(large, k, axis=0), order=2, bandwidth=1.5) for k in range(4)]
        assert found.score[0, 0] == pytest.approx(stats.hmean(scores), rel=1e-12)
        assert found.points == 3

    def test_other_orders_draw_subsets(self):
        found = vendi_profile({"large": LARGE, "small": SMALL}, order=1, bandwidths=[1.0])
        draw = np.random.default_rng(9)
        parts = (LARGE[draw.choice(200, 60, replace=False)] for _ in range(60))
        drawn = [vendi_score(part, bandwidth=1.0) for part in parts]
        error = math.hypot(np.std(drawn) / math.sqrt(60), found.spread[0, 0] / math.sqrt(module.SUBSETS))
        assert abs(found.score[0, 0] - np.mean(drawn)) < 4 * error
        assert found.spread[0, 0] > 0 == found.spread[0, 1]

    def test_the_finest_scale_counts_distinct_points(self):
        few = np.repeat(SMALL[:6], 10, axis=0)
        found = vendi_profile({"all": SMALL, "few": few})
        assert found.score[-1, 1] == pytest.approx(6, rel=1e-3)
        assert found.score[-1, 0] > 50
        assert (np.diff(found.score, axis=0) >= 0).all()

    def test_all_alike(self):
        assert vendi_profile(np.ones((5, 2))).score.tolist() == [[1.0]] * 8
        assert vendi_profile([[3.0]]).score.tolist() == [[1.0]] * 8

    @pytest.mark.parametrize(
        ("sets", "options", "words"),
        [
            ({}, {}, "sets must contain 1 to 100 sets of points; got 0"),
            ({3: SMALL}, {}, "names of sets must be texts; got 3"),
            ({"a": SMALL, "b": SMALL[:, :1]}, {}, "all sets must have the same number of columns; 'a' has 2 and 'b' 1"),
            ({"a": SMALL[:, 0]}, {}, "sets['a'] must be points (n, d)"),
            (SMALL, {"bandwidths": [1.0, 0.0]}, "bandwidths must be a number above 0, such as 1.0; got 0.0"),
            (SMALL, {"bandwidths": []}, "bandwidths must be a list of numbers above 0"),
        ],
        ids=str,
    )
    def test_refused(self, sets, options, words, refusal):
        assert words in refusal(vendi_profile, sets, **options)


class TestDiversityTest:
    def test_by_the_definition(self):
        """Ratios of scores of order 2, each set divided by its own median distance."""
        y, x = SMALL, 5 + 0.3 * LARGE[:60] ** 2
        scaled = [part / np.median(pdist(part)) for part in (y, x)]
        found = diversity_test(y, x, resamples=9)
        expected = [
            vendi_score(scaled[1], order=2, bandwidth=2.0**-k) / vendi_score(scaled[0], order=2, bandwidth=2.0**-k)
            for k in range(8)
        ]
        np.testing.assert_allclose(found.details["ratio"], expected, rtol=1e-9)
        assert found.estimate == pytest.approx(min(expected), rel=1e-9)
        assert found.details["finest_ratio"] == pytest.approx(expected[-1], rel=1e-9)

    @pytest.mark.parametrize(
        "change", [lambda x: 0.7 * x, lambda x: x + 2, lambda x: x], ids=["narrow", "moved", "same"]
    )
    def test_a_narrow_or_moved_set_is_as_varied(self, change):
        found = diversity_test(LARGE, change(np.random.default_rng(3).normal(size=(200, 2))))
        assert found.pvalue > 0.05
        assert found.estimate > 0.9

    @pytest.mark.parametrize("d", [2, 10])
    def test_a_collapsed_set(self, d):
        draw = np.random.default_rng(d)
        y, few = draw.normal(size=(300, d)), np.repeat(draw.normal(size=(30, d)), 10, axis=0)
        found = diversity_test(y, few)
        assert (found.pvalue, found.estimate) == (1 / 200, pytest.approx(0.1, abs=0.01))
        assert (found.details["distinct_y"], found.details["distinct_points"]) == (300, 30)
        assert diversity_test(few, y).pvalue > 0.5  # one-sided

    def test_all_points_equal(self):
        assert diversity_test(np.ones((5, 2)), np.ones((7, 2))).pvalue == 1.0
        assert diversity_test(SMALL, np.ones((60, 2)), resamples=99).pvalue == 0.01
