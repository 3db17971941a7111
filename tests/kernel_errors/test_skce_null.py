"""Redrawn outcomes as the null: exact against all outcomes, for probabilities, classes and distributions."""

import itertools
import math
from unittest import mock

import numpy as np
import pytest

import calibrant as cb
from calibrant import Laplace, Mixture, MvNormal, Normal, Samples, skce, skce_test
from calibrant.core.null import redraw_labels
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.probabilities import read_probabilities
from calibrant.kernel_errors import skce_null as module
from calibrant.kernel_errors.fitted import Randomness
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Matern32, RationalQuadratic
from calibrant.kernels.forms import ChangedForm, LineForm, VectorForm
from calibrant.kernels.pair_sums import PRODUCT_ROWS, TILE, multinomial_counts, pair_sum

RNG = np.random.default_rng(0)
B = 1999


def close_to(exact, B=B):
    return pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


def exact_pvalue(y, P, measure):
    """Return P(T* >= T) over all outcomes of class probabilities."""
    T, total = measure(y), 0.0
    for outcome in itertools.product(range(P.shape[1]), repeat=len(P)):
        chance = math.prod(P[i, k] for i, k in enumerate(outcome))
        if chance and measure(outcome) >= T - 1e-12:
            total += chance
    return total


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.exp(-np.abs(p - q).sum(axis=1) / 2 / 0.3) * (a == b)


class TestExact:
    p = np.array([0.1, 0.25, 0.4, 0.5, 0.65, 0.7, 0.85])
    y = (1, 1, 0, 1, 1, 0, 0)

    @pytest.mark.parametrize("w", [None, [1, 2, 3, 1, 2, 3, 1]], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", [Exponential(0.2), Gaussian(0.2), RationalQuadratic(1.0, 0.2), None], ids=repr)
    def test_one_probability(self, kernel, w):
        P = np.column_stack([1 - self.p, self.p])
        exact = exact_pvalue(self.y, P, lambda y: skce(y, self.p, kernel=kernel, weights=w))
        assert skce_test(self.y, self.p, kernel=kernel, weights=w, resamples=B).pvalue == close_to(exact)

    def test_ties(self):
        p = np.repeat([0.25, 0.75], 3)
        y = [1, 1, 0, 1, 0, 0]
        P = np.column_stack([1 - p, p])
        exact = exact_pvalue(y, P, lambda y: skce(y, p, kernel=Exponential(0.2)))
        assert skce_test(y, p, kernel=Exponential(0.2), resamples=B).pvalue == close_to(exact)

    @pytest.mark.parametrize("w", [None, [1, 2, 3, 1]], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", [Exponential(0.3), Exponential(0.3) * Gaussian(1.0, "labels"), Joint()])
    def test_classes(self, kernel, w):
        P = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5]])
        y = [0, 2, 1, 1]
        exact = exact_pvalue(y, P, lambda y: skce(y, P, kernel=kernel, weights=w))
        few = 499 if isinstance(kernel, JointKernel) else B
        assert skce_test(y, P, kernel=kernel, weights=w, resamples=few).pvalue == close_to(exact, few)

    def test_two_columns(self):
        P = np.column_stack([1 - self.p, self.p])
        for kernel in (Exponential(0.2), Gaussian(0.2, "euclidean")):
            exact = exact_pvalue(self.y, P, lambda y, kernel=kernel: skce(y, P, kernel=kernel))
            assert skce_test(self.y, P, kernel=kernel, resamples=B).pvalue == close_to(exact)


