"""`calibrant compare`: the same measurements side by side."""

import json

import pytest

from calibrant.core.findings import Findings, Measurement, Section, Verdict


@pytest.fixture
def write(folder):
    """Return a function that writes a result with these measurements."""

    def written(name, *measurements, n=100, kind="binary", level=0.95, version="1"):
        section = Section("probabilities", "Probabilities", "", measurements)
        verdict = Verdict("cannot tell", f"The verdict of {name}.")
        findings = Findings(kind, n, level, verdict, (section,), version=version)
        (folder / name).write_text(json.dumps(findings.to_dict()))
        return name

    return written


def test_side_by_side(run, write):
    a = write(
        "a.json",
        Measurement("ece", "calibration error", 0.08, pvalue=0.0001),
        Measurement("brier_score", "Brier score", 0.25),
        Measurement("mce", "largest error", float("nan")),
        Measurement("old", "only here", 1.0),
    )
    b = write(
        "b.json",
        Measurement("ece", "calibration error", 0.02, pvalue=0.5),
        Measurement("brier_score", "Brier score", 0.2501),
        Measurement("mce", "largest error", 0.5),
        Measurement("log_score", "log score", float("inf"), pvalue=0.25),
    )
    done = run("compare", a, b)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "A  a.json: The verdict of a.json.\n"
        "B  b.json: The verdict of b.json.\n"
        "\n"
        "measurement              A        B       B - A\n"
        "calibration error  0.08000  0.02000    −0.06000\n"
        "  p-value          < 0.001    0.500\n"
        "Brier score         0.2500   0.2501  +0.0001000\n"
        "largest error            –   0.5000           –\n"
        "only here            1.000        –           –\n"
        "log score                –        ∞           –\n"
        "  p-value                –    0.250\n"
    )


def test_long_labels_leave_room_for_the_numbers(run, write):
    long = "expected calibration error of each class against the rest, 15 bins"
    done = run(
        "compare", write("a.json", Measurement("ece", long, 0.5)), write("b.json", Measurement("ece", long, 0.5))
    )
    assert done.out.splitlines()[4:] == [
        "expected calibration error of each class",
        "against the rest, 15 bins                 0.5000  0.5000      0",
    ]


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"n": 1000}, "A has 100 rows and B 1,000: with fewer rows an error looks larger by chance alone"),
        (
            {"kind": "classes"},
            "A is about probabilities of an event and B about class probabilities: equal names mean different things",
        ),
        ({"level": 0.9}, "A was made with level 0.95 and B with 0.9"),
        ({"version": "2"}, "A was made by calibrant 1 and B by 2"),
    ],
)
def test_what_makes_them_hard_to_compare(run, write, options, remark):
    done = run("compare", write("a.json"), write("b.json", **options))
    assert (done.code, done.err) == (0, f"calibrant: {remark}\n")


def test_report_with_json(run, data):
    run("audit", data, "--y", "left", "--p", "score", "-o", "a.html")
    run("audit", data, "--y", "left", "--p", "score", "--json", "b.json")
    done = run("compare", "a.html", "b.json")
    assert (done.code, done.err) == (0, "")
    assert "expected calibration error" in done.out
    assert set(done.out.split()) >= {"0"}


def test_data_are_no_results(refused, write, data):
    assert refused("compare", write("a.json"), data) == (
        "data.csv holds predictions, not results; measure them first: calibrant audit data.csv --json results.json"
    )
