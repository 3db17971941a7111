"""One audit of rows at once and of rows in batches, of every kind of prediction."""

import json
import pickle

import numpy as np
import pytest
from scipy.stats import norm
from tests.auditing.found import values

from calibrant import Intervals, MvNormal, Normal, Quantiles, Samples, Sets, audit
from calibrant.auditing.job import AuditJob
from calibrant.core import dispatch, row_sample
from calibrant.core.evidence import Subject
from calibrant.core.summary import Summary
from calibrant.engines.merging import Merging
from calibrant.errors import NotApplicableError
from calibrant.inputs.columns import Batch

pytestmark = pytest.mark.usefixtures("little_power")
RNG = np.random.default_rng(1)
N, KEPT = 1500, 600
P = RNG.beta(0.5, 1.5, N)
Y = (RNG.random(N) < P**1.3).astype(int)
W = RNG.uniform(0.5, 2, N)
REGION = {"region": np.array(["north", "south", "west"])[RNG.integers(0, 3, N)]}
LOGITS = RNG.normal(size=(N, 3))
CLASSES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(3, p=row) for row in CLASSES])
MEAN, SD = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
X = MEAN + 1.2 * SD * RNG.normal(size=N)
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
DRAWS = MEAN[:, None] + SD[:, None] * RNG.normal(size=(N, 19))
VECTORS, VECTOR_DRAWS = RNG.normal(size=(N, 2)), RNG.normal(size=(N, 9, 2))
KINDS = {
    "binary": (Y, lambda k: P[k]),
    "classes": (LABELS, lambda k: CLASSES[k]),
    "intervals": (X, lambda k: Intervals(MEAN[k] - 1.645 * SD[k], MEAN[k] + 1.645 * SD[k], 0.9)),
    "sets": (LABELS, lambda k: Sets(CLASSES[k] > 0.2, 0.9)),
    "quantiles": (X, lambda k: Quantiles(MEAN[k, None] + SD[k, None] * norm.ppf(LEVELS), LEVELS)),
    "distributions": (X, lambda k: Normal(MEAN[k], SD[k])),
    "distributions of vectors": (VECTORS, lambda k: MvNormal(VECTORS[k] / 9, np.array([np.eye(2)] * len(VECTORS[k])))),
    "samples": (X, lambda k: Samples(DRAWS[k])),
    "samples of vectors": (VECTORS, lambda k: Samples(VECTOR_DRAWS[k])),
}
WITHOUT_GROUPS = ("distributions of vectors", "samples of vectors")


KNOWN = {"x": RNG.normal(size=N), "plan": np.sort(RNG.choice(list("abcde"), N)), "late": RNG.random(N) < 0.5}


def batches(y, predicted, weights=None, groups=None, size=700, covariates=None):
    for number, start in enumerate(range(0, len(y), size)):
        k = slice(start, start + size)
        w = None if weights is None else weights[k]
        labels, known = ({name: v[k] for name, v in (columns or {}).items()} for columns in (groups, covariates))
        yield Batch(y[k], predicted(k), w, labels, number, known)


def audited(job, *rows, **given):
    """Audit batches; their summaries travel as bytes."""
    merging = Merging()
    for batch in batches(*rows, **given):
        merging.add(Summary.from_bytes(job.part(batch).to_bytes()))
    return job.finish(merging.total())


@pytest.fixture
def few_kept(monkeypatch):
    """Keep a third of the rows."""
    monkeypatch.setattr(row_sample, "MAX_ROWS_KEPT", KEPT)


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weights"])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_in_batches_are_audited_as_those_rows(kind, weights):
    y, predicted = KINDS[kind]
    ours = audited(AuditJob(resamples=49), y, predicted, weights)
    whole = audit(y, predicted(slice(None)), weights=weights, resamples=49)
    assert ours.findings.measurements == whole.findings.measurements
    assert ours.verdict.claims == whole.verdict.claims
    assert ours.findings.caveats == whole.findings.caveats


@pytest.mark.parametrize("kind", KINDS)
def test_covariates_of_few_rows_in_batches_are_those_of_the_rows(kind):
    """No batch has all plans: they are matched by their names."""
    y, predicted = KINDS[kind]
    weights = None if kind.startswith("samples") else np.where(np.arange(N) % 5, W, 0)
    ours = audited(AuditJob(resamples=19, tolerance=0.05, share=0.5), y, predicted, weights, covariates=KNOWN)
    given = {"weights": weights, "covariates": KNOWN, "part": 0.5, "tolerance": 0.05}
    whole = audit(y, predicted(slice(None)), resamples=19, **given)
    assert ours.findings.measurements == whole.findings.measurements
    assert ours.verdict.claims == whole.verdict.claims
    assert ours.verdict.lines == whole.verdict.lines
    assert ours.findings.caveats == whole.findings.caveats
    assert "conditional_test" in values(ours)