class TestMedianOfTheLabels:
    """A length scale found from the outcomes is found anew for redrawn ones."""

    # The first two rows are certain, so that there are always two different labels.
    P = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], [0.5, 0, 0, 0.5], [0.125, 0.5, 0.25, 0.125]])
    y = (0, 3, 2, 3, 3)
    kernel = Exponential(0.5) * Exponential("median", "labels")

    def test_exact(self):
        exact = exact_pvalue(self.y, self.P, lambda y: skce(y, self.P, kernel=self.kernel))
        fixed = Exponential(0.5) * Exponential(1.0, "labels")  # the median of these labels
        assert skce(self.y, self.P, kernel=fixed) == pytest.approx(skce(self.y, self.P, kernel=self.kernel), rel=1e-12)
        held = exact_pvalue(self.y, self.P, lambda y: skce(y, self.P, kernel=fixed))
        found = skce_test(self.y, self.P, kernel=self.kernel, resamples=999).pvalue
        assert found == close_to(exact, 999)
        assert found != close_to(held, 999)

    def test_it_is_the_consistency_test(self):
        rng = np.random.default_rng(2)
        P = np.concatenate([np.eye(3), rng.dirichlet(np.ones(3), 12)])
        y = np.array([0, 1, 2, *(rng.choice(3, p=row) for row in P[3:, ::-1])])
        kernel = Exponential(0.3) * Exponential("median", "labels")
        first = skce_test(y, P, kernel=kernel, resamples=299).pvalue
        second = cb.consistency_test(y, P, metric=skce, kernel=kernel, resamples=299, rng=1).pvalue
        assert 0.02 < first < 0.98
        assert first == pytest.approx(second, abs=5 * math.sqrt(2 * first * (1 - first) / 299))


class TestResult:
    y, p = TestExact.y, TestExact.p

    def test_statistic_and_estimate(self):
        result = skce_test(self.y, self.p, kernel=Exponential(0.2), resamples=99)
        value = skce(self.y, self.p, kernel=Exponential(0.2))
        assert result.statistic == pytest.approx(7 * value, rel=1e-12)
        assert (result.estimate, result.n) == (pytest.approx(value, rel=1e-12), 7)
        assert result.details["resamples"] == 99
        assert result.details["variance"] == pytest.approx((self.p * (1 - self.p)).sum())
        assert result.method == "kernel test of calibration (SKCE); 99 redraws of the outcomes"

    def test_weights(self):
        # h_ij is replaced by w w' h / mean(w)²
        w = np.array([1.0, 2, 3, 1, 2, 3, 1])
        e = np.array(self.y) - self.p
        H = 2 * np.outer(w * e, w * e) * np.exp(-np.abs(np.subtract.outer(self.p, self.p)) / 0.2) / w.mean() ** 2
        result = skce_test(self.y, self.p, weights=w, kernel=Exponential(0.2), resamples=19)
        assert result.statistic == pytest.approx((H.sum() - np.trace(H)) / 6, rel=1e-12)
        assert result.estimate == pytest.approx(result.statistic / 7)

    def test_impossible_outcomes(self):
        assert skce_test([1, 0, 0], [0.0, 1.0, 1.0], resamples=99).pvalue == 1 / 100
        assert skce_test([1, 2, 0] * 3, np.tile(np.eye(3), (3, 1)), resamples=99).pvalue == 1 / 100


class TestLabels:
    def test_they_follow_the_predictions(self):
        P = np.array([[0.5, 0.0, 0.125, 0.375], [0.0, 1.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]])
        labels = redraw_labels(read_probabilities([0, 1, 0], P), 4000, np.random.default_rng(0))
        assert labels.shape == (4000, 3)
        assert labels.dtype == np.uint8
        shares = (labels[:, :, None] == np.arange(4)).mean(axis=0)
        assert (np.abs(shares - P) <= 5 * np.sqrt(P * (1 - P) / 4000)).all()

    def test_a_row_that_sums_to_a_little_less(self):
        class Highest:
            def random(self, n):
                return np.full(n, np.nextafter(1.0, 0.0))

        P = np.array([[1 - 5e-7, 0.0], [0.5, 0.5 - 5e-7]])
        labels = redraw_labels(read_probabilities([0, 0], P), 3, Highest())
        assert labels.tolist() == [[0, 1]] * 3


