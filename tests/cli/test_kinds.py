"""Intervals, sets and quantiles: options that contradict each other, columns that do not fit, and their levels."""

import numpy as np
import pytest

from calibrant.cli.kinds import level_in, levels_in, typed_levels

BOUNDS = ("--lower", "lo", "--upper", "hi")
Y = "--y price"


@pytest.fixture
def prices(folder, require):
    """Return a CSV file with bounds, quantiles and sets of 20 rows, some of them wrong."""
    rng = np.random.default_rng(3)
    price = rng.normal(100, 10, 20).round(2)
    shifts = {"price": 0, "lo": -8, "hi": 8, "low": -20, "q05": -9, "q50": 0, "q95": 9}
    columns = {name: (price + shift).round(2) for name, shift in shifts.items()}
    columns |= {"crossed": np.where(np.arange(20) == 4, price - 30, price + 9).round(2), "p": rng.random(20).round(3)}
    columns |= {"size": ["small", "large"] * 10, "small": [True, False] * 10, "large": [True] * 20}
    columns |= {"count": [0, 3] * 10, "gap": [None, *price[1:].tolist()]}
    require("polars").DataFrame(columns).write_csv(folder / "prices.csv")
    return "prices.csv"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--p", "p", *BOUNDS), "--p and --lower name predictions of different kinds; give one kind at a time"),
        (("--set-cols", "s*", "--quantile-cols", "q*"), "--set-cols and --quantile-cols name predictions of different"),
        (("--lower", "lo", "--level", "0.9"), "--lower names bounds of intervals, and --upper is missing; give both"),
        (("--upper", "hi", "--level", "0.9"), "--upper names bounds of intervals, and --lower is missing; give both"),
        (BOUNDS, "--lower and --upper need --level, the nominal coverage of the intervals, such as --level 0.9, never"),
        ((*BOUNDS, "--lower", "low", "--level", "0.9"), "must name columns in pairs; got 2 ('lo', 'low') and 1 ('hi')"),
        ((*BOUNDS, "--level", "0.8", "--level", "0.9"), "one --level for each --lower and --upper, in their order;"),
        ((*BOUNDS, "--lower", "low", "--upper", "hi", "--level", "0.9"), "got 1 for 2: 'lo', 'low'"),
        ((*BOUNDS, "--level", "90"), "90 does not lie between 0 and 1; did you mean 0.9?"),
        ((*BOUNDS, *BOUNDS, "--level", "0.9", "--level", "0.9"), "level must not contain a value twice; got [0.9,"),
        ((*BOUNDS, "--levels", "0.9"), "--levels gives the levels of --quantile-cols; give the nominal coverage"),
        ((*BOUNDS, "--level", "0.9", "--crossed", "sort"), "--crossed sort is not for intervals; use --crossed swap"),
        ((*BOUNDS, "--level", "0.9", "--classes", "a,b"), "--classes names the labels of --p-cols or --set-cols;"),
        ((*BOUNDS, "--level", "0.9", "--pos-label", "a"), "--pos-label marks the event of a probability (--p);"),
        (("--p", "p", "--level", "0.9"), "--level is the nominal coverage of intervals or sets; for the level of"),
        (("--p", "p", "--crossed", "swap"), "--crossed is about bounds and quantiles in the wrong order; leave it out"),
        (("--p", "p", "--calibration-size", "9"), "--calibration-size is about split conformal intervals or sets;"),
        (("--quantile-cols", "q*", "--level", "0.9"), "give the levels of quantiles with --levels, such as"),
        (("--quantile-cols", "q*", "--levels", "0.1,0.9"), "one level for each of the 3 columns 'q05', 'q50',"),
        (("--quantile-cols", "lo,hi"), "the names 'lo', 'hi' do not tell which quantiles these are; add --levels with"),
        (("--quantile-cols", "q05,q95,q05"), "column 'q05' is named twice by --quantile-cols 'q05,q95,q05'; name it"),
        (("--quantile-cols", "q05,q59"), "prices.csv has no column 'q59' (--quantile-cols). Its columns are"),
        (("--quantile-cols", "r*"), "no column of prices.csv matches 'r*' (--quantile-cols). Its columns are"),
        (("--quantile-cols", "q*", "--levels", "0.5,0.5,0.9"), "levels must not contain a value twice"),
        (("--quantile-cols", "q95,q50,q05", "--levels", "0.1,0.5,0.9"), "quantiles must not decrease with their"),
        (("--set-cols", "small,large"), "--set-cols needs --level, the nominal coverage of the sets, such as"),
        (("--set-cols", "small", "--level", "0.9"), "only one column of prices.csv matches 'small': 'small'. Name"),
        (("--lower", "lo", "--upper", "high", "--level", "0.9"), "prices.csv has no column 'high' (--upper). Its"),
        (("--lower", "price", "--upper", "hi", "--level", "0.9"), "column 'price' is named by --y and by --lower"),
        (("--lower", "lo", "--upper", "lo", "--level", "0.9"), "column 'lo' is named by --lower and by --upper"),
        (("--lower", "lo", "--upper", "size", "--level", "0.9"), "column 'size' of prices.csv must contain numbers;"),
        (("--lower", "lo", "--upper", "gap", "--level", "0.9"), "column 'gap' of prices.csv has no value in 1 of 20"),
        (("--lower", "lo", "--upper", "crossed", "--level", "0.9"), "Pass --crossed swap to exchange such bounds"),
    ],
)
def test_what_does_not_fit(refused, prices, options, sentence):
    assert sentence in refused("audit", prices, Y, *options)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("small,p", "row 0 (counted from 0) is 0.001. These are probabilities: compare them with a threshold"),
        ("small,count", "column 'count' of prices.csv must say whether a class is in the set, true or false or 1 or"),
        ("small,lo", "Name another column"),
    ],
)
def test_sets_and_outcomes_of_intervals_that_are_none(refused, prices, columns, sentence):
    options = ("--y", "size", "--set-cols", columns, "--level", "0.9", "--classes", "small,large")
    assert sentence in refused("audit", prices, *options)
    sentence = refused("audit", prices, "--y size", *BOUNDS, "--level 0.9")
    assert sentence.startswith("column 'size' of prices.csv must contain numbers; row 0 (counted from 0) is the text")


