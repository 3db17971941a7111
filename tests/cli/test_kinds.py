"""Intervals, sets and quantiles: options that contradict each other, and columns that do not fit."""

import numpy as np
import pytest

BOUNDS = ("--lower", "lo", "--upper", "hi")
Y = ("--y", "price")


@pytest.fixture
def prices(folder, require):
    """Return a CSV file with bounds, quantiles and sets of 20 rows, some of them wrong."""
    pl = require("polars")
    rng = np.random.default_rng(3)
    price = rng.normal(100, 10, 20).round(2)
    frame = pl.DataFrame(
        {
            "price": price,
            "lo": (price - 8).round(2),
            "hi": (price + 8).round(2),
            "low": (price - 20).round(2),
            "crossed": np.where(np.arange(20) == 4, price - 30, price + 9).round(2),
            "q05": (price - 9).round(2),
            "q50": price,
            "q95": (price + 9).round(2),
            "size": ["small", "large"] * 10,
            "small": [True, False] * 10,
            "large": [True] * 20,
            "p": rng.random(20).round(3),
            "count": [0, 3] * 10,
            "gap": [None, *price[1:].tolist()],
        }
    )
    frame.write_csv(folder / "prices.csv")
    return "prices.csv"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--p", "p", *BOUNDS), "--p and --lower name predictions of different kinds; give one kind at a time"),
        (("--set-cols", "s*", "--quantile-cols", "q*"), "--set-cols and --quantile-cols name predictions of different"),
        (("--lower", "lo", "--level", "0.9"), "--lower names bounds of intervals, and --upper is missing; give both."),
        (("--upper", "hi", "--level", "0.9"), "--upper names bounds of intervals, and --lower is missing; give both."),
        (BOUNDS, "--lower and --upper need --level, the nominal coverage of the intervals, such as --level 0.9, never"),
        ((*BOUNDS, "--lower", "low", "--level", "0.9"), "must name columns in pairs; got 2 ('lo', 'low') and 1 ('hi')"),
        (
            (*BOUNDS, "--level", "0.8", "--level", "0.9"),
            "one --level for each --lower and --upper, in their order; got 2 for 1",
        ),
        ((*BOUNDS, "--lower", "low", "--upper", "hi", "--level", "0.9"), "got 1 for 2: 'lo', 'low'"),
        ((*BOUNDS, "--level", "90"), "90 does not lie between 0 and 1; did you mean 0.9?"),
        ((*BOUNDS, *BOUNDS, "--level", "0.9", "--level", "0.9"), "level must not hold a value twice; got [0.9, 0.9]"),
        (
            (*BOUNDS, "--levels", "0.9"),
            "--levels gives the levels of --quantile-cols; give the nominal coverage with --level",
        ),
        ((*BOUNDS, "--level", "0.9", "--crossed", "sort"), "--crossed sort is not for intervals; use --crossed swap"),
        (
            (*BOUNDS, "--level", "0.9", "--classes", "a,b"),
            "--classes names the labels of --p-cols or --set-cols; leave",
        ),
        (
            (*BOUNDS, "--level", "0.9", "--pos-label", "a"),
            "--pos-label marks the event of a probability (--p); leave it",
        ),
        (
            ("--p", "p", "--level", "0.9"),
            "--level is the nominal coverage of intervals or sets; for the level of tests and bands use --confidence",
        ),
        (("--p", "p", "--crossed", "swap"), "--crossed is about bounds and quantiles in the wrong order; leave it out"),
        (
            ("--p", "p", "--calibration-size", "9"),
            "--calibration-size is about split conformal intervals or sets; leave",
        ),
        (("--quantile-cols", "q*", "--level", "0.9"), "give the levels of quantiles with --levels, such as"),
        (
            ("--quantile-cols", "q*", "--levels", "0.1,0.9"),
            "one level for each of the 3 columns 'q05', 'q50', 'q95'; got 2: ",
        ),
        (("--quantile-cols", "lo,hi"), "the names 'lo', 'hi' do not tell which quantiles these are; add --levels with"),
        (
            ("--quantile-cols", "q05,q95,q05"),
            "column 'q05' is named twice by --quantile-cols 'q05,q95,q05'; name it once",
        ),
        (("--quantile-cols", "q05,q59"), "prices.csv has no column 'q59' (--quantile-cols). Its columns are"),
        (("--quantile-cols", "r*"), "no column of prices.csv is like 'r*' (--quantile-cols). Its columns are"),
        (("--quantile-cols", "q*", "--levels", "0.5,0.5,0.9"), "levels must not hold a value twice"),
        (
            ("--quantile-cols", "q95,q50,q05", "--levels", "0.1,0.5,0.9"),
            "quantiles must not decrease with their level; row 0",
        ),
        (
            ("--set-cols", "small,large"),
            "--set-cols needs --level, the nominal coverage of the sets, such as --level 0.9",
        ),
        (
            ("--set-cols", "small", "--level", "0.9"),
            "only one column of prices.csv is like 'small': 'small'. Name one for each",
        ),
        (
            ("--lower", "lo", "--upper", "high", "--level", "0.9"),
            "prices.csv has no column 'high' (--upper). Its columns",
        ),
        (("--lower", "price", "--upper", "hi", "--level", "0.9"), "column 'price' is named by --y and by --lower"),
        (("--lower", "lo", "--upper", "lo", "--level", "0.9"), "column 'lo' is named by --lower and by --upper"),
        (
            ("--lower", "lo", "--upper", "size", "--level", "0.9"),
            "column 'size' of prices.csv must hold numbers; row 0 (counted from 0) is the text 'small'",
        ),
        (
            ("--lower", "lo", "--upper", "gap", "--level", "0.9"),
            "column 'gap' of prices.csv has no value in 1 of 20 rows",
        ),
        (
            ("--lower", "lo", "--upper", "crossed", "--level", "0.9"),
            "Pass --crossed swap to exchange such bounds (in prices.csv, y is column 'price', prediction is "
            "'lo to crossed'; rows are counted from 0)",
        ),
    ],
)
def test_what_does_not_fit(refused, prices, options, sentence):
    assert sentence in refused("audit", prices, *Y, *options)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("small,p", "row 0 (counted from 0) is 0.001. Probabilities are no sets: name them with --p-cols"),
        (
            "small,count",
            "column 'count' of prices.csv must say whether a class is in the set, true or false or 1 or 0; row 1",
        ),
        ("small,lo", "Name another column"),
    ],
)
def test_sets_that_are_none(refused, prices, columns, sentence):
    options = ("--y", "size", "--set-cols", columns, "--level", "0.9", "--classes", "small,large")
    assert sentence in refused("audit", prices, *options)


def test_outcomes_of_intervals_are_numbers(refused, prices):
    sentence = refused("audit", prices, "--y", "size", *BOUNDS, "--level", "0.9")
    assert sentence.startswith("column 'size' of prices.csv must hold numbers; row 0 (counted from 0) is the text")


def test_levels_of_an_npz_file(refused, folder):
    y = np.arange(5.0)
    np.savez(folder / "a.npz", y=y, lower=y - 1, upper=y + 1, levels=[90])
    options = ("--y", "y", "--lower", "lower", "--upper", "upper")
    assert refused("audit", "a.npz", *options) == (
        "the array 'levels' of a.npz must hold levels; 90 does not lie between 0 and 1; did you mean 0.9?"
    )
    np.savez(folder / "a.npz", y=y, lower=y - 1, upper=y + 1, levels=[0.8, 0.9])
    assert refused("audit", "a.npz", *options).startswith("--lower and --upper need --level")
