"""Sentences about ranks."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.evidence import ALL_ROWS
from calibrant.core.words import limits_words
from calibrant.ranking import failures as kinds
from calibrant.ranking.column_claims import RankedColumn, Rates, column_claims
from calibrant.ranking.draw_evidence import DrawEvidence, Far, Outside
from calibrant.ranking.explain_words import Explanation, joint_sentence, sentence
from calibrant.ranking.failures import NormalErrors
from calibrant.ranking.pair_dependence import Together

ERRORS = NormalErrors(0.4, 0.3, 0.5, 1.43, 1.38, 1.48, True)
COUNTS = np.full(100, 5)
RATES, ADJUSTED = Rates(0.95, 0.05, 0.025), Rates(0.95, 0.01, 0.005)
FOUND = RankedColumn(("none",), COUNTS, False, False, ERRORS, {0.5: 0.36, 0.9: 0.76}, (0.13, 1.11), 0.002, RATES, 30)
OUTSIDE = Outside((3, 17), 1, 1, 8.5, 1.0, 8.5, "missed mode")
EVERY = [value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, str)]


def words(*failures, **changes):
    return sentence(FOUND._replace(failures=failures, **changes))


class TestSentences:
    def test_none(self):
        assert words(kinds.NONE, pvalue=0.43) == (
            "No departure beyond chance (95 %; p = 0.430). With 500 rows a spread that is wrong by a factor of 1.11, "
            "or a shift of 0.13 predictive standard deviations, would be found at least 4 times in 5."
        )

    def test_one_row(self):
        counts, smallest = np.array([1, 0, 0]), (np.inf, np.inf)
        assert words(kinds.NONE, counts=counts, smallest=smallest, pvalue=0.6).endswith(
            "With 1 row no error of the spread and no shift would be found at least 4 times in 5."
        )

    def test_adjusted_pvalues_are_called_so(self):
        assert words(kinds.NARROW, rates=ADJUSTED).endswith("Adjusted p = 0.002.")
        assert "(95 %; adjusted p = 0.430)" in words(kinds.NONE, pvalue=0.43, rates=ADJUSTED)

    def test_too_narrow_says_that_bias_may_look_the_same(self):
        assert words(kinds.NARROW) == (
            "Too narrow (over-confident): a 90 % interval contains the outcome 76 % of the time; multiply the spread "
            "by about 1.43 (95 % limits: 1.38 to 1.48). Bias that changes sign between rows makes the same ranks: "
            "split rows by a covariate. Exact p = 0.002."
        )

    def test_several_errors(self):
        assert words(kinds.HIGH, kinds.NARROW) == (
            "Predictions sit above the outcomes by about 0.40 predictive standard deviations (95 % limits: 0.30 to "
            "0.50); a 90 % interval contains the outcome 76 % of the time. Predictions are also too narrow: multiply "
            "the spread by about 1.43 (95 % limits: 1.38 to 1.48). Bias that changes sign between rows makes the "
            "same ranks: split rows by a covariate. Exact p = 0.002."
        )

    def test_a_negative_shift_is_told_by_its_size(self):
        errors = ERRORS._replace(shift=-0.4, shift_low=-0.5, shift_high=-0.3)
        assert "below the outcomes by about 0.40 predictive standard deviations (95 % limits: 0.30 to 0.50)" in words(
            kinds.LOW, errors=errors
        )

    def test_skewed_names_the_tails(self):
        counts = COUNTS.copy()
        counts[:5], counts[-5:] = 20, 1  # 100 and 5 of 560 rows
        assert (
            "lower tail of the predictions is too short and the upper too long. The outcome falls below their 5 % "
            in words(kinds.SKEWED, counts=counts, skew=-4.0)
        )
        assert "point 18 % of the time and above their 95 % point 1 %" in words(kinds.SKEWED, counts=counts, skew=-4.0)
        assert "lower tail of the predictions is too long and the upper too short" in words(kinds.SKEWED, skew=4.0)

    def test_tails_too_long(self):
        assert (
            "the core of the predictions is too narrow and their tails are too long. 50 % intervals contain 36 % of "
            in (words(kinds.HEAVY))
        )
        wide = ERRORS._replace(spread=0.9)
        assert "Wrong shape: the tails of the predictions are too long." in words(kinds.HEAVY, errors=wide)

    def test_outside(self):
        counts = COUNTS.copy()
        counts[0] = 45  # of 540
        assert words(kinds.OUTSIDE, counts=counts, outside=OUTSIDE) == (
            "The outcome lies outside all 99 draws 9 % of the time where 2 % is expected (8 % below, 1 % above), in "
            "rows 3, 17: they lie 8.5 standard deviations beyond the nearest draw (median), on both sides, as if a "
            "mode was missed. Exact p = 0.002."
        )

    def test_far_outside_has_its_own_pvalue(self):
        evidence = DrawEvidence(far=Far((3, 17), np.array([0, 99]), 2, 1e-4))
        assert words(kinds.OUTSIDE, evidence=evidence, outside=OUTSIDE, pvalue=0.4) == (
            "The outcome lies more than 6 standard deviations outside all draws in rows 3, 17 (exact p < 0.001): they "
            "lie 8.5 standard deviations beyond the nearest draw (median), on both sides, as if a mode was missed."
        )

    def test_of_many_rows_ten_are_named(self):
        found = words(kinds.OUTSIDE, outside=OUTSIDE._replace(rows=tuple(range(25))))
        assert "in rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 15 more" in found

    def test_dependent_draws_come_first(self):
        found = words(kinds.DRAWS, evidence=DrawEvidence(tau=9.3, dependence=1e-9))
        expected = "Draws depend on those before them: about 9.3 or more are worth one independent draw"
        assert found.startswith(f"{expected} (adjusted p < 0.001).")
        assert "draws[:, ::10]" in found
        assert "multiply" not in found
        calm = words(kinds.NONE, evidence=DrawEvidence(tau=9.3, dependence=1e-9), pvalue=0.4)
        assert calm.startswith("Draws depend")
        assert "No departure beyond chance" in calm

    def test_repeated_draws(self):
        assert words(kinds.DRAWS, evidence=DrawEvidence(repeats=1e-9)).startswith("Draws repeat, as resampled ones do")

    def test_distributions_have_no_draws(self):
        found = words(kinds.OUTSIDE, cells=True, counts=np.full(1000, 3))
        assert "outside the central 99.8 % interval" in found
        assert "draws" not in found

    def test_other_says_where(self):
        assert "the outcome falls below the 30 % point of its prediction 30 % of the time" in words(kinds.OTHER)

    def test_beyond_measure(self):
        errors = ERRORS._replace(
            measurable=False, shift_low=3.649, shift_high=np.inf, spread_low=8.0, spread_high=np.inf
        )
        assert "above the outcomes by 3.64 predictive standard deviations or more" in words(kinds.HIGH, errors=errors)
        assert "multiply the spread by 8.00 or more" in words(kinds.NARROW, errors=errors)
        narrow = ERRORS._replace(measurable=False, spread=0.05, spread_low=0.0, spread_high=0.101)
        assert "multiply the spread by 0.11 or less" in words(kinds.WIDE, errors=narrow)

    def test_one_draw_has_no_interval_and_no_spread(self):
        alone = {"counts": np.array([70, 30]), "coverage": {}, "smallest": (0.3, np.nan)}
        assert words(kinds.HIGH, **alone).endswith("(95 % limits: 0.30 to 0.50). Exact p = 0.002.")
        assert "With 100 rows a shift of 0.30 predictive standard deviations would" in words(kinds.NONE, **alone)

    def test_many_rows_have_a_decimal(self):
        assert "contains the outcome 76.4 % of the time" in words(
            kinds.NARROW, counts=COUNTS * 10, coverage={0.9: 0.7642}
        )

    def test_outward_ranks_have_regions_and_no_direction(self):
        found = words(kinds.OUTWARD_HIGH, outward=True)
        assert (
            "a direction that these ranks do not show; 50 % regions contain 36 % and 90 % regions contain 76 %" in found
        )
        assert words(kinds.WIDE, outward=True).startswith("Regions too large: predictions are too wide; 50 % regions")
        assert words(kinds.OUTWARD_SHAPE, outward=True).startswith("Regions of the right size and the wrong shape")
        assert words(kinds.NONE, outward=True, pvalue=0.3) == "No departure beyond chance (95 %; p = 0.300)."

    @pytest.mark.parametrize("failure", sorted(set(EVERY)))
    @pytest.mark.parametrize("outward", [False, True])
    def test_every_failure_has_a_sentence(self, failure, outward):
        found = words(failure, outward=outward)
        assert found.endswith(".")
        assert "nan" not in found
        assert ". ." not in found
        assert "; ." not in found


@given(st.floats(-0.5, 0.5), st.floats(1e-4, 0.5), st.sampled_from([0.0, 1.0]))
def test_rounded_limits_contain_the_limits_and_stay_on_their_side(low, width, expected):
    low, high = expected + low, expected + low + width
    first, last = limits_words(low, high, expected).replace("−", "-").split(" to ")
    assert max(len(first), len(last)) <= len("above 1")
    if first == f"above {expected:g}":
        assert expected < low < expected + 0.001
    else:
        assert float(first) <= low + 1e-9
        assert (float(first) > expected) == (low > expected) or abs(low - expected) <= 1e-5
    if last == f"below {expected:g}":
        assert expected - 0.001 < high < expected
    else:
        assert float(last) >= high - 1e-9
        assert (float(last) < expected) == (high < expected) or abs(high - expected) <= 1e-5


class TestJoint:
    NAMES = ("a", "b")

    def test_dependence(self):
        assert joint_sentence(Together(1e-9), self.NAMES, 0.95, (True, True)) == (
            "dependence wrong",
            "No single variable is off beyond chance; together they are, as wrong dependence makes them (joint ranks, "
            "adjusted p < 0.001).",
        )

    def test_marginal_errors_come_first(self):
        failure, words = joint_sentence(Together(1e-9), self.NAMES, 0.95, (True, False))
        assert failure == "other"
        assert "correct single variables first" in words

    def test_none(self):
        assert joint_sentence(Together(0.2), self.NAMES, 0.95, (True, True)) == (
            "none",
            "The joint ranks show no departure beyond chance (adjusted p = 0.200).",
        )
        assert joint_sentence(Together(), self.NAMES, 0.95, (True, True)) == ("", "")


class TestClaims:
    def claims(self, *failures, **changes):
        return {
            claim.quantity: claim for claim in column_claims(FOUND._replace(failures=failures, **changes), ALL_ROWS)
        }

    def test_have_the_limits_of_the_sentence(self):
        found = self.claims(kinds.HIGH, kinds.NARROW)
        assert (found["shift"].low, found["shift"].high, found["shift"].kind) == (0.3, 0.5, "above")
        assert (found["spread"].low, found["spread"].expected) == (1.38, 1.0)

    def test_outside_names_its_rows(self):
        counts = COUNTS.copy()
        counts[0] = 45
        claim = self.claims(kinds.OUTSIDE, counts=counts, outside=OUTSIDE)["outside"]
        assert claim.row_numbers == (3, 17)
        assert (claim.kind, claim.estimate, claim.expected) == ("above", 50 / 540, 0.02)
        assert claim.low > 0.02

    def test_nothing_is_claimed_of_what_passes(self):
        assert self.claims(kinds.NONE) == {}

    def test_draws_and_shapes_are_descriptions(self):
        found = self.claims(kinds.DRAWS, kinds.SKEWED, evidence=DrawEvidence(tau=9.3, dependence=1e-9))
        assert {claim.kind for claim in found.values()} == {"description"}
        assert found["draws"].estimate == 9.3


ONE = Explanation(
    sentence="Too narrow.",
    failure="too narrow",
    shift=-0.001,
    shift_low=-0.1,
    shift_high=0.1,
    spread=1.43,
    spread_low=1.38,
    spread_high=1.48,
    coverage={0.5: 0.36, 0.9: 0.76},
    smallest_shift=0.0645,
    smallest_spread=1.054,
    pvalue=1e-9,
    n=2000,
    M=99,
    level=0.95,
)


def several(C):
    numbers = {
        name: np.zeros(C) for name in ("shift", "shift_low", "shift_high", "spread", "spread_low", "spread_high")
    }
    return replace(
        ONE,
        sentence=tuple(f"Sentence {c}." for c in range(C)),
        failure=("none",) * C,
        pvalue=np.linspace(1, 0, C),
        names=tuple(f"x{c}" for c in range(C)),
        **numbers,
    )


def test_print_shows_sentence_effects_and_what_could_be_seen():
    assert str(ONE) == (
        "Too narrow.\n"
        "Shift +0.00 (−0.10 to 0.10) predictive sd, spread to be multiplied by 1.43 (1.38 to 1.48); "
        "smallest visible at 2,000 rows: shift 0.07, spread x 1.06."
    )


def test_several_columns_have_a_line_each():
    found = replace(several(2), joint="Their dependence is wrong.")
    assert str(found).splitlines() == [
        "x1: Sentence 1.",
        "x0: Sentence 0.",
        "Their dependence is wrong.",
        "Smallest visible at 2,000 rows: shift 0.07, spread x 1.06.",
    ]


def test_of_many_columns_those_of_the_smallest_pvalues_are_shown():
    lines = str(several(20)).splitlines()
    assert lines[:2] == ["x19: Sentence 19.", "x18: Sentence 18."]
    assert lines[12] == "8 further columns have larger p-values."


def test_one_draw_tells_no_spread():
    found = str(replace(ONE, spread=np.nan, smallest_spread=np.nan))
    assert "spread" not in found
    assert "nan" not in found


def test_outward_ranks_tell_neither():
    assert str(replace(ONE, smallest_shift=np.nan, smallest_spread=np.nan)) == "Too narrow."


def test_effects_beyond_measure_are_not_printed():
    found = str(replace(ONE, shift=3.6, shift_low=-np.inf, shift_high=np.inf, spread_high=np.inf))
    assert found.splitlines()[1] == "Smallest visible at 2,000 rows: shift 0.07, spread x 1.06."


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ONE.failure = "none"
    with pytest.raises(TypeError):
        ONE.coverage[0.5] = 0.5


def test_travels():
    back = pickle.loads(pickle.dumps(ONE))
    assert str(back) == str(ONE)
    assert back.coverage == ONE.coverage


def test_repr_is_short():
    assert repr(ONE) == "Explanation('too narrow', n=2000, M=99)"
