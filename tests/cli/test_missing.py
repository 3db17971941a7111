"""Answers of language models: rows without a confidence are counted by group, shown, and not judged."""

import json
from pathlib import Path

import numpy as np
import pytest

LOG = Path(__file__).parents[1] / "references" / "inspect" / "sums.json"
NAMED = "--y correct --p confidence --percent"
TASKS = {"algebra": (40, 12), "law": (80, 2), "code": (60, 0)}  # answers, and how many of them have no confidence
SENTENCE = (
    "confidence is missing in 14 of 180 rows (task = algebra: 12 of 40, task = law: 2 of 80), which are not judged"
)


def answers():
    """Return answers as people have them: two to each question, refusals with null."""
    rng = np.random.default_rng(3)
    for task, (n, lacking) in TASKS.items():
        for k in range(n):
            confidence = None if k < lacking else int(rng.integers(1, 100))
            right = confidence is not None and bool(100 * rng.random() < confidence)
            yield {"question": f"{task} {k // 2}", "task": task, "confidence": confidence, "correct": right}


@pytest.fixture
def rows():
    return list(answers())


@pytest.fixture
def write(folder, require):
    """Return a function that writes rows to a file and returns its name."""
    require("polars")

    def written(rows, name="answers.jsonl"):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return name

    return written


@pytest.fixture
def file(write, rows):
    return write(rows)


@pytest.mark.parametrize("how", ["", "--stream"])
def test_they_are_counted_by_group_and_not_judged(run, file, write, rows, how):
    found = run("audit", file, f"{NAMED} --by task --json", *how.split()).results
    answered = write([row for row in rows if row["confidence"] is not None], "answered.jsonl")
    expected = run("audit", answered, f"{NAMED} --by task --json", *how.split()).results
    assert found["verdict"]["lines"].pop(0) == {"label": "missing", "text": SENTENCE}
    assert found["verdict"]["notes"].pop(0)["key"] == "missing"
    section = found["sections"].pop()
    (measurement,), (table,) = section["measurements"], section["tables"]
    assert (measurement["value"], measurement["details"]) == (14, {"rows": 180.0, "share": 14 / 180})
    assert table["columns"] == {"where": ["task = algebra", "task = law"], "missing": [12, 2], "n": [40, 80]}
    assert {**found, "names": None} == {**expected, "names": None}


def test_page_and_terminal_say_it(run, file, folder):
    done = run("audit", file, f"{NAMED} --by task")
    said = " ".join(done.out.split())
    assert SENTENCE in said
    assert "rows without a prediction 14" in said
    assert run("audit", file, f"{NAMED} -o report.html").code == 0
    page = (folder / "report.html").read_text()
    assert "confidence is missing in 14 of 180 rows, which are not judged" in page


def test_rows_that_lack_the_outcome_too_are_left_out(run, refused, write, rows):
    for row in rows:
        row["correct"] = None if row["confidence"] is None else row["correct"]
    assert run("audit", write(rows), f"{NAMED} --json").results["n"] == 166
    rows[-1]["correct"] = None
    assert refused("audit", write(rows), NAMED) == (
        "column 'correct' of answers.jsonl has no value in 1 of 166 rows, the first of them row 165 (counted from 0 "
        "among the rows that have a prediction). Repair them, or leave them out with --where 'correct is not null'"
    )


def test_a_filter_counts_beside_them(run, file):
    done = run("audit", file, f"{NAMED} --where 'task in (algebra, code)' --json")
    assert (done.results["n"], done.err) == (88, "calibrant: --where keeps 100 of 180 rows\n")
    assert done.results["verdict"]["lines"][0]["text"].startswith("confidence is missing in 12 of 100 rows,")


def test_nan_is_a_missing_value(run, folder, require):
    p = np.array([0.5, np.nan] * 20 + [0.25] * 80)
    require("polars").DataFrame({"y": [0, 1] * 60, "p": p}).write_parquet("a.parquet")
    found = run("audit", "a.parquet", "--y y --p p --json").results
    assert (found["n"], found["sections"][-1]["measurements"][0]["value"]) == (100, 20)


def test_a_column_without_any_value_is_refused(refused, write, rows):
    empty = write([{**row, "confidence": None} for row in rows])
    words = "column 'confidence' of answers.jsonl has no value in any of 180 rows; name another column"
    assert refused("audit", empty, NAMED) == words


