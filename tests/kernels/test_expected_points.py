"""Laws that stand on points against loops over points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.parametric import Normal
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution
from calibrant.kernels import expected_points as module
from calibrant.kernels import target_means as pieces
from calibrant.kernels.expectations import target_means
from calibrant.kernels.kernel import Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

KERNELS = [Gaussian(0.7), Exponential(0.7), Matern32(0.7), Matern52(0.7), RationalQuadratic(2.0, 0.7)]
RNG = np.random.default_rng(5)
ROWS, COLUMNS = np.arange(4)[:, None], np.arange(4)[None, :]


def slow_double(points, weights, kernel, i, j):
    """Return the mean over all pairs of points by a double loop."""
    total = 0.0
    for x, w in zip(points[i], weights, strict=True):
        for y, v in zip(points[j], weights, strict=True):
            total += w * v * float(kernel.of_distance(np.linalg.norm(np.atleast_1d(x - y))))
    return total


def slow_single(points, weights, kernel, i, t):
    """Return the mean over points by a loop."""
    gaps = [np.linalg.norm(np.atleast_1d(x - t)) for x in points[i]]
    return sum(w * float(kernel.of_distance(gap)) for w, gap in zip(weights, gaps, strict=True))


def example(shape):
    points, weights = RNG.normal(size=(4, 6, *shape)), RNG.random(6)
    return points, weights / weights.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("piece", [1, 40, 1 << 17])
def test_against_loops(monkeypatch, kernel, shape, piece):
    monkeypatch.setattr(pieces, "NUMBERS_PER_PIECE", piece)
    monkeypatch.setattr(module, "NUMBERS_PER_PIECE", piece)
    points, weights = example(shape)
    means = module.PointMeans(points, weights, kernel)
    double = [[slow_double(points, weights, kernel, i, j) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), double, rtol=1e-13)
    np.testing.assert_allclose(means.double_with(means, ROWS, COLUMNS), double, rtol=1e-13)
    np.testing.assert_allclose(means.double(np.arange(4), np.arange(4)), np.diag(double), rtol=1e-13)
    np.testing.assert_allclose(means.squared_norms, np.diag(double), rtol=1e-13)
    t = RNG.normal(size=(3, *shape))
    t[2] = 60.0
    single = np.array([[slow_single(points, weights, kernel, i, x) for x in t] for i in range(4)])
    np.testing.assert_allclose(means.single(ROWS, t[None]), single, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(means.single(COLUMNS, t[:, None]), single.T, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(means.single(np.arange(3), t), np.diag(single[:3]), rtol=1e-13, atol=1e-15)


@given(st.floats(0, 2.1), st.floats(-3, 3), st.floats(-1e3, 1e3))
def test_the_spectrum_is_the_direct_sum(log_range, log_length, origin):
    length = 10.0**log_length
    points = origin + length * RNG.uniform(0, 10.0**log_range, size=(5, 7))
    means = module.PointMeans(points, np.full(7, 1 / 7), Gaussian(length))
    assert means._spectrum is not None
    i, j = np.arange(5)[:, None], np.arange(5)[None, :]
    slack = 1e-15 * (1 + abs(origin) / length)  # a far origin costs the difference of two points its digits
    np.testing.assert_allclose(means.double(i, j), means.double_with(means, i, j), rtol=0, atol=5e-15 + slack)
    t = points[:, 0] + length * np.array([-1.0, 0, 1, 50, -500])
    np.testing.assert_allclose(means.single(i, t[None]), means._summed(i, t[None]), rtol=0, atol=5e-15 + slack)


def test_points_far_apart_take_the_direct_sum():
    points = np.array([[0.0, 1.0], [1e6, -1e6]])
    assert module.Spectrum.covering(points, 1.0) is None
    assert module.Spectrum.covering(np.array([[-1e308, 1e308]]), 1e-300) is None
    means = module.PointMeans(points, np.full(2, 0.5), Gaussian(1.0))
    assert means.squared_norms == pytest.approx([(1 + np.exp(-0.5)) / 2, 0.5], rel=1e-15)


def test_points_that_are_all_the_same():
    means = module.PointMeans(np.full((2, 3), 7.0), np.full(3, 1 / 3), Gaussian(1e-3))
    assert means.double(ROWS[:2], COLUMNS[:, :2]) == pytest.approx(np.ones((2, 2)), rel=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Exponential(0.5)])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_alone_leaves_out_a_draw_with_itself(kernel, shape):
    draws = np.random.default_rng(0).normal(size=(3, 5, *shape))
    means = target_means(Samples(draws), kernel)
    for i in range(3):
        gaps = [np.linalg.norm(np.atleast_1d(draws[i, a] - draws[i, b])) for a in range(5) for b in range(5)]
        values = kernel.of_distance(np.array(gaps)).reshape(5, 5)
        assert means.squared_norms[i] == pytest.approx(values.mean(), rel=1e-13)
        assert means.double_within(np.array([i]))[0] == pytest.approx((values.sum() - 5) / 20, rel=1e-13)


def test_by_hand():
    means = target_means(Samples([[0.0, 1.0], [1.0, 1.0]]), Exponential(1.0))
    rows, e = np.arange(2), np.exp(-1)
    assert means.double(np.array(0), np.array(1)) == pytest.approx((1 + e) / 2)
    assert means.double_within(rows) == pytest.approx([e, 1.0])
    assert means.single(rows, np.array([0.0, 0.0])) == pytest.approx([(1 + e) / 2, e])


def test_one_draw_has_no_pair(refusal):
    means = target_means(Samples([[0.0], [1.0]]), Gaussian(1.0))
    assert means.double(np.array(0), np.array(1)) == pytest.approx(np.exp(-0.5))
    assert "at least 2 draws" in refusal(means.double_within, np.arange(2), error=NotApplicableError)


DISTRIBUTION = Normal([0.0, 1.0, -1.0], [1.0, 0.5, 2.0])
ROWS_SAMPLED = np.arange(3)


def test_pairs_equal_numbers_and_halves():
    kernel = Matern32(0.8)
    means = target_means(DISTRIBUTION, kernel, draws=6, rng=3)
    assert isinstance(means, module.SampledMeans)
    z = means.draws
    assert z.shape == (3, 6)
    i, j = ROWS_SAMPLED[:, None], ROWS_SAMPLED[None, :]
    tile = means.double(i, j)
    for a, b in ((0, 1), (2, 0)):
        assert tile[a, b] == pytest.approx(kernel.of_distance(np.abs(z[a] - z[b])).mean(), rel=1e-13)
    expected = kernel.of_distance(np.abs(z[:, :3] - z[:, 3:])).mean(axis=1)
    assert means.double_within(ROWS_SAMPLED) == pytest.approx(expected, rel=1e-13)
    expected = kernel.of_distance(np.abs(z - ROWS_SAMPLED[:, None])).mean(axis=1)
    assert means.single(ROWS_SAMPLED, ROWS_SAMPLED.astype(float)) == pytest.approx(expected, rel=1e-13)
    every = kernel.of_distance(np.abs(z[0][:, None] - z[1][None])).mean()
    assert means.inner(np.array(0), np.array(1)) == pytest.approx(every, rel=1e-13)


@pytest.mark.parametrize("draws", [0, 1, 7, 4.0, True])
def test_draws_must_be_even(refusal, draws):
    assert "draws must be" in refusal(target_means, DISTRIBUTION, Matern32(1.0), draws=draws)


ROOT = np.sqrt(3)
DISTRIBUTIONS = {  # name: law, characteristic function of a centred copy, accuracy of E k(Z, Z')
    "normal": (stats.norm, lambda w: np.exp(-0.5 * w * w), 1e-12),
    "logistic": (stats.logistic, lambda w: np.pi * w / np.sinh(np.pi * w), 1e-12),
    "gamma(2)": (stats.gamma, lambda w: 1 / (1 + w * w), 1e-12),
    "t(3)": (stats.t, lambda w: (1 + ROOT * np.abs(w)) * np.exp(-ROOT * np.abs(w)), 2e-8),
    "laplace": (stats.laplace, lambda w: 1 / (1 + w * w), 1e-6),
}
SHAPES = {"gamma(2)": (2,), "t(3)": (3,)}
ROWS_QUADRATURE, COLUMNS_QUADRATURE = np.array([[0], [1]]), np.array([[0, 1]])


def distribution_of(name, *, scale=1.0):
    return ScipyDistribution(DISTRIBUTIONS[name][0](*SHAPES.get(name, ()), loc=[0.0, 0.5], scale=scale))


def test_rule():
    x, weights = module.normal_rule()
    assert x.size == 129
    assert weights.sum() == pytest.approx(1, rel=1e-15)
    assert (weights * x**2).sum() == pytest.approx(1, rel=1e-13)


def test_points_use_the_survival_side():
    points, _ = module.quantile_points(Normal([0.0, 5.0], [1.0, 2.0]))
    x, _ = module.normal_rule()
    np.testing.assert_allclose(points, [x, 5 + 2 * x], rtol=1e-12, atol=1e-12)
    points, _ = module.quantile_points(ScipyDistribution(stats.norm([0.0], [1.0])))
    np.testing.assert_allclose(points[0], x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["normal", "logistic", "gamma(2)", "t(3)"])
def test_one_expectation_to_twelve_digits(integral, name):
    means = target_means(distribution_of(name), Gaussian(1.0))
    density = DISTRIBUTIONS[name][0](*SHAPES.get(name, ())).pdf
    assert isinstance(means, module.PointMeans)
    for t in (0.0, 0.7, 3.0):

        def f(x, t=t):
            return density(x) * np.exp(-0.5 * (x - t) ** 2)

        assert means.single(np.array(0), np.array(t)) == pytest.approx(integral(f, (0.0, 1.0), (t, 1.0)), abs=1e-12)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_two_expectations_by_characteristic_functions(integral, name):
    # E k(Z, Z' + m) = ∫ |c(ω)|² cos(ωm) n(ω) dω for the Gaussian kernel, n the standard normal density; |c| of gamma(2)
    # is 1/(1 + ω²).
    _, c, accuracy = DISTRIBUTIONS[name]

    def mean(shift):
        normal = stats.norm.pdf
        return integral(lambda w: np.abs(c(w)) ** 2 * np.cos(w * shift) * normal(w), (0.0, 0.3))

    means = target_means(distribution_of(name), Gaussian(1.0))
    expected = [[mean(0), mean(0.5)], [mean(0.5), mean(0)]]
    np.testing.assert_allclose(means.double(ROWS_QUADRATURE, COLUMNS_QUADRATURE), expected, rtol=0, atol=accuracy)
    found = means.double_with(means, ROWS_QUADRATURE, COLUMNS_QUADRATURE)
    np.testing.assert_allclose(found, means.double(ROWS_QUADRATURE, COLUMNS_QUADRATURE), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("name", "scale"), [("normal", 12.0), ("t(3)", 12.0)])
def test_a_rule_too_coarse_is_refused(refusal, name, scale):
    distribution = distribution_of(name, scale=scale)
    assert module.quadrature_means(distribution, Gaussian(1.0)) is None
    assert "draws=" in refusal(target_means, distribution, Gaussian(1.0), error=NotApplicableError)
    assert isinstance(target_means(distribution, Gaussian(1.0), draws=2), module.SampledMeans)


def test_one_wide_row_among_many_is_seen():
    scale = np.ones(500)
    scale[123] = 20.0
    assert module.quadrature_means(ScipyDistribution(stats.norm(0.0, scale)), Gaussian(1.0)) is None


def test_agrees_with_the_closed_form():
    distribution = Normal([0.0, 1.0, -2.0], [1.0, 0.1, 3.0])
    exact, points = target_means(distribution, Gaussian(1.0)), module.quadrature_means(distribution, Gaussian(1.0))
    i, j = np.arange(3)[:, None], np.arange(3)[None, :]
    np.testing.assert_allclose(points.double(i, j), exact.double(i, j), rtol=0, atol=1e-13)
    expected = exact.single(i, distribution.mean[j])
    np.testing.assert_allclose(points.single(i, distribution.mean[j]), expected, rtol=0, atol=1e-13)


def test_unbiased():
    distribution = Normal(np.zeros(4000), np.ones(4000))
    exact = target_means(distribution, Gaussian(1.0)).double_within(np.array([0]))[0]
    drawn = target_means(Samples(distribution.sample(3, 7)), Gaussian(1.0)).double_within(np.arange(4000))
    assert abs(drawn.mean() - exact) < 4 * drawn.std() / np.sqrt(4000)


def test_unbiased_sampled():
    distribution = Normal(np.zeros(6000), np.ones(6000))
    rows, other = np.arange(3000), np.arange(3000, 6000)
    exact = target_means(distribution, Gaussian(1.0)).double(np.array(0), np.array(1))
    drawn = module.SampledMeans.of(distribution, Gaussian(1.0), 4, 0)
    for value in (drawn.double(rows, other), drawn.double_within(rows)):
        assert abs(value.mean() - exact) < 4 * value.std() / np.sqrt(3000)
