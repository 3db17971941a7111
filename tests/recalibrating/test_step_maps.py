"""Isotonic, centred isotonic and Venn-Abers maps: reference values, hand-worked cases and the definitions."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from calibrant.core import dispatch
from calibrant.errors import InputError, NotApplicableError
from calibrant.recalibrating import step_maps
from calibrant.recalibrating.recalibrate import recalibrate

METHODS = ("isotonic", "centred-isotonic", "venn-abers")


class TestIsotonicByHand:
    """Scores 0.1 to 0.5 with outcomes 0, 1, 0, 1, 1: the second and third are pooled, and the last two are 1."""

    Y, P = [0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5]

    def test_linear_between_both_ends_of_each_run_and_constant_beyond(self):
        found = recalibrate(self.Y, self.P, method="isotonic")
        np.testing.assert_allclose(found.parameters["knots"], [0.1, 0.2, 0.3, 0.4, 0.5])
        np.testing.assert_array_equal(found.parameters["values"], [0, 0.5, 0.5, 1, 1])
        after = found.apply([0.0, 0.1, 0.15, 0.25, 0.325, 0.45, 1.0])
        np.testing.assert_allclose(after, [0, 0, 0.25, 0.5, 0.625, 1, 1], rtol=1e-12)

    def test_centred_knots_are_means_of_scores(self):
        """The run at 0.5 lies at 0.25; the run at 1 keeps both ends."""
        found = recalibrate(self.Y, self.P, method="centred-isotonic")
        np.testing.assert_allclose(found.parameters["knots"], [0.1, 0.25, 0.4, 0.5])
        np.testing.assert_array_equal(found.parameters["values"], [0, 0.5, 1, 1])
        # With weights 1 and 3 at 0.2 and 0.3 the frequency is 1/4, at the mean score 0.275.
        found = recalibrate(self.Y, self.P, method="centred-isotonic", weights=[1, 1, 3, 1, 1])
        np.testing.assert_allclose(found.parameters["knots"], [0.1, 0.275, 0.4, 0.5])
        np.testing.assert_allclose(found.parameters["values"], [0, 0.25, 1, 1])

    @pytest.mark.parametrize("method", ["isotonic", "centred-isotonic"])
    def test_one_score_has_one_frequency(self, method):
        found = recalibrate([0, 1, 1, 0, 0], [0.4] * 5, method=method)
        np.testing.assert_allclose(found.apply([0, 0.4, 1]), 0.4)

    def test_runs_that_rounding_separates_are_one(self):
        """0.1 + 0.2 is not 0.3 in float64: both runs have the frequency 1/2, and their weights are rounded."""
        w = [0.1, 0.2, 0.3, 0.3, 0.3]
        found = recalibrate([1, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5], method="isotonic", weights=w)
        np.testing.assert_allclose(found.parameters["values"], 0.5)
        assert (np.diff(found.parameters["values"]) == 0).all()


class TestVennAbersByHand:
    def test_two_rows(self):
        """Scores 0.3 (no) and 0.6 (yes). A row at 0.3: as 0 the fit is 0, as 1 it is 1/2. At 0.6: 1/2 and 1."""
        found = recalibrate([0, 1], [0.3, 0.6], method="venn-abers")
        p0, p1 = found.bounds([0.1, 0.3, 0.5, 0.6, 0.9])
        np.testing.assert_array_equal(p0, [0, 0, 0, 0.5, 0.5])
        np.testing.assert_array_equal(p1, [0.5, 0.5, 1, 1, 1])
        np.testing.assert_allclose(found.apply([0.1, 0.3, 0.5, 0.6, 0.9]), [1 / 3, 1 / 3, 1 / 2, 2 / 3, 2 / 3])

    def test_bounds_belong_to_venn_abers(self):
        with pytest.raises(NotApplicableError, match="only venn-abers has bounds; this map is isotonic"):
            recalibrate([0, 1], [0.3, 0.6], method="isotonic").bounds([0.5])

    def test_bounds_check_their_scores(self):
        with pytest.raises(InputError, match=r"must lie in \[0, 1\]; row 1 is 1\.5"):
            recalibrate([0, 1], [0.3, 0.6], method="venn-abers").bounds([0.5, 1.5])


def refitted(y, p, w, score):
    """Return p0 and p1 by their definition: isotonic fits after a row of mean weight has joined the others."""
    found = []
    for outcome in (0.0, 1.0):
        scores = np.append(p, score)
        outcomes, weights = np.append(y, outcome), np.append(w, np.mean(w))
        distinct, group = np.unique(scores, return_inverse=True)
        weight = np.bincount(group, weights)
        fit = isotonic_regression(np.bincount(group, weights * outcomes) / weight, weights=weight).x
        found.append(fit[np.searchsorted(distinct, score)])
    return found


rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12), st.sampled_from([1.0, 1.0, 2.0, 0.3, 7.5])),
    min_size=2,
    max_size=25,
).filter(lambda found: len({y for y, _, _ in found}) == 2)


@given(rows)
@example([(1, 0, 1.0), (0, 1, 1.0)])
@example([(0, 1, 1.0), (1, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0)])
def test_venn_abers_is_its_definition(found):
    y, p, w = (np.array(column, dtype=float) for column in zip(*found, strict=True))
    p /= 12
    grid = np.unique(np.concatenate([p, np.linspace(0, 1, 25)]))
    expected = np.array([refitted(y, p, w, score) for score in grid]).T
    for fast in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(step_maps, "takes_fast_loop", lambda steps, fast=fast: fast)
            bounds = recalibrate(y, p, method="venn-abers", weights=w).bounds(grid)
        np.testing.assert_allclose(bounds, expected, rtol=1e-11, atol=1e-13)


def test_many_rows_are_counted_by_compiled_code(monkeypatch):
    """Both bodies are one function, and agree where the number of steps decides between them."""
    rng = np.random.default_rng(3)
    p = rng.random(3000).round(3)
    y = rng.random(3000) < p
    slow = recalibrate(y, p, method="venn-abers")
    monkeypatch.setattr(dispatch, "FAST_LOOP_STEPS", 100)
    fast = recalibrate(y, p, method="venn-abers")
    for name in ("scores", "p0", "p1"):
        np.testing.assert_allclose(fast.parameters[name], slow.parameters[name], rtol=1e-14)


def test_tables_keep_only_scores_at_which_a_bound_changes():
    rng = np.random.default_rng(4)
    p = rng.random(2000)
    found = recalibrate(rng.random(2000) < p, p, method="venn-abers")
    scores, p0, p1 = (found.parameters[name] for name in ("scores", "p0", "p1"))
    assert len(scores) < 400
    assert (np.diff(scores) > 0).all()
    assert (p0 <= p1).all()
    assert ((np.diff(p0) > 0)[:-1] | (np.diff(p1) > 0)[1:]).all()


def test_venn_abers_grows_like_a_sort():
    """A stack that is walked again for every score would take minutes here."""
    n = 300_000
    p = np.linspace(0, 1, n)
    found = recalibrate(np.arange(n) % 2, p, method="venn-abers")
    p0, p1 = found.bounds([0.5])
    assert 0.49 < p0[0] < p1[0] < 0.51


def test_venn_abers_merges_its_bounds():
    rng = np.random.default_rng(6)
    p = rng.random(3000).round(2)
    found = recalibrate(rng.random(3000) < p, p, method="venn-abers")
    scores = np.concatenate([p, rng.random(30_000), [0.0, 1.0]])
    p0, p1 = found.bounds(scores)
    np.testing.assert_array_equal(found.apply(scores), p1 / (1 - p0 + p1))
