"""`conditional_test`: what it finds and names, its level on small designs, and bad input."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from calibrant import CdfValues, Normal, Samples, conditional_test, ranks
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.ranking.conditional_regions import Region
from calibrant.ranking.conditional_statistics import Asked, ConditionalStatistics, _smallest, prepared
from calibrant.summaries import KeptRanks, Ranks, Summary

REFERENCES = json.loads((Path(__file__).parents[1] / "references" / "conditional.json").read_text())
VALUES = {case["id"]: case["value"] for case in REFERENCES["cases"]}
SCAN = REFERENCES["data"]["scan"]
N, M = 800, 99


def drawn(inside=None, *, bias=0.5, other=None, q=3, seed=0, n=N):
    """Return outcomes, draws and covariates; draws are too high by `bias` inside, and by `other` outside."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, q))
    shift = np.where(inside(x), bias, -bias if other is None else other) if inside else 0.0
    return rng.normal(size=n) - shift, Samples(rng.normal(size=(n, M))), x


def far(x):
    return np.abs(x[:, 1]) > 0.6745


@pytest.mark.parametrize(("null", "reference"), [("permutation", "contrast"), ("uniform", "uniform")])
def test_reference_of_the_score(null, reference):
    """The statistic is not reported; ranks that are related by chance have the p-value of its distribution."""
    kept = KeptRanks.of(SCAN["ranks"], SCAN["M"], SCAN["x"])
    tests = ConditionalStatistics(prepared(kept), Asked("score", null), np.random.default_rng(0))
    assert tests.observed()[0, 0] == pytest.approx(VALUES[f"linear, {reference}"], rel=1e-9)


