"""Comparing sets of points: what is said of which generator, and what is never said."""

import json
import math
import re
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.auditing.found import values

import calibrant as cb
from calibrant.auditing.compare_points import compare
from calibrant.core.evidence import Subject
from calibrant.errors import NotApplicableError
from calibrant.points import diversity_section, neighbour_section, sections

RNG = np.random.default_rng(1)
N, M = 160, 140
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
HOSTILE = "<script>alert(1)</script>"
B = 399  # the smallest p-value, times 4 questions and 5 tests, is 0.05

ONE_SET = [
    *("location", "spread", "mmd_test", "mmd", "frechet_distance", "kernel_distance", "c2st", "c2st.accuracy"),
    *(f"density_coverage.{name}" for name in ("precision", "recall", "density", "coverage")),
    *("memorised", "shared_rows", "repeated_rows.real", "repeated_rows.generated", "diversity_test"),
]


def clusters(n, rng, of=(0, 1, 2)):
    return CENTRES[rng.choice(of, n)] + 0.5 * rng.normal(size=(n, 2))


def moved(points, *shift):
    return points + np.array(shift)


REAL = clusters(N, RNG)
NORMAL = RNG.normal(size=(N, 2))
BAD = np.where((np.arange(N)[:, None] == 150) & [False, True], np.nan, NORMAL)
RIGHT = clusters(M, RNG)
SETS = {"moved": moved(NORMAL[:M] * [1.0, -1.0], 2.0, 0.0), "right": RNG.normal(size=(M, 2))}


def verdict(y, points, **options):
    return compare(y, points, resamples=B, **options).verdict


def figures(audit):
    return {figure.name: figure for section in audit.findings.sections for figure in section.figures}


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.fixture(scope="module")
def right():
    return compare(REAL, RIGHT, resamples=B)


def claimed(found, *quantities):
    """Return the claims on some quantities."""
    return [claim for claim in found.claims if claim.quantity in quantities]


def named(found, quantity="location"):
    return [claim.subject.name for claim in claimed(found, quantity)]


