"""Prefetching: the next items of an iterator are made on another thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from queue import Full, Queue
from threading import Event, Thread
from typing import NamedTuple, TypeVar

T = TypeVar("T")

WAIT_SECONDS = 0.1  # after which the other thread looks whether its items are still wanted


class _Ended(NamedTuple):
    """The end of the items, by an error or without one."""

    problem: BaseException | None = None


def ahead(items: Iterable[T]) -> Generator[T, None, None]:
    """Yield the items in their order while another thread makes the next one; its errors are raised in turn.

    >>> list(ahead(iter([3, 1, 2])))
    [3, 1, 2]
    """
    return handed_over(lambda give: all(map(give, items)))


def handed_over(make: Callable[[Callable[[T], bool]], object]) -> Generator[T, None, None]:
    """Yield what `make`, on another thread, gives to the function it gets; its errors are raised in turn.

    That function waits until the item before is taken, and tells whether further ones are wanted.

    >>> list(handed_over(lambda give: [give(item) for item in (3, 1, 2)]))
    [3, 1, 2]
    """
    queue: Queue[T | _Ended] = Queue(1)
    unwanted = Event()

    def give(item: T | _Ended) -> bool:
        while not unwanted.is_set():
            try:
                queue.put(item, timeout=WAIT_SECONDS)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            make(give)
        except BaseException as error:  # whatever it is, it belongs to whoever wants the items
            give(_Ended(error))
        else:
            give(_Ended())

    thread = Thread(target=work, name="calibrant-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _Ended):
            yield item
            del item  # not kept in memory while the next one is waited for
        if item.problem is not None:
            raise item.problem
    finally:
        unwanted.set()
        thread.join()
