"""Binned errors, by hand and against pair sums."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import direction, ece, mce, one_vs_rest, reliability_curve, top_label
from calibrant.core.bins import bin_of, width_edges
from calibrant.inputs.probabilities import read_binary
from calibrant.summaries import Grid, Ordered

# Bin (0, 0.5]: scores 0.25 and 0.5, mean 0.375, one event in two: gap 1/8.
# Bin (0.5, 1]: scores 0.75 and 1, mean 0.875, no event: gap -7/8.
Y, P = [0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0]


class TestByHand:
    @pytest.mark.parametrize(
        ("norm", "expected"), [("l1", 0.5), ("l2-squared", (1 / 64 + 49 / 64) / 2), ("l2", 0.625), ("max", 0.875)]
    )
    def test_norms(self, norm, expected):
        assert ece(Y, P, bins=2, norm=norm) == expected

    @pytest.mark.parametrize(
        ("y", "p", "options", "expected"),
        [
            (Y, P, {"bins": 1}, abs(1 / 4 - 2.5 / 4)),  # the bias
            (Y, P, {"bins": 100}, 2.5 / 4),  # each row alone: |y - p| = 0.25, 0.5, 0.75, 1
            (Y, P, {"bins": 10_000}, 2.5 / 4),
            (Y, P, {"bins": 100, "strategy": "mass"}, 2.5 / 4),
            # Weights 3, 1, 1, 1: (0, 0.5] has mean (0.75 + 0.5)/4 and frequency 1/4: gap 1/16 with share 4/6.
            (Y, P, {"bins": 2, "weights": [3, 1, 1, 1]}, 4 / 6 / 16 + 2 / 6 * 7 / 8),
            ([0, 1], [0.0, 1.0], {}, 0.0),
            ([1, 0], [0.0, 1.0], {}, 1.0),
            ([1, 1, 1, 1], P, {"bins": 2}, (0.625 + 0.125) / 2),
            # {0.1, 0.2} without an event, {0.3, 0.9} with two: 0.15 and |1 - 0.6|.
            ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9], {"bins": 2, "strategy": "mass"}, (0.15 + 0.4) / 2),
            ([0], [0.125], {"bins": 1}, 0.125),  # the mean score counts, not the middle of the bin
        ],
    )
    def test_values(self, y, p, options, expected):
        assert ece(y, p, **options) == pytest.approx(expected, rel=1e-15, abs=1e-15)

    @pytest.mark.parametrize(("y", "expected"), [(1, 0.75), (0, 0.25)])
    @pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"bins": "sweep"}, {"bins": "cube-root"}])
    def test_one_row(self, y, expected, options):
        assert ece([y], [0.25], **options) == expected

    def test_tied_scores_share_a_mass_bin_whatever_their_order(self):
        # Three of four rows are tied: the first mass bin takes all of them.
        p = np.array([0.25, 0.25, 0.25, 0.75])
        for order in itertools.permutations(range(4)):
            y = np.array([1, 0, 1, 1])[list(order)]
            assert ece(y, p[list(order)], bins=2, strategy="mass") == pytest.approx((3 * (2 / 3 - 0.25) + 0.25) / 4)


def pairs_by_loop(y, p, w, m):
    """Return the debiased square by its definition: weighted means of r_i r_j over pairs of different rows."""
    number = bin_of(np.asarray(p, dtype=float), width_edges(m))
    top = bottom = 0.0
    for b in range(m):
        rows = np.flatnonzero(number == b)
        if len(rows) < 2:
            continue
        pairs = [(i, j) for i in rows for j in rows if i != j]
        theta = sum(w[i] * w[j] * (y[i] - p[i]) * (y[j] - p[j]) for i, j in pairs) / sum(w[i] * w[j] for i, j in pairs)
        top += sum(w[i] for i in rows) * theta
        bottom += sum(w[i] for i in rows)
    return top / bottom if bottom else None


class TestDebiased:
    def test_by_hand(self):
        # Residuals -1/4, 1/2 in the first bin: product -1/8. Residuals -3/4, -1 in the second: 3/4.
        assert ece(Y, P, bins=2, norm="l2-squared", debias=True) == (-1 / 8 + 3 / 4) / 2
        assert ece(Y, P, bins=2, norm="l2", debias=True) == math.sqrt(5 / 16)

    def test_the_root_is_of_the_value_clipped_at_zero(self):
        assert ece([0, 1], [0.25, 0.5], bins=1, norm="l2-squared", debias=True) == -1 / 8
        assert ece([0, 1], [0.25, 0.5], bins=1, norm="l2", debias=True) == 0.0

    def test_bins_with_one_row_are_left_out(self):
        # The third row is alone in (0.5, 1]; the other two have residuals -1/4 and 1/2.
        assert ece([0, 1, 1], [0.25, 0.5, 0.75], bins=2, norm="l2-squared", debias=True) == -1 / 8

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0.1, 10)), min_size=2, max_size=15),
        st.integers(1, 4),
    )
    def test_pair_sums(self, drawn, m):
        y, p, w = zip(*drawn, strict=True)
        expected = pairs_by_loop(y, p, w, m)
        if expected is None:
            return
        options = {"bins": m, "norm": "l2-squared", "debias": True}
        for kind in (Grid, Ordered):
            summary = kind.of(read_binary(y, p, verb="a test", weights=w))
            assert ece(summary, **options) == pytest.approx(expected, rel=1e-9, abs=1e-11)

    def test_is_unbiased(self):
        # All outcomes, weighted by their chance if the truth is q: the mean of r_i r_j is (q_i - p_i)(q_j - p_j).
        p = np.array([0.1, 0.3, 0.4, 0.6, 0.7])
        q = np.array([0.2, 0.1, 0.9, 0.5, 0.3])
        mean = 0.0
        for y in itertools.product([0, 1], repeat=5):
            chance = np.prod(np.where(y, q, 1 - q))
            mean += chance * ece(y, p, bins=2, norm="l2-squared", debias=True)
        d = q - p
        first = (d[0] * d[1] + d[0] * d[2] + d[1] * d[2]) / 3
        assert mean == pytest.approx((3 * first + 2 * d[3] * d[4]) / 5, abs=1e-14)

    def test_no_pairs(self, refusal):
        message = refusal(ece, [0, 1], [0.2, 0.7], bins=2, norm="l2", debias=True)
        assert message == "debias=True needs a bin with two rows or more; all 2 bins have fewer. Use fewer bins"

    @pytest.mark.parametrize("light", [1e-17, 1e-200])
    def test_a_row_that_outweighs_all_others_leaves_no_pairs(self, refusal, light):
        # W² - Σw² is lost to rounding: there is no number to return.
        message = refusal(ece, [0, 1], [0.2, 0.3], bins=1, norm="l2", debias=True, weights=[1, light])
        assert "debias=True" in message


# Predicted labels: 0, 0, 1, 1, 1 with confidences 0.5, 0.75, 0.5, 0.75, 1. Label 2 is never predicted.
CLASS_Y = [0, 1, 1, 2, 1]
CLASS_P = np.array([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.75, 0.25], [0.0, 1.0, 0.0]])


class TestNotions:
    def test_confidence(self):
        # (0, 0.5]: 0.5, 0.5, both right: gap 1/2, share 2/5. (0.5, 1]: mean 2.5/3, one right in three: gap 1/2.
        assert ece(CLASS_Y, CLASS_P, bins=2) == pytest.approx(0.5)
        assert ece(CLASS_Y, CLASS_P, bins=2, notion="confidence") == ece(CLASS_Y, CLASS_P, bins=2)

    @pytest.mark.parametrize("verb", [ece, mce])
    def test_two_columns_say_which_error_it_is(self, verb):
        """Of the event the bins have 0.25 and 0.75; the most probable class always has 0.75."""
        y, p = [0, 1, 1, 1], np.array([0.25, 0.25, 0.75, 0.75])
        P = np.column_stack([1 - p, p])
        with pytest.warns(UserWarning, match=r"for the event pass its column, P\[:, 1\]; .* add notion='confidence'$"):
            found = verb(y, P)
        assert found == verb(y, P, notion="confidence") == 0.0
        assert verb(y, P[:, 1]) == 0.25

    def test_top_label(self):
        # Label 0: 0.5 right, 0.75 wrong: (0.5 + 0.75)/2. Label 1: 0.5 right; 0.75 wrong and 1 right: gap 3/8 twice.
        zero, one = 0.625, (0.5 + 2 * 0.375) / 3
        assert ece(CLASS_Y, CLASS_P, bins=2, notion="top-label") == pytest.approx((zero + one) / 2)
        options = {"bins": 2, "notion": "top-label"}
        assert ece(CLASS_Y, CLASS_P, average="macro", **options) == ece(CLASS_Y, CLASS_P, **options)
        assert ece(CLASS_Y, CLASS_P, average="weighted", **options) == pytest.approx((2 * zero + 3 * one) / 5)

    def test_top_label_with_weights(self):
        # The last row weighs 3: label 1 has weight 5, and in (0.5, 1] mean 3.75/4 and 3 of 4 right.
        zero, one = 0.625, (0.5 + 4 * (0.9375 - 0.75)) / 5
        options = {"bins": 2, "notion": "top-label", "weights": [1, 1, 1, 1, 3]}
        assert ece(CLASS_Y, CLASS_P, **options) == pytest.approx((zero + one) / 2)
        assert ece(CLASS_Y, CLASS_P, average="weighted", **options) == pytest.approx((2 * zero + 5 * one) / 7)

    def test_classwise(self):
        # Class 0: (0, 0.5] 0.5, 0.25, 0, 0 with one event: gap |1/4 - 3/16| = 1/16, share 4/5; 0.75 without: 3/4.
        # Class 1: (0, 0.5] 0.25, 0.25, 0.5 with two: 1/3; (0.5, 1] 0.75, 1 with one: 3/8.
        # Class 2: one bin, 0.25 * 3 / 5 against 1/5: 1/20.
        zero, one, two = (4 / 16 + 3 / 4) / 5, (3 * (1 / 3) + 2 * 3 / 8) / 5, 1 / 20
        options = {"bins": 2, "notion": "classwise"}
        assert ece(CLASS_Y, CLASS_P, **options) == pytest.approx((zero + one + two) / 3)
        assert ece(CLASS_Y, CLASS_P, average="macro", **options) == ece(CLASS_Y, CLASS_P, **options)
        assert ece(CLASS_Y, CLASS_P, average="sum", **options) == pytest.approx(zero + one + two)

    def test_a_class_that_never_occurs_counts_in_the_mean(self):
        P = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
        values = [ece(*one_vs_rest([0, 0], P, k)) for k in range(3)]
        assert ece([0, 0], P, notion="classwise") == pytest.approx(sum(values) / 3)
        assert values[2] == 0.0

    def test_top_label_has_its_own_mass_edges(self):
        top = CLASS_P.argmax(axis=1)
        correct, confidence = top_label(CLASS_Y, CLASS_P)
        values = [ece(correct[top == k], confidence[top == k], bins=2, strategy="mass") for k in (0, 1)]
        assert ece(CLASS_Y, CLASS_P, bins=2, strategy="mass", notion="top-label") == pytest.approx(np.mean(values))

    def test_maximum_over_labels(self):
        options = {"bins": 2, "norm": "max"}
        assert ece(CLASS_Y, CLASS_P, notion="top-label", **options) == 0.75
        assert ece(CLASS_Y, CLASS_P, notion="classwise", **options) == 0.75

    def test_debiased_squares_average_over_labels(self):
        options = {"bins": 1, "norm": "l2-squared", "debias": True}
        values = [ece(*one_vs_rest(CLASS_Y, CLASS_P, k), **options) for k in range(3)]
        assert ece(CLASS_Y, CLASS_P, notion="classwise", **options) == pytest.approx(np.mean(values))


class TestOptions:
    @pytest.mark.parametrize("notion", ["confidence", "top-label", "classwise"])
    def test_a_notion_needs_a_matrix(self, refusal, notion):
        message = refusal(ece, Y, P, notion=notion)
        assert f"notion={notion!r} is for class probabilities of shape (n, K)" in message

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"average": "macro"}, "average='macro' is for"),
            ({"average": "macro", "notion": "confidence"}, "average='macro' is for"),
            ({"average": "sum", "notion": "top-label"}, "average must be one of 'macro', 'weighted'; got 'sum'"),
            ({"average": "weighted", "notion": "classwise"}, "average must be one of 'macro', 'sum'; got 'weighted'"),
            ({"average": "sum", "notion": "classwise", "norm": "max"}, "takes the maximum over labels; leave average"),
            ({"norm": "l1", "debias": True}, 'norm="l2" and "l2-squared"; got norm=\'l1\''),
            ({"norm": "max", "debias": True}, 'norm="l2" and "l2-squared"; got norm=\'max\''),
        ],
    )
    def test_options_that_do_not_belong(self, refusal, options, words):
        assert words in refusal(ece, CLASS_Y, CLASS_P, **options)
        if "notion" not in options:
            assert words in refusal(ece, Y, P, **options)

    @pytest.mark.parametrize("option", ["norm", "notion", "debias", "strategy", "average", "distance"])
    def test_an_array_is_refused_by_name(self, refusal, option):
        given = {"notion": "classwise"} if option == "average" else {}
        assert option in refusal(ece, CLASS_Y, CLASS_P, **{**given, option: np.array(["l1", "l2"])})

    @pytest.mark.parametrize(("other", "ours"), [("quantile", "mass"), ("uniform", "width")])
    @pytest.mark.parametrize("verb", [ece, mce, direction, reliability_curve], ids=lambda verb: verb.__name__)
    def test_strategies_of_scikit_learn_get_a_pointer(self, refusal, verb, other, ours):
        assert refusal(verb, Y, P, strategy=other).endswith(f"got {other!r}. Did you mean {ours!r}?")

    def test_unknown_option(self, refusal):
        message = refusal(ece, Y, P, n_bins=10)
        assert message == (
            "ece has no option n_bins. Did you mean ece(y, prediction, bins=10)? Its options are bins, strategy, norm, "
            "debias, notion, average, distance, weights, classes, pos_label"
        )


@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.integers(1, 4)), min_size=1, max_size=25),
    st.integers(1, 20),
    st.sampled_from(["width", "mass"]),
)
@example([(1, 0.0, 1), (0, 1.0, 2), (1, 0.5, 1)], 2, "width")
def test_distributions(drawn, bins, strategy):
    y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
    options = {"bins": bins, "strategy": strategy}
    l1, l2, largest = (ece(y, p, weights=w, norm=norm, **options) for norm in ("l1", "l2", "max"))
    bias = abs(np.dot(w, y - p)) / w.sum()
    assert bias - 1e-12 <= l1 <= l2 + 1e-12
    assert l2 <= largest + 1e-12 <= 1 + 2e-12

    assert ece(1 - y, p, weights=w, bins=1) == pytest.approx(abs(np.dot(w, 1 - y - p)) / w.sum(), abs=1e-12)


class TestLargest:
    @pytest.mark.parametrize(
        ("y", "p", "options", "expected"),
        [
            # Bin (0, 0.5]: mean 0.375, frequency 1/2. Bin (0.5, 1]: mean 0.875, frequency 0.
            (Y, P, {"bins": 2}, 0.875),
            # In (0.5, 1] the row of score 1 weighs 3: mean 3.75/4. The share of the bin does not matter.
            (Y, P, {"bins": 2, "weights": [9, 9, 1, 3]}, 0.9375),
            ([1, 0], [1.0, 0.0], {"bins": 50}, 0.0),  # empty bins do not count
        ],
    )
    def test_by_hand(self, y, p, options, expected):
        assert mce(y, p, **options) == expected

    @pytest.mark.parametrize("options", [{}, {"bins": 7}, {"strategy": "mass"}, {"bins": "sweep"}])
    def test_is_the_max_norm(self, D1, options):
        assert mce(*D1, **options) == ece(*D1, norm="max", **options)

    def test_largest_of_all_classes(self, D2):
        y, P = D2
        assert mce(y, P, notion="classwise") == pytest.approx(
            max(mce(*one_vs_rest(y, P, k)) for k in range(5)), rel=1e-12
        )
        assert mce(y, P, notion="top-label") == ece(y, P, notion="top-label", norm="max")
        assert mce(y, P) == ece(y, P, norm="max")

    def test_options_are_checked(self, refusal):
        assert "mce has no option norm. Its options are bins, strategy, notion" in refusal(mce, Y, P, norm="l1")
        assert "notion='classwise' is for class probabilities" in refusal(mce, Y, P, notion="classwise")


class TestDirection:
    def test_by_hand(self):
        # (0, 0.5]: mean 0.375, one event in two, 1/8 too low. (0.5, 1]: mean 0.875, none, 7/8 too high. Two rows each.
        found = direction([0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0], bins=2)
        assert (found.over, found.under, found.bias) == (7 / 16, 1 / 16, 1 / 4 - 2.5 / 4)
        assert (found.over_bin, found.under_bin) == ((0.5, 1.0), (0.0, 0.5))

    def test_the_bin_that_adds_most_is_not_the_one_with_the_largest_gap(self):
        # (0, 0.5] is 1/4 too high in four rows, (0.5, 1] 3/4 too high in one.
        found = direction([0, 0, 0, 0, 0], [0.25] * 4 + [0.75], bins=2)
        assert found.over_bin == (0.0, 0.5)

    def test_one_sided(self):
        found = direction([1, 1], [0.25, 0.75], bins=2)
        assert (found.over, found.over_bin) == (0.0, None)
        assert found.under == found.bias == 0.5

    def test_perfect(self):
        found = direction([0, 1], [0.0, 1.0])
        assert (found.over, found.under, found.bias, found.over_bin, found.under_bin) == (0.0, 0.0, 0.0, None, None)

    def test_weights(self):
        # Weights 3, 1: the row that is too high counts three times.
        found = direction([0, 1], [0.25, 0.75], bins=2, weights=[3, 1])
        assert (found.over, found.under, found.bias) == (3 / 16, 1 / 16, -2 / 16)

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0.1, 9)), min_size=1, max_size=30),
        st.sampled_from([{}, {"bins": 3}, {"strategy": "mass"}, {"bins": "sweep"}]),
    )
    def test_distributions(self, drawn, options):
        y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
        found = direction(y, p, weights=w, **options)
        assert found.over + found.under == pytest.approx(ece(y, p, weights=w, **options), abs=1e-12)
        assert found.under - found.over == pytest.approx(found.bias, abs=1e-12)