class TestVerdict:
    def test_a_right_generator(self, right):
        assert right.verdict.status == "no evidence"
        assert [claim.quantity for claim in right.verdict.claims] == ["difference", "unseen_shift"]
        assert [note.key for note in right.verdict.notes] == ["no proof"]
        assert right.findings.kind == "points"
        assert right.findings.n == N + M

    @pytest.mark.parametrize(
        ("shift", "factor", "kind"), [(0.8, 1, "above"), (-0.8, 1, "below"), (0, 2.2, "above"), (0, 0.45, "below")]
    )
    def test_a_coordinate_that_is_off_is_named(self, shift, factor, kind, rng):
        points = rng.normal([0.0, shift], [1.0, factor], size=(M, 2))
        found = verdict(NORMAL, points, columns=["height", "weight"])
        assert found.status == "different"
        (claim,) = claimed(found, "location", "spread_ratio")
        assert (claim.subject, claim.kind) == (Subject("coordinate", name="weight"), kind)
        sd = NORMAL[:, 1].std(ddof=1)
        moved, wider = (points[:, 1].mean() - NORMAL[:, 1].mean()) / sd, points[:, 1].std(ddof=1) / sd
        assert (claim.quantity, claim.estimate) == (
            ("location", pytest.approx(moved)) if shift else ("spread_ratio", pytest.approx(wider))
        )
        assert claim.low < claim.estimate < claim.high

    def test_every_coordinate_is_claimed(self, rng):
        found = verdict(rng.normal(size=(N, 6)), rng.normal(2.0, 1.0, size=(M, 6)))
        assert sorted(named(found)) == [f"column {j}" for j in range(6)]

    @pytest.mark.parametrize(("quantity", "low", "high"), [("coverage", 0.55, 0.75), ("precision", 0.6, 0.8)])
    def test_a_missing_mode_and_an_invented_one(self, quantity, low, high, rng):
        points = clusters(M, rng, of=(0, 1))  # one mode of three
        if quantity == "precision":  # 40 of 140
            points = np.concatenate([clusters(M - 40, rng), [12.0, 12.0] + 0.5 * rng.normal(size=(40, 2))])
        found = verdict(REAL, points)
        assert found.status == "different"
        (claim,) = claimed(found, "coverage", "precision")
        assert claim.quantity == quantity
        assert low < claim.estimate < high

    @pytest.mark.parametrize("noise", [0.0, 1e-4])
    def test_memorised_points(self, noise, rng):
        """A generator that repeats what it was shown: nothing else is wrong with it."""
        copies = REAL[rng.choice(N, M, replace=False)] + noise * rng.normal(size=(M, 2))
        audit = compare(REAL, copies, resamples=B)
        assert audit.verdict.status == "copies"
        claim = audit.verdict.claims[0]
        assert (claim.kind, claim.quantity, claim.estimate) == ("above", "memorised" if noise else "copied", M)
        assert not any(claim.kind == "different" for claim in audit.verdict.claims)
        expected = [("memorised", M)] if noise else [("copied", M), ("memorised", M)]
        assert [(claim.quantity, claim.estimate) for claim in audit.verdict.claims] == expected
        assert values(audit)["memorised"].value == M
        assert values(audit)["shared_rows"].value == (noise == 0)

    def test_copies_are_found_where_real_points_repeat_themselves(self):
        real = REAL.copy()
        real[1] = real[0]  # now nothing is nearer than any two real points
        found = compare(real, real, resamples=B).verdict
        assert found.status == "copies"
        assert [claim.estimate for claim in claimed(found, "copied")] == [N]

    def test_some_copies(self, rng):
        points = rng.normal(size=(M, 2))
        points[:28] = NORMAL[:28]
        found = verdict(NORMAL, points)
        assert found.status == "copies"
        assert (found.claims[0].estimate, found.claims[0].rows) == (28, M)
        assert found.claims[0].pvalue < 0.001

    def test_copies_and_a_difference(self, rng):
        points = rng.normal([0.0, 2.0], 1.0, size=(M, 2))
        points[:28] = NORMAL[:28]
        found = verdict(NORMAL, points)
        assert found.status == "different"
        assert (found.claims[0].quantity, found.claims[0].at_floor) == ("difference", True)
        assert found.claims[0].test != "neighbours"
        assert [claim.estimate for claim in claimed(found, "copied")] == [28]

    def test_rounded_points_are_no_copies(self, rng):
        y, points = rng.integers(0, 12, size=(2, 200, 2))
        assert not claimed(compare(y, points, resamples=B).verdict, "copied")

    def test_a_few_points_many_times(self, rng):
        """The generator has collapsed onto five of the points it was shown."""
        copies = np.repeat(REAL[:5], 28, axis=0) + 1e-6 * rng.normal(size=(M, 2))
        assert values(compare(REAL, copies, resamples=399))["memorised"].value == M

    @pytest.mark.parametrize("shift", [0.0, 1.5])
    def test_dependence(self, shift, rng):
        """The two coordinates are correlated; each has the right distribution, or is shifted."""
        points = rng.normal(size=(M, 2))
        points[:, 1] = 0.9 * points[:, 0] + math.sqrt(0.19) * points[:, 1] + shift
        found = verdict(NORMAL, points)
        assert found.status == "different"
        assert named(found) == (["column 1"] if shift else [])
        (pair,) = claimed(found, "rank_correlation")
        assert (pair.subject.name, pair.kind) == ("column 0 and column 1", "above")
        assert abs(pair.expected) < 0.2
        assert 0.8 < pair.estimate < 0.9

    def test_the_kernel_test_alone(self, monkeypatch, rng):
        """Where nothing else is claimed, the verdict says where to look."""
        points = rng.normal(size=(M, 2))
        points[:, 1] = points[:, 0] ** 2 - 1  # no correlation
        module = import_module("calibrant.auditing.compare_points")
        monkeypatch.setattr(module, "TESTED_SECTIONS", (sections.distance_section,))
        found = verdict(NORMAL, points)
        assert [claim.quantity for claim in found.claims] == ["difference"]
        assert [note.key for note in found.notes] == ["only the whole"]

    def test_the_unseen_shift_is_seen_four_times_in_five(self, right):
        """By the normal distribution: twice two-sided, two coordinates, two questions and five tests."""
        z = (3.0233 + 0.8416) * math.sqrt(1 / N + 1 / M)  # quantiles of 1 - 0.05/40 and 0.8
        assert right.verdict.claims[1].estimate == pytest.approx(z, rel=1e-4)

    def test_level(self, rng):
        """What is found at 0.8 need not be found at 0.95."""
        points = rng.normal([0.28, 0.0], 1.0, size=(M, 2))
        p = min(5 * m.pvalue for m in compare(NORMAL, points, resamples=B).findings.measurements if m.pvalue)
        assert 0.05 < p < 0.5
        assert verdict(NORMAL, points, level=0.95).status == "no evidence"
        assert verdict(NORMAL, points, level=1 - p - 0.01).status == "different"


