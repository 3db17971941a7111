"""Means of row scores: the names of their columns, and one number or one per level."""

import numpy as np
import pytest

from calibrant import (
    Intervals,
    MvNormal,
    Normal,
    Quantiles,
    Sets,
    SummaryError,
    brier_score,
    coverage,
    crps,
    interval_score,
    log_score,
    summarize,
)
from calibrant.catalogue.means import SEVERAL, column_names, folded, moments_of
from calibrant.catalogue.reading import KINDS, read
from calibrant.primitives import dispatch
from calibrant.summaries import Moments

n = 6
Y = np.arange(6.0)
LOWER, UPPER = Y[:, None] - [2.0, 1.0], Y[:, None] + [0.5, 3.0]


def rows_of(y, prediction, **options):
    return read("verb", tuple(KINDS), y, prediction, **options)


class TestColumnNames:
    @pytest.mark.parametrize(
        ("y", "prediction", "L", "names"),
        [
            ([0, 1], [0.1, 0.9], None, [""]),
            ([0, 1], np.eye(3)[:2], None, ["[3 classes]"]),
            (Y, Normal(Y, 1.0), None, ["[law]"]),
            (
                np.zeros((n, 2)),
                MvNormal(np.zeros((n, 2)), np.eye(2)),
                2,
                ["[several coordinate 0]", "[several coordinate 1]"],
            ),
            (Y, Intervals(LOWER[:, 0], UPPER[:, 0], 0.9), 1, ["[Intervals 0.9]"]),
            (Y, Intervals(LOWER[:, :1], UPPER[:, :1], [0.9]), 1, ["[several Intervals 0.9]"]),
            (Y, Intervals(LOWER, UPPER, [0.9, 0.5]), 2, ["[several Intervals 0.9]", "[several Intervals 0.5]"]),
            (Y, Intervals(LOWER, UPPER, [0.9, 0.5]), None, ["[Intervals 0.9, 0.5]"]),
            (Y, Quantiles(Y, 0.5), 1, ["[Quantiles 0.5]"]),
            ([0, 1, 2], Sets(np.eye(3, dtype=bool), 0.9), 1, ["[Sets K=3 0.9]"]),
            ([0, 1, 2], Sets(np.eye(3, dtype=bool)), 1, ["[Sets K=3 column 0]"]),
        ],
    )
    def test_each_kind(self, y, prediction, L, names):
        assert column_names(rows_of(y, prediction), L) == names

    def test_levels_are_told_apart_to_ten_digits(self):
        first, second = (column_names(rows_of(Y, Quantiles(Y, level)), 1) for level in (1 / 3, 1 / 3 + 1e-9))
        assert first != second
        assert first == ["[Quantiles 0.3333333333]"]


class TestSingleAndSeveral:
    one = Intervals(LOWER[:, 0], UPPER[:, 0], 0.9)
    listed = Intervals(LOWER[:, :1], UPPER[:, :1], [0.9])
    two = Intervals(LOWER, UPPER, [0.9, 0.5])

    @pytest.mark.parametrize("verb", [coverage, interval_score])
    def test_a_number_or_an_array(self, verb):
        number, array, both = (verb(Y, prediction) for prediction in (self.one, self.listed, self.two))
        assert isinstance(number, float)
        assert array.shape == (1,)
        assert both.shape == (2,)
        assert array[0] == both[0] == number
        assert both[1] == verb(Y, self.two.at(0.5))

    @pytest.mark.parametrize("prediction", [one, listed, two])
    def test_summaries_say_which(self, prediction):
        summary = summarize(coverage, Y, prediction)
        assert all((SEVERAL in name) == (prediction is not self.one) for name in summary.names)
        assert np.shape(coverage(summary)) == np.shape(coverage(Y, prediction))

    def test_columns_keep_the_order_of_the_levels(self):
        assert summarize(coverage, Y, self.two).names == (
            "coverage[several Intervals 0.9]",
            "coverage[several Intervals 0.5]",
        )

    def test_options_are_part_of_the_name(self):
        p = [0.1, 0.9]
        assert summarize(brier_score, [0, 1], p).names == ("brier_score",)
        assert summarize(log_score, [0, 1], np.eye(3)[:2]).names == ("log_score[3 classes]",)

    @pytest.mark.parametrize(
        ("verb", "first", "second"),
        [
            (coverage, (Y, one), (Y, listed)),
            (coverage, (Y, one), (Y, Intervals(LOWER[:, 0], UPPER[:, 0], 0.8))),
            (coverage, (Y, one), ([0, 1, 2], Sets(np.eye(3, dtype=bool), 0.9))),
            (
                coverage,
                ([0, 1, 2], Sets(np.eye(3, dtype=bool), 0.9)),
                ([0, 1, 2, 3], Sets(np.eye(4, dtype=bool), 0.9)),
            ),
            (brier_score, ([0, 1], [0.1, 0.9]), ([0, 1], np.eye(3)[:2])),
        ],
    )
    def test_scores_of_different_kinds_do_not_merge(self, verb, first, second, refusal):
        message = refusal(lambda: summarize(verb, *first) + summarize(verb, *second), error=SummaryError)
        assert verb.__name__ in message

    def test_batches(self):
        parts = [summarize(coverage, Y[rows], self.two.take(rows)) for rows in (slice(0, 2), slice(2, n))]
        np.testing.assert_allclose(coverage(sum(parts)), coverage(Y, self.two), rtol=1e-15)


def test_a_mean_of_one_law():
    assert isinstance(crps(Y, Normal(Y, 1.0)), float)


def test_chunks_add_up(monkeypatch):
    rows = rows_of(Y, TestSingleAndSeveral.one, weights=[1, 2, 3, 1, 2, 3])
    sizes = []

    def score(piece):
        sizes.append(piece.n)
        return {"y": piece.y}

    whole = moments_of(rows, score)
    assert sizes == [6]
    monkeypatch.setattr(dispatch, "CHUNK_ROWS", 4)
    assert folded(rows, lambda piece: Moments.of(score(piece), piece.w), Moments.zero()).mean_of("y") == pytest.approx(
        whole.mean_of("y")
    )
    assert whole.mean_of("y") == pytest.approx(np.average(Y, weights=[1, 2, 3, 1, 2, 3]))
