"""Each method on counted ranks: values by hand, sizes by simulation, and what is seen."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import binom
from scipy.stats import chi2, cramervonmises, kstest

from calibrant import NotApplicableError, Ranks, Samples
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.covariates import ExchangedRanks, KeptRanks, RankCovariates
from calibrant.ranking.effects import band_test, legendre, own_stream
from calibrant.ranking.summary import GroupedRanks
from calibrant.ranking.summary import Ranks as RanksRankExchange
from calibrant.ranking.uniformity_methods import (
    CONTINUOUS,
    METHODS,
    ON_COUNTS,
    anderson_darling,
    anderson_darling_sf,
    cauchy,
    column_test,
    cramer_von_mises,
    cramer_von_mises_sf,
    exchange_pvalues,
    grouped,
    kolmogorov,
    permuted_score,
    piet,
    randomised,
    score,
)
from calibrant.ranking.uniformity_test import uniformity_test


def found(ranks, method, bins=None, resamples=999, rng=0):
    return column_test(ranks, method, bins=bins, resamples=resamples, rng=rng)


def calibrated(n, M, columns=300, seed=0):
    return Ranks.of(np.random.default_rng(seed).integers(0, M + 1, (n, columns)), M)


class TestSize:
    """Of hundreds of calibrated columns about 5 % are rejected at 5 %."""

    @pytest.mark.parametrize("M", [4, 9, 20, 99, 1000])
    @pytest.mark.parametrize("method", METHODS)
    def test_hundred_rows(self, method, M):
        p = found(calibrated(100, M, columns=200 if M == 1000 else 300), method).pvalue
        assert 0.005 < np.mean(p <= 0.05) < 0.1
        assert np.mean(p <= 0.5) < 0.62

    @pytest.mark.parametrize("method", ON_COUNTS)
    def test_very_few_rows(self, method):
        p = found(calibrated(6, 3, columns=600), method, resamples=499).pvalue
        assert np.mean(p <= 0.05) < 0.085
        assert p.min() > 0

    def test_ranks_divided_by_M_are_not_uniform(self):
        """What others do, and why it is not done here."""
        rank = np.random.default_rng(0).integers(0, 21, (1000, 60))
        naive = [kstest(column / 20, "uniform").pvalue for column in rank.T]
        assert np.mean(np.array(naive) <= 0.05) > 0.9
        assert np.mean(found(Ranks.of(rank, 20), "ks").pvalue <= 0.05) < 0.17


class TestPower:
    @pytest.mark.parametrize("method", [m for m in METHODS if m != "piet"])
    def test_ranks_that_end_in_the_middle(self, method):
        """Ranks are judged by the number of draws, not by the highest rank seen."""
        ranks = Ranks.of(np.arange(500), M=1000)
        assert found(ranks, method).pvalue[0] < 1e-20

    def test_what_piet_sees(self):
        """Of single values alone the ends of the range count."""
        assert found(Ranks.of(np.zeros(500, int), M=10_000), "piet").pvalue[0] < 1e-3

    @pytest.mark.parametrize("method", ON_COUNTS)
    def test_too_narrow_predictions(self, method):
        rank = np.random.default_rng(0).binomial(1, 0.5, (300, 1)) * 9
        assert found(Ranks.of(rank, 9), method).pvalue[0] < 1e-20


class TestSmooth:
    def test_one_draw_by_hand(self):
        result = found(Ranks.of(np.repeat([0, 1], [40, 60]), M=1), "smooth")
        assert result.statistic[0] == pytest.approx(20**2 / 100)
        assert result.pvalue[0] == pytest.approx(chi2.sf(4, 1))
        assert result.shared["dof"] == 1

    def test_is_the_sum_of_squares(self):
        result = found(calibrated(200, 9, columns=3), "smooth")
        np.testing.assert_allclose(result.statistic, (result.columns["Z"] ** 2).sum(axis=0))
        np.testing.assert_allclose(result.pvalue, chi2.sf(result.statistic, 4))

    def test_few_rows_are_simulated(self):
        """All 27 rank vectors of three rows, against the law of their own."""
        every = np.array(list(itertools.product(range(3), repeat=3))).T
        result = found(Ranks.of(every, 2), "smooth", resamples=20_000)
        exact = [np.mean(result.statistic >= s - 1e-9) for s in result.statistic]
        np.testing.assert_allclose(result.pvalue, exact, atol=0.02)
        assert "simulated" in result.words

    def test_simulation_repeats_itself(self):
        ranks = calibrated(30, 9, columns=2)
        np.testing.assert_array_equal(found(ranks, "smooth", rng=None).pvalue, found(ranks, "smooth", rng=0).pvalue)
        assert (found(ranks, "smooth", rng=1).pvalue != found(ranks, "smooth", rng=0).pvalue).any()

    def test_blocks_of_simulated_sets(self, monkeypatch):
        monkeypatch.setattr("calibrant.ranking.uniformity_methods.BLOCK", 100)
        p = found(calibrated(30, 9, columns=300), "smooth", resamples=499).pvalue
        assert 0.01 < np.mean(p <= 0.05) < 0.1

    def test_weights_give_components_of_variance_1(self):
        rng = np.random.default_rng(0)
        rank, w = rng.integers(0, 10, (300, 500)), rng.uniform(0.1, 5, 300)
        result = found(Ranks.of(rank, 9, weights=w), "smooth")
        np.testing.assert_allclose((result.columns["Z"] ** 2).mean(axis=1), 1, atol=0.3)
        assert 0.02 < np.mean(result.pvalue <= 0.05) < 0.09

    def test_few_weighted_rows_are_said(self):
        words = found(Ranks.of([0, 3, 5], 9, weights=[1, 2, 3]), "smooth").words
        assert "2.57 rows' worth" in words  # 36/14


class TestChi2:
    def test_by_hand(self):
        result = found(Ranks.of(np.repeat([0, 1, 2, 3], [30, 10, 30, 30]), M=3), "chi2", bins=2)
        assert result.statistic[0] == pytest.approx(10**2 / 50 * 2)
        assert result.pvalue[0] == pytest.approx(chi2.sf(4, 1))
        assert result.shared["bins"] == 2
        assert result.columns["counts"].tolist() == [[40], [60]]
        assert result.shared["expected"].tolist() == [50, 50]

    def test_few_rows_are_simulated(self):
        assert "499 simulated sets" in found(calibrated(20, 9, columns=1), "chi2", bins=10, resamples=499).words


class TestContinuous:
    @pytest.mark.parametrize("method", CONTINUOUS)
    def test_chance_is_asked_for(self, method, refusal):
        message = refusal(found, calibrated(10, 4, columns=1), method, rng=None)
        assert "rng=" in message
        assert '"band"' in message

    def test_one_random_V_per_rank(self):
        ranks = calibrated(50, 9, columns=2)
        expected = [kolmogorov(u) for u in randomised(ranks.counts, own_stream(3))]
        result = found(ranks, "ks", rng=3)
        assert result.statistic.tolist() == [D for D, _ in expected]
        assert result.pvalue.tolist() == [p for _, p in expected]
        assert "random V" in result.words


REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("dependent/")
]


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    """The values were computed at mid-ranks, which are no valid argument: they check the formula alone."""
    with np.load(REFERENCES / "samples.npz") as arrays:
        rank = arrays[value["inputs"][0]]
    found = [piet((column + 0.5) / 100)[1] for column in rank.T]
    np.testing.assert_allclose(found, value["value"]["piet"], rtol=value["rtol"])


def test_one_value():
    assert piet(np.array([0.1]))[1] == pytest.approx(0.2)


def test_equal_pvalues_stay_what_they_are():
    assert cauchy(np.full(7, 0.03))[1] == pytest.approx(0.03)


def test_opposite_pvalues_cancel():
    assert cauchy(np.array([0.1, 0.9]))[0] == pytest.approx(0, abs=1e-12)


def test_a_small_pvalue_keeps_its_digits():
    assert cauchy(np.array([1e-200, 0.5]))[1] == pytest.approx(2e-200)
    assert 0 <= cauchy(np.array([0.0, 0.5]))[1] < 1e-300


def test_order_and_reflection_change_nothing():
    u = np.random.default_rng(0).random(30)
    assert piet(u[::-1])[1] == pytest.approx(piet(u)[1])
    assert piet(1 - u)[1] == pytest.approx(piet(u)[1])


def test_a_small_level_is_nearly_kept():
    rng = np.random.default_rng(1)
    assert np.mean([piet(u)[1] <= 0.01 for u in rng.random((1000, 100))]) < 0.025


REFERENCES_RANK_RANDOMISED = Path(__file__).parents[1] / "references"
TESTS = {"ks": kolmogorov, "cvm": cramer_von_mises, "ad": anderson_darling}
BOOK_RANK_RANDOMISED = [
    value
    for value in json.loads((REFERENCES_RANK_RANDOMISED / "samples.json").read_text())["values"]
    if value["id"].split("/")[0] in TESTS
]


@pytest.mark.parametrize("value", BOOK_RANK_RANDOMISED, ids=lambda value: value["id"])
def test_reference_rank_randomised(value):
    name, (ranks, uniforms) = value["id"].split("/")[0], value["inputs"]
    with np.load(REFERENCES_RANK_RANDOMISED / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        u = (arrays[ranks] + arrays[uniforms]) / (M + 1)
    found = [TESTS[name](column) for column in u.reshape(len(u), -1).T]
    np.testing.assert_allclose([T for T, _ in found], value["value"]["statistic"], rtol=value["rtol"])
    np.testing.assert_allclose([p for _, p in found], value["value"]["pvalue"], rtol=value["rtol"])


@pytest.mark.parametrize("n", [5, 12, 300])
def test_as_in_scipy(n):
    u = np.random.default_rng(n).random(n)
    for ours, theirs in ((kolmogorov(u), kstest(u, "uniform")), (cramer_von_mises(u), cramervonmises(u, "uniform"))):
        assert ours == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


@pytest.mark.parametrize("n", [20, 200, 5000])
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_a_gross_departure_has_a_small_pvalue(test, n):
    """SciPy's p-value of Cramér-von Mises is 0 or negative here."""
    u = np.linspace(0.0, 0.2, n)
    assert 0 <= test(u)[1] < (1e-4 if n == 20 else 1e-20)
    if n == 20:
        assert test(u)[1] > 0