def test_points_of_one_distribution_are_rarely_called_different():
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(60):
        Z = rng.standard_t(3, size=(45, 2))
        wrong += compare(Z[:25], Z[25:], level=0.8, resamples=99, rng=rng).verdict.status == "different"
    assert wrong / 60 <= 0.2 + 4 * math.sqrt(0.16 / 60)


class TestNumbers:
    def test_names_are_stable(self, right):
        assert list(values(right)) == [*ONE_SET, "vendi_score.real", "vendi_score.generated"]
        assert right.table["name"] == list(values(right))
        names = ["coordinates", "distances", "classifier", "neighbours", "variety", "diversity"]
        assert [section.name for section in right.findings.sections] == names
        assert list(figures(right)) == ["cloud", "location", "spread", "nearest", "profile"]

    def test_are_those_of_the_verbs(self, right):
        found = values(right)
        near = cb.points.density_coverage(REAL, RIGHT)
        expected = {
            "location": np.linalg.norm(RIGHT.mean(axis=0) - REAL.mean(axis=0)),
            "spread": np.trace(np.cov(RIGHT.T)) / np.trace(np.cov(REAL.T)),
            "mmd_test": cb.points.mmd_test(REAL, RIGHT, aggregate="fuse", resamples=9).statistic,
            "mmd": cb.points.mmd(REAL, RIGHT),
            "frechet_distance": cb.points.frechet_distance(REAL, RIGHT),
            "kernel_distance": cb.points.kernel_distance(REAL, RIGHT),
            **{f"density_coverage.{name}": getattr(near, name) for name in ("precision", "recall", "density")},
            "density_coverage.coverage": near.coverage,
        }
        for name, value in expected.items():
            assert found[name].value == pytest.approx(value, rel=1e-9), name

    def test_what_chance_gives_is_near_to_what_is_known(self, right):
        found = values(right)
        near = cb.points.density_coverage(REAL, RIGHT)
        assert found["density_coverage.coverage"].expected == pytest.approx(near.expected_coverage, abs=0.01)
        assert found["density_coverage.density"].expected == pytest.approx(1.0, abs=0.02)
        assert [found[name].expected for name in ("spread", "mmd", "kernel_distance", "c2st")] == [1, 0, 0, 0.5]
        assert found["frechet_distance"].expected > 0
        assert 1 < found["memorised"].expected < 3

    def test_the_table_of_coordinates(self, right):
        (found, _) = [t for section in right.findings.sections for t in section.tables]
        assert set(found.columns["coordinate"]) == {"column 0", "column 1"}
        for j, name in enumerate(found.columns["coordinate"]):
            k = int(name[-1])
            assert found.columns["mean real"][j] == pytest.approx(REAL[:, k].mean())
            assert found.columns["mean generated"][j] == pytest.approx(RIGHT[:, k].mean())
            assert found.columns["spread ratio"][j] == pytest.approx(RIGHT[:, k].std(ddof=1) / REAL[:, k].std(ddof=1))
        smallest = np.minimum(found.columns["pvalue shift"], found.columns["pvalue spread"])
        assert (np.diff(smallest) >= 0).all()

    def test_p_values_of_random_divisions_are_never_zero(self):
        found = values(compare(NORMAL, NORMAL[:M] + 50, resamples=399))
        assert all(m.pvalue >= 1 / 1000 for name, m in found.items() if m.pvalue is not None and name != "shared_rows")
        assert found["shared_rows"].pvalue > 0

    def test_duplicates(self):
        y = np.concatenate([NORMAL[:100], NORMAL[:25]])
        points = np.concatenate([NORMAL[90:140], NORMAL[90:140]])
        found = values(compare(y, points, resamples=399))
        assert found["repeated_rows.real"].value == pytest.approx(25 / 125)
        assert found["repeated_rows.generated"].value == pytest.approx(0.5)
        assert found["shared_rows"].value == pytest.approx(20 / 100)
        assert found["memorised"].value == 0  # real points repeat themselves: nothing is nearer


