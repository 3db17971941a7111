"""`calibrant demo`: a report of each example."""

import re

import pytest

import calibrant as cb
from calibrant import report
from calibrant.auditing.compare_points import compare
from calibrant.cli import demo

DEMOS = {
    "churn": ("will a customer leave?\n✗ Miscalibrated: ", "binary"),
    "digits": ("which digit is it?\n✗ ", "classes"),
    "house_prices": ("what is it sold for?\n✗ ", "intervals"),
    "demand": ("how many are sold?\n✗ ", "quantiles"),
    "posterior": ("what drove the epidemic?\n✗ ", "samples"),
    "ensemble": ("how will the weather be?\n✗ ", "samples"),
    "generated": ("does a mixture make such digits?\n✗ ", "points"),
}


def test_all(run, folder, small_examples):
    done = run("demo", "--all")
    assert (done.code, done.err) == (0, "")
    told = dict(zip(DEMOS, re.split(r"(?<=\.html)\n\n", done.out.rstrip("\n")), strict=True))
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"calibrant-demo-{name}.html" for name in DEMOS)
    found = {name: report.read(f"calibrant-demo-{name}.html") for name in DEMOS}
    for name, (head, kind) in DEMOS.items():
        assert told[name].startswith(f"{name}: {head}")
        assert told[name].endswith(f"\nreport: calibrant-demo-{name}.html")
        assert found[name]["kind"] == kind
    assert "size = large" in told["house_prices"]
    assert "lead = 3 days" in told["ensemble"]
    example = cb.examples.churn()
    expected = cb.audit(example.y, example.p, groups={"segment": example.segment})
    assert found["churn"]["verdict"]["headline"] == expected.verdict.headline
    assert found["posterior"]["names"]["coordinates"] == "reproduction number, infectious days, reported share"
    _check_generated(found["generated"])


def _check_generated(found):
    example = cb.examples.generated()
    expected = compare(example.y, example.points, columns=example.columns)
    measured = {m["name"]: m for section in found["sections"] for m in section["measurements"]}
    assert {name: m["value"] for name, m in measured.items()} == dict(
        zip(expected.table["name"], expected.table["value"], strict=True)
    )
    assert found["names"]["real"] == "pictures of digits"
    # What it is an example of: the points are wrong, and their means and spreads are not.
    assert measured["location"]["pvalue"] > 0.05
    assert measured["spread"]["pvalue"] > 0.05
    assert measured["density_coverage.coverage"]["value"] < measured["density_coverage.coverage"]["expected"] - 0.2
    assert measured["density_coverage.coverage"]["pvalue"] < 0.01


def test_places(run, folder, monkeypatch, for_each):
    """The reports are of something smaller than the examples."""
    found = cb.audit([0, 1] * 10, [0.25, 0.75] * 10)
    monkeypatch.setattr(demo, "_found", lambda name: found)
    (folder / "sub").mkdir()

    def check(options, path):
        done = run("demo", *options)
        assert done.code == 0
        others = "calibrant: other examples are digits, house_prices, demand, posterior, ensemble, generated; "
        assert done.err.startswith(others) == ("churn" not in options)
        assert done.out.endswith(f"\nreport: {path}\n")
        assert report.read(path)["n"] == 20

    cases = {
        "calibrant-demo-churn.html": [],
        "first.html": ["-o", "first.html"],
        "mine.html": ["churn", "-o", "mine.html"],
        "sub/calibrant-demo-churn.html": ["churn", "-o", "sub"],
        "sub/mine.HTM": ["churn", "-o", "sub/mine.HTM"],
    }
    for_each({path: (options, path) for path, options in cases.items()}, check)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--all", "-o", "mine.html"], "there are 7 reports for the one file mine.html; name a folder, or one example"),
        (["--all", "digits"], "--all writes a report on each example; leave digits out, or --all"),
        (["-o", "none"], "there is no folder none to write calibrant-demo-churn.html to; make it first"),
        (["digits", "-o", "none/mine.html"], "there is no folder none to write mine.html to; make it first"),
    ],
)
def test_place_that_is_none(refused, options, sentence):
    assert sentence in refused("demo", *options)