def test_other_kinds_must_be_complete(refused, folder, require):
    (folder / "a.csv").write_text("y,a,b\n0,0.5,0.5\n1,,0.5\n")
    assert "column 'a' of a.csv has no value in 1 of 2 rows" in refused("audit", "a.csv", "--y y --p-cols a,b")


class TestCheck:
    def test_it_must_say_how_many_there_may_be(self, refused, file):
        assert refused("check", file, f"{NAMED} --by task --fail-if 'ece > 0.9'") == (
            f"{SENTENCE}. A check must say how many there may be: add --fail-if 'missing.share > 0.05', or leave them "
            "out with --where 'confidence is not null'"
        )

    @pytest.mark.parametrize(
        ("condition", "code"),
        [("missing > 13", 1), ("missing > 14", 0), ("missing.share > 0.05", 1), ("missing.share >= 0.08", 0)],
    )
    def test_conditions(self, run, file, condition, code):
        done = run("check", file, f"{NAMED} --fail-if '{condition}'")
        assert done.code == code, done

    def test_complete_rows_have_none(self, run, refused, write, rows):
        complete = write([row for row in rows if row["confidence"] is not None])
        done = run("check", complete, f"{NAMED} --fail-if 'missing.share > 0.05'")
        assert done.out == "passed  missing.share = 0  (fails if > 0.05)\n"
        words = refused("check", complete, f"{NAMED} --fail-if 'missing.share > 5'")
        assert words.endswith("lies between 0 and 1; for percentage points write 0.05")


def test_maps_are_fitted_without_them_and_leave_them_empty(run, file, folder):
    done = run("recalibrate", file, f"{NAMED} --clusters question --method logistic --no-gain -o map.json")
    without = SENTENCE.replace(" (task = algebra: 12 of 40, task = law: 2 of 80)", "")
    assert (done.code, done.err) == (0, f"calibrant: {without}\n")
    assert "fitted on 166 rows" in done.out
    assert "add --percent" in run("apply", "map.json", file, "-o out.jsonl").err
    done = run("apply", "map.json", file, "--percent -o out.jsonl")
    assert done.out.startswith("166 rows recalibrated by logistic, 14 without a prediction left empty; ")
    made = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert all((row["confidence"] is None) == (row["confidence_recalibrated"] is None) for row in made)
    (folder / "empty.jsonl").write_text('{"confidence": null}\n')
    assert run("apply", "map.json", "empty.jsonl", "-o none.csv").code == 0
    assert (folder / "none.csv").read_text() == "confidence,confidence_recalibrated\n,\n"


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("True", "False"), ("correct", "wrong")])
def test_answers_in_words(run, write, rows, yes, no):
    in_words = write([{**row, "correct": yes if row["correct"] else no} for row in rows], "words.jsonl")
    done = run("audit", in_words, f"{NAMED} --json")
    expected = run("audit", write(rows), f"{NAMED} --json").results
    assert done.err == f"calibrant: the labels of correct are taken as --pos-label {yes}\n"
    assert done.results["verdict"] == expected["verdict"]


def test_answers_to_one_question_are_asked_about(run, write):
    """Three answers to a question share its difficulty, so errors of neighbouring rows go together."""
    rng = np.random.default_rng(0)
    hard = np.repeat(rng.random(120) < 0.4, 3)
    right = (rng.random(360) < np.where(hard, 0.15, 0.95)).tolist()
    confidence = rng.uniform(0.55, 0.75, 360).round(3).tolist()
    made = ({"question": k // 3, "p": p, "y": y} for k, (p, y) in enumerate(zip(confidence, right, strict=True)))
    file = write(made)
    labels = {line["label"] for line in run("audit", file, "--y y --p p --json").results["verdict"]["lines"]}
    named = run("audit", file, "--y y --p p --clusters question --json").results
    assert "question" in labels
    assert "question" not in {line["label"] for line in named["verdict"]["lines"]}


def test_a_log_is_audited_and_checked(run, refused, require):
    require("polars")
    done = run("audit", LOG, "--format inspect --by task --json")
    assert done.err == f"calibrant: taken from {LOG}, where no other columns fit: --y correct --p confidence\n"
    assert done.results["n"] == 5
    assert done.results["verdict"]["lines"][0]["text"].startswith(
        "confidence is missing in 1 of 6 rows (task = sums: 1"
    )
    assert run("check", LOG, "--format inspect --fail-if 'missing > 1'").out.startswith("passed  missing = 1 ")
    assert refused("audit", LOG).endswith("to a log of Inspect --format inspect")
    assert "'inspect' is not one of" in run("apply", "map.json", LOG, "--format inspect -o out.csv").err
