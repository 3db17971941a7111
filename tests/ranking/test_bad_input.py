"""Bad input of verbs of draws and ranks: huge and tiny numbers, types that differ, bytes that do not fit."""

import warnings
from dataclasses import fields

import numpy as np
import pytest

from calibrant import Normal, Samples, audit, pit, ranks
from calibrant.conditional.conditional_test import conditional_test
from calibrant.conditional.kept import KeptCovariates
from calibrant.core import summary as codec
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.ranking import contraction, energy_ranks, joint_ranks, tarp_ranks, z_scores
from calibrant.ranking.covariates import rank_score_test
from calibrant.ranking.exchange_test import rank_exchange_test
from calibrant.summaries import Ranks, Summary

RNG = np.random.default_rng(0)
N, M = 40, 9
Y, DRAWS, X = RNG.normal(size=N), RNG.normal(size=(N, M)), RNG.normal(size=(N, 2))
VECTORS, CLOUDS = RNG.normal(size=(N, 3)), RNG.normal(size=(N, M, 3))
COUNTED = Ranks.of(ranks(Y, Samples(DRAWS)), M)


def edited(summary, **values):
    """Return a summary read from bytes in which these values stand for its own."""
    held = {field.name: getattr(summary, field.name) for field in fields(summary)}
    return Summary.from_bytes(codec.encode(type(summary).__name__, {**held, **values}))


class TestTypes:
    @pytest.mark.parametrize("coarse", [np.float16, np.float32, ">f4"])
    def test_a_number_equals_its_rounding_in_the_coarser_type(self, coarse):
        for y, draws in (([0.1], np.array([[0.1, 0.2]], coarse)), (np.array([0.1], coarse), [[0.1, 0.2]])):
            with pytest.raises(InputError, match="equals draws in 1 of 1"):
                ranks(y, Samples(draws))
            with pytest.raises(InputError, match="equals that of draws in 1 of 1"):
                ranks(y, Samples(draws), quantity=lambda z: z)
            u = pit(y, Samples(draws, draw_weights=[[1.0, 1.0]]), y_weight=[1.0], rng=0)
            assert u[0] == pytest.approx(2 / 3 * np.random.default_rng(0).random())

    @pytest.mark.parametrize("coarse", [np.float16, np.float32])
    def test_so_does_a_density(self, coarse):
        rounded = np.array([[0.1, 0.2]], coarse)
        for q, of_y in ((rounded, [0.1]), ([[0.1, 0.2]], rounded[:, 0])):
            with pytest.raises(InputError, match="equals that of draws in 1 of 1"):
                energy_ranks([0.0], Samples([[0.0, 1.0]], log_density=q), log_density_y=of_y)

    def test_what_the_coarser_type_cannot_hold_is_infinite_but_not_where_distances_count(self, refusal):
        assert ranks([1e300, 0.0], Samples(np.array([[1, 2], [1, 2]], np.float32))).tolist() == [2, 0]
        assert ranks(np.float32([1, 2]), Samples([[1e300, -1e300], [1.0, 5.0]])).tolist() == [1, 1]
        samples = Samples([[0.0, 1.0]], log_density=[[-1e300, 0.2]])
        assert energy_ranks([0.0], samples, log_density_y=np.float32([0.1])).tolist() == [1]
        found = rank_exchange_test(np.float32([1, 2]), Samples([[1e300, -1e300], [1.0, 5.0]]))
        assert 0 < found.pvalue <= 1
        samples = Samples(CLOUDS.astype(np.float32))
        assert "Pass both as float64" in refusal(joint_ranks, np.array([1e300, -1e300] * 60).reshape(N, 3), samples)

    @pytest.mark.parametrize("what", ["draws", "log_density"])
    def test_whole_numbers_that_float64_rounds(self, refusal, what):
        big = np.array([[2**53 + 1, 0]])
        message = refusal(Samples, big) if what == "draws" else refusal(Samples, [[0.0, 1.0]], log_density=big)
        assert message.startswith(f"{what} must be numbers that float64 can represent; row 0, column 0 is 90071992")


