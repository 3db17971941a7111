"""`power`: what it says is true of the tests themselves; refusals."""

from statistics import NormalDist

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.evidence import rows_needed
from calibrant.core.ordered import Ordered
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.power import Finding, _of_size, _on_line, smallest_constant


def share_found(p, error, repeats, rng):
    """Return the share of data sets with probabilities p + error in which it is found."""
    draws = (rng.random(p.size) < p + error for _ in range(repeats))
    return np.mean([cb.calibration_test(y, p, resamples=199, rng=rng).pvalue <= 0.05 for y in draws])


@pytest.mark.parametrize(("a", "b", "sign"), [(0.5, 10, -1), (5, 0.2, 1)])
def test_the_error_of_the_note_is_found_towards_the_end_where_the_scores_are(a, b, sign):
    """The mean error that `power` finds, added to every score and cut off at 0 or 1, is found in a fifth of them."""
    p = np.random.default_rng(0).beta(a, b, 300)
    rows = Ordered.of(Binary(np.zeros(300, np.uint8), p, np.ones(300)))
    c = smallest_constant(rows, level=0.95, target=0.8, resamples=399, rng=0)
    finding = Finding(rows, 0.95, 399, 1)
    for side in (sign, -sign):
        moved = abs(np.clip(p + side * c, 0, 1) - p).mean()
        assert finding.share_of(moved, side, 399) > 0.8 - 4 * np.sqrt(0.16 / 399)


