"""A test from any metric: exact against all outcomes, free of the order of rows, open to functions of the user."""

import itertools
import math

import numpy as np
import pytest

import calibrant as cb
from calibrant import consistency_test, decompose, ece

B = 999


def close_to(exact, B=B):
    return pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


def exact_binary(y, p, measure):
    """Return p-value and mean of a measure over all outcomes of calibrated predictions."""
    outcomes = list(itertools.product([0, 1], repeat=len(p)))
    chances = [math.prod(q if o else 1 - q for o, q in zip(outcome, p, strict=True)) for outcome in outcomes]
    values = [measure(outcome, p) for outcome in outcomes]
    least = measure(y, p) - 1e-12
    pvalue = sum(chance for chance, value in zip(chances, values, strict=True) if value >= least)
    return pvalue, sum(chance * value for chance, value in zip(chances, values, strict=True))


class TestAgainstAllOutcomes:
    y, p = [1, 0, 1, 1], [0.1, 0.3, 0.6, 0.6]

    @pytest.mark.parametrize("metric", ["ece", "brier_score", "log_score", "mce"])
    def test_metrics(self, metric):
        pvalue, mean = exact_binary(self.y, self.p, getattr(cb, metric))
        result = consistency_test(self.y, self.p, metric=metric, resamples=B)
        assert result.pvalue == close_to(pvalue)
        assert result.details["expected"] == pytest.approx(mean, abs=0.1)
        assert result.statistic == result.estimate == getattr(cb, metric)(self.y, self.p)

    def test_options_go_to_the_metric(self):
        pvalue, _ = exact_binary(self.y, self.p, lambda y, p: ece(y, p, bins=2, norm="l2"))
        result = consistency_test(self.y, self.p, metric=ece, bins=2, norm="l2", resamples=B)
        assert result.pvalue == close_to(pvalue)
        assert result.statistic == ece(self.y, self.p, bins=2, norm="l2")

    def test_miscalibration_part(self):
        pvalue, _ = exact_binary(self.y, self.p, lambda y, p: decompose(y, p).mcb)
        result = consistency_test(self.y, self.p, metric="decompose", resamples=B)
        assert result.pvalue == close_to(pvalue)
        assert result.statistic == decompose(self.y, self.p).mcb

    def test_weights_are_held_fixed(self):
        w = [1, 2, 3, 4]
        pvalue, _ = exact_binary(self.y, self.p, lambda y, p: ece(y, p, weights=w))
        assert consistency_test(self.y, self.p, metric=ece, weights=w, resamples=B).pvalue == close_to(pvalue)

    @pytest.mark.parametrize("options", [{}, {"notion": "classwise"}, {"notion": "top-label"}])
    def test_classes(self, options):
        y, P = [0, 2, 1], np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]])
        least, total = ece(y, P, **options) - 1e-12, 0.0
        for outcome in itertools.product(range(3), repeat=3):
            if ece(outcome, P, **options) >= least:
                total += math.prod(P[i, k] for i, k in enumerate(outcome))
        assert consistency_test(y, P, metric=ece, resamples=299, **options).pvalue == close_to(total, B=299)


class TestEnds:
    def test_nothing_redrawn_comes_near(self):
        assert consistency_test([0] * 10, [0.9] * 10, metric=ece).pvalue == 1 / 1000

    def test_a_value_of_zero_is_never_surprising(self):
        assert consistency_test([0, 1], [0.5, 0.5], metric=ece, resamples=99).pvalue == 1.0

    def test_infinite_values(self):
        result = consistency_test([1, 0], [0.0, 0.5], metric="log_score", resamples=99)
        assert result.statistic == math.inf
        assert result.pvalue == 1 / 100

    def test_ties_count_for_calibration(self):
        # One row of 0.5: both outcomes give 0.5.
        assert consistency_test([1], [0.5], metric=ece, resamples=99).pvalue == 1.0


class TestRowOrder:
    @pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
    def test_binary(self, weighted):
        rng = np.random.default_rng(0)
        p = np.round(rng.random(40), 1)
        y, w = rng.integers(0, 2, 40), rng.integers(1, 4, 40) if weighted else None
        order = rng.permutation(40)
        one = consistency_test(y, p, metric=ece, weights=w, resamples=99)
        other = consistency_test(y[order], p[order], metric=ece, weights=w if w is None else w[order], resamples=99)
        assert one.pvalue == other.pvalue
        assert one.details["expected"] == pytest.approx(other.details["expected"], rel=1e-12)

    def test_classes(self, D2):
        y, P = (array[:60] for array in D2)
        order = np.random.default_rng(1).permutation(60)
        one, other = (consistency_test(y[i], P[i], metric=ece, resamples=49) for i in (slice(None), order))
        assert one.pvalue == other.pvalue

    def test_outcomes_reach_the_rows_they_were_drawn_for(self):
        # Certain rows in the middle: a redraw that lost its row would show there.
        p = np.array([0.9, 0.0, 0.4, 1.0, 0.2])

        def wrong_on_certain_rows(y, p):
            return float(np.abs(y - p)[[1, 3]].sum())

        result = consistency_test([1, 0, 0, 1, 0], p, metric=wrong_on_certain_rows, resamples=99)
        assert result.details["expected"] == 0.0


