"""Skill against climatology: reference values, what it equals by hand, properties, claims, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.references.books import book, by_id

from calibrant import Laplace, MvNormal, Normal, Samples, crps, interval, skill, skill_test, summarize
from calibrant.core.summary import Summary
from calibrant.errors import CalibrantError, InputError, NotApplicableError
from calibrant.scores.climatology import MAX_ROWS_IN_PAIRS, climatology_of_numbers, climatology_of_vectors

VALUES = {name: case["value"] for name, case in by_id("conditional").items()}
DATA = {name: np.array(values) for name, values in book("conditional")["data"]["skill"].items()}
COLUMNS = {"a": (DATA["y"], DATA["draws"]), "b": (DATA["y2"], DATA["draws2"])}
GUARDS = np.array([VALUES["guard a"], VALUES["guard b"]])
VECTORS = (np.stack([DATA["y"], DATA["y2"]], axis=1), np.stack([DATA["draws"], DATA["draws2"]], axis=2))


def with_freedom(estimate, limits, guard, families=1):
    """Give reference limits, of t with n - 1 degrees of freedom, as few degrees as rows decide, if below 10."""
    n = len(DATA["y"])
    t = [stats.t.isf(0.025 / families, df) for df in (np.where(np.less(guard, 10), guard, n) - 1, n - 1)]
    more = (t[0] / t[1] - 1) * (np.asarray(limits)[..., 1] - estimate)
    return np.asarray(limits) + np.stack([-more, more], axis=-1)


@pytest.mark.parametrize("name", COLUMNS)
def test_references(name):
    y, draws = COLUMNS[name]
    found, limits = skill_test(y, Samples(draws)), interval(skill, y, Samples(draws))
    assert skill(y, Samples(draws)) == pytest.approx(VALUES[f"skill crps {name}"], rel=1e-9)
    expected = with_freedom(limits.estimate, VALUES[f"limits {name}"], VALUES[f"guard {name}"])
    assert [limits.low, limits.high] == pytest.approx(expected, rel=1e-8)
    assert found.details["guard"] == pytest.approx(VALUES[f"guard {name}"], rel=1e-9)
    rows = climatology_of_numbers(y, np.ones(len(y))).k
    assert rows == pytest.approx(VALUES[f"climatology rows {name}"], rel=1e-9)


def test_family_of_coordinates():
    y, draws = VECTORS
    found = skill_test(y, Samples(draws))
    limits = np.stack([found.details["low"], found.details["high"]], axis=1)
    assert limits == pytest.approx(with_freedom(found.estimate, VALUES["family"], GUARDS, families=2), rel=1e-8)
    assert found.estimate == pytest.approx(skill(y, Samples(draws)))
    assert found.details["claim"] == ("cannot tell", "cannot tell")


def test_a_skill_that_does_not_rest_on_few_rows_is_claimed_whatever_their_weight():
    """The exact posterior given the size of an outcome: rows of large outcomes gain most, and others gain too."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=50)
    y[:3] = 3.0, -3.2, 3.4
    size = np.abs(np.abs(y)[:, None] + 0.1 * rng.normal(size=(50, 99)))
    found = skill_test(y, Samples(size * rng.choice([-1, 1], (50, 99)))).details
    assert found["guard"] < 10
    assert found["claim"] == "informative"
    only = np.where(np.arange(50)[:, None] < 3, y[:, None] + 0.1 * rng.normal(size=(50, 99)), rng.normal(size=(50, 99)))
    assert skill_test(y, Samples(only)).details["claim"] == "cannot tell"


def test_energy():
    y, draws = VECTORS
    found = interval(skill, y, Samples(draws), score="energy")
    estimate, *limits = VALUES["energy skill"]
    guard = skill_test(y, Samples(draws), score="energy").details["guard"]
    assert found.estimate == pytest.approx(estimate, rel=1e-9)
    assert [found.low, found.high] == pytest.approx(with_freedom(estimate, limits, guard), rel=1e-8)


