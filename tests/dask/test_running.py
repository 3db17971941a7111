"""Summaries are merged in the order of the partitions, and a worker may die."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from calibrant import brier_score, ece
from calibrant.core.dispatch import on_threads
from calibrant.dask import measure
from calibrant.dask.jobs import FAN_IN, merged
from calibrant.dask.partitions import delayed_task
from calibrant.summaries import Grid

PATIENCE = 120  # seconds, for machines that are busy


class Order:
    """A summary that remembers in which order it was put together."""

    def __init__(self, *parts):
        self.parts = parts

    def __add__(self, other):
        return Order(*self.parts, *other.parts)


@pytest.mark.parametrize("many", [1, 2, 7, FAN_IN, FAN_IN + 1, FAN_IN**2, FAN_IN**2 + 1])
def test_the_order_of_the_partitions_is_kept(many, threads, require):
    delayed = require("dask").delayed
    total = merged([delayed(Order(k) if k % 5 else None, traverse=False) for k in range(many)]).compute()
    assert (total.parts if total else ()) == tuple(k for k in range(many) if k % 5)


def test_no_task_merges_more_than_eight(require, threads):
    delayed = require("dask").delayed
    graph = dict(merged([delayed(Grid.zero(), traverse=False) for _ in range(100)]).dask)
    merges = [task for key, task in graph.items() if str(key).startswith("calibrant-merge")]
    assert len(merges) == 13 + 2 + 1
    assert max(len(task.dependencies) for task in merges) == FAN_IN


def test_a_partition_is_read_and_summarised_by_one_task(framed, require):
    alias, watching, seen = require("dask._task_spec").Alias, require("dask.callbacks").Callback, []

    def note(key, graph, state):
        if not isinstance(graph[key], alias):
            seen.append(key)

    frame = framed({"y": [0, 1, 1, 0, 1, 0], "p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, 2, 4)
    with watching(pretask=note), require("dask").config.set(scheduler="sync"):
        measure("brier_score", frame, y="y", prediction="p")
    assert len(seen) == 3 + 1  # partitions and their sum


def test_a_task_keeps_to_the_thread_it_was_given(require):
    def idents():
        return set(on_threads(lambda part: threading.get_ident(), 10, size=1))

    assert delayed_task(idents, name="threads").compute(scheduler="sync") == {threading.get_ident()}


def test_a_worker_is_killed_in_the_middle_and_the_result_is_right(cluster, tmp_path, require):
    """Twelve partitions; from the fifth on none is made before one of both workers has been killed while at it."""
    da, delayed = require("dask.array"), require("dask").delayed
    rng, parts, rows, free = np.random.default_rng(3), 12, 500, 4
    p = rng.random(parts * rows)
    y = (rng.random(parts * rows) < p).astype(np.int64)

    def block(k, values):
        (tmp_path / f"begun-{k}-{os.getpid()}").touch()
        while k >= free and not (tmp_path / "killed").exists():
            time.sleep(0.01)
        return values

    made = [delayed(block)(k, p[k * rows : (k + 1) * rows]) for k in range(parts)]
    blocks = [da.from_delayed(each, (rows,), np.float64) for each in made]
    victims = []

    def kill():
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            begun = [path.name.split("-") for path in tmp_path.glob("begun-*")]
            waiting = sorted({int(pid) for _, k, pid in begun if int(k) >= free})
            if len(waiting) == 2:
                victims.append(waiting[0])
                os.kill(waiting[0], signal.SIGKILL)
                break
            time.sleep(0.01)
        (tmp_path / "killed").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    with cluster.as_current():
        found = measure(["brier_score", "ece"], (da.from_array(y, chunks=rows), da.concatenate(blocks)), exact=True)
    killer.join()
    begun = [path.name.split("-")[1:] for path in tmp_path.glob("begun-*")]
    interrupted = {k for k, pid in begun if int(pid) == victims[0] and int(k) >= free}
    assert interrupted  # it died with a partition in its hands,
    assert all(sum(k == other for other, _ in begun) >= 2 for k in interrupted)  # which was then made elsewhere
    np.testing.assert_allclose(found["brier_score"].value, brier_score(y, p), rtol=1e-12)
    np.testing.assert_allclose(found["ece"].value, ece(y, p), rtol=1e-12)
    cluster.wait_for_workers(2, timeout=PATIENCE)
