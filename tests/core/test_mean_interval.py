"""Intervals of a frequency against SciPy and by hand, and the memory of the checks of a mean."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cb
from calibrant.core.binned import bin_table
from calibrant.core.catalogue import find
from calibrant.core.mean_interval import check_rare, clopper_pearson, deciding_of_rows, wilson
from calibrant.core.ordered import Ordered
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.probabilities import Binary, read_binary
from calibrant.probabilities.evidence import questions_on_event
from calibrant.probabilities.power import _of_size


def table(y, weights=None, p=None):
    p = np.full(len(y), 0.3) if p is None else p
    return bin_table(Ordered.of(read_binary(y, p, verb="a test", weights=weights)), bins=2, strategy="width")


def limits(method, y, level=0.95, weights=None):
    low, high = method(table(y, weights), level)
    assert np.isnan([low[1], high[1]]).all()  # the second bin is empty
    return low[0], high[0]


METHODS = [(clopper_pearson, "exact"), (wilson, "wilson")]
BOTH = pytest.mark.parametrize(("method", "name"), METHODS, ids=["clopper-pearson", "wilson"])


@BOTH
@given(data=st.data())
def test_scipy(method, name, data):
    from scipy.stats import binomtest

    n = data.draw(st.integers(1, 40))
    k, level = data.draw(st.integers(0, n)), data.draw(st.sampled_from([0.5, 0.9, 0.95, 0.999]))
    expected = binomtest(k, n).proportion_ci(level, method=name)
    found = limits(method, [1] * k + [0] * (n - k), level)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


@BOTH
def test_ends(method, name):
    assert limits(method, [0, 0, 0])[0] == 0.0
    assert limits(method, [1, 1, 1])[1] == 1.0


def test_clopper_pearson_by_hand():
    # No event in n rows: the upper limit solves (1 - q)^n = 0.025.
    assert limits(clopper_pearson, [0] * 3)[1] == pytest.approx(1 - 0.025 ** (1 / 3), rel=1e-12)
    assert limits(clopper_pearson, [1] * 3)[0] == pytest.approx(0.025 ** (1 / 3), rel=1e-12)


@BOTH
@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_equal_weights_change_nothing(method, name, factor):
    y = [1, 0, 0, 1, 0]
    assert limits(method, y, weights=[factor] * 5) == pytest.approx(limits(method, y), rel=1e-12)


def wilson_by_formula(share, m, z):
    centre, half = share + z * z / (2 * m), z * math.sqrt(share * (1 - share) / m + z * z / (4 * m * m))
    return (centre - half) / (1 + z * z / m), (centre + half) / (1 + z * z / m)


class TestWeightedWilson:
    z = 1.959963984540054

    def test_by_hand(self):
        # Weights 3, 1, 2 with outcomes 1, 0, 0: ȳ = 1/2. u = (9/4 + 1/4 + 4/4)/36 = 3.5/36, so ȳ(1-ȳ)/u = 9/3.5;
        # W²/Σw² = 36/14 is the same number. With outcomes 1, 1, 0: ȳ = 4/6, u = (9/9 + 1/9 + 4 * 4/9)/36 = (26/9)/36,
        # ȳ(1-ȳ)/u = (2/9) * 36 * 9/26 = 72/26 > 36/14, so m = 36/14.
        assert limits(wilson, [1, 0, 0], weights=[3, 1, 2]) == pytest.approx(wilson_by_formula(0.5, 9 / 3.5, self.z))
        assert limits(wilson, [1, 1, 0], weights=[3, 1, 2]) == pytest.approx(wilson_by_formula(4 / 6, 36 / 14, self.z))

    def test_fewer_effective_rows_where_heavy_rows_are_events(self):
        # Weights 3, 1, 1, 1 with the heavy row an event: ȳ = 1/2, u = (9 + 3)/4/36 = 1/12, m = 3 = 36/12 as well.
        # Weights 3, 1, 1, 1, 1, 1 with outcomes 1, 0, ..: ȳ = 3/8, u = (9 * 25/64 + 5 * 9/64)/64 = 270/4096,
        # ȳ(1-ȳ)/u = (15/64) * 4096/270 = 32/9 < W²/Σw² = 64/14.
        found = limits(wilson, [1, 0, 0, 0, 0, 0], weights=[3, 1, 1, 1, 1, 1])
        assert found == pytest.approx(wilson_by_formula(3 / 8, 32 / 9, self.z))

    def test_without_variance_the_effective_rows_alone(self):
        # All events: u = 0, m = W²/Σw² = 16/10.
        low, high = limits(wilson, [1, 1], weights=[3, 1])
        assert low == pytest.approx(wilson_by_formula(1.0, 1.6, self.z)[0])
        assert high == 1.0


class TestMemory:
    """Audits of ten million rows on a laptop: no step may keep many arrays as long as the rows."""

    N = 1_000_000

    def arrays(self, work):
        """Return the peak memory of a call, in arrays of one double per row."""
        rng = np.random.default_rng(0)
        p = rng.random(self.N)
        y = (rng.random(self.N) < p).astype(np.uint8)
        rows = Binary(y, p, unit_weights(self.N))
        ordered = Ordered.of(rows)
        tracemalloc.start()
        try:
            work(rows, ordered)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return peak / p.nbytes

    @pytest.mark.parametrize("name", ["brier_score", "log_score"])
    def test_checks_of_a_mean_keep_its_scores_only(self, name):
        entry = find(name)

        def checked(rows, ordered):
            check_rare(entry, rows, entry.usual)
            deciding_of_rows(entry, rows, entry.usual, 0.95)

        assert self.arrays(checked) < 2.5

    def test_questions_and_power_of_an_audit(self):
        assert self.arrays(lambda rows, ordered: questions_on_event(ordered)) < 1
        assert self.arrays(lambda rows, ordered: _of_size(ordered, ordered.n)) < 4
        assert self.arrays(lambda rows, ordered: ordered.mean_score) < 1


@pytest.mark.parametrize(("part", "missed"), [("below", -2.0), ("above", 2.0)])
def test_misses_on_the_side_of_a_part_count(part, missed):
    """Of 200 misses on one side, the part of the score on that side has a mean with limits, and the other has none."""
    y = np.where(np.arange(400) < 200, missed, 0.0) + np.linspace(0.0, 0.5, 400)
    intervals = cb.Intervals(np.full(400, -1.0), np.full(400, 1.0), 0.9)
    assert cb.interval("interval_score", y, intervals, part=part).n == 400
    with pytest.raises(cb.errors.NotApplicableError, match="needs 100 rows"):
        cb.interval("interval_score", y, intervals, part={"below": "above", "above": "below"}[part])
