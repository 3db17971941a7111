"""Bad input of verbs of probabilities: extreme weights, odd labels and groups; right, or refused."""

import numpy as np
import pytest

import calibrant as cb

RNG = np.random.default_rng(0)
P = RNG.random(600)
Y = (RNG.random(600) < np.clip(P + 0.15, 0, 1)).astype(int)
W = RNG.random(600) + 0.1
G = np.arange(600) % 4


def adjusted(weights, groups=G):
    columns = cb.audit(Y, P, groups=groups, weights=weights, resamples=19).findings.groups.columns
    return dict(zip(columns["group"], columns["pvalue_adjusted"], strict=True))


@pytest.mark.parametrize("factor", [1e50, 1e-50])
def test_a_common_factor_of_the_weights_leaves_groups_alone(factor):
    assert adjusted(W * factor) == pytest.approx(adjusted(W), rel=1e-12)


@pytest.mark.parametrize("heavy", [1e12, 1e18])
def test_a_heavy_group_leaves_the_others_alone(heavy):
    columns = cb.audit(Y, P, groups=G, weights=np.where(G == 0, heavy, 1.0), resamples=19).findings.groups.columns
    plain = cb.audit(Y, P, groups=G, resamples=19).findings.groups.columns
    found, expected = (dict(zip(c["group"], c["rms_error"], strict=True)) for c in (columns, plain))
    for g in (1, 2, 3):
        assert found[f"group = {g}"] == pytest.approx(expected[f"group = {g}"], rel=1e-9)


def test_weights_that_cannot_be_seen_are_as_good_as_zero():
    w = np.where(np.arange(600) < 300, 1e-170, 1.0)
    test = cb.spiegelhalter_test(Y, P, weights=w, null="asymptotic")
    assert test.n == 300
    assert test.pvalue == pytest.approx(cb.spiegelhalter_test(Y[300:], P[300:], null="asymptotic").pvalue, rel=1e-12)


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ([1, 0], {"pos_label": [1, 0]}, "pos_label must be one label"),
        ([1, 0], {"classes": [[1], [2]]}, "single labels"),
        ([10**400, 0], {}, "row 0"),
        ([1, 0], {"bins": 10**12}, "at most"),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), {"pos_label": np.datetime64("2020-01-01")}, "row 1"),
    ],
)
def test_what_is_refused(y, options, words):
    with pytest.raises(cb.errors.InputError, match=words):
        cb.ece(y, [0.9, 0.1], **options)


def test_booleans_of_a_foreign_buffer():
    y = np.array([2, 0] * 300, dtype=np.uint8).view(bool)
    assert cb.brier_score(y, P) == cb.brier_score(np.array([1, 0] * 300), P)


def test_frames_of_groups():
    import pandas as pd

    assert sorted(adjusted(None, pd.DataFrame({0: G})))[0] == "0 = 0"
    with pytest.raises(cb.errors.InputError, match="different names"):
        adjusted(None, {1: G, "1": G})
    with pytest.raises(cb.errors.InputError, match="groups is not a data frame"):
        adjusted(None, pd.DataFrame(np.stack([G, G], axis=1), columns=["a", "a"]))
