"""Ranks of outcomes among their draws by the predicted density."""

import numpy as np
import pytest
from scipy import stats
from tests.references.books import arrays

from calibrant import Distribution, Laplace, Mixture, MvNormal, Normal, Quantiles, Samples, ScipyDistribution, summarize
from calibrant.errors import NotApplicableError
from calibrant.ranking.density_ranks import energy_ranks
from calibrant.ranking.quantities import ranks

ARRAYS = arrays("samples")
COV = ARRAYS["chol"] @ ARRAYS["chol"].T
MU, MU_SHAPE = ARRAYS["mu"], ARRAYS["mu_shape"]


def of_members(log_density):
    """Return a log density of z given the mean of its row, as a function of outcomes or of draws."""
    return lambda z: log_density(z - (MU_SHAPE if z.ndim == 2 else MU_SHAPE[:, None])).sum(axis=-1)


DENSITIES = {
    "calibrated": ("y", MvNormal(MU, COV).log_density),
    "overdispersed": ("y", MvNormal(MU, 1.96 * COV).log_density),
    "biased": ("y", MvNormal(np.add(MU, [0.4, 0, 0]), COV).log_density),
    "seed_ideal": ("y_seed", Normal(ARRAYS["mu_seed"], 1.0).log_density),
    "heavy_tailed": ("y_shape", of_members(lambda z: stats.t.logpdf(z * np.sqrt(3), 3))),
    "skewed": ("y_shape", of_members(lambda z: stats.gamma.logpdf(z * np.sqrt(2) + 2, 2))),
}


class TestReferences:
    @pytest.mark.parametrize("name", DENSITIES)
    def test_densities(self, name):
        y, log_density = DENSITIES[name]
        draws = ARRAYS[f"samples_{name}"]
        samples = Samples(draws, log_density=log_density(draws))
        found = energy_ranks(ARRAYS[y], samples, log_density_y=log_density(ARRAYS[y]))
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, ARRAYS[f"energy_ranks_{name}"])

    @pytest.mark.parametrize(("name", "y"), [("overdispersed", "y"), ("skewed", "y_shape")])
    def test_stored_densities(self, name, y):
        samples = Samples(ARRAYS[f"samples_{name}"], log_density=ARRAYS[f"log_density_{name}"])
        found = energy_ranks(ARRAYS[y], samples, log_density_y=ARRAYS[f"log_density_y_{name}"])
        np.testing.assert_array_equal(found, ARRAYS[f"energy_ranks_{name}"])
        if name == "skewed":
            outside = np.isneginf(ARRAYS["log_density_y_skewed"])
            assert outside.any()
            assert (found[outside] == samples.M).all()


class TestSamples:
    def test_by_hand_and_up_to_a_constant_of_each_row(self):
        samples = Samples([[0.0, 1.0, 2.0]] * 3, log_density=[[-1.0, -2.0, -3.0]] * 3)
        np.testing.assert_array_equal(energy_ranks([0.0] * 3, samples, log_density_y=[-0.5, -2.5, -np.inf]), [0, 2, 3])
        rng = np.random.default_rng(0)
        q, q_y, constant = rng.normal(size=(20, 9)), rng.normal(size=20), rng.normal(size=20)
        found = energy_ranks(q_y, Samples(q, log_density=q), log_density_y=q_y)
        moved = energy_ranks(q_y, Samples(q, log_density=q + constant[:, None]), log_density_y=q_y + constant)
        np.testing.assert_array_equal(moved, found)
        np.testing.assert_array_equal(found, 9 - ranks(q_y, Samples(q)))

    def test_ties(self, refusal):
        samples = Samples([[0.0, 1.0, 2.0]] * 300, log_density=[[-np.inf, -np.inf, -1.0]] * 300)
        options = {"log_density_y": np.full(300, -np.inf)}
        found = energy_ranks(np.zeros(300), samples, rng=0, **options)
        assert sorted(set(found.tolist())) == [1, 2, 3]
        message = refusal(energy_ranks, np.zeros(300), samples, **options)
        assert "the density of the outcome equals that of draws in 300 of 300 ranks" in message
        assert summarize(energy_ranks, np.zeros(300), samples, rng=0, **options).tied.tolist() == [300]

    def test_exchangeable_members_have_uniform_ranks(self):
        q = np.random.default_rng(0).integers(0, 4, (10_000, 6)) * 1.0
        samples = Samples(q[:, 1:], log_density=q[:, 1:])
        counts = np.bincount(energy_ranks(q[:, 0], samples, log_density_y=q[:, 0], rng=0), minlength=6)
        assert stats.chisquare(counts).pvalue > 0.001

    def test_rows_of_weight_zero(self):
        samples = Samples([[0.0], [0.0], [0.0]], log_density=[[-1.0], [-1.0], [-1.0]])
        options = {"log_density_y": [-2.0, np.nan, 0.0], "weights": [1.0, 0.0, 3.0]}
        summary = summarize(energy_ranks, [0.0, np.nan, 0.0], samples, **options)
        assert summary.weight[:, 0].tolist() == [3.0, 1.0]


