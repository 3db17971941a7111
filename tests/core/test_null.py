"""Which null is used, and how it is named."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core import null as module
from calibrant.core.null import NullOptions, asymptotic_words, monte_carlo_words, redraw_events
from calibrant.core.pool import Pool, pool_rows, tie_ends
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.probabilities import Binary, Classes, read_binary
from calibrant.inputs.rows import DistributionRows, read_outcomes

TESTS = [cb.kolmogorov_smirnov_test, cb.kuiper_test, cb.spiegelhalter_test]
ALL_TESTS = pytest.mark.parametrize("verb", TESTS, ids=lambda verb: verb.__name__)


@pytest.mark.parametrize(
    ("null", "information", "expected"),
    [
        ("auto", 25.0, "asymptotic"),
        ("auto", 24.999, "monte-carlo"),
        ("asymptotic", 0.1, "asymptotic"),
        ("monte-carlo", 1e6, "monte-carlo"),
    ],
)
def test_resolved(null, information, expected):
    assert NullOptions(null, 99, 0).resolved(information) == expected


def test_words():
    words = "limit; only 7.3 rows' worth of information (25 wanted), so the level may not be kept"
    assert [asymptotic_words("limit", information) for information in (25.0, 7.3)] == ["limit", words]
    assert monte_carlo_words(99) == "99 redraws of the outcomes"


def information(verb, p, w=1.0):
    """Return Σw²v / max w² for the tests of cumulative differences, 1/skewness² or rows/4 for Spiegelhalter's."""
    w = np.broadcast_to(w, p.shape)
    v, tilt = p * (1 - p), 1 - 2 * p
    if verb is not cb.spiegelhalter_test:
        return (w * w * v).sum() / w.max() ** 2
    terms = (w * tilt) ** 2 * v
    skewness = (w**3 * tilt**4 * v).sum() / terms.sum() ** 1.5
    return min(skewness**-2, terms.sum() ** 2 / (terms**2).sum() / 4)


@ALL_TESTS
class TestVerbs:
    p = np.linspace(0.05, 0.15, 200)

    def test_auto_switches_at_25(self, verb):
        enough = next(n for n in range(100, 500) if information(verb, np.linspace(0.05, 0.15, n)) >= 25)
        few, many = (np.linspace(0.05, 0.15, n) for n in (enough - 1, enough))
        assert "redraws of the outcomes" in verb(few < 0.07, few, resamples=19).method
        assert "redraws" not in verb(many < 0.07, many).method

    def test_information_counts_equivalent_rows(self, verb):
        w = np.ones(200)
        w[0] = 10.0
        result = verb(self.p < 0.07, self.p, weights=w, resamples=19)
        assert result.details["information"] == pytest.approx(information(verb, self.p, w))
        assert "redraws of the outcomes" in result.method

    def test_method_warns_where_the_limit_cannot_be_trusted(self, verb):
        p = self.p[:100]
        words = f"only {information(verb, p):.3g} rows' worth of information (25 wanted)"
        assert words in verb(p < 0.07, p, null="asymptotic").method

    def test_smallest_pvalue(self, verb):
        # Nothing redrawn comes near, and the data themselves count: 1 / (B + 1).
        p = np.full(40, 0.05)
        assert verb(np.ones(40, int), p, null="monte-carlo", resamples=19).pvalue == 1 / 20

    def test_repeats_itself_and_follows_the_generator(self, verb):
        p = np.linspace(0.1, 0.6, 30)
        options = {"null": "monte-carlo", "resamples": 99}
        pvalues = [verb(p > 0.3, p, rng=rng, **options).pvalue for rng in (0, 0, 1, np.random.default_rng(1))]
        assert verb(p > 0.3, p, **options).pvalue == pvalues[0] == pvalues[1]
        assert pvalues[2] == pvalues[3]

    @pytest.mark.parametrize("factor", [0.1, 1 / 3, 7.0])
    def test_a_common_factor_of_the_weights_changes_nothing(self, verb, factor):
        # Rare events with tied statistics: a replicate that ties with the data does so in any unit of the weights.
        p = np.arange(1, 101) / 1024
        y, weights = p > 96 / 1024, np.full(100, factor)
        assert verb(y, p, weights=weights).pvalue == verb(y, p).pvalue


def test_moments_cannot_be_redrawn(refusal):
    moments = cb.summarize(cb.spiegelhalter_test, [0, 1, 1], [0.2, 0.4, 0.7], null="asymptotic")
    for null in ("auto", "monte-carlo"):
        message = refusal(cb.spiegelhalter_test, moments, null=null, error=SummaryError)
        assert "Moments does not keep" in message
        assert 'null="asymptotic"' in message
    assert cb.spiegelhalter_test(moments, null="asymptotic").n == 3


