"""Class probabilities reduced to one probability per row."""

import numpy as np
import pytest

from calibrant import ece, one_vs_rest, top_label

P = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])


class TestTopLabel:
    def test_ties_go_to_the_lowest_column(self):
        correct, confidence = top_label([1, 1, 2], P)
        assert correct.tolist() == [False, True, True]
        assert confidence.tolist() == [0.5, 0.5, 0.75]
        assert correct.dtype == bool

    def test_labels(self):
        correct, _ = top_label(["a", "b", "c"], P, classes=["a", "b", "c"])
        assert correct.tolist() == [True, True, True]

    def test_confidence_ece_is_the_ece_of_the_reduction(self, D2):
        assert ece(*D2) == ece(*top_label(*D2))
        assert ece(*D2, notion="confidence") == ece(*D2)

    def test_result_is_a_copy(self):
        confidence = top_label([0, 0, 0], P)[1]
        confidence[:] = 0
        assert P.max() == 0.75

    def test_keeps_the_precision(self):
        assert top_label([0, 0, 0], P.astype("float32"))[1].dtype == "float32"

    def test_refuses_one_column(self, refusal):
        assert "got a 1-D prediction, which needs none" in refusal(top_label, [0, 1], [0.5, 0.5])


class TestOneVsRest:
    def test_column(self):
        happened, probability = one_vs_rest([1, 1, 2], P, 2)
        assert happened.tolist() == [False, False, True]
        assert probability.tolist() == [0.0, 0.25, 0.75]

    def test_label(self):
        happened, probability = one_vs_rest(["a", "b", "c"], P, "b", classes=["a", "b", "c"])
        assert happened.tolist() == [False, True, False]
        assert probability.tolist() == [0.5, 0.5, 0.25]

    def test_numbers_as_labels(self):
        # With classes= a number is a label: 1 is the first column here.
        happened, probability = one_vs_rest([1, 2, 3], P, 1, classes=[1, 2, 3])
        assert happened.tolist() == [True, False, False]
        assert probability.tolist() == [0.5, 0.25, 0.0]

    def test_result_is_a_copy(self):
        probability = one_vs_rest([0, 0, 0], P, 2)[1]
        probability[:] = 0
        assert P.max() == 0.75

    @pytest.mark.parametrize(
        ("k", "options", "words"),
        [
            (3, {}, ["column number 0..2", "got 3"]),
            (-1, {}, ["at least 0", "got -1"]),
            (1.0, {}, ["whole number", "got 1.0"]),
            ("a", {}, ["whole number", "got 'a'"]),
            ("z", {"classes": [0, 1, 2]}, ["one of classes=[0, 1, 2]", "got 'z'"]),
        ],
    )
    def test_refuses_an_unknown_class(self, refusal, k, options, words):
        message = refusal(one_vs_rest, [0, 1, 2], P, k, **options)
        assert all(word in message for word in words), message
