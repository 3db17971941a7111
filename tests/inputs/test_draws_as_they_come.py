"""Draws as they come: unequal numbers, weights, chains, names."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibrant as cb
from calibrant.errors import NotApplicableError
from calibrant.inputs.rows import read_outcomes

RNG = np.random.default_rng(5)


def unequal(n, low=5, high=40, rng=None):
    """Outcomes and draws of one distribution, rows of `low` to `high` draws."""
    rng = rng or np.random.default_rng(1)
    return rng.normal(size=n), [rng.normal(size=m) for m in rng.integers(low, high + 1, n)]


class TestUnequalNumbers:
    def test_they_are_kept(self):
        samples = cb.Samples([[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]])
        assert samples.counts.tolist() == [3, 1, 2]
        assert repr(samples) == "Samples(3 rows, 1 to 3 draws)"
        assert samples.take([2, 1]).counts.tolist() == [2, 1]
        assert samples.finite
        assert not cb.Samples([[1.0, np.inf], [1.0]]).finite
        assert cb.Samples([[1.0, 2.0], [3.0, 4.0]]).counts is None

    def test_vectors(self):
        samples = cb.Samples([np.zeros((3, 2)), np.ones((2, 2))], names=["a", "b"])
        assert samples.shape == (2,)
        u = cb.pit(np.full((2, 2), 0.5), samples, rng=0)
        np.testing.assert_array_equal((u * [[4], [3]]).astype(int), [[3, 3], [0, 0]])

    def test_pit_by_hand(self):
        """Ranks 2 of 3 draws and 0 of 1: u in [2/4, 3/4] and [0, 1/2]."""
        y, samples = [2.5, 0.0], cb.Samples([[1.0, 2.0, 3.0], [4.0]])
        u = np.array([cb.pit(y, samples, rng=seed) for seed in range(200)])
        assert ((u[:, 0] > 0.5) & (u[:, 0] < 0.75)).all()
        assert ((u[:, 1] > 0.0) & (u[:, 1] < 0.5)).all()
        assert np.ptp(u[:, 1]) > 0.4
        shares = cb.pit_histogram(y, samples, bins=4).share
        np.testing.assert_allclose(shares, [0.25, 0.25, 0.5, 0.0])

    def test_ranks_are_thinned_by_the_hypergeometric_distribution(self):
        """Rank 7 of 20 draws, of which 8 are kept."""
        n = 20_000
        y, samples = np.full(n, 6.5), cb.Samples(np.tile(np.arange(20.0), (n, 1)))
        found = np.bincount(cb.ranks(y, samples, draws=8, rng=0), minlength=9)
        expected = n * stats.hypergeom(20, 7, 8).pmf(np.arange(9))
        used = expected > 5
        T = float(((found - expected)[used] ** 2 / expected[used]).sum())
        assert found[~used].sum() <= 20
        assert stats.chi2.sf(T, used.sum() - 1) > 1e-3

    def test_thinned_ranks_and_pits_are_uniform(self):
        y, draws = unequal(20_000)
        found = cb.ranks(y, cb.Samples(draws), rng=0)
        assert found.max() == 5
        assert stats.chisquare(np.bincount(found, minlength=6)).pvalue > 1e-3
        assert stats.kstest(cb.pit(y, cb.Samples(draws), rng=0), "uniform").pvalue > 1e-3

    @pytest.mark.parametrize(
        "verb", [cb.ranks, cb.ecdf_difference, cb.rank_histogram, cb.uniformity_test, cb.expected_coverage, cb.explain]
    )
    def test_rank_verbs_ask_for_rng(self, verb, refusal):
        y, draws = unequal(30)
        samples = cb.Samples(draws)
        assert "unequal numbers of draws" in refusal(verb, y, samples)
        verb(y, samples, rng=0)
        verb(y, samples, rng=0, draws=3)
        assert "has 6, got 40" in refusal(verb, y, samples, rng=0, draws=40)

    def test_vectors_keep_the_same_draws(self):
        """Coordinates that are equal have equal ranks."""
        y, draws = unequal(50)
        samples = cb.Samples([np.stack([row, row], axis=1) for row in draws])
        found = cb.ranks(np.stack([y, y], axis=1), samples, rng=3)
        np.testing.assert_array_equal(found[:, 0], found[:, 1])

    def test_joint_ranks_and_audit(self):
        rng = np.random.default_rng(3)
        y = rng.normal(size=(60, 2))
        samples = cb.Samples([rng.normal(size=(m, 2)) for m in rng.integers(9, 20, 60)])
        assert cb.ranking.joint_ranks(y, samples, rng=0).max() <= 9
        found = cb.audit(y, samples, resamples=19)
        assert found.verdict.status != "miscalibrated"
        assert any("of 9 draws each" in caveat for caveat in found.findings.caveats)

    @pytest.mark.parametrize("verb", [cb.crps, cb.ranking.z_scores, cb.energy_score, cb.ranking.contraction])
    def test_scores_need_equal_numbers(self, verb, refusal):
        y, draws = unequal(30)
        assert "samples.thin(rng=0)" in refusal(verb, y, cb.Samples(draws), error=NotApplicableError)
        assert "thin" in refusal(cb.sharpness, cb.Samples(draws), error=NotApplicableError)
        assert "thin" in refusal(cb.Samples(draws).cdf, 0.0, error=NotApplicableError)
        verb(y, cb.Samples(draws).thin(rng=0)) if verb is not cb.energy_score else None

    @given(counts=st.lists(st.integers(1, 9), min_size=2, max_size=20), seed=st.integers(0, 99))
    def test_thinning_keeps_draws_of_the_row(self, counts, seed):
        rows = [np.arange(m) + 100.0 * i for i, m in enumerate(counts)]
        kept = cb.Samples(rows).thin(rng=seed)
        assert min(counts) == kept.M
        for row, all_of_it in zip(kept.held, rows, strict=True):
            assert len(set(row)) == len(row)
            assert set(row) <= set(all_of_it)

    def test_densities_go_with_their_draws(self):
        draws = RNG.normal(size=(4, 9))
        kept = cb.Samples(draws, log_density=-draws).thin(3, rng=0)
        np.testing.assert_array_equal(kept.log_densities, -kept.held)

    def test_inputs_stay(self):
        y, draws = unequal(10)
        before = [row.copy() for row in draws]
        cb.ranks(y, cb.Samples(draws), rng=0)
        for row, old in zip(draws, before, strict=True):
            np.testing.assert_array_equal(row, old)

    def test_refusals(self, refuses, refusal):
        cases = {
            "no draws": ([[1.0, 2.0], []], "row 1 has none"),
            "missing": ([[1.0, 2.0], [np.nan]], "must not be missing; row 1, draw 0"),
            "text": ([[1.0, 2.0], ["a"]], "row 1"),
            "shapes": ([np.zeros((2, 2)), np.zeros((1, 3))], "row 1 (1, 3)"),
            "types": ([np.zeros(2), np.zeros(1, "f4")], "row 0 has (2,) of float64 and row 1 (1,) of float32"),
            "a number": ([[1.0, 2.0], 3.0], "regular array"),
            "densities": ([[1.0, 2.0], [1.0]], [[1.0], [1.0]], "1 to 2 draws"),
        }
        refuses(cb.Samples, cases)
        words = "draws= chooses among the draws of Samples"
        assert words in refusal(cb.ranks, [0.0], cb.Normal(0.0, 1.0), draws=3, rng=0)
        assert "draws= is for Samples" in refusal(cb.audit, [0.0] * 30, cb.Normal(np.zeros(30), 1.0), draws=3)


class TestWeights:
    @pytest.mark.parametrize(
        "verb",
        [cb.ranks, cb.ecdf_difference, cb.explain, cb.audit, cb.crps, cb.ranking.joint_ranks, cb.ranking.energy_ranks],
    )
    def test_other_verbs_point_to_pit(self, verb, refusal):
        weighted = cb.Samples([[1.0, 2.0]] * 30, draw_weights=[[1.0, 3.0]] * 30)
        assert "Use pit(y, samples, rng=0)" in refusal(verb, [0.0] * 30, weighted, error=NotApplicableError)

    def test_and_so_do_methods(self, refusal):
        weighted = cb.Samples([[1.0, 2.0]], draw_weights=[[1.0, 3.0]])
        for method in (weighted.cdf, weighted.ppf, weighted.sf, weighted.isf, weighted.interval):
            assert "Use pit" in refusal(method, 0.5, error=NotApplicableError)
        assert "Use pit" in refusal(weighted.sample, 3, 0, error=NotApplicableError)
        assert "weighted" in repr(weighted)

    def test_the_way_on(self):
        rng = np.random.default_rng(2)
        y, x = rng.normal(size=500), rng.normal(0, 1.5, size=(500, 50))
        w = np.exp(-x * x / 2 + x * x / 4.5)
        u = cb.pit(y, cb.Samples(x, draw_weights=w), y_weight=np.exp(-y * y / 2 + y * y / 4.5), rng=0)
        assert cb.uniformity_test(None, cb.CdfValues(u)).pvalue > 0.001

    def test_rows_keep_their_weights(self):
        weighted = cb.Samples([[1.0, 2.0], [3.0, 4.0]], draw_weights=[[1.0, 3.0], [5.0, 6.0]])
        assert weighted.take([1]).draw_weights.tolist() == [[5.0, 6.0]]


class TestChains:
    def test_they_are_kept(self):
        draws = RNG.normal(size=(4, 3, 5, 2))
        samples = cb.Samples.from_chains(draws, names=["a", "b"])
        assert (samples.chains, samples.M, samples.names, samples.thinned) == (3, 15, ("a", "b"), "")
        np.testing.assert_array_equal(samples.held.reshape(draws.shape), draws)
        assert samples.take([0]).chains == 3

    def test_a_mapping_names_its_coordinates(self):
        samples = cb.Samples.from_chains({"mu": np.zeros((4, 2, 5)), "b": np.ones((4, 2, 5, 2))})
        assert samples.names == ("mu", "b[0]", "b[1]")

    def test_every_kth(self):
        draws = np.arange(2 * 2 * 5.0).reshape(2, 2, 5)
        kept = cb.Samples.from_chains(draws, thin=2)
        assert kept.held[0].tolist() == [0.0, 2.0, 4.0, 5.0, 7.0, 9.0]
        assert (kept.chains, kept.M) == (2, 6)

    def test_effective_size(self):
        """Rows of independent draws stay; rows in which each draw comes four times keep about a quarter."""
        fresh = RNG.normal(size=(2, 4, 250))
        slow = np.repeat(RNG.normal(size=(2, 4, 50)), 5, axis=2)
        kept = cb.Samples.from_chains(np.concatenate([fresh, slow]), thin="ess")
        assert kept.counts[:2].min() >= 500
        assert kept.counts[2:].max() <= 400
        assert "autocorrelation times" in kept.thinned
        assert f"{kept.counts.min()} to {kept.counts.max():,} draws of 1,000 a row" in kept.thinned

    def test_the_largest_time_over_coordinates_counts(self):
        fresh = RNG.normal(size=(3, 2, 300))
        slow = np.repeat(RNG.normal(size=(3, 2, 60)), 5, axis=2)
        alone = cb.Samples.from_chains(slow, thin="ess")
        both = cb.Samples.from_chains(np.stack([fresh, slow], axis=3), thin="ess")
        most = [s.held.shape[1] if s.counts is None else s.counts.max() for s in (alone, both)]
        assert most[1] <= most[0]

    def test_thinning_mends_the_ends_and_the_audit_says_so(self):
        rng = np.random.default_rng(4)
        x = np.empty((400, 2, 200))
        x[:, :, 0] = rng.normal(size=(400, 2))
        for t in range(1, 200):
            x[:, :, t] = 0.8 * x[:, :, t - 1] + 0.6 * rng.normal(size=(400, 2))
        y = rng.normal(size=400)
        thinned = cb.Samples.from_chains(x, thin="ess")
        m = int(thinned.counts.min()) + 1
        first = cb.Samples(x[:, 0, : m - 1])
        ends = [m / 2 * np.isin(cb.ranks(y, s, rng=0), (0, m - 1)).mean() for s in (first, thinned)]
        assert ends[0] > 2
        assert ends[1] < 1.5
        found = cb.audit(y, thinned, resamples=19)
        assert any("Chains were thinned" in caveat for caveat in found.findings.caveats)

    @pytest.mark.parametrize(
        ("args", "options", "words"),
        [
            *(([np.zeros((2, 2, 5))], {"thin": thin}, "thin") for thin in ("auto", 0, 1.5)),
            ([np.zeros((2, 5))], {}, "(n, chains, draws)"),
            (
                [np.zeros((2, 2, 5))],
                {"columns": ["a"]},
                "has no argument columns. Name the coordinates by Samples.from_",
            ),
            ([np.zeros((2, 2, 5))], {"nmes": ["a"]}, "has no argument nmes. Did you mean names=?"),
            ([np.zeros((2, 2, 5)), 2], {}, "Samples.from_chains takes draws by position; got 2 positional arguments"),
            ([], {}, "Samples.from_chains needs draws. Call it as Samples.from_chains(draws)"),
        ],
    )
    def test_refusals(self, args, options, words, refusal):
        assert words in refusal(cb.Samples.from_chains, *args, **options)


FRAMES = [pd.DataFrame, pl.DataFrame, dict]


class TestNames:
    y = RNG.normal(size=(40, 2))
    draws = RNG.normal(size=(40, 9, 2))

    @pytest.mark.parametrize("frame", FRAMES)
    def test_those_of_outcomes_reach_every_verb(self, frame):
        y, samples = frame({"height": self.y[:, 0], "weight": self.y[:, 1]}), cb.Samples(self.draws)
        names = ("height", "weight")
        for verb in (cb.ecdf_difference, cb.rank_histogram, cb.expected_coverage, cb.uniformity_test):
            assert verb(y, samples).details["names"] == names
        assert cb.explain(y, samples).names == names
        assert cb.summarize(cb.ranks, y, samples).names == names
        audit = cb.audit(y, samples, resamples=19)
        table = next(table for section in audit.findings.sections for table in section.tables)
        assert sorted(table.columns["coordinate"]) == list(names)
        assert cb.summarize(cb.ranks, y, samples, quantity="product").names == ("height × weight",)

    def test_those_of_draws(self):
        samples = cb.Samples({"a": self.draws[:, :, 0], "b": self.draws[:, :, 1]})
        assert samples.names == ("a", "b")
        assert cb.ecdf_difference(self.y, samples).details["names"] == ("a", "b")
        assert cb.ecdf_difference(self.y[:9], samples.take(np.arange(9))).details["names"] == ("a", "b")

    def test_trees(self):
        rows = read_outcomes({"a": self.y[:, 0], "b": {"c": self.y[:, :1]}}, cb.Samples(self.draws))
        assert rows.names == ("a", "b.c[0]")

    def test_laws(self):
        y = pd.DataFrame(self.y, columns=["a", "b"])
        law = cb.MvNormal(np.zeros((40, 2)), np.eye(2))
        assert cb.uniformity_test(y, law).details["names"] == ("a", "b")

    def test_refusals(self, refuses):
        of_samples = {
            "one for two": (self.draws, {"names": ["a"]}, "2 different names"),
            "twins": (self.draws, {"names": ["a", "a"]}, "2 different names"),
            "of numbers": (self.draws[:, :, 0], {"names": ["a"]}, "coordinates of vectors"),
            "columns": (self.draws, {"columns": ["a", "b"]}, "Samples(draws, names=['a', 'b'])"),
        }
        refuses(lambda draws, options: cb.Samples(draws, **options), of_samples)
        assert list(inspect.signature(cb.Samples).parameters) == ["draws", "log_density", "draw_weights", "names"]
        of_outcomes = {
            "other order": (pd.DataFrame(self.y, columns=["b", "a"]), "put both in one order"),
            "no entries": ({}, "without entries"),
            "a number": ({1: [1.0]}, "the name 1"),
            "lengths": ({"a": np.zeros(40), "b": np.zeros(39)}, "the same first axis"),
            "text": ({"a": np.zeros(40), "b": ["x"] * 40}, "y['b'] must be real numbers"),
        }
        refuses(lambda y: cb.ranks(y, cb.Samples(self.draws, names=["a", "b"])), of_outcomes)


class TestQuantities:
    y = RNG.normal(size=(50, 3))
    draws = RNG.normal(size=(50, 9, 3))

    @pytest.mark.parametrize(
        ("name", "f"),
        [
            ("sum", lambda z: z.sum(axis=2)),
            ("max", lambda z: z.max(axis=2)),
            ("min", lambda z: z.min(axis=2)),
            ("range", lambda z: np.ptp(z, axis=2)),
            ("norm", lambda z: ((z / z.reshape(-1, 3).std(axis=0)) ** 2).sum(axis=2)),
        ],
    )
    def test_ready_ones_are_functions_of_the_members(self, name, f):
        samples = cb.Samples(self.draws)
        np.testing.assert_array_equal(cb.ranks(self.y, samples, quantity=name), cb.ranks(self.y, samples, quantity=f))

    def test_mean_distance_is_that_of_joint_ranks(self):
        samples = cb.Samples(self.draws)
        found = cb.ranks(self.y, samples, quantity="mean_distance")
        np.testing.assert_array_equal(found, cb.ranking.joint_ranks(self.y, samples))
        assert cb.summarize(cb.ranks, self.y, samples, quantity="mean_distance").outward

    def test_log_density_is_energy_ranks(self):
        q = -(self.draws**2).sum(axis=2)
        samples, of_y = cb.Samples(self.draws, log_density=q), -(self.y**2).sum(axis=1)
        found = cb.ranks(self.y, samples, quantity="log_density", log_density_y=of_y)
        np.testing.assert_array_equal(found, cb.ranking.energy_ranks(self.y, samples, log_density_y=of_y))
        curve = cb.expected_coverage(self.y, samples, quantity="log_density", log_density_y=of_y)
        assert curve.details["region"] == "hpd"

    def test_products_of_all_pairs(self):
        found = cb.summarize(cb.ranks, self.y, cb.Samples(self.draws), quantity="product")
        assert found.names == ("0 × 1", "0 × 2", "1 × 2")
        by_hand = cb.ranks(self.y, cb.Samples(self.draws), quantity=lambda z: z[:, :, 0] * z[:, :, 2])
        np.testing.assert_array_equal(found.counts[:, 1], np.bincount(by_hand, minlength=10))

    def test_log_likelihood_exposes_climatology(self, rng):
        """Draws of the prior have uniform ranks; by the log likelihood of x they do not."""
        theta = rng.normal(size=300)
        x = rng.normal(theta)
        prior = cb.Samples(rng.normal(size=(300, 49)))
        f = lambda z, x: -((x[:, None] - z) ** 2)  # noqa: E731
        given = {"quantity": "log_likelihood", "log_likelihood": f, "covariates": x}
        assert cb.uniformity_test(theta, prior).pvalue > 0.01
        assert cb.uniformity_test(theta, prior, **given).pvalue < 1e-6
        audit = cb.audit(theta, prior, **given)
        assert audit.verdict.status == "miscalibrated"
        claims = {claim.test: claim.kind for claim in audit.verdict.claims}
        assert claims["ranks by log_likelihood"] == "miscalibrated"
        exact = cb.Samples(rng.normal(x[:, None] / 2, np.sqrt(0.5), size=(300, 49)))
        assert cb.uniformity_test(theta, exact, **given).pvalue > 0.01

    def test_relations_of_quantities(self, rng):
        """The product of two coordinates is related to x, though neither coordinate is."""
        x = rng.normal(size=400)
        sign = np.where(rng.random(400) < 0.5, -1.0, 1.0)[:, None]
        size = np.abs(rng.normal(size=(400, 2)))
        size[:, 1] *= np.where(x > 0, 1.0, -1.0)
        samples = cb.Samples(rng.normal(size=(400, 49, 2)))
        options = {"covariates": x, "resamples": 99}
        related = cb.conditional_test(sign * size, samples, quantity="product", **options)
        assert related.pvalue <= 0.01
        assert cb.conditional_test(sign * size, samples, **options).pvalue > 0.01
        unequal = cb.Samples([row[: 9 + i % 5] for i, row in enumerate(samples.held)])
        assert cb.conditional_test(sign * size, unequal, quantity="product", **options).pvalue <= 0.01

    @pytest.mark.parametrize("verb", [cb.ecdf_difference, cb.rank_histogram, cb.uniformity_test, cb.explain])
    def test_every_verb_takes_them(self, verb):
        samples = cb.Samples(self.draws)
        mapping = {"first": lambda z: z[:, :, 0], "total": "sum"}
        found = verb(self.y, samples, quantity=mapping)
        assert (found.names if verb is cb.explain else found.details["names"]) == ("first", "total")
        summary = cb.summarize(cb.ranks, self.y, samples, quantity=mapping)
        same = verb(summary)
        np.testing.assert_array_equal(
            np.ravel(found.pvalue if hasattr(found, "pvalue") else found.details["pvalue"]),
            np.ravel(same.pvalue if hasattr(same, "pvalue") else same.details["pvalue"]),
        )

    def test_the_audit_counts_them_as_checks(self):
        found = cb.audit(self.y, cb.Samples(self.draws), quantity=["sum", "norm"], resamples=19)
        names = [m.name for m in found.findings.measurements]
        assert {"ranks.sum", "ranks.norm"} <= set(names)
        assert any("adjusted for 6 checks" in m.method for m in found.findings.measurements)

    def test_weight_zero_rows_are_dropped_with_their_covariates(self, rng):
        y, x, draws = rng.normal(size=30), rng.normal(size=30), rng.normal(size=(30, 9))
        given = {"quantity": lambda z, x: (z - x[:, None]) ** 2}
        w = np.r_[np.zeros(5), np.ones(25)]
        found = cb.audit(y, cb.Samples(draws), weights=w, covariates=x, resamples=19, **given)
        same = cb.audit(y[5:], cb.Samples(draws[5:]), covariates=x[5:], resamples=19, **given)
        assert found.findings.measurements == same.findings.measurements

    def test_refusals(self, refuses, refusal):
        cases = [
            ({"quantity": "summ"}, "Did you mean 'sum'?"),
            ({"quantity": ["sum", "sum"]}, "different names"),
            ({"quantity": "log_likelihood"}, "go together"),
            ({"log_likelihood": lambda z, x: z}, "go together"),
            ({"quantity": "sum", "log_density_y": [1.0]}, 'goes with quantity="log_density"'),
            ({"quantity": "log_density"}, "Samples(draws, log_density=...)"),
            ({"quantity": "log_likelihood", "log_likelihood": 3}, "must be a function"),
            ({"quantity": "log_likelihood", "log_likelihood": lambda z, x: z}, "needs covariates="),
        ]
        refuses(lambda given: cb.ranks(self.y, cb.Samples(self.draws), **given), cases)
        assert "for vectors" in refusal(cb.ranks, [0.0], cb.Samples([[1.0]]), quantity="sum", error=NotApplicableError)
        many = cb.Samples(np.zeros((2, 3, 11)))
        assert "at most 10" in refusal(cb.ranks, np.ones((2, 11)), many, quantity="product", error=NotApplicableError)