def test_a_region_of_more_rows_than_are_kept_is_found(few_kept):
    y = (RNG.random(N) < np.clip(P + 0.25 * np.sign(KNOWN["x"]), 0, 1)).astype(int)
    found = audited(AuditJob(resamples=19, tolerance=0.05), y, KINDS["binary"][1], covariates=KNOWN)
    assert "Covariates are searched in 600 rows, drawn at random." in found.findings.caveats
    assert found.verdict.status == "miscalibrated"
    regions = [claim for claim in found.verdict.claims if claim.subject.kind == "region"]
    assert {claim.kind for claim in regions} == {"below", "above"}
    for claim in regions:
        assert claim.subject.name.startswith("x ")
        assert claim.rows < 600


def test_refused_covariates(refusal):
    y, predicted = KINDS["binary"]
    names = {"name": np.array([f"row {i}" for i in range(N)])}
    said = refusal(audited, AuditJob(resamples=19), y, predicted, covariates=names)
    assert "covariates (name) has 1,500 different categories in 1,500 rows" in said
    few = {"plan": np.array(list("abcdefghijklmnopqr") * 2)}
    audited(AuditJob(resamples=19), y[:36], predicted, size=18, covariates=few)  # 18 plans in one batch of 18 rows
    said = refusal(audited, AuditJob(resamples=19), *KINDS["samples"], W, covariates=KNOWN)
    assert said.startswith("covariates= is used with ranks, which need equal weights")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown(kind, tmp_path):
    y, predicted = KINDS[kind]
    groups = {} if kind in WITHOUT_GROUPS else {"groups": REGION}
    found = audit(y, predicted(slice(None)), resamples=19, **groups)
    assert max(map(len, str(found).splitlines())) <= 110  # tables are wider than text
    assert found.findings.title in found.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(found.to_json(tmp_path / "found.json").read_text()) == found.findings.to_dict()
    assert found._repr_html_().count("<tr") > 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_changes_nothing(kind):
    y, predicted = KINDS[kind]
    order = np.random.default_rng(0).permutation(N)
    whole, again, other = (audit(y[k], predicted(k), resamples=19) for k in (slice(None), slice(None), order))
    assert json.dumps(whole.findings.to_dict()) == json.dumps(again.findings.to_dict())
    assert whole.verdict.headline == other.verdict.headline
    assert whole.findings.measurements != ()
    for mine, theirs in zip(whole.findings.measurements, other.findings.measurements, strict=True):
        assert mine.value == pytest.approx(theirs.value, rel=1e-9, nan_ok=True), mine.name
        assert (mine.pvalue or 0) == pytest.approx(theirs.pvalue or 0, rel=1e-6), mine.name


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_tell_nothing(kind, n):
    y, predicted = KINDS[kind]
    if n == 1 and kind.startswith("samples"):
        with pytest.raises(NotApplicableError, match="one row has one rank"):
            audit(y[:1], predicted(slice(0, 1)), resamples=19)
    else:
        assert audit(y[:n], predicted(slice(0, n)), resamples=19).verdict.status == "cannot tell"


COUNTED = {
    "intervals": "coverage",
    "sets": "coverage",
    "quantiles": "coverage.0.5",
    "distributions": "coverage.0.9",
    "distributions of vectors": "coverage.largest_gap",
    "samples": "coverage_error",
    "samples of vectors": "uniformity_test",
}


@pytest.mark.parametrize("kind", COUNTED)
def test_more_rows_than_are_kept_are_counted(kind, few_kept):
    y, predicted = KINDS[kind]
    groups = None if kind in WITHOUT_GROUPS else REGION
    ours = audited(AuditJob(resamples=49), y, predicted, None, groups)
    whole = audit(y, predicted(slice(None)), groups=groups, resamples=49)
    assert values(ours)[COUNTED[kind]].value == values(whole)[COUNTED[kind]].value
    assert ours.findings.n == N
    assert any("count" in text and "600 rows of them" in text for text in ours.findings.caveats)
    if groups:
        sizes = [
            sorted(zip(*(one.findings.groups.columns[c] for c in ("group", "n")), strict=True)) for one in (ours, whole)
        ]
        assert sizes[0] == sizes[1]