def test_interval_of_coordinates_stands_alone():
    y, draws = VECTORS
    found = interval(skill, y, Samples(draws))
    expected = with_freedom(found.estimate, [VALUES["limits a"], VALUES["limits b"]], GUARDS)
    assert np.stack([found.low, found.high], axis=1) == pytest.approx(expected, rel=1e-8)


def test_outcomes_that_are_almost_all_zero_have_no_limits():
    """Of 60 outcomes 2 are not 0: with 97 % zeros, limits of 95 % missed the skill in 17 % of the data sets."""
    rng = np.random.default_rng(0)
    y, draws = np.zeros(60), np.where(rng.random((60, 20)) < 0.03, rng.gamma(2, 2, (60, 20)), 0.0)
    y[[3, 9]] = 2.0, 5.0
    with pytest.raises(NotApplicableError, match="20 outcomes that differ from the most frequent one; got 2"):
        interval(skill, y, Samples(draws))
    assert skill_test(y, Samples(draws)).details["claim"] == "cannot tell"
    y[:20] = np.arange(1.0, 21.0)
    assert np.isfinite(interval(skill, y, Samples(draws)).high)


class TestClimatology:
    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10**6), n=st.integers(2, 40), weighted=st.booleans())
    def test_one_sort_is_all_pairs(self, seed, n, weighted):
        rng = np.random.default_rng(seed)
        y = rng.integers(-9, 9, n).astype(float)
        w = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
        others = w * (1 - np.eye(n))
        distance = np.abs(y[:, None] - y)
        h = (others * distance).sum(axis=1) / others.sum(axis=1)
        G = (w[:, None] * others * distance).sum() / (w[:, None] * others).sum()
        found = climatology_of_numbers(y, w)
        assert found.k == pytest.approx(h - G / 2, abs=1e-12)
        assert found.mean == pytest.approx(G / 2, abs=1e-12)
        along = climatology_of_vectors(y[:, None], w, rng)
        assert along.k == pytest.approx(found.k, abs=1e-12)

    def test_far_from_zero(self):
        y = np.arange(30.0)
        near = climatology_of_numbers(y, np.ones(30))
        assert climatology_of_numbers(y + 1e12, np.ones(30)).k == pytest.approx(near.k, abs=1e-3)

    def test_random_pairs_are_near_all_pairs(self, rng):
        n = MAX_ROWS_IN_PAIRS + 1
        y = rng.normal(size=(n, 1))
        exact = climatology_of_numbers(y[:, 0], np.ones(n))
        found = climatology_of_vectors(y, np.ones(n), rng)
        assert found.mean == pytest.approx(exact.mean, rel=0.01)
        assert np.corrcoef(found.k, exact.k)[0, 1] > 0.95


