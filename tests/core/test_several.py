"""One summary per label."""

import numpy as np
import pytest

from calibrant import ece, summarize
from calibrant.core.ordered import Ordered as OrderedSeveral
from calibrant.core.several import Several
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import read_probabilities
from calibrant.summaries import Grid, Ordered, PerLabel

Y, P = [0, 1, 2, 1], np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.75, 0.25], [0.25, 0.75, 0.0]])


def of(notion, kind=Grid, rows=slice(None)):
    return PerLabel.of(read_probabilities(Y[rows], P[rows]), notion, kind.of)


def test_classwise_sees_all_rows_in_each_part():
    summary = of("classwise")
    assert [part.n for part in summary.parts] == [4, 4, 4]
    assert summary.n == 4


def test_top_label_sees_each_row_once():
    summary = of("top-label")  # predicted: 0, 0 (the first of tied ones), 1, 1
    assert [part.n for part in summary.parts] == [2, 2, 0]
    assert summary.n == 4


@pytest.mark.parametrize("kind", [Grid, Ordered])
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_batches_add_up(notion, kind):
    # The first batch predicts label 0 only, so that a part of the other is merged with one of no rows.
    merged = of(notion, kind, slice(2)) + of(notion, kind, slice(2, 4))
    assert merged == of(notion, kind)
    assert PerLabel.from_bytes(merged.to_bytes()) == merged


class TestRefused:
    def test_other_notion(self, refusal):
        message = refusal(lambda: of("classwise") + of("top-label"), error=SummaryError)
        assert message == "a classwise summary of 3 labels does not merge with a top-label summary of 3"

    def test_other_number_of_labels(self, refusal):
        two = PerLabel.of(read_probabilities([0, 1], [[0.5, 0.5], [0.25, 0.75]]), "classwise", Grid.of)
        assert "of 3 labels does not merge with" in refusal(lambda: of("classwise") + two, error=SummaryError)

    def test_other_kinds_of_parts(self, refusal):
        message = refusal(lambda: of("classwise", Grid) + of("classwise", Ordered), error=SummaryError)
        assert "Grid" in message
        assert "Ordered" in message

    def test_other_precision(self, refusal):
        options = {"notion": "classwise", "strategy": "mass"}
        single = summarize(ece, Y, P.astype("float32"), **options)
        double = summarize(ece, Y, P, **options)
        assert "float32 and float64" in refusal(lambda: single + double, error=SummaryError)

    def test_measuring_another_notion(self, refusal):
        message = refusal(ece, of("classwise"), notion="top-label", error=SummaryError)
        assert message == "this summary was made for notion='classwise'; got notion='top-label'"


def test_parts_by_name():
    both = Several.of({"cells": Grid.zero(), "rows": OrderedSeveral.zero()})
    assert both["rows"] == OrderedSeveral.zero()
    assert "cells" in both
    assert "other" not in both
    assert both.grows
    assert not Several.of({"cells": Grid.zero()}).grows


def test_other_names_do_not_merge():
    one = summarize("ece", [0, 1], [0.2, 0.7])
    with pytest.raises(SummaryError, match=r"'a'.*'b'"):
        Several.of({"a": one}) + Several.of({"b": one})