class TestFound:
    @pytest.mark.parametrize("q", [2, 10])
    @pytest.mark.parametrize("null", ["permutation", "uniform"])
    def test_bias_by_the_size_of_a_covariate(self, q, null):
        found = conditional_test(*drawn(far, q=q)[:2], covariates=drawn(far, q=q)[2], null=null, resamples=99)
        region = found.details["regions"][0]
        assert found.pvalue == 0.01
        assert "x1" in region.names
        assert region.function == "shift"
        assert region.pvalue == 0.01

    @pytest.mark.parametrize("null", ["permutation", "uniform"])
    def test_one_place_is_one_region_and_two_are_two_with_rows_of_their_own(self, null):
        y, draws, x = drawn(lambda x: x[:, 0] > 1, other=0.0, bias=1.5)
        assert len(conditional_test(y, draws, covariates=x, null=null, resamples=99).details["regions"]) == 1
        y = y + np.where(x[:, 1] < -1, 1.5, 0.0)
        first, second = conditional_test(y, draws, covariates=x, null=null, resamples=99).details["regions"]
        assert {*first.names, *second.names} == {"x0", "x1"}
        assert not (first.rows & second.rows).any()
        assert f"({second.n} other rows)" in second.text

    def test_no_bias_is_visible_in_few_rows_of_one_draw(self):
        rng = np.random.default_rng(2)
        y, x = rng.normal(size=60), rng.normal(size=(60, 2))
        one, many = (
            conditional_test(y, Samples(rng.normal(size=(60, M))), covariates=x, resamples=99).details["visible"]
            for M in (1, 99)
        )
        assert one == np.inf
        assert 1 < many < 3

    def test_region_in_words_and_rows(self):
        y, draws, x = drawn(lambda x: x[:, 0] > 1, other=0.0, bias=1.0)
        (region, *_) = conditional_test(y, draws, covariates={"age": x[:, 0], "b": x[:, 1]}, resamples=99).details[
            "regions"
        ]
        inside = x[:, 0] > 1
        assert region.names == ("age",)
        assert (region.rows & inside).sum() / (region.rows | inside).sum() > 0.7
        assert region.n == region.rows.sum()
        assert region.text.startswith("for age > ")
        assert "too high by" in region.text
        assert region.shift == pytest.approx(1.0, abs=0.3)
        ((low, high),) = region.bounds[0]
        assert (region.rows == ((x[:, 0] > low) & (x[:, 0] <= high))).all()

    def test_box(self):
        y, draws, x = drawn(lambda x: (x[:, 0] > 0.5) & (x[:, 1] > 0.5), bias=1.0, other=0.0)
        region = conditional_test(y, draws, covariates=x, resamples=99).details["regions"][0]
        corner = (x[:, 0] > 0.5) & (x[:, 1] > 0.5)
        assert region.names == ("x0", "x1")
        assert " and x1 > " in region.text
        assert (region.rows & corner).sum() / (region.rows | corner).sum() > 0.5  # and not rows that are right

    def test_spread(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=N)
        y = rng.normal(size=N) * np.where(x > 0, 0.7, 1.4)
        found = conditional_test(y, Samples(rng.normal(size=(N, M))), covariates=x, resamples=99)
        assert found.details["regions"][0].function == found.details["function_each"] == "spread"

    def test_category(self):
        rng = np.random.default_rng(2)
        city = rng.choice(["Rome", "Oslo", "Lima"], N)
        y = rng.normal(size=N) - 0.6 * (city == "Oslo")
        x = {"city": city, "age": rng.normal(size=N)}
        region = conditional_test(y, Normal(np.zeros(N), 1.0), covariates=x, resamples=99).details["regions"][0]
        assert region.bounds == (("Oslo",),)
        assert region.text.startswith("for city = Oslo (")
        assert (region.rows == (city == "Oslo")).all()

    def test_trend_has_a_direction(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(N, 5))
        y = rng.normal(size=N) - 0.25 * np.sign(x.sum(axis=1))
        found = conditional_test(y, Samples(rng.normal(size=(N, M))), covariates=x, resamples=199)
        assert found.pvalue <= 0.05
        assert found.details["direction"] == "" or found.details["direction"].startswith("along ")

    def test_coordinates(self):
        rng = np.random.default_rng(4)
        x = rng.normal(size=(N, 2))
        y = rng.normal(size=(N, 3))
        y[:, 2] -= 0.6 * np.sign(x[:, 0])
        found = conditional_test(y, Samples(rng.normal(size=(N, 49, 3))), covariates=x, resamples=99)
        assert found.details["pvalue_each"].argmin() == 2
        assert found.pvalue == found.details["pvalue_each"].min()
        assert found.details["regions"][0].column == "2"
        assert "predictions of coordinate 2 are" in found.details["regions"][0].text

    @pytest.mark.parametrize("null", ["permutation", "uniform"])
    def test_coordinates_that_are_wrong_in_the_same_rows_are_both_named(self, null):
        rng = np.random.default_rng(6)
        x = rng.normal(size=(N, 2))
        y = rng.normal(size=(N, 3)) - 0.7 * (x[:, [0]] > 0) * [1, 1, 0]
        options = {"covariates": x, "null": null, "resamples": 199}
        found = conditional_test(y, Samples(rng.normal(size=(N, 49, 3))), **options).details
        assert (found["pvalue_each"] <= 0.05).tolist() == [True, True, False]
        assert found["function_each"].tolist() == ["shift", "shift", ""]
        first, second = found["regions"]
        assert {first.column, second.column} == {"0", "1"}
        assert first.names == second.names == ("x0",)
        assert abs(first.z) >= abs(second.z)
        assert (first.rows & second.rows).sum() > 300

    def test_first_regions_of_all_coordinates_come_before_second_ones(self):
        rng = np.random.default_rng(7)
        x = rng.normal(size=(N, 2))
        y = rng.normal(size=(N, 2))
        y[:, 0] += 1.5 * (x[:, 0] < -1) - 1.5 * (x[:, 0] > 1)
        y[:, 1] -= 0.7 * (x[:, 1] > 0)
        found = conditional_test(y, Samples(rng.normal(size=(N, 49, 2))), covariates=x, resamples=99)
        assert [region.column for region in found.details["regions"]] == ["0", "1", "0"]

    def test_what_is_wrong_everywhere_is_no_relation(self):
        rng = np.random.default_rng(5)
        y, x = rng.normal(size=N) + 1, rng.normal(size=(N, 2))
        draws = Samples(rng.normal(size=(N, M)))
        assert conditional_test(y, draws, covariates=x, resamples=99).pvalue > 0.05
        assert conditional_test(y, draws, covariates=x, null="uniform", resamples=99).pvalue == 0.01

    def test_going_along(self):
        y, draws, x = drawn(lambda x: x[:, 0] > 0, q=1)
        both = np.column_stack([x, x + 0.1 * np.random.default_rng(9).normal(size=x.shape)])
        region = conditional_test(y, draws, covariates=both, resamples=99).details["regions"][0]
        assert "which goes with" in region.text
        assert "correlation 0.99" in region.text
        many = np.column_stack([x] + [x * sign for sign in (1, -1, 1, -1, 1)])
        region = conditional_test(y, draws, covariates=many, resamples=99).details["regions"][0]
        assert region.text.endswith("and 2 more, which go with x0 (correlations of 1.00 and more in size)")

    @pytest.mark.parametrize("method", ["score", "intervals", "boxes", "kernel"])
    def test_one_statistic(self, method):
        y, draws, x = drawn(far)
        found = conditional_test(y, draws, covariates=x, method=method, resamples=99)
        assert (found.pvalue <= 0.05) == (method != "score")

    def test_trees(self):
        pytest.importorskip("sklearn")
        y, draws, x = drawn(far)
        found = conditional_test(y, draws, covariates=x, method="trees", null="uniform")
        assert found.pvalue < 1e-6
        with pytest.raises(InputError, match="uniform"):
            conditional_test(y, draws, covariates=x, method="trees")


