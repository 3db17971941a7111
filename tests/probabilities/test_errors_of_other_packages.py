"""Inputs on which other packages return a wrong number without a word: the right number, or a refusal that says why.

One test per row of the checklist in the specification, then the worked examples beside the reference values.
"""

import itertools
import math

import numpy as np
import pytest
from tests.references.books import book

from calibrant import (
    calibration_test,
    cumulative_differences,
    decompose,
    direction,
    ece,
    kolmogorov_smirnov_test,
    kuiper_test,
    log_score,
    reliability_curve,
    smce,
    smooth_ece,
    spiegelhalter_test,
    top_label,
)
from calibrant.core.pvalues import brownian_max_sf

VERBS = [ece, log_score, decompose, kuiper_test, spiegelhalter_test, reliability_curve, cumulative_differences]
ALL_VERBS = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)


class TestBins:
    @pytest.mark.parametrize(
        ("y", "p", "dtypes", "expected", "off"),
        [
            # torchmetrics 1.9.0: 0.525. Both rows lie in (0.9, 1]: |1/2 - 0.975|.
            ([1, 0], [0.95, 1.0], ["float64"], 0.475, 1e-12),
            # torchmetrics, netcal 1.4.0, relplot 1.0.3: 0.375. 0.1 and 0.15 lie in different bins: (0.9 + 0.15)/2.
            ([1, 0], [0.1, 0.15], ["float64", "float32"], 0.525, 1e-7),
            # Others: 0.525 in float64, 0.175 in float32, because linspace's edge is 0.30000000000000004.
            ([1, 0], [0.3, 0.35], ["float64", "float32", "float16"], 0.525, 3e-4),
            # calzone-tool 0.1.0: 0.0. Half of the rows of score 0 are off by 1.
            ([1, 1, 1, 0], [0.0, 0.0, 0.5, 0.5], ["float64"], 0.5, 0.0),
            # ecevecce: 0.2017. Empty bins between: (2 * 0.055 + 4 * |0.75 - 0.965|)/6 = 0.161667.
            ([0, 0, 1, 1, 1, 0], [0.05, 0.06, 0.95, 0.96, 0.97, 0.98], ["float64"], 0.97 / 6, 1e-12),
        ],
    )
    def test_values(self, y, p, dtypes, expected, off):
        for dtype in dtypes:
            assert ece(y, np.array(p, dtype), bins=10) == pytest.approx(expected, abs=off)

    def test_many_float16_scores(self):
        # torchmetrics: exactly 0, because counts overflow. Outcomes that follow the scores as evenly as can be.
        n = 200_000
        exact = (np.arange(n) + 0.5) / n
        y = (np.arange(n) * (math.sqrt(5) - 1) / 2) % 1 < exact
        p = exact.astype("float16")
        in_double = p.astype(float)
        number = np.searchsorted((np.arange(1, 15) / 15).astype("float16"), p)  # edges as the scores see them
        slow = sum(abs(np.sum(y[number == b] - in_double[number == b])) for b in range(15)) / n
        assert ece(y, p) == pytest.approx(slow, rel=1e-9)
        assert ece(y, p) == pytest.approx(1.0e-4, abs=5e-6)

    def test_mass_bins_are_free_of_the_order_of_rows(self):
        # MAPIE's "array split": 0.075 as given, 0.150 sorted. Each of the four bins is off by 0.15.
        p, y = np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6]), np.array([0, 1, 0, 1, 1, 0, 0, 1])
        order = np.argsort(p)
        assert ece(y, p, bins=4, strategy="mass") == pytest.approx(0.15)
        assert ece(y[order], p[order], bins=4, strategy="mass") == pytest.approx(0.15)

    def test_ten_bins_are_ten(self, M):
        # MAPIE `num_bins=10`: 0.19458, nine bins and one for 0.
        assert ece(*M, bins=10) == pytest.approx(0.20125, abs=5e-6)

    def test_curves_keep_empty_bins_and_counts(self):
        # scikit-learn `calibration_curve`: three values, no counts. 0.05 and 0.02 lie in the first of ten bins.
        curve = reliability_curve([0, 1, 1, 0], [0.05, 0.9, 0.95, 0.02], bins=10)
        assert curve.count.tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 1, 1]
        assert np.isnan(curve.mean_observed[1:8]).all()


