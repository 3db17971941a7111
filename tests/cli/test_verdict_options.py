"""Options of the verdict and of the report, and what a terminal shows."""

import os
import pty

import numpy as np
import polars as pl
import pytest

import calibrant as cb
from calibrant import report

NAMED = "--y left --p score"


def test_tolerance_and_clusters_reach_the_audit(run, data, columns):
    done = run("audit", data, NAMED, "--tolerance 0.1 --relative --clusters age --json")
    given = {"tolerance": 0.1, "relative": True, "clusters": columns["age"]}
    assert done.is_audit(cb.audit(columns["left"], columns["score"], **given))
    assert done.results["names"]["clusters"] == "age"
    assert done.results["groups"] is None  # clusters are not groups
    found = run("audit", data, NAMED, "--clusters age --by segment --json").results
    assert len(found["groups"]["columns"]["group"]) == 2
    assert run("audit", data, NAMED, "--tolerance 0.3 --stream --json").results["verdict"]["tolerance"] == 0.3


def test_alternative_reaches_the_audit(run, folder, require):
    houses = cb.examples.house_prices()
    frame = {"y": houses.y[:300], "lo": houses.prediction.lower[:300, 0], "hi": houses.prediction.upper[:300, 0]}
    require("polars").DataFrame(frame).write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", "--y y --lower lo --upper hi --level 0.8 --alternative less --json")
    assert done.is_audit(cb.audit(frame["y"], cb.Intervals(frame["lo"], frame["hi"], 0.8), alternative="less"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--tolerance 2", "2 does not lie between 0 and 1; for percentage points write 0.02"),
        ("--tolerance 0", "0 does not lie between 0 and 1"),
        ("--relative", "--relative says what --tolerance is a share of; pass a tolerance too"),
        ("--alternative less", "--alternative says which errors of coverage count; leave it out"),
        ("--normalise", "--normalise divides class probabilities (--p-cols) by their sums; leave it out"),
        ("--clusters agee", "has no column 'agee' (--clusters). Did you mean 'age'?"),
        ("--stream --clusters age", "--clusters needs all rows at once; leave out --stream"),
    ],
)
def test_options_that_do_not_fit(refused, data, options, sentence):
    assert sentence in refused("audit", data, NAMED, options)


def test_missing_clusters(refused, folder, frame):
    clusters = pl.when(pl.col("age") < 40).then(None).otherwise("age").alias("id")
    frame.with_columns(clusters).write_parquet(folder / "a.parquet")
    assert "(--clusters) has no value in " in refused("audit", "a.parquet", NAMED, "--clusters id")


class TestTitleAndDate:
    def test_reports_of_every_command(self, run, data, folder):
        assert run("audit", data, NAMED, "-o", "a.html", "--title", "May\x1b, 2024").code == 0
        names = report.read("a.html")["names"]
        assert (names["title"], names["made"]) == ("May\\x1b, 2024", "2024-05-01")
        assert run("check", data, NAMED, "--fail-if 'ece > 0.9' -o a.html --title May").code == 0
        assert report.read("a.html")["names"]["title"] == "May"
        np.save(folder / "a.npy", np.random.default_rng(0).normal(size=(60, 2)))
        assert run("samples", "--no-real a.npy -o b.html --title Points").code == 0
        assert report.read("b.html")["names"]["title"] == "Points"

    def test_today_but_for_the_library_which_has_no_clock(self, run, data, columns, monkeypatch):
        monkeypatch.delenv("SOURCE_DATE_EPOCH")
        made = run("audit", data, NAMED, "--json").results["names"]["made"]
        assert np.datetime64("today") - np.datetime64(made) <= np.timedelta64(1, "D")

        assert cb.audit(columns["left"], columns["score"]).findings.names == {}


class TestRoundedProbabilities:
    @pytest.fixture
    def rounded(self, folder, vectors):
        vectors.with_columns(pl.exclude("pet").round(2)).write_parquet(folder / "pets.parquet")
        return ("audit", "pets.parquet", "--y", "pet", "--p-cols", "p_*", "--classes", "dog,cat,bird")

    def test_normalised(self, run, refused, rounded, vectors):
        assert "on the command line add --normalise" in refused(*rounded)
        P = vectors.drop("pet").to_numpy().round(2)
        expected = cb.audit(vectors["pet"], P / P.sum(1, keepdims=True), classes=["dog", "cat", "bird"])
        found = run(*rounded, "--normalise --json").results
        assert found["sections"] == expected.findings.to_dict()["sections"]

    def test_scores_are_not_probabilities(self, refused, folder, vectors):
        vectors.with_columns(pl.col("p_dog") / 2).write_parquet(folder / "pets.parquet")
        sentence = refused("audit", "pets.parquet", "--y pet --p-cols 'p_*' --normalise", lines=2)
        assert "must sum to 1 within 0.015" in sentence


class TestLevelsInNames:
    @pytest.fixture
    def houses(self, folder, require):
        houses = cb.examples.house_prices()
        columns = {"y": houses.y[:300]}
        for k, level in enumerate((80, 90)):
            columns |= {f"m-lo-{level}": houses.prediction.lower[:300, k]}
            columns |= {f"m-hi-{level}": houses.prediction.upper[:300, k]}
        frame = require("polars").DataFrame(columns)
        frame.write_parquet(folder / "houses.parquet")
        return frame

    def test_patterns(self, run, houses):
        done = run("audit", "houses.parquet", "--y y --lower 'm-lo-*' --upper 'm-hi-*' --json")
        assert done.err == (
            "calibrant: levels are taken from the names of the columns: m-lo-80 is 0.8, m-lo-90 is 0.9\n"
        )
        names = [m["name"] for section in done.results["sections"] for m in section["measurements"]]
        assert {"coverage.0.8", "coverage.0.9"} <= set(names)

    def test_names_that_do_not_tell(self, refused, folder, houses):
        houses.rename({"m-lo-80": "lo-2", "m-hi-80": "hi-2"}).write_parquet(folder / "a.parquet")
        sentence = refused("audit", "a.parquet", "--y y --lower lo-2 --upper hi-2")
        assert "need --level, the nominal coverage of the intervals, such as --level 0.9" in sentence
        assert sentence.endswith("names that end alike, such as lo-80 and hi-80, tell it too")