def test_levels_of_an_npz_file(refused, folder):
    y = np.arange(5.0)
    np.savez(folder / "a.npz", y=y, lower=y - 1, upper=y + 1, levels=[90])
    options = "--y y --lower lower --upper upper"
    assert refused("audit", "a.npz", options) == (
        "the array 'levels' of a.npz must contain levels; 90 does not lie between 0 and 1; did you mean 0.9?"
    )
    np.savez(folder / "a.npz", y=y, lower=y - 1, upper=y + 1, levels=[0.8, 0.9])
    assert refused("audit", "a.npz", options).startswith("--lower and --upper need --level")


TELLING = {
    "q05 q50 q95": [0.05, 0.5, 0.95],
    "q95 q05": [0.95, 0.05],
    "p025 p50 p975": [0.025, 0.5, 0.975],
    "q0.1 q0.7": [0.1, 0.7],
    "q.25 q.5": [0.25, 0.5],
    "2.5% 97.5%": [0.025, 0.975],
    "demand-5% demand-50%": [0.05, 0.5],
    "0.05 0.95": [0.05, 0.95],
    "model2_q05 model2_q95": [0.05, 0.95],
    " ".join(f"p{k:02}" for k in range(1, 100)): [k / 100 for k in range(1, 100)],
}
# 0.05 or 0.5; members of an ensemble; no 90, so these may be anything; 0.1, 0.5 and 0.9 without their points; ...
OPEN = ["q5 q95", "m01 m02 m03", "q10 q50", "q01 q05 q09", "low mid high", "q05 q50 top", "q05 r05"]
OPEN += ["p05_h24 p95_h24", "q1.05 q1.95", "q0.0 q1.0", "q00 q100", "150% 50%"]


def test_levels_in_names():
    for names, levels in TELLING.items():
        assert levels_in(names.split()) == pytest.approx(levels, abs=1e-15), names
    for names in OPEN:
        assert levels_in(names.split()) is None, names
    levels = {"lower90": 0.9, "q0.5": 0.5, "5%": 0.05, "q5": None, "": None}
    assert {name: level_in(name) for name in levels} == levels


def test_texts_that_are_no_levels(refuses):
    cases = [
        ("0.1,half", "'half' (--levels) is not a number; write them like --levels 0.05,0.5,0.95"),
        ("0.1,,0.9", "'' (--levels) is not a number"),
        ("5,50", "5 does not lie between 0 and 1; did you mean 0.05? (--levels)"),
        ("0,1", "0 does not lie between 0 and 1 (--levels)"),
    ]
    refuses(typed_levels, cases)


@pytest.fixture
def table(tmp_path, require):
    pl = require("polars")
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    columns = {"y": y, "lo80": -1.28, "lo95": -1.96, "hi95": 1.96, "hi80": 1.28}
    path = tmp_path / "bounds.parquet"
    pl.DataFrame({name: np.broadcast_to(column, 400) for name, column in columns.items()}).write_parquet(path)
    return path


def bounds(*pairs):
    return [word for low, high, level in pairs for word in ("--lower", low, "--upper", high, "--level", level)]


def test_pairs_are_said_aloud_unless_their_names_say_them(run, table):
    done = run("audit", table, "--y y", *bounds(("lo80", "hi80", "0.8"), ("lo95", "hi95", "0.95")))
    assert (done.code, done.err) == (0, "")
    done = run("audit", table, "--y y", *bounds(("lo80", "hi80", "0.5"), ("lo95", "hi95", "0.6")))
    assert done.code == 0
    assert "intervals: lo80 to hi80 is 0.5, lo95 to hi95 is 0.6" in done.err


def test_pairs_and_levels_against_the_names_are_refused(refused, table):
    options = "--y y --lower 'lo*' --upper 'hi*' --level 0.8 --level 0.95"
    assert "their names say otherwise" in refused("audit", table, options)
    turned = bounds(("lo80", "hi80", "0.95"), ("lo95", "hi95", "0.8"))
    assert "give --level in the order of --lower and --upper" in refused("audit", table, "--y y", *turned)