def test_pvalues_fall_with_the_statistic_of_cramer_von_mises():
    found = [cramer_von_mises(np.linspace(0, end, 40)) for end in np.linspace(1, 0.05, 60)]
    T, p = map(np.array, zip(*found, strict=True))
    order = np.argsort(T)
    assert (np.diff(p[order]) <= 5e-7).all()


def test_every_rank_is_spread_over_its_cell():
    counts = np.array([[2, 0], [0, 3], [3, 2]])
    one, other = randomised(counts, np.random.default_rng(0))
    assert np.floor(one * 3).tolist() == [0, 0, 2, 2, 2]
    assert np.floor(other * 3).tolist() == [1, 1, 1, 2, 2]
    assert (np.diff(one) > 0).all()


def test_uniform_ranks_give_uniform_values():
    rng = np.random.default_rng(0)
    counts = np.bincount(rng.integers(0, 5, 20_000), minlength=5)[:, None]
    (u,) = randomised(counts, rng)
    assert kstest(u, "uniform").pvalue > 0.001


def test_the_ends_of_the_range_are_no_infinity():
    T, p = anderson_darling(np.array([0.0, 0.2, 0.5, 0.8, 1.0]))
    assert np.isfinite(T)
    assert 0 < p < 1e-4


@pytest.mark.parametrize("test", [cramer_von_mises, anderson_darling])
def test_too_few_rows_for_a_limit_distribution(test, refusal):
    assert "at least 5 rows" in refusal(test, np.full(4, 0.5), error=NotApplicableError)
    test(np.linspace(0.1, 0.9, 5))


