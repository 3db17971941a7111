"""Claims and notes on a column of ranks."""

import numpy as np
import pytest

from calibrant.core.evidence import ALL_ROWS
from calibrant.judging.notes import text_of
from calibrant.judging.voice import paragraph
from calibrant.ranking import failures as kinds
from calibrant.ranking.draw_evidence import DrawEvidence, Outside
from calibrant.ranking.failures import NormalErrors
from calibrant.ranking.pair_dependence import Together
from calibrant.ranking.rank_claims import RankedColumn, Rates, column_claims, column_notes, visible_notes

ERRORS = NormalErrors(0.4, 0.3, 0.5, 1.43, 1.38, 1.48)
COUNTS = np.full(100, 5)
RATES = Rates(0.95, 0.05, 0.025)
SEEN = ("none",), COUNTS, False, ERRORS, {0.5: 0.36, 0.9: 0.76}, (0.13, 1.11), 0.002, RATES
FOUND = RankedColumn(*SEEN, normal=True)
OUTSIDE = Outside((3, 17), 1, 1, 8.5, 1.0)
DEPENDENT = DrawEvidence(tau=9.3, dependence=1e-9)
EVERY = {value for name, value in vars(kinds).items() if name.isupper() and isinstance(value, str)}


def column(*failures, **changes):
    return FOUND._replace(failures=failures, **changes)


def claims(*failures, **changes):
    return {claim.quantity: claim for claim in column_claims(column(*failures, **changes), ALL_ROWS)}


class TestClaims:
    def test_limits_rows_and_descriptions(self):
        found = claims(kinds.HIGH, kinds.NARROW)
        assert (found["shift"].low, found["shift"].high, found["shift"].kind) == (0.3, 0.5, "above")
        assert (found["spread"].low, found["spread"].expected) == (1.38, 1.0)
        found = claims(kinds.HIGH, kinds.NARROW, normal=False)
        assert [(claim.kind, claim.level, claim.estimate) for claim in found.values()] == [
            ("description", None, 0.4),
            ("description", None, 1.43),
        ]
        assert np.isnan([claim.low for claim in found.values()]).all()
        counts = COUNTS.copy()
        counts[0] = 45
        claim = claims(kinds.OUTSIDE, counts=counts, outside=OUTSIDE)["outside"]
        assert claim.row_numbers == (3, 17)
        assert (claim.kind, claim.estimate, claim.expected) == ("above", 50 / 540, 0.02)
        assert claim.low > 0.02
        found = claims(kinds.DRAWS, kinds.SKEWED, evidence=DEPENDENT)
        assert {claim.kind for claim in found.values()} == {"description"}
        assert found["draws"].estimate == 9.3

    @pytest.mark.parametrize("failure", sorted(EVERY - {kinds.NONE, kinds.RELATED, kinds.DRAWS}))
    def test_every_failure_has_words(self, failure):
        assert claims(kinds.NONE) == {}
        assert "nan" not in paragraph(column_claims(column(failure), ALL_ROWS))
        if failure in (kinds.WIDE, kinds.OUTWARD_HIGH, kinds.OUTWARD_SHAPE):
            outward = paragraph(column_claims(column(failure, outward=True), ALL_ROWS))
            assert outward.startswith("Regions of predictions")


class TestNotes:
    @pytest.mark.parametrize(
        ("evidence", "key"), [(DEPENDENT, "dependent draws"), (DrawEvidence(repeats=1e-9), "repeated draws")]
    )
    def test_of_the_draws(self, evidence, key):
        (found,) = column_notes(column(kinds.DRAWS, evidence=evidence))
        assert found.key == key
        assert found.values.get("step", 10) == 10

    def test_of_many_rows_ten_are_named(self):
        (found,) = column_notes(column(kinds.OUTSIDE, outside=OUTSIDE._replace(rows=tuple(range(25)))))
        assert found.values["rows"] == tuple(range(10))
        assert "8 and 9 and 15 more: 8.5 sd" in text_of(found)[1]

    def test_visible_errors_are_rounded_up(self):
        (found,) = visible_notes(column(kinds.NONE, smallest=(0.1301, 1.111)))
        assert (found.key, found.values["shift"], found.values["spread"]) == ("visible", 0.14, 1.12)
        (of_one_draw,) = visible_notes(column(kinds.NONE, smallest=(0.3, np.nan)))
        assert (of_one_draw.key, of_one_draw.values["shift"]) == ("visible shift", 0.3)
        assert visible_notes(column(kinds.NONE, smallest=(np.inf, np.inf))) == []


@pytest.mark.parametrize(
    ("together", "passes", "failure"),
    [
        (Together(1e-9), (True, True), "dependence wrong"),
        (Together(1e-9), (True, False), "other"),
        (Together(0.2), (True, True), "none"),
        (Together(), (True, True), ""),
    ],
)
def test_failure_of_all_columns_together(together, passes, failure):
    assert together.failure(0.95, passes) == failure