class TestFigures:
    def test_two_coordinates(self, right):
        view = figures(right)["cloud"].curve
        assert view.axes == ("column 0", "column 1")
        drawn = np.column_stack([view.first, view.second])
        for number, points in enumerate((REAL, RIGHT)):
            assert sorted(map(tuple, drawn[view.set == number])) == sorted(map(tuple, points))

    def test_many_coordinates_are_seen_from_the_side_of_most_variance(self, rng):
        y = np.column_stack([NORMAL, NORMAL[:, 0] + 0.1 * rng.normal(size=N), np.full(N, 0.1)])
        points = moved(y[:M], 0.01, 0.0, 0.0, 0.0)
        view = figures(compare(y, points, resamples=399))["cloud"].curve
        assert view.axes == ("first component", "second component")
        variances = np.linalg.eigvalsh(np.corrcoef(np.concatenate([y, points])[:, :3].T))
        assert (view.first.var(), view.second.var()) == pytest.approx((variances[2], variances[1]))
        assert abs(view.first.mean()) < 0.01  # a constant column has no part in it

    def test_of_many_points_some_are_drawn(self, monkeypatch):
        monkeypatch.setattr(sections, "MAX_SCATTERED", 50)
        view = figures(compare(REAL, RIGHT, resamples=399))["cloud"].curve
        assert (np.count_nonzero(view.set == 0), np.count_nonzero(view.set == 1)) == (50, 50)

    def test_values_and_bars(self, rng):
        points = rng.normal([0.0, 1.0], [2.0, 1.0], size=(M, 2))
        audit = compare(NORMAL, points, columns=["a", "b"], resamples=399)
        shift, spread = (figures(audit)[name].curve for name in ("location", "spread"))
        assert set(shift.names) == set(spread.names) == {"a", "b"}
        sd = NORMAL.std(axis=0, ddof=1)
        for curve, expected in (
            (shift, (points.mean(axis=0) - NORMAL.mean(axis=0)) / sd),
            (spread, points.std(axis=0, ddof=1) / sd),
        ):
            np.testing.assert_allclose(curve.value, [expected["ab".index(name)] for name in curve.names])
        np.testing.assert_allclose(shift.low, -shift.high)
        np.testing.assert_allclose(spread.low * spread.high, 1.0)
        assert (shift.low < 0).all()

    def test_at_most_twenty_coordinates(self, rng):
        y, points = rng.normal(size=(N, 30)), rng.normal(size=(M, 30))
        points[:, 17] += 3
        audit = compare(y, points, resamples=399)
        assert len(figures(audit)["location"].curve.names) == 20
        assert figures(audit)["location"].curve.names[0] == "column 17"
        (coordinates, _) = [t for section in audit.findings.sections for t in section.tables]
        assert len(coordinates.columns["coordinate"]) == 30

    def test_a_row_for_each_of_several_sets(self, plt):
        sets = {name: points[:20] for name, points in {**SETS, "$7^": SETS["right"]}.items()}
        canvas = compare(NORMAL[:20], sets, resamples=399).plot()
        assert {ax.get_gridspec().get_geometry() for ax in canvas.axes} == {(4, 4)}
        titles = [ax.get_title() for ax in canvas.axes]
        assert [title.partition(":")[0] for title in titles[:12:4]] == ["moved", "right", r"\$7^"]
        canvas.canvas.draw()


def test_one_coordinate(rng):
    y, points = NORMAL[:, :1], np.abs(rng.normal(size=(M, 1)))
    audit = compare(y, points, columns=["length"], resamples=399)
    view = figures(audit)["values"].curve
    assert (view.kind, view.axis) == ("two_ecdfs", "length")
    np.testing.assert_array_equal(view.value, np.sort(np.concatenate([y, points])[:, 0]))
    assert list(values(audit))[: len(ONE_SET)] == ONE_SET
    assert (audit.verdict.status, named(audit.verdict)) == ("different", ["length"])


