"""Items that another thread makes: in order, errors in their turn, nothing left running."""

import threading

import pytest

from calibrant.files.ahead import ahead, handed_over


def running():
    return [thread for thread in threading.enumerate() if thread.name == "calibrant-ahead"]


def items(problem):
    yield 1
    yield 2
    raise problem


def test_items_are_made_in_order_by_another_thread():
    assert list(ahead(iter(range(100)))) == list(range(100))
    assert list(ahead([])) == []
    assert threading.get_ident() not in set(ahead(threading.get_ident() for _ in range(3)))


def test_an_error_is_raised_after_the_items_before_it():
    for found in (
        ahead(items(ValueError("no third"))),
        handed_over(lambda give: [*map(give, items(ValueError("no third")))]),
    ):
        assert [next(found), next(found)] == [1, 2]
        with pytest.raises(ValueError, match="no third"):
            next(found)
    assert not running()


def test_not_more_than_asked_for_are_made_ahead():
    made, second = [], threading.Event()

    def noted():
        for k in range(10):
            made.append(k)
            if k == 2:
                second.set()
            yield k

    found = ahead(noted())
    assert next(found) == 0
    assert second.wait(10)  # one waits in the queue, another in the hands of the thread
    assert made == [0, 1, 2]
    found.close()


def test_a_consumer_that_stops_leaves_no_thread():
    wanted = []

    def make(give):
        wanted.extend(give(k) for k in range(10) if not wanted or wanted[-1])

    found = handed_over(make)
    assert [next(found), next(found)] == [0, 1]
    assert running()
    found.close()
    assert not running()
    assert wanted[:2] == [True, True]
    assert wanted[-1] is False