class TestScores:
    def test_distribution_is_scored_exactly(self):
        y, _ = COLUMNS["a"]
        prediction = Normal(0.5 * y, 1.0)
        k = climatology_of_numbers(y, np.ones(len(y))).mean
        assert skill(y, prediction) == pytest.approx(1 - crps(y, prediction) / k)

    def test_draws_are_scored_fairly(self):
        y, draws = COLUMNS["a"]
        k = climatology_of_numbers(y, np.ones(len(y))).mean
        assert skill(y, Samples(draws)) == pytest.approx(1 - crps(y, Samples(draws), fair=True) / k)

    @pytest.mark.parametrize("why", ["the same", "sorted", "depend"])
    def test_draws_that_are_not_independent_are_scored_plainly(self, why):
        y, draws = COLUMNS["a"]
        if why == "the same":
            draws = np.repeat(draws[:1], len(y), axis=0)
        elif why == "sorted":
            draws = np.sort(draws, axis=1)
        else:
            draws = np.cumsum(np.tile(draws, 3), axis=1)
        k = climatology_of_numbers(y, np.ones(len(y))).mean
        found = skill_test(y, Samples(draws))
        assert why in found.method
        assert found.estimate == pytest.approx(1 - crps(y, Samples(draws)) / k)

    def test_given_climatology(self):
        y, draws = COLUMNS["a"]
        prior = Normal(np.zeros(len(y)), 2.0)
        expected = 1 - crps(y, Samples(draws), fair=True) / crps(y, prior)
        assert skill(y, Samples(draws), climatology=prior) == pytest.approx(expected)
        same = skill_test(y, prior, climatology=prior)
        assert (same.estimate, same.details["claim"]) == (0, "no better")

    def test_log_score_is_a_difference_in_nats(self):
        y, _ = COLUMNS["a"]
        prediction, prior = Normal(0.5 * y, 1.0), Normal(np.zeros(len(y)), 2.0)
        gain = (prediction.log_density(y) - prior.log_density(y)).mean()
        assert skill(y, prediction, score="log", climatology=prior) == pytest.approx(gain)
        assert skill(y, prediction, score="log", climatology=prior.log_density(y)) == pytest.approx(gain)
        given = {"climatology": prior, "log_density_y": prediction.log_density(y)}
        assert skill(y, Samples(DATA["draws"]), score="log", **given) == pytest.approx(gain)

    def test_units_do_not_matter(self):
        y, draws = VECTORS
        factor = np.array([1e6, 1e-6])
        for score in ("crps", "energy"):
            found = skill(y * factor + 3, Samples(draws * factor + 3), score=score)
            assert found == pytest.approx(skill(y, Samples(draws), score=score), rel=1e-6)

    def test_batches_and_bytes(self):
        y, draws = COLUMNS["a"]
        prior = Normal(np.zeros(len(y)), 2.0)
        parts = [
            summarize(skill, y[part], Samples(draws[part]), climatology=prior.take(part))
            for part in (slice(15), slice(15, None))
        ]
        whole = Summary.from_bytes((parts[0] + parts[1]).to_bytes())
        assert skill(whole) == pytest.approx(skill(y, Samples(draws), climatology=prior))

    def test_rows_of_weight_zero_are_absent(self):
        y, draws = COLUMNS["a"]
        w = (np.arange(len(y)) % 3 > 0).astype(float)
        prior = Normal(y / 2, 2.0)
        found = skill(y, Samples(draws), climatology=prior, weights=w)
        kept = w > 0
        assert found == pytest.approx(skill(y[kept], Samples(draws[kept]), climatology=prior.take(kept)))


class TestClaims:
    def draws(self, n, sd=1.0, seed=0):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=n)
        return rng.normal(x, 1), x, Samples(x[:, None] + sd * rng.normal(size=(n, 30)))

    def test_each_claim(self):
        y, x, prediction = self.draws(200)
        found = skill_test(y, prediction)
        assert found.details["claim"] == "informative"
        assert found.pvalue < 0.001
        assert 0 < found.details["low"] < found.estimate < found.details["high"]
        worse = skill_test(y, Normal(-3 * x, 1.0))
        assert worse.details["claim"] == "worse"
        assert worse.pvalue > 0.999
        no_better = skill_test(np.random.default_rng(0).normal(size=4000), Normal(np.zeros(4000), 1.0))
        assert no_better.details["claim"] == "no better"

    def test_the_pvalue_is_one_less_the_level_whose_lower_limit_is_0(self):
        y, _, prediction = self.draws(60)
        pvalue = skill_test(y, prediction).pvalue
        assert 0.001 < pvalue < 0.1
        assert skill_test(y, prediction, level=1 - 2 * pvalue).details["low"] == pytest.approx(0, abs=1e-9)

    def test_posterior_of_a_square_is_informative(self):
        """θ given θ² + noise has two modes, and its mean is no better than that of all θ."""
        rng = np.random.default_rng(1)
        theta = rng.normal(size=200)
        x = theta**2 + 0.2 * rng.normal(size=200)
        grid = np.linspace(-4, 4, 801)
        density = np.exp(-(grid**2) / 2 - (x[:, None] - grid**2) ** 2 / 0.08)
        below = np.cumsum(density, axis=1) / density.sum(axis=1, keepdims=True)
        draws = grid[(rng.random((200, 49, 1)) > below[:, None, :]).sum(axis=2)]
        assert skill_test(theta, Samples(draws)).details["claim"] == "informative"

    def test_a_constant_exact_marginal_is_never_informative(self):
        rng = np.random.default_rng(2)
        for _ in range(100):
            y = rng.normal(size=30)
            assert skill_test(y, Normal(np.full(30, y.mean()), y.std())).details["low"] <= 0

    def test_few_rows_that_decide(self):
        y, x, _ = self.draws(60)
        y[7] = 1e6
        found = skill_test(y, Normal(x, 1.0))
        assert (found.details["claim"], found.pvalue) == ("cannot tell", 1)
        assert found.details["rows"][0] == 7
        limits = interval(skill, y, Normal(x, 1.0))
        assert limits.low <= 0 <= limits.high  # as the p-value says
        assert (found.details["low"], found.details["high"]) == (limits.low, limits.high)
        share, others = found.details["heavy"]
        assert share > 0.99
        assert others < 1


