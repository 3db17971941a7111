"""Many verbs in one pass."""

import functools
import pickle
from decimal import Decimal

import numpy as np
import pytest

import calibrant as cb
from calibrant import Intervals
from calibrant.auditing.job import AuditJob
from calibrant.engines.jobs import GRID, ORDERED, Measuring
from calibrant.engines.merging import Merging
from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.columns import Batch

RNG = np.random.default_rng(0)
P = RNG.random(2000)
Y = (RNG.random(2000) < P).astype(int)
W = RNG.uniform(0.5, 2.0, 2000)


def measured(job, batches):
    merging = Merging()
    for batch in batches:
        merging.add(job.part(batch))
    return job.finish(merging.total())


def cut(size=300, weights=None):
    for k in range(0, len(Y), size):
        yield Batch(Y[k : k + size], P[k : k + size], None if weights is None else weights[k : k + size])


def number(result):
    return getattr(result, "statistic", getattr(result, "mcb", result))


def test_one_pass_for_all():
    tens = functools.partial(cb.ece, bins=10)
    job = Measuring.of([cb.ece, "brier_score", tens, cb.log_score, cb.kuiper_test, cb.spiegelhalter_test])
    assert job.part(next(cut())).names == (GRID, "log_score")
    found = measured(job, cut())
    assert list(found)[2] == "ece(bins=10)"
    verbs = {"ece": cb.ece, "brier_score": cb.brier_score, "ece(bins=10)": tens, "log_score": cb.log_score}
    for name, verb in verbs.items():
        assert found[name].value == pytest.approx(verb(Y, P), rel=1e-12)
        assert found[name].rounding == 0
    exact, test = cb.kuiper_test(Y, P), found["kuiper_test"]
    assert test.rounding["estimate"] < 0.01
    assert test.value.estimate == pytest.approx(exact.estimate, rel=1e-12, abs=test.rounding["estimate"])
    assert found["spiegelhalter_test"].value.statistic == pytest.approx(cb.spiegelhalter_test(Y, P).statistic, rel=1e-9)


def test_exact():
    verbs = [cb.kuiper_test, cb.mmce, cb.decompose, functools.partial(cb.ece, strategy="mass")]
    job = Measuring.of(verbs, exact=True)
    assert job.part(next(cut())).names == (ORDERED,)
    for name, (value, rounding) in measured(job, cut(weights=W)).items():
        whole = (verbs[3] if "(" in name else getattr(cb, name))(Y, P, weights=W)
        assert number(value) == pytest.approx(number(whole), rel=1e-12)
        assert rounding == 0


def test_verbs_without_outcome_beside_others():
    intervals = Intervals(P - 1, P + 1, 0.9)
    found = measured(Measuring.of([cb.width, cb.coverage]), [Batch(P, intervals)])
    assert found["width"].value == pytest.approx(2.0)
    assert measured(Measuring.of(cb.width), [Batch(None, intervals)])["width"].value == pytest.approx(2.0)


def test_blocks_have_a_constant_size_and_jobs_travel():
    job = Measuring.of([functools.partial(cb.skce, blocksize=2), cb.ece], exact=True)
    assert job.part(next(cut())).names == ("skce(blocksize=2)", "ece")
    job = pickle.loads(pickle.dumps(Measuring.of([functools.partial(cb.ece, bins=5)])))
    assert measured(job, cut())["ece(bins=5)"].value == pytest.approx(cb.ece(Y, P, bins=5), rel=1e-12)


def test_refusals(refuses, refusal):
    cases = {
        "no verbs": ([], "nothing to measure"),
        "twice": ([cb.ece, "ece"], "given twice"),
        "arguments": (functools.partial(cb.ece, Y), "by keyword only"),
        "other kinds": ([cb.ece, cb.coverage], "coverage judges Intervals, Sets or Quantiles"),
        "no verb": ("eec", "expected a verb"),
        "no option": (functools.partial(cb.ece, bons=3), "no option bons"),
    }
    refuses(lambda verbs: Measuring.of(verbs).part(next(cut())), cases)
    words = refusal(Measuring.of(cb.mmce).part, next(cut()), error=NotApplicableError)
    assert words.startswith("mmce needs all rows")
    assert "exact=True" in words
    for exact in ("no", 1, None):
        assert "exact" in refusal(cb.measure, "ece", [([0, 1], [0.1, 0.9])], exact=exact)


