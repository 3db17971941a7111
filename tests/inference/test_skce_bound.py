"""Distribution-free bounds."""

import math

import numpy as np
import pytest

import calibrant as cb
from calibrant import Delta, Exponential, Gaussian, JointKernel, Normal, skce, skce_test
from calibrant.inference.skce_bound import biased_pvalue, largest_h, unbiased_pvalue

RNG = np.random.default_rng(0)
n = 200
P = RNG.random(n)
Y = (RNG.random(n) < 0.5 * P).astype(int)
WRONG = (RNG.random(n) < 1 - P).astype(int)


class Signed(Exponential):
    supremum = 1.5
    signed = True


class Joint(JointKernel):
    supremum = 5.0

    def __call__(self, p, a, q, b):
        return 5.0 * np.exp(-np.abs(p - q).sum(axis=1)) * (a == b)


class TestFormulas:
    @pytest.mark.parametrize(
        ("k", "m", "N"), [(100, 100, 50), (100, 2, 50), (101, 3, 33), (100, 7, 42), (101, 101, 50), (9, 4, 4)]
    )
    def test_unbiased(self, k, m, N):
        assert unbiased_pvalue(0.3, n=k, m=m, bound=2.0) == pytest.approx(math.exp(-N * 0.09 / 8))

    @pytest.mark.parametrize("t", [0.0, -0.3, -1e-300])
    def test_unbiased_of_no_error(self, t):
        assert unbiased_pvalue(t, n=100, m=2, bound=2.0) == 1.0

    def test_biased(self):
        # √(100 · 0.5 / 2) = 5
        assert biased_pvalue(0.5, n=100, bound=2.0) == pytest.approx(math.exp(-8))

    @pytest.mark.parametrize("t", [0.02, 0.001, 0.0, -1e-17])
    def test_biased_below_its_mean(self, t):
        assert biased_pvalue(t, n=100, bound=2.0) == 1.0

    def test_biased_rejects_from_11_9_bounds_on(self):
        assert biased_pvalue(11.9 * 2 / 100, n=100, bound=2.0) < 0.05 + 1e-3
        assert biased_pvalue(11.8 * 2 / 100, n=100, bound=2.0) > 0.05

    def test_largest_h(self):
        assert largest_h(Exponential(1.0) * Delta()) == 2.0
        assert largest_h(Signed(1.0) * Delta()) == largest_h(Gaussian(1.0) * Signed(1.0)) == 6.0
        assert largest_h(Joint()) == 10.0

    def test_h_stays_below_it(self):
        # certain and wrong both ways, at one place: h = 2
        assert skce([0, 0], [1.0, 1.0], kernel=Exponential(1.0)) == 2.0


class TestVerb:
    @pytest.mark.parametrize("blocksize", [None, 2, 7, lambda k: k // 4])
    def test_unbiased(self, blocksize):
        kernel = Exponential(0.3)
        result = skce_test(WRONG, P, method="bound", kernel=kernel, blocksize=blocksize)
        t = skce(WRONG, P, kernel=kernel, blocksize=blocksize)
        m = n if blocksize is None else blocksize(n) if callable(blocksize) else blocksize
        assert t > 0
        assert result.statistic == result.estimate == pytest.approx(t, rel=1e-12)
        assert result.n == n // m * m
        assert result.pvalue == pytest.approx(math.exp(-(n // m) * (m // 2) * t * t / 8), rel=1e-12)
        assert result.details == {"bound": 2.0}
        assert "distribution-free bound, |h| <= 2" in result.method

    def test_biased(self):
        kernel = Exponential(0.3)
        result = skce_test(WRONG, P, method="bound", kernel=kernel, unbiased=False)
        t = skce(WRONG, P, kernel=kernel, unbiased=False)
        assert result.estimate == pytest.approx(t, rel=1e-12)
        assert result.pvalue == pytest.approx(biased_pvalue(t, n=n, bound=2.0), rel=1e-12)
        assert result.pvalue < 1

    def test_other_bounds(self):
        smaller = skce_test(WRONG, P, method="bound", bound=0.5)
        assert smaller.pvalue < skce_test(WRONG, P, method="bound").pvalue
        signed = skce_test(WRONG, P, method="bound", kernel=Signed(0.3))
        assert signed.details["bound"] == 6.0
        assert skce_test(WRONG, P, method="bound", kernel=Joint()).details["bound"] == 10.0
        blocks = skce_test(WRONG, P, method="bound", kernel=Joint(), blocksize=2)
        assert blocks.details["bound"] == 10.0

    @pytest.mark.parametrize("blocksize", [None, 5])
    def test_classes_and_laws(self, blocksize):
        P3 = RNG.dirichlet(np.ones(3), 50)
        y = np.argmin(P3, axis=1)
        law = Normal(np.arange(50.0), 1.0)
        real = np.arange(50.0) + 5
        for outcome, prediction, kernel in ((y, P3, Exponential(0.3)), (real, law, Exponential(9.0) * Gaussian(1.0))):
            found = skce_test(outcome, prediction, method="bound", kernel=kernel, blocksize=blocksize)
            t = skce(outcome, prediction, kernel=kernel, blocksize=blocksize)
            m = blocksize or 50
            assert found.pvalue == pytest.approx(unbiased_pvalue(t, n=50, m=m, bound=2.0), rel=1e-12)
            assert t > 0

    def test_a_summary(self):
        kernel = Exponential(0.3)
        options = {"method": "bound", "kernel": kernel, "blocksize": 2}
        whole = skce_test(WRONG, P, **options)
        parts = [cb.summarize(skce_test, WRONG[rows], P[rows], **options) for rows in (slice(0, 80), slice(80, n))]
        assert skce_test(sum(parts), **options).pvalue == pytest.approx(whole.pvalue, rel=1e-12)


class TestRefusals:
    def test_weights(self, refusal):
        w = RNG.uniform(1, 2, n)
        P3 = RNG.dirichlet(np.ones(3), n)
        for y, p, blocksize in ((Y, P, None), (Y, P, 2), (Y, P3, None)):
            message = refusal(skce_test, y, p, method="bound", weights=w, blocksize=blocksize)
            assert 'no form with weights; leave weights out or use method="resample"' in message

    def test_equal_weights_are_none(self):
        for blocksize in (None, 2):
            plain, weighted = (
                skce_test(Y, P, method="bound", weights=w, blocksize=blocksize, kernel=Exponential(0.3))
                for w in (None, np.full(n, 0.1))
            )
            assert weighted.pvalue == pytest.approx(plain.pvalue, rel=1e-12)

    def test_biased_blocks(self, refusal):
        message = refusal(skce_test, Y, P, method="bound", unbiased=False, blocksize=2)
        assert "for all pairs; leave blocksize out" in message

    @pytest.mark.parametrize("bound", [0, -1, np.nan, np.inf, "2", True])
    def test_no_bound(self, bound, refusal):
        assert "bound must be a number above 0" in refusal(skce_test, Y, P, method="bound", bound=bound)

    @pytest.mark.parametrize("method", [None, "resample", "bootstrap", "block"])
    def test_a_bound_elsewhere(self, method, refusal):
        assert 'bound= belongs to method="bound"' in refusal(skce_test, Y, P, method=method, bound=2.0)
