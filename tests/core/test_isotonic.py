"""The isotonic fit against its min-max formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.isotonic import grouped_forecasts, isotonic_fit, isotonic_quantile, lower_quantile, ranked_outcomes
from calibrant.inputs.arrays import unit_weights


def min_max(events, weights):
    """Return max_{a<=i} min_{b>=i} of the mean over a..b: the isotonic regression, without pooling."""

    def mean(a, b):
        return sum(events[a : b + 1]) / sum(weights[a : b + 1])

    n = len(weights)
    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@pytest.mark.parametrize(
    ("events", "weights", "fit"),
    [
        # Frequencies 0, 1, 0.5 with weights 1, 2, 2: the last two violate the order and pool to (2 + 1) / 4.
        ([0, 2, 1], [1, 2, 2], [0.0, 0.75, 0.75]),
        ([0], [1], [0.0]),
        ([1], [1], [1.0]),
    ],
)
def test_by_hand(events, weights, fit):
    assert isotonic_fit(np.array(events), np.array(weights)).tolist() == fit


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=12))
def test_min_max_formula(drawn):
    share, weight = np.array(drawn).T
    fit = isotonic_fit(share * weight, weight)
    np.testing.assert_allclose(fit, min_max((share * weight).tolist(), weight.tolist()), rtol=1e-9, atol=1e-12)
    assert (np.diff(fit) >= 0).all()
    assert fit.min() >= 0
    assert fit.max() <= 1


TENTH = Fraction(1, 10)
LEVELS = {0.1: TENTH, 1 - 0.9: TENTH, 0.25: Fraction(1, 4), 0.5: Fraction(1, 2), 0.7: 7 * TENTH}

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=10)


def quantile(y, w, tau, upper):
    """Return the quantile in rational arithmetic."""
    total = int(w.sum())
    for z in np.unique(y):
        reached = Fraction(int(w[y <= z].sum()), total)
        if reached > tau or (reached == tau and not upper):
            return z
    raise AssertionError


def fitted(y, q, w, level, **side):
    return isotonic_quantile(ranked_outcomes(y), w, grouped_forecasts(q), level, **side)


def definition(y, q, w, tau, upper):
    values = np.unique(q)

    def block(a, b):
        inside = (q >= a) & (q <= b)
        return quantile(y[inside], w[inside], tau, upper)

    return [max(min(block(a, b) for b in values[values >= v]) for a in values[values <= v]) for v in values]


@given(rows, st.sampled_from(sorted(LEVELS)), st.booleans(), st.sampled_from([1.0, 0.1, 7.0, 1e-3]))
def test_is_the_maximum_of_minima(drawn, level, upper, factor):
    y, q, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    assert fitted(y, q, w * factor, level, upper=upper).tolist() == definition(y, q, w, LEVELS[level], upper)


@given(rows, st.sampled_from(sorted(LEVELS)))
def test_lower_quantile(drawn, level):
    y, _, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    assert lower_quantile(ranked_outcomes(y), w, level) == quantile(y, w, LEVELS[level], False)


@given(rows, st.sampled_from(sorted(LEVELS)), st.booleans())
def test_weights_are_repeated_rows(drawn, level, upper):
    y, q, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    times = w.astype(int)
    twice = fitted(np.repeat(y, times), np.repeat(q, times), unit_weights(times.sum()), level, upper=upper)
    assert twice.tolist() == fitted(y, q, w, level, upper=upper).tolist()


@given(rows, st.sampled_from(sorted(LEVELS)))
def test_both_fits_have_the_best_score(drawn, level):
    # No rising function scores better: the best over all thresholds is found by dynamic programming.
    y, q, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    values, order = np.unique(y), np.argsort(q, kind="stable")
    forecasts = grouped_forecasts(q)

    def loss(z, rows_):
        error = y[rows_] - z
        return float((w[rows_] * np.maximum(level * error, (level - 1) * error)).sum())

    best = np.zeros(values.size)
    start = 0
    for end in forecasts.ends:
        best = np.minimum.accumulate(best) + [loss(z, order[start:end]) for z in values]
        start = end
    for upper in (False, True):
        fit = np.repeat(fitted(y, q, w, level, upper=upper), forecasts.rows)
        assert (np.diff(fit) >= 0).all()
        total = sum(loss(z, order[[i]]) for i, z in enumerate(fit))
        assert total == pytest.approx(best.min(), abs=1e-12)


def test_weights_that_are_no_multiples(rng):
    y, q, w = rng.integers(0, 9, 40) * 1.0, rng.integers(0, 12, 40) * 1.0, rng.uniform(0.2, 3, 40)
    shares = np.rint(w * 1e6)
    for level, tau in LEVELS.items():
        assert fitted(y, q, shares / 1e6, level).tolist() == definition(y, q, shares, tau, False)


def test_many_rows_agree_with_pooled_halves():
    # A fit of outcomes that rise with the forecast is the outcomes; one that falls is one quantile for all.
    n = 100_000
    q = np.arange(n, dtype=float)
    w = unit_weights(n)
    np.testing.assert_array_equal(fitted(q, q, w, 0.3), q)
    falling = fitted(-q, q, w, 0.3)
    assert np.unique(falling).tolist() == [-(n - 1) + 0.3 * n - 1]


def test_infinite_forecasts_are_only_ordered():
    y = np.array([3.0, 1.0, 2.0])
    fits = [fitted(y, np.array(q), unit_weights(3), 0.5).tolist() for q in ([0.0, 1.0, 2.0], [-np.inf, 1.0, np.inf])]
    assert fits[0] == fits[1]
    assert fitted(np.array([2.0]), np.array([5.0]), unit_weights(1), 0.9).tolist() == [2.0]
