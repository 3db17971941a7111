"""Files are there whole or not at all."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

import calibrant as cb
from calibrant.errors import CalibrantError, InputError
from calibrant.report.files import embedded, read
from calibrant.report.page import render
from calibrant.writing import replace_text


def test_new_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usual").touch()
    for path in (tmp_path / "a.txt", "b.txt"):
        replace_text(path, "täxt \ud800\n")
        assert (tmp_path / path).read_bytes() == "täxt ?\n".encode()
        assert (tmp_path / path).stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert {path.name for path in tmp_path.iterdir()} == {"usual", "a.txt", "b.txt"}


def test_a_private_file_stays_private_and_a_link_a_link(tmp_path):
    path = tmp_path / "real.txt"
    path.write_text("old")
    path.chmod(0o600)
    (tmp_path / "link.txt").symlink_to("real.txt")
    for given, text in ((path, "new"), (tmp_path / "link.txt", "newer")):
        replace_text(given, text)
        assert path.read_text() == text
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "link.txt").is_symlink()


def test_report(sample, tmp_path):
    """Of findings without pictures, which are drawn quickly."""
    found = replace(sample("digits"), sections=sample("digits").sections[1:])
    assert cb.results.Audit(found).to_html(str(tmp_path / "report.html")) == tmp_path / "report.html"
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render(found)


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_failure_leaves_what_was_there(tmp_path, monkeypatch, refusal, place):
    def full(*_args):
        raise OSError(28, "No space left on device")

    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(*{"fsync": (os, "fsync", full), "replace": (Path, "replace", full)}[place])
    message = refusal(replace_text, path, "new", error=CalibrantError)
    assert message == f"cannot write {path}: no space left on device"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(_number):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_text(tmp_path / "report.html", "new")
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written(tmp_path, refusal):
    (tmp_path / "file").touch()
    for path, words in {
        Path("/dev/full"): "no space left on device",
        tmp_path: "it is a folder",
        tmp_path / "missing" / "report.html": "no such file or directory",
        tmp_path / "file" / "report.html": "not a directory",
    }.items():
        assert refusal(replace_text, path, "text", error=CalibrantError) == f"cannot write {path}: {words}"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_impossible_name(refusal):
    assert "null" in refusal(replace_text, "a\0b", "a", error=CalibrantError)


@pytest.fixture
def written(page, tmp_path):
    """Return a function that writes the page of a sample to a file and returns its path."""

    def path(sample, name="report.html"):
        replace_text(tmp_path / name, page(sample))
        return tmp_path / name

    return path


@pytest.mark.parametrize("name", ["churn", "digits", "calm", "points"])
def test_round_trip(sample, written, tmp_path, name):
    found = sample(name)
    written(name)
    whole, back = found.to_dict(), read(tmp_path / "report.html")
    for part in ("kind", "n", "level", "verdict", "groups", "caveats", "names", "version"):
        assert back[part] == whole[part]
    for before, after in zip(whole["sections"], back["sections"], strict=True):
        assert after["measurements"] == before["measurements"]
        assert after["tables"] == before["tables"]
        assert after["figures"] == []


def test_json_file(sample, tmp_path):
    whole = sample("churn").to_dict()
    (tmp_path / "results.json").write_text(json.dumps(whole))
    assert read(tmp_path / "results.json") == json.loads(json.dumps(whole))


def test_what_is_in_a_file_counts_not_its_name(written):
    assert read(str(written("churn", "report.json")))["n"] == 4000


def test_hostile_names_cannot_leave_the_element(sample):
    text = embedded(sample("hostile"), rows=200)
    assert text.count("<") == 2
    assert text.endswith("</script>")
    for character in ("&", "\u2028", "\u2029"):
        assert character not in text


def test_hostile_names_come_back_and_it_says_what_was_left_out(samples, written):
    back = read(written("hostile"))
    assert back["names"]["outcome"] == samples["HOSTILE"][0]
    assert back["caveats"][:5] == list(samples["HOSTILE"][:5])
    assert back["groups_total"] == 100_000
    assert len(back["groups"]["columns"]["group"]) == 200
    assert "the first 200 rows of each table" in back["note"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"<!DOCTYPE html><title>another page</title>",
        b'{"ece": 0.1}',
        b"[1, 2]",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'<script type="application/json" id="calibrant-results">{"kind": </script>',
    ],
)
def test_other_files(tmp_path, content, refusal):
    path = tmp_path / "file.html"
    path.write_bytes(content)
    words = "contains no results of calibrant; expected a report or a JSON file that `calibrant audit` wrote"
    assert refusal(read, path, error=InputError) == f"{path} {words}"


def test_what_cannot_be_read(tmp_path, refusal):
    path = tmp_path / "missing.html"
    assert refusal(read, path, error=CalibrantError) == f"cannot read {path}: no such file or directory"
    assert refusal(read, tmp_path, error=CalibrantError) == f"cannot read {tmp_path}: is a directory"
