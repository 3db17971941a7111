"""`conditional_test`: what it finds and names for every kind, its level on small designs, and bad input."""

import pickle

import numpy as np
import pytest

from calibrant import (
    CdfValues,
    Intervals,
    MvNormal,
    Normal,
    Quantiles,
    Samples,
    Sets,
    conditional_test,
    examples,
    ranks,
    summarize,
)
from calibrant.conditional.regions import Region
from calibrant.conditional.statistics import smallest
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.summaries import KeptCovariates, Ranks, Summary

N, M = 800, 99
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
P = RNG.uniform(0.2, 0.8, N)
HALF = X[:, 0] > 0
QUARTER = X[:, 0] > 0.6745
OFF = (RNG.random(N) < P + np.where(HALF, 0.15, -0.15)).astype(int)
RIGHT = (RNG.random(N) < P).astype(int)
Z = RNG.normal(size=N)


def drawn(inside=None, *, bias=0.5, other=None, q=3, seed=0, n=N):
    """Return outcomes, draws and covariates; draws are too high by `bias` inside, and by `other` outside."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, q))
    shift = np.where(inside(x), bias, -bias if other is None else other) if inside else 0.0
    return rng.normal(size=n) - shift, Samples(rng.normal(size=(n, M))), x


def far(x):
    return np.abs(x[:, 1]) > 0.6745


def jaccard(a, b):
    return (a & b).sum() / (a | b).sum()


def found(y, prediction, x=X, **options):
    return conditional_test(y, prediction, covariates=x, **{"resamples": 99, **options})


class TestEvents:
    def test_the_half_that_is_off_and_the_other(self):
        result = found(OFF, P)
        first, second = result.details["regions"]
        assert result.pvalue == first.pvalue == 0.01
        assert (first.names, second.names) == (("x0",), ())
        assert {first.difference > 0, second.difference > 0} == {True, False}
        assert jaccard(first.rows, HALF if first.difference > 0 else ~HALF) > 0.9
        assert not (first.rows & second.rows).any()
        assert first.n + second.n == N
        assert f"for all other rows ({second.n})" in second.text
        for region in (first, second):
            assert region.low < region.difference < region.high
            assert region.leaves_out_0
            assert region.observed - region.predicted == pytest.approx(region.difference)
        assert f"events happen {100 * first.observed:.0f} % of the time where" in first.text
        assert 0.05 < result.details["average_error"].low < 0.15
        assert result.details["largest"] > result.details["critical"]
        assert result.details["columns"] == ("events",)

    def test_nothing_where_nothing_is_off(self):
        result = found(RIGHT, P)
        assert result.pvalue > 0.05
        assert result.details["regions"] == ()
        limits = [part.at_most for part in result.details["parts"]]
        assert limits == sorted(limits)
        assert abs(result.estimate) < limits[0] < limits[-1] < 0.5
        assert 0.05 < result.details["visible"] < 0.2

    def test_prediction_is_searched(self):
        y = (RNG.random(N) < np.where(P > 0.65, P - 0.3, P)).astype(int)
        region = found(y, P).details["regions"][0]
        assert region.names == ("prediction",)
        assert "for predictions above 0.6" in region.text
        assert found(y, P, search_prediction=False).details["covariates"] == ("x0", "x1", "x2")

    def test_names_of_the_prediction_do_not_clash(self):
        assert found(RIGHT, P, {"prediction": X[:, 0]}).details["covariates"] == ("prediction", "predicted prediction")

    def test_box_needs_both_sides(self):
        rng = np.random.default_rng(4)
        x, p = rng.normal(size=(2000, 3)), rng.uniform(0.2, 0.6, 2000)
        corner = (x[:, 0] > 0.3) & (x[:, 1] > 0.3)
        region = found((rng.random(2000) < p + 0.35 * corner).astype(int), p, x).details["regions"][0]
        assert region.names == ("x0", "x1")
        assert " and x1 > " in region.text
        assert jaccard(region.rows, corner) > 0.5

    def test_category(self):
        city = RNG.choice(["Rome", "Oslo", "Lima"], N)
        y = (RNG.random(N) < P + 0.18 * (city == "Oslo")).astype(int)
        region = found(y, P, {"city": city, "age": X[:, 0]}).details["regions"][0]
        assert region.bounds == (("Oslo",),)
        assert region.text.startswith("for city = Oslo (")
        assert (region.rows == (city == "Oslo")).all()

    def test_all_rows_alike(self):
        y = (RNG.random(N) < P - 0.15).astype(int)
        region = found(y, P).details["regions"][0]
        assert region.covariates == ()
        assert "for all rows (800) events happen" in region.text

    def test_alternative(self):
        assert found(OFF, P, alternative="greater").details["regions"][0].difference > 0
        assert found(OFF, P, alternative="less").details["regions"][0].difference < 0
        assert "trend" not in found(OFF, P, alternative="less").details
        with pytest.raises(InputError, match="a trend has no side: leave alternative= out"):
            found(OFF, P, alternative="less", method="trend")
        low = (RNG.random(N) < np.where(HALF, P - 0.15, P)).astype(int)
        assert found(low, P, alternative="greater").pvalue > 0.05 >= found(low, P, alternative="less").pvalue

    def test_trend_has_a_direction(self):
        x = np.random.default_rng(3).normal(size=(N, 5))
        y = (RNG.random(N) < P + 0.12 * np.sign(x.sum(axis=1))).astype(int)
        result = found(y, P, x, resamples=199)
        assert result.details["trend"] <= result.details["scan"]
        assert found(y, P, x, method="trend").details["direction"].startswith("along ")

    def test_rows_of_a_cluster_are_redrawn_together(self):
        rng = np.random.default_rng(1)
        code = np.repeat(np.arange(100), 10)
        x, chance = rng.normal(size=(100, 2))[code], rng.normal(size=100)[code]
        p = np.full(1000, 0.5)
        y = (rng.random(1000) < 0.5 + 0.45 * np.sign(chance)).astype(int)
        assert found(y, p, x).pvalue <= 0.05 < found(y, p, x, clusters=code).pvalue
        off = (rng.random(1000) < 0.5 + 0.2 * np.sign(x[:, 0])).astype(int)
        result = found(off, p, x, clusters=code)
        (region,) = result.details["regions"]
        assert region.names == ("x0",)
        assert "100 clusters" in result.method

    def test_certain_predictions_that_fail(self):
        y, p = RIGHT.copy(), P.copy()
        p[:5], y[:5] = 0.0, 1
        assert found(y, p).n == N
        with pytest.raises(NotApplicableError, match="every prediction is certain"):
            found(RIGHT, RIGHT.astype(float))

    def test_few_events_have_a_trend_alone(self):
        y = np.zeros(N, int)
        y[:3] = 1
        result = found(y, np.full(N, 0.004))
        assert "3.2 events are expected: too few to search regions" in result.method
        assert "scan" not in result.details
        assert np.isnan(result.details["largest"])
        assert "fewer than 60 rows" in found(RIGHT[:40], P[:40], X[:40]).method

    def test_many_rows_are_redrawn_in_part(self):
        rng = np.random.default_rng(2)
        n = 50_001
        p, x = rng.uniform(0.2, 0.8, n), rng.normal(size=n)
        result = found((rng.random(n) < p).astype(int), p, x, resamples=19)
        assert "redraws of 50,000 random rows" in result.method
        assert result.n == n
        rare = np.zeros(n, int)
        rare[:5] = 1
        assert "5 events are expected: too few" in found(rare, np.full(n, 5.0001 / n), x, resamples=19).method


class TestOtherKinds:
    def test_classes(self):
        P3 = RNG.dirichlet([2, 2, 2], N)
        y = np.array([RNG.choice(3, p=row) for row in P3])
        assert found(y, P3).pvalue > 0.02
        wrong = np.where(QUARTER & (y == 2), 1, y)
        result = found(wrong, P3)
        region = result.details["regions"][0]
        assert region.names == ("x0",)
        assert result.details["columns"][:2] == ("most probable class", "class 0")
        assert f"{result.details['columns'][region.column]} happens" in region.text
        many = RNG.dirichlet(np.ones(12), 200)
        assert "10 of 12 classes" in found(RNG.integers(0, 12, 200), many, X[:200]).method

    @pytest.mark.parametrize(("levels", "reach"), [(0.95, 1.96), ([0.5, 0.95], [0.674, 1.96])])
    def test_intervals(self, levels, reach):
        upper = np.multiply.outer(np.ones(N), reach)
        intervals = Intervals(-upper, upper, level=levels)
        region = found(Z * np.where(QUARTER, 2.0, 1.0), intervals).details["regions"][0]
        assert region.names == ("x0",)
        assert "intervals cover" in region.text
        assert "of the outcomes (limits" in region.text
        assert found(Z, intervals).pvalue > 0.01

    def test_coverage_after_a_calibration_set(self):
        narrow = Intervals(np.full(N, -1.5), np.full(N, 1.5), level=0.95)
        assert found(Z, narrow).pvalue <= 0.01
        result = found(Z, narrow, calibration_size=50)
        assert "promised on average only, after 50 calibration scores" in result.method
        assert result.pvalue > found(Z, narrow, alternative="less").pvalue

    def test_sets_promise_at_least_their_level(self):
        mask = np.ones((N, 3), bool)
        mask[:, 2] = RNG.random(N) < np.where(QUARTER, 0.3, 1.0)
        sets = Sets(mask, level=0.9)
        y = RNG.integers(0, 3, N)
        result = found(y, sets)
        assert "alternative less" in result.method
        assert "size" in result.details["covariates"]
        assert result.details["regions"][0].difference < 0
        assert found(y, sets, method="trend").method.startswith("trend on 99 redraws")
        with pytest.raises(NotApplicableError, match="level of the sets"):
            found(y, Sets(mask))

    def test_quantiles(self):
        levels = [0.1, 0.5, 0.9]
        quantiles = Quantiles(np.tile([-1.2816, 0.0, 1.2816], (N, 1)), levels)
        assert found(Z, quantiles).pvalue > 0.02
        region = found(Z + 0.6 * QUARTER, quantiles).details["regions"][0]
        assert region.names == ("x0",)
        assert "of the outcomes are at or below the" in region.text

    def test_distributions(self):
        y = Z * np.where(QUARTER, 1.7, 1.0)
        result = found(y, Normal(0.1 * X[:, 1], np.exp(0.1 * X[:, 2])))
        region = result.details["regions"][0]
        assert region.names == ("x0",)
        assert "too narrow: their spread needs the factor 1." in region.text
        assert "(central 90 % intervals cover " in region.text
        assert result.details["function_each"] == "spread"
        assert "median" in result.details["covariates"]
        assert "spread" in result.details["covariates"]
        assert [part.share for part in result.details["parts"]] == [1, 0.5, 0.25, 0.125, 0.0625]
        assert np.exp(region.difference) == pytest.approx(1.7, abs=0.4)
        assert found(None, CdfValues(RNG.random(N))).pvalue > 0.01

    def test_vectors_have_a_test_for_each_coordinate(self):
        y = RNG.normal(size=(N, 2))
        y[:, 1] += 0.6 * HALF
        result = found(y, MvNormal(np.zeros((N, 2)), np.eye(2)))
        assert result.details["pvalue_each"].argmin() == 1
        assert result.pvalue == result.details["pvalue_each"].min() == 0.02  # Holm
        assert result.details["regions"][0].text.count("predictions of coordinate 1 are too low by") == 1
        x = np.column_stack([np.ones(N), X])  # pairs are those of the caller's columns, whichever vary
        again = found(y, MvNormal(np.zeros((N, 2)), np.eye(2)), x, pairs=[(1, 2)])
        assert again.details["regions"][0].names == ("x1",)


class TestDraws:
    @pytest.mark.parametrize("q", [2, 10])
    @pytest.mark.parametrize("null", ["alike", "calibrated"])
    def test_bias_by_the_size_of_a_covariate(self, q, null):
        y, draws, x = drawn(far, q=q)
        result = found(y, draws, x, null=null)
        region = result.details["regions"][0]
        assert result.pvalue == region.pvalue == 0.01
        assert "x1" in region.names
        assert result.details["columns"][region.column] == "shift"

    def test_region_in_words_and_rows(self):
        y, draws, x = drawn(lambda x: x[:, 0] > 1, other=0.0, bias=1.0)
        (region,) = found(y, draws, {"age": x[:, 0], "b": x[:, 1]}).details["regions"]
        assert region.names == ("age",)
        assert jaccard(region.rows, x[:, 0] > 1) > 0.7
        assert region.n == region.rows.sum()
        assert region.text.startswith("for age > ")
        assert "too high by" in region.text
        assert region.difference == pytest.approx(-1.0, abs=0.3)
        ((low, high),) = region.bounds[0]
        assert (region.rows == ((x[:, 0] > low) & (x[:, 0] <= high))).all()

    def test_what_is_wrong_everywhere_is_no_relation(self):
        y, x = Z + 1, RNG.normal(size=(N, 2))
        draws = Samples(RNG.normal(size=(N, M)))
        assert found(y, draws, x).pvalue > 0.05
        assert found(y, draws, x, null="calibrated").pvalue == 0.01

    @pytest.mark.parametrize("null", ["alike", "calibrated"])
    def test_coordinates_that_are_wrong_in_the_same_rows_are_both_named(self, null):
        rng = np.random.default_rng(6)
        x = rng.normal(size=(N, 2))
        y = rng.normal(size=(N, 3)) - 0.7 * (x[:, [0]] > 0) * [1, 1, 0]
        result = found(y, Samples(rng.normal(size=(N, 49, 3))), x, null=null, resamples=199).details
        assert (result["pvalue_each"] <= 0.05).tolist() == [True, True, False]
        assert result["function_each"] == ("shift", "shift", "")
        first, second = result["regions"][:2]
        assert {first.column, second.column} == {0, 2}
        assert first.names == second.names == ("x0",)

    def test_going_along(self):
        y, draws, x = drawn(lambda x: x[:, 0] > 0, q=1)
        both = np.column_stack([x, x + 0.1 * np.random.default_rng(9).normal(size=x.shape)])
        region = found(y, draws, both).details["regions"][0]
        assert "which goes with" in region.text
        assert "correlation 0.99" in region.text
        many = np.column_stack([x] + [x * sign for sign in (1, -1, 1, -1, 1)])
        region = found(y, draws, many).details["regions"][0]
        assert region.text.endswith("and 2 more, which go with x0 (rank correlations 1.00, −1.00 and 1.00)")

    def test_no_bias_is_visible_in_few_rows_of_one_draw(self):
        y, x = RNG.normal(size=60), RNG.normal(size=(60, 2))
        one, many = (found(y, Samples(RNG.normal(size=(60, m))), x).details["visible"] for m in (1, 99))
        assert one == np.inf
        assert 1 < many < 3


class TestLevel:
    @pytest.mark.parametrize("null", ["alike", "calibrated"])
    def test_related_to_nothing(self, null):
        rng = np.random.default_rng(6)
        p = [
            conditional_test(
                KeptCovariates.of_ranks(rng.integers(0, 10, 100), 9, rng.normal(size=(100, 2))),
                null=null,
                resamples=39,
                rng=rng,
            ).pvalue
            for _ in range(120)
        ]
        assert 0.005 < np.mean(np.array(p) <= 0.1) < 0.19

    def test_smallest_pvalue_is_exact(self):
        # Every set of a pool has the p-value that is its place: their distribution is uniform.
        T = np.random.default_rng(0).normal(size=(2, 20))
        p = [smallest(np.roll(T, -b, axis=1)[:, :, None])[0] for b in range(20)]
        assert sorted(p) == pytest.approx(np.arange(1, 21) / 20)
        assert smallest(np.ones((2, 10, 1))).tolist() == [1.0]


class TestProperties:
    @pytest.mark.parametrize("kind", ["events", "draws"])
    def test_row_order(self, kind):
        y, draws, x = drawn(far, n=300)
        y, prediction = (OFF[:300], P[:300]) if kind == "events" else (y, draws)
        order = np.random.default_rng(0).permutation(300)
        moved = prediction[order] if kind == "events" else prediction.take(order)
        one, other = found(y, prediction, x, level=0.5), found(y[order], moved, x[order], level=0.5)
        assert one.pvalue == other.pvalue
        assert one.details["parts"] == other.details["parts"]
        for a, b in zip(one.details["regions"], other.details["regions"], strict=True):
            assert (a.rows[order] == b.rows).all()
            assert a.text == b.text

    def test_batches_pickles_and_bytes(self):
        city = np.where(X[:, 0] > 0, "Rome", "Oslo")
        city[:100] = "Oslo"
        x = {"a": X[:, 1], "city": city}
        parts = [
            summarize(
                conditional_test, OFF[part], P[part], covariates={name: column[part] for name, column in x.items()}
            )
            for part in (slice(100), slice(100, None))
        ]
        merged = Summary.from_bytes((parts[0] + parts[1]).to_bytes())
        assert merged == summarize(conditional_test, OFF, P, covariates=x)
        result = conditional_test(merged, resamples=49)
        assert result == found(OFF, P, x, resamples=49)
        assert pickle.loads(pickle.dumps(result)) == result
        with pytest.raises(SummaryError, match="do not merge"):
            parts[0] + summarize(conditional_test, [0, 1], [0.5, 0.5], covariates={"b": [0, 1]})
        of_clusters = summarize(conditional_test, OFF, P, covariates=X, clusters=np.arange(N) // 2)
        with pytest.raises(SummaryError, match="clusters do not merge"):
            of_clusters + of_clusters

    def test_ranks_in_batches(self):
        y, draws, x = drawn(far, n=200)
        rank = ranks(y, draws)
        city = np.where(x[:, 0] > 0, "Rome", "Oslo")
        city[:100] = "Oslo"
        parts = [
            KeptCovariates.of_ranks(rank[part], M, {"a": x[part, 1], "city": city[part]})
            for part in (slice(100), slice(100, None))
        ]
        whole = KeptCovariates.of_ranks(rank, M, {"a": x[:, 1], "city": city})
        assert Summary.from_bytes((parts[0] + parts[1]).to_bytes()) == whole
        with pytest.raises(SummaryError, match="do not merge"):
            parts[0] + KeptCovariates.of_ranks([1], M, {"b": [1.0], "city": ["x"]})

    def test_weights(self):
        w = np.exp(X[:, 0])
        one, scaled = (found(OFF, P, weights=factor * w) for factor in (1, 7))
        assert one.pvalue == scaled.pvalue
        assert one.details["regions"][0].difference == pytest.approx(scaled.details["regions"][0].difference)
        dropped = found(OFF, P, weights=(np.arange(N) < 600).astype(float))
        assert dropped.pvalue == found(OFF[:600], P[:600], X[:600]).pvalue
        y, draws, x = drawn(far, n=300)
        assert found(y, draws, x, weights=np.exp(x[:, 0]), null="calibrated").pvalue <= 0.05
        with pytest.raises(InputError, match="equal weights"):
            found(y, draws, x, weights=np.exp(x[:, 0]))

    @pytest.mark.parametrize("factor", [1e-300, 1e299])
    def test_units_of_covariates_do_not_matter(self, factor):
        one, other = (found(OFF, P, X * f) for f in (1.0, factor))
        assert one.pvalue == other.pvalue
        assert (one.details["regions"][0].rows == other.details["regions"][0].rows).all()

    def test_inputs_are_unchanged(self):
        x = X.copy()
        assert isinstance(found(OFF, P, x).details["regions"], tuple)
        assert (x == X).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "needs covariates="),
            ({"covariates": X[:50]}, "expected 800 rows"),
            ({"covariates": np.where(np.arange(2400).reshape(N, 3) == 7, np.nan, X)}, "row 2"),
            ({"covariates": np.ones((N, 2))}, "no covariate varies"),
            ({"covariates": np.zeros((N, 201))}, "at most 200"),
            ({"covariates": {"left": OFF}}, r"covariates \(left\) is the outcome"),
            ({"covariates": X, "method": "kernel"}, "method"),
            ({"covariates": X, "null": "uniform"}, "null"),
            ({"covariates": X, "alternative": "lower"}, "alternative"),
            ({"covariates": X, "resamples": 9}, "resamples must be at least 19 for level=0.95"),
            ({"covariates": X, "level": 95}, "level"),
            ({"covariates": X, "pairs": [(0, 9)]}, "pairs name covariates"),
            ({"covariates": X, "pairs": [(0, 0)]}, "two different"),
            ({"covariates": X, "pairs": [3]}, "pairs of covariates"),
            ({"covariates": X, "clusters": np.arange(N) // 100}, "at least 40 clusters; got 8"),
            ({"covariates": X, "calibration_size": 9}, "calibration_size= is for intervals and sets"),
            ({"covariates": X, "draws": 9}, "draws= is for draws"),
        ],
    )
    def test_refused(self, options, words):
        with pytest.raises((InputError, NotApplicableError), match=words):
            conditional_test(OFF, P, **options)

    def test_refused_of_other_kinds(self):
        P2 = np.column_stack([1 - P, P])
        with pytest.raises(NotApplicableError, match="recalibrate on other rows first"):
            found(OFF, P, null="alike")
        with pytest.raises(InputError, match="for events, intervals, sets and quantiles"):
            found(OFF, P2, clusters=np.arange(N))
        with pytest.raises(InputError, match="alternative= is for events, intervals, sets and quantiles"):
            found(Z, Normal(np.zeros(N), 1.0), alternative="less")
        with pytest.raises(InputError, match="clusters= is for events, intervals, sets and quantiles"):
            found(Z, Samples(np.zeros((N, 2))), clusters=np.arange(N))
        for known in (2 * OFF, 1 - OFF, OFF == 1, np.where(OFF == 1, "yes", "no")):
            with pytest.raises(InputError, match="is the outcome"):
                found(OFF, P, {"known": known, "a": X[:, 0]})
        with pytest.warns(UserWarning, match="rank correlation 1 with the outcome"):
            found(Z, Normal(np.zeros(N), 1.0), {"twice": 2 * Z, "a": X[:, 0]})

    def test_few_rows_and_other_summaries(self):
        with pytest.raises(NotApplicableError, match="at least 10 rows"):
            found(OFF[:9], P[:9], X[:9])
        with pytest.raises(SummaryError, match="KeptCovariates"):
            conditional_test(Ranks.of([0, 1], 3))

    def test_more_columns_than_rows_and_constant_ones(self):
        x = np.random.default_rng(0).normal(size=(100, 150))
        result = found(OFF[:100], P[:100], x, resamples=19)
        assert "no boxes" in result.method
        assert 0 < result.pvalue <= 1
        x = {"a": X[:, 0], "flat": np.ones(N), "text": ["same"] * N}
        assert "left out: flat, text" in found(OFF, P, x).method


def test_region_is_equal_by_value():
    one, other = (found(OFF, P).details["regions"] for _ in range(2))
    assert one == other
    assert one[0] != 3
    assert isinstance(one[0], Region)


def test_further_regions_say_where_rows_were_set_aside():
    churn = examples.churn()
    x = np.random.default_rng(0).normal(size=churn.y.size)
    first, second, third = conditional_test(churn.y, churn.p, covariates=x, resamples=199).details["regions"]
    assert [each.where for each in (first, second)] == ["predictions up to 0.077", "predictions above 0.685"]
    assert third.where == "predictions up to 0.235 (other rows)"
    assert not (first.rows & third.rows).any()
    assert "difference 221.7 % of the prediction, 95 % limits 136.6 to 334.2" in first.text
