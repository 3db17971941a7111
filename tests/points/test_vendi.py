"""Vendi score: closed forms in every order and on every path, weights, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from tests.references.books import arrays, by_id

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import unit_weights
from calibrant.kernels import Exponential, Gaussian, Kernel, Matern32, Matern52, RationalQuadratic, median
from calibrant.points import vendi as module
from calibrant.points.vendi import eigenvalues, hill_number, sum_of_squares, unit_rows, vendi_score

BOOK = by_id("samples")
X = arrays("samples")["X"]
ORDERS = (0, 0.5, 1, 1.001, 1.5, 2, 3, 7.25, 100, 1e308, math.inf)
KERNELS = ("gaussian", "laplace", "cosine", Matern32(0.01), Exponential(0.01), RationalQuadratic(2.0, 1e-4))


def options(kernel):
    """Return the options by which points 100 apart are not alike at all."""
    return {"kernel": kernel, **({"bandwidth": 0.01} if kernel in ("gaussian", "laplace") else {})}


def places(counts, kernel):
    """Return so many equal points at each of several places, which the kernel does not hold for alike."""
    d = len(counts)
    scale = 1.0 if kernel == "cosine" else 100.0
    return np.repeat(scale * np.eye(d), counts, axis=0)


def by_definition(points, kernel, weights=None):
    """Return the eigenvalues of √(p_i p_j) K_ij, with K found pair by pair."""
    p = np.ones(len(points)) if weights is None else np.asarray(weights, dtype=float)
    p = p / p.sum()
    K = np.array([[kernel(a, b) for a in points] for b in points])
    return np.linalg.eigvalsh(np.sqrt(np.multiply.outer(p, p)) * K)


def hill(values, order):
    values = values[values > 1e-14]
    if order == 1:
        return math.exp(-(values * np.log(values)).sum())
    if order == math.inf:
        return 1 / values.max()
    return float((values**order).sum() ** (1 / (1 - order)))


PAIRS = {
    "gaussian": lambda a, b: math.exp(-((a - b) ** 2).sum() / 2),
    "laplace": lambda a, b: math.exp(-np.abs(a - b).sum()),
    "cosine": lambda a, b: a @ b / math.sqrt((a @ a) * (b @ b)),
}


class TestReferences:
    @pytest.mark.parametrize(
        ("name", "given"),
        [
            ("vendi/rbf/q=1", {"order": 1, "bandwidth": math.sqrt(5)}),
            ("vendi/rbf/q=2", {"order": 2, "bandwidth": math.sqrt(5)}),
            ("vendi/rbf/q=1", {"order": 1, "kernel": Gaussian(math.sqrt(5))}),
            ("vendi/cosine/q=1", {"order": 1, "kernel": "cosine"}),
            ("vendi/cosine/q=inf", {"order": math.inf, "kernel": "cosine"}),
        ],
    )
    def test_values(self, name, given):
        assert vendi_score(X, **given) == pytest.approx(BOOK[name]["value"], rel=BOOK[name]["rtol"])

    @pytest.mark.parametrize("kernel", KERNELS, ids=str)
    def test_closed_forms(self, kernel):
        book, rtol = BOOK["vendi/closed_form"]["value"], BOOK["vendi/closed_form"]["rtol"]
        sets = {"identical": [200], "orthogonal": [1] * 200, "mixture": [30, 30]}
        for order in ORDERS:
            given = {"order": order, **options(kernel)}
            score = {name: vendi_score(places(sizes, kernel), **given) for name, sizes in sets.items()}
            assert score == pytest.approx(book, rel=rtol), order


class TestOrders:
    """E12: the order reaches every path."""

    @pytest.mark.parametrize("kernel", KERNELS, ids=str)
    @pytest.mark.parametrize("wide", [False, True], ids=["n > d", "n < d"])
    def test_unequal_places(self, kernel, wide):
        # Shares 1/2, 1/3, 1/6; more columns than points make the cosine take its n × n matrix.
        points = places([6, 4, 2], kernel)
        if wide:
            points = np.hstack([points, np.zeros((12, 15))])
        shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
        for order in ORDERS:
            expected = {
                0: 3.0,
                1: math.exp(-sum(float(s) * math.log(s) for s in shares)),
                1e308: 2.0,
                math.inf: 2.0,
            }.get(order) or sum(float(s) ** order for s in shares) ** (1 / (1 - order))
            found = vendi_score(points, order=order, **options(kernel))
            assert found == pytest.approx(expected, rel=1e-10), order
            assert type(found) is float

    @pytest.mark.parametrize("kernel", PAIRS)
    @pytest.mark.parametrize("shape", [(30, 4), (12, 20)])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_definition(self, kernel, shape, weighted):
        rng = np.random.default_rng(3)
        points = rng.normal(size=shape)
        weights = rng.uniform(0.1, 5, len(points)) if weighted else None
        values = by_definition(points, PAIRS[kernel], weights)
        given = {"kernel": kernel, **({} if kernel == "cosine" else {"bandwidth": 1.0})}
        for order in (1, 1.5, 2, 4, math.inf):
            found = vendi_score(points, order=order, weights=weights, **given)
            assert found == pytest.approx(hill(values, order), rel=1e-9), order

    @pytest.mark.parametrize("kernel", PAIRS)
    def test_a_larger_order_is_never_larger(self, kernel):
        scores = [vendi_score(X, order=q, kernel=kernel) for q in ORDERS]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= scores[-1] < scores[0] <= len(X)

    def test_order_2_of_a_cosine_in_three_ways(self, monkeypatch):
        points = np.random.default_rng(0).normal(size=(50, 8))
        expected = vendi_score(points, order=2 + 1e-9, kernel="cosine")
        twin = vendi_score(points, order=2, kernel="cosine")
        monkeypatch.setattr(module, "MAX_MATRIX_ROWS", 7)
        monkeypatch.setattr(module, "BLOCK_POINTS", 16)
        monkeypatch.setattr(module, "_twin", None)  # too large to be formed
        assert twin == pytest.approx(vendi_score(points, order=2, kernel="cosine"), rel=1e-13)
        assert twin == pytest.approx(expected, rel=1e-7)
        weights = np.random.default_rng(1).uniform(size=50)
        weighted = vendi_score(points, order=2, kernel="cosine", weights=weights)
        monkeypatch.undo()
        assert weighted == pytest.approx(vendi_score(points, order=2, kernel="cosine", weights=weights), rel=1e-13)

    def test_orders_meet(self):
        near = {q: vendi_score(X, order=q) for q in (1, 1 - 1e-9, 1 + 1e-9, 2, 2 + 1e-9, 1e6, math.inf)}
        assert near[1 - 1e-9] == pytest.approx(near[1], rel=1e-7)
        assert near[1 + 1e-9] == pytest.approx(near[1], rel=1e-7)
        assert near[2 + 1e-9] == pytest.approx(near[2], rel=1e-7)
        assert near[1e6] == pytest.approx(near[math.inf], rel=1e-4)


class TestBandwidth:
    @pytest.mark.parametrize(("kernel", "metric"), [("gaussian", "euclidean"), ("laplace", "cityblock")])
    def test_median(self, kernel, metric):
        sigma = float(np.median(pdist(X, metric)))
        assert vendi_score(X, kernel=kernel) == pytest.approx(vendi_score(X, kernel=kernel, bandwidth=sigma), rel=1e-12)
        assert vendi_score(7 * X, kernel=kernel) == pytest.approx(vendi_score(X, kernel=kernel), rel=1e-12)
        assert vendi_score(7 * X, kernel=kernel, bandwidth=sigma) > 2 * vendi_score(X, kernel=kernel)

    def test_the_median_sees_each_point_of_positive_weight_once(self):
        weights = np.ones(len(X))
        weights[:50], weights[50:100] = 0.0, 30.0
        seen = X[50:]
        sigma = float(np.median(pdist(seen)))
        expected = vendi_score(X, weights=weights, bandwidth=sigma)
        assert vendi_score(X, weights=weights) == pytest.approx(expected, rel=1e-12)
        assert vendi_score(X, weights=weights, kernel=Gaussian()) == pytest.approx(expected, rel=1e-12)

    def test_rng_draws_the_points_of_the_median(self, monkeypatch):
        monkeypatch.setattr(median, "MAX_MEDIAN_ROWS", 20)
        scores = {seed: vendi_score(X, order=2, rng=seed) for seed in (0, 1)}
        assert scores[0] != scores[1]
        assert vendi_score(X, order=2) == scores[0] == vendi_score(X, order=2, rng=np.random.default_rng(0))
        turned = vendi_score(X[::-1], order=2)
        assert turned == pytest.approx(scores[0], rel=1e-12)  # the same points give the median

    @pytest.mark.parametrize("kernel", ["gaussian", "laplace", Gaussian(), Matern32()], ids=str)
    def test_points_that_are_all_alike_need_no_scale(self, kernel):
        for order in ORDERS:
            assert vendi_score(np.full((9, 3), 0.1), order=order, kernel=kernel) == pytest.approx(1.0, abs=1e-12)
            assert vendi_score([[3.0]], order=order, kernel=kernel) == 1.0, order
            assert vendi_score([[3.0], [4.0]], order=order, kernel=kernel, weights=[0, 2]) == 1.0, order


class TestWeights:
    @settings(max_examples=40)
    @given(
        st.lists(st.integers(0, 4), min_size=2, max_size=12).filter(any),
        st.sampled_from(ORDERS[2:]),
        st.sampled_from(["gaussian", "laplace", "cosine"]),
        st.integers(1, 14),
        st.integers(0, 2**32 - 1),
    )
    def test_a_whole_number_is_a_repeated_row(self, weights, order, kernel, d, seed):
        points = np.random.default_rng(seed).normal(size=(len(weights), d))
        given = {"order": order, "kernel": kernel, **({} if kernel == "cosine" else {"bandwidth": 1.0})}
        repeated = vendi_score(np.repeat(points, weights, axis=0), **given)
        assert vendi_score(points, weights=weights, **given) == pytest.approx(repeated, rel=1e-9)

    @pytest.mark.parametrize("kernel", ["gaussian", "laplace", "cosine"])
    @pytest.mark.parametrize("order", [1, 2, math.inf])
    def test_a_common_factor_changes_nothing(self, kernel, order):
        weights = np.random.default_rng(0).uniform(0, 1, len(X))
        plain = vendi_score(X, kernel=kernel, order=order, weights=weights)
        assert vendi_score(X, kernel=kernel, order=order, weights=weights * 1e99) == pytest.approx(plain, rel=1e-11)
        expected = vendi_score(X, kernel=kernel, order=order, weights=[1] * 200)
        assert vendi_score(X, kernel=kernel, order=order) == pytest.approx(expected, rel=1e-11)

    def test_a_zero_row_of_weight_0_has_no_part(self):
        points = np.vstack([X[:5], np.zeros(5)])
        found = vendi_score(points, kernel="cosine", weights=[1, 1, 1, 1, 1, 0])
        assert found == pytest.approx(vendi_score(X[:5], kernel="cosine"), rel=1e-12)


class TestDistributions:
    @settings(max_examples=40)
    @given(st.integers(2, 15), st.integers(1, 20), st.sampled_from([1, 2, 3.5, math.inf]), st.integers(0, 2**32 - 1))
    def test_range(self, n, d, order, seed):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(n, d))
        for kernel in ("gaussian", "laplace", "cosine"):
            assert 1 <= vendi_score(points, order=order, kernel=kernel) <= n

    @pytest.mark.parametrize("order", [1, 2])
    def test_a_cosine_has_no_unit_and_no_length(self, order):
        expected = vendi_score(X, kernel="cosine", order=order)
        for factor in (1e-200, 1e-100, 1e140, np.random.default_rng(0).uniform(0.1, 9, (200, 1))):
            assert vendi_score(X * factor, kernel="cosine", order=order) == pytest.approx(expected, rel=1e-10)

    @pytest.mark.parametrize("order", [1, 2])
    def test_a_distance_of_the_user(self, order):
        kernel = Gaussian(1.0, lambda a, b: np.sqrt(((a - b) ** 2).sum(axis=-1)))
        found = vendi_score(X, kernel=kernel, order=order)
        assert found == pytest.approx(vendi_score(X, bandwidth=1.0, order=order), rel=1e-9)


class Half(Kernel):
    """A kernel that is 0.5 at distance 0."""

    def profile(self, u):
        return 0.5 * np.exp(-u)


class Box(Kernel):
    """1 up to a distance of 1, and 0 beyond: no kernel."""

    def profile(self, u):
        return (u <= 1).astype(float)


class Growing(Kernel):
    """More than 1 at a distance: no kernel."""

    def profile(self, u):
        return 1 + u


class TestRefused:
    @pytest.mark.parametrize("order", [1, 0, 3, math.inf])
    def test_many_points(self, order, refusal):
        points = np.zeros((5001, 1))
        points[0] = 1.0
        message = refusal(vendi_score, points, order=order, bandwidth=1.0, error=NotApplicableError)
        assert message.startswith(f"order={order:g} needs the eigenvalues of a matrix with 5,001 rows")
        assert "at most 5,000 points are possible. Use order=2" in message
        assert "choice(5001, 5000, replace=False)" in message
        weights = np.ones(5001)
        weights[5:] = 0
        expected = 1 / (1 - 2 * (1 - math.exp(-1)) * 5000 / 5001**2)
        assert vendi_score(points, order=2, bandwidth=1.0) == pytest.approx(expected, rel=1e-12)
        assert vendi_score(points, order=order, bandwidth=1.0, weights=weights) >= 1

    def test_many_points_and_columns(self, monkeypatch, refusal):
        monkeypatch.setattr(module, "MAX_MATRIX_ROWS", 10)
        points = np.random.default_rng(0).normal(size=(12, 11))
        message = refusal(vendi_score, points, kernel="cosine", error=NotApplicableError)
        assert "with 11 rows" in message
        assert "10 points or columns" in message
        assert vendi_score(points[:, :10], kernel="cosine") > 1
        assert vendi_score(points[:10], kernel="cosine") > 1
        assert vendi_score(points, kernel="cosine", order=2) > 1

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"kernel": "polynomial"}, "kernel must be one of 'gaussian', 'laplace', 'cosine'; got 'polynomial'"),
            ({"kernel": "cosine", "bandwidth": 2.0}, '"cosine" has no length scale; leave bandwidth out; got 2.0'),
            ({"kernel": Half(1.0)}, "the kernel must be 1 at distance 0"),
            ({"weights": [1.0, 2.0]}, "expected 200 rows, got 2"),
            ({"weights": np.zeros(200)}, "weights must not all be 0"),
        ],
    )
    def test_options(self, given, words, refusal):
        assert words in refusal(vendi_score, X, **given)

    @pytest.mark.parametrize("order", [1, 2])
    def test_a_zero_row_has_no_angle(self, order, refusal):
        points = np.vstack([X[:3], np.zeros(5), X[3:6], np.zeros(5)])
        message = refusal(vendi_score, points, kernel="cosine", order=order)
        assert "row 3 of points is 0 in every column" in message
        message = refusal(vendi_score, points, kernel="cosine", order=order, weights=[0, 1, 1, 0, 1, 1, 1, 2])
        assert "row 7 of points is 0 in every column" in message

    def test_what_is_no_kernel(self, refusal):
        line = np.arange(12.0)[:, None] * 0.9
        assert "Box" in refusal(vendi_score, line, kernel=Box(1.0))
        for order in (1, 2):
            message = refusal(vendi_score, line, kernel=Growing(1.0), order=order)
            assert "its matrix has negative eigenvalues" in message


def test_by_hand():
    shares = np.array([1.0, 2.0, 3.0])  # 1/6, 1/3, 1/2
    found = [hill_number(shares, q) for q in (0, 1, 2, 3, math.inf)]
    entropy = math.log(6) / 6 + math.log(3) / 3 + math.log(2) / 2
    assert found == pytest.approx([3, math.exp(entropy), 36 / 14, (36 / 216) ** -0.5, 2], rel=1e-14)


@pytest.mark.parametrize("near", [1 - 0.0099, 1 - 1e-6, 1 + 1e-12, 1 + 0.0099])
def test_near_order_1(near):
    shares = np.array([0.5, 0.3, 0.2])
    direct = (shares**near).sum() ** (1 / (1 - near))
    assert hill_number(shares, near) == pytest.approx(direct, rel=1e-3 if abs(near - 1) < 1e-9 else 1e-9)
    assert hill_number(shares, near) == pytest.approx(hill_number(shares, 1), rel=abs(near - 1))


def test_a_large_order_keeps_its_digits():
    # λ^q is 0 in float64; (2 · 0.5^q)^(1/(1-q)) is 2.
    assert hill_number(np.array([0.5, 0.5]), 1e5) == pytest.approx(2.0, rel=1e-12)
    assert hill_number(np.array([0.6, 0.4]), 1e300) == pytest.approx(1 / 0.6, rel=1e-12)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=9), st.floats(0, 50))
def test_between_1_and_their_number(shares, q):
    assert 1 - 1e-12 <= hill_number(np.array(shares), q) <= len(shares) * (1 + 1e-12)


KERNELS_KERNEL_SPECTRUM = ["cosine", Gaussian(1.0, "euclidean"), Exponential(2.0, "l1"), Matern52(1.0, "euclidean")]
SHAPES = [(1, 1), (3, 40), (40, 3), (300, 2), (300, 20)]


@pytest.mark.parametrize("kernel", KERNELS_KERNEL_SPECTRUM, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_shares(kernel, weighted, for_each):
    def check(*shape):
        draw = np.random.default_rng(0)
        X = draw.normal(size=shape)
        w = draw.uniform(0.1, 9, len(X)) if weighted else unit_weights(len(X))
        values = eigenvalues(X, w, kernel)
        assert values.size == (min(shape) if kernel == "cosine" else len(X))
        assert (np.diff(values) >= 0).all()
        assert values.sum() == pytest.approx(1.0, rel=1e-12)  # the diagonal is that of shares
        assert values[0] > -1e-14
        assert sum_of_squares(X, w, kernel) == pytest.approx((values**2).sum(), rel=1e-11)

    for_each(SHAPES, check)


def test_chunks_change_nothing(monkeypatch):
    X = np.random.default_rng(2).normal(size=(50, 4))
    whole = eigenvalues(X, unit_weights(50), "cosine")
    monkeypatch.setattr(module, "BLOCK_POINTS", 7)
    monkeypatch.setattr(module, "CHUNK_NUMBERS", 1)
    np.testing.assert_allclose(eigenvalues(X, unit_weights(50), "cosine"), whole, rtol=1e-12)


@pytest.mark.parametrize("d", [3, 20])
def test_both_matrices_of_a_cosine_have_the_same_eigenvalues(d):
    draw = np.random.default_rng(1)
    X, w = draw.normal(size=(12, d)), draw.uniform(0.5, 2, 12)
    U, p = unit_rows(X), w / w.sum()
    twin = np.linalg.eigvalsh((U * p[:, None]).T @ U)[::-1]
    gram = np.linalg.eigvalsh(np.sqrt(np.multiply.outer(p, p)) * (U @ U.T))[::-1]
    both = min(12, d)
    found = eigenvalues(X, w, "cosine")[::-1]
    for expected in (twin, gram):
        np.testing.assert_allclose(found[:both], expected[:both], rtol=1e-9, atol=1e-14)
