"""What draws show beside the ranks of outcomes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.references.books import book, by_id

from calibrant import Samples
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.counting import marginal_ranks
from calibrant.ranking.draw_evidence import RankedDraws, _few_successes, content_order, evidence_of, outside_of

N, M = 400, 49
RNG = np.random.default_rng(3)
NORMAL = RNG.normal(size=(N, M))
Y = RNG.normal(size=N)


def given_of(y, draws, **options):
    rows = read_outcomes(y, Samples(draws), **options)
    return RankedDraws.of(rows, marginal_ranks(rows, 0).rank)


def far(y, draws):
    return evidence_of(given_of(y, draws))[0].far


def outside(y, draws):
    given = given_of(y, draws)
    chosen = (given.rank[:, 0] == 0) | (given.rank[:, 0] == M)
    return outside_of(given, 0, chosen)


class TestFar:
    def test_reference(self):
        (rows, p), data = by_id("conditional")["far rows"]["value"], book("conditional")["data"]["draws"]
        found = far(data["y"], data["draws"])
        assert [list(found.rows), found.pvalue] == [rows, pytest.approx(p, rel=1e-9)]

    def test_heavy_tails_have_far_draws_too(self):
        rng = np.random.default_rng(0)
        found = far(rng.standard_cauchy(2000), rng.standard_cauchy((2000, 9)))
        assert found.members > 4 * len(found.rows)
        assert found.pvalue > 0.001
        assert far(Y, NORMAL) is None

    def test_rows_are_those_of_the_user(self):
        y, w = Y.copy(), np.ones(N)
        y[[5, 9]] = 40.0
        w[:3] = 0
        assert evidence_of(given_of(y, NORMAL, weights=w))[0].far.rows == (5, 9)


def test_resampled_draws():
    draws = np.take_along_axis(NORMAL[:, :12], RNG.integers(12, size=(N, M)), axis=1)
    assert evidence_of(given_of(Y, draws))[0].repeated
    rng = np.random.default_rng(1)  # counts are not called repeats
    counts = given_of(rng.poisson(3, N).astype(float), rng.poisson(3, (N, M)).astype(float))
    assert not evidence_of(counts)[0].repeated
    tied = np.array([1, 3, 2, 0])
    p = tied / 4
    for k in range(4):
        total = sum(np.prod(np.where(one, p, 1 - p)) for one in itertools.product([0, 1], repeat=4) if sum(one) <= k)
        assert _few_successes(tied, 4, k) == pytest.approx(total)


def test_rows_side_distance_and_spread():
    y = Y.copy()
    y[:80] += 6
    found = outside(y, NORMAL)
    assert found.above > 75
    assert len(set(range(80)) & set(found.rows)) > 75
    assert 2 < found.distance < 6
    found = outside(Y, NORMAL * np.where(np.arange(N) % 2, 1.0, 0.4)[:, None])
    assert found.narrower < 0.8
    rightly = np.where(np.arange(N) % 2, 1.0, 0.5)
    y = rightly * Y
    y[:80:2] += 6
    assert outside(y, NORMAL * rightly[:, None]).narrower == pytest.approx(0.5, abs=0.1)


def test_dependent_draws():
    draws = NORMAL.copy()
    for j in range(1, M):
        draws[:, j] = 0.9 * draws[:, j - 1] + np.sqrt(0.19) * draws[:, j]
    (found,) = evidence_of(given_of(Y, draws))
    assert found.dependent
    assert found.tau > 5
    (calm,) = evidence_of(given_of(Y, NORMAL))
    assert not calm.dependent
    (ordered,) = evidence_of(given_of(Y, np.sort(draws, axis=1)))
    assert not ordered.dependent


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(*[arrays(np.float64, (n, k), elements=st.integers(0, 2)) for k in (1, 2, 1)])
    ),
    st.randoms(),
)
def test_the_same_rows_come_out_of_any_order(parts, random):
    n = len(parts[0])
    rows = np.concatenate(parts, axis=1)
    moved = np.array(random.sample(range(n), n))
    order, other = content_order(*parts), content_order(*(part[moved] for part in parts))
    assert sorted(order) == list(range(n))
    np.testing.assert_array_equal(rows[order], rows[moved][other])


def test_outcomes_count_first():
    assert content_order(np.array([2.0, 1.0, 3.0]), np.array([0.0, 9.0, 0.0])).tolist() == [1, 0, 2]
