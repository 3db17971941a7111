"""Vendi scores of several sets, with one length scale and one number of points."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from calibrant import Gaussian, NotApplicableError
from calibrant.metrics import vendi_scores as module
from calibrant.metrics.vendi_score import vendi_score
from calibrant.metrics.vendi_scores import vendi_scores

A = np.random.default_rng(1).normal(size=(60, 3))
B = np.random.default_rng(2).normal(size=(60, 3)) * 2
LARGE = np.random.default_rng(3).normal(size=(200, 3))


class TestEqualSizes:
    @pytest.mark.parametrize("order", [1, 2, math.inf])
    def test_is_the_score_at_the_pooled_median(self, order):
        found = vendi_scores({"a": A, "b": B}, order=order, rng=0)
        median = float(np.median(pdist(np.vstack([A, B]))))
        assert found.kernel.length == pytest.approx(median, rel=1e-14)
        assert (found.n, found.order, list(found.scores)) == (60, order, ["a", "b"])
        for name, points in (("a", A), ("b", B)):
            expected = vendi_score(points, order=order, bandwidth=median)
            assert found.scores[name].mean == pytest.approx(expected, rel=1e-9)
            assert found.scores[name].sd == 0.0

    def test_one_scale_tells_apart_what_own_medians_do_not(self):
        spread = {"a": A, "wide": 3 * A}
        assert vendi_score(A) == pytest.approx(vendi_score(3 * A), rel=1e-9)
        found = vendi_scores(spread, rng=0).scores
        assert found["wide"].mean > 1.5 * found["a"].mean

    def test_a_number_and_a_kernel(self):
        expected = vendi_score(A, bandwidth=1.5)
        for given in ({"bandwidth": 1.5}, {"kernel": Gaussian(1.5)}):
            found = vendi_scores({"a": A, "b": B}, rng=0, **given)
            assert found.kernel.length == 1.5
            assert found.scores["a"].mean == pytest.approx(expected, rel=1e-9)

    def test_cosine(self):
        found = vendi_scores({"a": A, "b": B}, kernel="cosine", rng=0)
        assert found.kernel == "cosine"
        assert found.scores["b"].mean == pytest.approx(vendi_score(B, kernel="cosine"), rel=1e-9)

    def test_all_alike(self):
        same = np.ones((5, 2))
        found = vendi_scores({"a": same, "b": same}, rng=0)
        assert found.scores["a"].mean == found.scores["b"].mean == 1.0


class TestUnequalSizes:
    def test_the_larger_set_is_subsampled(self):
        found = vendi_scores({"a": A, "large": LARGE}, bandwidth=1.0, repeats=50, rng=0)
        a, large = found.scores["a"], found.scores["large"]
        assert found.n == 60
        assert a.sd == 0.0
        assert a.mean == pytest.approx(vendi_score(A, bandwidth=1.0), rel=1e-9)
        rng = np.random.default_rng(9)
        drawn = [vendi_score(LARGE[rng.choice(200, 60, replace=False)], bandwidth=1.0) for _ in range(200)]
        error = math.hypot(np.std(drawn) / math.sqrt(200), large.sd / math.sqrt(50))
        assert abs(large.mean - np.mean(drawn)) < 4 * error
        assert 0.5 < large.sd / np.std(drawn) < 2
        assert large.mean < vendi_score(LARGE, bandwidth=1.0) - 1  # more points have more

    def test_subsets_are_as_many_as_asked(self, monkeypatch):
        seen = []
        own = module.diversity

        def counted(X, *rest):
            seen.append(len(X))
            return own(X, *rest)

        monkeypatch.setattr(module, "diversity", counted)
        vendi_scores({"large": LARGE, "a": A}, bandwidth=1.0, rng=0)
        assert seen == [60] * 21

    def test_the_pool_has_equally_many_of_each(self, monkeypatch):
        seen = []
        own = module.similarity

        def kept(kernel, bandwidth, X, rng):
            seen.append(X)
            return own(kernel, bandwidth, X, rng)

        monkeypatch.setattr(module, "similarity", kept)
        sets = {"a": A, "large": LARGE + 100}
        vendi_scores(sets, order=2, rng=0)
        assert (seen[0][:, 0] > 50).sum() == (seen[0][:, 0] < 50).sum() == 60
        monkeypatch.setattr(module, "MOST_ROWS", 25)
        vendi_scores(sets, order=2, rng=0)
        assert (seen[1][:, 0] > 50).sum() == (seen[1][:, 0] < 50).sum() == 12

    def test_chance(self):
        first, again, other = (vendi_scores({"a": A, "large": LARGE}, order=2, rng=seed) for seed in (0, 0, 1))
        assert first == again
        assert first.scores["large"] != other.scores["large"]
        turned = vendi_scores({"a": A[::-1], "large": LARGE[::-1]}, order=2, rng=0)
        assert turned == first  # the order of rows has no part in it

    def test_one_repeat_has_no_deviation(self):
        assert vendi_scores({"a": A, "large": LARGE}, order=2, repeats=1, rng=0).scores["large"].sd == 0.0


class TestRefused:
    @pytest.mark.parametrize(
        ("sets", "words"),
        [
            ({}, "sets must be points by name"),
            ([A, B], "sets must be points by name"),
            ({"a": A, "b": B[:, :2]}, "all sets must have the same number of columns; got {'a': 3, 'b': 2}"),
            ({"a": A, "b": [1.0, 2.0]}, "set 'b' must be points (n, d)"),
            ({"a": np.zeros((0, 3)), "b": B}, "set 'a' must have at least 1 points; got 0"),
            ({"a": A, "b": [[1.0, 2.0, math.nan]]}, "set 'b' must be finite; row 0, column 2 is nan"),
        ],
    )
    def test_sets(self, sets, words, refusal):
        assert words in refusal(vendi_scores, sets, rng=0)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"rng": None}, "rng must be"),
            ({"repeats": 0}, "repeats must be at least 1"),
            ({"order": -1}, "order must be"),
            ({"kernel": "linear"}, "kernel must be one of 'gaussian', 'laplace', 'cosine'"),
        ],
    )
    def test_options(self, given, words, refusal):
        assert words in refusal(vendi_scores, {"a": A, "b": B}, **{"rng": 0, **given})

    def test_a_zero_row_has_no_angle(self, refusal):
        zero = np.vstack([B[:4], np.zeros(3), B])
        message = refusal(vendi_scores, {"a": A, "b": zero}, kernel="cosine", rng=0)
        assert "row 4 of set 'b' is 0 in every column" in message

    def test_many_points(self, refusal):
        many = np.random.default_rng(0).normal(size=(5001, 1))
        message = refusal(vendi_scores, {"a": many, "b": many}, rng=0, bandwidth=1.0, error=NotApplicableError)
        assert "Use order=2" in message
