"""Squared kernel calibration error: by hand, by its definition, and the laws that tie its kinds together."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant import Laplace, Mixture, MvNormal, Normal, Samples, ScipyDistribution, mmce, skce, summarize
from calibrant.core.kept_rows import KeptRows
from calibrant.core.ordered import Ordered
from calibrant.errors import NotApplicableError
from calibrant.kernel_errors.blocks import Blocks
from calibrant.kernel_errors.skce import read_blocksize
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Kernel, Matern32, Matern52, RationalQuadratic

RNG = np.random.default_rng(0)
n = 30
P1 = RNG.integers(0, 17, n) / 16
Y1 = (RNG.random(n) < P1**0.7).astype(int)
P3 = RNG.multinomial(16, RNG.dirichlet(np.ones(3), n)) / 16
Y3 = RNG.integers(0, 3, n)
W = RNG.uniform(0.5, 3, n)

rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 16)), min_size=2, max_size=25)


def columns(p):
    p = np.asarray(p)
    return np.column_stack([1 - p, p])


class Alike(JointKernel):
    """The same for all predictions."""

    def __call__(self, p, a, q, b):
        return (a == b).astype(float)


def estimate(H, unbiased, w=None):
    """Return the estimate from the whole matrix of h."""
    w = np.ones(len(H)) if w is None else np.asarray(w)
    total = w @ H @ w
    if not unbiased:
        return total / w.sum() ** 2
    return (total - (w**2 * H.diagonal()).sum()) / (w.sum() ** 2 - (w**2).sum())


class TestByHand:
    def test_one_row(self):
        # residuals (-0.5, 0.5) and (-0.25, ...): h of a row with itself is 2 e²
        assert skce([1], [0.75], kernel=Exponential(1.0), unbiased=False) == 2 * 0.25**2
        assert skce([1], [[0.25, 0.75]], kernel=Exponential(1.0), unbiased=False) == 2 * 0.25**2

    def test_two_rows(self):
        # e = -0.5, 0.75 at distance 0.25
        h = 2 * -0.5 * 0.75 * math.exp(-0.25 / 0.5)
        assert skce([0, 1], [0.5, 0.25], kernel=Exponential(0.5)) == pytest.approx(h)
        biased = (2 * h + 2 * 0.25 + 2 * 0.75**2) / 4
        assert skce([0, 1], [0.5, 0.25], kernel=Exponential(0.5), unbiased=False) == pytest.approx(biased)

    def test_three_classes(self):
        # residuals (0.5, -0.5, 0) and (-1, 1, 0): tv = 0.5, product -1
        P = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
        assert skce([0, 1], P, kernel=Exponential(1.0)) == pytest.approx(-math.exp(-0.5))

    def test_normal(self):
        # one location, l = σ = 1: 1 - 2 · 1/√2 · exp(0) + 1/√3
        distribution = Normal([0.0, 0.0], 1.0)
        expected = 1 - math.sqrt(2) + 1 / math.sqrt(3)
        assert skce([0.0, 0.0], distribution, kernel=Exponential(1.0) * Gaussian(1.0)) == pytest.approx(expected)


SHAPES = [
    Exponential(0.3),
    Gaussian(0.3, "euclidean"),
    Matern32(0.3, "euclidean"),
    Matern52(0.3, "euclidean"),
    RationalQuadratic(2.0, 0.3, "euclidean"),
]


class TestDefinition:
    @pytest.mark.parametrize("unbiased", [True, False])
    @pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", SHAPES, ids=repr)
    def test_one_probability(self, kernel, w, unbiased):
        e = Y1 - P1
        H = 2 * np.outer(e, e) * kernel.of_distance(np.abs(np.subtract.outer(P1, P1)))
        found = skce(Y1, P1, kernel=kernel, weights=w, unbiased=unbiased)
        assert found == pytest.approx(estimate(H, unbiased, w), rel=1e-11, abs=1e-14)

    @pytest.mark.parametrize("unbiased", [True, False])
    @pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", SHAPES, ids=repr)
    @pytest.mark.parametrize("target", [Delta(), Gaussian(1.0, "labels")], ids=repr)
    def test_classes(self, kernel, target, w, unbiased):
        R = np.eye(3)[Y3] - P3
        G = target.of_distance(np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
        gap = P3[:, None] - P3[None]
        d = np.sqrt((gap**2).sum(axis=2)) if kernel.distance == "euclidean" else np.abs(gap).sum(axis=2) / 2
        H = kernel.of_distance(d) * (R @ G @ R.T)
        found = skce(Y3, P3, kernel=kernel * target, weights=w, unbiased=unbiased)
        assert found == pytest.approx(estimate(H, unbiased, w), rel=1e-11, abs=1e-14)

    def test_a_kernel_of_ones_own(self):
        class Cauchy(Kernel):
            def profile(self, u):
                return 1 / (1 + u * u)

        own = Cauchy(0.3, "euclidean")
        same = RationalQuadratic(1.0, 0.3 / math.sqrt(2), "euclidean")
        for y, p in ((Y3, P3), (Y1, P1)):
            assert skce(y, p, kernel=own) == pytest.approx(skce(y, p, kernel=same), rel=1e-11)

    @pytest.mark.parametrize(("y", "p"), [(Y1, P1), (Y3, P3)])
    def test_a_distance_of_ones_own(self, y, p):
        def tv(a, b):
            return np.abs(a - b) if a.ndim == 1 else np.abs(a - b).sum(axis=1) / 2

        for lengthscale in (0.3, "median"):
            own = skce(y, p, kernel=Exponential(lengthscale, tv), weights=W)
            assert own == pytest.approx(skce(y, p, kernel=Exponential(lengthscale, "tv"), weights=W), rel=1e-11)


class TestDistributions:
    distribution = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
    y = RNG.normal(size=n)

    def test_one_normal_distribution_in_four_dresses(self):
        mean, std = self.distribution.mean, self.distribution.std
        kernel = Exponential(1.5, "embedding") * Gaussian(0.8)
        expected = skce(self.y, self.distribution, kernel=kernel)
        half = Mixture([self.distribution, self.distribution], [0.25, 0.75])
        assert skce(self.y, half, kernel=kernel) == pytest.approx(expected, rel=1e-9)
        found = skce(self.y, ScipyDistribution(stats.norm(mean, std)), kernel=kernel)
        assert found == pytest.approx(expected, rel=1e-6)
        vectors = MvNormal(mean[:, None], (std**2)[:, None, None])
        assert skce(self.y[:, None], vectors, kernel=kernel) == pytest.approx(expected, rel=1e-9)

    def test_the_defaults(self):
        pairs = list(itertools.combinations(range(n), 2))
        mean, std = self.distribution.mean, self.distribution.std
        l_P = np.median([math.hypot(mean[i] - mean[j], std[i] - std[j]) for i, j in pairs])
        l_Y = np.median([abs(self.y[i] - self.y[j]) for i, j in pairs])
        given_ = skce(self.y, self.distribution, kernel=Exponential(l_P) * Gaussian(l_Y))
        assert skce(self.y, self.distribution) == pytest.approx(given_, rel=1e-12)
        laplace = Laplace(mean, std)
        assert skce(self.y, laplace) != pytest.approx(skce(self.y, laplace, kernel=Exponential() * Gaussian()))

    def test_units_do_not_matter_with_median(self):
        found = skce(100 * self.y + 7, Normal(100 * self.distribution.mean + 7, 100 * self.distribution.std))
        assert found == pytest.approx(skce(self.y, self.distribution), rel=1e-9)

    def test_too_few_draws(self, refusal):
        distribution = Samples(RNG.normal(size=(n, 3)))
        assert math.isfinite(skce(self.y, distribution))
        assert "at least 4 draws per row; got 3" in refusal(skce, self.y, distribution, unbiased=False)
        assert math.isfinite(skce(self.y, Samples(RNG.normal(size=(n, 4))), unbiased=False))

    def test_calibrated_draws_are_not_biased_upwards(self):
        # The same draws in both kernels would give 1.4 standard deviations.
        rng = np.random.default_rng(1)
        values = []
        for _ in range(150):
            centre = rng.normal(size=40)
            distribution = Samples(centre[:, None] + rng.normal(size=(40, 4)))
            values.append(skce(centre + rng.normal(size=40), distribution, kernel=Exponential(1.0) * Gaussian(1.0)))
        values = np.array(values)
        assert abs(values.mean()) < 4 * values.std() / math.sqrt(150)

    def test_draws_for_what_has_no_form(self, refusal):
        distribution, kernel = ScipyDistribution(stats.gamma([2.0, 3.0, 4.0])), Exponential(1.0) * Exponential(1.0)
        y = [1.0, 2.0, 5.0]
        assert "draws=" in refusal(skce, y, distribution, kernel=kernel, error=NotApplicableError)
        first, again, other = (skce(y, distribution, kernel=kernel, draws=20, rng=seed) for seed in (1, 1, 2))
        assert first == again != other
        assert "draws must be even" in refusal(skce, y, distribution, kernel=kernel, draws=21)
        assert "at least 2" in refusal(skce, y, distribution, kernel=kernel, draws=0)


class TestTies:
    """Laws that tie the kinds together."""

    @settings(max_examples=25)
    @given(rows, st.floats(0.05, 2))
    def test_biased_is_twice_mmce_squared(self, rows, bandwidth):
        y, p = (np.array(column) for column in zip(*rows, strict=True))
        found = skce(y, p / 16, kernel=Exponential(bandwidth), unbiased=False)
        assert found == pytest.approx(2 * mmce(y, p / 16, bandwidth=bandwidth) ** 2, rel=1e-11, abs=1e-13)

    @settings(max_examples=25)
    @given(rows, st.booleans())
    def test_two_columns_are_one_probability(self, rows, unbiased):
        y, p = (np.array(column) for column in zip(*rows, strict=True))
        p = p / 16
        for kernel in (Exponential(0.2), Gaussian(0.2) * Gaussian(1.0, "labels")):
            one = skce(y, p, kernel=kernel, unbiased=unbiased)
            assert skce(y, columns(p), kernel=kernel, unbiased=unbiased) == pytest.approx(one, rel=1e-12, abs=1e-14)
        vectors = skce(y, columns(p), kernel=Matern32(0.2 * math.sqrt(2), "euclidean"), unbiased=unbiased)
        one = skce(y, p, kernel=Matern32(0.2, "euclidean"), unbiased=unbiased)
        assert vectors == pytest.approx(one, rel=1e-11, abs=1e-14)

    @settings(max_examples=25)
    @given(rows)
    def test_biased_is_not_negative(self, rows):
        y, p = (np.array(column) for column in zip(*rows, strict=True))
        assert skce(y, p / 16, kernel=Exponential(0.2), unbiased=False) >= -1e-15

    @pytest.mark.parametrize(("y", "p"), [(Y1, P1), (Y3, P3)])
    def test_whole_number_weights_are_repeated_rows_for_the_biased_one(self, y, p):
        times = RNG.integers(1, 4, n)
        kernel = Exponential(0.3)
        repeated = skce(np.repeat(y, times), np.repeat(p, times, axis=0), kernel=kernel, unbiased=False)
        assert skce(y, p, kernel=kernel, unbiased=False, weights=times) == pytest.approx(repeated, rel=1e-11)
        unbiased = skce(np.repeat(y, times), np.repeat(p, times, axis=0), kernel=kernel)
        assert skce(y, p, kernel=kernel, weights=times) != pytest.approx(unbiased, rel=1e-3)

    def test_the_length_scale_is_a_length(self):
        # twice the distance at twice the length scale
        assert skce(Y3, P3, kernel=Exponential(0.4, "l1")) == pytest.approx(skce(Y3, P3, kernel=Exponential(0.2, "tv")))


class TestBlocks:
    def test_rows_after_the_last_block_do_not_count(self):
        y = Y1.copy()
        y[28:] = 1 - y[28:]
        kernel = Exponential(0.3)
        assert skce(y, P1, kernel=kernel, blocksize=7) == skce(Y1, P1, kernel=kernel, blocksize=7)
        assert skce(y, P1, kernel=kernel, blocksize=6) != skce(Y1, P1, kernel=kernel, blocksize=6)

    def test_one_block_is_all_pairs(self):
        assert skce(Y3, P3, blocksize=n) == pytest.approx(skce(Y3, P3), rel=1e-12)
        assert skce(Y3, P3, blocksize=lambda k: k) == skce(Y3, P3, blocksize=n)

    def test_shuffle(self):
        order = np.argsort(P1, kind="stable")
        y, p = Y1[order], P1[order]
        kernel = Exponential(0.3)
        plain = skce(y, p, kernel=kernel, blocksize=2)
        mixed = [skce(y, p, kernel=kernel, blocksize=2, shuffle=True, rng=seed) for seed in (0, 0, 1)]
        assert mixed[0] == mixed[1]
        assert len({plain, mixed[0], mixed[2]}) == 3
        permutation = np.random.default_rng(0).permutation(n)
        assert mixed[0] == pytest.approx(skce(y[permutation], p[permutation], kernel=kernel, blocksize=2), rel=1e-11)


class TestRefusals:
    def test_all_predictions_alike(self, refusal):
        assert "the same in all 2 rows" in refusal(skce, [0, 1], [0.5, 0.5], error=NotApplicableError)

    def test_no_full_block(self, refusal):
        assert "blocksize 40 for 30 rows" in refusal(skce, Y1, P1, blocksize=40)


class TestInputs:
    def test_summaries(self):
        assert isinstance(summarize(skce, Y1, P1), Ordered)
        assert isinstance(summarize(skce, Y1, columns(P1)), Ordered)
        assert isinstance(summarize(skce, Y1, columns(P1), kernel=Gaussian(1.0, "euclidean")), KeptRows)
        assert isinstance(summarize(skce, Y3, P3), KeptRows)
        assert isinstance(summarize(skce, [0.0, 1.0], Normal([0.0, 1.0], 1.0)), KeptRows)
        assert isinstance(summarize(skce, Y3, P3, blocksize=3), Blocks)

    @pytest.mark.parametrize("distance", ["l1", "euclidean", lambda a, b: np.abs(a - b)])
    @pytest.mark.parametrize("verb", [skce, cb.skce_test, cb.kernel_errors.cme_test])
    def test_a_summary_whose_distance_is_another(self, verb, distance, refusal):
        # |p - p'| is the distance of one probability; that of (1 - p, p) is 2 or √2 times as long, but for "tv".
        two, one = summarize(skce, Y1, columns(P1)), summarize(skce, Y1, P1, kernel=Alike())
        for kernel in (Exponential(0.3, distance), Exponential("median", distance) * Delta()):
            message = refusal(verb, two, kernel=kernel, error=cb.errors.SummaryError)
            assert "was made of two columns and has one prob" in message
            assert message.endswith("Pass the kernel to summarize as well")
            assert skce(one, kernel=kernel) == pytest.approx(skce(Y1, P1, kernel=kernel), rel=1e-11)  # rows as they are
        assert skce(two, kernel=Exponential(0.3)) == pytest.approx(skce(Y1, P1, kernel=Exponential(0.3)), rel=1e-11)
        assert skce(one, kernel=Exponential(0.3)) == pytest.approx(skce(Y1, P1, kernel=Exponential(0.3)), rel=1e-12)

    def test_a_summary_made_with_the_distance(self):
        for p in (P1, columns(P1)):
            kernel = Exponential(0.3, "euclidean")
            expected = skce(Y1, p, kernel=kernel)
            assert skce(summarize(skce, Y1, p, kernel=kernel), kernel=kernel) == pytest.approx(expected, rel=1e-11)

    def test_one_and_two_columns_do_not_merge(self, refusal):
        one, two = summarize(skce, Y1, P1), summarize(skce, Y1, columns(P1))
        message = refusal(lambda: two + one, error=cb.errors.SummaryError)
        assert "TwoColumns and Ordered" in message


def test_blocksize():
    assert read_blocksize(1, 10, unbiased=False) == 1
    assert read_blocksize(np.int32(11), 10, unbiased=True) == 11
    assert read_blocksize(lambda n: max(2, int(n**0.5)), 100, unbiased=True) == 10


@pytest.mark.parametrize(
    ("m", "words"),
    [
        (1, "blocksize must be at least 2; got 1"),
        (4.0, "blocksize must be a whole number of at least 2; got 4.0 (float)"),
        (lambda n: n**0.5, "blocksize must be a whole number of at least 2; got 2.0 (float)"),
        (lambda: 2, "or a function of the number of rows, such as lambda n: n // 100; <function"),
        (len, "of 4 rows failed: object of type 'int' has no len()"),
        (9, "blocksize 9 for 4 rows"),
        (True, "whole number"),
        (10**5000, "at most 1,000,000,000; got a whole number of about 5,001 digits"),
        (-(10**5000), "got a whole number of about 5,001 digits"),
    ],
    ids=["one", "decimal", "function", "no argument", "len", "nine", "True", "huge", "tiny"],
)
@pytest.mark.parametrize("verb", [cb.skce, lambda *rows, **o: cb.skce_test(*rows, method="bound", **o)])
def test_verbs_refuse_them(m, words, verb, refusal):
    assert words in refusal(verb, [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], blocksize=m)
