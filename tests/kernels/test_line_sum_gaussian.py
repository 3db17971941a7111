"""Sums of the Gaussian kernel: bands of neighbours and panels give the double sum to rounding error."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant.core.dispatch import widest_band
from calibrant.kernels import line_sum as module
from calibrant.kernels.line_sum import Panels, gaussian_product

WIDTHS = [1e-300, 1e-6, 1e-3, 0.2, 0.5, 0.73, 0.999, 1.0, 30.0, 1e6, 1e300]
EITHER = {"bands": 10**9, "panels": 1}


@pytest.fixture(params=EITHER)
def way(request):
    """Run a test with bands of neighbours and with panels."""
    with mock.patch.object(module, "widest_band", return_value=EITHER[request.param]):
        yield request.param


def check(x, e, lengthscale):
    """Compare with the double sum, relative to the sums of absolute values."""
    with np.errstate(over="ignore"):
        u = np.minimum(np.abs(x[:, np.newaxis] - x) / lengthscale, 1e4)
    K = np.exp(-u * u / 2)
    product, most = K @ e, K @ np.abs(e)
    found = gaussian_product(x, e[np.newaxis], lengthscale)[0]
    assert (e * found).sum() == pytest.approx((e * product).sum(), rel=0, abs=2e-14 * (np.abs(e) * most).sum())
    assert (np.abs(found - product) <= 1e-13 * most + 1e-15 * np.abs(e).sum()).all()


LINES = {
    "random": lambda rng, n: rng.random(n),
    "tied": lambda rng, n: rng.integers(0, 5, n) / 4,
    "all equal": lambda rng, n: np.full(n, 0.3),
    "even": lambda rng, n: np.arange(n) / n,
    "gaps that grow": lambda rng, n: 1e-4 * 1.1 ** np.arange(n),
    "gaps that shrink": lambda rng, n: -1e-4 * 1.1 ** np.arange(n),
    "clusters": lambda rng, n: rng.choice([-1e5, 0.0, 1e-3, 77.0, 1e12], n) + rng.random(n),
    "many sizes": lambda rng, n: rng.choice([-1, 1], n) * 10 ** rng.uniform(-9, 9, n),
}


def test_double_sum(way, for_each):
    rng = np.random.default_rng(1)

    def of_line(line, lengthscale):
        for n in (1, 2, 3, 100, 401):
            check(np.sort(LINES[line](rng, n)), rng.normal(size=n), lengthscale)

    for_each(list(itertools.product(LINES, WIDTHS)), of_line)


@given(
    points=st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e3, 1e3)), min_size=1, max_size=40),
    lengthscale=st.one_of(st.sampled_from(WIDTHS), st.floats(1e-12, 1e12)),
)
@example(points=[(-1e9, 1.0), (0.0, 1.0), (5e-324, 1.0), (1e9, -1.0), (1e9, 2.0), (1.1e9, 3.0)], lengthscale=5e-324)
@example(points=[(-1e9, 1.0), (0.0, 0.0), (1e9, -1.0)], lengthscale=1.7e308)
@example(points=[(0.0, 1.0), (-5e-324, 1.0)], lengthscale=1.0)
def test_panels_of_any_points(points, lengthscale):
    x, e = np.array(sorted(points)).T.copy()
    e[np.abs(e) < 1e-100] = 0
    with mock.patch.object(module, "widest_band", return_value=1):
        check(x, e, lengthscale)


@pytest.mark.parametrize("lengthscale", [0.5000001, 0.6, 0.75, 0.9, 1.0])
def test_one_pair_at_any_distance(lengthscale):
    """One pair in any place and panel, so that nothing averages out; the error is in units of k(x, x) = 1."""
    rng = np.random.default_rng(2)
    x = np.sort(
        np.concatenate([rng.random((4000, 2)) * 12, 3 + np.arange(-50, 50)[:, np.newaxis] * [0.0, 0.1]]), axis=1
    )
    for rows in np.split(x, 41):
        pairs = np.sort(rows + np.arange(100)[:, np.newaxis] * 1000.0, axis=1)  # far from each other
        e = np.ones(pairs.size)
        with mock.patch.object(module, "widest_band", return_value=1):
            product = gaussian_product(pairs.ravel(), e[np.newaxis], lengthscale)[0].reshape(-1, 2)
        u = (pairs[:, 1] - pairs[:, 0]) / lengthscale
        np.testing.assert_allclose(product, (1 + np.exp(-u * u / 2))[:, np.newaxis].repeat(2, 1), rtol=0, atol=2e-15)


def test_places_keep_their_digits():
    x = np.array([1e6 - 2**-20, 1e6, 1e6 + 2**-30])
    line = Panels.of(x, 2.0**-10)
    assert line.place.tolist() == [1 - 2 * 2.0**-10, -1.0, -1 + 2 * 2.0**-20]
    assert line.number.tolist() == [0, 1]
    assert line.panel.tolist() == [0, 1, 1]


@pytest.mark.parametrize("lengthscale", [1e-3, 0.02, 5.0])
def test_polynomials_of_some_points_at_a_time(lengthscale):
    rng = np.random.default_rng(3)
    x, e = np.sort(rng.random(2000)), rng.normal(size=(3, 2000))
    with mock.patch.object(module, "widest_band", return_value=1):
        product = gaussian_product(x, e, lengthscale)
        with mock.patch.object(module, "POLYNOMIALS_AT_ONCE", 1000):
            np.testing.assert_allclose(gaussian_product(x, e, lengthscale), product, rtol=0, atol=1e-11)


def test_lines_of_their_own(way):
    rng = np.random.default_rng(4)
    x, e = np.sort(rng.random((5, 300))), rng.normal(size=(5, 300))
    each = [gaussian_product(x[i], e[i : i + 1], 0.01)[0] for i in range(5)]
    np.testing.assert_allclose(gaussian_product(x, e, 0.01), each, rtol=0, atol=1e-13)


def test_bands_are_for_few_neighbours():
    assert widest_band(10, 1) > 10  # all pairs of a short line
    assert 20 < widest_band(10**7, 1) < 100
    x = np.arange(10**5) * 1.0
    assert module._band_is_narrow(x, 1.0)
    assert not module._band_is_narrow(x, 100.0)
