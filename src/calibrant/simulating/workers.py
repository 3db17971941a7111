"""Who makes the fits: this process, processes of their own, or the workers of a Dask client."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, NamedTuple

from calibrant.errors import CalibrantError, InputError
from calibrant.inputs.options import check_count
from calibrant.simulating.fits import Failure, Fit, Task

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
GRACE = 5.0  # seconds that a worker has to end
READY = "ready"

Jobs = Sequence[tuple[int, ...]]
Made = Generator[list[Fit], None, None]


def made_by(workers: Any, task: Task, jobs: Jobs) -> Made:
    """Yield fits as they are made; jobs are the numbers of fits that are made together."""
    if type(workers).__module__.partition(".")[0] == "distributed":
        return _on_dask(workers, task, jobs)
    if check_count("workers", workers) == 1:
        return (task.run(job) for job in jobs)
    return _in_processes(min(workers, max(1, len(jobs))), pickled(task), task, jobs)


def pickled(task: Task) -> bytes:
    """Return the task as bytes, by cloudpickle where it is installed, which takes functions of notebooks too."""
    dumps: Callable[[Any], bytes] = pickle.dumps
    with suppress(ImportError):
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        dumps = cloudpickle.dumps
    for name in ("prior", "simulator", "sampler"):
        try:
            dumps(getattr(task, name))
        except Exception as problem:
            words = f"the {name} cannot be sent to other processes ({type(problem).__name__}: {problem})"
            raise InputError(f"{words}; define it at the top level of a module, or pass workers=1") from problem
    return dumps(task)


class _Worker(NamedTuple):
    process: Any
    pipe: Connection


def _in_processes(number: int, content: bytes, task: Task, jobs: Jobs) -> Made:
    """Give each process one job at a time. A process that dies has failed the fits it was making."""
    context = multiprocessing.get_context("spawn")
    ready: set[Any] = set()
    waiting, busy = list(reversed(jobs)), dict[Any, tuple[_Worker, tuple[int, ...]]]()
    try:
        with _one_thread():
            for worker in [_start(context, content) for _ in range(number)]:
                if waiting:
                    _send(worker, waiting.pop(), busy)
        while busy:
            for pipe in wait(list(busy)):
                worker, job = busy.pop(pipe)
                try:
                    found = worker.pipe.recv()
                except (EOFError, OSError):
                    worker.process.join(GRACE)
                    if pipe not in ready:
                        raise _no_start(worker.process.exitcode) from None
                    words = f"the process ended with exit code {worker.process.exitcode} during this fit"
                    yield [_lost(task, index, "ProcessEnded", words) for index in job]
                    if waiting:
                        with _one_thread():
                            _send(_start(context, content), waiting.pop(), busy)
                    continue
                if isinstance(found, BaseException):
                    raise found
                if found == READY:
                    ready.add(pipe)
                    busy[pipe] = (worker, job)
                    continue
                if waiting:
                    _send(worker, waiting.pop(), busy)
                else:
                    worker.pipe.close()  # the process ends
                yield found
    finally:
        for worker, _ in busy.values():
            worker.process.terminate()
        for worker, _ in busy.values():
            worker.process.join(GRACE)
            if worker.process.is_alive():
                worker.process.kill()


def _start(context: Any, content: bytes) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, content, list(sys.path)), daemon=True)
    try:
        process.start()
    except RuntimeError as problem:  # in a worker that runs a script without a main guard
        raise _no_start(None) from problem
    theirs.close()
    return _Worker(process, ours)


def _no_start(code: int | None) -> CalibrantError:
    ended = "" if code is None else f" (exit code {code})"
    return CalibrantError(
        f"worker processes cannot start{ended}: they import the script that was started. Put the call under "
        "if __name__ == '__main__': in a file, or pass workers=1"
    )


def _send(worker: _Worker, job: tuple[int, ...], busy: dict[Any, Any]) -> None:
    with suppress(OSError):  # it has died: reading says so
        worker.pipe.send(job)
    busy[worker.pipe] = (worker, job)


def _work(pipe: Connection, content: bytes, path: list[str]) -> None:  # pragma: no cover  # in a process of its own
    """Make fits until the other end of the pipe is closed, which it is as soon as that process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
    Thread(target=_end_with_parent, daemon=True).start()
    sys.path[:] = path
    try:
        task = pickle.loads(content)
    except BaseException as problem:
        pipe.send(CalibrantError(f"a worker cannot read the functions ({type(problem).__name__}: {problem})"))
        return
    pipe.send(READY)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(task.run(pipe.recv()))


def _end_with_parent() -> None:  # pragma: no cover  # in a process of its own
    """End this process as soon as the one that started it has ended, also in the middle of a fit."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _lost(task: Task, index: int, exception: str, words: str) -> Fit:
    """Return the failure of a fit whose worker is gone; its parameter is drawn again, which is the same one."""
    theta = None
    with suppress(Exception):
        theta = tuple(task.parameter(task.seeds(index)[0])[1].tolist())
    failure = Failure(index, theta, exception, words, (task.entropy, index))
    return Fit(index, None, None, None, 0.0, failure=failure, traceback=words)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that are started now use one thread for linear algebra each, unless the user has chosen."""
    chosen = [name for name in ONE_THREAD if name not in os.environ]
    os.environ.update(dict.fromkeys(chosen, "1"))
    try:
        yield
    finally:
        for name in chosen:
            del os.environ[name]


def _on_dask(client: Any, task: Task, jobs: Jobs) -> Made:
    from distributed import as_completed

    shared = client.scatter(task, broadcast=True, hash=False)
    futures = {client.submit(_run, shared, job, pure=False, retries=0): job for job in jobs}
    try:
        for future in as_completed(list(futures)):
            job = futures.pop(future)
            problem = future.exception()
            if problem is None:
                yield future.result()
            elif type(problem).__module__.partition(".")[0] == "distributed":  # its worker was lost
                words = str(problem).split("\n")[0]
                yield [_lost(task, index, type(problem).__name__, words) for index in job]
            else:
                raise problem
    finally:
        client.cancel(list(futures))


def _run(task: Task, job: tuple[int, ...]) -> list[Fit]:
    return task.run(job)
