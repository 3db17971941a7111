"""Maximum calibration error."""

import numpy as np
import pytest

from calibrant import ece, mce, one_vs_rest

Y, P = [0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0]


def test_by_hand():
    # Bin (0, 0.5]: mean 0.375, frequency 1/2. Bin (0.5, 1]: mean 0.875, frequency 0.
    assert mce(Y, P, bins=2) == 0.875


def test_weights_count_within_a_bin_only():
    # In (0.5, 1] the row of score 1 weighs 3: mean 3.75/4. The share of the bin does not matter.
    assert mce(Y, P, bins=2, weights=[9, 9, 1, 3]) == 0.9375


def test_empty_bins_do_not_count():
    assert mce([1, 0], [1.0, 0.0], bins=50) == 0.0


@pytest.mark.parametrize("options", [{}, {"bins": 7}, {"strategy": "mass"}, {"bins": "sweep"}])
def test_is_the_max_norm(D1, options):
    assert mce(*D1, **options) == ece(*D1, norm="max", **options)


def test_largest_of_all_classes(D2):
    y, P = D2
    assert mce(y, P, notion="classwise") == pytest.approx(max(mce(*one_vs_rest(y, P, k)) for k in range(5)), rel=1e-12)
    assert mce(y, P, notion="top-label") == ece(y, P, notion="top-label", norm="max")
    assert mce(y, P) == ece(y, P, norm="max")


def test_one_row():
    assert mce([1], [0.25]) == 0.75


def test_options_are_checked(refusal):
    assert "mce has no option norm. Its options are bins, strategy, notion" in refusal(mce, Y, P, norm="l1")
    assert "bins must be at least 1" in refusal(mce, Y, P, bins=0)
    assert "notion='classwise' is for class probabilities" in refusal(mce, Y, P, notion="classwise")


def test_never_below_the_mean_error():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    assert mce(y, p) >= ece(y, p, norm="l2") >= ece(y, p)
