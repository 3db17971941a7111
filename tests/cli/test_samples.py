"""`calibrant samples` on real files: what is read, what is printed, what is written."""

import numpy as np
import pytest

from calibrant import report
from calibrant.auditing.compare_points import compare
from calibrant.cli.options import Request
from calibrant.cli.points import compare_files

RNG = np.random.default_rng(21)
REAL = RNG.normal(size=(60, 3)).astype(np.float32)
FAKE = RNG.normal([0, 0, 2], 1, size=(50, 3)).astype(np.float32)
OTHER = RNG.normal(size=(40, 3)).astype(np.float32)
NAMES = ["height", "width", "depth"]


def values(found):
    return {m["name"]: m["value"] for section in found["sections"] for m in section["measurements"]}


def as_written(points):
    """Return the numbers that a text file tells: the shortest ones that are these in single precision."""
    return np.array([float(str(value)) for value in points.ravel()]).reshape(points.shape)


@pytest.fixture
def arrays(folder):
    """Write three files of arrays to the current folder."""
    for name, points in (("real.npy", REAL), ("fake.npy", FAKE), ("other.npy", OTHER)):
        np.save(folder / name, points)


def test_every_option_reaches_the_comparison(run, folder, require):
    pl = require("polars")
    for name, points in (("real.csv", REAL), ("fake.csv", FAKE)):
        part = pl.Series(["a", "b"] * 30)[: len(points)]
        pl.DataFrame(points, schema=NAMES, orient="row").with_columns(part=part).write_csv(folder / name)
    options = "--columns depth,height --where 'part = b' --confidence 0.9 --seed 5"
    done = run("samples", "real.csv", "fake.csv", options, "--json")
    assert done.err == ""
    real, fake = (np.ascontiguousarray(as_written(points)[1::2][:, [2, 0]]) for points in (REAL, FAKE))
    named = {"real": "real.csv", "generated": "fake.csv", "coordinates": "depth,height", "filter": "part = b"}
    named["made"] = "2024-05-01"
    expected = compare(real, fake, columns=["depth", "height"], level=0.9, rng=5, names=named)
    assert done.results == expected.findings.to_dict()


