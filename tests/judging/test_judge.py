"""The judge: outcomes of hand-made evidence at every border."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Case, Error, Evidence, Family, Needed, Note, Subject, Whole, note
from calibrant.core.findings import Setting
from calibrant.judging.judge import judge, usual_tolerances
from calibrant.judging.voice import statement

NAN = math.nan


def setting(tolerance=None, **given):
    return Setting(0.95, 99, np.random.default_rng(0), tolerance=tolerance, **given)


def error(estimate, low, high, pvalue=0.001, *, name=None, **given):
    subject = ALL_ROWS if name is None else Subject("group", name=name)
    return Evidence(subject, "cutoff_error", estimate, low, high, rows=4000, pvalue=pvalue, **given)


CALM = Whole(error(0.01, 0.0, 0.03, 0.4))
OFF = Whole(error(0.15, 0.09, 0.2))


def status(whole, tolerance=None, *families, **given):
    return judge(Case(whole, families), setting(tolerance, **given)).status


def groups(*evidence, **given):
    return Family("groups", evidence, len(evidence), **{"small_passes": True, **given})


class TestAllRows:
    @pytest.mark.parametrize(
        ("low", "high", "pvalue", "tolerance", "expected"),
        [
            (0.03, 0.06, 0.001, 0.02, "miscalibrated"),
            (0.03, 0.06, 0.06, 0.02, "cannot tell"),  # not rejected
            (0.02, 0.06, 0.001, 0.02, "cannot tell"),  # the lower limit is not beyond
            (0.01, 0.02, 0.001, 0.02, "within"),
            (0.0, 0.015, 0.4, None, "within"),
            (0.001, 0.01, 0.001, None, "within"),  # negligible
            (0.001, 0.011, 0.001, None, "miscalibrated"),
            (0.0, 0.051, 0.4, None, "cannot tell"),
        ],
    )
    def test_three_outcomes(self, low, high, pvalue, tolerance, expected):
        assert status(Whole(error((low + high) / 2, low, high, pvalue)), tolerance) == expected

    def test_a_lower_limit_is_claimed_only_if_a_test_rejects(self):
        claim = judge(Case(Whole(error(0.05, 0.02, 0.08, 0.3))), setting()).claims[0]
        assert (claim.low, claim.high, claim.level) == (0.0, 0.08, 0.95)

    def test_what_is_not_bounded_is_not_within(self):
        whole = Whole(error(0.0, 0.0, 0.001, 0.001), bounded=False)
        assert status(whole, 0.02) == "cannot tell"
        assert all(step.status != "within" for step in judge(Case(whole), setting()).at)

    def test_a_level_in_doubt_is_not_within(self):
        assert status(Whole(CALM.total, in_doubt=True), 0.05) == "cannot tell"

    def test_what_a_test_finds_instead_of_a_size(self):
        relation = Evidence(Subject("covariates"), "relation", 3.2, pvalue=0.001)
        verdict = judge(Case(Whole(error(0.01, 0.0, 0.02), instead=relation, bounded=False)), setting())
        assert (verdict.status, verdict.claims[0].subject.kind) == ("miscalibrated", "covariates")

    def test_nothing_tested(self):
        verdict = judge(Case(None, notes=(note("no test"),)), setting())
        assert (verdict.status, verdict.claims, verdict.at) == ("cannot tell", (), ())

    @given(st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0, 0.1), st.sampled_from([None, 0.01, 0.02, 0.05, 0.1]))
    def test_steps_are_what_an_audit_with_that_tolerance_decides(self, low, width, pvalue, tolerance):
        whole = Whole(error(low + width / 2, low, low + width, pvalue))
        case = Case(whole, (groups(error(low, low / 2, low + width, pvalue, name="a")),))
        verdict = judge(case, setting(tolerance))
        for step in verdict.at:
            assert judge(case, setting(step.tolerance)).status == step.status


class TestParts:
    def test_a_group_beyond_what_is_accepted_decides_and_stands_first(self):
        bad = error(0.12, 0.06, 0.18, 0.008, name="b", mean=0.3)
        for tolerance in (None, 0.05):
            verdict = judge(Case(CALM, (groups(error(0.1, 0.0, 0.16, 0.3, name="a"), bad),)), setting(tolerance))
            assert (verdict.status, verdict.claims[0].subject.name) == ("miscalibrated", "b")

    @pytest.mark.parametrize(("leaves_open", "expected"), [(True, "cannot tell"), (False, "within")])
    def test_a_group_that_may_be_beyond_leaves_it_open(self, leaves_open, expected):
        group = groups(error(0.06, 0.03, 0.09, 0.001, name="a"), leaves_open=leaves_open)
        assert status(CALM, 0.05, group) == expected

    def test_what_leaves_it_open_stands_first(self):
        """A group that may be beyond, or covariates that matter without a region that does."""
        group = groups(error(0.06, 0.03, 0.09, 0.001, name="a"))
        relation = Evidence(Subject("covariates", name="2 covariates"), "relation", math.nan, pvalue=0.01)
        searched = Family("covariates", (), 2, pvalue=0.01, instead=relation)
        for family, subject in ((group, "a"), (searched, "2 covariates")):
            verdict = judge(Case(CALM, (family,)), setting(0.05))
            assert (verdict.status, verdict.claims[0].subject.name) == ("cannot tell", subject)
        assert (
            statement(verdict.claims[0])
            == "predictions are off with 2 covariates, and no region stands out (p = 0.010)"
        )

    def test_a_small_error_of_a_group_changes_nothing(self):
        small = error(0.006, 0.003, 0.009, 0.001, name="a", mean=0.3)
        verdict = judge(Case(CALM, (groups(small),)), setting())
        assert (verdict.status, [claim.kind for claim in verdict.claims]) == ("within", ["within", "within"])
        assert status(CALM, None, groups(small, small_passes=False)) == "miscalibrated"
        rare = error(0.006, 0.003, 0.009, 0.001, name="a", mean=0.01)  # one percentage point is not negligible there
        assert status(CALM, None, groups(rare)) == "miscalibrated"

    def test_which_way_a_group_is_off_is_said_if_limits_show_it(self):
        up, none = (Evidence(Subject("group", name="a"), "bias", 0.1, low, 0.15, rows=100) for low in (0.05, -0.01))
        for way, kinds in ((up, ["miscalibrated", "above"]), (none, ["miscalibrated"])):
            family = groups(error(0.1, 0.05, 0.15, 0.001, name="a", explanation=(way,)))
            claims = judge(Case(CALM, (family,)), setting()).claims
            assert [claim.kind for claim in claims if claim.subject.name == "a"] == kinds

    def test_all_rows_that_are_off_stand_before_groups_that_are(self):
        verdict = judge(Case(OFF, (groups(error(0.2, 0.1, 0.3, 0.001, name="a")),)), setting())
        assert verdict.claims[0].subject == ALL_ROWS

    def test_calm_families_are_counted(self):
        family = groups(*(error(0.01, 0.0, 0.05, 0.5, name=name) for name in "abc"))
        (calm,) = judge(Case(CALM, (family,)), setting()).notes
        assert calm == Note("calm", {"tested": 3, "things": "groups"})


def scores(stated, happens, low, high):
    return Evidence(Subject("scores", low=stated, high=stated + 0.1), "frequency", happens, low, high, 100, stated)


class TestRanges:
    """Where 60 % is stated, 50 % happen, limits to 53 %: wholly beyond 5 points, not beyond 8."""

    OFF = scores(0.6, 0.5, 0.42, 0.53)

    def judged(self, tolerance, *ranges, low=0.01, high=0.04, pvalue=0.001, **given):
        whole = Whole(error(0.03, low, high, pvalue, **given), ranges=ranges or (self.OFF,))
        return judge(Case(whole), setting(tolerance))

    def test_one_that_lies_wholly_beyond_the_tolerance_decides(self):
        verdict = self.judged(0.05)
        first, total = verdict.claims
        assert (verdict.status, first.kind, first.tolerance, first.expected) == ("miscalibrated", "below", 0.05, 0.6)
        assert (total.quantity, total.kind, total.tolerance) == ("cutoff_error", "limits", None)
        assert [(step.tolerance, step.status) for step in verdict.at][-1] == (0.05, "miscalibrated")
        assert all(step.part == self.OFF.subject for step in verdict.at[1:])

    def test_the_size_speaks_if_it_decides_too(self):
        verdict = self.judged(0.05, low=0.06, high=0.09)
        assert (verdict.status, verdict.claims[0].subject) == ("miscalibrated", ALL_ROWS)
        assert verdict.claims[1].tolerance == 0.05

    def test_within_names_a_range_whose_estimate_is_beyond(self):
        verdict = self.judged(0.08)
        assert (verdict.status, verdict.although.estimate, verdict.although.tolerance) == ("within", 0.5, None)
        assert self.judged(0.08, scores(0.6, 0.55, 0.5, 0.59)).although is None
        assert self.judged(0.11).although is None
        assert self.judged(None).status == "miscalibrated"  # 4 points are not negligible
        assert self.judged(None).claims[0].subject == ALL_ROWS
        negligible = self.judged(None, low=0.001, high=0.009)  # over all rows, but not in this range
        assert (negligible.status, negligible.claims[0].subject) == ("miscalibrated", self.OFF.subject)

    def test_none_is_claimed_unless_a_test_rejects(self):
        verdict = self.judged(0.05, pvalue=0.3)
        assert (verdict.status, [claim.quantity for claim in verdict.claims]) == ("within", ["cutoff_error"])

    def test_the_tolerance_of_rare_events_grows_with_the_scores_of_a_range(self):
        """20 % of the error if no event happens, 0.05, are 1 point; where 30 % are stated, 6 points."""
        whole = Whole(
            error(0.003, 0.001, 0.006, 0.001, mean=0.02, never=0.05, always=0.99),
            ranges=(scores(0.3, 0.2, 0.15, 0.27),),
        )
        asked = setting(0.2, relative=True)
        verdict = judge(Case(whole), asked)
        assert (verdict.status, verdict.tolerance, verdict.unit) == ("within", pytest.approx(0.01), 0.05)
        assert verdict.although.estimate == 0.2  # off by 10 points
        assert judge(Case(whole), setting(0.08, relative=True)).claims[0].tolerance == pytest.approx(0.08 * 0.3)


def line(level, estimate, low, high, pvalue, error):
    return Evidence(
        Subject("intervals", level=level), "coverage", estimate, low, high, 500, level, pvalue=pvalue, error=error
    )


class TestLines:
    """A 90 % interval covers 80 %, and a 50 % interval 51 %."""

    WRONG = line(0.9, 0.8, 0.76, 0.84, 0.001, Error(0.1, 0.06, 0.14, 0.13))
    RIGHT = line(0.5, 0.51, 0.46, 0.56, 1.0, Error(0.01, 0.0, 0.06, 0.05))

    def whole(self, *lines, pvalue=0.001):
        sizes = np.array([each.size for each in lines])
        total = Evidence(ALL_ROWS, "coverage_error", 0.1, rows=500, pvalue=pvalue, error=Error(*sizes.max(axis=0)))
        return Whole(total, lines)

    def test_the_worst_line_speaks(self):
        verdict = judge(Case(self.whole(self.RIGHT, self.WRONG)), setting())
        assert [(claim.quantity, claim.kind) for claim in verdict.claims] == [
            ("coverage", "below"),
            ("coverage_error", "miscalibrated"),
            ("coverage", "limits"),
        ]
        assert verdict.claims[0].expected == 0.9

    def test_a_line_without_a_test_does_not_speak(self):
        verdict = judge(Case(self.whole(replace(self.WRONG, pvalue=None))), setting())
        assert [(claim.quantity, claim.kind) for claim in verdict.claims] == [
            ("coverage_error", "miscalibrated"),
            ("coverage", "below"),
        ]

    def test_one_line_speaks_where_its_limits_show_the_outcome(self):
        within = judge(Case(self.whole(self.RIGHT, pvalue=1.0)), setting(0.07))
        assert (within.status, within.claims[0].quantity) == ("within", "coverage")
        hidden = judge(Case(self.whole(self.RIGHT, pvalue=1.0)), setting(0.055))  # limits to 0.56
        assert (hidden.status, hidden.claims[0].quantity) == ("within", "coverage_error")

    def test_a_line_that_only_describes_has_no_level(self):
        above = Evidence(Subject("sets", level=0.9), "coverage", 0.97, 0.95, 0.99, 500, 0.9, pvalue=1.0, describes=True)
        verdict = judge(Case(self.whole(above, pvalue=1.0)), setting(0.2))
        assert [claim.level for claim in verdict.claims if claim.kind == "description"] == [None]
        assert verdict.notes == (note("uncounted", number=1, all=1),)

    def test_0_is_no_limit_of_an_error_that_only_a_joint_test_finds(self):
        total = Evidence(ALL_ROWS, "coverage_error", 0.03, rows=9, pvalue=0.001, error=Error(0.03, NAN, 0.06, 0.06))
        verdict = judge(Case(Whole(total, (self.RIGHT,))), setting())
        assert verdict.status == "miscalibrated"
        assert math.isnan(verdict.claims[0].low)


class TestScale:
    def test_usual_tolerances_shrink_with_rare_events(self):
        assert usual_tolerances(0.01) == pytest.approx((0.001, 0.002, 0.005))

    def test_100_percent_is_the_error_if_no_event_happens(self):
        for mean, words in ((0.02, "the error if no event happened"), (0.98, "the error if no non-event happened")):
            never, always = (0.04, 0.99) if mean < 0.5 else (0.99, 0.04)
            verdict = judge(Case(Whole(error(0.01, 0.005, 0.03, mean=mean, never=never, always=always))), setting())
            assert (verdict.unit, verdict.share_of) == (0.04, words)
            assert [step.tolerance for step in verdict.at] == pytest.approx([0.004, 0.008, 0.02])

    def test_a_rare_class_has_its_share_beside_the_points(self):
        rare, common = (
            Evidence(Subject("class", name=str(mean)), "rms_error", 0.03, 0.01, 0.04, 900, pvalue=0.001, mean=mean)
            for mean in (0.02, 0.3)
        )
        evidence = tuple(replace(each, never=0.08) for each in (rare, common))
        claims = judge(Case(CALM, (groups(*evidence),)), setting(0.05)).claims
        assert [claim.never for claim in claims if claim.subject.kind == "class"] == [0.08, None]

    @pytest.mark.parametrize(
        ("mean", "high", "given", "unit"),
        [
            (0.02, 0.03, {}, (0.02, "the error if no event happened")),
            (0.98, 0.03, {}, (1 - 0.98, "the error if no non-event happened")),
            (0.02, 0.05, {}, (1.0, "")),  # much larger than the predicted events
            (0.3, 0.03, {}, (1.0, "")),
            (0.02, 0.03, {"tolerance": 0.01}, (1.0, "")),
            (0.3, 0.03, {"tolerance": 0.01, "relative": True}, (0.3, "the error if no event happened")),
            (None, 0.03, {}, (1.0, "")),
        ],
    )
    def test_one_unit_a_page(self, mean, high, given, unit):
        group = error(0.01, 0.005, 0.5, 0.001, name="a", mean=0.5)
        verdict = judge(Case(Whole(error(0.01, 0.005, high, mean=mean)), (groups(group),)), setting(**given))
        assert {(claim.unit, claim.share_of) for claim in verdict.claims} == {unit}


class TestMarks:
    """What is marked as off has limits that leave out what calibration gives."""

    def test_an_error_that_a_test_finds_is_above_0(self):
        claims = judge(Case(CALM, (groups(error(0.07, 0.0, 0.14, 0.002, name="a")),)), setting()).claims
        assert [(claim.kind, claim.low > 0) for claim in claims] == [("miscalibrated", True), ("within", False)]
        assert judge(Case(Whole(error(0.07, 0.0, 0.14, 0.002))), setting()).claims[0].low > 0

    def test_a_region_has_a_side_only_if_its_limits_have_one(self):
        wide, clear = (
            Evidence(Subject("region", name=name), "shift", 0.5, low, 1.1, 104, pvalue=0.002)
            for name, low in (("a", -0.05), ("b", 0.05))
        )
        claims = judge(Case(CALM, (groups(wide, clear),)), setting()).claims
        assert [(claim.subject.name, claim.kind) for claim in claims if claim.quantity == "shift"] == [
            ("b", "above"),
            ("a", "limits"),
        ]


class TestNeeded:
    WHOLE = Whole(error(0.02, 0.0, 0.09, 0.4), needed=lambda tau: Needed(round(1000 / tau)))

    def test_rows_that_would_tell(self):
        assert judge(Case(self.WHOLE), setting(0.02)).needed == (0.02, Needed(50_000))
        assert judge(Case(self.WHOLE), setting()).needed == (0.05, Needed(20_000))

    @pytest.mark.parametrize("tolerance", [0.1, 0.5])
    def test_nothing_where_it_is_known_or_enough(self, tolerance):
        assert judge(Case(self.WHOLE), setting(tolerance)).needed is None

    def test_nothing_beside_a_group_that_is_off(self):
        family = groups(error(0.12, 0.01, 0.18, 0.008, name="b", mean=0.3))
        verdict = judge(Case(self.WHOLE, (family,)), setting(0.05))
        assert (verdict.status, verdict.needed) == ("cannot tell", None)


@pytest.mark.parametrize(
    ("key", "sides"),
    {
        "over-confident": [(1, 0.2), (8, -0.2)],
        "under-confident": [(1, -0.09), (8, 0.1)],
        "too low": [(1, 0.2)],
        "too high": [(4, -0.2)],
        "both ways": [(1, 0.2), (2, -0.1), (8, -0.2), (9, 0.06)],
    }.items(),
)
def test_shapes(key, sides):
    ranges = tuple(
        Evidence(
            Subject("scores", low=k / 10, high=(k + 1) / 10), "frequency", k / 10 + side, NAN, NAN, 50, k / 10 + 0.05
        )
        for k, side in sides
    )
    assert judge(Case(Whole(error(0.15, 0.09, 0.2, explanation=ranges))), setting()).notes[0].key == key


def test_what_was_looked_at_is_said():
    family = groups(*(error(0.01, 0.0, 0.05, 0.5, name=name) for name in "abc"))
    covariates = Family("covariates", (), 5, pvalue=0.4)
    wholes = Whole(CALM.total, similar=54), Whole(CALM.total)
    cases = [
        Case(whole, families, looked_at="the score") for whole in wholes for families in ((family,), (covariates,))
    ]
    found = [judge(case, setting()).notes[-1] for case in cases]
    similar, beyond = (54, "ranges of similar scores"), {"beyond": ["the score", "these groups"]}
    assert [(each.key, each.values) for each in found] == [
        ("ranges", {"things": [similar, (3, "groups")], **beyond}),
        ("looked at covariates", {"things": [similar, (5, "covariates")]}),
        ("average", beyond),
        ("looked at covariates", {"things": [(5, "covariates")]}),
    ]
    assert [n.key for n in judge(Case(CALM, (family,)), setting()).notes] == ["calm"]


def test_notes_belong_to_an_outcome():
    notes = note("recalibrate", "miscalibrated"), note("conformal parts", "part", size="width"), note("no test")
    wholes = {"off": OFF, "calm": CALM}.items()
    kept = {name: [n.key for n in judge(Case(whole, notes=notes), setting()).notes] for name, whole in wholes}
    assert kept == {"off": ["recalibrate", "no test"], "calm": ["no test"]}


@pytest.mark.parametrize(
    ("kind", "border"), [("limits", 0.1), ("limits", 0.2), ("within", 0.15), ("no-better", 0.15), ("cannot tell", 0.1)]
)
def test_a_claim_is_true_at_its_border(kind, border):
    claim = Claim(kind, ALL_ROWS, "cutoff_error", 0.15, 0.1, 0.2, 0.95, tolerance=0.15)
    outwards = -1e-6 if border == 0.1 else 1e-6
    assert not claim.is_false(border)
    assert claim.is_false(border + outwards)


def test_an_accusation_is_false_where_the_truth_is_what_calibration_gives():
    claim = Claim("miscalibrated", ALL_ROWS, "coverage", 0.88, 0.8, 0.95, 0.95, expected=0.9)
    assert claim.is_false(0.9)
    assert not claim.is_false(0.88)


def test_parts_without_a_mean_prediction_are_small_up_to_one_point():
    parts = [
        Evidence(Subject("group", name=str(most)), "coverage_error", 0.005, 0.001, most, rows=4000, pvalue=0.001)
        for most in (0.01, 0.011)
    ]
    claims = judge(Case(CALM, (groups(*parts),)), setting()).claims
    assert {claim.subject.name: claim.kind for claim in claims if claim.subject.name} == {
        "0.01": "within",
        "0.011": "miscalibrated",
    }


def test_a_tolerance_that_a_part_decides_names_it():
    off = Evidence(Subject("group", name="store = Munich"), "cutoff_error", 0.15, 0.12, 0.19, rows=1333, pvalue=0.002)
    steps = judge(Case(CALM, (groups(off),)), setting()).at
    assert [(step.status, None if step.part is None else step.part.name) for step in steps] == [
        ("miscalibrated", "store = Munich")
    ] * 3
    assert all(step.part is None for step in judge(Case(OFF), setting()).at)


def test_a_tolerance_that_is_a_usual_one_but_for_rounding_is_stated_once():
    assert len(judge(Case(CALM), setting(0.1 * 0.2)).at) == 3
