"""The true values that `benchmarks/validity/claims.py` compares claims with, on small data worked by hand."""

import math

import numpy as np
import pytest
from benchmarks.validity.cells import Cell, in_parts, together
from benchmarks.validity.claim_designs import DESIGNS, Data, Design, drawn_labels
from benchmarks.validity.claim_truth import (
    BinaryTruth,
    Chances,
    ClassTruth,
    DrawsTruth,
    Line,
    RegionTruth,
    UnknownClaimError,
    interval_error,
)
from benchmarks.validity.claims import page
from scipy.stats import norm

from calibrant import Normal, ScipyDistribution, skill
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Subject

P, Q = np.array([0.0, 0.2, 0.2, 0.6, 0.8]), np.array([0.1, 0.1, 0.2, 0.8, 0.8])
GROUP = np.array(["A", "A", "B", "B", "B"])
BINARY = BinaryTruth(Chances(P, Q, np.ones(5)), {"group": GROUP})


def group(name: str) -> Subject:
    return Subject("group", name=name)


def scores(low: float, high: float) -> Subject:
    return Subject("scores", low=low, high=high)


def claim(subject: Subject, quantity: str, kind: str = "limits", **fields: object) -> Claim:
    return Claim(kind, subject, quantity, 0.0, **{"level": 0.95, "rows": 5, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [400, 4])
def test_the_size_of_an_error_in_ranges_of_similar_scores(rows: int) -> None:
    """Two scores are two ranges; of four rows, with an information of 0.64, the mean is looked at alone."""
    p = np.repeat([0.2, 0.8], rows // 2)
    known = BinaryTruth(Chances(p, np.where(p < 0.5, 0.3, 0.6), np.ones(rows)), {})
    of_rows = {400: math.sqrt((0.1**2 + 0.2**2) / 2), 4: 0.05}[rows]
    assert known.value(claim(ALL_ROWS, "rms_error")) == pytest.approx(of_rows)
    assert known.value(claim(ALL_ROWS, "mean_error")) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("subject", "quantity", "value"),
    [
        (ALL_ROWS, "cutoff_error", 0.04),  # the walk is 0.1, 0, 0, 0.2, 0.2 over 5; its range from 0 on
        (ALL_ROWS, "bias", 0.04),
        (group("A"), "cutoff_error", 0.05),  # 0.1, 0 over 2
        (group("group = B"), "bias", 0.2 / 3),
        (scores(0.0, 0.0), "frequency", 0.1),
        (scores(0.0, 0.2), "frequency", 0.15),  # open below, closed above
        (scores(0.2, 0.8), "frequency", 0.8),
    ],
)
def test_probabilities(subject: Subject, quantity: str, value: float) -> None:
    assert math.isclose(BINARY.value(claim(subject, quantity)), value, rel_tol=1e-12)


def test_ties_are_pooled_in_the_cutoff_error_and_weights_count() -> None:
    rows = Chances(np.array([0.5, 0.5]), np.array([0.9, 0.1]), np.array([1.0, 1.0]))
    assert BinaryTruth(rows, {}).value(claim(ALL_ROWS, "cutoff_error")) == pytest.approx(0, abs=1e-15)
    rows = rows._replace(w=np.array([3.0, 1.0]))
    assert BinaryTruth(rows, {}).value(claim(ALL_ROWS, "cutoff_error")) == pytest.approx(0.2)


def test_skill_of_normal_predictions() -> None:
    """Against simulated scores of 200,000 rows."""
    rng = np.random.default_rng(0)
    for name in ("Normal, too narrow", "Normal, too low"):
        data = DESIGNS[name].draw(rng, 200_000)
        found = data.known.value(claim(ALL_ROWS, "skill"))
        assert found == pytest.approx(skill(data.y, data.prediction), abs=0.01)
    data = DESIGNS["19 draws, D = 5, spread 1.3"].draw(rng, 50_000)
    found = [data.known.value(claim(Subject("coordinate", name=str(d)), "skill")) for d in (0, 4)]
    assert found == pytest.approx(np.asarray(skill(data.y, data.prediction))[[0, 4]], abs=0.01)


@pytest.mark.parametrize(
    "subject",
    [Subject("whole"), group("C"), Subject("class", name="1"), scores(0.9, 1.0), Subject("coordinate", name="0")],
)
def test_a_subject_that_is_not_known_is_an_error(subject: Subject) -> None:
    with pytest.raises(UnknownClaimError, match="not known"):
        BINARY.value(claim(subject, "bias"))


def test_a_quantity_that_is_not_known_is_an_error() -> None:
    for known in (BINARY, RegionTruth({"intervals": (Line(0.9, P, P),)}), DrawsTruth(0.0, 1.0, 9)):
        with pytest.raises(UnknownClaimError, match="fame"):
            known.value(claim(ALL_ROWS, "fame"))


def test_classes_by_name_and_by_predicted_label() -> None:
    stated, true = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.5, 0.5], [0.4, 0.6]])
    known = ClassTruth(stated, true, {"group": np.array([0, 1])})
    assert known.value(claim(Subject("class", name="1"), "bias")) == pytest.approx(0.1)
    assert known.value(claim(group("0"), "bias")) == pytest.approx(-0.2)  # of the most probable class
    assert known.value(claim(Subject("most probable class"), "bias")) == pytest.approx(-0.1)


