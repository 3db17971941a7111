"""What calibrant finds is written down and compared: the same twice, and a number that changed is reported."""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "freeze.py"
TASKS = {
    "designs": "contract: one quantile",
    "comparisons": "clusters",
    "verbs": "brier_score",
    "point-verbs": "vendi_score",
    "other-verbs": "power, {}",
    "limits": "one set",
    "maps": "one interval",
    "signatures": "calibrant.kernels",
    "commands": "all",
}  # a task of most parts: those that take no second


@pytest.fixture(scope="module")
def freeze():
    spec = importlib.util.spec_from_file_location("freeze", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    paths = list(sys.path)
    sys.modules["freeze"] = module
    spec.loader.exec_module(module)
    sys.path[:] = paths
    return module


@pytest.fixture(scope="module")
def folders(freeze, tmp_path_factory):
    """Write the same twice."""
    found = [tmp_path_factory.mktemp(name) for name in ("old", "new")]
    for folder in found:
        freeze.write_tasks(folder, [(part, name, True) for part, name in TASKS.items()], processes=1)
    return found


def lines(folder, file):
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def test_two_runs_are_the_same(freeze, folders, capsys):
    old, new = folders
    assert not freeze.compare(old, new, relative=0.0, limit=10)
    assert all((old / file).read_bytes() == (new / file).read_bytes() for file in freeze.FILES)
    assert " 0 only in" in capsys.readouterr().out


def test_every_task_finds_something(freeze, folders):
    records = [record for file in freeze.FILES for record in lines(folders[0], file)]
    heads = {record["key"].split(" | ")[0] for record in records}
    assert heads == {freeze.HEADS.get(part, part) for part in TASKS}
    assert not [record["key"] for record in records if "the whole task" in record["key"]]
    assert any("| claim | coverage_error of" in record["key"] for record in records)


def test_names_of_tasks_exist(freeze):
    for part, name in TASKS.items():
        assert name in freeze.PARTS[part].tasks(True)


def changed(folder, tmp_path, file, key_part, change):
    """Return a copy of a folder in which one record is changed, or left out."""
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    records = lines(folder, file)
    place = next(k for k, record in enumerate(records) if key_part in record["key"])
    value = change(records[place]["value"])
    records[place : place + 1] = [] if value is None else [{**records[place], "value": value}]
    (tmp_path / file).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return records[place]["key"] if value is not None else None


def test_a_changed_number_is_reported(freeze, folders, tmp_path, capsys):
    def change(value):
        return {"result": float(np.nextafter(value["result"], 1))}

    key = changed(folders[0], tmp_path, "verbs.jsonl", "brier_score() of binary", change)
    assert freeze.compare(folders[0], tmp_path, relative=0.0, limit=10)
    out = capsys.readouterr().out
    assert key in out
    assert "result: 0." in out
    assert not freeze.compare(folders[0], tmp_path, relative=1e-12, limit=10)


def test_a_claim_of_one_side_is_listed_apart(freeze, folders, tmp_path, capsys):
    changed(folders[0], tmp_path, "audits.jsonl", "| claim | ", lambda value: None)
    assert freeze.compare(folders[0], tmp_path, relative=0.0, limit=10)
    out = capsys.readouterr().out
    assert f"1 only in {folders[0]}" in out
    assert "audits.jsonl: 0 of" in out


def test_parts_of_one_side_are_not_compared(freeze, folders, tmp_path):
    freeze.write_tasks(tmp_path, [("other-verbs", "power, {}", True)], processes=1)
    assert not freeze.compare(folders[0], tmp_path, relative=0.0, limit=10)


def test_long_arrays(freeze):
    x = np.linspace(0, 1, 1000)
    same, other = x.copy(), x.copy()
    other[500] += 1e-9
    old, found = freeze.plain(x), freeze.plain(other)
    assert freeze.plain(same) == old
    assert list(freeze.differences(old, found, 0.0))
    assert list(freeze.differences(old, found, 1e-13))
    assert not list(freeze.differences(old, found, 1e-8))


def test_the_command_says_whether_anything_differs(freeze, folders):
    assert freeze.main(["compare", *map(str, folders)]) == 0
    with pytest.raises(SystemExit, match="2"):
        freeze.main(["write", str(folders[0]), "nothing"])


def test_claims_of_evidence(freeze):
    """A claim may hold evidence that holds the numbers."""
    evidence = SimpleNamespace(where="all rows", quantity="coverage", estimate=0.8, expected=0.9, rows=10)
    claim = SimpleNamespace(evidence=evidence, low=0.7, high=0.85, pvalue=0.01)
    ((name, found),) = freeze.claims_of(SimpleNamespace(verdict=SimpleNamespace(claims=[claim])))
    assert name == "coverage of all rows"
    assert [found[key] for key in ("estimate", "low", "rows", "pvalue")] == [0.8, 0.7, 10, 0.01]
