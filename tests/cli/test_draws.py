"""Draws that cannot be read: options that contradict each other, ragged lists, missing numbers."""

import numpy as np
import pytest

Y = "--y y"


@pytest.fixture
def made(folder, require):
    """Return a Parquet file of 6 rows with lists, most of them wrong."""
    pl = require("polars")
    good = [[float(i), i + 1.0, i + 2.0] for i in range(6)]
    pair = [[1.0, 2.0], [3.0, 4.0]]
    columns = {
        **{"y": np.arange(6.0), "z": np.arange(6.0) - 1, "p": np.linspace(0, 1, 6), "word": list("abcdef")},
        **{"yz": [[0.0, 1.0]] * 6, "good": good, "short": [row[:2] for row in good], "empty": [[]] * 6},
        "ragged": [*good[:4], [1.0, 2.0], good[5]],
        "gap": [*good[:2], [1.0, None, 2.0], [None, 1.0, 2.0], *good[4:]],
        "nan": [*good[:5], [1.0, 2.0, float("nan")]],
        "null": [*good[:3], None, *good[4:]],
        **{"text": [["a", "b", "c"]] * 6, "vectors": [[*pair, [5.0, 6.0]]] * 6, "deep": [[[[1.0]]]] * 6},
        "bent": [*[pair] * 5, [[1.0, 2.0], [3.0]]],
        "hole": [*[pair] * 4, [[1.0, 2.0], [3.0, None]], pair],
    }
    frame = pl.DataFrame(columns, schema_overrides={"empty": pl.List(pl.Float64)})
    frame.write_parquet(folder / "a.parquet")
    return "a.parquet"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (f"{Y} --draws good --draw-cols 'p*'", "--draws names lists of draws and --draw-cols a column for each d"),
        (f"{Y} --draws good --p p", "--p and --draws name predictions of different kinds; give one kind at a t"),
        (f"{Y} --draws good --level 0.9", "for the level of tests and bands use --confidence"),
        (f"{Y} --draws good --classes a,b", "--classes names the labels of --p-cols or --set-cols; leave it out"),
        (f"{Y} --draws goood", "a.parquet has no column 'goood' (--draws). Did you mean 'good'?"),
        (f"{Y} --draws 'x*'", "no column of a.parquet matches 'x*' (--draws)"),
        (f"{Y} --draws p", "column 'p' of a.parquet (--draws) contains no lists; --draws names lists of numbers,"),
        (f"{Y} --draws y", "column 'y' of a.parquet (--draws) contains no lists"),
        ("--y y,y --draws good,short", "column 'y' is named twice by --y; name it once"),
        ("--y y,z --draws good,good", "column 'good' is named twice by --draws; name it once"),
        ("--y good --draws good", "--y names 1 column of lists ('good') and --draws 1 column of lists ('good')"),
        ("--y y,z --draws good", "--y names 2 columns of numbers ('y', 'z') and --draws 1 column of lists ("),
        (f"{Y} --draws good,short", "--y names 1 column of numbers ('y') and --draws 2 columns of lists ('good', 's"),
        ("--y yz --draws good", "--y names 1 column of lists ('yz') and --draws 1 column of lists ('good'); nam"),
        ("--y yz,y --draws vectors", "--y names 2 columns of lists and numbers ('yz', 'y')"),
        (f"{Y} --draws good,vectors", "--draws 2 columns of lists and lists of lists ('good', 'vectors')"),
        (f"{Y} --draws deep", "--draws 1 column of lists of lists"),
        ("--y bent --draws vectors", "--y names 1 column of lists of lists ('bent') and --draws 1 column"),
        ("--y y --draws vectors", "the number of coordinates must be that of the draws, 2; --y has 1 ('y')"),
        ("--y y,z,p --draws vectors", "that of the draws, 2; --y has 3 ('y', 'z', 'p')"),
        ("--y good --draws vectors", "that of the draws, 2; --y has 3 ('good')"),
        ("--y y,z --draw-cols 'p*'", "--draw-cols names the draws of one number, and --y 'y,z' is a vector; name"),
        (f"{Y} --draw-cols p,p", "column 'p' is named twice by --draw-cols; name it once"),
        (f"{Y} --draw-cols y,p", "column 'y' is named by --y and by --draw-cols 'y,p'; name a different one"),
        (f"{Y} --draw-cols word", "column 'word' of a.parquet must contain numbers; row 0 (counted from 0) is the"),
        ("--y word --draws good", "column 'word' of a.parquet must contain numbers; row 0"),
        (f"{Y} --draws good --log-density good", "are compared with each other; give both"),
        (f"{Y} --draws good --log-density-y z", "are compared with each other; give both"),
        (f"{Y} --p p --log-density-y z", "--log-density-y is about draws (--draws, --draw-cols); leave it out"),
        (f"{Y} --draws good --covariates z,z", "column 'z' is named twice by --covariates 'z,z'; name it once"),
        (f"{Y} --draws good --covariates y", "column 'y' is named by --y and by --covariates; name a different"),
        (f"{Y} --draws good --covariates short", "column 'short' of a.parquet must contain numbers, texts or truth"),
    ],
)
def test_what_does_not_fit(refused, made, options, sentence):
    assert sentence in refused("audit", made, options)