def test_coverage_by_level_group_and_width() -> None:
    lines = (
        Line(0.5, np.array([0.4, 0.6]), np.array([0.3, 0.5])),
        Line(0.9, np.array([0.8, 1.0]), np.array([0.8, 1.0])),
    )
    sizes = np.array([[1.0, 2.0], [3.0, 4.0]])
    known = RegionTruth({"intervals": lines}, groups={"group": np.array([0, 1])}, sizes=sizes)
    assert known.value(claim(Subject("intervals", level=0.5), "coverage")) == 0.5
    assert known.value(claim(group("1"), "coverage", expected=0.9)) == 1.0
    assert known.value(
        claim(Subject("intervals", "2", 0.9, "width", 2.0, 2.0), "coverage_error", rows=1)
    ) == pytest.approx(0.1)
    assert known.value(claim(ALL_ROWS, "coverage_error")) == 0.0  # 50 %: .4 to .5 with and without the edges
    assert known.value(claim(group("0"), "coverage_error")) == pytest.approx(0.1)
    place = Subject("intervals", "1 to 2", 0.9, "place", 1.0, 2.0)
    for subject in (ALL_ROWS, Subject("intervals", level=0.8), Subject("sets", level=0.9), place):
        with pytest.raises(UnknownClaimError):
            known.value(claim(subject, "coverage"))


def test_more_coverage_is_no_error_where_at_least_the_level_is_promised() -> None:
    lines = (Line(0.9, np.array([0.95, 0.99]), np.array([0.95, 0.99])),)
    assert RegionTruth({"sets": lines}).value(claim(ALL_ROWS, "coverage_error")) == pytest.approx(0.07)
    assert RegionTruth({"sets": lines}, less=True).value(claim(ALL_ROWS, "coverage_error")) == 0


def test_ranks_agree_with_a_simulation() -> None:
    rng = np.random.default_rng(0)
    shift, spread, M, n = 0.2, 1.3, 9, 100_000
    y = shift + rng.normal(size=n)
    rank = (spread * rng.normal(size=(n, M)) < y[:, None]).sum(axis=1)
    share = np.bincount(rank, minlength=M + 1).cumsum() / n - np.arange(1, M + 2) / (M + 1)
    assert share.max() - share.min() == pytest.approx(interval_error(M, shift, spread), abs=0.006)
    known = DrawsTruth(shift, spread, M)
    covered = claim(ALL_ROWS, "coverage", expected=0.8)
    assert known.value(covered) == pytest.approx(np.mean((rank >= 1) & (rank <= M - 1)), abs=0.006)
    assert known.value(claim(ALL_ROWS, "shift")) == pytest.approx(-0.2 / 1.3)  # the draws are too low
    assert known.value(claim(ALL_ROWS, "spread")) == pytest.approx(1 / 1.3)


