"""How much draws depend on those before them."""

import numpy as np
import pytest

from calibrant.inputs import autocorrelation as module
from calibrant.inputs.autocorrelation import autocorrelation_time


def chains(phi, n, M, seed=0):
    """Return n chains x_t = phi x_(t-1) + noise of variance 1, each with a place and a size of its own."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, M))
    for t in range(1, M):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi * phi) * x[:, t]
    return rng.normal(size=(n, 1)) * 5 + x * rng.uniform(0.1, 10, (n, 1))


@pytest.mark.parametrize(("n", "M"), [(2000, 4), (2000, 5), (2000, 9), (1000, 20), (500, 99), (100, 1000)])
def test_independent_draws(n, M):
    assert autocorrelation_time(chains(0.0, n, M))[0] == pytest.approx(1, abs=4 * 3 / np.sqrt(n * M))


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_long_chains(phi):
    # The sum of phi^k on both sides is (1 + phi)/(1 - phi), less the terms below 0.02.
    assert autocorrelation_time(chains(phi, 200, 4000))[0] == pytest.approx((1 + phi) / (1 - phi), rel=0.06)


def test_by_hand():
    # z is -1, 0, 1: ρ_1 = 0 and ρ_2 = -1/2, so τ = 1 + 2(0 + 1/3), and the sum ends at -1/2 + 1/3.
    assert autocorrelation_time(np.arange(6.0).reshape(2, 3))[0] == pytest.approx(5 / 3)


def test_thinned_chains_are_less_dependent():
    assert autocorrelation_time(chains(-0.5, 200, 400)).tolist() == [1.0]  # antithetic draws need no thinning
    assert 10 < autocorrelation_time(chains(0.9, 500, 99))[0] < 19  # short chains tell less than there is
    x = chains(0.9, 300, 999)
    tau = autocorrelation_time(x)[0]
    assert autocorrelation_time(x[:, :: int(np.ceil(tau))])[0] < 1.4


def test_coordinates():
    x = np.stack([chains(0.0, 300, 200), chains(0.5, 300, 200)], axis=2)
    found = autocorrelation_time(x)
    assert found.shape == (2,)
    for d in range(2):
        assert found[d] == pytest.approx(autocorrelation_time(x[:, :, d])[0], rel=1e-12)


def test_units_and_blocks_do_not_matter(monkeypatch):
    x = chains(0.5, 40, 60)
    found = autocorrelation_time(x)
    np.testing.assert_allclose(autocorrelation_time(x * 1e200 + 1e199), found, rtol=1e-9)
    np.testing.assert_allclose(autocorrelation_time(x.astype(np.float32)), found, rtol=1e-5)
    monkeypatch.setattr(module, "MAX_DRAWS_TRANSFORMED", 120)
    np.testing.assert_allclose(autocorrelation_time(x), found, rtol=1e-12)


@pytest.mark.parametrize("draws", [np.ones((5, 30)), np.ones((1, 1)), np.arange(6.0).reshape(3, 2)])
def test_nothing_can_be_told(draws):
    assert autocorrelation_time(draws).tolist() == [1.0]


def test_rows_without_spread_are_left_out():
    x = chains(0.5, 50, 80)
    constant = np.concatenate([x, np.full((9, 80), 0.1), np.full((3, 80), 1.0) + 1e-16])
    np.testing.assert_allclose(autocorrelation_time(constant), autocorrelation_time(x), rtol=1e-12)


def test_draws_stay_as_they_are():
    x = chains(0.5, 5, 20)
    kept = x.copy()
    x.flags.writeable = False
    autocorrelation_time(x)
    np.testing.assert_array_equal(x, kept)
