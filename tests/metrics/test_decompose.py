"""The parts of a mean score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import SummaryError, brier_score, decompose, log_score, reliability_curve, summarize
from calibrant.catalogue import find

rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=25,
)


def columns(drawn):
    return (np.array(column) for column in zip(*drawn, strict=True))


class TestIsotonic:
    def test_by_hand(self):
        # Frequencies 1, 0, 1 at 0.25, 0.5, 0.75: the first two pool to 1/2. Base rate 2/3.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75])
        score, fit, unc = (0.5625 + 0.25 + 0.0625) / 3, (0.25 + 0.25) / 3, 2 / 9
        assert parts.score == pytest.approx(score)
        assert parts.mcb == pytest.approx(score - fit)
        assert parts.dsc == pytest.approx(unc - fit)
        assert parts.unc == pytest.approx(unc)
        assert parts.within == 0.0

    def test_log_by_hand(self):
        # The same fit: two rows at 1/2 and one at 1, so S = 2 ln 2 / 3; base rate 2/3.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75], score="log")
        fit, unc = 2 * math.log(2) / 3, -(2 * math.log(2 / 3) + math.log(1 / 3)) / 3
        assert parts.score == pytest.approx((math.log(4) + math.log(2) - math.log(0.75)) / 3)
        assert parts.mcb == pytest.approx(parts.score - fit)
        assert parts.dsc == pytest.approx(unc - fit)
        assert parts.unc == pytest.approx(unc)

    def test_weights(self):
        # Weight 3 on the first row: pooled fit (3 + 0)/4 over the first two.
        parts = decompose([1, 0, 1], [0.25, 0.5, 0.75], weights=[3, 1, 1])
        assert parts.score == pytest.approx((3 * 0.5625 + 0.25 + 0.0625) / 5)
        assert parts.score - parts.mcb == pytest.approx((3 * 0.0625 + 0.5625) / 5)
        assert parts.unc == pytest.approx(0.8 * 0.2)

    @given(rows, st.sampled_from(["brier", "log"]))
    def test_laws(self, drawn, score):
        y, p, w = columns(drawn)
        parts = decompose(y, p, weights=w, score=score)
        verb = brier_score if score == "brier" else log_score
        assert parts.score == pytest.approx(verb(y, p, weights=w), rel=1e-12, abs=1e-15)
        assert parts.mcb >= 0
        assert 0 <= parts.dsc <= parts.unc + 1e-12
        assert np.isfinite([parts.dsc, parts.unc]).all()
        if math.isfinite(parts.score):
            assert parts.mcb - parts.dsc + parts.unc == pytest.approx(parts.score, abs=1e-12)
        repeated = decompose(np.repeat(y, w), np.repeat(p, w), score=score)
        assert repeated.dsc == pytest.approx(parts.dsc, abs=1e-12)
        assert repeated.unc == pytest.approx(parts.unc, abs=1e-12)

    def test_impossible_row(self):
        parts = decompose([1, 0, 1], [0.0, 0.25, 0.75], score="log")
        assert parts.score == parts.mcb == math.inf
        assert parts.unc == pytest.approx(-(2 * math.log(2 / 3) + math.log(1 / 3)) / 3)
        assert 0 <= parts.dsc < math.inf
        assert decompose([1, 0, 1], [0.0, 0.25, 0.75]).score == pytest.approx((1 + 0.0625 + 0.0625) / 3)

    @pytest.mark.parametrize("score", ["brier", "log"])
    @pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
    def test_one_class(self, y, score):
        parts = decompose(y, [0.25, 0.5, 0.75], score=score)
        assert (parts.dsc, parts.unc) == (0.0, 0.0)
        assert parts.mcb == parts.score > 0

    @pytest.mark.parametrize("score", ["brier", "log"])
    def test_one_row(self, score):
        parts = decompose([1], [0.25], score=score)
        assert parts.mcb == parts.score == (0.5625 if score == "brier" else pytest.approx(math.log(4)))
        assert (parts.dsc, parts.unc) == (0.0, 0.0)

    def test_perfect(self):
        parts = decompose([0, 1, 1], [0.0, 1.0, 1.0], score="log")
        assert (parts.score, parts.mcb) == (0.0, 0.0)
        assert parts.dsc == parts.unc > 0

    def test_ties_do_not_depend_on_the_order_of_rows(self):
        one, other = decompose([0, 1, 1], [0.5, 0.5, 0.75]), decompose([1, 0, 1], [0.5, 0.5, 0.75])
        assert one == other
        assert one.score - one.mcb == pytest.approx((0.25 + 0.25) / 3)


class TestBins:
    def test_by_hand(self):
        # (0, 0.5]: p̄ 0.375, ȳ 0.5; (0.5, 1]: p̄ 0.875, ȳ 0; base rate 1/4.
        parts = decompose([0, 1, 0, 0], [0.25, 0.5, 0.75, 1.0], method="bins", bins=2)
        assert parts.score == (0.0625 + 0.25 + 0.5625 + 1) / 4
        assert parts.mcb == (1 / 64 + 49 / 64) / 2
        assert parts.dsc == (1 / 16 + 1 / 16) / 2
        assert parts.unc == 3 / 16
        assert parts.within == pytest.approx(parts.score - parts.mcb + parts.dsc - parts.unc)

    @given(rows, st.integers(1, 20), st.sampled_from(["width", "mass"]))
    def test_parts_add_up(self, drawn, bins, strategy):
        y, p, w = columns(drawn)
        parts = decompose(y, p, weights=w, method="bins", bins=bins, strategy=strategy)
        assert parts.mcb - parts.dsc + parts.unc + parts.within == pytest.approx(parts.score, abs=1e-14)
        assert parts.score == pytest.approx(brier_score(y, p, weights=w), rel=1e-12, abs=1e-15)

    def test_equal_scores_in_each_bin_leave_nothing_within(self):
        parts = decompose([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], method="bins", bins=2)
        assert parts.within == pytest.approx(0, abs=1e-15)

    def test_brier_only(self, refusal):
        message = refusal(decompose, [0, 1], [0.25, 0.5], method="bins", score="log")
        assert message == 'method="bins" splits the Brier score only; use method="isotonic" for the log score'


def test_recalibrated_scores_have_no_miscalibration(D1):
    y, p = D1
    curve = reliability_curve(y, p, strategy="isotonic", resamples=19)
    recalibrated = curve.fitted[np.searchsorted(curve.p, p)]
    before, after = decompose(y, p), decompose(y, recalibrated)
    assert after.mcb == pytest.approx(0, abs=1e-15)
    assert after.dsc == pytest.approx(before.dsc, abs=1e-14)
    assert after.score == pytest.approx(before.score - before.mcb, abs=1e-14)


@pytest.mark.parametrize(("option", "value"), [("score", "crps"), ("method", "pav"), ("strategy", "isotonic")])
def test_unknown_choices(refusal, option, value):
    assert f"{option} must be one of" in refusal(decompose, [0, 1], [0.25, 0.5], **{option: value})


def test_refuses_a_matrix(refusal, D2):
    assert "top_label(y, P)" in refusal(decompose, *D2)


class TestGrid:
    def test_by_hand(self):
        # 0.501 and 0.503 share a cell: no event, then one. The rows are fitted by 0 and 1, their cell by 1/2, which is
        # worse than the predictions themselves.
        y, p = [0, 1], [0.501, 0.503]
        grid = summarize("ece", y, p)
        found, exact = decompose(grid), decompose(y, p)
        assert found.score == pytest.approx(exact.score, rel=1e-14)
        assert (found.unc, found.mcb) == (0.25, 0.0)
        assert found.dsc == pytest.approx(0.25 - (0.501**2 + 0.497**2) / 2, rel=1e-12)
        assert (exact.mcb, exact.dsc) == (exact.score, 0.25)
        rounding = find("decompose").rounding(grid, **find("decompose").completed({}))
        assert rounding == {"score": 0.0, "mcb": 0.5, "dsc": 0.5, "unc": 0.0, "within": 0.0}

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400), st.floats(0.1, 10)), min_size=1, max_size=60),
        st.sampled_from([1e-5, 1e-4, 1e-3]),
    )
    def test_fits_of_rows_within_cells(self, drawn, step):
        y, k, w = (np.array(column) for column in zip(*drawn, strict=True))
        p = 0.4955 + k * step  # many rows to a cell, ties among them
        grid = summarize("ece", y, p, weights=w)
        found, exact = decompose(grid), decompose(y, p, weights=w)
        rounding = find("decompose").rounding(grid, **find("decompose").completed({}))
        for part in ("mcb", "dsc"):
            more = getattr(exact, part) - getattr(found, part)
            assert -1e-12 <= more <= rounding[part] + 1e-12

    def test_log_score_is_refused(self, refusal):
        message = refusal(decompose, summarize("ece", [0, 1], [0.2, 0.7]), score="log", error=SummaryError)
        assert message.startswith("a Grid does not have the log score")

    def test_mass_bins_are_refused(self, refusal):
        grid = summarize("ece", [0, 1], [0.2, 0.7])
        assert "width bins only" in refusal(decompose, grid, method="bins", strategy="mass", error=SummaryError)