class TestLabelOfTheEvent:
    """What one batch does not have another one may."""

    batches = (["a", "b"], [0.2, 0.4]), (["c", "a"], [0.7, 0.1])

    @pytest.mark.parametrize("run", ["measure", "fold", "audit"])
    def test_a_batch_without_the_event(self, run):
        y, p = ["a", "b", "c", "a"], [0.2, 0.4, 0.7, 0.1]
        if run == "measure":
            found = cb.measure("brier_score", self.batches, pos_label="c")["brier_score"].value
        elif run == "fold":
            found = cb.brier_score(cb.summaries.fold("brier_score", self.batches, pos_label="c"))
        else:
            job = AuditJob(pos_label="c", resamples=19)
            total = job.part(Batch(*self.batches[0])) + job.part(Batch(*self.batches[1]))
            assert job.finish(total).findings.n == 4
            found = cb.brier_score(total["brier_score"])
        assert found == pytest.approx(cb.brier_score(y, p, pos_label="c"), rel=1e-14)

    @pytest.mark.parametrize("label", ["jes", 1])
    def test_a_label_that_no_row_has_is_refused_in_the_end(self, label, refusal):
        batches, job = [(["no", "no"], [0.2, 0.4]), (["yes", "yes"], [0.7, 0.1])], AuditJob(pos_label=label)
        words = f"pos_label {label!r} is not among the labels of y, which has 'no', 'yes'"
        assert words in refusal(cb.measure, "ece", batches, pos_label=label)
        assert words in refusal(cb.summaries.fold, "ece", batches, pos_label=label)
        assert words in refusal(job.finish, job.part(Batch(*batches[0])) + job.part(Batch(*batches[1])))

    def test_one_label_alone_may_be_rows_without_events(self):
        assert cb.measure("brier_score", [(["no", "no"], [0.5, 0.5])] * 2, pos_label="yes")["brier_score"].value == 0.25

    def test_the_row_of_a_missing_outcome_is_named(self, refusal):
        batches = [*self.batches[:1], (["c", None], [0.5, 0.5])]
        words = "batch 1: y must not have missing values; row 1 is None"
        assert words in refusal(cb.measure, "ece", batches, pos_label="c")


def test_scores_of_two_precisions(refusal):
    batches = [([0, 1, 1], np.array([0.1, 0.3, 0.6], dtype)) for dtype in (np.float64, np.float32)]
    words = "batch 1: scores of type float64 and float32 fall into different bins"
    assert words in refusal(cb.measure, "ece", batches, error=SummaryError)


class TestGroups:
    def test_labels_of_a_batch_go_to_verbs_that_compare_groups(self):
        y, low, high = np.array([0.5, 1.0, 1.5, 3.0]), np.array([0.0, 0.0, 1.0, 4.0]), np.array([1.0, 2.0, 2.0, 5.0])
        g = np.array(["a", "a", "b", "b"])
        parts = [slice(0, 1), slice(1, 4)]
        batches = [Batch(y[k], cb.Intervals(low[k], high[k], 0.75), groups={"g": g[k]}) for k in parts]
        found = cb.measure([cb.coverage, cb.coverage_gap], batches)
        whole = cb.Intervals(low, high, 0.75)
        assert found["coverage"].value == cb.coverage(y, whole)
        assert found["coverage_gap"].value == cb.coverage_gap(y, whole, groups=g) == 0.25  # 0 without groups

    def test_groups_that_were_given_are_not_replaced(self):
        batch = Batch([1.0, 2.0], cb.Intervals([0.0, 3.0], [2.0, 5.0], 0.5), groups={"g": ["a", "b"]})
        sized = functools.partial(cb.coverage_curve, groups="size", bins=1)
        (found,) = cb.measure(sized, [batch], exact=True).values()
        assert found.value.columns["count"].tolist() == [2]

    def test_a_verb_that_looks_at_all_rows_stays_with_them(self):
        batch = Batch([1.0, 2.0], cb.Intervals([0.0, 3.0], [2.0, 5.0], 0.5), groups={"g": ["a", "b"]})
        found = cb.measure([cb.coverage_gap, cb.regions.kupiec_test], [batch])
        intervals = cb.Intervals([0.0, 3.0], [2.0, 5.0], 0.5)
        assert found["kupiec_test"].value == cb.regions.kupiec_test([1.0, 2.0], intervals)

    def test_refused(self, refuses):
        no_mapping = "groups of a batch must be a mapping from a name to labels; got"
        cases = [(groups, no_mapping) for groups in ({}, ["a"], np.array(["a"]))]
        cases += [({"g": ["a"], "h": ["b"]}, "batch 0: verbs compare the groups of one column; got ['g', 'h']")]
        interval = cb.Intervals([0.0], [2.0], 0.5)
        refuses(lambda groups: cb.measure(cb.coverage_gap, [Batch([1.0], interval, groups=groups)]), cases)

    def test_the_same_moments_and_decimals_are_the_same_groups(self):
        days = np.array(["2024-01-01T06:30", "2024-01-02"], dtype="M8[m]")
        for first, second in (
            (days.astype("M8[ns]"), days.astype("M8[s]")),
            (days.astype("M8[ms]"), days),
            ((days - days[0]).astype("m8[ns]"), days - days[0]),
            ([Decimal("1.0"), Decimal("0.5")], [Decimal(1), Decimal("0.50")]),
        ):
            bounds = cb.Intervals([0.0, 3.0], [2.0, 3.5], 0.5)
            parts = [Batch([1.0, 4.0], bounds, groups={"g": g}) for g in (first, second)]
            found = cb.measure(cb.coverage_curve, parts)["coverage_curve"].value
            assert found.columns["count"].tolist() == [2, 2]