@ALL_TESTS
@pytest.mark.parametrize("weights", [None, [2, 2, 2, 2], [1, 2, 1, 3]], ids=["unit", "equal", "unequal"])
def test_a_grid_is_redrawn_from_its_cells(verb, weights):
    y, p = [0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9]  # each in a cell of its own, so that nothing is lost
    grid = cb.summarize("ece", y, p, weights=weights)
    on_grid, exact = verb(grid), verb(y, p, weights=weights)
    assert on_grid.pvalue == exact.pvalue
    assert on_grid.method.endswith("; 9999 redraws of the outcomes from the mean score of each cell")


B = 4000


def drawn(score, count, B=B, seed=0):
    score, count = np.array(score), np.array(count)
    pool = Pool(score, unit_weights(score.size), count, count)
    return np.concatenate(list(redraw_events(pool, B, np.random.default_rng(seed)))).astype(float)


def assert_mean(values, mean, variance):
    sigma = np.sqrt(np.asarray(variance) / len(values))
    assert (np.abs(values.mean(axis=0) - mean) <= 5 * sigma).all()


class TestEvents:
    @pytest.mark.parametrize("count", [[1, 1, 1, 1], [5, 1, 3, 2]], ids=["single", "pooled"])
    def test_mean_and_variance(self, count):
        score, count = np.array([0.0, 0.3, 0.5, 1.0]), np.array(count)
        events = drawn(score, count)
        assert events.shape == (B, 4)
        variance = count * score * (1 - score)
        assert_mean(events, count * score, variance)
        assert_mean((events - count * score) ** 2, variance, 3 * variance**2 + variance)  # a bound of the 4th moment
        assert events.min() >= 0
        assert (events <= count).all()

    def test_impossible_and_certain_events(self):
        assert (drawn([0.0, 1.0], [1, 1]) == [0, 1]).all()
        assert (drawn([0.0, 1.0], [4, 4]) == [0, 4]).all()

    def test_entries_are_independent(self):
        first, second = drawn([0.5, 0.5], [1, 1]).T
        assert_mean(((first - 0.5) * (second - 0.5))[:, None], 0, 1 / 16)

    @pytest.mark.parametrize("resamples", [1, 2, 7])
    def test_portions_do_not_change_the_draws(self, resamples):
        score, single = [0.1, 0.2, 0.3], [1, 1, 1]
        whole = drawn(score, single, B=resamples)
        with mock.patch.object(module, "NUMBERS_AT_ONCE", 6):  # two replicates of three entries at once
            np.testing.assert_array_equal(drawn(score, single, B=resamples), whole)


class TestRows:
    def test_binary(self):
        p = np.repeat([0.0, 0.2, 0.9, 1.0], B)
        rows = Binary(np.zeros(p.size, np.uint8), p, unit_weights(p.size))
        new = rows.redrawn(np.random.default_rng(0))
        assert new.p is p
        assert new.y.dtype == np.uint8
        share = new.y.reshape(4, B).T
        assert_mean(share, [0.0, 0.2, 0.9, 1.0], [0.0, 0.16, 0.09, 0.0])

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_classes(self, dtype):
        row = np.array([0.5, 0.0, 0.125, 0.375])
        rows = Classes(np.zeros(B, np.intp), np.tile(row, (B, 1)).astype(dtype), unit_weights(B))
        y = rows.redrawn(np.random.default_rng(1)).y
        assert_mean(y[:, None] == np.arange(4), row, row * (1 - row))

    @pytest.mark.parametrize(
        ("row", "rng", "label"),
        [
            ([0.0, 1.0, 0.0], np.random.default_rng(2), 1),
            # The sum may be off by a millionth; the last class, of probability 0, must not get what is missing.
            ([1 - 1e-6, 0.0], mock.Mock(random=lambda n: np.full(n, np.nextafter(1.0, 0.0))), 0),
        ],
    )
    def test_certain_classes(self, row, rng, label):
        rows = Classes(np.zeros(B, np.intp), np.tile(row, (B, 1)), unit_weights(B))
        assert (rows.redrawn(rng).y == label).all()


