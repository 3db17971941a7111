"""The bootstrap: replicates against rows drawn with replacement, one by one."""

import numpy as np
import pytest

import calibrant as cb
from calibrant import Delta, Exponential, Gaussian, Matern32, Normal, RationalQuadratic, Samples, skce, skce_test
from calibrant.inference import skce_bootstrap
from calibrant.inference.skce_bootstrap import WeightedForm, bootstrapped, replicates_of
from calibrant.kernels.fitted import Chance
from calibrant.kernels.forms import LineForm
from calibrant.primitives.pair_sums import multinomial_counts

RNG = np.random.default_rng(0)


def chance(seed=0):
    return Chance(None, np.random.default_rng(seed))


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
    H = RNG.normal(size=(n, n))
    return H + H.T


def test_replicates_are_those_of_drawn_rows():
    n = 7
    H = matrix(n)
    C = multinomial_counts(n, 6, np.random.default_rng(1)).astype(float)
    found = replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), H.diagonal())
    for counts, value in zip(C, found, strict=True):
        drawn = np.repeat(np.arange(n), counts.astype(int))
        assert value == pytest.approx(centred(H, drawn), rel=1e-11)


def test_replicates_have_no_mean_for_centred_rows():
    # A matrix whose rows add up to 0: C H C - C d is all there is.
    H = matrix()
    H = H - H.mean(axis=0) - H.mean(axis=1)[:, None] + H.mean()
    C = np.ones((1, 7))
    assert replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), H.diagonal())[0] == pytest.approx(
        -np.trace(H) / 7
    )


def test_weighted_form():
    x, e, v = RNG.random(5), RNG.normal(size=5), RNG.uniform(1, 2, 5)
    inner = LineForm(x, e, Exponential(0.3), 2.0)
    form = WeightedForm(inner, v)
    i, j = np.array([0, 3]), np.array([1, 2])
    np.testing.assert_allclose(form.h(i, j), v[i] * v[j] * inner.h(i, j))
    np.testing.assert_allclose(form.diagonal(), v**2 * inner.diagonal())
    assert form.n == 5


n = 200
P1 = RNG.random(n)
Y1 = (RNG.random(n) < P1).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = np.array([RNG.choice(3, p=row) for row in P3])
LAW = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = LAW.sample(1, 0)[:, 0]
W = RNG.uniform(0.8, 1.2, n)
CASES = {
    "line": (Y1, P1, Exponential(0.3)),
    "line without a sum": (Y1, P1, RationalQuadratic(1.0, 0.3)),
    "gaussian line": (Y1, P1, Gaussian(0.3)),
    "vectors": (Y3, P3, Exponential(0.3)),
    "vectors with targets": (Y3, P3, Matern32(0.3, "euclidean") * Gaussian(1.0, "labels")),
    "laws": (REAL, LAW, Exponential(1.0) * Gaussian(1.0)),
}


def whole(name, w):
    """Return the matrix of w w' h / mean(w)², in the order of the bootstrap."""
    y, prediction, kernel = CASES[name]
    from calibrant.catalogue import find
    from calibrant.kernels.fitted import form_of, resolved
    from calibrant.primitives.canonical import canonical_order

    rows = find("skce").read(y, prediction, weights=w)
    if isinstance(prediction, np.ndarray) and prediction.ndim == 1:
        rows = cb.summarize("skce", y, prediction, weights=w).rows_at(np.arange(n))
    else:
        rows = rows.take(canonical_order(rows, with_outcomes=True))
    form = form_of(rows, resolved(rows, kernel, chance()), chance())
    i = np.arange(n)
    H = form.h(i[:, None], i[None, :])
    np.fill_diagonal(H, form.diagonal())
    v = rows.w / rows.w.mean()
    return v[:, None] * H * v


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_whole_computation(name, w):
    y, prediction, kernel = CASES[name]
    H = whole(name, w)
    C = multinomial_counts(n, 99, np.random.default_rng(5)).astype(float)
    replicates = replicates_of(C, ((C @ H) * C).sum(axis=1), H.sum(axis=1), H.diagonal())
    T, extreme = bootstrapped(cb.summarize("skce", y, prediction, kernel=kernel, weights=w), kernel, 99, chance(5))
    assert pytest.approx((H.sum() - np.trace(H)) / (n - 1), rel=1e-9) == T
    assert extreme == np.count_nonzero(replicates >= T)
    result = skce_test(y, prediction, kernel=kernel, method="bootstrap", resamples=99, rng=5, weights=w)
    assert result.statistic == pytest.approx(T)
    assert result.pvalue == (1 + extreme) / 100
    assert result.estimate == pytest.approx(T / n)
    if w is None:
        assert result.estimate == pytest.approx(skce(y, prediction, kernel=kernel), rel=1e-9)


def test_portions_do_not_change_the_draws(monkeypatch):
    summary = cb.summarize("skce", Y1, P1)
    expected = bootstrapped(summary, Exponential(0.3), 50, chance())
    monkeypatch.setattr(skce_bootstrap, "MOST_NUMBERS", 7 * n)
    assert bootstrapped(summary, Exponential(0.3), 50, chance()) == pytest.approx(expected, rel=1e-11)


def test_gross_miscalibration():
    assert skce_test(1 - Y1, P1, method="bootstrap", resamples=199).pvalue == 1 / 200
    assert skce_test(REAL + 3, LAW, resamples=199).pvalue == 1 / 200
    assert "199 bootstrap replicates" in skce_test(REAL + 3, LAW, resamples=199).method


def test_calibrated():
    assert skce_test(Y1, P1, method="bootstrap", resamples=199).pvalue > 0.01
    assert skce_test(REAL, LAW, resamples=199).pvalue > 0.01
    assert skce_test(REAL, Samples(LAW.sample(10, 1)), resamples=99).pvalue > 0.01


def test_repeatable():
    first, again, other = (skce_test(Y3, P3, method="bootstrap", resamples=99, rng=seed).pvalue for seed in (1, 1, 2))
    assert first == again
    assert 0 < other <= 1
    assert skce_test(Y3, P3, method="bootstrap", kernel=Exponential(0.3) * Delta(), resamples=1).pvalue in (0.5, 1.0)
