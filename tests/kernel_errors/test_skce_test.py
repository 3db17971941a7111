"""The kernel test: blocks by hand, every refusal, and what goes with what."""

import math
import sys

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

import calibrant as cb
from calibrant import Normal, audit, consistency_test, skce, skce_test, summarize
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.kernel_errors.skce_test import SKCE_TEST, kernel_options
from calibrant.kernels import Delta, Exponential, Gaussian

RNG = np.random.default_rng(0)
n = 101
P1 = RNG.random(n)
Y1 = (RNG.random(n) < P1).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = np.array([RNG.choice(3, p=row) for row in P3])
DISTRIBUTION = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = DISTRIBUTION.sample(1, 0)[:, 0]
W = RNG.uniform(0.8, 1.2, n)
CASES = {
    "binary": (Y1, P1, Exponential(0.3)),
    "classes": (Y3, P3, Exponential(0.3) * Gaussian(1.0, "labels")),
    "distributions": (REAL, DISTRIBUTION, Exponential(1.0) * Gaussian(1.0)),
}


def taken(prediction, rows):
    return prediction.take(rows) if isinstance(prediction, cb.Distribution) else prediction[rows]


class TestBlock:
    def eta(self, name, m, w=None):
        """Return the unbiased error of each block, weighted as the test weighs."""
        y, prediction, kernel = CASES[name]
        found = []
        for a in range(0, n - m + 1, m):
            rows = slice(a, a + m)
            part = None if w is None else w[rows]
            value = skce(y[rows], taken(prediction, rows), kernel=kernel, weights=part)
            pairs = m * (m - 1) if w is None else part.sum() ** 2 - (part**2).sum()
            mean = 1.0 if w is None else w[: n // m * m].mean()
            found.append(value * pairs / (m * (m - 1) * mean**2))
        return np.array(found)

    @pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
    @pytest.mark.parametrize("m", [2, 5, 10])
    @pytest.mark.parametrize("name", CASES)
    def test_by_hand(self, name, m, w):
        y, prediction, kernel = CASES[name]
        eta = self.eta(name, m, w)
        s = n // m
        mean, se = eta.mean(), eta.std(ddof=1) / math.sqrt(s)
        result = skce_test(y, prediction, kernel=kernel, method="block", blocksize=m, weights=w)
        assert result.estimate == pytest.approx(mean, rel=1e-9, abs=1e-13)
        assert result.statistic == pytest.approx(mean / se, rel=1e-8)
        assert result.pvalue == pytest.approx(stdtr(s - 1, -mean / se), rel=1e-8)
        assert result.n == s * m
        details = result.details
        assert (details["blocks"], details["blocksize"]) == (s, m)
        assert details["standard_error"] == pytest.approx(se, rel=1e-9)
        assert details["lower_bound"] == pytest.approx(max(0, mean - stdtrit(s - 1, 0.95) * se), rel=1e-9, abs=1e-13)
        if name == "distributions":
            assert "variance" not in details
        else:
            p, rows = np.asarray(prediction)[: s * m], slice(0, s * m)
            v = p * (1 - p) if p.ndim == 1 else (1 - (p**2).sum(axis=1)) / 2
            weights = np.ones(s * m) if w is None else w[rows]
            assert details["variance"] == pytest.approx((weights**2 * v).sum() / weights.max() ** 2)
        assert f"{s} blocks of {m} rows, Student's t" in result.method

    def test_two_rows_by_default(self):
        for y, prediction, kernel in CASES.values():
            found, given = (skce_test(y, prediction, kernel=kernel, method="block", blocksize=m) for m in (None, 2))
            assert found == given
            assert found.n == 100

    def test_shuffle(self):
        order = np.argsort(P1)
        y, p = Y1[order], P1[order]
        options = {"method": "block", "kernel": Exponential(0.3)}
        plain = skce_test(y, p, **options)
        first, again, other = (skce_test(y, p, shuffle=True, rng=seed, **options) for seed in (0, 0, 1))
        assert first == again
        assert len({plain.pvalue, first.pvalue, other.pvalue}) == 3

    def test_blocks_that_are_all_alike(self, refusal):
        y, p = [1, 1] * 20, [0.25, 0.5] * 20
        message = refusal(skce_test, y, p, method="block", kernel=Exponential(1.0), error=NotApplicableError)
        assert "all 20 blocks have the same value" in message
        assert "resample" in message
        # no error, no spread: p = 1
        y = [1, 0] * 40
        result = skce_test(y, [0.5, 0.5] * 40, method="block", kernel=Exponential(1.0))
        assert (result.pvalue, result.statistic) == (1.0, 0.0)
        assert result.estimate < 0

    @pytest.mark.parametrize("weight", [1e80, 1e100, 1e-80, 1e-100])
    def test_a_common_weight_of_any_size_changes_nothing(self, weight):
        # Squares of sums of such weights are beyond float64.
        y, p, kernel = 1 - Y1, P1, Exponential(0.3)
        expected = skce_test(y, p, method="block", kernel=kernel)
        w = np.full(n, weight)
        parts = [
            summarize(skce_test, y[rows], p[rows], method="block", kernel=kernel, weights=w[rows])
            for rows in (slice(0, 40), slice(40, n))
        ]
        for found in (skce_test(y, p, method="block", kernel=kernel, weights=w), skce_test(sum(parts))):
            assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
            assert found.estimate == pytest.approx(expected.estimate, rel=1e-11)

    def test_level(self):
        rng = np.random.default_rng(3)
        found = []
        for _ in range(300):
            p = rng.random(120)
            y = (rng.random(120) < p).astype(int)
            found.append(skce_test(y, p, method="block", kernel=Exponential(0.3)).pvalue)
        share = np.mean(np.array(found) <= 0.1)
        assert abs(share - 0.1) <= 5 * math.sqrt(0.1 * 0.9 / 300)

    def test_a_summary(self):
        options = {"method": "block", "kernel": Exponential(0.3)}
        parts = [summarize(skce_test, Y1[rows], P1[rows], **options) for rows in (slice(0, 40), slice(40, n))]
        whole = skce_test(Y1, P1, **options)
        assert skce_test(sum(parts), **options).statistic == pytest.approx(whole.statistic, rel=1e-9)
        assert skce_test(sum(parts)).pvalue == pytest.approx(whole.pvalue, rel=1e-9)


FAINT = np.repeat([0.2, 0.25], 50)
FAINT_VARIANCE = 50 * 0.1875 + 50 * 0.16


class TestLimits:
    """Each refusal names the limit, the value, and what to do."""

    @pytest.mark.parametrize(
        ("y", "prediction", "options", "words"),
        [
            (Y1[:19], P1[:19], {"method": "block"}, "at least 10 blocks; 19 rows make 9 of 2 rows"),
            (Y1, P1, {"method": "block", "blocksize": 11}, "at least 10 blocks; 101 rows make 9 of 11 rows"),
            (REAL, DISTRIBUTION, {"method": "block", "blocksize": 50}, "at least 10 blocks; 101 rows make 2 of 50"),
            (np.zeros(200, int), np.r_[0.02, np.full(199, 0.01)], {"method": "block"}, "at least 8; it is 1.99"),
            *(
                (np.full(100, y), prediction, {"method": "bootstrap"}, f"at least 20; it is {FAINT_VARIANCE:.3g}")
                for y, prediction in (
                    (0, FAINT),
                    (0, np.column_stack([1 - FAINT, FAINT])),
                    (1, np.column_stack([0 * FAINT, 1 - FAINT, FAINT])),
                )
            ),
            # 100 rows of variance 1/4, but nearly all of the weight is in one of them
            (
                np.arange(100) % 2,
                np.linspace(0.45, 0.55, 100),
                {"method": "bootstrap", "weights": np.r_[100, np.ones(99)]},
                "it is 0.2",
            ),
            (REAL[:63], DISTRIBUTION.take(slice(63)), {"method": "bootstrap"}, "from 64 rows on; got 63"),
        ],
    )
    def test_too_little(self, y, prediction, options, words, refusal):
        message = refusal(skce_test, y, prediction, error=NotApplicableError, **options)
        assert words in message
        assert 'method="resample"' in message

    def test_enough_blocks(self):
        assert skce_test(REAL[:20], DISTRIBUTION.take(slice(20)), method="block").n == 20

    def test_enough_variance(self, refusal):
        p = np.full(80, 0.5)
        p[0] = 0.51
        y = np.arange(80) % 2
        assert skce_test(y, np.append(p, 0.5)[1:], method="bootstrap", kernel=Exponential(1.0), resamples=19).pvalue > 0
        refusal(skce_test, y, p, method="bootstrap", resamples=19, error=NotApplicableError)

    def test_the_default_for_distributions_depends_on_their_number(self):
        for rows, words in ((63, "9 redraws of the outcomes"), (64, "9 bootstrap replicates")):
            y, distribution = REAL[:rows], DISTRIBUTION.take(slice(rows))
            for given in ((y, distribution), (summarize(skce_test, y, distribution),)):
                assert skce_test(*given, resamples=9).method.endswith(words)

    def test_one_row(self, refusal):
        for prediction in ([0.5], [[0.5, 0.25, 0.25]], Normal([0.0], 1.0)):
            message = refusal(skce_test, [1], prediction, error=NotApplicableError)
            assert message == "skce_test needs at least 2 rows; got 1"


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            *(
                ({"method": method, "blocksize": 5}, 'blocksize belongs to method="block" and "bound"')
                for method in (None, "resample", "bootstrap")
            ),
            *(
                ({"method": method, "unbiased": False}, "uses the unbiased estimator")
                for method in (None, "resample", "bootstrap", "block")
            ),
        ],
    )
    def test_refused(self, options, words, refusal):
        assert words in refusal(skce_test, Y1, P1, **options)

    @pytest.mark.parametrize(
        ("kernel", "words"),
        [
            ("exponential", "kernel must be a kernel"),
            (Exponential, "not a class"),
            (Delta(), "Delta() is a kernel on classes"),
            (Gaussian(1.0), "not positive definite for 3 classes"),
            (Exponential() * Gaussian(1.0), "these are classes"),
        ],
    )
    @pytest.mark.parametrize("method", ["resample", "bootstrap", "block", "bound"])
    def test_kernels(self, kernel, words, method, refusal):
        assert words in refusal(skce_test, Y3, P3, kernel=kernel, method=method)

    def test_draws(self, refusal):
        from scipy import stats

        distribution = cb.ScipyDistribution(stats.gamma(2.0, scale=np.linspace(1, 2, 20)))
        y, kernel = distribution.sample(1, 0)[:, 0], Exponential(1.0) * Exponential(1.0)
        assert "draws=" in refusal(skce_test, y, distribution, kernel=kernel, error=NotApplicableError)
        assert 0 < skce_test(y, distribution, kernel=kernel, draws=20, resamples=19).pvalue <= 1