n = 25
CENTRE = RNG.normal(size=n)
DISTRIBUTIONS = {
    "normal": Normal(CENTRE, 1.0),
    "laplace": Laplace(CENTRE, 1.0),
    "mixture": Mixture([Normal(CENTRE, 0.5), Normal(-CENTRE, 1.0)], [0.5, 0.5]),
    "vectors": MvNormal(np.column_stack([CENTRE, -CENTRE]), np.eye(2)),
    "draws": Samples(CENTRE[:, None] + RNG.normal(size=(n, 8))),
    "draws of vectors": Samples(CENTRE[:, None, None] + RNG.normal(size=(n, 8, 2))),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
class TestDistributions:
    def test_far_away(self, name):
        distribution = DISTRIBUTIONS[name]
        far = np.full((n, *distribution.shape), 8.0) + CENTRE.reshape(n, *(1,) * len(distribution.shape))
        result = skce_test(far, distribution, method="resample", resamples=19)
        assert result.pvalue == 1 / 20
        assert result.estimate == pytest.approx(skce(far, distribution), rel=1e-9)
        assert "variance" not in result.details


class TestLevel:
    """Under calibration p-values are uniform: fixed seeds, five standard deviations."""

    def shares(self, draw, repeats=200, resamples=39, **options):
        rng = np.random.default_rng(7)
        calls = (skce_test(*draw(rng), resamples=resamples, rng=rng, **options) for _ in range(repeats))
        found = np.array([result.pvalue for result in calls])
        assert set(np.round(found * (resamples + 1))) <= set(range(1, resamples + 2))
        return [(found <= level).mean() for level in (0.1, 0.5)]

    def assert_level(self, shares, repeats=200):
        for share, level in zip(shares, (0.1, 0.5), strict=True):
            assert abs(share - level) <= 5 * math.sqrt(level * (1 - level) / repeats)

    def test_rare_events(self):
        def draw(rng):
            p = rng.beta(1, 20, 60)
            return (rng.random(60) < p).astype(int), p

        self.assert_level(self.shares(draw))

    def test_classes(self):
        def draw(rng):
            P = rng.dirichlet(np.full(4, 0.3), 25)
            return np.array([rng.choice(4, p=row) for row in P]), P

        self.assert_level(self.shares(draw))

    def test_draws(self):
        def draw(rng):
            centre = rng.normal(size=12)
            return centre + rng.normal(size=12), Samples(centre[:, None] + rng.normal(size=(12, 4)))

        self.assert_level(self.shares(draw, repeats=60, resamples=19, method="resample"), repeats=60)


BOOTSTRAP_RNG = np.random.default_rng(0)


def chance(seed=0):
    return Randomness(None, np.random.default_rng(seed))


def centred(H, drawn):
    """Return the replicate of drawn rows by its definition.

    It is n times the mean over pairs of different draws of h(a, b) - r(a) - r(b) + m, r and m the means of h over all
    rows, a row with itself included.
    """
    n = len(H)
    r, m = H.mean(axis=1), H.mean()
    total = 0.0
    for a in range(n):
        for b in range(n):
            if a != b:
                i, j = drawn[a], drawn[b]
                total += H[i, j] - r[i] - r[j] + m
    return total / n


def matrix(n=7):
    H = BOOTSTRAP_RNG.normal(size=(n, n))
    return H + H.T


def test_replicates_are_those_of_drawn_rows():
    n = 7
    H = matrix(n)
    C = multinomial_counts(n, 6, np.random.default_rng(1)).astype(float)
    found = module.replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), H.diagonal())
    for counts, value in zip(C, found, strict=True):
        drawn = np.repeat(np.arange(n), counts.astype(int))
        assert value == pytest.approx(centred(H, drawn), rel=1e-11)


def test_weighted_form():
    x, e, v = BOOTSTRAP_RNG.random(5), BOOTSTRAP_RNG.normal(size=5), BOOTSTRAP_RNG.uniform(1, 2, 5)
    inner = LineForm(x, e, Exponential(0.3), 2.0)
    form = ChangedForm(inner, lambda h, i, j: v[i] * v[j] * h)
    i, j = np.array([0, 3]), np.array([1, 2])
    np.testing.assert_allclose(form.h(i, j), v[i] * v[j] * inner.h(i, j))
    np.testing.assert_allclose(form.diagonal(), v**2 * inner.diagonal())
    assert form.n == 5


BOOTSTRAPPED_ROWS = 200
P1 = BOOTSTRAP_RNG.random(BOOTSTRAPPED_ROWS)
Y1 = (BOOTSTRAP_RNG.random(BOOTSTRAPPED_ROWS) < P1).astype(int)
P3 = BOOTSTRAP_RNG.dirichlet(np.ones(3), BOOTSTRAPPED_ROWS)
Y3 = np.array([BOOTSTRAP_RNG.choice(3, p=row) for row in P3])
DISTRIBUTION = Normal(BOOTSTRAP_RNG.normal(size=BOOTSTRAPPED_ROWS), BOOTSTRAP_RNG.uniform(0.5, 2, BOOTSTRAPPED_ROWS))
REAL = DISTRIBUTION.sample(1, 0)[:, 0]
W = BOOTSTRAP_RNG.uniform(0.8, 1.2, BOOTSTRAPPED_ROWS)
CASES = {
    "line": (Y1, P1, Exponential(0.3)),
    "line without a sum": (Y1, P1, RationalQuadratic(1.0, 0.3)),
    "gaussian line": (Y1, P1, Gaussian(0.3)),
    "vectors": (Y3, P3, Exponential(0.3)),
    "vectors with targets": (Y3, P3, Matern32(0.3, "euclidean") * Gaussian(1.0, "labels")),
    "distributions": (REAL, DISTRIBUTION, Exponential(1.0) * Gaussian(1.0)),
}