class TestAwkwardSets:
    def test_more_coordinates_than_points(self, rng):
        y, points = rng.normal(size=(60, 200)), rng.normal(size=(50, 200))
        assert compare(y, points, resamples=399).verdict.status == "cannot tell"
        points[:, 123] += 5
        found = compare(y, points, resamples=399).verdict
        assert found.status == "different"
        assert named(found) == ["column 123"]

    @pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
    def test_a_column_that_is_the_same_everywhere(self, value):
        y, points = (np.column_stack([part, np.full(len(part), value)]) for part in (REAL, RIGHT))
        audit = compare(y, points, resamples=399)
        assert audit.verdict.status == "no evidence"
        assert values(audit)["spread"].value == pytest.approx(np.trace(np.cov(RIGHT.T)) / np.trace(np.cov(REAL.T)))

    def test_a_column_that_is_the_same_in_one_set(self, rng):
        y, points = (np.column_stack([part, np.full(len(part), 0.1)]) for part in (REAL, RIGHT))
        points[:, 2] += 1e-3 * rng.normal(size=M)
        audit = compare(y, points, resamples=399)
        assert [claim.estimate for claim in claimed(audit.verdict, "spread_ratio")] == [math.inf]
        spread = figures(audit)["spread"]
        assert "column 2" not in spread.curve.names  # no ratio is drawn where there is none
        assert "constant in one set only" in spread.reading
        back = compare(points, y, resamples=399)
        assert [claim.estimate for claim in claimed(back.verdict, "spread_ratio")] == [0]
        assert "column 2" not in figures(back)["spread"].curve.names
        str(audit)
        json.dumps(back.findings.to_dict(), allow_nan=False)

    def test_points_that_are_all_equal(self):
        audit = compare(np.full((40, 1), 0.1), NORMAL[:, :1], resamples=399)
        assert audit.verdict.status == "different"
        assert math.isnan(values(audit)["spread"].value)
        assert "spread" not in figures(audit)
        two = compare(np.full((40, 2), 0.1), np.full((30, 2), 0.3), resamples=399)
        assert (two.verdict.status, named(two.verdict)[:1]) == ("different", ["column 0"])

    def test_nothing_but_one_point(self, refusal):
        message = refusal(compare, np.ones((30, 2)), np.ones((20, 2)), error=NotApplicableError)
        assert message == "the pooled points are the same in all 50 rows and have no length scale"

    @pytest.mark.parametrize("offset", [1e8, -1e9])
    def test_far_from_the_origin(self, offset):
        """All but the distance that has the origin in it, and what rounding to 1e-7 leaves."""
        near = values(compare(np.round(REAL, 3), np.round(RIGHT, 3), resamples=399))
        far = values(compare(np.round(REAL, 3) + offset, np.round(RIGHT, 3) + offset, resamples=399))
        for name, measurement in near.items():
            if name not in ("kernel_distance", "memorised", "c2st"):
                assert far[name].value == pytest.approx(measurement.value, rel=1e-2, abs=1e-3), name

    @pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 9), (6, 2)])
    def test_very_few_points(self, n, m):
        audit = compare(NORMAL[:n], NORMAL[-m:], resamples=399)
        assert audit.verdict.status == "cannot tell"
        assert "Neighbours are not compared: each set needs more than 5 points." in audit.findings.caveats
        assert "density_coverage.coverage" not in values(audit)
        assert "neighbours" not in [section.name for section in audit.findings.sections]
        str(audit)


class TestManyPoints:
    def test_a_part_is_looked_at_and_it_says_so(self, right, monkeypatch):
        assert not any("drawn at random" in text for text in right.findings.caveats)
        owners = ((sections, "MAX_PERMUTED"), (neighbour_section, "MAX_POINTS"), (diversity_section, "MAX_SCORED"))
        for owner, name in owners:
            monkeypatch.setattr(owner, name, 50)
        audit = compare(REAL, RIGHT, resamples=399)
        words = "50 of 160 real and 50 of 140 generated points, drawn at random"
        said = [text for text in audit.findings.caveats if words in text]
        assert [text.split(":")[0] for text in said] == [
            "The permutation test of the MMD uses a subset",
            "Neighbours are looked for in a subset",
        ]
        assert "50 points of each set" in values(audit)["vendi_score.real"].method
        assert values(audit)["mmd"].value == pytest.approx(cb.points.mmd(REAL, RIGHT))  # of all


@pytest.fixture(scope="module")
def of_two():
    return compare(NORMAL, SETS, columns=["a", "b"], resamples=B)


