"""Which body runs, and how rows are cut."""

import threading
from unittest import mock

import pytest

from calibrant.core import dispatch


@pytest.mark.parametrize(
    ("n", "numba", "fast"),
    [(dispatch.FAST_ROWS, True, True), (dispatch.FAST_ROWS - 1, True, False), (10**9, False, False)],
)
def test_the_compiled_body_needs_many_rows_and_numba(n, numba, fast):
    with mock.patch.object(dispatch, "has_numba", return_value=numba):
        assert dispatch.takes_fast_body(n) is fast


def test_a_batch_is_treated_like_all_rows_that_are_expected():
    with mock.patch.object(dispatch, "has_numba", return_value=True):
        with dispatch.expecting(dispatch.FAST_ROWS):
            assert dispatch.takes_fast_body(10)
        assert not dispatch.takes_fast_body(10)


@pytest.mark.parametrize(("n", "lengths"), [(0, []), (1, [1]), (6, [3, 3]), (7, [3, 3, 1])])
def test_chunks_cover_the_rows_in_order(n, lengths):
    parts = list(dispatch.chunks(n, 3))
    assert [part.stop - part.start for part in parts] == lengths
    assert [i for part in parts for i in range(n)[part]] == list(range(n))


def test_threads_keep_the_order_and_raise_errors(refusal):
    assert list(dispatch.on_threads(lambda part: part.start, 100, size=7)) == list(range(0, 100, 7))
    refusal(list, dispatch.on_threads(lambda part: 1 // part.start, 10, size=5), error=ZeroDivisionError)


def test_inside_a_task_of_an_engine_nothing_leaves_its_thread():
    def thread(part):
        return part.start, threading.get_ident()

    with dispatch.on_one_thread():
        alone = list(dispatch.on_threads(thread, 100, size=7))
    assert alone == [(start, threading.get_ident()) for start in range(0, 100, 7)]
    others = {ident for _, ident in dispatch.on_threads(thread, 100, size=7)}
    assert threading.get_ident() not in others
