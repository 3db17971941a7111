"""Messages on long work: silent unless a person watches, and wiped at the end."""

import io
from types import SimpleNamespace

import pytest

from calibrant import progress
from calibrant.progress import counted, rows_counted, steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second with every look at it."""
    seconds = iter(range(10**6))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found))
    return found


def test_steps_cover_everything():
    assert list(steps(7, size=3, label="x")) == [(0, 3), (3, 6), (6, 7)]
    assert list(steps(0, size=3, label="x")) == []
    assert list(counted("abc", label="x")) == ["a", "b", "c"]


def test_a_person_is_told(clock, terminal):
    assert list(steps(5, size=1, label="working")) == [(k, k + 1) for k in range(5)]
    assert "working: 2 of 5, about 3 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("watch", "words"),
    [
        (lambda: counted(range(5), label="folding"), "folding: 4 so far, 1 per second"),
        (
            lambda: rows_counted([30] * 5, label="reading", rows=int, before=60, total=1000),
            "reading: 150 of 1,000 rows, 30 per second, about 28 s left",
        ),
        (lambda: rows_counted([30] * 5, label="reading", rows=int), "reading: 150 rows, 30 per second\r"),
        # more rows than were told
        (lambda: rows_counted([30] * 5, label="reading", rows=int, total=100), "reading: 150 rows, 30 per second\r"),
    ],
)
def test_counts(clock, terminal, watch, words):
    assert len(list(watch())) == 5
    assert words in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    "watch", [lambda: steps(9, size=1, label="x"), lambda: counted(range(9), label="x")], ids=["steps", "counted"]
)
def test_an_interruption_leaves_nothing_behind(clock, terminal, watch):
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        for k, _ in enumerate(watch()):
            if k == 6:
                raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_files_and_quick_work_are_not_written_to(monkeypatch, terminal):
    list(steps(5, size=1, label="x"))
    assert terminal.getvalue() == ""
    quiet = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=quiet))
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    list(steps(5, size=1, label="x"))
    assert quiet.getvalue() == ""


def test_no_stderr_at_all(monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=None))
    assert len(list(counted(range(3), label="x"))) == 3
