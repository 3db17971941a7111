"""Differences of rank distribution functions: the reference values, all small tables of counts, and what is refused."""

import json
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import CdfValues, Intervals, Normal, Quantiles, Ranks, Samples, Summary, summarize
from calibrant.curves.ecdf_difference import ecdf_difference

REFERENCES = Path(__file__).parents[1] / "references"
VALUES = {value["id"]: value for value in json.loads((REFERENCES / "samples.json").read_text())["values"]}
ARRAYS = np.load(REFERENCES / "samples.npz")
SETS = [name.removeprefix("ecdf_difference/") for name in VALUES if name.startswith("ecdf_difference/")]
HIGHEST = {name: ARRAYS[f"samples_{name}"].shape[1] for name in SETS}
RNG = np.random.default_rng(0)


def reference(name):
    return Ranks.of(ARRAYS[f"ranks_{name}"], HIGHEST[name])


def tables(N, m):
    """Yield all counts of N rows in m ranks, and their probability if every rank is equally likely."""
    for bars in combinations(range(N + m - 1), m - 1):
        counts = np.diff([-1, *bars, N + m - 1]) - 1
        orders = factorial(N)
        for count in counts.tolist():
            orders //= factorial(count)
        yield np.repeat(np.arange(m), counts), orders / m**N


def leaves(curve):
    v = curve.v.T
    return ((v < curve.lower) | (v > curve.upper)).any(axis=-1)


@pytest.mark.parametrize("name", SETS)
class TestReferences:
    def test_counts(self, name):
        curve, m = ecdf_difference(reference(name)), HIGHEST[name] + 1
        c = ARRAYS[f"ecdf_counts_{name}"]
        t = np.arange(1, m) / m
        np.testing.assert_array_equal(curve.t, np.arange(m + 1) / m)
        v = curve.v if curve.v.ndim == 2 else curve.v[:, None]
        np.testing.assert_array_equal(v[1:-1], c / curve.n - t[:, None])
        np.testing.assert_array_equal(v[[0, -1]], 0)
        np.testing.assert_allclose(curve.sd[1:-1], np.sqrt(t * (1 - t) / curve.n), rtol=1e-14)

    def test_departure(self, name):
        curve = ecdf_difference(reference(name))
        gamma, pvalue = (np.atleast_1d(curve.details[key]) for key in ("gamma", "pvalue_each"))
        np.testing.assert_allclose(gamma, VALUES[f"band/gamma/{name}"]["value"], rtol=1e-9)
        np.testing.assert_allclose(pvalue, VALUES[f"band/pvalue/{name}"]["value"], rtol=1e-9)
        where = np.array(VALUES[f"band/where/{name}"]["value"]) / (HIGHEST[name] + 1)
        np.testing.assert_array_equal(np.atleast_1d(curve.where), where)

    def test_draws_give_the_same_curve(self, name):
        y = {"seed_ideal": "y_seed", "skewed": "y_shape", "heavy_tailed": "y_shape"}.get(name, "y")
        found, expected = (
            ecdf_difference(ARRAYS[y], Samples(ARRAYS[f"samples_{name}"])),
            ecdf_difference(reference(name)),
        )
        np.testing.assert_array_equal(found.v, expected.v)
        assert found.details["names"] == expected.details["names"]


@pytest.mark.parametrize("name", [name for name in SETS if f"band/holm/{name}" in VALUES])
def test_columns_are_judged_together(name):
    curve = ecdf_difference(reference(name))
    np.testing.assert_allclose(curve.pvalue, VALUES[f"band/holm/{name}"]["value"], rtol=1e-9)
    alone = ecdf_difference(reference(name), multiplicity="none")
    np.testing.assert_array_equal(alone.pvalue, alone.pvalue_each)
    C = len(curve.names)
    one = ecdf_difference(reference(name).take([0]), level=1 - 0.05 / C)
    np.testing.assert_array_equal(curve.lower, one.lower)
    np.testing.assert_array_equal(alone.lower, ecdf_difference(reference(name).take([0])).lower)
    assert (alone.lower >= curve.lower).all()
    assert (alone.lower > curve.lower).any()


@pytest.mark.parametrize("row", VALUES["band_table"]["value"], ids=lambda row: f"{row['N']}-{row['K']}-{row['level']}")
def test_band(row):
    N, K, j = row["N"], row["K"], row["j"]
    curve = ecdf_difference(Ranks.of(np.arange(N) % K, K - 1), level=row["level"])
    assert curve.gamma_band == pytest.approx(row["gamma"], rel=1e-9)
    assert curve.coverage == pytest.approx(row["coverage"], rel=1e-9)
    limits = [np.rint(N * (side + curve.t)).astype(int)[[1, j]].tolist() for side in (curve.lower, curve.upper)]
    assert limits == [[row["lower_1"], row["lower"]], [row["upper_1"], row["upper"]]]


