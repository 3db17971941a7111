"""The saddlepoint tail against the exact one, at its edges, and where it is weak."""

import math
from functools import cached_property

import numpy as np
import pytest
from scipy.special import gammaln, ndtr

from calibrant.primitives.rank_sum import first_sum, ways_to_sums
from calibrant.primitives.rank_sum_tail import saddlepoint_tail

BINOMIAL = np.array([1, 7, 16, 30, 36, 33, 16, 9, 2])
PATTERNS = {
    "no ties": (np.ones(100, int), 50, 5e-4),
    "no ties, unequal": (np.ones(120, int), 30, 1e-3),
    "ten scores": (BINOMIAL, 75, 5e-3),
    "few rows of one label": (np.ones(310, int), 10, 0.012),
    "five groups": (np.array([31, 52, 24, 60, 33]), 100, 0.02),
    "five groups of nearly the same size": (np.array([41, 40, 40, 40, 39]), 100, 0.3),
}


def doubled_ranks(sizes):
    return 2 * np.cumsum(sizes) - sizes + 1


class Law:
    """The exact law of the sum, whose possible values lie `step` apart."""

    def __init__(self, sizes, m):
        self.ranks, self.sizes, self.m = doubled_ranks(sizes), sizes, m
        self.step = int(np.gcd.reduce(np.diff(self.ranks)))
        self.places = (self.ranks - self.ranks[0]) // self.step

    @cached_property
    def tails(self):
        ways = ways_to_sums(self.places, self.sizes, self.m)
        return ways[::-1].cumsum()[::-1] / ways.sum()

    def exact(self, place):
        return self.tails[place]

    def saddlepoint(self, place):
        return saddlepoint_tail(
            self.ranks, self.sizes, self.m, int(place * self.step + self.m * self.ranks[0]), self.step
        )

    def normal(self, place):
        N, m = self.sizes.sum(), self.m
        mean = float(self.places @ self.sizes) / N
        variance = float(self.sizes @ (self.places - mean) ** 2) / N * m * (N - m) / (N - 1)
        return float(ndtr(-(place - 0.5 - m * mean) / math.sqrt(variance)))

    def at(self, z):
        """Return the possible sum about z standard deviations above the mean."""
        N, m = self.sizes.sum(), self.m
        mean = float(self.places @ self.sizes) / N
        variance = float(self.sizes @ (self.places - mean) ** 2) / N * m * (N - m) / (N - 1)
        return round(m * mean + z * math.sqrt(variance))


@pytest.mark.parametrize("name", PATTERNS)
def test_against_the_exact_law(name):
    sizes, m, bound = PATTERNS[name]
    law = Law(sizes, m)
    for z in (0.5, 1.64, 2.33, 3.1, 4.3, 5.2):
        place = law.at(z)
        assert law.saddlepoint(place) == pytest.approx(law.exact(place), rel=bound)


def test_the_normal_law_would_not_do():
    law = Law(np.ones(100, int), 50)
    place = law.at(3.1)
    assert law.normal(place) / law.exact(place) > 1.1
    assert law.normal(law.at(5.2)) / law.exact(law.at(5.2)) > 2


@pytest.mark.parametrize("name", PATTERNS)
def test_both_tails_add_up(name):
    sizes, m, _ = PATTERNS[name]
    law, mirrored = Law(sizes, m), Law(sizes[::-1], m)
    for place in (law.at(-1.0), law.at(0.0), law.at(2.0)):
        other = m * int(law.places[-1]) - place  # the same sum, counted from above
        total = law.saddlepoint(place) + mirrored.saddlepoint(other + 1)
        assert total == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", PATTERNS)
def test_it_falls_smoothly_through_the_mean(name):
    sizes, m, _ = PATTERNS[name]
    law = Law(sizes, m)
    places = np.arange(law.at(-0.1), law.at(0.1))
    tails = np.array([law.saddlepoint(place) for place in places])
    steps = -np.diff(tails)
    assert np.all(steps > 0)
    assert steps.max() < 1.2 * steps.min() + 1e-4


@pytest.mark.parametrize("name", ["no ties", "no ties, unequal", "few rows of one label"])
def test_the_largest_sum(name):
    sizes, m, _ = PATTERNS[name]
    law, N = Law(sizes, m), sizes.sum()
    exact = math.exp(gammaln(m + 1) + gammaln(N - m + 1) - gammaln(N + 1))
    assert law.saddlepoint(first_sum(law.places[::-1], law.sizes[::-1], m)) == pytest.approx(exact, rel=0.25)


def test_millions_of_rows():
    sizes = np.array([10**6, 3 * 10**6, 2 * 10**6, 7, 10**6 + 1])
    law = Law(sizes, 3 * 10**6)
    for z in (-2.0, 0.0, 0.01, 1.0, 4.0):
        assert law.saddlepoint(law.at(z)) == pytest.approx(law.normal(law.at(z)), rel=1e-3)
