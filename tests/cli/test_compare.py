"""`calibrant compare`: the same measurements side by side."""

import json

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant.core.findings import Findings, Measurement, Section, Verdict
from calibrant.files.reading import Reading


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
    expected = (
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
    assert run("compare", a, b) == (0, expected, "")


def test_long_labels_leave_room_for_the_numbers(run, write):
    long = Measurement("ece", "expected calibration error of each class against the rest, 15 bins", 0.5)
    done = run("compare", write("a.json", long), write("b.json", long))
    assert done.out.splitlines()[4:] == [
        "expected calibration error of each class",
        "against the rest, 15 bins                 0.5000  0.5000      0",
    ]


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"n": 1000}, "A has 100 rows and B 1,000: with fewer rows an error looks larger by chance alone"),
        ({"kind": "classes"}, "A is about probabilities of an event and B about class probabilities: equal names"),
        ({"level": 0.9}, "A was made with level 0.95 and B with 0.9"),
        ({"version": "2"}, "A was made by calibrant 1 and B by 2"),
    ],
)
def test_what_makes_them_hard_to_compare(run, write, options, remark):
    done = run("compare", write("a.json"), write("b.json", **options))
    assert done.code == 0
    assert done.err.startswith(f"calibrant: {remark}")


def test_report_with_json_but_not_with_data(run, refused, write, data):
    run("audit", data, "--y left --p score -o a.html")
    run("audit", data, "--y left --p score --json b.json")
    done = run("compare", "a.html", "b.json")
    assert (done.code, done.err) == (0, "")
    assert "expected calibration error" in done.out
    assert set(done.out.split()) >= {"0"}

    assert refused("compare", write("a.json"), data) == (
        "data.csv contains predictions, not results; measure them first: calibrant audit data.csv --json results.json"
    )


class TestPredictions:
    @pytest.fixture
    def table(self, folder):
        rng = np.random.default_rng(0)
        q = rng.random(1500)
        y = rng.random(1500) < q
        columns = {"label": np.where(y, "yes", "no"), "old": np.clip(1.3 * q - 0.15, 0.01, 0.99), "new": q}
        pl.DataFrame({**columns, "day": np.arange(1500), "w": np.full(1500, 2.0)}).write_parquet(folder / "p.parquet")
        return y, columns["old"], q

    def test_is_what_the_library_says(self, run, table):
        y, old, new = table
        done = run("compare", "p.parquet", "--y label --pos-label yes --p old --p new")
        assert (done.code, done.err) == (0, "")
        found = cb.compare_predictions(y, {"old": old, "new": new}, metric=["ece", "brier_score"])
        assert done.out == f"{found}\n"
        assert found.verdict.status == "different"
        assert "A lower score is not better calibration" in done.out

    CALL = ("compare", "p.parquet", "--y label --pos-label yes --p old --p new")

    def test_options(self, run, table, monkeypatch):
        y, old, new = table
        reads, whole = [], Reading.whole
        monkeypatch.setattr(Reading, "whole", lambda self: reads.append(1) or whole(self))
        done = run(*self.CALL, "--metric log_score --time day --weights w --confidence 0.9")
        assert len(reads) == 1  # the file is read once
        given = {"metric": "log_score", "time": np.arange(1500), "level": 0.9}
        assert done.out == f"{cb.compare_predictions(y, {'old': old, 'new': new}, **given)}\n"
        done = run(*self.CALL, "--metric ece --where 'day < 1000'")
        assert "A lower score" not in done.out
        assert "Squared calibration error: " in done.out

    def test_tolerance(self, run, refused, table):
        done = run(*self.CALL, "--metric brier_score --tolerance 0.9")
        assert "differs by at most 0.9" in done.out.replace("\n  ", " ")
        assert "--tolerance belongs to one metric; got 2 metrics" in refused(*self.CALL, "--tolerance 0.9")

    def test_report_and_json(self, run, table, folder):
        done = run(*self.CALL, "-o report.html --json out.json")
        assert (done.code, done.err) == (0, "")
        results = json.loads((folder / "out.json").read_text())
        assert results["verdict"]["claims"][0]["quantity"] == "difference of ece"
        names = {"source": "p.parquet", "outcome": "label", "prediction": "old, new", "made": "2024-05-01"}
        assert results["names"] == names
        assert "Comparison of predictions" in (folder / "report.html").read_text()
        assert results["verdict"]["headline"] in done.out.replace("\n  ", " ")

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ("p.parquet", "expected two results, or one file with --y and --p twice; got 1 file and no options"),
            ("p.parquet --y label", "got 1 file and --y"),
            ("p.parquet --y label --p old", "needs --y and two --p or more"),
            ("p.parquet --p old --p new", "needs --y and two --p or more"),
            ("p.parquet --y label --p old --p nwe", "has no column 'nwe' (--p)"),
            ("p.parquet --y label --p old --p old", "old"),
            ("p.parquet --y label --p old --p new --metric pit --pos-label yes", "pit"),
            ("a.json b.json -o report.html", "got 2 files and -o"),
            ("p.html --y label --p old --p new", "seems to contain results"),
        ],
    )
    @pytest.mark.usefixtures("table")
    def test_refusals(self, refused, given, words):
        assert words in refused("compare", *given.split())


def test_clusters(run, folder):
    rng = np.random.default_rng(0)
    code, q = np.repeat(np.arange(60), 5), np.repeat(rng.random(60), 5)
    y, old = (rng.random(300) < q).astype(int), np.clip(q + 0.2, 0, 1)
    pl.DataFrame({"y": y, "old": old, "new": q, "customer": code}).write_parquet(folder / "c.parquet")
    done = run("compare", "c.parquet", "--y y --p old --p new --clusters customer")
    expected = cb.compare_predictions(y, {"old": old, "new": q}, metric=["ece", "brier_score"], clusters=code)
    assert (done.code, done.out) == (0, f"{expected}\n")