def test_cells_state_how_far_they_are_off(few_kept):
    found, of_rows = audited(AuditJob(resamples=99), *KINDS["binary"]), audit(Y, P, resamples=99)
    ours, whole = values(found), values(of_rows)
    assert found.verdict.status == "miscalibrated"
    assert set(whole) - set(ours) == {"mmce"}
    other = {name for name in ours if name.startswith(("recalibrat", "skce_test"))} | {"rms_error", "range_error"}
    for name in set(ours) - other:  # samples of rows, ranges of whole cells
        bound = ours[name].details.get("rounding", 0.0)
        off = bound or 1e-12  # of p-values: cells round the scores of the exact tail
        assert ours[name].value == pytest.approx(whole[name].value, rel=1e-9, abs=off)
        assert not bound or "at most" in ours[name].method
    bounded = {name for name, line in ours.items() if "rounding" in line.details}
    assert bounded == {"kuiper_test", "kolmogorov_smirnov_test", "decompose.mcb", "decompose.dsc"}
    assert "off by at most" in str(found)
    assert "off by at most" not in str(of_rows)
    for words in ("counted in", "mmce does not apply", "Kernel errors (skce_test) are those of 600", "is measured on"):
        assert any(words in caveat for caveat in found.findings.caveats)


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_exact_keeps_all_scores(kind, few_kept):
    y, predicted = KINDS[kind]
    ours = values(audited(AuditJob(exact=True, resamples=99), y, predicted))
    whole = values(audit(y, predicted(slice(None)), resamples=99))
    assert set(ours) == set(whole)
    sampled = ("recalibrat", "skce_test", "classes.skce_test")
    for name, line in ours.items():
        if not name.startswith(sampled):
            assert line.value == pytest.approx(whole[name].value, rel=1e-12), name
            assert (line.pvalue or 0) == pytest.approx(whole[name].pvalue or 0, rel=1e-12)


def test_classes_in_cells(few_kept):
    ours = values(audited(AuditJob(resamples=399), *KINDS["classes"]))
    whole = values(audit(LABELS, CLASSES, resamples=399))
    for name, line in ours.items():
        off = line.details.get("rounding", 0.0)
        if name == "calibration_test":  # a p-value of other redraws
            off = 3 * np.sqrt(whole[name].value * (1 - whole[name].value) / 399)
        if not name.startswith(("recalibrat", "skce_test", "classes.skce_test", "rms_error", "range_error")):
            assert line.value == pytest.approx(whole[name].value, rel=1e-9, abs=off), name


def test_a_class_that_is_never_predicted(require, monkeypatch):
    """Its cells are counted by the compiled loop too, where many rows are expected."""
    require("numba")
    P = np.tile([0.5, 0.3, 0.2], (400, 1))
    y = np.arange(400) % 10 // 5
    plain = AuditJob(resamples=19).part(Batch(y, P))
    monkeypatch.setattr(dispatch, "FAST_ROWS", 1)
    assert AuditJob(resamples=19).part(Batch(y, P)).n == plain.n


def test_groups_of_probabilities():
    y = np.where(REGION["region"] == "west", RNG.random(N) < 0.7, Y)
    found = audited(AuditJob(resamples=99), y, KINDS["binary"][1], groups=REGION).findings
    whole = audit(y, P, resamples=99, groups=REGION).findings
    assert found.groups.columns["group"][0] == "region = west"
    ours, theirs = (
        sorted(zip(*(one.groups.columns[c] for c in ("group", "n", "bias")), strict=True)) for one in (found, whole)
    )
    for (name, n, bias), (other, rows, of_rows) in zip(ours, theirs, strict=True):
        assert (name, n) == (other, rows)
        assert bias == pytest.approx(of_rows, rel=1e-9)
    assert Subject("group", "region = west") in {claim.subject for claim in found.verdict.claims}


@pytest.mark.parametrize("kind", ["binary", "intervals", "samples"])
def test_a_column_of_numbers_is_not_one_of_groups(kind, refusal):
    y, predicted = KINDS[kind]
    numbers = {"age": np.arange(N) / 7}
    assert "the groups of age are too small" in refusal(audited, AuditJob(resamples=19), y, predicted, groups=numbers)


def test_labels_and_names():
    job = pickle.loads(pickle.dumps(AuditJob(pos_label="yes", resamples=19, names={"source": "a file"})))
    found = audited(job, np.where(Y == 1, "yes", "no"), KINDS["binary"][1])
    assert values(found)["brier_score"].value == pytest.approx(values(audit(Y, P, resamples=19))["brier_score"].value)
    assert found.findings.names == {"source": "a file"}
    named = audited(AuditJob(classes=["a", "b", "c"], resamples=19), np.array(list("abc"))[LABELS], KINDS["classes"][1])
    assert set(named.findings.sections[1].tables[0].columns["class"]) == {"a", "b", "c"}


def test_outcomes_that_were_ruled_out(few_kept):
    p = np.append(P, 0.0)
    found = audited(AuditJob(resamples=19), np.append(Y, 1), lambda k: p[k])
    words = "Outcomes happened against predictions of exactly 0 or 1"
    assert any(caveat.startswith(words) for caveat in found.findings.caveats)