class TestDistributions:
    def test_closed_forms(self):
        # P(|Z| < 0.6745) = 0.5; a Laplace distribution has mass 1 - 1/2 within log 2; chi-square (2) at 2 log 2 is 1/2.
        np.testing.assert_array_equal(energy_ranks([-0.6744, 0.6746], Normal([0.0, 0.0], 1.0)), [499, 500])
        np.testing.assert_array_equal(energy_ranks([0.6931, -0.6932], Laplace([0.0, 0.0], 1.0)), [499, 500])
        y = np.sqrt(2 * np.log(2)) * np.array([[1 - 1e-6, 0.0], [0.0, -1 - 1e-6]])
        np.testing.assert_array_equal(energy_ranks(y, MvNormal(np.zeros((2, 2)), np.eye(2))), [499, 500])
        summary = summarize(energy_ranks, y, MvNormal(np.zeros((2, 2)), np.eye(2)))
        assert (summary.cells, summary.M) == (True, 999)
        np.testing.assert_array_equal(energy_ranks([0.0, 1e300], Normal([0.0, -1e300], 1e-300)), [0, 999])
        distribution = MvNormal([[0.0, 0.0], [0.0, 0.0]], np.eye(2))
        np.testing.assert_array_equal(energy_ranks([[0.0, 0.0], [1e200, 0.0]], distribution), [0, 999])

    @pytest.mark.parametrize("shared", [True, False])
    def test_closed_forms_agree_with_draws(self, shared):
        rng = np.random.default_rng(0)
        n, M = 200, 4000
        scale = np.ones(n) if shared else rng.uniform(0.5, 2, n)
        cov = COV if shared else scale[:, None, None] * COV
        distribution = MvNormal(rng.normal(size=(n, 3)), cov)
        y = distribution.sample(1, rng)[:, 0]
        draws = distribution.sample(M, rng)
        counted = energy_ranks(
            y, Samples(draws, distribution.log_density(draws)), log_density_y=distribution.log_density(y)
        )
        assert np.abs(energy_ranks(y, distribution) / 1000 - counted / M).max() < 5 * 0.5 / np.sqrt(M) + 0.001

    @pytest.mark.parametrize("vectors", [True, False])
    def test_mixtures_are_drawn_from(self, vectors):
        n = 3000
        rng = np.random.default_rng(1)
        one = (lambda m: MvNormal(np.full((n, 2), m), np.eye(2))) if vectors else (lambda m: Normal(np.full(n, m), 1.0))
        distribution = Mixture([one(-3.0), one(1.0)], [0.3, 0.7])
        y = distribution.sample(1, rng)[:, 0]
        found = energy_ranks(y, distribution, draws=9, rng=0)
        assert stats.chisquare(np.bincount(found, minlength=10)).pvalue > 0.001
        np.testing.assert_array_equal(found, energy_ranks(y, distribution, draws=9, rng=np.random.default_rng(0)))
        summary = summarize(energy_ranks, y[:5], distribution.take(slice(0, 5)), rng=0)
        assert (summary.M, summary.cells, summary.tied.tolist()) == (999, False, [0])

    def test_one_component_is_the_closed_form(self):
        y = np.linspace(-2, 2, 50)
        distribution = Normal(np.zeros(50), 1.0)
        drawn = energy_ranks(y, Mixture([distribution], [1.0]), draws=3999, rng=0) / 4000
        assert np.abs(drawn - energy_ranks(y, distribution) / 1000).max() < 5 * 0.5 / np.sqrt(4000) + 0.001
        outside = ScipyDistribution(stats.gamma([2.0, 2.0]))  # of the support is the first outcome
        np.testing.assert_array_equal(energy_ranks([-1.0, 1.0], outside, draws=20, rng=0), [20, 0])


