"""One summary per label."""

import numpy as np
import pytest

from calibrant import ece, summarize
from calibrant.core.several import Several
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import read_probabilities
from calibrant.summaries import Grid, Ordered, PerLabel

Y, P = [0, 1, 2, 1], np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.75, 0.25], [0.25, 0.75, 0.0]])


def of(notion, kind=Grid, rows=slice(None)):
    return PerLabel.of(read_probabilities(Y[rows], P[rows]), notion, kind.of)


def test_rows_of_each_part():
    classwise, top_label = of("classwise"), of("top-label")  # predicted: 0, 0 (the first of tied ones), 1, 1
    assert [part.n for part in classwise.parts] == [4, 4, 4]
    assert [part.n for part in top_label.parts] == [2, 2, 0]
    assert classwise.n == top_label.n == 4


@pytest.mark.parametrize("kind", [Grid, Ordered])
@pytest.mark.parametrize("notion", ["classwise", "top-label"])
def test_batches_add_up(notion, kind):
    # The first batch predicts label 0 only, so that a part of the other is merged with one of no rows.
    merged = of(notion, kind, slice(2)) + of(notion, kind, slice(2, 4))
    assert merged == of(notion, kind)
    assert PerLabel.from_bytes(merged.to_bytes()) == merged


TWO = PerLabel.of(read_probabilities([0, 1], [[0.5, 0.5], [0.25, 0.75]]), "classwise", Grid.of)
MASS = {"notion": "classwise", "strategy": "mass"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: of("classwise") + of("top-label"),
            "a classwise summary of 3 labels does not merge with a top-label summary of 3",
        ),
        (lambda: of("classwise") + TWO, "a classwise summary of 3 labels does not merge with a classwise summary of 2"),
        (
            lambda: of("classwise", Grid) + of("classwise", Ordered),
            "summaries of different kinds do not merge: Grid and Ordered",
        ),
        (
            lambda: summarize(ece, Y, P.astype("float32"), **MASS) + summarize(ece, Y, P, **MASS),
            "scores of type float32 and float64 fall into different bins",
        ),
        (
            lambda: ece(of("classwise"), notion="top-label"),
            "this summary was made for notion='classwise'; got notion='top-label'",
        ),
        (lambda: Several.of({"a": TWO}) + Several.of({"b": TWO}), "summaries of ('a',) do not merge with"),
    ],
)
def test_what_does_not_merge(call, words, refusal):
    assert refusal(call, error=SummaryError).startswith(words)


def test_parts_by_name():
    both = Several.of({"cells": Grid.zero(), "rows": Ordered.zero()})
    assert both["rows"] == Ordered.zero()
    assert "cells" in both
    assert "other" not in both
    assert both.grows
    assert not Several.of({"cells": Grid.zero()}).grows
