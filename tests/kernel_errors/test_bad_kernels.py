"""Bad kernels, distributions and weights: the kernel verbs refuse them, or are right."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from calibrant import Distribution, Intervals, Normal, Samples, consistency_test, skce, skce_test, summarize
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.kernel_errors import cme_test, ucme
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Kernel, RationalQuadratic
from calibrant.testing.data import numbers

RNG = np.random.default_rng(0)
n = 240
P1 = RNG.random(n)
Y1 = (RNG.random(n) < P1).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = np.array([RNG.choice(3, p=row) for row in P3])
DISTRIBUTION = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = DISTRIBUTION.sample(1, 0)[:, 0]
DATA = {"binary": (Y1, P1, "euclidean"), "classes": (Y3, P3, "euclidean"), "distributions": (REAL, DISTRIBUTION, None)}
VERBS = {
    "skce": skce,
    "skce in blocks": lambda *rows, **o: skce(*rows, blocksize=4, **o),
    "skce_test": lambda *rows, **o: skce_test(*rows, resamples=9, method="resample", **o),
    "bootstrap": lambda *rows, **o: skce_test(*rows, resamples=9, method="bootstrap", **o),
    "block": lambda *rows, **o: skce_test(*rows, method="block", **o),
    "bound": lambda *rows, **o: skce_test(*rows, method="bound", **o),
    "ucme": lambda *rows, **o: ucme(*rows, locations=3, **o),
    "cme_test": lambda *rows, **o: cme_test(*rows, locations=3, resamples=9, **o),
}
PROFILES = {
    "nan": (lambda u: np.full(np.shape(u), np.nan), "must be finite"),
    "nan far away": (lambda u: np.where(u > 0.4, np.nan, 1.0), "must be finite"),
    "infinite": (lambda u: np.full(np.shape(u), np.inf), "must be finite"),
    "one number": (lambda u: 1.0, "one real number for each element"),
    "None": (lambda u: None, "one real number for each element"),
    "complex": (lambda u: np.exp(-u) + 0j, "one real number for each element"),
    "one axis more": (lambda u: np.exp(-u)[..., None], "one real number for each element"),
    "one row": (lambda u: np.exp(-u[:1]) if u.shape[0] > 1 else np.ones((9, 9)), "one real number for each element"),
}


def own(profile):
    return type("Own", (Kernel,), {"profile": lambda self, u: profile(u)})


def of_every_verb(cases):
    """Return every verb with every case, by name."""
    return {f"{name}: {case}": (verb, *given) for name, verb in VERBS.items() for case, given in cases.items()}


@pytest.mark.parametrize("kind", DATA)
def test_bad_profiles(kind, for_each, refusal):
    y, prediction, distance = DATA[kind]

    def check(verb, profile, words):
        message = refusal(verb, y, prediction, kernel=own(profile)(0.3, distance))
        assert message.startswith("profile of Own must ")
        assert words in message

    for_each(of_every_verb(PROFILES), check)


def test_bad_profiles_of_targets(for_each, refusal):
    draws = Samples(DISTRIBUTION.sample(6, 1))

    def check(verb, profile, words):
        for y, prediction in ((Y1, P1), (Y3, P3)):
            message = refusal(verb, y, prediction, kernel=Exponential(0.3) * own(profile)(1.0, "labels"))
            assert message.startswith("profile of Own must ")
            assert words in message
        assert words in refusal(verb, REAL, draws, kernel=Exponential(1.0) * own(profile)(1.0))

    for_each(of_every_verb({name: given for name, given in PROFILES.items() if name != "nan far away"}), check)


DISTANCES = {
    "nan": (lambda a, b: np.where(a == b, 0.0, np.nan), "finite and at least 0"),
    "negative": (lambda a, b: a - b, "finite and at least 0"),
    "one number": (lambda a, b: 1.0, "one real number per pair"),
    "None": (lambda a, b: None, "one real number per pair"),
    "complex": (lambda a, b: np.abs(a - b) + 0j, "one real number per pair"),
    "one way": (lambda a, b: np.where(a < b, 1.0, 2.0) * (a != b), "must be symmetric"),
    "of a point and itself": (lambda a, b: np.ones(a.shape), "0 between a point and itself"),
}


def test_bad_distances_of_targets(for_each, refusal):
    def check(verb, distance, words):
        for y, prediction in ((Y1, P1), (Y3, P3)):
            assert words in refusal(verb, y, prediction, kernel=Exponential(0.3) * Exponential(1.0, distance))

    for_each(of_every_verb(DISTANCES), check)


def test_a_distance_of_targets(for_each):
    def half(a, b):
        return np.abs(a - b) / 2

    def check(verb):
        for y, prediction in ((Y1, P1), (Y3, P3)):
            found = verb(y, prediction, kernel=Exponential(0.3) * Exponential(1.0, half))
            expected = verb(y, prediction, kernel=Exponential(0.3) * Exponential(2.0, "labels"))
            np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-11, atol=1e-15)

    for_each(VERBS, check)


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.exp(-np.abs(p - q).sum(axis=1)) * (a == b)


class Greedy(Joint):
    """The same, and it writes into all that it is given."""

    def __call__(self, p, a, q, b):
        k = super().__call__(p, a, q, b)
        p[:], q[:], a[:], b[:] = 9, 7, 0, 1
        return k


def test_a_joint_kernel_that_writes_into_its_arguments(for_each):
    def check(verb):
        for y, prediction in ((Y1, P1), (Y3, P3)):
            before = y.copy(), prediction.copy()
            assert verb(y, prediction, kernel=Greedy()) == verb(y, prediction, kernel=Joint())
            np.testing.assert_array_equal(y, before[0])
            np.testing.assert_array_equal(prediction, before[1])

    for_each({name: verb for name, verb in VERBS.items() if name not in ("ucme", "cme_test")}, check)


def test_a_complex_joint_kernel(refusal):
    class Complex(Joint):
        def __call__(self, p, a, q, b):
            return super().__call__(p, a, q, b) + 0j

    assert "one real number per pair" in refusal(skce, Y3, P3, kernel=Complex())


class Shifted(Distribution):
    """Normal(mean, 1) with draws of its own, the first row of some of them missing."""

    def __init__(self, mean, missing):
        self.mean, self.missing = np.asarray(mean), missing

    @property
    def n(self):
        return len(self.mean)

    def take(self, rows):
        return Shifted(self.mean[rows], self.missing)

    def _beside(self, x):
        return self.mean if np.ndim(x) < 2 else self.mean[:, None]

    def cdf(self, x):
        return ndtr(x - self._beside(x))

    def sf(self, x):
        return ndtr(self._beside(x) - x)

    def ppf(self, q):
        return ndtri(q) + self._beside(q)

    def isf(self, q):
        return self._beside(q) - ndtri(q)

    def sample(self, size, rng):
        draws = self.mean[:, None] + rng.normal(size=(self.n, size))
        if self.missing:
            draws[0] = np.nan
        return draws


WITH_DRAWS = {"kernel": Exponential(1.0) * Gaussian(1.0), "resamples": 9, "draws": 20}


class TestSamplesThatAreMissing:
    right, wrong = Shifted(DISTRIBUTION.mean[:20], False), Shifted(DISTRIBUTION.mean[:20], True)

    @pytest.mark.parametrize(
        ("verb", "more"),
        [(skce_test, {"method": "resample"}), (cme_test, {"locations": 3}), (consistency_test, {"metric": skce})],
    )
    def test_they_are_refused(self, verb, more, refusal):
        options = {**WITH_DRAWS, **more}
        assert 0 < verb(REAL[:20], self.right, **options).pvalue <= 1
        message = refusal(verb, REAL[:20], self.wrong, **options)
        assert message.startswith("sample of Shifted must return finite numbers; row 0 is nan")


class TestNothingButRounding:
    """Where h is 0 but for rounding, rounding must not look like an error."""

    y = RNG.normal(size=80)
    perfect = Samples(np.repeat(y[:, None], 6, axis=1))

    @pytest.mark.parametrize("method", ["resample", "bootstrap", "block"])
    @pytest.mark.parametrize(
        "kernel", [None, Exponential(1.0) * Gaussian(1.0), Exponential(0.1) * Exponential(0.1)], ids=repr
    )
    def test_perfect_draws(self, method, kernel):
        assert skce_test(self.y, self.perfect, kernel=kernel, method=method, resamples=99).pvalue == 1.0

    def test_perfect_draws_at_locations(self):
        assert cme_test(self.y, self.perfect, resamples=99, locations=4).pvalue == 1.0

    @pytest.mark.parametrize("method", ["resample", "bootstrap", "block", "bound"])
    def test_a_target_kernel_that_sees_no_difference(self, method):
        kernel = Exponential(1.0) * Gaussian(1e8)
        assert skce_test(REAL, DISTRIBUTION, kernel=kernel, method=method, resamples=19).pvalue > 0.9
        assert skce_test(REAL + 5, DISTRIBUTION, kernel=kernel, method=method, resamples=19).pvalue > 0.9


class TestOneHeavyRow:
    m = 40

    def weights(self, heavy):
        w = np.ones(self.m)
        w[5] = heavy
        return w

    def rows(self, kind):
        y, prediction, _ = DATA[kind]
        part = slice(0, self.m)
        return y[part], prediction.take(part) if kind == "distributions" else prediction[part]

    def exact(self, kind, w, kernel, m):
        """Return the mean over blocks, weights and sums as fractions."""
        y, prediction = self.rows(kind)
        above = below = Fraction(0)
        for start in range(0, self.m, m):
            for i in range(start, start + m):
                for j in range(i + 1, start + m):
                    pair = np.array([i, j])
                    taken = prediction.take(pair) if kind == "distributions" else prediction[pair]
                    both = Fraction(w[i]) * Fraction(w[j])
                    above += both * Fraction(skce(y[pair], taken, kernel=kernel))
                    below += both
        return float(above / below)

    @pytest.mark.parametrize("heavy", [1e16, 1e40, 1e-16])
    @pytest.mark.parametrize("kind", DATA)
    def test_blocks_are_exact(self, kind, heavy):
        kernel = Exponential(1.0) * Gaussian(1.0) if kind == "distributions" else Exponential(0.3)
        w = self.weights(heavy)
        found = skce(*self.rows(kind), kernel=kernel, weights=w, blocksize=4)
        assert found == pytest.approx(self.exact(kind, w, kernel, 4), rel=1e-9)

    @pytest.mark.parametrize("kind", DATA)
    def test_all_pairs_are_refused(self, kind, refusal):
        message = refusal(skce, *self.rows(kind), weights=self.weights(1e16), error=NotApplicableError)
        assert message.startswith("one row carries all the weight")
        assert "unbiased=False" in message
        assert skce(*self.rows(kind), weights=self.weights(1e16), unbiased=False) >= 0

    def test_heavy_but_not_alone(self):
        w, kernel = self.weights(1e4), Exponential(0.3)
        found = skce(*self.rows("classes"), kernel=kernel, weights=w)
        assert found == pytest.approx(self.exact("classes", w, kernel, self.m), rel=1e-9)


BLOCKS = {
    "binary": summarize(skce, Y1, P1, kernel=Exponential(0.3) * Delta(), blocksize=5),
    "classes": summarize(
        skce, Y3, P3, kernel=RationalQuadratic(2.0, 0.3, "euclidean") * Gaussian(1.0, "labels"), blocksize=5
    ),
    "distributions": summarize(skce, REAL, DISTRIBUTION, kernel=Exponential(1.0) * Gaussian(1.0), blocksize=5),
}
SAME = {
    "binary": [
        {"blocksize": 5},
        {"blocksize": np.int64(5)},
        {"blocksize": lambda rows: rows // 48},
        {"kernel": Exponential(0.3)},
        {"kernel": Exponential(0.3, "tv") * Delta()},
        {"kernel": Exponential()},
    ],
    "classes": [{"kernel": RationalQuadratic(2.0, 0.3) * Gaussian(1.0, "labels")}],
    "distributions": [
        {"kernel": Exponential(1.0, "wasserstein") * Gaussian(1.0, "euclidean")},
        {"kernel": Exponential(1.0)},
    ],
}
CONTRADICTIONS = {
    "binary": [
        {"blocksize": np.int64(10)},
        {"blocksize": lambda rows: 7},
        {"kernel": Exponential(0.2)},
        {"kernel": Gaussian(0.3)},
        {"kernel": Exponential(0.3, "l1")},
        {"kernel": Exponential(0.3, lambda a, b: np.abs(a - b))},
        {"kernel": Exponential(0.3) * Exponential(1.0, "labels")},
        {"kernel": Joint()},
    ],
    "classes": [
        {"kernel": RationalQuadratic(1.0, 0.3, "euclidean")},
        {"kernel": RationalQuadratic(2.0, 0.3, "euclidean") * Delta()},
        {"kernel": RationalQuadratic(2.0, 0.3, "euclidean") * Gaussian(2.0, "labels")},
    ],
    "distributions": [
        {"kernel": Exponential(1.0, "embedding")},
        {"kernel": Exponential(1.0) * Exponential(1.0)},
        {"kernel": Exponential(1.0) * Gaussian(2.0)},
    ],
}


@pytest.mark.parametrize("verb", [skce, skce_test])
class TestOptionsBesideASummary:
    @pytest.mark.parametrize(("kind", "options"), [(k, o) for k, several in SAME.items() for o in several])
    def test_what_it_was_made_with(self, verb, kind, options):
        assert verb(BLOCKS[kind], **options) == verb(BLOCKS[kind])

    @pytest.mark.parametrize(("kind", "options"), [(k, o) for k, several in CONTRADICTIONS.items() for o in several])
    def test_what_contradicts_it(self, verb, kind, options, refusal):
        message = refusal(verb, BLOCKS[kind], error=SummaryError, **options)
        assert message.startswith("these blocks ")
        assert "; got " in message

    def test_blocks_of_rows_that_were_kept(self, verb, refusal):
        options = {"method": "bound"} if verb is skce_test else {}
        for data in ((Y1, P1), (Y3, P3), (REAL, DISTRIBUTION), (REAL, Intervals(REAL - 1, REAL + 1, 0.9))):
            message = refusal(verb, summarize(skce, *data), blocksize=5, error=SummaryError, **options)
            assert "was made without blocks; got blocksize=5" in message


@pytest.mark.parametrize("bound", [1e-300, 5e-324])
@pytest.mark.parametrize("unbiased", [True, False])
def test_a_tiny_bound(bound, unbiased):
    options = {"method": "bound", "bound": bound, "unbiased": unbiased}
    assert skce_test(1 - Y1, P1, **options).pvalue == 0.0
    assert skce_test([0, 1, 1], [0.0, 1.0, 1.0], **options).pvalue == 1.0


def test_a_kernel_larger_than_it_says_has_a_larger_bound():
    class Three(Kernel):
        def profile(self, u):
            return 3 * np.exp(-u)

    assert skce_test(Y1, P1, kernel=Three(0.3), method="bound").details["bound"] == 6.0
