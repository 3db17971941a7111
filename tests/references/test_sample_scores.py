"""The reference values of sharpness and scores of draws, to the tolerance stated beside them."""

import numpy as np
import pytest
from scipy import stats
from tests.references.books import arrays, by_id

from calibrant import Normal, Samples, crps, energy_score, log_score, sharpness, skill_test
from calibrant.auditing.explain import explain
from calibrant.ranking.quantities import ranks
from calibrant.ranking.spread import contraction, z_scores

BOOK, ARRAYS = by_id("samples"), arrays("samples")


def named(prefix):
    found = [name for name in BOOK if name.startswith(f"{prefix}/")]
    assert found, f"no reference value is named {prefix}/..."
    return pytest.mark.parametrize("name", found)


def data(name):
    y, draws = (ARRAYS[array] for array in BOOK[name]["inputs"][:2])
    return y, Samples(draws)


def agree(found, name, field=None):
    value = BOOK[name]["value"] if field is None else BOOK[name]["value"][field]
    expected = np.asarray(value)
    np.testing.assert_allclose(np.reshape(found, expected.shape), expected, rtol=BOOK[name]["rtol"], err_msg=name)


@named("sharpness")
def test_sharpness(name):
    y, prediction = data(name)
    z = z_scores(y, prediction)
    agree(sharpness(prediction, statistic="rms"), name, "sd")
    agree(contraction(y, prediction), name, "contraction")
    agree(z.mean(axis=0), name, "z_mean")
    agree(z.var(axis=0, ddof=1), name, "z_var")


@named("crps")
def test_crps(name):
    y, prediction = data(name)
    agree(crps(y, prediction), name, "ensemble")
    agree(crps(y, prediction, fair=True), name, "fair")


@named("energy_score")
def test_energy_score(name):
    y, prediction = data(name)
    agree(energy_score(y, prediction), name, "ensemble")
    agree(energy_score(y, prediction, fair=True), name, "fair")


@named("contraction_median")
def test_the_other_contraction_is_a_median_of_clipped_rows(name):
    y, prediction = data(name)
    rows = 1 - prediction.draws.var(axis=1, ddof=1) / y.var(axis=0, ddof=1)
    agree(np.median(rows.clip(0, 1), axis=0), name)
    np.testing.assert_allclose(rows.mean(axis=0), contraction(y, prediction), rtol=1e-12)  # ours: mean, not clipped


@named("zscore_median")
def test_the_other_summary_of_z_scores_is_their_median(name):
    agree(np.median(z_scores(*data(name)), axis=0), name)


class Climatology:
    """Outcomes N(mu, 1) with mu ~ N(0, 1): N(mu, 1) and N(0, 2) are both calibrated, and one of them knows mu."""

    def __init__(self, n=20_000, M=99):
        rng = np.random.default_rng(1)
        self.mu = rng.normal(size=n)
        self.y = rng.normal(self.mu)
        self.distributions = {"ideal": Normal(self.mu, 1.0), "climatology": Normal(np.zeros(n), np.sqrt(2))}
        self.draws = {name: Samples(distribution.sample(M, 2)) for name, distribution in self.distributions.items()}


@pytest.fixture(scope="module")
def climate():
    return Climatology()


EACH = pytest.mark.parametrize("name", ["ideal", "climatology"])


class TestClimatology:
    @EACH
    def test_scores_and_variances(self, climate, name):
        expected, draws, distribution = (
            BOOK["climatology_theory"]["value"][name],
            climate.draws[name],
            climate.distributions[name],
        )
        assert sharpness(draws, statistic="rms") ** 2 == pytest.approx(expected["variance"], rel=0.02)
        assert crps(climate.y, draws, fair=True) == pytest.approx(expected["crps"], rel=0.02)
        assert crps(climate.y, distribution) == pytest.approx(expected["crps"], rel=0.02)
        assert log_score(climate.y, distribution) == pytest.approx(expected["log_score"], rel=0.02)
        assert contraction(climate.y, draws) == pytest.approx(expected["contraction"], abs=0.02)

    @EACH
    def test_ranks_are_uniform(self, climate, name):
        counts = np.bincount(ranks(climate.y, climate.draws[name]) // 5, minlength=20)
        assert stats.chisquare(counts).pvalue > 0.001

    def test_ranks_of_climatology_know_mu(self, climate):
        found = [np.corrcoef(ranks(climate.y, draws), climate.mu)[0, 1] for draws in climate.draws.values()]
        np.testing.assert_allclose(found, [0.0, 0.68], atol=0.03)

    def test_words(self, climate):
        """Both have uniform ranks; that one of them is no better than climatology is said by skill."""
        assert [explain(climate.y, draws).failure for draws in climate.draws.values()] == ["none", "none"]
        found = {name: skill_test(climate.y, draws).details["claim"] for name, draws in climate.draws.items()}
        assert found == {"ideal": "informative", "climatology": "no better"}