class TestTruth:
    def test_rare_events(self):
        """300 rows of probability 0.001, true probability 0.006."""
        p, rng = np.full(300, 0.001), np.random.default_rng(1)
        said = cb.power(p, error=0.005).power
        assert said == pytest.approx(share_found(p, 0.005, 300, rng), abs=0.1)

    def test_the_smallest_error_is_found_four_times_in_five(self):
        rng = np.random.default_rng(2)
        p = 0.2 + 0.6 * rng.random(400)
        found = cb.power(p)
        assert found.power == pytest.approx(0.8, abs=0.03)
        seen = min(share_found(p, sign * found.error, 200, rng) for sign in (1, -1))
        assert seen == pytest.approx(0.8, abs=0.11)

    @pytest.mark.parametrize("families", [1, 2])
    @pytest.mark.parametrize("design", ["three scores", "zeros"])
    def test_of_scores_that_few_stand_for(self, design, families):
        """Downwards, which is harder or as hard with these scores; cut off at 0 where they are smaller than c."""
        rng = np.random.default_rng(5)
        few = design == "three scores"
        p = rng.choice([0.2, 0.35, 0.8], 400) if few else np.append(np.zeros(1500), rng.random(300))
        said = cb.power(p, level=1 - 0.05 / families)
        c = np.linspace(0, 1, 10_001)
        moved = np.mean([p - np.clip(p - shift, 0, 1) for shift in c], axis=1)
        q = np.clip(p - c[np.searchsorted(moved, said.error)], 0, 1)
        draws = (rng.random(p.size) < q for _ in range(250))
        found = [cb.calibration_test(y, p, resamples=399, rng=rng).pvalue <= 0.05 / families for y in draws]
        assert np.mean(found) == pytest.approx(0.8, abs=0.1)  # four standard errors

    def test_an_impossible_outcome_is_found(self):
        """Of 1,000 rows at 0 one or more happens with probability 0.95, which rejects whatever the other rows do."""
        p = np.append(np.zeros(1000), np.full(1000, 0.5))
        rows = _of_size(Ordered.of(Binary(np.zeros(2000, np.uint8), p, np.ones(2000))), 2000)
        share = Finding(rows, 0.95, 199, 0).share_of(0.003, 1, 999)
        assert share == pytest.approx(1 - 0.997**1000, abs=0.03)

    def test_passing_a_tolerance(self):
        rng = np.random.default_rng(3)
        p = rng.random(1500)
        said = cb.power(p, tolerance=0.04).power
        passed = [cb.equivalence_test(rng.random(1500) < p, p, tolerance=0.04).pvalue <= 0.05 for _ in range(300)]
        assert said == pytest.approx(np.mean(passed), abs=0.1)

    def test_the_number_of_rows_reaches_the_target(self):
        p = np.random.default_rng(0).random(500)
        for size in ({"error": 0.03}, {"tolerance": 0.03}):
            needed = cb.power(p, **size).rows
            assert cb.power(np.tile(p, 1 + needed // 500)[:needed], **size).power == pytest.approx(0.8, abs=0.05)


class TestRecord:
    def test_fields(self):
        p = np.random.default_rng(0).random(300)
        one, other = cb.power(p, error=0.05, target=0.5), cb.power(p, tolerance=0.1)
        assert (one.error, one.tolerance, one.n, one.target) == (0.05, None, 300, 0.5)
        assert (other.error, other.tolerance, other.n, other.target) == (None, 0.1, 300, 0.8)
        assert cb.power(p).rows is None

    def test_weights_cost_rows(self):
        p = np.full(1000, 0.5)
        w = np.where(np.arange(1000) % 10 == 0, 20.0, 1.0)
        assert cb.power(p, weights=w).error > 1.3 * cb.power(p).error

    def test_a_common_factor_of_weights_changes_nothing(self):
        p = np.random.default_rng(0).random(1500)
        one, other = (cb.power(p, tolerance=0.04, weights=np.full(1500, w)) for w in (1.0, 5.0))
        assert 0.2 < one.power < 1
        assert other.power == pytest.approx(one.power, abs=0.02)
        assert other.rows == pytest.approx(one.rows, rel=0.05)

    def test_a_finer_error_takes_more_rows(self):
        p = np.random.default_rng(0).random(300)
        assert cb.power(p, error=0.02).rows > 3 * cb.power(p, error=0.05).rows


class TestSize:
    def test_keeps_the_distribution_of_scores(self):
        p = np.random.default_rng(0).beta(0.5, 3, 5000)
        rows = Ordered.of(Binary(np.zeros(5000, np.uint8), p, np.ones(5000)))
        for n in (7, 150, 5000, 123_456):
            scaled = _of_size(rows, n)
            assert scaled.n == n
            assert np.average(scaled.score, weights=scaled.count) == pytest.approx(p.mean(), rel=0.1)

    def test_many_zeros_leave_room_for_other_scores(self):
        p = np.append(np.zeros(5000), np.random.default_rng(0).random(400))
        scaled = _of_size(Ordered.of(Binary(np.zeros(5400, np.uint8), p, np.ones(5400))), 5400)
        assert scaled.count[scaled.score == 0].tolist() == [5000]
        assert 40 < scaled.score.size <= 100
        assert scaled.mean_score == pytest.approx(p.mean())

    @pytest.mark.parametrize(("number", "rounded"), [(7.0, 7), (42.1, 43), (123.0, 130), (98_765.0, 99_000)])
    def test_two_digits(self, number, rounded):
        assert rows_needed(number) == rounded


class TestSearch:
    def test_an_error_on_the_line(self):
        """Φ(2 log e): the power 0.8 is reached at e = exp(z/2), z the normal quantile of 0.8."""
        normal = NormalDist()
        shares = {e: normal.cdf(2 * np.log(e)) for e in (1.3, 1.4, 1.55, 1.7)}
        assert _on_line(shares, 1.4, 0.8, 10**6) == pytest.approx(np.exp(normal.inv_cdf(0.8) / 2))

    def test_where_no_error_is_found_in_one_direction(self):
        """20 rows at 0.02 leave room for an error of 0.02 downwards, which is never found; upwards it takes more."""
        assert cb.power(np.full(20, 0.02)).error > 0.02

    def test_scores_without_information(self):
        """An event that was given the probability 0 is found when it happens."""
        assert cb.power(np.array([0.0])).error == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize(
    ("prediction", "options", "error", "words"),
    [
        *(
            ([0.5] * 50, {name: value}, InputError, f"{name} must lie strictly between 0 and 1")
            for name in ("error", "tolerance", "target")
            for value in (0, 1, -1, np.nan, "a", True, [0.1])
        ),
        ([0.5] * 50, {"error": 0.1, "tolerance": 0.1}, InputError, "not both"),
        (np.tile([0.05, 0.95], 50), {"error": 0.6}, NotApplicableError, "leave no room for a mean error of 0.6"),
        ([0.1, 0.5, 0.9, 0.5], {}, NotApplicableError, "use more rows"),
        ([0.5, 1.5], {}, InputError, "row 1 is 1.5"),
        ([[0.5, 0.5]], {}, InputError, "top_label"),
        ([], {}, InputError, "no rows"),
    ],
)
def test_refusals(prediction, options, error, words):
    with pytest.raises(error, match=words):
        cb.power(prediction, **options)