def first_of(y, p, score):
    return y, np.append(score, p[1:])


@ALL_VERBS
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        # torchmetrics 0.1538 (sigmoid of the whole batch), netcal 0.0777 (row dropped), MCGrad 0.1.5 p = 2e-16.
        (lambda y, p: first_of(y, p, np.nan), ("row 0 is nan (missing)", "Drop or repair such rows")),
        # torchmetrics 0.1524; relplot, netcal, uncertainty-calibration: a number.
        (
            lambda y, p: first_of(y, p, 1 + 1e-7),
            ("must lie in [0, 1]; row 0 is 1.0000001", "numpy.clip(prediction, 0, 1)"),
        ),
        # relplot 2.01, netcal 0.278, uncertainty-calibration 1.06; torchmetrics guesses per batch.
        (lambda y, p: (y, np.log(p / (1 - p))), ("must lie in [0, 1]; row ", "scipy.special.expit")),
        # relplot 0.5506, netcal 0.5505, MCGrad 0.5516. MAPIE rewrites the array to all ones and returns 0.5.
        (lambda y, p: (2 * y - 1, p), ("y must be 0 and 1; row ", " is -1", "pos_label=")),
        # calzone 0.4905.
        (lambda y, p: (np.where(y == 1, "yes", "no"), p), ("row 0 is 'yes'", "pos_label=")),
        # calzone 0.4905.
        (lambda y, p: (np.where(y == 1, 0.9, 0.1), p), ("row 0 is 0.9", "Soft labels are not supported")),
        # probmetrics 1.3.0 log loss 0.6227.
        (lambda y, p: (y[:-1], p), ("got 499 outcomes and 500 predictions",)),
        # relplot 0.0; MCGrad 0, p = 1.
        (lambda y, p: ([], []), ("there are no rows",)),
    ],
)
def test_bad_scores_and_outcomes(verb, spoil, words, refusal, D1):
    y, p = D1[0].copy(), D1[1].copy()
    message = refusal(verb, *spoil(np.append(1, y[1:]), p))
    assert all(word in message for word in words)
    np.testing.assert_array_equal(y, D1[0])
    np.testing.assert_array_equal(p, D1[1])


def test_columns_are_read_by_position(require, D1):
    # relplot with a reversed index: 0.2012 instead of 0.0688.
    pandas = require("pandas")
    y, p = D1
    backwards = pandas.Series(y, index=range(499, -1, -1))
    assert ece(backwards, pandas.Series(p)) == pytest.approx(ece(y, p), rel=1e-12)
    assert kuiper_test(backwards, pandas.Series(p)) == kuiper_test(y, p)


class TestCumulative:
    @pytest.mark.parametrize("verb", [kolmogorov_smirnov_test, kuiper_test])
    def test_tied_scores_in_any_order(self, verb):
        # MCGrad Kuiper 0.0625 or 0.25, MAPIE KS 1.414 or 0.354: they follow the order of the rows.
        for y in ([0, 1] * 4, [1] * 4 + [0] * 4):
            result = verb(y, [0.5] * 8)
            assert (result.estimate, result.statistic, result.pvalue) == (0.0, 0.0, 1.0)

    def test_the_walk_starts_at_zero(self):
        # MAPIE: Kuiper 2.8685 below KS 3.5857.
        values = [verb([0] * 4, [0.6, 0.7, 0.8, 0.9]).statistic for verb in (kolmogorov_smirnov_test, kuiper_test)]
        assert values == pytest.approx([3.5857, 3.5857], abs=5e-5)

    def test_far_tails_are_positive(self):
        # MAPIE p = -1.9e-12; ecevecce -2.2e-16 at 8.5. 64 events of probability 1/2: (64 - 32)/√16 = 8.
        result = kolmogorov_smirnov_test([1] * 64, [0.5] * 64, null="asymptotic")
        assert result.statistic == 8.0
        assert result.pvalue == pytest.approx(2.488e-15, rel=5e-4)
        assert brownian_max_sf(8.5) > 0

    @pytest.mark.parametrize("verb", [*VERBS[3:], kolmogorov_smirnov_test, calibration_test, direction])
    def test_a_matrix_is_refused(self, verb, refusal, D2):
        # probmetrics 1.2773: column 1, with the class index as outcome.
        message = refusal(verb, *D2)
        assert "got an array of shape (600, 5)" in message
        assert "top_label(y, P)" in message
        assert "one_vs_rest(y, P, k)" in message


