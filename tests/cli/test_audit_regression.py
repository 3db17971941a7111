"""`calibrant audit` and what follows it, for intervals, sets and quantiles: the numbers of the library."""

import numpy as np
import pytest

import calibrant as cb
from calibrant import report

BOUNDS = "--lower lo80 --upper hi80 --level 0.8 --lower lo90 --upper hi90 --level 0.9"
ONE = "--y price --lower lo90 --upper hi90 --level 0.9"


@pytest.fixture(scope="module")
def houses():
    example = cb.examples.house_prices()
    return example.y[:400], example.prediction.take(slice(0, 400)), example.size[:400]


@pytest.fixture
def prices(folder, houses, require):
    """Return a Parquet file of 400 houses."""
    y, bounds, size = houses
    columns = {
        f"{side}{level:.0f}": values
        for side, array in (("lo", bounds.lower), ("hi", bounds.upper))
        for level, values in zip(100 * bounds.levels, array.T, strict=True)
    }
    require("polars").DataFrame({"price": y, **columns, "size": size.tolist()}).write_parquet(folder / "houses.parquet")
    return "houses.parquet"


@pytest.fixture(scope="module")
def days():
    example = cb.examples.demand()
    return example.y[:400], example.prediction.take(slice(0, 400))


@pytest.fixture
def demand(folder, days, require):
    """Return a CSV file of 400 days, the quantiles not in order."""
    y, quantiles = days
    columns = {f"q{100 * quantiles.levels[k]:02.0f}": quantiles.values[:, k] for k in (2, 0, 4, 1, 3)}
    require("polars").DataFrame({"sold": y, **columns}).write_csv(folder / "days.csv")
    return "days.csv"


@pytest.mark.parametrize(
    "options",
    [
        BOUNDS,
        "--lower lo80 --lower lo90 --upper hi80 --upper hi90 --level 0.8 --level 0.9",
        "--lower 'lo*' --upper hi80,hi90 --level 0.8 --level 0.9",
    ],
)
def test_intervals(run, prices, houses, options):
    y, bounds, size = houses
    done = run("audit", prices, "--y price", options, "--by size --calibration-size 4000 --json")
    assert done.err == ""
    assert done.is_audit(cb.audit(y, bounds, groups={"size": size}, calibration_size=4000))
    assert done.results["names"]["prediction"] == "lo80 to hi80, lo90 to hi90"


def test_intervals_of_one_level_and_swapped_bounds(run, prices, houses):
    y, one = houses[0], houses[1].at(0.9)
    assert run("audit", prices, ONE, "--confidence 0.9 --json").is_audit(cb.audit(y, one, level=0.9))
    swapped = "--y price --lower hi90 --upper lo90 --level 0.9 --crossed swap --json"
    assert run("audit", prices, swapped).is_audit(cb.audit(y, one))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--quantile-cols 'q*'", "levels are taken from the names of the columns: q50 is 0.5, q05 is 0.05, q95 is"),
        ("--quantile-cols 'q*' --levels 0.5,0.05,0.95,0.25,0.75", ""),
        ("--quantile-cols q05,q25,q50,q75,q95 --levels 0.05,0.25,0.5,0.75,0.95", ""),
        ("--quantile-cols q05,q50,q25,q75,q95 --levels 0.05,0.25,0.5,0.75,0.95 --crossed sort", ""),
    ],
)
def test_quantiles(run, demand, days, options, told):
    done = run("audit", demand, "--y sold", options, "--json")
    assert told in done.err
    assert bool(done.err) == bool(told)
    assert done.is_audit(cb.audit(*days))


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize(
    "options", [("--set-cols", "in_*"), ("--set-cols", "in_dog,in_cat,in_bird", "--classes", "dog,cat,bird")]
)
def test_sets(run, folder, vectors, dtype, options):
    P = vectors.drop("pet").to_numpy()
    mask = P >= 0.2
    columns = {f"in_{label}": mask[:, k].astype(dtype) for k, label in enumerate(("dog", "cat", "bird"))}
    vectors.select("pet").with_columns(**columns).write_csv(folder / "pets.csv")
    done = run("audit", "pets.csv", "--y pet", *options, "--level 0.9 --json")
    assert done.is_audit(cb.audit(vectors["pet"], cb.Sets(mask, 0.9), classes=["dog", "cat", "bird"]))
    assert ("in_dog is 'dog', in_cat is 'cat', in_bird is 'bird'" in done.err) == ("--classes" not in options)


def test_arrays(run, folder, houses, days):
    y, bounds, _ = houses
    np.savez(folder / "houses.npz", y=y, lower=bounds.lower, upper=bounds.upper, levels=bounds.levels)
    done = run("audit", "houses.npz", "--y y --lower 'lower_*' --upper 'upper_*' --json")
    assert done.err.splitlines() == [
        "calibrant: levels are taken from the array 'levels' of houses.npz: 0.8, 0.9",
        "calibrant: intervals: lower_0 to upper_0 is 0.8, lower_1 to upper_1 is 0.9",
    ]
    assert done.is_audit(cb.audit(y, bounds))
    one = bounds.at(0.9)
    np.savez(folder / "one.npz", y=y, lower=one.lower[:, 0], upper=one.upper[:, 0], level=0.9)
    assert run("audit", "one.npz", "--y y --lower lower --upper upper --json").is_audit(cb.audit(y, one))
    sold, quantiles = days
    np.savez(folder / "days.npz", sold=sold, Q=quantiles.values, levels=quantiles.levels)
    assert run("audit", "days.npz", "--y sold --quantile-cols 'Q_*' --json").is_audit(cb.audit(*days))


def test_infinite_bounds(run, folder, require):
    y = np.arange(50.0)
    upper = np.where(y < 10, np.inf, y + 1)
    require("polars").DataFrame({"y": y, "lo": y - 1, "hi": upper}).write_csv(folder / "a.csv")
    done = run("audit", "a.csv", "--y y --lower lo --upper hi --level 0.9 --json")
    assert done.is_audit(cb.audit(y, cb.Intervals(y - 1, upper, 0.9)))


def test_report_check_and_compare(run, prices, demand):
    assert run("audit", prices, "--y price", BOUNDS, "-o two.html").code == 0
    assert run("audit", prices, ONE, "--json one.json").code == 0
    assert run("audit", demand, "--y sold --quantile-cols 'q*' -o days.html").code == 0
    done = run("check", "two.html", "--fail-if 'coverage.0.9 < 0.8' --fail-if 'coverage.0.8.low > 0.1'")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("passed  coverage.0.9 = 0.")
    assert "\nFAILED  coverage.0.8.low = 0." in done.out
    done = run("check", prices, ONE, "--fail-if 'coverage < 0.1' --fail-if 'interval_score > 3'")
    assert [line.split("=")[0] for line in done.out.splitlines()] == ["passed  coverage ", "FAILED  interval_score "]
    done = run("compare", "two.html", "one.json")
    assert (done.code, done.err) == (0, "")
    assert "coverage of 90 % intervals" in done.out
    assert "A is about intervals and B about quantiles" in run("compare", "two.html", "days.html").err
    assert report.read("two.html")["kind"] == "intervals"