def test_the_last_of_several_coordinates_is_wrong() -> None:
    known = DrawsTruth(0.2, 1.3, 9, 5, joint=0.1)
    assert known.value(claim(Subject("coordinate", name="0"), "spread")) == 1
    assert known.value(claim(Subject("coordinate", name="4"), "spread")) == pytest.approx(1 / 1.3)
    assert known.value(claim(Subject("whole"), "average")) == 0.1
    with pytest.raises(UnknownClaimError):
        known.value(claim(ALL_ROWS, "spread"))


def test_false_claims_of_a_page_are_counted_by_kind() -> None:
    data = Data(P, P, {}, BINARY)
    claims = [
        claim(ALL_ROWS, "bias", "limits", low=0.0, high=0.1),  # true: 0.04
        claim(group("A"), "bias", "above", low=-0.1, high=0.1),  # false: the bias is 0
        claim(scores(0.0, 0.0), "frequency", "limits", low=0.2, high=0.3),  # false: 0.1
        claim(ALL_ROWS, "cutoff_error", "within", tolerance=0.05),  # true
        claim(Subject("models", name="a and b"), "else", "description", level=None),  # claims nothing
    ]
    counts = page("within", claims, data, Design(lambda rng, n: data, kept=False, repeats={}))
    assert (counts["false limits"], counts["false above"], counts["false within"]) == (1, 1, 0)
    assert (counts["claims limits"], counts["false pages"], counts["false alarms"]) == (2, 1, 0)
    assert "claims description" not in counts

    # Predictions that keep their promise are not miscalibrated.
    counts = page("miscalibrated", [], data, Design(lambda rng, n: data, kept=True, repeats={}))
    assert counts["false pages"] == counts["false alarms"] == counts["pages without claims"] == 1


@pytest.mark.parametrize("name", DESIGNS)
def test_truths_of_designs_agree_with_their_outcomes(name: str) -> None:
    """The mean of outcomes, or of hits, over large data is what the design says."""
    n = 1000 if name.startswith("300") else 5000
    y, prediction, _, known = DESIGNS[name].draw(np.random.default_rng(1), n)
    if isinstance(known, BinaryTruth):
        found, true = y, known.rows.q
    elif isinstance(known, ClassTruth):
        found, true = y == 0, known.Q[:, 0]
        assert drawn_labels(np.random.default_rng(0), known.Q).max() < known.Q.shape[1]
    elif isinstance(known, RegionTruth):
        found, true = hits(y, prediction), next(iter(known.lines.values()))[-1].hit
    else:
        return  # compared with a simulation above
    spread = np.sqrt(np.mean(true * (1 - true)) / n * 10)  # rows of a cluster depend on each other
    assert abs(np.mean(found) - np.mean(true)) <= 4 * spread


def hits(y: np.ndarray, prediction: object) -> np.ndarray:
    """Return whether outcomes are covered at the last level."""
    if hasattr(prediction, "mask"):
        return prediction.mask.reshape(len(y), -1)[np.arange(len(y)), y]
    if hasattr(prediction, "values"):
        return y <= prediction.values[:, -1]
    if isinstance(prediction, Normal):
        return y <= prediction.mean + norm.ppf(0.975) * prediction.std
    if isinstance(prediction, ScipyDistribution):  # of whole numbers
        below, at = prediction.cdf(y - 1), prediction.cdf(y)
        return below + np.random.default_rng(2).random(len(y)) * (at - below) <= 0.975
    lower, upper = (np.asarray(bound).reshape(len(y), -1)[:, -1] for bound in (prediction.lower, prediction.upper))
    return (lower <= y) & (y <= upper)


def test_parts_of_a_cell_have_their_own_streams_and_add_up() -> None:
    cell = Cell("claims", "uniform", 50, "kept", 120)
    parts = in_parts([cell], 50)
    assert [part.repeats for part in parts] == [50, 50, 20]
    assert len({part.rng().integers(1 << 60) for part in parts}) == 3
    assert together({part: {"pages": part.repeats} for part in parts}) == {cell: {"pages": 120}}