class TestUserFunction:
    def test_binary(self):
        def total_gap(y, p):
            return abs(float(np.sum(y) - np.sum(p)))

        y, p = [1, 1, 0], [0.2, 0.3, 0.4]
        pvalue, _ = exact_binary(y, p, total_gap)
        result = consistency_test(y, p, metric=total_gap, resamples=B)
        assert result.pvalue == close_to(pvalue)
        assert result.method == f"consistency test of total_gap; {B} redraws of the outcomes, predictions fixed"
        assert result.n == 3

    def test_classes_come_as_column_numbers(self):
        seen = []

        def spy(y, P):
            seen.append(np.asarray(y).tolist())
            return 0.0

        consistency_test(["b", "c"], np.eye(3)[1:], metric=spy, classes=["a", "b", "c"], resamples=5)
        assert seen == [[1, 2]] * 6

    def test_weights_and_options_are_passed_on(self):
        def weighted(y, p, *, weights, power):
            return float(np.dot(weights, np.abs(y - p) ** power))

        result = consistency_test([1, 0], [0.5, 0.5], metric=weighted, weights=[1, 3], resamples=9, power=2)
        assert result.statistic == 1.0

    def test_outcomes_can_be_calculated_with(self):
        # Outcomes as -1 and 1: 2y - 1 must not wrap around as an unsigned byte does.
        result = consistency_test([0, 0, 1], [0.5, 0.5, 0.5], metric=lambda y, p: (2 * y - 1).sum(), resamples=99)
        assert result.statistic == -1.0
        assert abs(result.details["expected"]) <= 3

    def test_may_have_the_name_of_a_verb(self):
        def ece(y, p):
            return abs(float(np.mean(y) - np.mean(p)))

        assert consistency_test([1, 1], [0.5, 0.5], metric=ece, resamples=9).statistic == 0.5

    def test_may_write_into_what_it_gets(self):
        # Neither the caller's array nor the next redraw may see it.
        def careless(y, p):
            p *= 0.5
            return float(np.abs(y - p).sum())

        p = np.array([0.25, 0.5])
        result = consistency_test([0, 1], p, metric=careless, resamples=99)
        careful = consistency_test([0, 1], p, metric=lambda y, p: np.abs(y - p / 2).sum(), resamples=99)
        assert p.tolist() == [0.25, 0.5]
        assert (result.pvalue, result.details) == (careful.pvalue, careful.details)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"metric": lambda y, p: math.nan}, "is nan for these data"),
            *(({"metric": lambda y, p, v=v: v}, "must return one number") for v in (None, "x", np.ones(2), (1.0, 2.0))),
            ({"metric": "direction"}, "direction returns several numbers"),
            ({"metric": "kuiper_test"}, "metric must be a number that grows with miscalibration"),
            ({"metric": cb.reliability_curve}, "metric must be a number that grows with miscalibration"),
            *(({"metric": metric}, "verb of calibrant") for metric in ("ECE", 3, None, [ece])),
            ({"metric": ece, "width": 3}, "ece has no option width"),
            ({"metric": ece, "resamples": 0}, "resamples must be at least 1"),
            ({"metric": ece, "rng": None}, "rng must be"),
        ],
    )
    def test_calls(self, refusal, options, words):
        assert words in refusal(consistency_test, [0, 1], [0.2, 0.7], **{"resamples": 9, **options})

    def test_nan_among_the_redraws(self, refusal):
        # Counted as small they would make the p-value small.
        def undefined_without_events(y, p):
            return 1.0 if np.any(y) else math.nan

        message = refusal(consistency_test, [1, 0], [0.2, 0.1], metric=undefined_without_events, resamples=99)
        assert "nan" in message

    def test_data(self, refusal):
        assert "top_label(y, P)" in refusal(consistency_test, [0, 1], np.eye(2), metric="decompose")


def test_labels(D1):
    y, p = (array[:50] for array in D1)
    named = np.where(y == 1, "yes", "no")
    options = {"metric": ece, "resamples": 99}
    expected = consistency_test(y, p, **options)
    assert consistency_test(named, p, pos_label="yes", **options) == expected
    assert consistency_test(named, p, classes=["no", "yes"], **options) == expected


def test_calibrated_predictions_are_seldom_rejected():
    # 60 calibrated data sets of 30 tied scores: about three p-values below 0.05, and never more than ten.
    rng = np.random.default_rng(5)
    p = np.round(rng.random(30), 1)
    options = {"metric": ece, "strategy": "mass", "bins": 5, "resamples": 39, "rng": rng}
    pvalues = [consistency_test(rng.random(30) < p, p, **options).pvalue for _ in range(60)]
    assert sum(pvalue <= 0.05 for pvalue in pvalues) <= 10
    assert 0.35 < np.mean(pvalues) < 0.65