class TestSeveralSets:
    def test_one_of_two(self, of_two):
        found = of_two.verdict
        assert found.status == "different"
        assert [(note.key, note.values["names"]) for note in found.notes] == [("sets differ", ["moved"])]
        assert named(found) == ["a of moved"]
        assert all("moved" in claim.subject.name for claim in found.claims[1:])
        assert of_two.findings.n == N + 2 * M

    def test_names_are_stable(self, of_two):
        assert list(values(of_two)) == [
            *(f"{name}.{of}" for of in SETS for name in ONE_SET),
            *(f"vendi_score.{of}" for of in ("real", *SETS)),
        ]
        assert len(of_two.findings.measurements) == len(values(of_two))
        assert [section.name for section in of_two.findings.sections] == ["set moved", "set right", "diversity"]
        assert values(of_two)["location.moved"].label == "moved: distance of the means (p-value: all coordinates)"

    def test_titles_are_unique(self, of_two):
        parts = [part for section in of_two.findings.sections for part in (*section.figures, *section.tables)]
        titles = [part.title for part in parts]
        assert len(titles) == len(set(titles)) == 12
        assert "right: both sets" in titles

    def test_numbers_are_those_of_each_alone(self, of_two):
        audit = values(of_two)
        for of, points in SETS.items():
            alone = values(compare(NORMAL, points, resamples=399))
            for name in ONE_SET:
                if name not in ("c2st", "c2st.accuracy"):  # whose halves are drawn anew
                    assert audit[f"{name}.{of}"].value == pytest.approx(alone[name].value, rel=1e-11)

    def test_more_sets_have_more_divisions(self, of_two):
        audit = values(of_two)
        assert "798 random divisions" in audit["location.right"].method
        assert audit["location.moved"].pvalue == 1 / 799

    def test_some_of_three(self, rng):
        sets = {"a": NORMAL[:M] + 2, "b": rng.normal(size=(M, 2)), "c": NORMAL[:M] - 2}
        found = verdict(NORMAL, sets)
        assert found.status == "different"
        assert found.notes[0].values == {"different": 2, "tested": 3, "names": ["a", "c"]}

    @pytest.mark.parametrize(("size", "status"), [(220, "no evidence"), (10, "cannot tell")])
    def test_the_smallest_set_decides_whether_it_can_be_told(self, size, status, rng):
        sets = {"a": rng.normal(size=(220, 2)), "b": rng.normal(size=(size, 2))}
        assert verdict(rng.normal(size=(220, 2)), sets).status == status

    def test_one_set_by_name(self):
        audit = compare(NORMAL, {"model 7": SETS["moved"]}, resamples=399)
        assert audit.verdict.status == "different"
        assert list(values(audit))[: len(ONE_SET)] == ONE_SET
        assert figures(audit)["cloud"].curve.names == ("real", "model 7")


