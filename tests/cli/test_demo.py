"""`calibrant demo`: a report of each example."""

import pytest

import calibrant as cb
from calibrant import report


def test_all(run, folder):
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    churn, digits, houses, demand = done.out.split("\n\n")
    assert churn.startswith("churn: will a customer leave?\n✗ These predictions are not calibrated")
    assert churn.endswith("\nreport: calibrant-demo-churn.html")
    assert digits.startswith("digits: which digit is it?\n✗ ")
    assert digits.endswith("\nreport: calibrant-demo-digits.html")
    assert houses.startswith("house_prices: what is it sold for?\n✗ ")
    assert "size = large" in houses
    assert houses.endswith("\nreport: calibrant-demo-house_prices.html")
    assert demand.startswith("demand: how many are sold?\n✗ These quantiles are not calibrated")
    assert demand.endswith("\nreport: calibrant-demo-demand.html\n")
    names = [f"calibrant-demo-{name}.html" for name in ("churn", "demand", "digits", "house_prices")]
    assert sorted(path.name for path in folder.iterdir()) == names
    example = cb.examples.churn()
    expected = cb.audit(example.y, example.p, groups={"segment": example.segment})
    assert report.read("calibrant-demo-churn.html")["verdict"]["headline"] == expected.verdict.headline
    kinds = {"digits": "classes", "house_prices": "intervals", "demand": "quantiles"}
    assert {name: report.read(f"calibrant-demo-{name}.html")["kind"] for name in kinds} == kinds


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
        (["-o", "mine.html"], "there are 4 reports for the one file mine.html; name the example too"),
        (["-o", "none"], "there is no folder none to write calibrant-demo-churn.html to; make it first"),
        (["digits", "-o", "none/mine.html"], "there is no folder none to write mine.html to; make it first"),
    ],
)
def test_place_that_is_none(refused, options, sentence):
    assert sentence in refused("demo", *options)