def test_text_report_and_json(run, folder, arrays):
    expected = compare(REAL, FAKE)
    assert run("samples", "real.npy", "fake.npy") == (0, f"{expected}\n", "")
    done = run("samples", "real.npy", "fake.npy", "-o report.html --json found.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(str(expected).splitlines()[0])
    assert done.out.endswith("\nreport: report.html\nJSON: found.json\n")
    written = report.read("report.html")
    assert written["verdict"]["headline"] == expected.verdict.headline
    assert written["names"] == {"real": "real.npy", "generated": "fake.npy", "made": "2024-05-01"}
    assert values(report.read("found.json")) == values(written) == values(expected.findings.to_dict())
    names = ["fake.npy", "found.json", "other.npy", "real.npy", "report.html"]
    assert sorted(path.name for path in folder.iterdir()) == names
    done = run("samples", "real.npy", "fake.npy", "-o report.html --json")
    assert done.results["n"] == 110  # nothing else is on stdout
    assert done.err.endswith("\nreport: report.html\n")


def test_several_sets(run, folder, arrays):
    found = run("samples", "real.npy", "fake.npy", "other.npy", "--json").results
    named = {"real": "real.npy", "generated": "fake.npy, other.npy", "made": "2024-05-01"}
    assert found == compare(REAL, {"fake": FAKE, "other": OTHER}, names=named).findings.to_dict()
    assert {"density_coverage.coverage.fake", "density_coverage.coverage.other"} <= set(values(found))
    (folder / "new").mkdir()
    np.save(folder / "new" / "fake.npy", OTHER)
    for files, called in (
        ("real.npy fake.npy new/fake.npy", ["fake.npy", "new/fake.npy"]),
        ("other.npy fake.npy real.npy", ["fake.npy", "real.npy"]),
        ("real.npy fake.npy fake.npy", ["fake.npy (1)", "fake.npy (2)"]),
    ):
        found = run("samples", *files.split(), "--json").results
        assert found["names"]["generated"] == ", ".join(called)
        assert {f"mmd.{name}" for name in called} <= set(values(found))

    np.savez(folder / "run.npz", y=REAL, first=FAKE, second=OTHER)
    named = "--array y --array first --array second"
    found = run("samples", "run.npz", "run.npz", "run.npz", named, "--json").results
    names = {"real": "run.npz, y", "generated": "run.npz, first, run.npz, second", "made": "2024-05-01"}
    assert found["names"] == names
    expected = compare(REAL, {"run.npz, first": FAKE, "run.npz, second": OTHER})
    assert values(found) == values(expected.findings.to_dict())


def test_without_real_points(run, arrays):
    done = run("samples", "--no-real fake.npy other.npy --json")
    named = {"generated": "fake.npy, other.npy", "made": "2024-05-01"}
    assert done.results == compare(None, {"fake": FAKE, "other": OTHER}, names=named).findings.to_dict()
    assert run("samples", "fake.npy", "--no-real --json").is_audit(compare(None, FAKE))


def test_seed_repeats_itself(run, arrays):
    first, again, other = (run("samples", "real.npy", "fake.npy", "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "missing argument 'REAL'. See calibrant samples --help"),
        (["--no-real"], "missing argument 'FAKE'. See calibrant samples --help"),
        (["real.npy"], "there is nothing to compare real.npy with; name a file of generated points too, or add --no-"),
        (["real.npy", "none.csv"], "there is no file none.csv. Check the path"),
        (["real.npy", "fke.npy"], "there is no file fke.npy. Did you mean 'fake.npy'?"),
        (["real.npy", "fake.npy", "-o", "report.pdf"], "the file of -o must end in .html or .htm; got report.pdf"),
        (["real.npy", "fake.npy", "-o", "none/a.html"], "there is no folder none to write a.html to; make it first"),
        (["real.npy", "--json", "fake.npy"], "the file of --json must end in .json; got fake.npy"),
        (["real.npy", "fake.npy", "--format", "xls"], "'xls' is not one of 'parquet', 'csv', 'arrow', 'ndjson', "),
        (["real.npy", "one.npy"], "at least 2 points; got 1 (y is real.npy, points is one.npy)"),
        (["one.npy", "--no-real"], "at least 2 points; got 1 (points is one.npy)"),
        (["real.npy", "huge.npy"], "must lie within ±1e+150"),
    ],
)
def test_what_cannot_be_compared(refused, folder, arrays, arguments, sentence):
    np.save(folder / "one.npy", np.zeros((1, 3)))
    np.save(folder / "huge.npy", np.full((9, 3), 1e200))
    assert sentence in refused("samples", *arguments)


def test_places_are_checked_before_the_work(refused, folder):
    for name in ("real.ndjson", "fake.json"):
        (folder / name).write_text('{"height": 1}\n{"height": 2}\n')
    sentence = refused("samples", "real.ndjson", "fake.json", "--format ndjson --json ./fake.json")
    assert sentence == "--json would overwrite fake.json, which is an input file; choose another name"
    assert "there is no folder none" in refused("samples", "none.npy", "none.npy", "-o none/a.html")


def test_progress_is_for_terminals_only(run, arrays, folder, capsys, monkeypatch):
    assert run("samples", "real.npy", "fake.npy").err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    compare_files([folder / "real.npy", folder / "fake.npy"], Request())
    watched = capsys.readouterr().err
    assert "real.npy ..." in watched
    assert "measuring ..." in watched
    assert watched.endswith("\r\x1b[K")


def test_names_that_mean_harm(run, folder, require):
    pl = require("polars")
    script = "<script>alert(1)</script>"
    for name, points in (("<b>.parquet", REAL), ("\x1b[2J.parquet", FAKE), ("<i>.parquet", OTHER)):
        frame = pl.DataFrame(points, schema=[script, "^.*$", "*\x07"], orient="row")
        frame.write_parquet(folder / name)
    done = run("samples", "<b>.parquet", "\x1b[2J.parquet", "<i>.parquet", "-o report.html")
    assert (done.code, done.err) == (0, "")
    assert not {"\x1b", "\x07"} & set(done.out)
    page = (folder / "report.html").read_text()
    assert not any(text in page for text in (script, "<b>", "<i>", "\x1b"))
    assert report.read("report.html")["names"]["coordinates"] == f"{script}, ^.*$, *\\x07"

    for name in ("real.parquet", "fake.parquet"):
        points = RNG.normal(size=(30, 40))
        pl.DataFrame(points, schema=[f"x{k}" for k in range(40)], orient="row").write_parquet(folder / name)
    found = run("samples", "real.parquet", "fake.parquet", "--json").results
    assert found["names"]["coordinates"] == "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, ..., x39"


@pytest.fixture
def written(run, arrays):
    """Return a report and a JSON file of two comparisons."""
    assert run("samples", "real.npy", "fake.npy", "-o fake.html").code == 0
    assert run("samples", "real.npy", "other.npy", "--json other.json").code == 0


def test_fail_if(run, refused, folder, arrays):
    done = run("samples", "real.npy", "fake.npy", "--fail-if different --fail-if 'c2st < 0.1'")
    assert (done.code, done.err) == (1, "")
    last = done.out.splitlines()[-2:]
    assert last[0] == "FAILED  verdict = different  (fails if = different)"
    assert last[1].startswith("passed  c2st = ")
    done = run("samples", "real.npy", "other.npy", "--fail-if different --json")
    assert done.results["kind"] == "points"
    assert done.err.startswith("calibrant: passed  verdict = ")
    done = run("samples", "real.npy", "fake.npy", "--fail-if different -o report.html")
    assert done.code == 1
    assert "report: report.html\nFAILED  verdict" in done.out
    assert run("check", "report.html", "--fail-if different").code == 1
    assert "--fail-if 'broken' is not a condition" in refused("samples", "real.npy", "fake.npy", "--fail-if broken")
    assert "no verdict that could be" in refused("samples", "--no-real fake.npy --fail-if different")


def test_compare(run, written, data):
    done = run("compare", "fake.html", "other.json")
    assert done.code == 0
    assert done.err == "calibrant: A has 110 rows and B 100: with fewer rows an error looks larger by chance alone\n"
    assert "distance of the means" in done.out
    run("audit", data, "--y left --p score --json audit.json")
    done = run("compare", "fake.html", "audit.json")
    assert done.code == 0
    assert "A is about sets of points and B about probabilities of an event" in done.err