def anderson_darling_series(z):
    """Return the distribution function as Anderson and Darling (1954) give it."""
    total = 0.0
    for j in range(12):
        a = (4 * j + 1) ** 2 * np.pi**2 / (8 * z)
        inner = quad(lambda w, a=a: np.exp(z / (8 * (w * w + 1)) - a * w * w), 0, np.inf, epsabs=0, epsrel=1e-12)[0]
        total += binom(-0.5, j) * (4 * j + 1) * np.exp(-a) * inner
    return np.sqrt(2 * np.pi) / z * total


@pytest.mark.parametrize("x", [0.1, 0.3, 0.7, 1.0, 1.933, 2.492, 3.857, 6.0])
def test_anderson_darling_equals_its_series(x):
    assert anderson_darling_sf(x) == pytest.approx(1 - anderson_darling_series(x), abs=1e-11)


@pytest.mark.parametrize(("x", "p"), [(1.933, 0.1), (2.492, 0.05), (3.0775, 0.025), (3.8781, 0.01)])
def test_anderson_darling_table(x, p):
    assert anderson_darling_sf(x) == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize(("x", "p"), [(0.34730, 0.1), (0.46136, 0.05), (0.74346, 0.01), (1.16786, 0.001)])
def test_cramer_von_mises_table(x, p):
    assert cramer_von_mises_sf(x) == pytest.approx(p, rel=2e-4)