class TestLevel:
    @pytest.mark.parametrize("null", ["permutation", "uniform"])
    def test_related_to_nothing(self, null):
        rng = np.random.default_rng(6)
        p = [
            conditional_test(
                KeptRanks.of(rng.integers(0, 10, 100), 9, rng.normal(size=(100, 2))), null=null, resamples=39, rng=rng
            ).pvalue
            for _ in range(120)
        ]
        assert 0.005 < np.mean(np.array(p) <= 0.1) < 0.19

    def test_smallest_pvalue_is_exact(self):
        # Every set of a pool has the p-value that is its place: their distribution is uniform.
        T = np.random.default_rng(0).normal(size=(4, 20))
        p = [_smallest(np.roll(T, -b, axis=1), [slice(None)])[0] for b in range(20)]
        assert sorted(p) == pytest.approx(np.arange(1, 21) / 20)
        assert _smallest(np.ones((4, 10)), [slice(None)]).tolist() == [1.0]


class TestProperties:
    def test_row_order(self):
        y, draws, x = drawn(far, n=200)
        order = np.random.default_rng(0).permutation(200)
        one = conditional_test(y, draws, covariates=x, resamples=49)
        other = conditional_test(y[order], draws.take(order), covariates=x[order], resamples=49)
        assert one.pvalue == other.pvalue
        assert one.details["boxes"] == other.details["boxes"]
        for a, b in zip(one.details["regions"], other.details["regions"], strict=True):
            assert (a.rows[order] == b.rows).all()

    def test_batches_pickles_and_bytes(self):
        y, draws, x = drawn(far, n=200)
        rank = ranks(y, draws)
        city = np.where(x[:, 0] > 0, "Rome", "Oslo")
        city[:100] = "Oslo"
        parts = [
            KeptRanks.of(rank[part], M, {"a": x[part, 1], "city": city[part]})
            for part in (slice(100), slice(100, None))
        ]
        whole = KeptRanks.of(rank, M, {"a": x[:, 1], "city": city})
        merged = Summary.from_bytes((parts[0] + parts[1]).to_bytes())
        assert merged == whole
        found = conditional_test(whole, resamples=49)
        assert conditional_test(merged, resamples=49) == found
        assert pickle.loads(pickle.dumps(found)) == found
        with pytest.raises(SummaryError, match="do not merge"):
            parts[0] + KeptRanks.of([1], M, {"b": [1.0], "city": ["x"]})

    def test_weights_of_the_uniform_null(self):
        y, draws, x = drawn(far, n=300)
        w = np.exp(x[:, 0])
        found = conditional_test(y, draws, covariates=x, weights=w, null="uniform", resamples=49)
        scaled = conditional_test(y, draws, covariates=x, weights=7 * w, null="uniform", resamples=49)
        assert found.pvalue == scaled.pvalue
        with pytest.raises(InputError, match="equal weights"):
            conditional_test(y, draws, covariates=x, weights=w)

    def test_values_of_distribution_functions(self):
        u = np.random.default_rng(0).random(200)
        found = conditional_test(None, CdfValues(u), covariates=u, resamples=49)
        assert found.pvalue == 0.02

    @pytest.mark.parametrize("factor", [1e-300, 1e300])
    def test_units_of_covariates_do_not_matter(self, factor):
        y, draws, x = drawn(far, n=200)
        one, other = (conditional_test(y, draws, covariates=x * f, resamples=49) for f in (1.0, factor))
        assert one.pvalue == other.pvalue
        assert (one.details["regions"][0].rows == other.details["regions"][0].rows).all()

    def test_inputs_are_unchanged(self):
        y, draws, x = drawn(n=100)
        copy = x.copy()
        conditional_test(y, draws, covariates=x, resamples=9)
        assert (x == copy).all()
        assert isinstance(conditional_test(y, draws, covariates=x, resamples=9).details["regions"], tuple)


