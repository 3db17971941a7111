"""The audit of prediction sets."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.inference.coverage_test import coverage_test
from calibrant.metrics.width import width

N, K = 2000, 5


def exact(rng, share=0.9):
    """Return sets of one to three labels that hold the outcome with one probability, whatever their size."""
    size = rng.integers(1, 4, N)
    order = rng.permuted(np.tile(np.arange(K), (N, 1)), axis=1)
    mask = np.zeros((N, K), bool)
    np.put_along_axis(mask, order, np.arange(K) < size[:, None], axis=1)
    held = rng.random(N) < share
    place = np.where(held, rng.integers(0, size), rng.integers(size, K))
    return order[np.arange(N), place], mask


Y, MASK = exact(np.random.default_rng(2))


def values(audit):
    return {m.name: m for m in audit.findings.measurements}


def test_each_measurement_is_the_one_of_its_verb():
    sets = cb.Sets(MASK, 0.9)
    found = values(cb.audit(Y, sets, resamples=99))
    assert found["coverage"].value == cb.coverage(Y, sets)
    assert found["coverage"].pvalue == coverage_test(Y, sets).pvalue
    assert found["width"].value == width(sets)
    assert found["width.empty_fraction"].value == 0
    assert found["width.singleton_fraction"].value == width(sets, statistic="singleton_fraction")


def test_right_sets():
    verdict = cb.audit(Y, cb.Sets(MASK, 0.9), groups=np.arange(N) % 4, resamples=99).verdict
    assert verdict.status == "no evidence"
    assert "No size of sets" in verdict.sentences[-2]
    assert "None of 4 groups" in verdict.sentences[-1]


@pytest.mark.parametrize(("share", "words"), [(0.8, "they are too small"), (0.97, "they are larger than they need")])
def test_the_verdict_says_which_way(share, words):
    y, mask = exact(np.random.default_rng(3), share)
    verdict = cb.audit(y, cb.Sets(mask, 0.9), resamples=99).verdict
    assert verdict.status == "miscalibrated"
    assert words in verdict.sentences[0]


def test_only_too_low_a_coverage_counts_by_size_and_in_groups():
    # sets of one label always hold, sets of three hold 80 %
    size = np.repeat([1, 3], 1000)
    mask = np.arange(K) < size[:, None]
    y = np.where(np.arange(2000) % 1000 < np.where(size == 1, 1000, 800), 0, 4)
    audit = cb.audit(y, cb.Sets(mask, 0.9), groups=size, resamples=99)
    sizes = audit.findings.sections[1].tables[0]
    assert sizes.columns["size"] == ("0 to 1", "3")
    assert sizes.columns["pvalue"][0] == 1
    assert sizes.columns["pvalue_adjusted"][1] < 1e-6
    assert "Sets of size 3 hold 80 % of the outcomes, not 90 %" in audit.verdict.sentences[0]
    assert (
        audit.verdict.sentences[-1] == "1 of 2 groups is off by more than chance: group = 3 (covers 80 %, below 90 %)."
    )


def test_labels_are_shown_and_not_judged():
    # the rare label is never in a set; 900 of 1000 outcomes are held
    mask = np.tile([True, True, False], (1000, 1))
    y = np.repeat([0, 1, 2], [500, 400, 100])
    audit = cb.audit(y, cb.Sets(mask, 0.9), resamples=99)
    assert audit.verdict.status == "no evidence"
    table = audit.findings.sections[2].tables[0]
    assert table.columns["label"] == ("2", "0", "1")
    assert table.columns["coverage"] == (0, 1, 1)
    assert "pvalue" not in table.columns


def test_names_of_labels():
    names = ["a", "b", "c", "d", "e"]
    audit = cb.audit([names[k] for k in Y], cb.Sets(MASK, 0.9), classes=names, resamples=19)
    assert sorted(audit.findings.sections[2].tables[0].columns["label"]) == names


def test_sets_without_a_level():
    audit = cb.audit(Y, cb.Sets(MASK), groups=np.arange(N) % 2, resamples=19)
    assert audit.verdict.status == "cannot tell"
    assert "no nominal level" in audit.verdict.headline
    assert values(audit)["coverage"].pvalue is None
    assert "skce_test" not in values(audit)
    assert all(len(line) <= 88 for line in str(audit).splitlines())


def test_several_levels(tmp_path):
    both = np.stack([MASK, np.ones_like(MASK)], axis=2)
    audit = cb.audit(Y, cb.Sets(both, [0.9, 0.99]), resamples=19)
    assert values(audit)["coverage.0.99"].value == 1
    found = values(audit)
    assert (found["width.0.9"].value, found["width.0.99"].value) == tuple(width(cb.Sets(both, [0.9, 0.99])))
    assert found["width.singleton_fraction.0.99"].value == 0
    assert found["size_stratified_coverage.0.99"].value == 1
    assert audit.findings.sections[0].tables == ()
    assert "Prediction sets" in audit.to_html(tmp_path / "a.html").read_text()


def test_a_conformal_predictor():
    # sets that hold 86 % are no surprise after 50 calibration scores
    y, mask = exact(np.random.default_rng(4), 0.86)
    assert cb.audit(y, cb.Sets(mask, 0.9), resamples=19).verdict.status == "miscalibrated"
    assert cb.audit(y, cb.Sets(mask, 0.9), calibration_size=50, resamples=19).verdict.status == "cannot tell"