@pytest.mark.parametrize(("tail", "first"), [(anderson_darling_sf, 2.0), (cramer_von_mises_sf, np.pi**2)])
def test_far_tail_falls_like_its_largest_part(tail, first):
    """P(Q > x) ~ const exp(-x u_1 / 2) / sqrt(x): a small probability keeps its digits."""
    x = np.array([40.0, 80.0, 120.0]) / first
    scaled = [tail(value) * np.exp(value * first / 2) * np.sqrt(value) for value in x]
    assert scaled[0] == pytest.approx(scaled[2], rel=0.05)
    assert scaled[1] == pytest.approx(scaled[2], rel=0.02)


@pytest.mark.parametrize("tail", [anderson_darling_sf, cramer_von_mises_sf])
def test_falls_from_1(tail):
    x = np.concatenate([[0.0], np.geomspace(1e-4, 100, 400)])
    found = np.array([tail(value) for value in x])
    assert found[0] == 1.0
    assert (np.diff(found) <= 1e-12).all()
    assert (found > 0).all()
    assert (found <= 1).all()


REFERENCES_RANK_SCORE = Path(__file__).parents[1] / "references"
BOOK_RANK_SCORE = [
    value
    for value in json.loads((REFERENCES_RANK_SCORE / "samples.json").read_text())["values"]
    if value["id"].startswith("covariates/")
]


def drawn(n=60, M=9, q=2, C=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, M + 1, (n, C)), M, rng.normal(size=(n, q))


@pytest.mark.parametrize("value", BOOK_RANK_SCORE, ids=lambda value: value["id"])
def test_reference_rank_score(value):
    ranks, covariates = value["inputs"]
    with np.load(REFERENCES_RANK_SCORE / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        given = arrays[ranks], M, arrays[covariates]
    found, expected = score(RankCovariates.of(*given)), value["value"]
    np.testing.assert_allclose(found.statistic, expected["statistic"], rtol=value["rtol"])
    np.testing.assert_allclose(found.pvalue, expected["pvalue"], rtol=value["rtol"])
    assert found.shared["dof"] == expected["dof"]
    np.testing.assert_allclose(
        permuted_score(KeptRanks.of(*given), 9, np.random.default_rng(0)).statistic, expected["statistic"], rtol=1e-8
    )


def test_is_the_projection_on_the_covariates():
    rank, M, x = drawn()
    Q = np.linalg.qr(x - x.mean(axis=0))[0]
    T = sum(((Q.T @ phi[rank]) ** 2).sum(axis=0) for phi in legendre(M)[:2])
    found = score(RankCovariates.of(rank, M, x))
    np.testing.assert_allclose(found.statistic, T, rtol=1e-10)
    np.testing.assert_allclose(found.pvalue, chi2.sf(T, 4), rtol=1e-10)


@given(st.floats(0.001, 1000), st.floats(-1000, 1000))
def test_units_of_the_covariates_do_not_matter(factor, offset):
    rank, M, x = drawn()
    found, other = (score(RankCovariates.of(rank, M, v)) for v in (x, x * [factor, 1] + offset))
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)


