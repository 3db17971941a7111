"""The parts of a mean score."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant.core.ordered import Ordered
from calibrant.core.results import CrpsDecomposition, Decomposition, QuantileDecomposition
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.probabilities import Binary
from calibrant.scores.crps import crps
from calibrant.scores.decompose import DECOMPOSE, mcb_of_events

FIELDS = ("score", "mcb", "dsc", "unc")
rows = st.lists(
    st.tuples(st.integers(0, 1), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.integers(1, 4)),
    min_size=1,
    max_size=25,
)


def columns(drawn):
    return (np.array(column) for column in zip(*drawn, strict=True))


class TestIsotonic:
    def test_by_hand(self):
        # Frequencies 1, 0, 1 at 0.25, 0.5, 0.75: the first two pool to 1/2. Base rate 2/3.
        parts = cb.decompose([1, 0, 1], [0.25, 0.5, 0.75])
        score, fit, unc = (0.5625 + 0.25 + 0.0625) / 3, (0.25 + 0.25) / 3, 2 / 9
        assert [getattr(parts, name) for name in FIELDS] == pytest.approx([score, score - fit, unc - fit, unc])
        assert parts.within == 0.0

    def test_log_by_hand(self):
        # The same fit: two rows at 1/2 and one at 1, so S = 2 ln 2 / 3; base rate 2/3.
        parts = cb.decompose([1, 0, 1], [0.25, 0.5, 0.75], score="log")
        fit, unc = 2 * math.log(2) / 3, -(2 * math.log(2 / 3) + math.log(1 / 3)) / 3
        score = (math.log(4) + math.log(2) - math.log(0.75)) / 3
        assert [getattr(parts, name) for name in FIELDS] == pytest.approx([score, score - fit, unc - fit, unc])

    def test_weights(self):
        # Weight 3 on the first row: pooled fit (3 + 0)/4 over the first two.
        parts = cb.decompose([1, 0, 1], [0.25, 0.5, 0.75], weights=[3, 1, 1])
        assert parts.score == pytest.approx((3 * 0.5625 + 0.25 + 0.0625) / 5)
        assert parts.score - parts.mcb == pytest.approx((3 * 0.0625 + 0.5625) / 5)
        assert parts.unc == pytest.approx(0.8 * 0.2)

    @given(rows, st.sampled_from(["brier", "log"]))
    def test_distributions(self, drawn, score):
        y, p, w = columns(drawn)
        parts = cb.decompose(y, p, weights=w, score=score)
        verb = cb.brier_score if score == "brier" else cb.log_score
        assert parts.score == pytest.approx(verb(y, p, weights=w), rel=1e-12, abs=1e-15)
        assert parts.mcb >= 0
        assert 0 <= parts.dsc <= parts.unc + 1e-12
        assert np.isfinite([parts.dsc, parts.unc]).all()
        if math.isfinite(parts.score):
            assert parts.mcb - parts.dsc + parts.unc == pytest.approx(parts.score, abs=1e-12)

    def test_impossible_row(self):
        parts = cb.decompose([1, 0, 1], [0.0, 0.25, 0.75], score="log")
        assert parts.score == parts.mcb == math.inf
        assert parts.unc == pytest.approx(-(2 * math.log(2 / 3) + math.log(1 / 3)) / 3)
        assert 0 <= parts.dsc < math.inf
        assert cb.decompose([1, 0, 1], [0.0, 0.25, 0.75]).score == pytest.approx((1 + 0.0625 + 0.0625) / 3)

    @pytest.mark.parametrize("score", ["brier", "log"])
    @pytest.mark.parametrize(("y", "p"), [([0] * 3, [0.25, 0.5, 0.75]), ([1] * 3, [0.25, 0.5, 0.75]), ([1], [0.25])])
    def test_one_class(self, y, p, score):
        parts = cb.decompose(y, p, score=score)
        assert (parts.dsc, parts.unc) == (0.0, 0.0)
        assert parts.mcb == parts.score > 0
        if len(y) == 1:
            assert parts.score == (0.5625 if score == "brier" else pytest.approx(math.log(4)))

    def test_perfect(self):
        parts = cb.decompose([0, 1, 1], [0.0, 1.0, 1.0], score="log")
        assert (parts.score, parts.mcb) == (0.0, 0.0)
        assert parts.dsc == parts.unc > 0

    def test_ties_do_not_depend_on_the_order_of_rows(self):
        one, other = cb.decompose([0, 1, 1], [0.5, 0.5, 0.75]), cb.decompose([1, 0, 1], [0.5, 0.5, 0.75])
        assert one == other
        assert one.score - one.mcb == pytest.approx((0.25 + 0.25) / 3)


@given(drawn=st.data())
def test_the_miscalibration_of_redraws_is_that_of_each(drawn):
    score = np.sort(drawn.draw(st.lists(st.sampled_from(np.arange(11) / 10), min_size=1, max_size=12)))
    weights = drawn.draw(st.lists(st.sampled_from([1.0, 2.0, 0.3]), min_size=score.size, max_size=score.size))
    rows = Ordered.of(Binary(np.zeros(score.size, np.uint8), score, np.array(weights)))
    events = np.random.default_rng(0).integers(0, rows.count + 1, (5, rows.count.size))
    each = [DECOMPOSE.finish(replace(rows, events=row), DECOMPOSE.usual).mcb for row in events]
    assert mcb_of_events(rows, events) == pytest.approx(each, abs=1e-12)


class TestBins:
    def test_by_hand(self):
        # (0, 0.5]: p̄ 0.375, ȳ 0.5; (0.5, 1]: p̄ 0.875, ȳ 0; base rate 1/4.
        parts = cb.decompose([0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0], method="bins", bins=2)
        assert parts.score == (0.0625 + 0.25 + 0.5625 + 1) / 4
        assert (parts.mcb, parts.dsc) == ((1 / 64 + 49 / 64) / 2, (1 / 16 + 1 / 16) / 2)
        assert parts.unc == 3 / 16
        assert parts.within == pytest.approx(parts.score - parts.mcb + parts.dsc - parts.unc)

    @given(rows, st.integers(1, 20), st.sampled_from(["width", "mass"]))
    def test_parts_add_up(self, drawn, bins, strategy):
        y, p, w = columns(drawn)
        parts = cb.decompose(y, p, weights=w, method="bins", bins=bins, strategy=strategy)
        assert parts.mcb - parts.dsc + parts.unc + parts.within == pytest.approx(parts.score, abs=1e-14)
        assert parts.score == pytest.approx(cb.brier_score(y, p, weights=w), rel=1e-12, abs=1e-15)

    def test_equal_scores_in_each_bin_leave_nothing_within(self):
        parts = cb.decompose([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], method="bins", bins=2)
        assert parts.within == pytest.approx(0, abs=1e-15)


def test_recalibrated_scores_have_no_miscalibration(D1):
    y, p = D1
    curve = cb.reliability_curve(y, p, strategy="isotonic", resamples=19)
    recalibrated = curve.fitted[np.searchsorted(curve.p, p)]
    before, after = cb.decompose(y, p), cb.decompose(y, recalibrated)
    assert after.mcb == pytest.approx(0, abs=1e-15)
    assert after.dsc == pytest.approx(before.dsc, abs=1e-14)
    assert after.score == pytest.approx(before.score - before.mcb, abs=1e-14)


class TestGrid:
    def test_by_hand(self):
        # 0.501 and 0.503 share a cell: no event, then one. The rows are fitted by 0 and 1, their cell by 1/2, which is
        # worse than the predictions themselves.
        y, p = [0, 1], [0.501, 0.503]
        grid = cb.summarize("ece", y, p)
        found, exact = cb.decompose(grid), cb.decompose(y, p)
        assert found.score == pytest.approx(exact.score, rel=1e-14)
        assert (found.unc, found.mcb) == (0.25, 0.0)
        assert found.dsc == pytest.approx(0.25 - (0.501**2 + 0.497**2) / 2, rel=1e-12)
        assert (exact.mcb, exact.dsc) == (exact.score, 0.25)
        rounding = DECOMPOSE.rounding(grid, DECOMPOSE.usual)
        assert rounding == {"score": 0.0, "mcb": 0.5, "dsc": 0.5, "unc": 0.0, "within": 0.0}

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400), st.floats(0.1, 10)), min_size=1, max_size=60),
        st.sampled_from([1e-5, 1e-4, 1e-3]),
    )
    def test_fits_of_rows_within_cells(self, drawn, step):
        y, k, w = (np.array(column) for column in zip(*drawn, strict=True))
        p = 0.4955 + k * step  # many rows to a cell, ties among them
        grid = cb.summarize("ece", y, p, weights=w)
        found, exact = cb.decompose(grid), cb.decompose(y, p, weights=w)
        rounding = DECOMPOSE.rounding(grid, DECOMPOSE.usual)
        for part in ("mcb", "dsc"):
            more = getattr(exact, part) - getattr(found, part)
            assert -1e-12 <= more <= rounding[part] + 1e-12


Y = [0.0, 1.0, 2.0, 5.0]
rows_decompose_quantiles = st.lists(
    st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=15
)


def pinball(y, q, level):
    return np.maximum(level * (y - q), (1 - level) * (q - y))


@pytest.mark.parametrize(
    ("y", "q", "level", "expected"),
    [
        (Y, [1.0] * 4, 0.5, (0.75, 0.0, 0.0, 0.75)),  # a constant forecast does not discriminate
        (Y, Y, 0.5, (0.0, 0.0, 0.75, 0.75)),
        ([3.0] * 4, [1.0, 2.0, 3.0, 4.0], 0.9, (0.7, 0.7, 0.0, 0.0)),
        ([2.0], [5.0], 0.9, (0.3, 0.3, 0.0, 0.0)),
        # Falling outcomes are pooled into one block: its median is the constant's.
        (Y, [4.0, 3.0, 2.0, 1.0], 0.5, (1.25, 0.5, 0.0, 0.75)),
        (Y, [-np.inf, 1.0, 2.0, np.inf], 0.5, (np.inf, np.inf, 0.75, 0.75)),
    ],
)
def test_quantiles_by_hand(y, q, level, expected):
    found = cb.decompose(y, cb.Quantiles(q, level))
    assert [getattr(found, name) for name in FIELDS] == pytest.approx(list(expected), abs=1e-15)


def test_quantiles_are_recomputed_and_not_averaged():
    # Blocks {0, 9} and {3}: their medians 0 and 3 rise. The mean of block medians is no median.
    found = cb.decompose([9.0, 0.0, 3.0], cb.Quantiles([1.0, 2.0, 3.0], 0.5))
    best = pinball(np.array([9.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0]), 0.5).mean()
    assert found.score - found.mcb == pytest.approx(best, rel=1e-15)


@given(rows_decompose_quantiles, st.sampled_from([0.1, 0.5, 0.75]))
def test_distributions(drawn, level):
    y, q, gap, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    found = cb.decompose(y, cb.Quantiles(np.stack([q, q + gap], axis=1), [level, 0.9]), weights=w)
    assert found.level.tolist() == [level, 0.9]
    for k, (values, tau) in enumerate(((q, level), (q + gap, 0.9))):
        assert found.score[k] == pytest.approx((w * pinball(y, values, tau)).sum() / w.sum(), abs=1e-14)
    assert (found.mcb >= 0).all()
    assert (found.dsc >= 0).all()
    np.testing.assert_allclose(found.mcb - found.dsc + found.unc, found.score, atol=1e-14)
    assert (found.dsc <= found.unc + 1e-12).all()
    for name in FIELDS:
        assert getattr(found.wis, name) == pytest.approx(2 * getattr(found, name).mean(), abs=1e-14)


def test_recalibrated_forecasts_have_no_miscalibration(rng):
    q = rng.normal(size=300)
    y = 2 * q + rng.normal(size=300)
    before = cb.decompose(y, cb.Quantiles(q, 0.7))
    curve = cb.reliability_curve(y, cb.Quantiles(q, 0.7))
    for column in (curve.recalibrated_low, curve.recalibrated_high):
        after = cb.decompose(y, cb.Quantiles(column[np.searchsorted(curve.forecast, q)], 0.7))
        assert after.mcb == pytest.approx(0, abs=1e-15)
        assert after.score == pytest.approx(before.score - before.mcb, abs=1e-14)


def test_one_level_gives_numbers_and_several_arrays():
    single, listed = cb.decompose(Y, cb.Quantiles(Y, 0.5)), cb.decompose(Y, cb.Quantiles(np.array(Y)[:, None], [0.5]))
    assert isinstance(single, QuantileDecomposition)
    assert isinstance(single.wis, Decomposition)
    assert isinstance(single.mcb, float)
    assert listed.mcb.shape == (1,)


ensembles = st.integers(1, 5).flatmap(
    lambda M: st.lists(
        st.tuples(st.integers(-5, 5), st.lists(st.integers(-5, 5), min_size=M, max_size=M), st.integers(1, 3)),
        min_size=1,
        max_size=12,
    )
)


def arrays(drawn):
    return (np.array(column, dtype=float) for column in zip(*drawn, strict=True))


class TestIsotonicDecomposeCrps:
    @given(ensembles)
    def test_draws(self, drawn):
        y, x, w = arrays(drawn)
        found = cb.decompose(y, cb.Samples(x), weights=w)
        assert isinstance(found, CrpsDecomposition)
        assert found.score == pytest.approx(crps(y, cb.Samples(x), weights=w), abs=1e-12)
        assert found.mcb - found.dsc + found.unc == pytest.approx(found.score, abs=1e-12)
        assert found.mcb >= 0
        assert found.dsc >= 0
        assert found.discretisation == 0.0

    def test_draws_are_their_own_quantiles(self, rng):
        y, x = rng.normal(size=30), rng.normal(size=(30, 4))
        by_level = cb.decompose(y, cb.Quantiles(np.sort(x, axis=1), (np.arange(4) + 0.5) / 4)).wis
        found = cb.decompose(y, cb.Samples(x))
        for name in FIELDS:
            assert getattr(found, name) == pytest.approx(getattr(by_level, name), rel=1e-13)

    @pytest.mark.parametrize("family", [cb.Normal, cb.Laplace])
    def test_distributions(self, family, rng):
        mean = rng.normal(size=200)
        y = rng.normal(mean)
        found = cb.decompose(y, family(mean, 1.0))
        assert found.score == pytest.approx(crps(y, family(mean, 1.0)), rel=1e-15)
        assert found.mcb - found.dsc + found.unc + found.discretisation == pytest.approx(found.score, abs=1e-14)
        assert abs(found.discretisation) < 0.01
        coarse = cb.decompose(y, family(mean, 1.0), levels=[0.25, 0.75])
        assert abs(coarse.discretisation) > abs(found.discretisation)

    def test_levels_are_read_one_by_one(self):
        y, levels = np.array([0.0, 1.0, 5.0]), [0.1, 0.5, 0.9]
        distribution = cb.Mixture([cb.Normal([0.0, 1.0, 2.0], 1.0), cb.Laplace([0.0] * 3, 1.0)], [0.5, 0.5])
        by_level = cb.decompose(y, distribution.quantiles(levels)).wis
        found = cb.decompose(y, distribution, levels=levels)
        assert (found.mcb, found.dsc, found.unc) == pytest.approx((by_level.mcb, by_level.dsc, by_level.unc), rel=1e-13)

    def test_climatology_does_not_discriminate(self):
        y = np.arange(9.0)
        found = cb.decompose(y, cb.Samples(np.tile(y, (9, 1))))
        assert (found.mcb, found.dsc) == pytest.approx((0, 0), abs=1e-14)
        assert found.unc == pytest.approx(crps(y, cb.Samples(np.tile(y, (9, 1)))), rel=1e-13)


def loop(y, x):
    """Return reliability and potential of Hersbach (2000), row by row and bin by bin."""
    n, M = x.shape
    x = np.sort(x, axis=1)
    reliability = potential = 0.0
    for i in range(M + 1):
        if i == 0:
            o, length = np.mean(y < x[:, 0]), np.mean(np.maximum(x[:, 0] - y, 0))
            g = length / o if o else 0.0
        elif i == M:
            o, length = np.mean(y < x[:, -1]), np.mean(np.maximum(y - x[:, -1], 0))
            g = length / (1 - o) if o < 1 else 0.0
        else:
            a = [min(max(yi - xi[i - 1], 0), xi[i] - xi[i - 1]) for yi, xi in zip(y, x, strict=True)]
            b = [min(max(xi[i] - yi, 0), xi[i] - xi[i - 1]) for yi, xi in zip(y, x, strict=True)]
            g = (sum(a) + sum(b)) / n
            o = sum(b) / n / g if g else 0.0
        reliability += g * (o - i / M) ** 2
        potential += g * o * (1 - o)
    return reliability, potential


class TestHersbach:
    @given(ensembles)
    def test_is_the_paper(self, drawn):
        y, x, _ = arrays(drawn)
        found = cb.decompose(y, cb.Samples(x), method="hersbach")
        reliability, potential = loop(y, x)
        assert found.reliability == pytest.approx(reliability, abs=1e-12)
        assert found.potential == pytest.approx(potential, abs=1e-12)
        assert found.score == pytest.approx(crps(y, cb.Samples(x)), abs=1e-12)
        assert found.uncertainty == pytest.approx(np.abs(y[:, None] - y).mean() / 2, abs=1e-12)
        assert found.score == pytest.approx(found.mcb - found.dsc + found.unc, abs=1e-12)

    def test_resolution_may_be_negative(self):
        # Draws on the wrong sides: o_0 = 1/2 and g_0 = 5, so a potential score of 5/4 and more; the uncertainty is 1/4.
        found = cb.decompose([0.0, 1.0], cb.Samples([[5.0, 6.0], [-6.0, -5.0]]), method="hersbach")
        assert found.uncertainty == 0.25
        assert found.resolution <= -1


PROBABILITIES, QUANTILES = ([0, 1], [0.2, 0.7]), (Y, cb.Quantiles(Y, 0.5))
DRAWS = ([0.0, 3.0], cb.Samples([[1.0], [2.0]]))
GRID = (cb.summarize("ece", *PROBABILITIES),)
NORMAL, VECTORS = ([1.0], cb.Normal(0.0, 1.0)), ([[0.0, 0.0]], cb.MvNormal([[0.0, 0.0]], np.eye(2)))


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (PROBABILITIES, {"method": "bins", "score": "log"}, 'splits the Brier score only; use method="isotonic"'),
        (PROBABILITIES, {"levels": [0.5]}, "levels= is for distributions"),
        (([0, 1], [[0.2, 0.8], [0.5, 0.5]]), {}, "top_label(y, P)"),
        (GRID, {"score": "log"}, "a Grid does not have the log score"),
        (GRID, {"method": "bins", "strategy": "mass"}, "width bins only"),
        ((cb.summarize("brier_score", *PROBABILITIES),), {}, "Ordered or KeptRows or Grid"),
        (QUANTILES, {"score": "log"}, "score= is for probabilities"),
        (QUANTILES, {"bins": 5}, "bins= is for probabilities"),
        (QUANTILES, {"strategy": "mass"}, "strategy= is for probabilities; got 'mass' with Quantiles"),
        (QUANTILES, {"method": "bins"}, "method must be one of 'isotonic'"),
        (QUANTILES, {"method": "hersbach"}, "method must be one of 'isotonic'"),
        (QUANTILES, {"levels": [0.5]}, "levels= is for distributions"),
        (DRAWS, {"weights": [1, 2], "method": "hersbach"}, "takes no weights; leave them out or use method="),
        (DRAWS, {"levels": [0.5]}, "draws are their own quantiles"),
        (NORMAL, {"method": "hersbach"}, "is for Samples; got Normal"),
        (NORMAL, {"score": "log"}, "score= is for probabilities; got 'log' with Normal"),
        (VECTORS, {}, "got 2 coordinates"),
        (([1.0], cb.ScipyDistribution(stats.gamma(a=[2.0]))), {}, "scoringrules"),
    ],
)
def test_refusals(rows, options, words):
    with pytest.raises((InputError, SummaryError), match=re.escape(words)):
        cb.decompose(*rows, **options)