class TestNoTruth:
    def test_one_set(self):
        audit = compare(None, NORMAL)
        assert audit.verdict.status == "no truth"
        score = values(audit)["vendi_score.generated"].value
        (scores,) = audit.verdict.notes
        assert (scores.values["points"], scores.values["first"]) == (N, [f"generated {score:.3g}"])
        assert audit.verdict.claims == ()
        assert list(values(audit)) == ["vendi_score.generated"]
        assert score == pytest.approx(cb.points.vendi_score(NORMAL, order=2))
        assert audit.findings.n == N

    def test_one_set_that_repeats_itself(self):
        found = compare(None, np.repeat(NORMAL[:16], 10, axis=0)).verdict
        (claim,) = found.claims
        assert (claim.kind, claim.quantity, claim.estimate, claim.rows, claim.level, claim.pvalue) == (
            *("description", "distinct_points", 16, 160),
            *(None, None),
        )

    def test_several_sets(self):
        audit = compare(None, {"narrow": 0.1 * NORMAL[:M], "wide": NORMAL})
        assert audit.verdict.status == "no truth"
        assert audit.verdict.claims == ()  # a narrow set is not a collapsed one
        assert [text.split()[0] for text in audit.verdict.notes[0].values["first"]] == ["wide", "narrow"]
        assert list(values(audit)) == ["vendi_score.narrow", "vendi_score.wide"]
        assert all(m.pvalue is None and m.expected is None for m in audit.findings.measurements)

    def test_the_profile_is_printed_and_drawn(self, plt):
        audit = compare(None, {"narrow": 0.1 * NORMAL[:M], "wide": NORMAL})
        (profile,) = [t for section in audit.findings.sections for t in section.tables]
        assert list(profile.columns) == ["length scale", "narrow", "wide"]
        curve = figures(audit)["profile"].curve
        np.testing.assert_allclose(curve.score[:, 0], profile.columns["narrow"])
        assert profile.title in str(audit)
        audit.plot()

    def test_a_set_that_repeats_itself_has_collapsed(self):
        """A length scale as wide as the whole set scores such a set as high as others."""
        sets = {"new": NORMAL, "old": np.repeat(NORMAL[:16], 10, axis=0)}
        audit = compare(None, sets)
        by_quantity = {claim.quantity: claim for claim in audit.verdict.claims}
        assert {claim.kind for claim in audit.verdict.claims} == {"collapse"}
        assert by_quantity["distinct_points"].estimate == 16
        assert by_quantity["distinct_points"].pvalue < 1e-20  # counted, not resampled
        assert by_quantity["diversity"].estimate == pytest.approx(0.1, abs=0.01)
        assert by_quantity["diversity"].at_floor
        assert any(
            text.startswith("Repetitions in old: 16 distinct points among 160") for text in audit.findings.caveats
        )

    def test_so_it_has_beside_real_points(self):
        found = verdict(NORMAL, np.repeat(NORMAL[:16], 10, axis=0) + 0.01)
        assert [(claim.kind, claim.estimate) for claim in claimed(found, "distinct_points")] == [("collapse", 16)]

    def test_one_repeated_point_is_one_point(self):
        points = np.random.default_rng(8).normal(size=(M, 2))
        points[:8] = NORMAL[0] + 1e-9
        audit = compare(NORMAL, points, resamples=B)
        assert values(audit)["memorised"].value <= 2
        assert not claimed(audit.verdict, "memorised")


class TestDistributionsOfInput:
    def test_row_order_changes_nothing(self, right, monkeypatch):
        other = compare(REAL[::-1], RIGHT[::-1], resamples=B)
        assert other.findings.to_dict() == right.findings.to_dict()
        sets = {"a": NORMAL, "b": NORMAL[:M] ** 3}
        back = {name: points[::-1] for name, points in sets.items()}
        assert compare(None, sets).findings.to_dict() == compare(None, back).findings.to_dict()
        # nor where a part is drawn
        for owner, name in ((sections, "MAX_PERMUTED"), (neighbour_section, "MAX_POINTS"), (sections, "MAX_SCATTERED")):
            monkeypatch.setattr(owner, name, 50)
        one = compare(REAL, RIGHT, resamples=399)
        other = compare(REAL[::-1], RIGHT[::-1], resamples=399)
        assert one.findings.to_dict() == other.findings.to_dict()

    @pytest.mark.parametrize(
        ("frame", "columns", "name"),
        [
            (lambda x: pd.DataFrame(x, columns=["height", "weight"]), None, "weight"),
            (lambda x: pl.DataFrame(x, schema=["height", "weight"], orient="row"), None, "weight"),
            (lambda x: pa.table({"height": x[:, 0], "weight": x[:, 1]}), None, "weight"),
            (lambda x: pd.DataFrame(x, columns=["height", "weight"]), ["a", "b"], "b"),
            (lambda x: pd.DataFrame(x, columns=[1, "1"]), None, "column 1"),
            (np.asarray, np.array([1998, 1999]), "1999"),
        ],
    )
    def test_names_of_columns(self, frame, columns, name):
        points = moved(NORMAL[:M], 0.0, 2.0)
        assert named(compare(frame(NORMAL), points, columns=columns, resamples=399).verdict) == [name]


