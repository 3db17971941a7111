"""Files are there whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from calibrant import CalibrantError
from calibrant.report import replace_text, write


def test_new_file(tmp_path):
    replace_text(tmp_path / "a.txt", "täxt \ud800\n")
    assert (tmp_path / "a.txt").read_bytes() == "täxt ?\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    replace_text(tmp_path / "a.txt", "a")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    replace_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    replace_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace_text("a.txt", "a")
    assert (tmp_path / "a.txt").read_text() == "a"


def test_report(page, sample, tmp_path):
    write(sample("churn"), str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page("churn")


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


def test_full_disk(refusal):
    assert refusal(replace_text, "/dev/full", "text", error=CalibrantError) == (
        "cannot write /dev/full: no space left on device"
    )
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_folder(tmp_path, refusal):
    assert refusal(replace_text, tmp_path, "a", error=CalibrantError) == f"cannot write {tmp_path}: it is a folder"


def test_missing_folder(tmp_path, refusal):
    path = tmp_path / "missing" / "report.html"
    assert refusal(replace_text, path, "a", error=CalibrantError) == f"cannot write {path}: no such file or directory"
    assert not list(tmp_path.iterdir())


def test_file_in_the_way(tmp_path, refusal):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "report.html"
    assert refusal(replace_text, path, "a", error=CalibrantError) == f"cannot write {path}: not a directory"


def test_impossible_name(refusal):
    assert "null" in refusal(replace_text, "a\0b", "a", error=CalibrantError)
