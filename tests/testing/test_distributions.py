"""check_distribution accepts correct distributions and says what is wrong with others."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Distribution, Laplace, Mixture, MvNormal, Normal, Samples, ScipyDistribution
from calibrant.errors import NotApplicableError
from calibrant.testing import check_distribution

RNG = np.random.default_rng(0)
MEAN, STD = np.array([0.0, 1.0, -2.0, 30.0]), np.array([1.0, 0.1, 3.0, 2.0])
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
RIGHT = {
    "Normal": Normal(MEAN, STD),
    "Normal far away": Normal([1e9, 1e-9], [1.0, 1e-12]),
    "Normal of many rows": Normal(RNG.normal(size=10_000), 1.0),
    "Laplace": Laplace(MEAN, STD),
    "Mixture": Mixture([Normal(MEAN, STD), Laplace(-MEAN, 2.0)], [0.25, 0.75]),
    "Mixture with atoms": Mixture([Normal(MEAN, STD), Samples(RNG.normal(size=(4, 5)))], [0.25, 0.75]),
    "Samples": Samples(RNG.normal(MEAN[:, None], STD[:, None], (4, 9))),
    "gamma": ScipyDistribution(stats.gamma(a=[0.1, 0.5, 2.0, 9.0])),
    "Cauchy": ScipyDistribution(stats.cauchy([0.0, 1e6], [1.0, 1e-3])),
    "beta": ScipyDistribution(stats.beta([0.1, 0.5, 2.0], [0.2, 0.5, 3.0])),
    "uniform": ScipyDistribution(stats.uniform([0.0, 1.0], 2.0)),
    "binomial": ScipyDistribution(stats.binom(n=10, p=[0.1, 0.5])),
    "MvNormal": MvNormal(np.column_stack([MEAN, STD]), COV),
    "Mixture of vectors": Mixture([MvNormal(np.ones((4, 2)), COV), MvNormal(np.zeros((4, 2)), COV)], [0.5, 0.5]),
    "Samples of vectors": Samples(RNG.normal(size=(4, 9, 2))),
}


class WaitingTime(Distribution):
    """Waiting times with the chance of an event the same at every moment."""

    def __init__(self, rate):
        self.rate = np.asarray(rate, dtype=float)

    @property
    def n(self):
        return len(self.rate)

    def take(self, rows):
        return type(self)(self.rate[rows])

    def beside(self, x):
        return self.rate[:, None] if np.ndim(x) > 1 else self.rate

    def cdf(self, x):
        return -np.expm1(-self.beside(x) * np.maximum(x, 0))

    def sf(self, x):
        return np.exp(-self.beside(x) * np.maximum(x, 0))

    def ppf(self, q):
        return -np.log1p(-np.asarray(q)) / self.beside(q)

    def isf(self, q):
        return -np.log(q) / self.beside(q)

    def log_density(self, x):
        rate = self.beside(x)
        return np.where(np.asarray(x) < 0, -np.inf, np.log(rate) - rate * x)

    def sample(self, size, rng):
        return rng.exponential(size=(self.n, size)) / self.rate[:, None]


RATES = [1.0, 2.0, 0.1]
METHODS = ("cdf", "sf", "ppf", "isf", "log_density", "sample")


def changed(**methods):
    """Return a law with some methods of another kind."""
    return type("Changed", (WaitingTime,), methods)(RATES)


def only(*names):
    """Return a law that defines these methods alone."""
    return changed(**{name: getattr(Distribution, name) for name in METHODS if name not in names})


def refused(law, **options):
    with pytest.raises(AssertionError) as caught:
        check_distribution(law, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", RIGHT)
def test_laws_that_are_right(name):
    check_distribution(RIGHT[name])


@pytest.mark.parametrize("name", METHODS)
def test_laws_of_ones_own_with_one_method_or_without(name):
    check_distribution(only(name))
    check_distribution(only(*(other for other in METHODS if other != name)))


def test_a_law_of_ones_own_and_draws_of_another_seed():
    check_distribution(WaitingTime(RATES))
    for seed in range(5):
        check_distribution(WaitingTime(RATES), draws=500, seed=seed)


WRONG = {
    "cdf falls": (
        {"cdf": lambda self, x: np.exp(-self.beside(x) * np.maximum(x, 0))},
        "cdf must not decrease; row 0 has ",
    ),
    "cdf beyond 1": ({"cdf": lambda self, x: 1.5 * WaitingTime.cdf(self, x)}, "cdf must lie in [0, 1]; row 0 at x = "),
    "cdf below 0": ({"cdf": lambda self, x: -np.expm1(-self.beside(x) * x)}, "cdf must go from 0 to 1; row 0 has -inf"),
    "cdf ends early": (
        {"cdf": lambda self, x: 0.999 * WaitingTime.cdf(self, x) - 0.01 * (np.asarray(x) > 1e9)},
        "cdf must go from 0 to 1; row 0 has 0.989 at x = 1e+300",
    ),
    "sf of another law": ({"sf": lambda self, x: np.exp(-2 * self.beside(x) * np.maximum(x, 0))}, "cdf + sf must be 1"),
    "ppf of another law": (
        {"ppf": lambda self, q: -2 * np.log1p(-np.asarray(q)) / self.beside(q)},
        "ppf(q) must be the smallest x with cdf(x) >= q; row 0 at q = 0.001 has 0.002001, where cdf is 0.001999",
    ),
    "ppf falls": ({"ppf": WaitingTime.isf}, "ppf must not decrease"),
    "isf is ppf": ({"isf": WaitingTime.ppf}, "isf must not increase"),
    "isf of another law": (
        {"isf": lambda self, q: -2 * np.log(q) / self.beside(q)},
        "isf(q) must be the smallest x with sf(x) <= q; row 0 at q = 0.001 has 13.8155, where sf is 1e-06",
    ),
    "isf as ppf(1 - q)": (
        {"isf": lambda self, q: self.ppf(1 - np.asarray(q))},
        "isf(q) must be accurate in the upper tail, as sf, where 1 - cdf and ppf(1 - q) have no digits left; "
        "row 0 at q = 1e-18 has inf",
    ),
    "sf as 1 - cdf": (
        {"sf": lambda self, x: 1 - self.cdf(x)},
        "isf(q) must be accurate in the upper tail, as sf, where 1 - cdf and ppf(1 - q) have no digits left; "
        "row 0 at q = 1e-18 has 41.4465, where sf is 0",
    ),
    "density without its factor": (
        {"log_density": lambda self, x: -self.beside(x) * x},
        "exp(log_density) must add up to the cdf; row 1 from 0.000500",
    ),
    "density, not its logarithm": (
        {"log_density": lambda self, x: np.exp(WaitingTime.log_density(self, x))},
        "exp(log_density) must add up to the cdf; row 0",
    ),
    "a NaN": (
        {"cdf": lambda self, x: np.where(np.asarray(x) > 3, np.nan, WaitingTime.cdf(self, x))},
        "must not be NaN",
    ),
    "complex": ({"cdf": lambda self, x: WaitingTime.cdf(self, x) + 0j}, "cdf must return real numbers; got complex128"),
    "a column lost": (
        {"cdf": lambda self, x: WaitingTime.cdf(self, x)[:, 0] if np.ndim(x) > 1 else WaitingTime.cdf(self, x)},
        "cdf must answer shape (3, 11) with shape (3, 11); got (3,)",
    ),
    "no column": ({"beside": lambda self, x: self.rate}, "ppf fails for shape (3, 11) (ValueError: operands could not"),
    "draws of another law": (
        {"sample": lambda self, size, rng: rng.exponential(size=(self.n, size)) * self.rate[:, None]},
        "draws must follow the cdf; row 1 has a share of ",
    ),
    "one noise for all rows": (
        {"sample": lambda self, size, rng: rng.exponential(size=(1, size)) / self.rate[:, None]},
        "draws of different rows must be independent; those of rows 0 and 1 have the correlation 1",
    ),
    "draws on their side": (
        {"sample": lambda self, size, rng: WaitingTime.sample(self, size, rng).T},
        "sample(10000, rng) must have shape (3, 10000); got (10000, 3)",
    ),
    "draws without the rng": (
        {"sample": lambda self, size, rng: np.random.default_rng().exponential(size=(self.n, size))},
        "sample must draw with its rng alone",
    ),
    "sample fails": ({"sample": lambda self, size: 0}, "sample fails (TypeError:"),
    "take keeps all": (
        {"take": lambda self, rows: self},
        "cdf of rows that are taken must give each row its own answer; row 0 has ",
    ),
    "take keeps too many": (
        {"take": lambda self, rows: type(self)(self.rate[rows] if len(self.rate[rows]) > 2 else RATES)},
        "take of 2 rows must return a distribution of 2 rows and shape (); got 3 rows and shape ()",
    ),
    "take returns an array": (
        {"take": lambda self, rows: self.rate[rows]},
        "take must return a distribution; got array",
    ),
    "take in order": (
        {"take": lambda self, rows: type(self)(np.sort(self.rate[rows]))},
        "of rows that are taken must give each row its own answer; row ",
    ),
    "n is a number with a point": ({"n": 3.0}, "n must be a whole number; got 3.0"),
    "shape is a number": ({"shape": 2}, "shape must be () for real outcomes or (D,) for vectors; got 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    methods, words = WRONG[name]
    message = refused(changed(**methods))
    assert message.startswith("Changed: ")
    assert words in message


def test_points_that_are_taken_for_rows():
    # With as many points as rows nothing fails by itself.
    def cdf(self, x):
        rate = self.rate if np.shape(x) in ((3,), (3, 3), ()) else self.rate[:, None]
        return -np.expm1(-rate * np.maximum(x, 0))

    message = refused(changed(cdf=cdf))
    assert "cdf of points (n, n) must give each row its own answer" in message
    assert message.endswith("a number per row is needed as a column, parameter[:, None]")


def test_quantiles_and_draws_of_laws_without_a_cdf():
    half = {name: getattr(Distribution, name) for name in ("cdf", "sf")}
    drawn = {**half, "sample": lambda self, size, rng: rng.exponential(size=(self.n, size))}
    assert "draws must follow the quantiles; row 1 has a share of " in refused(changed(**drawn))
    shifted = {**half, "isf": lambda self, q: 1 - np.log(q) / self.beside(q)}
    assert "ppf and isf must agree at 0.5; row 0 has 0.693147 and 1.69315" in refused(changed(**shifted))


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (Normal(0.0, 1.0), "at least two rows"),
        *((law, "expected a distribution, such as") for law in ("a law", Normal)),
        (only(), "defines none of cdf, sf, ppf, isf, log_density and sample"),
    ],
)
def test_what_cannot_be_checked(law, words):
    assert words in refused(law)


def test_vectors():
    class Wrong(MvNormal):
        def log_density(self, x):
            return super().log_density(x)[..., None]

    law = object.__new__(Wrong)
    law._hold(mean=np.zeros((3, 2)), cov=np.broadcast_to(np.eye(2), (3, 2, 2)))
    assert "log_density must answer shape (3, 11, 2) with shape (3, 11); got (3, 11, 1)" in refused(law)


def test_what_is_not_applicable_is_not_checked():
    def log_density(self, x):
        raise NotApplicableError("this law has no density")

    check_distribution(changed(log_density=log_density))