class TestByHand:
    def test_one_point(self):
        # M = 1: five of six ranks are 0, and B(6, 1/2) has P(B >= 5) = 7/64.
        curve = ecdf_difference(Ranks.of([0, 0, 1, 0, 0, 0], M=1), level=0.75)
        assert curve.t.tolist() == [0, 0.5, 1]
        assert curve.v.tolist() == [0, 5 / 6 - 0.5, 0]
        assert (curve.gamma, curve.where) == (pytest.approx(14 / 64), 0.5)
        assert curve.pvalue == pytest.approx(14 / 64)  # both tails
        # Within 2 to 4 lie 50/64 of all.
        np.testing.assert_allclose(curve.lower, [0, 2 / 6 - 0.5, 0])
        np.testing.assert_allclose(curve.upper, [0, 4 / 6 - 0.5, 0])
        assert curve.coverage == pytest.approx(50 / 64)
        assert curve.sd.tolist() == pytest.approx([0, np.sqrt(0.25 / 6), 0])

    def test_all_of_one_rank(self):
        curve = ecdf_difference(Ranks.of([3] * 5, M=3))
        np.testing.assert_allclose(curve.v, [0, -0.25, -0.5, -0.75, 0])
        assert curve.where == 0.75
        assert curve.gamma == pytest.approx(2 * 0.25**5)

    def test_ranks_are_compared_with_their_range_and_not_the_one_seen(self):
        half = np.arange(500)  # of 0 to 1000
        assert ecdf_difference(Ranks.of(half, M=1000)).pvalue < 1e-100
        assert ecdf_difference(Ranks.of(half, M=499)).pvalue > 0.999

    def test_mirrored_ranks(self):
        ranks = RNG.integers(0, 10, 50)
        ours, mirrored = (ecdf_difference(Ranks.of(r, M=9)) for r in (ranks, 9 - ranks))
        np.testing.assert_allclose(mirrored.v, -ours.v[::-1], atol=1e-15)
        assert mirrored.pvalue == pytest.approx(ours.pvalue, rel=1e-12)


@pytest.mark.parametrize("level", [0.3, 0.8, 0.95])
def test_probabilities_are_exact(level):
    """Over all tables of counts: the band holds as often as it says, and p is a distribution function at itself."""
    found = [(ecdf_difference(Ranks.of(ranks, M=3), level=level), share) for ranks, share in tables(6, 4)]
    inside = sum(share for curve, share in found if not leaves(curve))
    assert inside == pytest.approx(found[0][0].coverage, rel=1e-12)
    assert inside >= level
    p, share = np.array([(curve.pvalue, share) for curve, share in found]).T
    for value in np.unique(p):
        assert share[p <= value * (1 + 1e-9)].sum() == pytest.approx(value, rel=1e-9)


@given(
    n=st.integers(1, 60),
    M=st.integers(1, 30),
    C=st.integers(1, 4),
    level=st.floats(0.05, 0.999),
    seed=st.integers(0, 10**6),
    power=st.floats(0.3, 3),
    multiplicity=st.sampled_from(["bonferroni", "none"]),
)
def test_a_curve_leaves_the_band_exactly_if_its_pvalue_is_small(n, M, C, level, seed, power, multiplicity):
    u = np.random.default_rng(seed).random((n, C)) ** power
    curve = ecdf_difference(Ranks.of((u * (M + 1)).astype(int), M), level=level, multiplicity=multiplicity)
    most = (1 - level) / (1 if multiplicity == "none" else C)
    near = np.isclose(curve.pvalue_each, most, rtol=1e-9)
    np.testing.assert_array_equal(leaves(curve) | near, (curve.pvalue_each <= most) | near)
    if multiplicity != "none":
        assert leaves(curve).any() == (curve.pvalue.min() <= 1 - level) or near.any()


class TestPoints:
    def test_many_draws(self):
        curve = ecdf_difference(Ranks.of(RNG.integers(0, 5001, 300), M=5000))
        assert curve.t.size == 1001
        assert curve.t[1:4] == pytest.approx(np.array([5, 10, 15]) / 5001)

    def test_a_number(self):
        curve = ecdf_difference(Ranks.of(np.arange(100), M=99), points=3)
        assert curve.t.tolist() == [0, 0.25, 0.5, 0.75, 1]
        assert curve.v.tolist() == [0] * 5

    def test_shares_are_moved_to_whole_ranks(self):
        curve = ecdf_difference(Ranks.of(np.arange(20), M=19), points=[0.52, 0.11])
        assert curve.t.tolist() == [0, 0.1, 0.5, 1]

    def test_fewer_points_have_a_narrower_band(self):
        ranks = Ranks.of(np.arange(100), M=99)
        whole, few = ecdf_difference(ranks), ecdf_difference(ranks, points=3)
        assert few.upper[2] < whole.upper[50]


