"""An audit of Dask collections is that of the rows."""

import numpy as np
import pytest

import calibrant
from calibrant import Intervals, from_columns
from calibrant import audit as in_memory
from calibrant.auditing import job as of_batches
from calibrant.dask import audit
from calibrant.inputs.columns import Batch


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(2)
    p = rng.random(800)
    P = rng.dirichlet(np.ones(3), 800)
    return {
        "label": (rng.random(800) < 0.5 + 0.8 * (p - 0.5)).astype(int),
        "score": p,
        "side": np.where(rng.random(800) < 0.4, "left", "right"),
        "weight": rng.exponential(size=800),
        "animal": np.array(["cat", "dog", "owl"])[rng.integers(0, 3, 800)],
        "P0": P[:, 0],
        "P1": P[:, 1],
        "P2": P[:, 2],
    }


def table(audit):
    return {name: values for name, values in audit.table.items() if name != "method"}


def same(found, expected):
    assert found.verdict.headline == expected.verdict.headline
    assert found.findings.n == expected.findings.n
    one, other = table(found), table(expected)
    assert list(one) == list(other)
    for name, values in other.items():
        for a, b in zip(one[name], values, strict=True):
            assert a == (pytest.approx(b, rel=1e-9, abs=1e-12) if isinstance(b, float) else b)


@pytest.mark.parametrize("exact", [False, True])
def test_a_frame_is_audited_as_one_batch_of_its_rows(exact, columns, framed, scheduler):
    given = {"y": "label", "prediction": "score", "weights": "weight", "groups": ["side"]}
    found = audit(framed(columns, 0, 300, 301, 700), **given, exact=exact, resamples=19)
    job = of_batches.AuditJob(exact, resamples=19)
    batch = Batch(columns["label"], columns["score"], columns["weight"], {"side": columns["side"]})
    same(found, job.finish(job.part(batch)))


def test_arrays_with_groups_say_the_same_as_a_frame(columns, framed, cut, threads):
    cuts = (200, 500)
    y, p, side = (cut(columns[name], *cuts) for name in ("label", "score", "side"))
    expected = audit(framed(columns, *cuts), y="label", prediction="score", groups="side", resamples=19)
    same(audit((y, p), groups={"side": side}, resamples=19), expected)
    assert audit((y, p), groups=side, resamples=19).findings.n == 800


def test_classes_with_names(columns, framed, threads):
    labels = ["cat", "dog", "owl"]
    found = audit(framed(columns, 200, 500), y="animal", prediction=["P0", "P1", "P2"], classes=labels, resamples=19)
    job = of_batches.AuditJob(resamples=19, classes=labels)
    batch = Batch(columns["animal"], np.column_stack([columns[f"P{k}"] for k in range(3)]))
    same(found, job.finish(job.part(batch)))


def test_a_generator_is_used_here_and_not_on_workers(columns, framed, cluster):
    frame, given = framed(columns, 200, 500), {"y": "label", "prediction": "score", "resamples": 19}
    with cluster.as_current():
        same(*(audit(frame, **given, rng=np.random.default_rng(1)) for _ in range(2)))


def test_covariates(columns, framed, cut, scheduler):
    """Partitions have different sides, and arrays are called as those of NumPy are."""
    rows, cuts = np.argsort(columns["side"], kind="stable"), (200, 500)
    columns = {name: values[rows] for name, values in columns.items()}
    y, p, x = columns["label"], columns["score"], np.column_stack([columns["P0"], columns["weight"]])
    given = {"part": 0.5, "tolerance": 0.05, "resamples": 19}
    found = audit(framed(columns, *cuts), y="label", prediction="score", covariates=["side", "P0"], **given)
    named = {"covariates": {name: columns[name] for name in ("side", "P0")}, **given}
    same(found, in_memory(y, p, **named))
    expected = in_memory(y, p, covariates=x, **given)
    same(audit((cut(y, *cuts), cut(p, *cuts)), covariates=cut(x, *cuts), **given), expected)
    assert found.verdict.claims == in_memory(y, p, **named).verdict.claims


def test_refusals(columns, framed, cut, threads, refusal):
    y, p = cut([0, 1], 1), cut([0.2, 0.7], 1)
    assert "groups must have names other than y, prediction, weights" in refusal(audit, (y, p), groups={"y": y})
    assert "level" in refusal(audit, (y, p), level=2)
    assert "prediction, weights, x; got 'x'" in refusal(audit, (y, p), groups={"x": y}, covariates={"x": y})
    assert "part= is a share of rows" in refusal(audit, (y, p), part=0.5)
    x = cut([0.5, np.nan], 1)
    said = refusal(audit, (y, p), covariates=x)
    assert said.startswith("partition 1: covariates (x0) must be finite")
    assert "row 0 is nan" in said


def test_intervals(columns, framed, threads):
    y, low = columns["weight"], columns["score"] - 0.5
    frame = framed({"y": y, "low": low, "high": low + 3, "side": columns["side"]}, 300, 500)
    prediction = from_columns(Intervals, "low", "high", level=0.9)
    found = audit(frame, y="y", prediction=prediction, groups="side", alternative="less", resamples=19)
    given = {"groups": {"side": columns["side"]}, "alternative": "less", "resamples": 19}
    same(found, in_memory(y, Intervals(low, low + 3, 0.9), **given))


def test_the_audit_of_arrays_points_here(cut, refusal):
    y, p = cut([0, 1, 1], 2), cut([0.2, 0.6, 0.7], 2)
    assert "calibrant.dask.audit" in refusal(calibrant.audit, [0, 1, 1], p)
    assert "y is a Dask Array" in refusal(calibrant.audit, y, [0.2, 0.6, 0.7])