class TestBadInput:
    Y, DRAWS, X = drawn(n=100)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "needs covariates="),
            ({"covariates": X[:50]}, "expected 100 rows"),
            ({"covariates": np.where(np.arange(300).reshape(100, 3) == 7, np.nan, X)}, "row 2"),
            ({"covariates": np.ones((100, 2))}, "no covariate varies"),
            ({"covariates": np.zeros((100, 201))}, "at most 200"),
            ({"covariates": X, "method": "forest"}, "method"),
            ({"covariates": X, "null": "exact"}, "null"),
            ({"covariates": X, "resamples": 0}, "resamples"),
            ({"covariates": X, "level": 95}, "level"),
            ({"covariates": X, "pairs": [(0, 9)]}, "pairs name covariates"),
            ({"covariates": X, "pairs": [(0, 0)]}, "two different"),
            ({"covariates": X, "pairs": [3]}, "pairs of covariates"),
        ],
    )
    def test_refused(self, options, words):
        with pytest.raises(InputError, match=words):
            conditional_test(self.Y, self.DRAWS, **options)

    def test_few_rows_and_other_summaries(self):
        with pytest.raises(NotApplicableError, match="at least 10 rows"):
            conditional_test(self.Y[:9], self.DRAWS.take(slice(9)), covariates=self.X[:9])
        few = conditional_test(self.Y[:40], self.DRAWS.take(slice(40)), covariates=self.X[:40], resamples=19)
        assert "score alone" in few.method
        assert few.details["regions"] == ()
        with pytest.raises(SummaryError, match="KeptRanks"):
            conditional_test(Ranks.of([0, 1], 3))

    def test_more_columns_than_rows_and_constant_ones(self):
        x = np.random.default_rng(0).normal(size=(100, 150))
        found = conditional_test(self.Y, self.DRAWS, covariates=x, resamples=19)
        assert "no boxes" in found.method
        assert 0 < found.pvalue <= 1
        x = {"a": self.X[:, 0], "flat": np.ones(100), "text": ["same"] * 100}
        assert "left out: flat, text" in conditional_test(self.Y, self.DRAWS, covariates=x, resamples=19).method


def test_region_is_equal_by_value():
    y, draws, x = drawn(far, n=300)
    one, other = (conditional_test(y, draws, covariates=x, resamples=19).details["regions"] for _ in range(2))
    assert one == other
    assert one[0] != 3
    assert isinstance(one[0], Region)
