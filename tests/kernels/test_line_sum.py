"""Sums of one-dimensional kernels: against the double sum and the reference values."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.references.books import book

from calibrant.core.dispatch import widest_band
from calibrant.kernels import line_sum as module
from calibrant.kernels.line_sum import Panels, gaussian_product, line_product, line_sum

BOOK = book("kernel")
SHAPES = ["exponential", "matern32", "matern52", "gaussian"]
MARKOV = SHAPES[:3]
WIDTHS = [1e-300, 1e-6, 1e-3, 0.2, 0.73, 1.0, 30.0, 1e6, 1e300]


def profile(u, shape):
    """Return the kernel by its definition."""
    a = {"matern32": np.sqrt(3), "matern52": np.sqrt(5)}.get(shape, 1.0) * u
    return {
        "exponential": lambda: np.exp(-a),
        "matern32": lambda: (1 + a) * np.exp(-a),
        "matern52": lambda: (1 + a + a * a / 3) * np.exp(-a),
        "gaussian": lambda: np.exp(-u * u / 2),
    }[shape]()


def kernel_matrix(x, shape, lengthscale):
    with np.errstate(over="ignore"):
        u = np.abs(x[..., :, np.newaxis] - x[..., np.newaxis, :]) / lengthscale
    return profile(np.minimum(u, 1e4), shape)


def check(x, e, shape, lengthscale):
    """Compare both functions with the double sum, relative to the sums of absolute values."""
    K = kernel_matrix(x, shape, lengthscale)
    product, most = K @ e, K @ np.abs(e)
    total, scale = (e * product).sum(), (np.abs(e) * most).sum()
    assert line_sum(x, e, shape, lengthscale) == pytest.approx(total, rel=0, abs=1e-13 * scale)
    beside = 1e-15 * np.abs(e).sum() if shape == "gaussian" else 0.0
    assert (np.abs(line_product(x, e, shape, lengthscale) - product) <= 1e-12 * most + beside).all()


@pytest.fixture
def short_pieces():
    """Run a test with short pieces, and few rows at a time."""
    with (
        mock.patch.object(module, "MIN_PIECE_COLUMNS", 7),
        mock.patch.object(module, "PIECE_NUMBERS", 50),
        mock.patch.object(module, "NUMBERS_OF_A_THREAD", 200),
    ):
        yield


LINES = {
    "random": lambda rng, n: rng.random(n),
    "tied": lambda rng, n: rng.integers(0, 5, n) / 4,
    "all equal": lambda rng, n: np.full(n, 0.3),
    "even": lambda rng, n: np.arange(n) / n,
    "gaps that grow": lambda rng, n: 1e-4 * 1.2 ** np.arange(min(n, 100)).repeat(1 + n // 100)[:n],
    "gaps that shrink": lambda rng, n: -1e-4 * 1.2 ** np.arange(min(n, 100)).repeat(1 + n // 100)[:n],
    "clusters": lambda rng, n: rng.choice([-1e5, 0.0, 1e-3, 77.0, 1e12], n) + rng.random(n),
    "many sizes": lambda rng, n: rng.choice([-1, 1], n) * 10 ** rng.uniform(-9, 9, n),
}


@pytest.mark.parametrize("shape", MARKOV)
def test_double_sum(short_pieces, shape, for_each):
    rng = np.random.default_rng(3)

    def of_line(line, lengthscale):
        for n in (3, 64, 131, 400):
            check(np.sort(LINES[line](rng, n)), rng.normal(size=n), shape, lengthscale)

    for_each(list(itertools.product(LINES, WIDTHS)), of_line)


@pytest.mark.parametrize("shape", SHAPES)
@given(
    points=st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e3, 1e3)), min_size=1, max_size=40),
    lengthscale=st.one_of(st.sampled_from(WIDTHS), st.floats(1e-12, 1e12)),
)
@example(points=[(0.0, 1.0), (5e-324, 1.0), (1e9, -1.0)], lengthscale=5e-324)
@example(points=[(-1e9, 1.0), (0.0, 0.0), (1e9, -1.0)], lengthscale=1.7e308)
def test_any_points(shape, points, lengthscale):
    x, e = np.array(sorted(points)).T.copy()
    e[np.abs(e) < 1e-100] = 0
    check(x, e, shape, lengthscale)


@pytest.mark.parametrize("shape", MARKOV)
@pytest.mark.parametrize("lengthscale", [1e-5, 0.2, 1e4])
def test_error_does_not_grow_along_a_line_of_even_steps(shape, lengthscale):
    """A decay of equal steps is rounded the same way each time, which a running product would add up."""
    n = 100_000
    x = np.arange(n) / n
    row = profile(x / lengthscale, shape)
    total = (np.arange(n, 0, -1) * row).sum() * 2 - n * row[0]
    assert line_sum(x, np.ones(n), shape, lengthscale) == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 33, 130, 400])
def test_replicates_are_single_calls(shape, n):
    rng = np.random.default_rng(5)
    x, e = np.sort(rng.random(n)), rng.normal(size=(9, n))
    singles = [line_sum(x, row, shape, 0.1) for row in e]
    most = np.array([line_sum(x, np.abs(row), shape, 0.1) for row in e])
    assert (np.abs(line_sum(x, e, shape, 0.1) - singles) <= 1e-14 * most).all()
    products = np.array([line_product(x, row, shape, 0.1) for row in e])
    np.testing.assert_allclose(line_product(x, e, shape, 0.1), products, rtol=0, atol=1e-14 * n)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("m", [1, 2, 5, 16, 33, 400])
def test_lines_are_single_calls(shape, m):
    rng = np.random.default_rng(6)
    x, e = np.sort(rng.random((11, m))), rng.normal(size=(11, m))
    each = [line_sum(x[i], e[i], shape, 0.1) for i in range(11)]
    most = np.array([line_sum(x[i], np.abs(e[i]), shape, 0.1) for i in range(11)])
    assert (np.abs(line_sum(x, e, shape, 0.1) - each) <= 1e-14 * most).all()
    products = np.array([line_product(x[i], e[i], shape, 0.1) for i in range(11)])
    np.testing.assert_allclose(line_product(x, e, shape, 0.1), products, rtol=0, atol=1e-14 * m)


@pytest.mark.parametrize("shape", MARKOV)
def test_replicates_and_lines_in_pieces(short_pieces, shape):
    rng = np.random.default_rng(7)
    x, e = np.sort(rng.random((23, 41))), rng.normal(size=(23, 41))
    for points in (x, x[0]):
        K = kernel_matrix(points, shape, 0.2)
        product = (K @ e[..., np.newaxis])[..., 0]
        np.testing.assert_allclose(line_sum(points, e, shape, 0.2), (e * product).sum(-1), rtol=0, atol=1e-12)
        np.testing.assert_allclose(line_product(points, e, shape, 0.2), product, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_to_sum(shape):
    assert line_sum(np.empty(0), np.empty(0), shape, 1.0) == 0
    assert line_sum(np.empty(0), np.empty((3, 0)), shape, 1.0).tolist() == [0, 0, 0]
    assert line_sum(np.empty((0, 4)), np.empty((0, 4)), shape, 1.0).shape == (0,)
    assert line_product(np.empty(0), np.empty(0), shape, 1.0).shape == (0,)


def _scores(vector):
    inputs = vector["inputs"]
    data = BOOK["data"][inputs["data"]] if "data" in inputs else inputs
    y, p = np.array(data["y"]), np.array(data["prediction"])
    if p.ndim == 2:
        y, p = p.argmax(axis=1) == y, p.max(axis=1)
    order = np.argsort(p, kind="stable")
    return p[order], (y - p)[order]


def _vectors(kind):
    return [pytest.param(vector, id=vector["id"]) for vector in BOOK["vectors"] if vector["kind"] == kind]


@pytest.mark.parametrize("vector", _vectors("one-dimensional-sum"))
def test_reference_sums(vector):
    p, e = _scores(vector)
    call = vector["call"]
    assert line_sum(p, e, call["kernel"], call["lengthscale"]) == pytest.approx(vector["expected"], rel=1e-12)


@pytest.mark.parametrize("vector", _vectors("mmce"))
def test_reference_mmce(vector):
    p, e = _scores(vector)
    value = np.sqrt(max(0.0, line_sum(p, e, "exponential", vector["call"]["bandwidth"]))) / p.size
    assert value == pytest.approx(vector["expected"], rel=1e-12, abs=vector.get("tolerance", 0))


EITHER = {"bands": 10**9, "panels": 1}


@pytest.fixture(params=EITHER)
def way(request):
    """Run a test with bands of neighbours and with panels."""
    with mock.patch.object(module, "widest_band", return_value=EITHER[request.param]):
        yield request.param


def check_gaussian(x, e, lengthscale):
    """Compare one way with the double sum, more closely than `check`."""
    K = kernel_matrix(x, "gaussian", lengthscale)
    product, most = K @ e, K @ np.abs(e)
    found = gaussian_product(x, e[np.newaxis], lengthscale)[0]
    assert (e * found).sum() == pytest.approx((e * product).sum(), rel=0, abs=2e-14 * (np.abs(e) * most).sum())
    assert (np.abs(found - product) <= 1e-13 * most + 1e-15 * np.abs(e).sum()).all()


def test_double_sum_of_the_gaussian(way, for_each):
    rng = np.random.default_rng(1)

    def of_line(line, lengthscale):
        for n in (1, 2, 3, 100, 401):
            check_gaussian(np.sort(LINES[line](rng, n)), rng.normal(size=n), lengthscale)

    for_each(list(itertools.product(LINES, [*WIDTHS, 0.5, 0.999])), of_line)


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
        check_gaussian(x, e, lengthscale)


@pytest.mark.parametrize("lengthscale", [0.5000001, 0.6, 0.75, 0.9, 1.0])
def test_one_pair_at_any_distance(lengthscale):
    """One pair in any place and panel, so that nothing averages out; the error is in units of k(x, x) = 1."""
    rng = np.random.default_rng(2)
    near = 3 + np.arange(-50, 50)[:, np.newaxis] * [0.0, 0.1]
    x = np.sort(np.concatenate([rng.random((4000, 2)) * 12, near]), axis=1)
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
