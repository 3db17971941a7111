"""`calibrant check`: conditions on data and on results, and what a build server gets."""

import json
import xml.etree.ElementTree as ET

import pytest

import calibrant as cb
from calibrant import report
from calibrant.cli.check import step_summary
from calibrant.cli.conditions import Condition, ConditionResult, Found

NAMED = ("--y", "left", "--p", "score")


@pytest.fixture(scope="module")
def written(columns):
    """Return the report and the JSON of one audit, as texts by name."""
    found = cb.audit(columns["left"], columns["score"], resamples=99).findings
    return {"report.html": report.render(found), "report.json": json.dumps(found.to_dict())}


@pytest.fixture
def results(folder, written):
    """Return a report and a JSON file of the same audit."""
    for name, text in written.items():
        (folder / name).write_text(text, "utf-8")
    return tuple(written)


def test_passed_and_failed(run, data):
    done = run("check", data, *NAMED, "--fail-if 'ece > 0.9' -o new.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("passed  ece = 0.")
    assert done.out.endswith("  (fails if > 0.9)\n")
    assert report.read("new.html")["n"] == 300
    done = run("check", data, *NAMED, "--fail-if 'ece > 0.9' --fail-if 'kuiper_test.pvalue < 0.01'")
    assert (done.code, done.err) == (1, "")
    first, second = done.out.splitlines()
    assert first.startswith("passed  ece = ")
    assert second.startswith("FAILED  kuiper_test.pvalue = ")
    assert second.endswith("  (fails if < 0.01)")


def test_data_report_and_json_agree(run, data, results):
    conditions = "--fail-if 'ece > 0.05' --fail-if 'brier_score.high > 0.9' --fail-if 'decompose.mcb.expected > 1'"
    expected = run("check", data, *NAMED, conditions)
    assert expected.code == 1
    for file in results:
        assert run("check", file, conditions) == expected


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "there is nothing to check; add conditions such as --fail-if miscalibrated"),
        (["--fail-if", "ece > 0.9", "--fail-if", "frob > 1"], "nothing called 'frob' was measured"),
        (["--fail-if", "ece > 1", "--y", "left", "--by", "a"], "rows were chosen before; leave out --y, --by"),
        (["--fail-if", "ece > 1", "--seed", "0", "-o", "b.html"], "leave out --seed, -o"),
        (["--fail-if", "ece > 1", "--junit", "junit.html"], "the file of --junit must end in .xml; got junit.html"),
        (["--fail-if", "ece > 1", "--junit", "none/junit.xml"], "there is no folder none to write junit.xml to"),
    ],
)
def test_bad_input_is_status_2(refused, results, options, sentence):
    assert sentence in refused("check", "report.html", *options)


def test_unnamed_columns_are_asked_for(refused, data):
    sentence = refused("check", data, "--fail-if 'ece > 0.05'", lines=5)
    assert sentence.endswith("\n  calibrant check data.csv --fail-if 'ece > 0.05' --y left --p score")


SOUND = {"kind": "binary", "n": 1, "level": 0.9, "verdict": {"headline": ""}, "sections": []}
EMPTY_MEASUREMENT = {"name": "ece", "label": "x", "expected": None, "pvalue": None, "interval": None, "details": {}}
NOT_READ = "not a result that this calibrant can read"
NO_RESULTS = [
    ("", "is empty (0 bytes)"),
    ("<html></html>", "contains no results of calibrant"),
    ("[1, 2]", "contains no results of calibrant"),
    ("{" * 100_000, "contains no results of calibrant"),
    (json.dumps({**SOUND, "verdict": {}}), NOT_READ),
    (json.dumps({**SOUND, "sections": [{"measurements": 3}]}), NOT_READ),
    (json.dumps({**SOUND, "sections": [{"measurements": [{**EMPTY_MEASUREMENT, "value": "rm -rf"}]}]}), NOT_READ),
]


