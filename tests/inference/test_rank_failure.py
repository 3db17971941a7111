"""Which kind of error uneven ranks show."""

import numpy as np
import pytest
from scipy import stats

from calibrant.inference.normal_errors import normal_errors
from calibrant.inference.rank_failure import failures_of, outward_failure

RNG = np.random.default_rng(0)
Z = RNG.normal(size=4000)
SIGN = RNG.choice([-1, 1], 4000)


def ranked(u, M=99):
    return np.bincount(RNG.binomial(M, u), minlength=M + 1)


def failures(counts):
    return failures_of(counts, normal_errors(counts, 0.95))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (stats.norm.cdf(Z / 0.7), ("too narrow",)),
        (stats.norm.cdf(Z / 1.4), ("too wide",)),
        (stats.norm.cdf(Z - 0.4), ("too high",)),
        (stats.norm.cdf(Z + 0.4), ("too low",)),
        (stats.norm.cdf(Z - 1.5), ("too high",)),  # which makes a U of its own, and is not called too narrow
        (stats.norm.cdf((Z - 0.4) / 0.7), ("too high", "too narrow")),
        (stats.norm.cdf((Z + 0.4) / 1.4), ("too wide", "too low")),
        (stats.norm.cdf(Z + 0.8 * SIGN), ("too narrow",)),
        (stats.gamma.cdf(Z * np.sqrt(2) + 2, 2), ("skewed",)),
        (stats.t.cdf(Z * np.sqrt(3), 3), ("heavy-tailed",)),
        (stats.t.cdf(Z, 3), ("heavy-tailed",)),
        (stats.norm.cdf(stats.t.ppf(stats.norm.cdf(Z), 3) / np.sqrt(3)), ("light-tailed",)),
        (stats.norm.cdf((SIGN + 0.3 * Z) / np.sqrt(1.09)), ("two modes",)),
    ],
)
@pytest.mark.parametrize("M", [19, 99, 999])
def test_of_known_errors(values, expected, M):
    assert failures(ranked(values, M)) == expected


class TestOutside:
    def flat(self, below, above, M=99):
        counts = np.full(M + 1, 20)
        counts[[0, -1]] = below, above
        return counts

    def test_spikes_at_both_ends(self):
        assert failures(self.flat(200, 220)) == ("outside",)

    def test_a_spike_at_one_end(self):
        assert failures(self.flat(300, 20)) == ("outside",)

    def test_a_slope_towards_the_ends_is_a_spread(self):
        assert failures(ranked(stats.norm.cdf(2 * Z))) == ("too narrow",)

    def test_few_draws_do_not_tell_a_spike_from_a_slope(self):
        assert failures(self.flat(100, 100, M=4))[0] == "too narrow"

    def test_nothing_between_the_ends(self):
        counts = np.zeros(100, dtype=np.int64)
        counts[[0, -1]] = 500
        assert failures(counts) == ("too narrow",)


class TestOther:
    def test_a_comb(self):
        counts = np.tile([40, 0], 50)
        assert failures(counts) == ("other",)

    def test_one_draw_knows_a_bias_alone(self):
        assert failures(np.array([70, 30])) == ("too high",)
        assert failures(np.array([50, 50])) == ("other",)

    def test_the_largest_is_named_even_if_it_is_not_clear(self):
        # Z1 is about 2.4: seen, and not beyond three standard errors
        counts = np.round(np.linspace(12, 8, 10) * 4).astype(np.int64)
        assert failures(counts) == ("too high",)


class TestOutward:
    def test_direction_of_a_bias_does_not_show(self):
        rising = np.arange(1, 11) * 10
        assert outward_failure(rising) == "too narrow or biased"
        assert outward_failure(rising[::-1]) == "too wide"

    def test_other(self):
        assert outward_failure(np.array([100, 0, 100, 0, 100])) == "other"
        assert outward_failure(np.array([60, 10, 10, 10, 60])) == "other"