class TestSpiegelhalter:
    def test_under_confidence_is_found(self, D1):
        # MAPIE p = 1 (one-sided).
        result = spiegelhalter_test(D1[1] > 0.5, 0.4 + 0.2 * D1[1])
        assert result.statistic == pytest.approx(-16.96, abs=5e-3)
        assert result.pvalue == pytest.approx(1.56e-64, rel=5e-3)

    def test_small_pvalues_are_not_zero(self, D2):
        # calzone: 0.0, from 1 - cdf.
        assert spiegelhalter_test(*top_label(*D2)).pvalue == pytest.approx(2.76e-23, rel=5e-3)


def test_labels_are_not_correctness():
    # MAPIE reads the labels 0 and 1 of a perfect two-column matrix as wrong and right: 0.5.
    y = np.array([0, 1, 1, 0])
    assert ece(y, np.eye(2)[y]) == 0.0


def test_nothing_is_clipped_in_silence():
    # scikit-learn 1.9.1: 12.48, probmetrics 29.57.
    y, p = [1, 1, 0], [0.0, 0.5, 0.5]
    assert log_score(y, p) == math.inf
    assert log_score(y, p, clip=2**-52) == pytest.approx((52 + 2) * math.log(2) / 3)
    assert log_score(y, p, clip=2**-52) == pytest.approx(12.48, abs=5e-3)


EXAMPLES = book("probabilities")["worked_examples"]


def _ece(y, p, call):
    dtypes = ["float64", "float32"] if "float32" in call else ["float64"]
    return [ece(y, np.array(p, dtype), bins=10) for dtype in dtypes]


def _tests(y, p, call):
    verbs = [verb for verb in (kolmogorov_smirnov_test, kuiper_test) if verb.__name__ in call]
    results = [verb(y, p, null="asymptotic") for verb in verbs]
    return [[r.statistic, r.pvalue] if "pvalue" in call else r.statistic for r in results]


def _log_score(y, p, call):
    return [log_score(y, p, clip=2**-52 if "clip=2**-52" in call else None)]


def _decompose(y, p, call):
    parts = decompose(y, p)
    return [[parts.mcb, parts.dsc, parts.unc, parts.score]]


COMPUTED = {
    "ece": _ece,
    "kolmogorov_smirnov_test": _tests,
    "log_score": _log_score,
    "decompose": _decompose,
    "smooth_ece": lambda y, p, call: [smooth_ece(y, p)],
    "smce": lambda y, p, call: [smce(y, p)],
}


def verb_of(example):
    return example["call"].partition("(")[0].partition(",")[0].partition(":")[0]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["why"])
def test_worked_example(example):
    value = example["value"]
    expected = np.array(list(value.values()) if isinstance(value, dict) else value, dtype=float)
    for found in COMPUTED[verb_of(example)](example["y"], example["p"], example["call"]):
        np.testing.assert_allclose(found, expected, rtol=1e-7 if "float32" in example["call"] else 1e-12, atol=1e-15)


def test_the_worked_examples_of_all_verbs_are_there():
    assert len(EXAMPLES) == 17
    assert {verb_of(example) for example in EXAMPLES} == set(COMPUTED)


def test_tied_example_in_every_order():
    (tied,) = [example for example in EXAMPLES if "any row order" in example["why"]]
    for y in set(itertools.permutations(tied["y"])):
        assert _tests(y, tied["p"], tied["call"]) == [tied["value"]] * 2