OF = "column {!r} of a.parquet "
LENGTHS, DENSITIES = "must contain lists of one length; ", f"{Y} --draws good --log-density "
NO_LISTS = "must contain lists of numbers; it contains "
LISTS = {
    f"{Y} --draws ragged": (OF, "ragged", f"{LENGTHS}row 0 has 3 draws and row 4 has 2 (counted from 0)"),
    f"{Y} --draws empty": (OF, "empty", "contains empty lists; there must be at least one draw"),
    f"{Y} --draws gap": (OF, "gap", "has no value in row 2, draw 1 (counted from 0), and 1 more are missing. Repair"),
    f"{Y} --draws nan": (OF, "nan", "has no value in row 5, draw 2 (counted from 0), and 0 more are missing"),
    f"{Y} --draws null": (OF, "null", "has no value in 1 of 6 rows, the first of them row 3 (counted from 0). Repair"),
    f"{Y} --draws text": (OF, "text", f"{NO_LISTS}List(String). Name another column"),
    "--y yz --draws bent": (OF, "bent", f"{LENGTHS}row 0, draw 0 has 2 coordinates and row 5, draw 1 has 1"),
    "--y yz --draws hole": (OF, "hole", "has no value in row 4, draw 1, coordinate 1 (counted from 0)"),
    f"{DENSITIES} p --log-density-y z": (OF, "p", f"{NO_LISTS}Float64. Name another column"),
    f"{DENSITIES} gap --log-density-y z": (OF, "gap", "has no value in row 2, draw 1"),
    f"{DENSITIES} short --log-density-y z": ("", "", "log_density, the joint density, must have one value per"),
    f"{DENSITIES} good --log-density-y word": (OF, "word", "must contain numbers"),
    f"{DENSITIES} nothing --log-density-y z": ("", "", "a.parquet has no column 'nothing' (--log-density)"),
    f"{Y} --draws ragged --where 'y >= 2'": (OF, "ragged", LENGTHS),
}


@pytest.mark.parametrize("options", LISTS)
def test_lists_that_are_none(refused, made, options):
    of, column, sentence = LISTS[options]
    message = refused("audit", made, options)
    assert message.startswith(of.format(column) + sentence)
    assert ("among the rows that --where keeps" in message) == ("--where" in options)


def test_lists_of_outcomes_are_checked_too(refused, folder, require):
    columns = {"y": [[1.0, 2.0], [1.0]], "draws": [[[1.0, 2.0]] * 3] * 2}
    require("polars").DataFrame(columns).write_parquet(folder / "a.parquet")
    assert refused("audit", "a.parquet", Y, "--draws draws") == (
        "column 'y' of a.parquet must contain lists of one length; row 0 has 2 coordinates and row 1 has 1 "
        "(counted from 0)"
    )


def test_names_that_contradict_the_order(refused, folder, require):
    lists = [[1.0, 2.0, 3.0]] * 4
    columns = {"t_a": np.arange(4.0), "t_b": np.arange(4.0), "d_b": lists, "d_a": lists}
    require("polars").DataFrame(columns).write_parquet(folder / "a.parquet")
    assert refused("audit", "a.parquet", "--y 't_*' --draws 'd_*'") == (
        "the columns are paired in their order, t_a is 'd_b', t_b is 'd_a', and their names say otherwise; "
        "give --y and --draws in the same order, with commas between"
    )


def test_lists_in_a_csv_are_texts(refused, folder):
    (folder / "a.csv").write_text('y,draws\n1.0,"[1, 2]"\n2.0,"[2, 3]"\n')
    message = refused("audit", "a.csv", Y, "--draws draws")
    assert "(--draws) contains no lists" in message
    assert "CSV has no lists: use Parquet, NDJSON or NPZ" in message


def test_arrays_of_different_lengths(refused, folder):
    for y, draws, rows in (
        (np.arange(5.0), np.zeros((4, 9)), "4 rows of 'draws' and 5 of 'y'"),
        (np.zeros((5, 2)), np.zeros((9, 5, 2)), "5 rows of 'y' and 9 of 'draws'"),
    ):
        np.savez(folder / "a.npz", y=y, draws=draws)
        sentence = f"a.npz has {rows}; save arrays of one length, rows first"
        assert refused("audit", "a.npz", Y, "--draws draws") == sentence


def test_coordinates_with_different_numbers_of_draws(refused, made):
    told, sentence = refused("audit", made, "--y y,z --draws good,short", lines=2).split("\n")
    assert told == "draws: good are of y, short are of z"
    assert sentence == (
        "calibrant: all coordinates must have the same number of draws; 'good' has 3 and 'short' 2 "
        "(in a.parquet, y is column 'y, z', prediction is 'good,short')"
    )


def test_given_twice(refused):
    assert refused("audit", "a.npz", "--draws a --draws b").startswith(
        "--draws is given twice; for vectors write --draws a,b, one for each column of --y. See calibrant audit --help"
    )


def test_missing_lists_left_out_and_patterns_of_other_kinds(run, folder, made):
    """Patterns of other kinds do not stand for whole arrays."""
    assert run("audit", made, Y, "--draws null --where 'null is not null'").code == 0
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    np.savez(folder / "a.npz", y=np.arange(50) % 3, P=P)
    assert run("audit", "a.npz", "--y y --p-cols 'P*'").code == 0
