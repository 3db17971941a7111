"""The numbers inside a report, and the way back."""

import json

import pytest

from calibrant import CalibrantError, InputError
from calibrant.report import read, write
from calibrant.report.results import embedded


@pytest.mark.parametrize("name", ["churn", "digits", "calm", "points"])
def test_round_trip(sample, tmp_path, name):
    found = sample(name)
    write(found, tmp_path / "report.html")
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


def test_what_is_in_a_file_counts_not_its_name(sample, tmp_path):
    write(sample("churn"), tmp_path / "report.json")
    assert read(str(tmp_path / "report.json"))["n"] == 4000


def test_hostile_names_cannot_leave_the_element(sample):
    text = embedded(sample("hostile"), rows=200)
    assert text.count("<") == 2
    assert text.endswith("</script>")
    for character in ("&", "\u2028", "\u2029"):
        assert character not in text


def test_hostile_names_come_back(sample, samples, tmp_path):
    write(sample("hostile"), tmp_path / "report.html")
    back = read(tmp_path / "report.html")
    assert back["names"]["outcome"] == samples["HOSTILE"][0]
    assert back["caveats"][:5] == list(samples["HOSTILE"][:5])


def test_it_says_what_was_left_out(sample, tmp_path):
    write(sample("hostile"), tmp_path / "report.html")
    back = read(tmp_path / "report.html")
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
    message = refusal(read, path, error=InputError)
    assert (
        message
        == f"{path} holds no results of calibrant; expected a report or a JSON file that `calibrant audit` wrote"
    )


def test_missing_file(tmp_path, refusal):
    path = tmp_path / "missing.html"
    assert refusal(read, path, error=CalibrantError) == f"cannot read {path}: no such file or directory"


def test_folder(tmp_path, refusal):
    assert refusal(read, tmp_path, error=CalibrantError) == f"cannot read {tmp_path}: is a directory"