def test_constant_and_repeated_covariates_add_nothing():
    rank, M, x = drawn()
    more = np.column_stack([x, np.full(60, 0.1), x[:, 0] * 2 + 1, x.sum(axis=1)])
    found, other = (score(RankCovariates.of(rank, M, v)) for v in (x, more))
    assert found.shared["dof"] == other.shared["dof"] == 4
    np.testing.assert_allclose(other.statistic, found.statistic, rtol=1e-6)


def test_batches_add_up():
    rank, M, x = drawn()
    whole = score(RankCovariates.of(rank, M, x))
    parts = sum(RankCovariates.of(rank[part], M, x[part]) for part in np.array_split(np.arange(60), 7))
    np.testing.assert_allclose(score(parts).statistic, whole.statistic, rtol=1e-9)


def test_one_draw_has_one_polynomial():
    found = score(RankCovariates.of([0, 1, 1, 0], 1, [1.0, 2.0, 4.0, 0.0]))
    assert found.shared["dof"] == 1
    x = np.array([1.0, 2.0, 4.0, 0.0]) - 1.75
    assert found.statistic[0] == pytest.approx((x @ [-1, 1, 1, -1]) ** 2 / (x @ x))


def test_nothing_varies(refusal):
    for x in ([2.0, 2.0, 2.0], [1e9 + 0.1] * 3):
        assert "no covariate varies" in refusal(score, RankCovariates.of([0, 1, 2], 3, x), error=NotApplicableError)


def test_permutations_do_not_depend_on_the_order_of_rows():
    rank, M, x = drawn()
    order = np.random.default_rng(5).permutation(60)
    one, other = (
        permuted_score(KeptRanks.of(rank[rows], M, x[rows]), 99, np.random.default_rng(0)).pvalue
        for rows in (slice(None), order)
    )
    np.testing.assert_array_equal(one, other)


def test_permutations_of_three_rows():
    x, orders = [0.0, 1.0, 3.0], list(itertools.permutations([0, 1, 3]))
    T = [score(RankCovariates.of(order, 3, x)).statistic[0] for order in orders]
    for order, own in zip(orders, T, strict=True):
        found = permuted_score(KeptRanks.of(order, 3, x), 5000, np.random.default_rng(0))
        assert found.pvalue[0] == pytest.approx(np.mean(np.array(T) >= own - 1e-9), abs=0.04)


@pytest.mark.parametrize("M", [4, 99])
def test_size(M):
    rank, M, x = drawn(n=50, M=M, q=2, C=400, seed=3)
    for found in (
        score(RankCovariates.of(rank, M, x)),
        permuted_score(KeptRanks.of(rank, M, x), 199, np.random.default_rng(1)),
    ):
        assert 0.01 < np.mean(found.pvalue <= 0.05) < 0.09


def test_a_shift_that_changes_sign_is_seen():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    rank = np.clip(np.rint(4.5 + 3 * x + rng.normal(size=200)), 0, 9).astype(int)
    assert score(RankCovariates.of(rank, 9, x)).pvalue[0] < 1e-10
    assert permuted_score(KeptRanks.of(rank, 9, x), 199, rng).pvalue[0] == 1 / 200