class TestSizes:
    @pytest.mark.parametrize("factor", [2.0**-1050, 2.0**-530, 2.0**700, 2.0**1015])
    def test_z_scores_do_not_depend_on_the_unit(self, factor):
        few = np.round(DRAWS * 8) / 8 + np.arange(M)  # also a subnormal number holds these
        y = np.round(Y * 8) / 8
        np.testing.assert_allclose(z_scores(y * factor, Samples(few * factor)), z_scores(y, Samples(few)), rtol=1e-12)

    def test_what_float64_does_not_hold(self, refusal):
        assert "the scores must be finite; row 1 is -inf" in refusal(
            z_scores, [0.0, 1e308], Samples([[1.0, 2.0], [0.0, 1e-300]])
        )
        assert "beyond float64" in refusal(contraction, Y * 1e120, Samples(DRAWS * 1e160), error=NotApplicableError)
        assert contraction(Y, Samples(DRAWS * 1e200)) == -np.inf
        assert "too small" in refusal(rank_score_test, Y, Samples(DRAWS), covariates=X * 1e-160)

    @pytest.mark.parametrize("factor", [1e-160, 1e200])
    def test_contraction_of_outcomes_whose_variance_float64_does_not_hold(self, refusal, factor):
        message = refusal(contraction, Y * factor, Samples(DRAWS * factor), error=NotApplicableError)
        assert "rescale" in message

    @pytest.mark.parametrize("factor", [5e-324, 1e-200, 1e200, 1e308])
    @pytest.mark.parametrize("own", [True, False])
    def test_draw_weights_have_no_unit(self, factor, own):
        def u(size):
            given = {"y_weight": np.full(N, size)} if own else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return pit(Y, Samples(DRAWS, draw_weights=np.full((N, M), size)), rng=0, **given)

        np.testing.assert_allclose(u(factor), u(1.0), rtol=1e-14)

    @pytest.mark.parametrize(("row", "scale"), [(0, [1e-300]), (1, None)])
    def test_distances_whose_squares_float64_does_not_hold_are_no_ties(self, refusal, row, scale):
        given = {"references": [0.0, 0.0], "scale": scale, "error": NotApplicableError}
        message = refusal(tarp_ranks, [2.5, 1e-200], Samples([[2.0, 3.0], [2e-200, 1.0]]), **given)
        assert f"the reference of row {row}" in message

    @pytest.mark.parametrize("factor", [1e-310, 1e-160, 1e160, 1e299])
    def test_covariates_that_are_permuted_have_no_unit(self, factor):
        found = conditional_test(Y, Samples(DRAWS), covariates=X * factor, resamples=99, method="trend")
        expected = conditional_test(Y, Samples(DRAWS), covariates=X, resamples=99, method="trend")
        assert found.pvalue == expected.pvalue
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)

    def test_batches_of_covariates_that_are_too_far_apart(self):
        near, far = (Ranks.of([0, 1, 2], 3, covariates=[a, b, 0.0]) for a, b in ((1e150, 2e150), (1e153, 2e153)))
        assert np.isfinite((near + far).covariates[0].spread).all()
        with pytest.raises(SummaryError, match="divide covariates"):
            near + Ranks.of([0, 1, 2], 3, covariates=[1e200, 1e200, 1e200])

    def test_options(self, refusal):
        assert "M must be at most 134,217,728" in refusal(Ranks.of, [0], M=10**9)
        assert "names must be 2 different texts" in refusal(Ranks.of, [[0, 1]], 2, names=5)
        for rng in ("x", -1, 1.0, True):  # refused where none is needed
            assert "rng must be" in refusal(ranks, Y, Samples(DRAWS), rng=rng)
            assert "rng must be" in refusal(energy_ranks, Y, Normal(Y, 1.0), rng=rng)


class TestFunctions:
    def test_may_write_all_their_values_into_one_array(self):
        values = np.empty((N, M + 1))
        found = ranks(VECTORS, Samples(CLOUDS), quantity=lambda z: z.sum(axis=2, out=values))
        assert np.array_equal(found, ranks(VECTORS, Samples(CLOUDS), quantity=lambda z: z.sum(axis=2)))

    def test_cannot_change_the_members(self):
        def rude(z):
            z.flags.writeable = True
            z[:] = 0
            return z[:, :, 0]

        with pytest.raises(ValueError, match="WRITEABLE"):
            ranks(VECTORS, Samples(CLOUDS), quantity={"rude": rude, "first": lambda z: z[:, :, 0]}, rng=0)


class TestBytes:
    @pytest.mark.parametrize("values", [{"names": (1,)}, {"names": "a"}, {"cells": "yes"}, {"tied": np.array([N + 1])}])
    def test_ranks_that_no_rows_have(self, values):
        with pytest.raises(SummaryError):
            edited(COUNTED, **values)

    def test_columns_of_different_rows(self):
        two, one = Ranks.of([[0, 1], [1, 2]], 2), np.ones((1, 1))
        with pytest.raises(SummaryError, match="same rows in every column"):
            edited(two, counts=two.counts + np.eye(3, 2, dtype=np.int64) * [1, 0])
        with pytest.raises(SummaryError, match="different texts"):
            edited(two, names=("a", "a"))
        with pytest.raises(SummaryError, match="M >= 1"):
            Ranks(one.astype(int), one, one, ("",), True, np.zeros(1, int), False, False)
        columns = np.zeros((2 * N, 1), int), np.ones(2 * N), np.zeros((2 * N, 1))
        with pytest.raises(SummaryError, match="one Ranks"):
            KeptCovariates((COUNTED, COUNTED), *columns, ((),), ("x",), np.zeros(0, int))


class TestAudit:
    def test_huge_draws(self):
        table = audit(Y * 1e300, Samples(DRAWS * 1e300), resamples=19).table
        assert "contraction" not in table["name"]
        assert all(np.isfinite(value) for value in table["value"])

    def test_weights(self, refusal):
        q, of_y = RNG.normal(size=(N, M)), RNG.normal(size=N)
        w = np.arange(N) % 2
        options = {"weights": w, "resamples": 19}
        one = audit(Y, Samples(DRAWS, log_density=q), log_density_y=np.where(w, of_y, np.nan), **options)
        assert one.table == audit(Y, Samples(DRAWS, log_density=q), log_density_y=of_y, **options).table
        w = RNG.uniform(1, 2, N)
        assert "covariates= is used with ranks" in refusal(audit, Y, Samples(DRAWS), covariates=X, weights=w)
