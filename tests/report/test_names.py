"""Names as a report shows them."""

import pytest

from calibrant.errors import printable
from calibrant.report.names import displayed, report_names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run 7", "run 7"),
        ("größe 大 🙂", "größe 大 🙂"),
        ("a\nb", r"a\nb"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\ud800", r"\ud800"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b", r"a\u2028b"),
    ],
)
def test_printable(text, shown):
    assert printable(text, one_line=True) == shown


def test_displayed_names_are_short_and_differ():
    assert displayed(["a", "b"]) == ("a", "b")
    long = ["x" * 70 + end + "y" * 70 for end in "abc"]
    short = "x" * 30 + "…" + "y" * 29
    assert displayed([*long, "z"]) == (f"{short} (1)", f"{short} (2)", f"{short} (3)", "z")
    assert len(set(displayed(["\x00", r"\x00", r"\x00 (1)"]))) == 3
    assert len(displayed(["x" * 10**6])[0]) == 60
    assert displayed(["\x00" * 60])[0].startswith(r"\x00\x00")


def test_report_names():
    assert report_names(None, "{}") == {}
    assert report_names({"source": "run\x00"}, "{}") == {"source": r"run\x00"}