def whole(name, w):
    """Return the matrix of w w' h / mean(w)², in the order of the bootstrap."""
    y, prediction, kernel = CASES[name]
    from calibrant.core.catalogue import find
    from calibrant.kernel_errors.fitted import form_of, resolved
    from calibrant.kernels.kernel_rows import canonical_order

    rows = find("skce").read(y, prediction, weights=w)
    if isinstance(prediction, np.ndarray) and prediction.ndim == 1:
        rows = cb.summarize("skce", y, prediction, weights=w).rows_at(np.arange(BOOTSTRAPPED_ROWS))
    else:
        rows = rows.take(canonical_order(rows, with_outcomes=True))
    form = form_of(rows, resolved(rows, kernel, chance()), chance())
    i = np.arange(BOOTSTRAPPED_ROWS)
    H = form.h(i[:, None], i[None, :])
    np.fill_diagonal(H, form.diagonal())
    v = rows.w / rows.w.mean()
    return v[:, None] * H * v


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_whole_computation(name, w):
    y, prediction, kernel = CASES[name]
    H = whole(name, w)
    C = multinomial_counts(BOOTSTRAPPED_ROWS, 99, np.random.default_rng(5)).astype(float)
    replicates = module.replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), H.diagonal())
    summary = cb.summarize("skce", y, prediction, kernel=kernel, weights=w)
    T, extreme = module.bootstrapped(summary, kernel, 99, chance(5))
    assert pytest.approx((H.sum() - np.trace(H)) / (BOOTSTRAPPED_ROWS - 1), rel=1e-9) == T
    assert extreme == np.count_nonzero(replicates >= T)
    result = skce_test(y, prediction, kernel=kernel, method="bootstrap", resamples=99, rng=5, weights=w)
    assert (result.statistic, result.pvalue) == (pytest.approx(T), (1 + extreme) / 100)
    assert result.estimate == pytest.approx(T / BOOTSTRAPPED_ROWS)
    if w is None:
        assert result.estimate == pytest.approx(skce(y, prediction, kernel=kernel), rel=1e-9)


def test_portions_do_not_change_the_draws(monkeypatch):
    summary = cb.summarize("skce", Y1, P1)
    expected = module.bootstrapped(summary, Exponential(0.3), 50, chance())
    monkeypatch.setattr(module, "MAX_BOOTSTRAP_NUMBERS", 7 * BOOTSTRAPPED_ROWS)
    assert module.bootstrapped(summary, Exponential(0.3), 50, chance()) == pytest.approx(expected, rel=1e-11)


def test_gross_miscalibration_by_bootstrap():
    assert skce_test(1 - Y1, P1, method="bootstrap", resamples=199).pvalue == 1 / 200
    assert skce_test(REAL + 3, DISTRIBUTION, resamples=199).pvalue == 1 / 200
    assert "199 bootstrap replicates" in skce_test(REAL + 3, DISTRIBUTION, resamples=199).method


BOUND_RNG = np.random.default_rng(0)
BOUNDED_ROWS = 200
P = BOUND_RNG.random(BOUNDED_ROWS)
Y = (BOUND_RNG.random(BOUNDED_ROWS) < 0.5 * P).astype(int)
WRONG = (BOUND_RNG.random(BOUNDED_ROWS) < 1 - P).astype(int)


class Signed(Exponential):
    supremum = 1.5
    signed = True


class BoundedJoint(JointKernel):
    supremum = 5.0

    def __call__(self, p, a, q, b):
        return 5.0 * np.exp(-np.abs(p - q).sum(axis=1)) * (a == b)