class TestNames:
    def test_that_cannot_be_printed_are_spelled_out(self, plt, tmp_path, recwarn):
        sets = {"half \ud800": SETS["moved"][:50], "bell\x07": SETS["right"][:50]}
        audit = compare(NORMAL[:50], sets, columns=["a\x00", "b\udfff"], names={"source": "run\ud800"}, resamples=399)
        assert audit.verdict.notes[0].values["names"] == [r"half \ud800"]
        assert audit.findings.names == {"source": r"run\ud800"}
        assert r"bell\x07" in audit.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
        audit.to_json(tmp_path / "found.json")
        audit.plot().savefig(tmp_path / "found.png", dpi=20)
        assert not list(recwarn)

    def test_that_are_long_are_cut(self):
        sets = {"x" * 100_000: SETS["moved"][:50], "x" * 100_001: SETS["right"][:50]}
        audit = compare(NORMAL[:50], sets, columns=["a" * 99, "b"], resamples=399)
        short = "x" * 30 + "…" + "x" * 29
        assert [section.title for section in audit.findings.sections[:2]] == [f"{short} (1)", f"{short} (2)"]
        assert max(map(len, values(audit))) < 100
        assert named(audit.verdict)[0].startswith(f"{'a' * 30}…{'a' * 29}")

    @pytest.mark.parametrize("other", ["accuracy.b", "b.pvalue", "b.expected"])
    def test_of_measurements_mean_one_thing(self, other, refusal):
        message = refusal(compare, NORMAL, {"b": NORMAL, other: NORMAL}, resamples=399)
        assert message.startswith(f"sets named 'b' and '{other}' would both have a measurement ")


def test_nothing_is_not_a_number():
    sets = {HOSTILE: NORMAL[:M] + 1, "$x^$ _{{ 7 * 7 }}": SETS["right"]}
    text = str(compare(NORMAL, sets, columns=[HOSTILE + "0", "$b"], names={HOSTILE: HOSTILE}, resamples=399))
    assert "nan" not in text
    assert "if equal" in text
    assert HOSTILE in text


class TestRefused:
    @pytest.mark.parametrize(
        ("y", "points", "words"),
        [
            (None, None, "points is missing"),
            (NORMAL, {}, "points must contain at least one set; got an empty mapping"),
            (NORMAL, {"real": NORMAL}, "names of sets must be texts other than 'real'; got 'real'"),
            (NORMAL, {3: NORMAL}, "names of sets must be texts other than 'real'; got 3"),
            (NORMAL, {" ": NORMAL}, "names of sets must be texts"),
            (
                pd.DataFrame(NORMAL, columns=["a", "b"]),
                {"x": pd.DataFrame(NORMAL, columns=["b", "a"])},
                r"y and points\['x'\] name the same columns in another order",
            ),
            (NORMAL, {"a": NORMAL, "b": NORMAL[:, 0]}, r"points\['b'\] must be points \(n, d\)"),
            (
                NORMAL,
                {"a": NORMAL, "b": NORMAL[:, :1]},
                "all sets must have the same number of columns; 'a' has 2 and 'b' 1",
            ),
            (NORMAL[:, :1], {"a": NORMAL}, r"got 1 in y and 2 in points.*\(set 'a'\)"),
            (NORMAL, {"a": NORMAL, "b": BAD}, r"points\['b'\] must be finite; row 150, column 1"),
        ],
    )
    def test_points(self, y, points, words, refusal):
        assert re.search(words, refusal(compare, y, points))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"columns": ["a"]}, "columns must be a list of 2 different names, one for each coordinate; got ['a']"),
            ({"columns": ["a", "a"]}, "2 different names, one for each coordinate; got ['a', 'a']"),
            ({"columns": "ab"}, "2 different names, one for each coordinate; got 'ab'"),
            ({"columns": 2}, "2 different names, one for each coordinate; got 2"),
            ({"columns": b"ab"}, "2 different names, one for each coordinate; got b'ab'"),
            ({"columns": frozenset("a")}, "2 different names, one for each coordinate; got frozenset("),
            ({"names": {"source": 7}}, "names must map texts to texts, such as {'source': 'run 7'}; got 'source': 7"),
            ({"names": {7: "run"}}, "names must map texts to texts, such as {'source': 'run 7'}; got 7: 'run'"),
            ({"names": "run 7"}, "names must be a mapping such as {'source': 'run 7'}; got 'run 7'"),
            ({"resamples": 98}, "resamples must be"),
            ({"level": 0.9999}, "at most 0.999 unless resamples is given; level=0.9999 needs 200,000 random divisions"),
            ({"level": 0.9999, "resamples": 99_999}, "at least 200,000 at level=0.9999"),
            ({"level": 0.99999, "resamples": 2_000_000}, "resamples must be at most 1,000,000; got 2000000"),
        ],
        ids=str,
    )
    def test_options(self, options, words, refusal):
        assert words in refusal(compare, NORMAL, NORMAL, **options)
