"""What is said, and to whom."""

import pytest

from calibrant.cli.output import doing, tell
from calibrant.errors import printable

TEXTS = {
    "größe 😀👩‍🚀 ✗\nnext": "größe 😀👩‍🚀 ✗\nnext",
    "\x1b[31mred\x07": "\\x1b[31mred\\x07",
    "a\tb\rc": "a\\tb\\rc",
    "\x9b31m\x7f": "\\x9b31m\\x7f",
    "\u202eevil": "\\u202eevil",
    "\udce9": "\\udce9",
}


def test_printable():
    assert {text: printable(text) for text in TEXTS} == TEXTS
    "".join(TEXTS.values()).encode()


def test_a_terminal_gets_whole_words_and_whole_commands(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    tell(
        "there is something to say that takes more than a line\n  and this is indented, also longer than a line\n"
        "  calibrant audit predictions.parquet --y label --p score"
    )
    assert capsys.readouterr().err == (
        "calibrant: there is something to say\n"
        "  that takes more than a line\n"
        "  and this is indented, also longer than\n"
        "    a line\n"
        "  calibrant audit predictions.parquet --y label --p score\n"
    )


def test_a_file_gets_remarks_but_no_progress_and_a_terminal_both(capsys, monkeypatch):
    with doing("reading"):
        tell("something")
    assert capsys.readouterr() == ("", "calibrant: something\n")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with pytest.raises(KeyboardInterrupt), doing("reading"):
        raise KeyboardInterrupt
    assert capsys.readouterr() == ("", "\r\x1b[Kreading ...\r\x1b[K")
