"""Audits of rows that come in batches."""

import pickle

import numpy as np
import pytest

from calibrant import Intervals, audit
from calibrant.auditing.job import AuditJob
from calibrant.core import dispatch
from calibrant.core.evidence import Subject
from calibrant.engines.merging import Merging
from calibrant.errors import InputError
from calibrant.inputs.columns import Batch

RNG = np.random.default_rng(1)
N = 3000
P = RNG.beta(0.5, 1.5, N)
Y = (RNG.random(N) < P**1.3).astype(int)
W = RNG.uniform(0.5, 2, N)
REGION = np.array(["north", "south", "west"])[RNG.integers(0, 3, N)]
LOGITS = RNG.normal(size=(N, 3))
CLASSES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
KINDS = np.array([RNG.choice(3, p=row) for row in CLASSES])


def audited(job, y, prediction, weights=None, groups=None, size=700):
    merging = Merging()
    for k in range(0, len(y), size):
        part = slice(k, k + size)
        cut = None if groups is None else {name: labels[part] for name, labels in groups.items()}
        merging.add(job.part(Batch(y[part], prediction[part], None if weights is None else weights[part], cut)))
    return job.finish(merging.total())


NEEDS_ROWS = {
    *(f"recalibration_gain{part}" for part in ("", ".low", ".high", ".before", ".after")),
    "recalibrate.slope",
}


def table(found):
    return {line.name: line for line in found.findings.measurements}


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weights"])
def test_exact_is_the_audit_of_the_rows(weights):
    ours, whole = (
        table(audited(AuditJob(exact=True, resamples=99), Y, P, weights)),
        table(audit(Y, P, weights=weights, resamples=99)),
    )
    assert set(ours) == set(whole)
    for name, line in ours.items():
        assert line.value == pytest.approx(whole[name].value, rel=1e-12)
        assert (line.pvalue or 0) == pytest.approx(whole[name].pvalue or 0, rel=1e-12)


def test_cells_state_how_far_they_are_off():
    found, of_rows = audited(AuditJob(resamples=99), Y, P), audit(Y, P, resamples=99)
    ours, whole = table(found), table(of_rows)
    assert found.verdict.status == "miscalibrated"
    assert set(whole) - set(ours) == {"mmce", "skce_test", "recalibrate.intercept", *NEEDS_ROWS}
    for name, line in ours.items():
        bound = line.details.get("rounding", 0.0)
        off = bound or 1e-12  # of p-values: cells round the scores of the exact tail
        assert line.value == pytest.approx(whole[name].value, rel=1e-9, abs=off)
        assert not bound or "at most" in line.method
    assert {name for name, line in ours.items() if "rounding" in line.details} == {
        "cutoff_error",
        "kuiper_test",
        "kolmogorov_smirnov_test",
        "decompose.mcb",
        "decompose.dsc",
    }
    assert "off by at most" in str(found)
    assert "off by at most" not in str(of_rows)
    assert any("counted in cells" in caveat for caveat in found.findings.caveats)
    assert any(caveat.startswith("mmce does not apply: it needs the rows") for caveat in found.findings.caveats)
    assert any(caveat.startswith("Whether recalibration helps is not measured") for caveat in found.findings.caveats)


@pytest.mark.parametrize("exact", [False, True])
def test_classes(exact):
    B = 99 if exact else 999
    ours = table(audited(AuditJob(resamples=B, exact=exact), KINDS, CLASSES))
    whole = table(audit(KINDS, CLASSES, resamples=B))
    of_vectors = {"classes.skce_test", "recalibrate.temperature", "recalibrate.argmax", *NEEDS_ROWS}
    assert set(whole) - set(ours) == {*of_vectors, *(() if exact else ("mmce", "skce_test"))}
    for name, line in ours.items():
        off = line.details.get("rounding", 0.0)
        if name == "calibration_test" and not exact:  # a p-value of other redraws
            off = 3 * np.sqrt(whole[name].value * (1 - whole[name].value) / B)
        assert line.value == pytest.approx(whole[name].value, rel=1e-9, abs=off), name


def test_a_class_that_is_never_predicted(require, monkeypatch):
    """Its cells are counted by the compiled loop too, where many rows are expected."""
    require("numba")
    P = np.tile([0.5, 0.3, 0.2], (400, 1))
    y = np.arange(400) % 10 // 5
    plain = AuditJob(resamples=19).part(Batch(y, P))
    monkeypatch.setattr(dispatch, "FAST_ROWS", 1)
    assert AuditJob(resamples=19).part(Batch(y, P)).n == plain.n


def test_a_column_of_numbers_is_not_one_of_groups(refusal):
    numbers = {"age": np.arange(len(P)) / 7}
    assert "the groups of age are too small" in refusal(audited, AuditJob(resamples=19), Y, P, groups=numbers)


def test_groups():
    y = np.where(REGION == "west", RNG.random(N) < 0.7, Y)
    found = audited(AuditJob(resamples=99), y, P, groups={"region": REGION}).findings
    assert found.groups.columns["group"][0] == "region = west"
    whole = audit(y, P, resamples=99, groups={"region": REGION}).findings
    ours, theirs = (
        dict(
            zip(
                one.groups.columns["group"],
                zip(*(one.groups.columns[c] for c in ("n", "bias")), strict=True),
                strict=True,
            )
        )
        for one in (found, whole)
    )
    for name, (n, bias) in theirs.items():
        assert ours[name][0] == n
        assert ours[name][1] == pytest.approx(bias, rel=1e-9)
    assert Subject("group", "region = west") in {claim.subject for claim in found.verdict.claims}


def test_labels_and_names():
    job = pickle.loads(pickle.dumps(AuditJob(pos_label="yes", resamples=19, names={"source": "a file"})))
    found = audited(job, np.where(Y == 1, "yes", "no"), P)
    assert table(found)["brier_score"].value == pytest.approx(table(audit(Y, P, resamples=19))["brier_score"].value)
    assert found.findings.names == {"source": "a file"}
    named = audited(AuditJob(classes=["a", "b", "c"], resamples=19), np.array(list("abc"))[KINDS], CLASSES)
    assert set(named.findings.sections[1].tables[0].columns["class"]) == {"a", "b", "c"}


def test_outcomes_that_were_ruled_out():
    found = audited(AuditJob(resamples=19), np.append(Y, 1), np.append(P, 0.0))
    assert any(
        caveat.startswith("Outcomes happened that were given probability 0") for caveat in found.findings.caveats
    )


def test_refusals():
    with pytest.raises(InputError, match="an audit of batches takes probabilities; got Intervals"):
        AuditJob().part(Batch(P, Intervals(P, P + 1, 0.9)))
    with pytest.raises(InputError, match="level"):
        AuditJob(level=95)
    with pytest.raises(InputError, match="exact"):
        AuditJob(exact="yes")
