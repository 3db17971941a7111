"""Totals of streams, in memory and on disk."""

import numpy as np
import pytest

import calibrant as cb
from calibrant import SummaryError
from calibrant.audit.of_batches import AuditJob
from calibrant.engines import sorted_runs
from calibrant.engines.measuring import Measuring
from calibrant.engines.running import Running
from calibrant.inputs.named_columns import Batch
from calibrant.summaries import Grid, Ordered, Several

RNG = np.random.default_rng(0)
P = RNG.random(3000)
Y = (RNG.random(3000) < P).astype(int)
CLASSES = RNG.dirichlet(np.ones(3), 3000)
KINDS = RNG.integers(0, 3, 3000)


@pytest.fixture
def little_memory(monkeypatch):
    """Let sorted rows go to disk early."""
    made = sorted_runs.SortedRuns.__init__
    monkeypatch.setattr(sorted_runs.SortedRuns, "__init__", lambda self: made(self, memory=500))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("y", "p"), [(Y, P), (KINDS, CLASSES)], ids=["binary", "classes"])
def test_on_disk_as_in_memory(little_memory, y, p, exact):
    job = AuditJob(exact=exact, resamples=19)
    parts = [job.part(Batch(y[k::20], p[k::20])) for k in range(20)]
    totals = [Running(spill=spill) for spill in (False, True)]
    for running in totals:
        for part in parts:
            running.add(part)
    in_memory, on_disk = (running.total() for running in totals)
    assert in_memory == on_disk
    assert job.finish(on_disk).findings.to_dict() == job.finish(in_memory).findings.to_dict()


def test_rows_go_to_disk(little_memory):
    job = Measuring.of(cb.kuiper_test, exact=True)
    running = Running(spill=True)
    for k in range(20):
        running.add(job.part(Batch(Y[k::20], P[k::20])))
    assert isinstance(running.total()["ordered"].score, np.memmap)
    assert job.finish(running.total())["kuiper_test"].value == cb.kuiper_test(Y, P)
    with pytest.raises(SummaryError, match="no state"):
        running.state()


def test_the_summary_of_a_fold_outlives_it(little_memory):
    total = cb.fold("mmce", ((Y[k::20], P[k::20]) for k in range(20)), exact=True)
    assert isinstance(total, Ordered)
    assert cb.mmce(total) == cb.mmce(Y, P)
    assert Ordered.from_bytes(total.to_bytes()) == total


def test_nothing():
    assert Running().total() is None
    assert Running(spill=True).total() is None
    assert Running.resumed(Running().state()).total() is None


@pytest.mark.parametrize("spill", [False, True])
@pytest.mark.parametrize("stranger", [Several.of({"b": Ordered.zero()}), Grid.zero()], ids=["other name", "other kind"])
def test_strangers(spill, stranger):
    running = Running(spill=spill)
    running.add(Several.of({"a": cb.summarize("kuiper_test", Y, P)}))
    with pytest.raises(SummaryError, match="do not merge"):
        running.add(stranger)