@pytest.mark.parametrize("name", ["a.html", "a.json"])
def test_results_that_are_none(refused, folder, name):
    for content, sentence in NO_RESULTS:
        (folder / name).write_text(content)
        assert sentence in refused("check", name, "--fail-if 'ece > 1'")


def test_junit(run, folder, results, data):
    conditions = "--fail-if 'ece > 0.9' --fail-if 'ece > 0'"
    assert run("check", "report.html", conditions, "--junit junit.xml").code == 1
    suites = ET.parse(folder / "junit.xml").getroot()
    assert suites.tag == "testsuites"
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    passed, failed = suite
    assert (passed.get("name"), list(passed)) == ("fails if ece > 0.9", [])
    assert failed.get("classname") == "report.html"
    assert failed[0].get("message").startswith("FAILED  ece = ")
    name = 'a"<&\x1b.json'
    (folder / name).write_bytes((folder / "report.json").read_bytes())
    assert run("check", name, "--fail-if 'ece > 0.9' --junit junit.xml").code == 0
    assert ET.parse(folder / "junit.xml").getroot()[0][0].get("classname") == 'a"<&\\x1b.json'
    run("check", data, *NAMED, "--fail-if 'verdict != cannot tell' --fail-if 'cannot tell' --junit a.xml")
    failures = [case[0] for case in ET.parse(folder / "a.xml").getroot()[0] if len(case)]
    assert len(failures) == 1
    assert failures[0].text.splitlines()[1].startswith("Miscalibrated: ")


def test_step_summary_is_added(run, folder, results, monkeypatch):
    summary = folder / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run("check", "report.html", "--fail-if 'ece > 0.9' --fail-if 'decompose.mcb >= 0'").code == 1
    text = summary.read_text("utf-8")
    assert text.startswith("before\n### Calibration of report\\.html\n")
    assert "| ✅ passed | ece | 0\\." in text
    assert "| &gt; 0\\.9 |" in text
    assert "| ❌ failed | decompose\\.mcb | 0\\." in text

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "none/summary.md")  # which changes nothing
    done = run("check", "report.html", "--fail-if 'ece > 0.9'")
    assert done.code == 0
    assert done.err == "calibrant: the step summary none/summary.md could not be written: No such file or directory\n"

    outcome = ConditionResult(Condition("a|b > 1", "a|b", ">", 1.0), Found(2.0))
    text = step_summary([outcome], "<img src=x>[a](b)|`c`", "**bold**\n# heading & <b>")
    assert text == (
        "### Calibration of &lt;img src=x&gt;\\[a\\]\\(b\\)\\|\\`c\\`\n\n"
        "\\*\\*bold\\*\\* \\# heading &amp; &lt;b&gt;\n\n"
        "| | measurement | value | fails if |\n|---|---|---:|---|\n"
        "| ❌ failed | a\\|b | 2 | &gt; 1 |\n\n"
    )


def test_gates_on_the_verdict(run, data, columns):
    """The strict gate fails where rows cannot tell, the other one where they show an error."""
    options = (data, *NAMED, "--tolerance", "0.02", "--by", "segment")
    failed = run("check", *options, "--fail-if 'verdict != within' --fail-if 'worst_group.pvalue < 0.9'")
    assert failed.code == 1
    headline, verdict, group = failed.out.splitlines()
    expected = cb.audit(columns["left"], columns["score"], groups={"segment": columns["segment"]}, tolerance=0.02)
    assert headline == expected.verdict.headline
    assert verdict.startswith("FAILED  verdict = miscalibrated")
    assert group.startswith("FAILED  worst_group.pvalue = ")
    assert "segment = " in group
    assert run("check", data, *NAMED, "--tolerance 0.9 --fail-if 'verdict != within'").code == 0


def test_likely_mistakes_are_told(run, folder, columns, require):
    labels = {"left": columns["left"], "score": [float(p > 0.5) for p in columns["score"]]}
    require("polars").DataFrame(labels).write_csv(folder / "labels.csv")
    done = run("check", "labels.csv", *NAMED, "--fail-if", "ece > 0.9")
    assert done.code == 0
    assert "Are these predicted labels?" in done.err