NO_BINS = "bins are chosen by calibrant; in Python ece and reliability_curve take bins="
MEANT = {
    "audit --y_true": "it is called --y here",
    "audit --y-true": "it is called --y here",
    "audit --sample_weight": "it is called --weights here",
    "audit --y_prob": "it is called --p here",
    "audit --group": "it is called --by here",
    "audit --normalize": "it is called --normalise here",
    "audit --p_cols": "it is called --p-cols here",
    "audit --alpha": "it is called --level, and is the nominal coverage, 1 - alpha, here",
    "compare --alpha": "it is called --confidence, and is 1 - alpha, here",
    "compare --level": "it is called --confidence here",
    "compare --by": "this command has no groups; choose the rows of one group with --where",
    "audit --n-bins": NO_BINS,
    "check --bins": NO_BINS,
}


@pytest.mark.parametrize("words", MEANT)
def test_options_of_other_tools_and_commands(refused, data, words):
    command, option = words.split()
    sentence = f"there is no option {option}; {MEANT[words]}. See calibrant {command} --help"
    assert refused(command, data, option, "10") == sentence


class TestTerminal:
    @pytest.fixture
    def watched(self, process, data):
        """Return a function that runs an audit on a terminal of 120 columns, and what is seen there."""

        def seen(**environment):
            controller, terminal = pty.openpty()
            settings = {**os.environ, "TERM": "xterm", "COLUMNS": "120", **environment}
            done = process("audit", data, NAMED, "--where 'id < 60'", stdout=terminal, env=settings)
            os.close(terminal)
            text = os.read(controller, 100_000).decode()
            os.close(controller)
            assert done.code == 0, done.err
            return text

        return seen

    def test_colour_and_width(self, watched, run, data, monkeypatch):
        text = watched()
        assert text.startswith(("\x1b[31m\x1b[1m✗", "\x1b[32m\x1b[1m✓", "\x1b[33m\x1b[1m?"))
        assert max(map(len, text.splitlines())) > 88
        assert "\x1b" not in watched(NO_COLOR="1")
        monkeypatch.setenv("COLUMNS", "200")
        out = run("audit", data, NAMED).out  # what goes to a file
        assert max(map(len, out.splitlines())) <= 88
        assert "\x1b" not in out


class TestPercentages:
    @pytest.fixture
    def percentages(self, folder, frame):
        frame.with_columns(pl.col("score") * 100).write_csv(folder / "percent.csv")
        return "percent.csv"

    def test_audit(self, run, percentages, columns):
        found = run("audit", percentages, NAMED, "--percent", "--json").results
        expected = cb.audit(columns["left"], np.array(columns["score"]) * 100 / 100).findings.to_dict()
        assert found["sections"][0] == expected["sections"][0]
        streamed = run("audit", percentages, NAMED, "--percent --stream --json").results
        assert streamed["verdict"] == found["verdict"]

    def test_a_map_and_its_copy(self, run, percentages, columns):
        words = f"{NAMED} --percent --method isotonic --no-gain -o map.json"
        assert run("recalibrate", percentages, words).code == 0
        assert run("apply", "map.json", percentages, "--percent -o out.csv").code == 0
        p = np.array(columns["score"]) * 100 / 100
        expected = cb.recalibrate(columns["left"], p, method="isotonic").apply(p)
        np.testing.assert_allclose(pl.read_csv("out.csv")["score_recalibrated"], expected, rtol=1e-14)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ("--y age --lower w --upper age --level 0.9 --percent", "--percent divides probabilities (--p, --p-cols)"),
            (NAMED, "On the command line add --percent (in percent.csv"),
        ],
    )
    def test_refused(self, refused, percentages, options, sentence):
        assert sentence in refused("audit", percentages, options)


def test_rows_that_a_filter_leaves_out_are_counted(run, folder, frame):
    frame.with_columns(score=pl.when(pl.col("id") < 40).then(None).otherwise("score")).write_csv(folder / "a.csv")
    words = f"{NAMED} --where 'score is not null'"
    commands = {"audit": "", "check": "--fail-if ece>0.999", "recalibrate": "--no-gain --method isotonic"}
    for command, more in commands.items():
        done = run(command, "a.csv", f"{words} {more}")
        assert (done.code, done.err) == (0, "calibrant: --where keeps 260 of 300 rows\n")


def test_advice_is_a_command_that_runs(run, folder):
    """A report of the library has lines of Python there."""
    rng = np.random.default_rng(0)
    q = rng.random(2000)
    y = np.where(rng.random(2000) < q, "yes", "no")
    pl.DataFrame({"y": y, "p": 1 / (1 + (1 / q - 1) ** 3)}).write_parquet(folder / "a.parquet")
    found = run("audit", "a.parquet", "--y y --p p --pos-label yes --json").results
    (code,) = [section["code"] for section in found["sections"] if section["code"]]
    fit, apply = code.splitlines()
    fit, remark = fit.split("  # ")
    assert fit == "calibrant recalibrate a.parquet --y y --p p --pos-label yes --method logistic -o map.json"
    assert remark == "rows that did not train the model"
    assert run(*fit.split()[1:]).code == 0
    assert run(*apply.replace("NEW", "a.parquet").split()[1:]).code == 0