class TestSummaries:
    def test_a_block_test_of_rows_is_refused(self, refusal):
        kept = summarize(skce_test, Y3, P3)
        message = refusal(skce_test, kept, method="block", error=SummaryError)
        assert 'summarize("skce_test", y, prediction, method="block")' in message

    @pytest.mark.parametrize("method", ["resample", "bootstrap"])
    def test_rows_cannot_be_had_from_blocks(self, method, refusal):
        blocks = summarize(skce_test, Y3, P3, method="block")
        assert "needs the rows" in refusal(skce_test, blocks, method=method, error=SummaryError)

    def test_biased_blocks(self, refusal):
        blocks = summarize(skce, Y3, P3, blocksize=2, unbiased=False)
        assert "unbiased" in refusal(skce_test, blocks, error=SummaryError)


def module_of(entry):
    """Return the module that a test stands in."""
    return sys.modules[entry.finish.__module__]


class TestElsewhere:
    @pytest.mark.parametrize(("y", "prediction"), [(Y1, P1), (Y3, P3), (REAL, DISTRIBUTION)], ids=CASES)
    def test_consistency_test_of_skce(self, y, prediction):
        result = consistency_test(y, prediction, metric="skce", resamples=39)
        assert result.estimate == pytest.approx(skce(y, prediction), rel=1e-11)
        assert result.pvalue > 1 / 40
        worse = REAL + 5 if prediction is DISTRIBUTION else np.where(y == 0, 1, 0)
        assert consistency_test(worse, prediction, metric=skce, resamples=39).pvalue == 1 / 40

    def test_rows_of_an_audit(self):
        y, p = Y1, P1
        found = {m.name: m for m in audit(y, p).findings.measurements}
        assert found["skce_test"].value == pytest.approx(skce_test(y, p).estimate, rel=1e-11)
        assert found["skce_test"].pvalue == skce_test(y, p).pvalue
        assert found["mmce"].value == pytest.approx(cb.mmce(y, p), rel=1e-11)
        assert 0 < found["mmce"].pvalue <= 1

    def test_many_rows_of_an_audit_go_into_blocks(self, monkeypatch):
        entry = SKCE_TEST
        for y, p, name in ((Y1, P1, "REDRAWN_BINARY_ROWS"), (Y3, P3, "REDRAWN_CLASS_ROWS")):
            rows = entry.read(y, p)
            assert kernel_options(rows) == {}
            monkeypatch.setattr(module_of(entry), name, 100)
            options = kernel_options(rows)
            assert (options["method"], options["shuffle"]) == ("block", True)
            assert rows.n // options["blocksize"] >= 10
