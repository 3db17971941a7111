"""The parts of a mean score."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import (
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    Quantiles,
    Samples,
    ScipyDistribution,
    brier_score,
    decompose,
    log_score,
    reliability_curve,
    summarize,
)
from calibrant.core.ordered import Ordered
from calibrant.core.results import CrpsDecomposition, Decomposition, QuantileDecomposition
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.probabilities import Binary
from calibrant.scores.crps import crps
from calibrant.scores.decompose import DECOMPOSE, mcb_of_events
from calibrant.summaries import Summary

rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=25,
)


def columns(drawn):
    return (np.array(column) for column in zip(*drawn, strict=True))


class TestIsotonic:
    def test_by_hand(self):
        # Frequencies 1, 0, 1 at 0.25, 0.5, 0.75: the first two pool to 1/2. Base rate 2/3.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75])
        score, fit, unc = (0.5625 + 0.25 + 0.0625) / 3, (0.25 + 0.25) / 3, 2 / 9
        assert parts.score == pytest.approx(score)
        assert parts.mcb == pytest.approx(score - fit)
        assert parts.dsc == pytest.approx(unc - fit)
        assert parts.unc == pytest.approx(unc)
        assert parts.within == 0.0

    def test_log_by_hand(self):
        # The same fit: two rows at 1/2 and one at 1, so S = 2 ln 2 / 3; base rate 2/3.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75], score="log")
        fit, unc = 2 * math.log(2) / 3, -(2 * math.log(2 / 3) + math.log(1 / 3)) / 3
        assert parts.score == pytest.approx((math.log(4) + math.log(2) - math.log(0.75)) / 3)
        assert parts.mcb == pytest.approx(parts.score - fit)
        assert parts.dsc == pytest.approx(unc - fit)
        assert parts.unc == pytest.approx(unc)

    def test_weights(self):
        # Weight 3 on the first row: pooled fit (3 + 0)/4 over the first two.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75], weights=[3, 1, 1])
        assert parts.score == pytest.approx((3 * 0.5625 + 0.25 + 0.0625) / 5)
        assert parts.score - parts.mcb == pytest.approx((3 * 0.0625 + 0.5625) / 5)
        assert parts.unc == pytest.approx(0.8 * 0.2)

    @given(rows, st.sampled_from(["brier", "log"]))
    def test_distributions(self, drawn, score):
        y, p, w = columns(drawn)
        parts = decompose(y, p, weights=w, score=score)
        verb = brier_score if score == "brier" else log_score
        assert parts.score == pytest.approx(verb(y, p, weights=w), rel=1e-12, abs=1e-15)
        assert parts.mcb >= 0
        assert 0 <= parts.dsc <= parts.unc + 1e-12
        assert np.isfinite([parts.dsc, parts.unc]).all()
        if math.isfinite(parts.score):
            assert parts.mcb - parts.dsc + parts.unc == pytest.approx(parts.score, abs=1e-12)
        repeated = decompose(np.repeat(y, w), np.repeat(p, w), score=score)
        assert repeated.dsc == pytest.approx(parts.dsc, abs=1e-12)
        assert repeated.unc == pytest.approx(parts.unc, abs=1e-12)

    def test_impossible_row(self):
        parts = decompose([1, 0, 1], [0.0, 0.25, 0.75], score="log")
        assert parts.score == parts.mcb == math.inf
        assert parts.unc == pytest.approx(-(2 * math.log(2 / 3) + math.log(1 / 3)) / 3)
        assert 0 <= parts.dsc < math.inf
        assert decompose([1, 0, 1], [0.0, 0.25, 0.75]).score == pytest.approx((1 + 0.0625 + 0.0625) / 3)

    @pytest.mark.parametrize("score", ["brier", "log"])
    @pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
    def test_one_class(self, y, score):
        parts = decompose(y, [0.25, 0.5, 0.75], score=score)
        assert (parts.dsc, parts.unc) == (0.0, 0.0)
        assert parts.mcb == parts.score > 0

    @pytest.mark.parametrize("score", ["brier", "log"])
    def test_one_row(self, score):
        parts = decompose([1], [0.25], score=score)
        assert parts.mcb == parts.score == (0.5625 if score == "brier" else pytest.approx(math.log(4)))
        assert (parts.dsc, parts.unc) == (0.0, 0.0)

    def test_perfect(self):
        parts = decompose([0, 1, 1], [0.0, 1.0, 1.0], score="log")
        assert (parts.score, parts.mcb) == (0.0, 0.0)
        assert parts.dsc == parts.unc > 0

    def test_ties_do_not_depend_on_the_order_of_rows(self):
        one, other = decompose([0, 1, 1], [0.5, 0.5, 0.75]), decompose([1, 0, 1], [0.5, 0.5, 0.75])
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
        parts = decompose([0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0], method="bins", bins=2)
        assert parts.score == (0.0625 + 0.25 + 0.5625 + 1) / 4
        assert parts.mcb == (1 / 64 + 49 / 64) / 2
        assert parts.dsc == (1 / 16 + 1 / 16) / 2
        assert parts.unc == 3 / 16
        assert parts.within == pytest.approx(parts.score - parts.mcb + parts.dsc - parts.unc)

    @given(rows, st.integers(1, 20), st.sampled_from(["width", "mass"]))
    def test_parts_add_up(self, drawn, bins, strategy):
        y, p, w = columns(drawn)
        parts = decompose(y, p, weights=w, method="bins", bins=bins, strategy=strategy)
        assert parts.mcb - parts.dsc + parts.unc + parts.within == pytest.approx(parts.score, abs=1e-14)
        assert parts.score == pytest.approx(brier_score(y, p, weights=w), rel=1e-12, abs=1e-15)

    def test_equal_scores_in_each_bin_leave_nothing_within(self):
        parts = decompose([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], method="bins", bins=2)
        assert parts.within == pytest.approx(0, abs=1e-15)

    def test_brier_only(self, refusal):
        message = refusal(decompose, [0, 1], [0.25, 0.5], method="bins", score="log")
        assert message == 'method="bins" splits the Brier score only; use method="isotonic" for the log score'


def test_recalibrated_scores_have_no_miscalibration(D1):
    y, p = D1
    curve = reliability_curve(y, p, strategy="isotonic", resamples=19)
    recalibrated = curve.fitted[np.searchsorted(curve.p, p)]
    before, after = decompose(y, p), decompose(y, recalibrated)
    assert after.mcb == pytest.approx(0, abs=1e-15)
    assert after.dsc == pytest.approx(before.dsc, abs=1e-14)
    assert after.score == pytest.approx(before.score - before.mcb, abs=1e-14)


def test_refuses_a_matrix(refusal, D2):
    assert "top_label(y, P)" in refusal(decompose, *D2)


class TestGrid:
    def test_by_hand(self):
        # 0.501 and 0.503 share a cell: no event, then one. The rows are fitted by 0 and 1, their cell by 1/2, which is
        # worse than the predictions themselves.
        y, p = [0, 1], [0.501, 0.503]
        grid = summarize("ece", y, p)
        found, exact = decompose(grid), decompose(y, p)
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
        grid = summarize("ece", y, p, weights=w)
        found, exact = decompose(grid), decompose(y, p, weights=w)
        rounding = DECOMPOSE.rounding(grid, DECOMPOSE.usual)
        for part in ("mcb", "dsc"):
            more = getattr(exact, part) - getattr(found, part)
            assert -1e-12 <= more <= rounding[part] + 1e-12

    def test_log_score_is_refused(self, refusal):
        message = refusal(decompose, summarize("ece", [0, 1], [0.2, 0.7]), score="log", error=SummaryError)
        assert message.startswith("a Grid does not have the log score")

    def test_mass_bins_are_refused(self, refusal):
        grid = summarize("ece", [0, 1], [0.2, 0.7])
        assert "width bins only" in refusal(decompose, grid, method="bins", strategy="mass", error=SummaryError)


Y = [0.0, 1.0, 2.0, 5.0]
FIELDS = ("score", "mcb", "dsc", "unc")

rows_decompose_quantiles = st.lists(
    st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=15
)


def parts(y, q, level, **options):
    found = decompose(y, Quantiles(q, level), **options)
    return tuple(getattr(found, name) for name in FIELDS)


def pinball(y, q, level):
    return np.maximum(level * (y - q), (1 - level) * (q - y))


class TestByHand:
    def test_a_constant_forecast_does_not_discriminate(self):
        assert parts(Y, [1.0] * 4, 0.5) == (0.75, 0.0, 0.0, 0.75)

    def test_a_perfect_forecast(self):
        assert parts(Y, Y, 0.5) == (0.0, 0.0, 0.75, 0.75)

    def test_outcomes_that_do_not_vary(self):
        assert parts([3.0] * 4, [1.0, 2.0, 3.0, 4.0], 0.9) == pytest.approx((0.7, 0.7, 0.0, 0.0), abs=1e-15)

    def test_one_row(self):
        assert parts([2.0], [5.0], 0.9) == pytest.approx((0.3, 0.3, 0.0, 0.0), abs=1e-15)

    def test_a_forecast_in_the_wrong_order(self):
        # Falling outcomes are pooled into one block: its median is the constant's.
        assert parts(Y, [4.0, 3.0, 2.0, 1.0], 0.5) == (1.25, 0.5, 0.0, 0.75)

    def test_quantiles_are_recomputed_and_not_averaged(self):
        # Blocks {0, 9} and {3}: their medians 0 and 3 rise. The mean of block medians is no median.
        found = decompose([9.0, 0.0, 3.0], Quantiles([1.0, 2.0, 3.0], 0.5))
        fit = np.array([0.0, 0.0, 3.0])
        best = pinball(np.array([9.0, 0.0, 3.0]), fit, 0.5).mean()
        assert found.score - found.mcb == pytest.approx(best, rel=1e-15)


@given(rows_decompose_quantiles, st.sampled_from([0.1, 0.5, 0.75]))
def test_distributions(drawn, level):
    y, q, gap, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    found = decompose(y, Quantiles(np.stack([q, q + gap], axis=1), [level, 0.9]), weights=w)
    assert found.level.tolist() == [level, 0.9]
    for k, (values, tau) in enumerate(((q, level), (q + gap, 0.9))):
        assert found.score[k] == pytest.approx((w * pinball(y, values, tau)).sum() / w.sum(), abs=1e-14)
    assert (found.mcb >= 0).all()
    assert (found.dsc >= 0).all()
    np.testing.assert_allclose(found.mcb - found.dsc + found.unc, found.score, atol=1e-14)
    assert (found.dsc <= found.unc + 1e-12).all()
    for name in FIELDS:
        assert getattr(found.wis, name) == pytest.approx(2 * getattr(found, name).mean(), abs=1e-14)
    times = w.astype(int)
    repeated = decompose(
        np.repeat(y, times), Quantiles(np.repeat(np.stack([q, q + gap], axis=1), times, axis=0), [level, 0.9])
    )
    for name in FIELDS:
        np.testing.assert_allclose(getattr(repeated, name), getattr(found, name), atol=1e-13)


def test_recalibrated_forecasts_have_no_miscalibration():
    rng = np.random.default_rng(0)
    q = rng.normal(size=300)
    y = 2 * q + rng.normal(size=300)
    before = decompose(y, Quantiles(q, 0.7))
    curve = reliability_curve(y, Quantiles(q, 0.7))
    for column in (curve.recalibrated_low, curve.recalibrated_high):
        after = decompose(y, Quantiles(column[np.searchsorted(curve.forecast, q)], 0.7))
        assert after.mcb == pytest.approx(0, abs=1e-15)
        assert after.score == pytest.approx(before.score - before.mcb, abs=1e-14)


def test_one_level_gives_numbers_and_several_arrays():
    single, listed = decompose(Y, Quantiles(Y, 0.5)), decompose(Y, Quantiles(np.array(Y)[:, None], [0.5]))
    assert isinstance(single, QuantileDecomposition)
    assert isinstance(single.wis, Decomposition)
    assert isinstance(single.mcb, float)
    assert listed.mcb.shape == (1,)


def test_infinite_quantiles():
    found = decompose(Y, Quantiles([-np.inf, 1.0, 2.0, np.inf], 0.5))
    assert found.score == found.mcb == np.inf
    assert (found.dsc, found.unc) == (0.75, 0.75)
    assert found.wis.mcb == np.inf


def test_batches_add_up():
    rng = np.random.default_rng(0)
    y, q, w = rng.normal(size=20), np.sort(rng.normal(size=(20, 3)), axis=1), rng.uniform(1, 2, 20)
    levels = [0.2, 0.5, 0.8]
    whole = decompose(y, Quantiles(q, levels), weights=w)
    pieces = [summarize(decompose, y[s], Quantiles(q[s], levels), weights=w[s]) for s in (slice(0, 7), slice(7, 20))]
    merged = decompose(Summary.from_bytes(sum(pieces).to_bytes()))
    for name in FIELDS:
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-13)


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"score": "log"}, "score= is for probabilities"),
            ({"bins": 5}, "bins= is for probabilities"),
            ({"strategy": "mass"}, "strategy= is for probabilities; got 'mass' with Quantiles"),
            ({"method": "bins"}, "method must be one of 'isotonic'"),
            ({"method": "hersbach"}, "method must be one of 'isotonic'"),
            ({"levels": [0.5]}, "levels= is for distributions"),
        ],
    )
    def test_options_of_others(self, refusal, options, words):
        assert words in refusal(decompose, Y, Quantiles(Y, 0.5), **options)

    def test_probabilities_have_no_levels(self, refusal):
        assert "levels= is for distributions" in refusal(decompose, [0, 1], [0.2, 0.7], levels=[0.5])

    def test_other_summaries(self, refusal):
        other = summarize("brier_score", [0, 1], [0.2, 0.7])
        assert "Ordered or KeptRows or Grid" in refusal(decompose, other, error=SummaryError)


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
        found = decompose(y, Samples(x), weights=w)
        assert isinstance(found, CrpsDecomposition)
        assert found.score == pytest.approx(crps(y, Samples(x), weights=w), abs=1e-12)
        assert found.mcb - found.dsc + found.unc == pytest.approx(found.score, abs=1e-12)
        assert found.mcb >= 0
        assert found.dsc >= 0
        assert found.discretisation == 0.0

    def test_draws_are_their_own_quantiles(self):
        rng = np.random.default_rng(0)
        y, x = rng.normal(size=30), rng.normal(size=(30, 4))
        by_level = decompose(y, Quantiles(np.sort(x, axis=1), (np.arange(4) + 0.5) / 4)).wis
        found = decompose(y, Samples(x))
        for name in ("score", "mcb", "dsc", "unc"):
            assert getattr(found, name) == pytest.approx(getattr(by_level, name), rel=1e-13)

    @pytest.mark.parametrize("family", [Normal, Laplace])
    def test_distributions(self, family):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=200)
        y = rng.normal(mean)
        found = decompose(y, family(mean, 1.0))
        assert found.score == pytest.approx(crps(y, family(mean, 1.0)), rel=1e-15)
        assert found.mcb - found.dsc + found.unc + found.discretisation == pytest.approx(found.score, abs=1e-14)
        assert abs(found.discretisation) < 0.01
        coarse = decompose(y, family(mean, 1.0), levels=[0.25, 0.75])
        assert abs(coarse.discretisation) > abs(found.discretisation)

    def test_levels_are_read_one_by_one(self):
        y, distribution = (
            np.array([0.0, 1.0, 5.0]),
            Mixture([Normal([0.0, 1.0, 2.0], 1.0), Laplace([0.0] * 3, 1.0)], [0.5, 0.5]),
        )
        levels = [0.1, 0.5, 0.9]
        by_level = decompose(y, distribution.quantiles(levels)).wis
        found = decompose(y, distribution, levels=levels)
        assert (found.mcb, found.dsc, found.unc) == pytest.approx((by_level.mcb, by_level.dsc, by_level.unc), rel=1e-13)

    def test_climatology_does_not_discriminate(self):
        y = np.arange(9.0)
        found = decompose(y, Samples(np.tile(y, (9, 1))))
        assert found.mcb == pytest.approx(0, abs=1e-14)
        assert found.dsc == pytest.approx(0, abs=1e-14)
        assert found.unc == pytest.approx(crps(y, Samples(np.tile(y, (9, 1)))), rel=1e-13)


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
        found = decompose(y, Samples(x), method="hersbach")
        reliability, potential = loop(y, x)
        assert found.reliability == pytest.approx(reliability, abs=1e-12)
        assert found.potential == pytest.approx(potential, abs=1e-12)
        assert found.score == pytest.approx(crps(y, Samples(x)), abs=1e-12)
        assert found.uncertainty == pytest.approx(np.abs(y[:, None] - y).mean() / 2, abs=1e-12)
        assert found.score == pytest.approx(found.mcb - found.dsc + found.unc, abs=1e-12)

    def test_resolution_may_be_negative(self):
        # Draws on the wrong sides: o_0 = 1/2 and g_0 = 5, so a potential score of 5/4 and more; the uncertainty is 1/4.
        found = decompose([0.0, 1.0], Samples([[5.0, 6.0], [-6.0, -5.0]]), method="hersbach")
        assert found.uncertainty == 0.25
        assert found.resolution <= -1

    def test_equal_weights_are_no_weights(self):
        y, distribution = [0.0, 3.0], Samples([[1.0, 2.0], [3.0, 5.0]])
        assert decompose(y, distribution, weights=[2, 2], method="hersbach") == decompose(
            y, distribution, method="hersbach"
        )

    def test_refuses_weights(self, refusal):
        message = refusal(decompose, [0.0, 3.0], Samples([[1.0], [2.0]]), weights=[1, 2], method="hersbach")
        assert message == 'method="hersbach" takes no weights; leave them out or use method="isotonic"'

    def test_refuses_distributions(self, refusal):
        assert "is for Samples; got Normal" in refusal(decompose, [0.0], Normal(0.0, 1.0), method="hersbach")


def test_batches_add_up_decompose_crps():
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=15), rng.normal(size=(15, 4))
    for distribution, options in ((Samples(x), {}), (Samples(x), {"method": "hersbach"}), (Normal(x[:, 0], 1.0), {})):
        pieces = [summarize(decompose, y[s], distribution.take(s), **options) for s in (slice(0, 4), slice(4, 15))]
        merged, whole = decompose(sum(pieces), **options), decompose(y, distribution, **options)
        assert merged.mcb == pytest.approx(whole.mcb, rel=1e-13)
        assert merged.dsc == pytest.approx(whole.dsc, rel=1e-13)


class TestRefusalsDecomposeCrps:
    def test_levels_of_draws(self, refusal):
        assert "draws are their own quantiles" in refusal(decompose, [0.0], Samples([[1.0]]), levels=[0.5])

    def test_vectors(self, refusal):
        assert "got 2 coordinates" in refusal(decompose, [[0.0, 0.0]], MvNormal([[0.0, 0.0]], np.eye(2)))

    def test_distributions_without_a_closed_form(self, refusal):
        distribution = ScipyDistribution(stats.gamma(a=[2.0]))
        assert "scoringrules" in refusal(decompose, [1.0], distribution, error=NotApplicableError)

    def test_scores_of_probabilities(self, refusal):
        assert "score= is for probabilities; got 'log' with Normal" in refusal(
            decompose, [1.0], Normal(0.0, 1.0), score="log"
        )