class TestDistributions:
    @pytest.mark.parametrize(
        ("distribution", "mean", "variance"),
        [
            (cb.Normal(np.full(B, 3.0), 2.0), 3.0, 4.0),
            (cb.Laplace(np.full(B, -1.0), 0.5), -1.0, 0.5),
            (cb.MvNormal(np.tile([0.0, 5.0], (B, 1)), np.diag([1.0, 9.0])), [0.0, 5.0], [1.0, 9.0]),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_outcomes_follow_the_distribution(self, distribution, mean, variance):
        rows = read_outcomes(np.zeros((B, *distribution.shape)), distribution, weights=np.arange(1, B + 1))
        new = rows.redrawn(np.random.default_rng(0))
        assert isinstance(new, DistributionRows)
        assert new.distribution is distribution
        assert new.w is rows.w
        assert new.y.shape == rows.y.shape
        y = new.y.reshape(B, -1)
        assert_mean(y, mean, variance)
        fourth = 6 * np.square(variance)  # that of a Laplace distribution, the largest of these
        assert_mean((y - mean) ** 2, variance, fourth)

    @pytest.mark.parametrize("shape", [(B, 3), (B, 3, 2)])
    def test_draws_and_outcome_are_pooled(self, shape):
        draws = np.broadcast_to(np.arange(1.0, 4.0).reshape(1, 3, *(1,) * (len(shape) - 2)), shape)
        rows = read_outcomes(np.zeros((B, *shape[2:])), cb.Samples(draws))
        new = rows.redrawn(np.random.default_rng(0))
        # Each of 0, 1, 2, 3 becomes the outcome once in four, and what it was takes its place among the draws.
        y = new.y.reshape(B, -1)[:, 0]
        assert_mean(y[:, None] == np.arange(4), np.full(4, 0.25), np.full(4, 0.25 * 0.75))
        pooled = np.sort(np.concatenate([new.distribution.draws, new.y[:, None]], axis=1), axis=1)
        assert (pooled.reshape(B, 4, -1) == np.arange(4)[None, :, None]).all()
        for row in range(20):
            at = int(new.y[row].reshape(-1)[0])
            expected = np.arange(1.0, 4.0)
            if at:
                expected[at - 1] = 0.0
            np.testing.assert_array_equal(new.distribution.draws[row].reshape(3, -1)[:, 0], expected)


def pool_of(p, weights=None, y=None):
    rows = read_binary(np.zeros(len(p), int) if y is None else y, p, verb="test", weights=weights)
    return pool_rows(rows.y, rows.p, rows.w)


def events_of(pool, flips):
    """Spell the flips out as the number of events of each entry."""
    events = np.tile(module.base_events(pool), (flips.replicates, 1))
    np.add.at(events, (flips.replicate, flips.entry), np.where(pool.score > 0.5, -1, 1)[flips.entry])
    return events


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 3)), min_size=1, max_size=30),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_extremes_of_flipped_walks_are_those_of_the_walks_spelt_out(rows, seed, weighted):
    p, w = np.array(rows).T
    pool = pool_of(p / 10, w.astype(float) if weighted else None)
    for flips in module.redraw_flips(pool, 40, np.random.default_rng(seed)):
        events = events_of(pool, flips)
        assert ((events >= 0) & (events <= pool.rows)).all()
        walks = np.cumsum(pool.weight * (events - pool.rows * pool.score), axis=1)[:, tie_ends(pool.score)]
        high, low = module.FlippedWalks(pool).extremes(flips)
        np.testing.assert_allclose(high, walks.max(axis=1, initial=0), atol=1e-12)
        np.testing.assert_allclose(low, walks.min(axis=1, initial=0), atol=1e-12)


def test_flips_have_the_distribution_of_the_outcomes():
    p = np.array([0.0, 0.1, 0.3, 0.3, 0.5, 0.7, 0.9, 1.0])
    pool = pool_of(p)
    B = 100_000
    events = np.concatenate([events_of(pool, f) for f in module.redraw_flips(pool, B, np.random.default_rng(0))])
    assert len(events) == B
    mean, variance = pool.rows * pool.score, pool.rows * pool.score * (1 - pool.score)
    np.testing.assert_allclose(events.mean(axis=0), mean, atol=5 * np.sqrt(0.5 / B))
    np.testing.assert_allclose(events.var(axis=0), variance, atol=0.01)
    # independent rows: covariances vanish
    assert np.abs(np.cov(events.T) - np.diag(events.var(axis=0))).max() < 0.01


@ALL_TESTS
def test_sparse_and_dense_redraws_give_the_same_pvalue(verb, monkeypatch):
    rng = np.random.default_rng(3)
    p = rng.beta(1, 300, 2000)
    y = rng.random(2000) < p
    assert module.is_sparse(pool_of(p))
    kept = verb(y, p).pvalue
    monkeypatch.setattr(module, "SPARSE_SHARE", 0.0)
    assert abs(verb(y, p).pvalue - kept) < 5 * np.sqrt(0.25 / 9999) * 2**0.5


def test_scores_of_zero_and_one_never_flip():
    pool = pool_of(np.array([0.0, 0.0, 1.0]))
    for flips in module.redraw_flips(pool, 10, np.random.default_rng(0)):
        assert flips.entry.size == 0
        assert flips.replicates == 10