class TestFormulas:
    @pytest.mark.parametrize(
        ("k", "m", "N"), [(100, 100, 50), (100, 2, 50), (101, 3, 33), (100, 7, 42), (101, 101, 50), (9, 4, 4)]
    )
    def test_unbiased(self, k, m, N):
        assert module.unbiased_pvalue(0.3, n=k, m=m, bound=2.0) == pytest.approx(math.exp(-N * 0.09 / 8))

    @pytest.mark.parametrize("t", [0.0, -0.3, -1e-300])
    def test_unbiased_of_no_error(self, t):
        assert module.unbiased_pvalue(t, n=100, m=2, bound=2.0) == 1.0

    def test_biased(self):
        # √(100 · 0.5 / 2) = 5
        assert module.biased_pvalue(0.5, n=100, bound=2.0) == pytest.approx(math.exp(-8))

    @pytest.mark.parametrize("t", [0.02, 0.001, 0.0, -1e-17])
    def test_biased_below_its_mean(self, t):
        assert module.biased_pvalue(t, n=100, bound=2.0) == 1.0

    def test_biased_rejects_from_11_9_bounds_on(self):
        assert module.biased_pvalue(11.9 * 2 / 100, n=100, bound=2.0) < 0.05 + 1e-3
        assert module.biased_pvalue(11.8 * 2 / 100, n=100, bound=2.0) > 0.05

    def test_largest_h(self):
        assert module.largest_h(Exponential(1.0) * Delta()) == 2.0
        assert module.largest_h(Signed(1.0) * Delta()) == module.largest_h(Gaussian(1.0) * Signed(1.0)) == 6.0
        assert module.largest_h(BoundedJoint()) == 10.0


