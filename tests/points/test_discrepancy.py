"""Maximum mean discrepancy and kernel distance."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.references.books import arrays, by_id

from calibrant import interval
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.kernels import Exponential, Gaussian, Kernel, Matern32, RationalQuadratic
from calibrant.points.blocks import PointBlocks
from calibrant.points.discrepancy import kernel_distance, mmd

BOOK, ARRAYS = by_id("samples"), arrays("samples")
X, Y = ARRAYS["X"], ARRAYS["Y"]
ESTIMATORS = ("unbiased", "biased", "block", "linear")
TOO_LARGE = "the kernel's values are too large, or not finite; give the points in other units, or check the kernel"
OTHERS = [
    Exponential(1.0),
    Exponential(2.0, "l1"),
    Matern32(1.0),
    RationalQuadratic(lengthscale=1.0),
    Gaussian(1.0, lambda a, b: np.abs(a - b).max(axis=-1)),
    "laplace",
    "polynomial",
]


def agree(found, name, field=None):
    value = BOOK[name]["value"] if field is None else BOOK[name]["value"][field]
    assert found == pytest.approx(value, rel=BOOK[name]["rtol"]), name


class TestReferences:
    def test_all_pairs(self):
        agree(mmd(X, Y, bandwidth=1.0), "mmd2/unbiased/1")
        agree(mmd(X, Y, bandwidth=1.0, estimator="biased"), "mmd2/biased/1")
        agree(mmd(X, Y), "mmd2/unbiased/median")
        agree(mmd(X, Y, kernel=Gaussian()), "mmd2/unbiased/median")
        assert mmd(X, Y, bandwidth=BOOK["median_heuristic"]["value"]) == pytest.approx(mmd(X, Y), rel=1e-12)

    def test_pairs_and_blocks(self):
        agree(mmd(X, Y, bandwidth=1.0, estimator="linear"), "mmd2/linear/1", "estimate")
        agree(mmd(X, Y, bandwidth=1.0, estimator="block", blocksize=20), "mmd2/block20/1", "estimate")
        pairs = PointBlocks.of(X, Y, bandwidth=1.0, estimator="linear")
        agree(pairs.standard_error, "mmd2/linear/1", "se")
        blocks = PointBlocks.of(X, Y, bandwidth=1.0, blocksize=20)
        agree(blocks.standard_error, "mmd2/block20/1", "se")
        assert blocks.blocks == BOOK["mmd2/block20/1"]["value"]["blocks"]

    def test_kernel_distance(self):
        agree(kernel_distance(X, Y), "kid")


class TestValues:
    def test_by_hand(self):
        # k(0, 2) = e^-2 within; between the sets k(0, 1) = k(2, 1) = e^-1/2, k(0, 3) = e^-9/2, k(2, 3) = e^-1/2
        k = [math.exp(-u * u / 2) for u in range(4)]
        y, x = [[0.0], [2.0]], [[1.0], [3.0]]
        between = (3 * k[1] + k[3]) / 4
        assert mmd(y, x, bandwidth=1) == pytest.approx(2 * k[2] - 2 * between, rel=1e-14)
        assert mmd(y, x, bandwidth=1, estimator="biased") == pytest.approx(1 + k[2] - 2 * between, rel=1e-14)
        assert mmd(y, x, bandwidth=1, estimator="linear") == pytest.approx(2 * k[2] - k[3] - k[1], rel=1e-14)
        expected = mmd(y, x, bandwidth=1)
        assert mmd(y, x, bandwidth=1, estimator="block", blocksize=2) == pytest.approx(expected, rel=1e-12)

    def test_unequal_numbers_of_points(self):
        k = math.exp(-0.5)
        expected = (1 + 2 * k) / 3 + k - 2 * (3 + 3 * k) / 6
        assert mmd([[0.0], [0.0], [1.0]], [[0.0], [1.0]], bandwidth=1) == pytest.approx(expected, rel=1e-13)

    def test_a_set_with_itself_is_at_0_only_if_biased(self):
        assert mmd(X, X, estimator="biased") == pytest.approx(0.0, abs=1e-15)
        assert mmd(X, X) < 0

    def test_constant_sets(self):
        same, other = np.ones((4, 2)), np.zeros((5, 2))
        assert mmd(same, same, bandwidth=1.0) == 0.0
        assert mmd(same, other, bandwidth=1.0) == pytest.approx(2 - 2 * math.exp(-1), rel=1e-14)
        with pytest.raises(NotApplicableError, match=r"same in all 8 rows.*bandwidth=1.0"):
            mmd(same, same)

    @pytest.mark.parametrize("kernel", OTHERS, ids=[*"abcde", "laplace", "polynomial"])
    def test_every_kernel_and_estimator(self, kernel):
        y, x = X[:40], Y[:30]
        assert mmd(y, x, kernel=kernel, estimator="biased") > mmd(y, x, kernel=kernel)
        whole = mmd(y[:30], x, kernel=kernel, estimator="block", blocksize=30)
        assert whole == pytest.approx(mmd(y[:30], x, kernel=kernel), rel=1e-9)

    def test_mean_0_under_one_distribution(self, rng):
        found, biased = [], []
        for _ in range(200):
            y, x = rng.normal(size=(2, 25, 2))
            found.append(mmd(y, x, bandwidth=1.0))
            biased.append(mmd(y, x, bandwidth=1.0, estimator="biased"))
        assert abs(np.mean(found)) < 3.5 * np.std(found) / math.sqrt(200)
        assert np.mean(biased) > 10 * np.std(biased) / math.sqrt(200)


@settings(max_examples=25)
@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 2**31))
def test_biased_is_never_negative(n, m, seed):
    rng = np.random.default_rng(seed)
    y, x = rng.integers(0, 3, size=(n, 2)), rng.integers(0, 3, size=(m, 2))
    assert mmd(y, x, kernel=Matern32(1.0), estimator="biased") >= 0


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"blocksize": 5}, 'blocksize= is for estimator="block"'),
            ({"estimator": "linear", "blocksize": 5}, "the linear estimator takes pairs"),
            ({"estimator": "block", "blocksize": 1}, "blocksize must be at least 2"),
            ({"estimator": "block", "blocksize": 2.5}, "blocksize must be a whole number"),
        ],
    )
    def test_options(self, options, words, refusal):
        assert words in refusal(mmd, X, Y, **options)

    def test_blocks_that_no_set_fills(self):
        with pytest.raises(NotApplicableError, match="a block takes 201 points of each set, and one set has only 200"):
            mmd(X, Y, estimator="block", blocksize=201)

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    @pytest.mark.parametrize("size", [1e51, 1.6e51, 1e60, 1e120])
    def test_a_polynomial_kernel_that_overflows(self, size, estimator, refusal):
        assert refusal(mmd, size * X, size * Y, kernel="polynomial", estimator=estimator) == TOO_LARGE
        assert refusal(kernel_distance, size * X, size * Y) == TOO_LARGE

    @pytest.mark.parametrize("estimator", ESTIMATORS)
    def test_a_kernel_of_ones_own_that_overflows(self, estimator, refusal):
        class Large(Kernel):
            def profile(self, u):
                return 1e308 / (1 + u * u)

        many = np.random.default_rng(0).normal(size=(1500, 2))  # on several threads
        for y, x in ((X, Y), (many, many + 1)):
            assert refusal(mmd, y, x, kernel=Large(1.0), estimator=estimator) == TOO_LARGE

    def test_a_kernel_without_a_profile(self, refusal):
        assert "has no profile; pass a kernel such as Gaussian(1.0)" in refusal(mmd, X, Y, kernel=Kernel(1.0))


class TestInterval:
    RNG = np.random.default_rng(0)
    Y, X = RNG.normal(size=(1200, 2)), RNG.normal(0.3, 1.0, size=(1500, 2))

    def test_blocks(self):
        summary = PointBlocks.of(self.Y, self.X, bandwidth=1.0, blocksize=12)
        found = interval(mmd, self.Y, self.X, bandwidth=1.0)
        half = 1.9842169515086827 * summary.standard_error  # t with 99 degrees of freedom
        assert found.estimate == summary.mean
        assert found.high - found.estimate == pytest.approx(half, rel=1e-10)
        assert found.estimate - found.low == pytest.approx(half, rel=1e-10)
        assert found.n == 2400
        assert "100 blocks of 12 points" in found.method

    def test_pairs(self):
        found = interval("mmd", self.Y, self.X, bandwidth=1.0, estimator="linear", level=0.9)
        assert found.estimate == pytest.approx(mmd(self.Y, self.X, bandwidth=1.0, estimator="linear"), rel=1e-12)
        assert "600 blocks of 2 points" in found.method
        assert found.level == 0.9

    @pytest.mark.parametrize(("n", "blocksize"), [(5_000, 50), (20_000, 200)])
    def test_kernel_distance(self, n, blocksize):
        y, x = np.random.default_rng(0).normal(size=(2, n, 2))
        found = interval(kernel_distance, y, x)
        assert f"100 blocks of {blocksize} points" in found.method
        assert found.low < 0 < found.high

    def test_a_summary(self, refusal):
        summary = PointBlocks.of(self.Y, self.X, bandwidth=1.0, blocksize=12)
        assert repr(interval(mmd, summary)) == repr(interval(mmd, self.Y, self.X, bandwidth=1.0, blocksize=12))
        assert "cannot be given with PointBlocks" in refusal(interval, mmd, summary, blocksize=3)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"estimator": "unbiased"}, "no valid interval is known for estimator='unbiased'"),
            ({"blocksize": 40}, "at least 100 blocks of 40 points of each set, 4,000 points; these fill 30"),
            ({"blocksize": 9}, "blocks of at least 10 points of each set; got 9"),
            ({"kernel": "polynomial", "blocksize": 49}, "blocks of at least 50 points of each set; got 49"),
            ({"kernel": "polynomial", "estimator": "linear"}, "blocks of at least 50 points of each set; got 2"),
            ({"bins": 3}, "interval of mmd has the options kernel, bandwidth, .*; got bins"),
            ({"method": "t"}, "method must be one of None, 'block'"),
            ({"kernel": np.array([1, 2])}, r"kernel must be one of 'gaussian', .*; got array\(\[1, 2\]\)"),
            ({"bandwidth": np.array([1, 2])}, r"bandwidth must be a number above 0, .*; got array\(\[1, 2\]\)"),
            ({"estimator": np.array([1, 2])}, r"estimator must be one of .*; got array\(\[1, 2\]\)"),
            ({"blocksize": np.array([1, 2])}, r"blocksize must be a whole number .*; got array\(\[1, 2\]\)"),
            ({"weights": [1.0]}, "weights and labels belong to predictions"),
        ],
    )
    def test_refused(self, given, words):
        with pytest.raises(InputError, match=words):
            interval(mmd, self.Y, self.X, **given)

    def test_blocks_of_another_kernel(self, refusal):
        y, x = np.random.default_rng(0).normal(size=(2, 5_000, 2))
        other = PointBlocks.of(y, x, bandwidth=1.0, blocksize=50)
        message = refusal(interval, kernel_distance, other, error=SummaryError)
        assert 'made with kernel="polynomial"; these were made with Gaussian(lengthscale=1.0' in message
        assert "ask for the interval of mmd" in message
        own = PointBlocks.of(y, x, kernel="polynomial", blocksize=50)
        assert repr(interval(kernel_distance, own)) == repr(interval(kernel_distance, y, x))

    def test_too_few_pairs(self):
        with pytest.raises(NotApplicableError, match="at least 200 pairs of each set, 400 points; these fill 100"):
            interval(mmd, X, Y, estimator="linear")
