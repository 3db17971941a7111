"""Prefetching: the next items of an iterator are made on another thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from queue import Full, Queue
from threading import Event, Thread
from typing import NamedTuple, TypeVar

T = TypeVar("T")

WAIT_SECONDS = 0.1  # seconds after which the other thread looks whether somebody still wants its items


class _Ended(NamedTuple):
    """The end of the items, by an error or without one."""

    problem: BaseException | None


def ahead(items: Iterable[T], most: int = 1) -> Generator[T, None, None]:
    """Yield the items in their order while another thread makes `most` further ones; its errors are raised in turn.

    >>> list(ahead(iter([3, 1, 2])))
    [3, 1, 2]
    """

    def make(give: Callable[[T], bool]) -> None:
        for item in items:
            if not give(item):
                return
            del item

    return handed_over(make, most)


def handed_over(make: Callable[[Callable[[T], bool]], object], most: int = 1) -> Generator[T, None, None]:
    """Yield what `make`, on another thread, gives to the function it gets; its errors are raised in turn.

    That function waits while `most` items are there, and tells whether further ones are wanted.

    >>> list(handed_over(lambda give: [give(item) for item in (3, 1, 2)]))
    [3, 1, 2]
    """
    queue: Queue[T | _Ended] = Queue(most)
    unwanted = Event()
    thread = Thread(target=_make, args=(make, queue, unwanted), name="calibrant-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _Ended):
                if item.problem is not None:
                    raise item.problem
                return
            yield item
            del item  # what was dealt with is not held while the next one is waited for
    finally:
        unwanted.set()
        thread.join()


def _make(make: Callable[[Callable[[T], bool]], object], queue: Queue[T | _Ended], unwanted: Event) -> None:
    problem: BaseException | None = None
    try:
        make(lambda item: _given(item, queue, unwanted))
    except BaseException as error:  # whatever it is, it belongs to whoever wants the items
        problem = error
    _given(_Ended(problem), queue, unwanted)


def _given(item: T | _Ended, queue: Queue[T | _Ended], unwanted: Event) -> bool:
    """Hand an item over, and tell whether it was wanted."""
    while not unwanted.is_set():
        try:
            queue.put(item, timeout=WAIT_SECONDS)
        except Full:
            continue
        return True
    return False
