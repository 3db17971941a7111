"""The parts of a mean quantile score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Quantiles, Summary, SummaryError, decompose, reliability_curve, summarize
from calibrant.results.records import Decomposition, QuantileDecomposition

Y = [0.0, 1.0, 2.0, 5.0]
FIELDS = ("score", "mcb", "dsc", "unc")

rows = st.lists(
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


@given(rows, st.sampled_from([0.1, 0.5, 0.75]))
def test_laws(drawn, level):
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
            ({"levels": [0.5]}, "levels= is for laws"),
        ],
    )
    def test_options_of_others(self, refusal, options, words):
        assert words in refusal(decompose, Y, Quantiles(Y, 0.5), **options)

    def test_probabilities_have_no_levels(self, refusal):
        assert "levels= is for laws" in refusal(decompose, [0, 1], [0.2, 0.7], levels=[0.5])

    def test_other_summaries(self, refusal):
        other = summarize("brier_score", [0, 1], [0.2, 0.7])
        assert "Ordered or KeptQuantiles or KeptLaws" in refusal(decompose, other, error=SummaryError)