class TestVerb:
    @pytest.mark.parametrize("blocksize", [None, 2, 7, lambda k: k // 4])
    def test_unbiased(self, blocksize):
        kernel = Exponential(0.3)
        result = skce_test(WRONG, P, method="bound", kernel=kernel, blocksize=blocksize)
        t = skce(WRONG, P, kernel=kernel, blocksize=blocksize)
        m = BOUNDED_ROWS if blocksize is None else blocksize(BOUNDED_ROWS) if callable(blocksize) else blocksize
        assert t > 0
        assert result.statistic == result.estimate == pytest.approx(t, rel=1e-12)
        assert result.n == BOUNDED_ROWS // m * m
        assert result.pvalue == pytest.approx(math.exp(-(BOUNDED_ROWS // m) * (m // 2) * t * t / 8), rel=1e-12)
        assert result.details == {"bound": 2.0}
        assert "distribution-free bound, |h| <= 2" in result.method

    def test_biased(self):
        kernel = Exponential(0.3)
        result = skce_test(WRONG, P, method="bound", kernel=kernel, unbiased=False)
        t = skce(WRONG, P, kernel=kernel, unbiased=False)
        assert result.estimate == pytest.approx(t, rel=1e-12)
        assert result.pvalue == pytest.approx(module.biased_pvalue(t, n=BOUNDED_ROWS, bound=2.0), rel=1e-12)
        assert result.pvalue < 1

    def test_other_bounds(self):
        smaller = skce_test(WRONG, P, method="bound", bound=0.5)
        assert smaller.pvalue < skce_test(WRONG, P, method="bound").pvalue
        assert skce_test(WRONG, P, method="bound", kernel=Signed(0.3)).details["bound"] == 6.0
        assert skce_test(WRONG, P, method="bound", kernel=BoundedJoint()).details["bound"] == 10.0
        blocks = skce_test(WRONG, P, method="bound", kernel=BoundedJoint(), blocksize=2)
        assert blocks.details["bound"] == 10.0

    @pytest.mark.parametrize("blocksize", [None, 5])
    def test_classes_and_distributions(self, blocksize):
        P3 = BOUND_RNG.dirichlet(np.ones(3), 50)
        y = np.argmin(P3, axis=1)
        distribution = Normal(np.arange(50.0), 1.0)
        real = np.arange(50.0) + 5
        of_distributions = (real, distribution, Exponential(9.0) * Gaussian(1.0))
        for outcome, prediction, kernel in ((y, P3, Exponential(0.3)), of_distributions):
            found = skce_test(outcome, prediction, method="bound", kernel=kernel, blocksize=blocksize)
            t = skce(outcome, prediction, kernel=kernel, blocksize=blocksize)
            m = blocksize or 50
            assert found.pvalue == pytest.approx(module.unbiased_pvalue(t, n=50, m=m, bound=2.0), rel=1e-12)
            assert t > 0


class TestRefusals:
    def test_weights(self, refusal):
        w = BOUND_RNG.uniform(1, 2, BOUNDED_ROWS)
        P3 = BOUND_RNG.dirichlet(np.ones(3), BOUNDED_ROWS)
        for y, p, blocksize in ((Y, P, None), (Y, P, 2), (Y, P3, None)):
            message = refusal(skce_test, y, p, method="bound", weights=w, blocksize=blocksize)
            assert 'no form with weights; leave weights out or use method="resample"' in message

    def test_biased_blocks(self, refusal):
        message = refusal(skce_test, Y, P, method="bound", unbiased=False, blocksize=2)
        assert "for all pairs; leave blocksize out" in message

    @pytest.mark.parametrize("bound", [0, -1, np.nan, np.inf, "2", True])
    def test_no_bound(self, bound, refusal):
        assert "bound must be a number above 0" in refusal(skce_test, Y, P, method="bound", bound=bound)

    @pytest.mark.parametrize("method", [None, "resample", "bootstrap", "block"])
    def test_a_bound_elsewhere(self, method, refusal):
        assert 'bound= belongs to method="bound"' in refusal(skce_test, Y, P, method=method, bound=2.0)


def l1_of_pairs(p, q):
    return np.abs(p - q).sum(axis=1)


def target_matrix(K, seed=4):
    A = np.random.default_rng(seed).normal(size=(K, K))
    return A @ A.T


def form_of(n, K, kernel=None, G=None, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, 0.4), n)
    return VectorForm.of(P, rng.integers(0, K, n), kernel or Exponential(0.3, "tv"), G)


def labels_of(B, form, seed=1):
    return np.random.default_rng(seed).integers(0, form.P.shape[1], (B, form.n))


def one_by_one(form, Y, w):
    forms = (VectorForm.of(form.P, y.astype(np.intp), form.kernel, form.G) for y in Y)
    return np.array([2 * pair_sum(each, w) for each in forms])


@pytest.fixture(params=["reference", "fast"])
def sums(request, require):
    """Return redrawn_sums with a body of its own."""
    fast = request.param == "fast"
    if fast:
        require("numba")

    def call(*args):
        with mock.patch.object(module, "takes_fast_double_sum", return_value=fast):
            return module.redrawn_sums(*args)

    return call


def assert_agrees(found, form, Y, w):
    size = np.sum(w) ** 2 * (1 if form.G is None else np.abs(form.G).max())
    np.testing.assert_allclose(found, one_by_one(form, Y, w), rtol=0, atol=1e-12 * size)


EVERY_SIZE = (1, 2, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 3, PRODUCT_ROWS + 1)
TABLES = [
    *({"n": n, "weighted": weighted} for n in EVERY_SIZE for weighted in (False, True)),
    *({"K": K, "weighted": True, "target": target} for K in (2, 10, 130, 300) for target in (False, True)),
    *({"kernel": kernel} for kernel in (Gaussian(0.4, "euclidean"), Exponential(0.2, "l1"))),
    {"kernel": Exponential(0.2, l1_of_pairs)},
    *({"n": 20, "B": B, "dtype": dtype} for B in (1, 7, 64, 130) for dtype in (np.uint8, np.uint16, np.int64)),
]


def check_redrawn(sums, n=140, K=3, B=5, kernel=None, dtype=np.int64, weighted=False, target=False):
    form = form_of(n, K, kernel, target_matrix(K) if target else None)
    w = np.random.default_rng(2).gamma(1.0, size=n) if weighted else unit_weights(n)
    Y = labels_of(B, form).astype(dtype)
    assert_agrees(sums(form, Y, w), form, Y, w)


@pytest.mark.parametrize("table", TABLES)
def test_redrawn_sums(sums, table):
    check_redrawn(sums, **table)


def test_the_outcomes_of_the_form_do_not_matter(sums):
    form = form_of(60, 3)
    other = VectorForm.of(form.P, 2 - form.y, form.kernel, None)
    Y, w = labels_of(4, form), unit_weights(60)
    assert (sums(form, Y, w) == sums(other, Y, w)).all()