class TestKinds:
    def test_laws_are_counted_in_cells(self):
        y = RNG.normal(size=240)
        curve = ecdf_difference(y, Normal(np.zeros(240), 1.0))
        assert curve.cells
        assert curve.M == 999
        u = Normal(np.zeros(240), 1.0).cdf(y)
        np.testing.assert_array_equal(curve.t, np.arange(201) / 200)  # 200 is the largest divisor of 1000 up to 240
        np.testing.assert_allclose(curve.v, [np.mean(u <= t) - t for t in curve.t], atol=1e-12)

    def test_values_on_the_edge_of_a_cell(self):
        at = [0.1, 0.3, 0.7, 0.9, 0.1]  # right-closed: 0.1 is not beyond 0.1
        curve = ecdf_difference(None, CdfValues(at), points=9)
        assert (5 * (curve.v + curve.t)).round(9).tolist() == [0, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5]

    def test_quantiles(self):
        y, values = np.array([0.5, 1.5, 2.5, 9.0]), np.tile([1.0, 2.0, 3.0], (4, 1))
        curve = ecdf_difference(y, Quantiles(values, [0.25, 0.5, 0.75]), rng=0, points=[0.25, 0.5, 0.75])
        assert curve.v.tolist() == [0] * 5
        assert curve.tied == 4

    def test_ties_need_chance_and_are_told(self, refusal):
        given = [1.0, 2.0], Samples([[1.0, 2.0], [3.0, 4.0]])
        assert "in 1 of 2 ranks" in refusal(ecdf_difference, *given)
        assert ecdf_difference(*given, rng=0).tied == 1

    def test_names(self):
        named = Ranks.of([[0, 1], [1, 1]], M=1, names=["mass", "radius"])
        curve = ecdf_difference(named)
        assert curve.names == ("mass", "radius")
        assert curve.v.shape == (3, 2)
        assert curve.lower.shape == curve.sd.shape == curve.t.shape == (3,)
        assert all(np.shape(curve.details[key]) == (2,) for key in ("gamma", "pvalue", "pvalue_each", "where", "tied"))

    def test_one_column_is_an_array_if_it_has_an_axis(self):
        assert ecdf_difference(Ranks.of([[0], [1]], M=1)).v.shape == (3, 1)
        assert ecdf_difference(Ranks.of([0, 1], M=1)).v.shape == (3,)

    def test_details_are_read_only(self):
        curve = ecdf_difference(Ranks.of([[0, 1], [1, 1]], M=1))
        with pytest.raises(ValueError, match="read-only"):
            curve.pvalue[0] = 0


class TestSummaries:
    def test_batches_add_up(self):
        y, draws = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 8, 2))
        parts = [
            summarize(ecdf_difference, y[s], Samples(draws[s])) for s in (slice(0, 1), slice(1, 20), slice(20, 30))
        ]
        merged = ecdf_difference(Summary.from_bytes(sum(parts).to_bytes()))
        whole = ecdf_difference(y, Samples(draws))
        for name, column in whole.columns.items():
            np.testing.assert_array_equal(merged.columns[name], column)
        np.testing.assert_array_equal(merged.pvalue, whole.pvalue)

    def test_equal_weights_are_none(self):
        y, samples = RNG.normal(size=30), Samples(RNG.normal(size=(30, 8)))
        expected = ecdf_difference(y, samples)
        found = ecdf_difference(y, samples, weights=np.full(30, 3.5))
        np.testing.assert_array_equal(found.v, expected.v)
        assert found.pvalue == expected.pvalue

    def test_rows_of_weight_zero_are_absent(self):
        y, draws, w = RNG.normal(size=30), RNG.normal(size=(30, 8)), np.arange(30) % 3 > 0
        found = ecdf_difference(y, Samples(draws), weights=w.astype(int))
        assert found.n == 20
        np.testing.assert_array_equal(found.v, ecdf_difference(y[w], Samples(draws[w])).v)


class TestRefusals:
    def test_weights(self, refusal):
        y, samples = RNG.normal(size=30), Samples(RNG.normal(size=(30, 8)))
        words = refusal(ecdf_difference, y, samples, weights=np.arange(30) + 1.0)
        assert "refuses unequal weights" in words
        assert 'uniformity_test(method="smooth")' in words

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"level": 0}, "level must lie"),
            ({"level": 95}, "level must lie"),
            ({"points": 0}, "points must be at least 1"),
            ({"points": [2.0]}, "strictly between 0 and 1"),
            ({"multiplicity": "holm"}, "multiplicity must be one of"),
            ({"multiplicity": "exchange"}, 'uniformity_test(y, samples, multiplicity="exchange")'),
        ],
    )
    def test_options(self, refusal, options, words):
        assert words in refusal(ecdf_difference, Ranks.of([0, 1], M=1), **options)

    def test_other_predictions(self, refusal):
        assert "got Intervals" in refusal(ecdf_difference, [0.0], Intervals([0.0], [1.0], 0.9))
