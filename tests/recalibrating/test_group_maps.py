"""Maps of groups that are shrunk to a common one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import calibrant as cb
from calibrant.errors import CalibrantError, InputError
from calibrant.results import Recalibration

LN2, LN3 = math.log(2), math.log(3)


def expit(x):
    return 1 / (1 + np.exp(-x))


def drawn(seed, sizes=(30, 300, 600), shift=1.0):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    p = rng.uniform(0.05, 0.95, group.size)
    moved = shift * rng.normal(size=len(sizes))[group]
    return (rng.random(group.size) < expit(np.log(p / (1 - p)) + moved)).astype(int), p, np.array(list("abc"))[group]


def counted(rates, times=20_000):
    """Return rows of which these shares of 0.25 and 0.75 happened, in sixtieths."""
    y, p = [], []
    for score, rate in zip((0.25, 0.75), rates, strict=True):
        events = round(60 * rate)
        y += [1] * events + [0] * (60 - events)
        p += [score] * 60
    return y, p, [times] * 120


def test_large_groups_have_their_own_maps():
    """a: 1/3 and 2/3 happened of 0.25 and 0.75, logits ± ln 2. b: 1/2 and 4/5, logits 0 and ln 4."""
    ya, pa, wa = counted((1 / 3, 2 / 3))
    yb, pb, wb = counted((1 / 2, 4 / 5))
    groups = ["a"] * 120 + ["b"] * 120
    found = cb.recalibrate(ya + yb, pa + pb, method="logistic", groups=groups, weights=wa + wb)
    a, b = found.parameters["groups"]
    assert (a["intercept"], a["slope"]) == pytest.approx((0, LN2 / LN3), abs=2e-4)
    assert (b["intercept"], b["slope"]) == pytest.approx((LN2, LN2 / LN3), abs=2e-4)
    assert found.apply([0.25, 0.75], groups=["b", "b"]) == pytest.approx([0.5, 0.8], abs=2e-4)


def test_alike_groups_have_the_common_map_exactly():
    y, p, _ = drawn(3)
    for method in ("logistic", "beta"):
        common = dict(cb.recalibrate(np.tile(y, 2), np.tile(p, 2), method=method).parameters)
        found = cb.recalibrate(np.tile(y, 2), np.tile(p, 2), method=method, groups=np.repeat([1, 2], y.size))
        assert [dict(one) for one in found.parameters["groups"]] == [common] * 2
    alone = cb.recalibrate(y, p, method="logistic", groups=["one"] * y.size)
    assert dict(alone.parameters["groups"][0]) == dict(cb.recalibrate(y, p, method="logistic").parameters)


def test_the_penalty_is_that_of_the_empirical_bayes_equation():
    """θ minimises the penalised log scores, and τ² = Σθ²/Σ(1 - v/τ²): solved here by general optimisers."""
    y, p, group = drawn(1)
    found = cb.recalibrate(y, p, method="logistic", groups=group)
    eta = np.log(q := cb.recalibrate(y, p, method="logistic").apply(p)) - np.log1p(-q)
    z = (eta - eta.mean()) / eta.std()
    design = np.stack([np.ones(z.size), z], axis=1)
    variance, theta, inverse = np.ones(2), np.zeros((3, 2)), np.zeros((3, 2, 2))
    for _ in range(200):
        for g, label in enumerate("abc"):
            X, t, e = design[group == label], y[group == label], eta[group == label]

            def value(at, X=X, t=t, e=e, variance=variance):
                moved = e + X @ at
                return (np.logaddexp(0, moved) - t * moved).sum() + (at**2 / variance).sum() / 2

            theta[g] = minimize(value, theta[g], tol=1e-12).x
            s = expit(e + X @ theta[g])
            inverse[g] = np.linalg.inv((X.T * (s * (1 - s))) @ X + np.diag(1 / variance))
        step = (theta**2).sum(axis=0) / (1 - np.diagonal(inverse, axis1=1, axis2=2) / variance).sum(axis=0)
        if np.abs(step / variance - 1).max() < 1e-7:
            break
        variance = step
    for label, at in zip("abc", theta, strict=True):
        rows = group == label
        expected = expit(eta + design @ at)[rows]
        np.testing.assert_allclose(found.apply(p[rows], groups=group[rows]), expected, atol=2e-5)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_order_of_rows_and_repeated_rows(seed):
    y, p, group = drawn(seed)
    rng = np.random.default_rng(seed)
    w, order = rng.integers(1, 3, y.size), rng.permutation(y.size)
    after = cb.recalibrate(y, p, method="logistic", groups=group, weights=w).apply(p, groups=group)
    rows = rng.permutation(np.repeat(order, w[order]))
    again = cb.recalibrate(y[rows], p[rows], method="logistic", groups=group[rows])
    np.testing.assert_allclose(again.apply(p, groups=group), after, rtol=1e-6)


def test_a_group_of_few_rows_is_near_the_common_map_and_one_class_is_enough():
    y, p, group = drawn(0, (600, 600, 3))
    y[-3:] = 1
    common = cb.recalibrate(y, p, method="logistic")
    found = cb.recalibrate(y, p, method="logistic", groups=group)
    half = [0.5] * 3
    a, b, c = found.apply(half, groups=["a", "b", "c"]) - common.apply(half)
    assert 0 < c < 0.3
    assert min(abs(a), abs(b)) > 0.01


def test_a_new_group_gets_the_common_map_and_is_named():
    y, p, group = drawn(0)
    found = cb.recalibrate(y, p, method="beta", groups=group)
    with pytest.warns(UserWarning, match=r"no group 'd'; it was fitted on \['a', 'b', 'c'\]. Rows of other groups get"):
        after = found.apply([0.2, 0.7], groups=["d", "a"])
    assert after[0] == cb.recalibrate(y, p, method="beta").apply([0.2])[0]
    assert after[1] == found.apply([0.7], groups=["a"])[0]


def test_files_pictures_and_ends():
    y, p, group = drawn(0)
    p[:2], y[:2] = (0.0, 1.0), (0, 1)
    found = cb.recalibrate(y, p, method="logistic", groups=group)
    again = Recalibration.from_json(found.to_json())
    assert repr(again) == repr(found)
    after = found.apply(p, groups=group)
    assert again.apply(p, groups=group).tobytes() == after.tobytes()
    assert after[:2].tolist() == [0, 1]
    lines = found.plot().get_lines()
    assert {line.get_label() for line in lines} >= {"all groups", "a", "b", "c"}


def test_weights_that_count_few_rows_are_mentioned():
    y, p, group = drawn(0)
    with pytest.warns(UserWarning, match="these 930 count as 1"):
        found = cb.recalibrate(y, p, method="logistic", groups=group, weights=np.full(930, 1 / 930))
    assert dict(found.parameters["groups"][0])["slope"] == pytest.approx(found.parameters["slope"], abs=0.01)


INVERTED = np.where(np.arange(400) < 200, 0.2, 0.8)
REFUSED = {
    "fitted with groups": lambda y, p, g: cb.recalibrate(y, p, method="beta", groups=g).apply(p),
    "one label per row: expected 930 rows": lambda y, p, g: cb.recalibrate(y, p, method="logistic", groups=g[1:]),
    "does not use groups=; it belongs to logistic, beta": lambda y, p, g: cb.recalibrate(
        y, p, method="temperature", groups=g
    ),
    "groups are the outcomes": lambda y, p, g: cb.recalibrate(
        y, p, method="logistic", groups=np.where(y == 1, "won", "lost")
    ),
    "only one class occurs": lambda y, p, g: cb.recalibrate(y * 0, p, method="logistic", groups=g),
    "group b: higher scores go with fewer events .* method logistic": lambda y, p, g: cb.recalibrate(
        np.r_[y, y, INVERTED < 0.5],
        np.r_[p, p, INVERTED],
        method="beta",
        groups=["a"] * 1860 + ["b"] * 400,
    ),
    "baseline='common' is for groups=": lambda y, p, g: cb.recalibration_gain(y, p, baseline="common"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refusals(words):
    with pytest.raises((InputError, CalibrantError), match=words):
        REFUSED[words](*drawn(0))


class TestGain:
    def test_adds_up_over_groups_and_over_the_common_map(self):
        y, p, group = drawn(5, (400, 400, 400))
        given = {"method": "logistic", "groups": group, "repeats": 1}
        gain, over = cb.recalibration_gain(y, p, **given), cb.recalibration_gain(y, p, baseline="common", **given)
        common = cb.recalibration_gain(y, p, method="logistic", repeats=1)
        assert gain.estimate == pytest.approx(common.estimate + over.estimate)
        assert over.before == pytest.approx(common.after)
        assert over.low > 0
        for found in (gain, over):
            assert [one.group for one in found.by_group] == ["a", "b", "c"]
            assert np.average([one.estimate for one in found.by_group]) == pytest.approx(found.estimate)
            rows = group == "b"
            assert found.by_group[1].estimate == pytest.approx(found.row_gain[rows].mean())
            assert found.by_group[1].low <= found.by_group[1].estimate <= found.by_group[1].high

    def test_no_fold_sees_its_rows(self):
        y, p, group = drawn(6)
        fold = np.arange(y.size) % 3
        given = {"method": "logistic", "groups": group, "folds": fold, "baseline": "common"}
        other = np.where(fold == 0, 1 - y, y)
        one, two = (cb.recalibration_gain(each, p, **given).row_gain for each in (y, other))
        map_ = cb.recalibrate(y[fold > 0], p[fold > 0], method="logistic", groups=group[fold > 0])
        q, base = map_.apply(p, groups=group), map_.common.apply(p)
        expected = np.where(y == 1, np.log(q / base), np.log((1 - q) / (1 - base)))
        np.testing.assert_allclose(one[fold == 0], expected[fold == 0], atol=1e-9)
        assert not np.allclose(one[fold > 0], two[fold > 0])
