"""Totals of streams, in memory and on disk."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.auditing.batches import AuditJob
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.core.several import Several
from calibrant.engines import totals as module
from calibrant.engines.jobs import Measuring
from calibrant.engines.totals import Running
from calibrant.errors import SummaryError
from calibrant.inputs.columns import Batch

RNG = np.random.default_rng(0)
P = RNG.random(3000)
Y = (RNG.random(3000) < P).astype(int)
CLASSES = RNG.dirichlet(np.ones(3), 3000)
KINDS = RNG.integers(0, 3, 3000)


@pytest.fixture
def little_memory(monkeypatch):
    """Let sorted rows go to disk early, and do not wait for the disk."""
    monkeypatch.setattr(module, "MEMORY", 500)
    monkeypatch.setattr("os.fsync", lambda number: None)


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


@pytest.mark.parametrize(
    "job",
    [Measuring.of(["kuiper_test", "brier_score"], exact=True), AuditJob(exact=True, resamples=19)],
    ids=["measure", "audit"],
)
@pytest.mark.parametrize(("y", "p"), [(Y, P), (KINDS, CLASSES)], ids=["binary", "classes"])
@pytest.mark.parametrize("stop", [0, 7, 20])
def test_resuming_from_a_folder(little_memory, tmp_path, job, y, p, stop):
    if isinstance(job, Measuring) and p.ndim == 2:
        job = Measuring.of(["ece", "brier_score"], exact=True)
    parts = [job.part(Batch(y[k::20], p[k::20])) for k in range(20)]
    folder, in_memory = tmp_path / "rows", Running()
    running = Running(folder=folder)
    for part in parts[:stop]:
        running.add(part)
    older = running.state()
    for k, part in enumerate(parts[stop:]):  # all of this is lost
        running.add(part)
        if k % 4 == 0:
            running.state()
    running.total()
    for state in (older, older):  # twice: the files are still there
        again = Running.resumed(state, folder=folder, beside=[older])
        assert again.parts == stop
        for part in parts[stop:]:
            again.add(part)
        again.settle([older, again.state()])
        found = again.total()
    for part in parts:
        in_memory.add(part)
    assert found == in_memory.total()
    again.remove()
    assert not folder.exists()


def test_parts_share_the_memory(little_memory):
    """Ten classes have 21 sorted parts, which together hold no more than one would."""
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(10), 400)
    y = np.array([rng.choice(10, p=row) for row in P])
    job, running = AuditJob(exact=True), Running(spill=True)

    for k in range(20):
        running.add(job.part(Batch(y[k::20], P[k::20])))
        assert sum(runs._entries for runs in running._sorted) <= 500


def test_a_folder_with_files_of_others_stays(little_memory, tmp_path):
    running = Running(folder=tmp_path)
    job = Measuring.of(cb.kuiper_test, exact=True)
    for k in range(4):
        running.add(job.part(Batch(Y[k::4], P[k::4])))
    running.state()
    (tmp_path / "mine.txt").write_text("mine")
    running.remove()
    assert [path.name for path in tmp_path.rglob("*")] == ["mine.txt"]


def test_other_bytes():
    with pytest.raises(SummaryError, match="these are the bytes of a Grid; expected the state of a run"):
        Running.resumed(Grid.zero().to_bytes())


def test_the_summary_of_a_fold_outlives_it(little_memory):
    total = cb.summaries.fold("mmce", ((Y[k::20], P[k::20]) for k in range(20)), exact=True)
    assert isinstance(total, Ordered)
    assert cb.mmce(total) == pytest.approx(cb.mmce(Y, P), rel=1e-11)
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
