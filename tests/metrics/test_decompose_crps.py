"""The parts of a mean CRPS."""

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
    NotApplicableError,
    Quantiles,
    Samples,
    ScipyLaw,
    decompose,
    summarize,
)
from calibrant.metrics.crps import crps
from calibrant.results.records import CrpsDecomposition

ensembles = st.integers(1, 5).flatmap(
    lambda M: st.lists(
        st.tuples(st.integers(-5, 5), st.lists(st.integers(-5, 5), min_size=M, max_size=M), st.integers(1, 3)),
        min_size=1,
        max_size=12,
    )
)


def arrays(drawn):
    return (np.array(column, dtype=float) for column in zip(*drawn, strict=True))


class TestIsotonic:
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
    def test_laws(self, family):
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
        y, law = np.array([0.0, 1.0, 5.0]), Mixture([Normal([0.0, 1.0, 2.0], 1.0), Laplace([0.0] * 3, 1.0)], [0.5, 0.5])
        levels = [0.1, 0.5, 0.9]
        by_level = decompose(y, law.quantiles(levels)).wis
        found = decompose(y, law, levels=levels)
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
        y, law = [0.0, 3.0], Samples([[1.0, 2.0], [3.0, 5.0]])
        assert decompose(y, law, weights=[2, 2], method="hersbach") == decompose(y, law, method="hersbach")

    def test_refuses_weights(self, refusal):
        message = refusal(decompose, [0.0, 3.0], Samples([[1.0], [2.0]]), weights=[1, 2], method="hersbach")
        assert message == 'method="hersbach" takes no weights; leave them out or use method="isotonic"'

    def test_refuses_laws(self, refusal):
        assert "is for Samples; got Normal" in refusal(decompose, [0.0], Normal(0.0, 1.0), method="hersbach")


def test_batches_add_up():
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=15), rng.normal(size=(15, 4))
    for law, options in ((Samples(x), {}), (Samples(x), {"method": "hersbach"}), (Normal(x[:, 0], 1.0), {})):
        pieces = [summarize(decompose, y[s], law.take(s), **options) for s in (slice(0, 4), slice(4, 15))]
        merged, whole = decompose(sum(pieces), **options), decompose(y, law, **options)
        assert merged.mcb == pytest.approx(whole.mcb, rel=1e-13)
        assert merged.dsc == pytest.approx(whole.dsc, rel=1e-13)


class TestRefusals:
    def test_levels_of_draws(self, refusal):
        assert "draws are their own quantiles" in refusal(decompose, [0.0], Samples([[1.0]]), levels=[0.5])

    def test_vectors(self, refusal):
        assert "Pass one coordinate" in refusal(decompose, [[0.0, 0.0]], MvNormal([[0.0, 0.0]], np.eye(2)))

    def test_laws_without_a_closed_form(self, refusal):
        law = ScipyLaw(stats.gamma(a=[2.0]))
        assert "scoringrules" in refusal(decompose, [1.0], law, error=NotApplicableError)

    def test_scores_of_probabilities(self, refusal):
        assert "score= is for probabilities; got 'log' with Normal" in refusal(
            decompose, [1.0], Normal(0.0, 1.0), score="log"
        )