class TestRefusals:
    SAMPLES = Samples([[0.0, 1.0]], log_density=[[-1.0, -2.0]])

    MIXTURE = Mixture([Normal(0.0, 1.0)], [1.0])

    @pytest.mark.parametrize(
        ("prediction", "options", "words"),
        [
            (SAMPLES, {}, "the second is missing"),
            (Samples([[0.0, 1.0]]), {"log_density_y": [0.0]}, "the first is missing. ranking.joint_ranks needs no"),
            (SAMPLES, {"log_density_y": [[0.0]]}, "shape (1,); got shape (1, 1)"),
            (SAMPLES, {"log_density_y": [np.nan]}, "row 0 is nan"),
            (SAMPLES, {"log_density_y": [np.inf]}, "below infinity"),
            (SAMPLES, {"log_density_y": ["a"]}, "must be real numbers"),
            (SAMPLES, {"log_density_y": [0.0], "draws": 9}, "2 draws already"),
            (Samples([[0.0, np.inf]], log_density=[[-1.0, -2.0]]), {"log_density_y": [0.0]}, "row 0, draw 1 is inf"),
            (Normal(0.0, 1.0), {"log_density_y": [0.0]}, "has its own density"),
            (Normal(0.0, 1.0), {"draws": 9}, "has a closed form"),
            (MIXTURE, {}, "draws from Mixture, which has no closed form; pass rng="),
            (MIXTURE, {"draws": 10**9, "rng": 0}, "draws must be at most 1,000,000; got 1000000000"),
            (MIXTURE, {"draws": 0, "rng": 0}, "draws must be at least 1"),
            (Quantiles([[0.0]], [0.5]), {}, "energy_ranks judges"),
        ],
    )
    def test_input(self, refusal, prediction, options, words):
        assert words in refusal(energy_ranks, [0.0], prediction, **options)

    def test_densities_that_are_missing_or_no_numbers(self, refusal):
        poisson = ScipyDistribution(stats.poisson([2.0]))
        assert "has no density" in refusal(energy_ranks, [1.0], poisson, rng=0, error=NotApplicableError)

        class Broken(Distribution):
            n = 3

            def take(self, rows):
                return self

            def sample(self, size, rng):
                return np.zeros((3, size))

            def log_density(self, x):
                return np.where(np.arange(3)[:, None] == 2, np.nan, 0.0) + x

        assert "it is nan in row 2" in refusal(energy_ranks, np.zeros(3), Broken(), draws=2, rng=0)


Y = np.array([-2.5, 0.0, 0.3, 7.0])


def test_levels_of_numbers():
    far = np.array([0.0, 1e300])
    for distribution, level in (
        (Normal, np.abs(2 * stats.norm.cdf((Y - 0.5) / 2) - 1)),
        (Laplace, 1 - np.exp(-np.abs(Y - 0.5) / 2)),
    ):
        np.testing.assert_allclose(distribution(np.full(4, 0.5), 2.0).density_level(Y), level)
        assert distribution(np.zeros(2), 1e-300).density_level(far).tolist() == [0.0, 1.0]
    assert Mixture([Normal([0.0], 1.0)], [1.0]).density_level(np.zeros(1)) is None


@pytest.mark.parametrize("shared", [True, False])
def test_levels_of_normal_vectors(shared):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1 if shared else 6, 3, 3))
    cov = A @ A.swapaxes(1, 2) + np.eye(3)
    mean, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)) * 2
    distribution = MvNormal(mean, cov[0] if shared else cov)
    r = y - mean
    square = np.einsum("id,ide,ie->i", r, np.linalg.inv(np.broadcast_to(cov, (6, 3, 3))), r)
    np.testing.assert_allclose(distribution.density_level(y), stats.chi2.cdf(square, 3), rtol=1e-10)
    one = MvNormal(np.zeros((4, 1)), [[4.0]]).density_level(Y[:, None])
    np.testing.assert_allclose(one, Normal(np.zeros(4), 2.0).density_level(Y), rtol=1e-12)