@pytest.mark.parametrize("seed", [16, 24])
def test_limits_exclude_0_only_where_the_test_does(seed):
    """A few of 60 lognormal outcomes decide; Student's limits alone would exclude 0."""
    rng = np.random.default_rng(seed)
    y = np.exp(2 * rng.normal(size=60))
    known = Normal(np.where(rng.random(60) < 0.5, y, 0.0), 0.5)
    found, limits = skill_test(y, known), interval(skill, y, known)
    assert (found.pvalue, limits.low) == (1, 0)
    assert (found.details["low"], found.details["high"]) == (limits.low, limits.high)


class TestBadInput:
    def test_rows(self):
        y, draws = VECTORS
        flat, infinite = np.stack([y[:, 0], np.ones(len(y))], axis=1), np.random.default_rng(0).normal(size=(30, 5))
        infinite[3, 2] = np.inf
        for rows, options, words in (
            ((np.arange(19.0), Normal(np.zeros(19), 1.0)), {}, "at least 20 rows"),
            ((np.ones(30), Normal(np.zeros(30), 1.0)), {}, "all outcomes are equal"),
            ((flat, Samples(draws)), {}, "coordinate 1"),
            ((flat, Samples(draws)), {"score": "energy"}, "coordinate 1"),
            ((np.arange(30.0), Samples(np.zeros((30, 1)))), {}, "one draw"),
            ((np.arange(30.0), Samples(infinite)), {}, "row 3"),
        ):
            with pytest.raises(InputError, match=words):
                skill(*rows, **options)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"score": "brier"}, "score"),
            ({"score": "log"}, "needs climatology"),
            ({"climatology": np.zeros(40)}, "prediction with 40 rows"),
            ({"climatology": Normal(np.zeros(7), 1.0)}, "40 rows"),
            ({"climatology": MvNormal(np.zeros((40, 2)), np.eye(2))}, "shape"),
            ({"score": "energy"}, "is for draws"),
            ({"log_density_y": np.zeros(40)}, 'score="log"'),
            ({"score": "log", "climatology": np.zeros(3)}, "one log density per row"),
            ({"score": "log", "climatology": np.full(40, -np.inf)}, "finite"),
        ],
    )
    def test_options(self, options, words):
        with pytest.raises(InputError, match=words):
            skill(DATA["y"], Normal(np.zeros(40), 1.0), **options)

    def test_draws_have_no_density(self):
        with pytest.raises(NotApplicableError, match="log_density_y"):
            skill(DATA["y"], Samples(DATA["draws"]), score="log", climatology=Laplace(np.zeros(40), 1.0))

    @pytest.mark.parametrize("tolerance", [-1, "a", np.nan, np.ones(2)])
    def test_tolerance(self, tolerance):
        with pytest.raises(CalibrantError, match="tolerance"):
            skill_test(DATA["y"], Samples(DATA["draws"]), tolerance=tolerance)
