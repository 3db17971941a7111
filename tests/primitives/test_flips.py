import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibrant as cb
from calibrant.inputs.probabilities import read_binary
from calibrant.primitives import flips as sparse
from calibrant.primitives.pool import pool_rows
from calibrant.primitives.walk import tie_ends


def pool_of(p, weights=None, y=None):
    rows = read_binary(np.zeros(len(p), int) if y is None else y, p, verb="test", weights=weights)
    return pool_rows(rows.y, rows.p, rows.w)


def events_of(pool, flips):
    """Spell the flips out as the number of events of each entry."""
    events = np.tile(sparse.base_events(pool), (flips.replicates, 1))
    np.add.at(events, (flips.replicate, flips.entry), np.where(pool.score > 0.5, -1, 1)[flips.entry])
    return events


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 3)), min_size=1, max_size=30),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_extremes_of_flipped_walks_are_those_of_the_walks_spelt_out(rows, seed, weighted):
    p, w = np.array(rows).T
    pool = pool_of(p / 10, w.astype(float) if weighted else None)
    for flips in sparse.redraw_flips(pool, 40, np.random.default_rng(seed)):
        events = events_of(pool, flips)
        assert ((events >= 0) & (events <= pool.rows)).all()
        walks = np.cumsum(pool.weight * (events - pool.rows * pool.score), axis=1)[:, tie_ends(pool.score)]
        high, low = sparse.FlippedWalks(pool).extremes(flips)
        np.testing.assert_allclose(high, walks.max(axis=1, initial=0), atol=1e-12)
        np.testing.assert_allclose(low, walks.min(axis=1, initial=0), atol=1e-12)


def test_flips_have_the_law_of_the_outcomes():
    p = np.array([0.0, 0.1, 0.3, 0.3, 0.5, 0.7, 0.9, 1.0])
    pool = pool_of(p)
    B = 100_000
    events = np.concatenate([events_of(pool, f) for f in sparse.redraw_flips(pool, B, np.random.default_rng(0))])
    assert len(events) == B
    mean, variance = pool.rows * pool.score, pool.rows * pool.score * (1 - pool.score)
    np.testing.assert_allclose(events.mean(axis=0), mean, atol=5 * np.sqrt(0.5 / B))
    np.testing.assert_allclose(events.var(axis=0), variance, atol=0.01)
    # independent rows: covariances vanish
    assert np.abs(np.cov(events.T) - np.diag(events.var(axis=0))).max() < 0.01


@pytest.mark.parametrize("verb", [cb.kuiper_test, cb.kolmogorov_smirnov_test, cb.spiegelhalter_test])
def test_sparse_and_dense_redraws_give_the_same_pvalue(verb, monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.beta(1, 300, 2000)
    y = rng.random(2000) < p
    assert sparse.is_sparse(pool_of(p))
    kept = verb(y, p).pvalue
    monkeypatch.setattr(sparse, "SPARSE", 0.0)
    assert abs(verb(y, p).pvalue - kept) < 5 * np.sqrt(0.25 / 9999) * 2**0.5


def test_scores_of_zero_and_one_never_flip():
    pool = pool_of(np.array([0.0, 0.0, 1.0]))
    for flips in sparse.redraw_flips(pool, 10, np.random.default_rng(0)):
        assert flips.entry.size == 0
        assert flips.replicates == 10