REFERENCES_RANK_GROUPS = Path(__file__).parents[1] / "references"
BOOK_RANK_GROUPS = [
    value
    for value in json.loads((REFERENCES_RANK_GROUPS / "samples.json").read_text())["values"]
    if value["id"].startswith("groups/")
]


def drawn_rank_groups(sizes, C=2, M=9, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return GroupedRanks.of(rng.integers(0, M + 1, (labels.size, C)), M, labels)


@pytest.mark.parametrize("value", BOOK_RANK_GROUPS, ids=lambda value: value["id"])
def test_reference_rank_groups(value):
    ranks, groups = value["inputs"]
    with np.load(REFERENCES_RANK_GROUPS / "samples.npz") as arrays:
        M = arrays[ranks.replace("ranks", "samples")].shape[1]
        found = grouped(GroupedRanks.of(arrays[ranks], M, arrays[groups]), "holm")
    raw = found.details["pvalue_each"].reshape(len(value["value"]), -1)
    for g, expected in enumerate(value["value"]):
        assert found.details["groups"][g] == expected["group"]
        assert found.details["rows"][g] == expected["n"]
        np.testing.assert_allclose(raw[g], expected["pvalue"], rtol=value["rtol"])


def test_holm_counts_all_cells():
    found = grouped(drawn_rank_groups([40, 30, 50]), "holm")
    raw, adjusted = found.details["pvalue_each"], found.pvalue
    assert raw.shape == adjusted.shape == found.statistic.shape == (3, 2)
    assert adjusted.min() == pytest.approx(min(1, 6 * raw.min()))
    assert (adjusted >= raw).all()
    np.testing.assert_allclose(grouped(drawn_rank_groups([40, 30, 50]), "bonferroni").pvalue, np.minimum(1, 6 * raw))
    np.testing.assert_array_equal(grouped(drawn_rank_groups([40, 30, 50]), "none").pvalue, raw)


def test_small_groups_are_listed_and_not_tested():
    found = grouped(drawn_rank_groups([40, 19, 20]), "bonferroni")
    assert found.details["rows"].tolist() == [40, 19, 20]
    assert np.isnan(found.pvalue).tolist() == [[False] * 2, [True] * 2, [False] * 2]
    assert np.isnan(found.statistic[1]).all()
    assert np.isfinite(np.stack(found.estimate)).all()
    np.testing.assert_allclose(found.pvalue[0], np.minimum(1, 4 * found.details["pvalue_each"][0]))
    assert "1 of them too small" in found.method
    assert "4 p-values" in found.method
    assert found.n == 79


def test_one_column_without_an_axis():
    rank, labels = np.arange(60) % 10, np.arange(60) % 2
    found = grouped(GroupedRanks.of(rank, 9, labels), "holm")
    assert found.pvalue.shape == found.estimate[0].shape == (2,)
    assert found.details["pvalue_each"][1] == pytest.approx(band_test(Ranks.of(rank[1::2], 9)).pvalue[0])
    assert found.details["tied"] == 0


def test_no_group_is_large_enough(refusal):
    message = refusal(grouped, drawn_rank_groups([19, 12]), "holm", error=NotApplicableError)
    assert "20 rows" in message
    assert "has 19" in message


def test_errors_that_cancel_are_seen():
    rng = np.random.default_rng(0)
    high = rng.random(400) < 0.5
    rank = np.where(high, rng.integers(3, 10, 400), rng.integers(0, 7, 400))
    assert grouped(GroupedRanks.of(rank, 9, high), "holm").pvalue.max() < 1e-6


METHODS_RANK_EXCHANGE = ("band", "smooth", "chi2")


def drawn_rank_exchange(rng, n=25, M=5, D=3, scale=1.0, grid=None):
    """Return outcomes and draws of correlated coordinates; on a grid there are ties."""
    common = rng.normal(size=(n, M + 1, 1))
    z = common + 0.5 * rng.normal(size=(n, M + 1, D))
    z[:, 0] *= scale
    z = z if grid is None else np.round(z / grid) * grid
    return z[:, 0], Samples(z[:, 1:])


def gammas(table):
    """Return γ of each column of a table (M + 1, C)."""
    ranks = [np.repeat(np.arange(len(column)), column) for column in table.T]
    return band_test(RanksRankExchange.of(np.stack(ranks, axis=1), len(table) - 1)).gamma


def test_counts_replicates_that_are_at_least_as_extreme():
    y, samples = drawn_rank_exchange(np.random.default_rng(0))
    summary = ExchangedRanks.of(read_outcomes(y, samples), 99, 0)
    smallest = np.array([gammas(table).min() for table in summary.tables])
    own = gammas(summary.ranks.counts)
    expected = [(1 + np.count_nonzero(smallest <= g * (1 + 1e-9))) / 100 for g in own]
    np.testing.assert_array_equal(exchange_pvalues(summary, "band", own, None), expected)


def test_small_blocks_change_nothing(monkeypatch):
    y, samples = drawn_rank_exchange(np.random.default_rng(0))
    expected = [uniformity_test(y, samples, method=m, multiplicity="exchange").pvalue for m in METHODS_RANK_EXCHANGE]
    monkeypatch.setattr("calibrant.ranking.uniformity_methods.BLOCK_RANK_EXCHANGE", 1)
    found = [uniformity_test(y, samples, method=m, multiplicity="exchange").pvalue for m in METHODS_RANK_EXCHANGE]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS_RANK_EXCHANGE)
