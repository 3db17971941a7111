"""`calibrant demo`: a report of each example."""

import pytest

import calibrant as cb
from calibrant import report
from calibrant.points.comparison import compare


def test_all(run, folder):
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    churn, digits, houses, demand, posterior, ensemble, generated = done.out.split("\n\n")
    assert churn.startswith("churn: will a customer leave?\n✗ These predictions are not calibrated")
    assert churn.endswith("\nreport: calibrant-demo-churn.html")
    assert digits.startswith("digits: which digit is it?\n✗ ")
    assert digits.endswith("\nreport: calibrant-demo-digits.html")
    assert houses.startswith("house_prices: what is it sold for?\n✗ ")
    assert "size = large" in houses
    assert houses.endswith("\nreport: calibrant-demo-house_prices.html")
    assert demand.startswith("demand: how many are sold?\n✗ These quantiles are not calibrated")
    assert demand.endswith("\nreport: calibrant-demo-demand.html")
    assert posterior.startswith("posterior: what drove the epidemic?\n✗ ")
    assert posterior.endswith("\nreport: calibrant-demo-posterior.html")
    assert ensemble.startswith("ensemble: how will the weather be?\n✗ ")
    assert "lead = 3 days" in ensemble
    assert ensemble.endswith("\nreport: calibrant-demo-ensemble.html")
    assert generated.startswith("generated: does a mixture make such digits?\n✗ The generated points differ")
    assert generated.endswith("\nreport: calibrant-demo-generated.html\n")
    examples = ("churn", "demand", "digits", "ensemble", "generated", "house_prices", "posterior")
    assert sorted(path.name for path in folder.iterdir()) == [f"calibrant-demo-{name}.html" for name in examples]
    example = cb.examples.churn()
    expected = cb.audit(example.y, example.p, groups={"segment": example.segment})
    assert report.read("calibrant-demo-churn.html")["verdict"]["headline"] == expected.verdict.headline
    kinds = {
        "digits": "classes",
        "house_prices": "intervals",
        "demand": "quantiles",
        "posterior": "samples",
        "ensemble": "samples",
        "generated": "points",
    }
    assert {name: report.read(f"calibrant-demo-{name}.html")["kind"] for name in kinds} == kinds
    named = report.read("calibrant-demo-posterior.html")["names"]
    assert named["coordinates"] == "reproduction number, infectious days, reported share"


def test_generated(run):
    done = run("demo", "generated", "-o", "mine.html")
    assert (done.code, done.err) == (0, "")
    example = cb.examples.generated()
    found, expected = report.read("mine.html"), compare(example.y, example.points, columns=example.columns)
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


@pytest.mark.parametrize(
    ("options", "path"),
    [
        (["churn"], "calibrant-demo-churn.html"),
        (["churn", "-o", "mine.html"], "mine.html"),
        (["churn", "-o", "sub"], "sub/calibrant-demo-churn.html"),
        (["churn", "-o", "sub/mine.HTM"], "sub/mine.HTM"),
    ],
)
def test_place(run, folder, options, path):
    (folder / "sub").mkdir()
    done = run("demo", *options)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(f"\nreport: {path}\n")
    assert report.read(path)["n"] == 4000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-o", "mine.html"], "there are 7 reports for the one file mine.html; name the example too"),
        (["-o", "none"], "there is no folder none to write calibrant-demo-churn.html to; make it first"),
        (["digits", "-o", "none/mine.html"], "there is no folder none to write mine.html to; make it first"),
    ],
)
def test_place_that_is_none(refused, options, sentence):
    assert sentence in refused("demo", *options)