def test_copies_of_a_column_cost_nothing(method):
    y, samples = drawn_rank_exchange(np.random.default_rng(1), D=1, scale=1.5)
    copies = np.repeat(y, 20, axis=1), Samples(np.repeat(samples.held, 20, axis=2))
    one = uniformity_test(y, samples, method=method, multiplicity="exchange").pvalue[0]
    many = uniformity_test(*copies, method=method, multiplicity="exchange").pvalue
    assert (many == one).all()
    assert uniformity_test(*copies, method=method).pvalue[0] > one


@pytest.mark.parametrize("grid", [None, 0.5])
@pytest.mark.parametrize("method", METHODS_RANK_EXCHANGE)
def test_size_rank_exchange(method, grid):
    """With 19 replicates p <= 0.05 means: more extreme than all of them, once in 20 if they are alike."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(300):
        y, samples = drawn_rank_exchange(rng, n=20, M=4, grid=grid)
        options = {"method": method, "multiplicity": "exchange", "resamples": 19, "rng": rng}
        found.append(uniformity_test(y, samples, **options).pvalue.min())
    assert 0.005 < np.mean(np.array(found) <= 0.05) < 0.1  # four standard errors above the level


@pytest.mark.parametrize("method", METHODS_RANK_EXCHANGE)
def test_too_wide_an_outcome_is_seen(method):
    y, samples = drawn_rank_exchange(np.random.default_rng(2), n=200, scale=2.0)
    found = uniformity_test(y, samples, method=method, multiplicity="exchange", resamples=199)
    assert found.pvalue.max() == 1 / 200
    assert "199 exchanged sets" in found.method


def test_batches_with_one_generator_add_up():
    rng, chance = np.random.default_rng(0), np.random.default_rng(1)
    batches = [drawn_rank_exchange(rng, n=60, scale=1.3) for _ in range(3)]
    summary = sum(ExchangedRanks.of(read_outcomes(*batch), 199, chance) for batch in batches)
    y, draws = (np.concatenate(part) for part in zip(*((y, s.held) for y, s in batches), strict=True))
    whole = uniformity_test(y, Samples(draws), multiplicity="exchange", resamples=199)
    found = uniformity_test(summary, multiplicity="exchange")
    np.testing.assert_array_equal(found.statistic, whole.statistic)
    np.testing.assert_allclose(found.pvalue, whole.pvalue, atol=0.12)
    np.testing.assert_array_equal(uniformity_test(summary).pvalue, uniformity_test(y, Samples(draws)).pvalue)
