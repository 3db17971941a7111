"""Files of points: which columns are coordinates, which arrays are points, and what is refused."""

import numpy as np
import pytest

from calibrant.cli.options import Request
from calibrant.cli.points import proposed, read_point_files
from calibrant.errors import InputError

REAL = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
FAKE = np.random.default_rng(4).normal(size=(10, 3)).astype(np.float32)
NAMES = ["x_0", "x_1", "x_2"]


@pytest.fixture
def tables(folder, require):
    """Return a function that writes frames of points, with changes made to the columns, as CSV or something else."""
    pl = require("polars")

    def written(name, values, **columns):
        frame = pl.DataFrame(values, schema=NAMES[: values.shape[1]], orient="row").with_columns(**columns)
        ending = name.rpartition(".")[2]
        writers = {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}
        (writers | {"ndjson": frame.write_ndjson})[ending](folder / name)
        return frame

    return written


def read(folder, *files, **options):
    return read_point_files([folder / name for name in files], Request(**options))


def as_written(array):
    return np.array([float(str(value)) for value in array.ravel()]).reshape(array.shape)


def check(found, columns, *expected):
    """Assert that these are the points of the files, and the names of the coordinates."""
    sets, names = found
    assert names == columns
    for points, known in zip(sets, expected, strict=True):
        np.testing.assert_array_equal(points, known)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ndjson", "csv"])
def test_tables(folder, tables, ending):
    tables(f"a.{ending}", REAL)
    tables(f"b.{ending}", FAKE)
    exact = np.asarray if ending in ("parquet", "arrow") else as_written
    check(read(folder, f"a.{ending}", f"b.{ending}"), ("x_0", "x_1", "x_2"), exact(REAL), exact(FAKE))


def test_columns_are_matched_by_name(folder, tables):
    tables("a.parquet", REAL)
    frame = tables("b.parquet", FAKE)
    frame.select("x_2", "x_0", "x_1").write_parquet(folder / "b.parquet")
    check(read(folder, "a.parquet", "b.parquet"), ("x_0", "x_1", "x_2"), REAL, FAKE)
    turned = REAL[:, [2, 0, 1]]
    check(read(folder, "b.parquet", "a.parquet"), ("x_2", "x_0", "x_1"), FAKE[:, [2, 0, 1]], turned)


@pytest.mark.parametrize(("text", "order"), [("x_*", [0, 1, 2]), ("x_[02]", [0, 2]), ("x_2,x_0", [2, 0]), ("x_1", [1])])
def test_named_columns(folder, tables, text, order):
    from polars import lit

    tables("a.csv", REAL, label=lit("real"))
    tables("b.parquet", FAKE, other=lit(1))
    names = tuple(NAMES[k] for k in order)
    check(read(folder, "a.csv", "b.parquet", columns=text), names, as_written(REAL)[:, order], FAKE[:, order])


def test_a_column_of_lists(folder, require):
    pl = require("polars")
    pl.DataFrame({"id": range(12), "embedding": REAL.tolist()}).write_parquet(folder / "a.parquet")
    pl.DataFrame({"embedding": FAKE}).write_parquet(folder / "b.parquet")  # of fixed length
    check(read(folder, "a.parquet", "b.parquet", columns="embedding"), None, REAL.astype(float), FAKE)


def test_rows_that_are_kept_and_how_a_csv_is_written(folder, tables):
    from polars import Series

    tables("a.csv", REAL, part=Series(["train", "test"] * 6))
    tables("b.csv", FAKE, part=Series(["train", "test"] * 5))
    found = read(folder, "a.csv", "b.csv", columns="x_*", where="part = test")
    check(found, tuple(NAMES), as_written(REAL)[1::2], as_written(FAKE)[1::2])
    tables("a.csv", REAL).write_csv(folder / "a.txt", separator=";", decimal_comma=True)
    sets, _ = read(folder, "a.txt", "a.txt", format="csv", delimiter=";", decimal_comma=True)
    np.testing.assert_array_equal(sets[1], as_written(REAL))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u1", ">f8"])
def test_arrays(folder, dtype):
    real, fake = (np.round(10 * np.abs(array)).astype(dtype) for array in (REAL, FAKE))
    np.save(folder / "a.npy", real)
    np.savez(folder / "b.npz", points=fake, labels=np.array(["a"] * 10), loss=np.zeros(99))
    check(read(folder, "a.npy", "b.npz"), None, real, fake)


def test_arrays_with_names(folder):
    np.savez(folder / "a.npz", y=REAL, points=FAKE)
    check(read(folder, "a.npz", "a.npz", array=("y", "points")), None, REAL, FAKE)
    np.save(folder / "b.npy", FAKE)
    check(read(folder, "b.npy", "a.npz", array=("y",)), None, FAKE, REAL)


def test_an_array_beside_a_table(folder, tables, capsys):
    tables("a.csv", REAL)
    np.save(folder / "b.npy", FAKE)
    found = read(folder, "a.csv", "b.npy", columns="x_2,x_1,x_0")
    check(found, ("x_2", "x_1", "x_0"), as_written(REAL)[:, ::-1], FAKE)
    assert capsys.readouterr().err.endswith(
        "b.npy are taken in the order of --columns: column 0 is 'x_2', column 1 is 'x_1', column 2 is 'x_0'\n"
    )


def refusal(folder, *files, **options):
    with pytest.raises(InputError) as caught:
        read(folder, *files, **options)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.fixture
def wrong(folder, tables):
    """Write files of points, each with a mistake, beside good ones."""
    import polars as pl

    tables("a.csv", REAL)
    tables("two.csv", FAKE[:, :2])
    tables("upper.csv", FAKE).rename({"x_2": "X_2"}).write_csv(folder / "upper.csv")
    tables("other.csv", FAKE).rename({name: f"y{name}" for name in NAMES}).write_csv(folder / "other.csv")
    tables("label.csv", REAL, label=pl.lit("cat"))
    tables("text.csv", REAL, x_1=pl.Series(["1.5", None, "n/a"] * 4))
    for name, value in (("null.csv", None), ("nan.csv", np.nan), ("inf.csv", np.inf)):
        tables(name, FAKE, x_1=pl.Series([0.5] * 7 + [value] + [0.5] * 2, dtype=pl.Float64))
    lists = {
        "e.parquet": REAL.tolist(),
        "ragged.parquet": [[1.0, 2.0], [1.0]],
        "gap.parquet": [[1.0, 2.0], [1.0, None]],
        "far.parquet": [[1.0, 2.0], [1.0, np.inf]],
    }
    for name, values in lists.items():
        pl.DataFrame({"e": values}).write_parquet(folder / name)
    pl.DataFrame({"text": ["a"] * 12, "e": REAL.tolist()}).write_parquet(folder / "mixed.parquet")
    pl.DataFrame({"text": ["a"] * 12}).write_parquet(folder / "texts.parquet")
    np.savez(folder / "a.npz", y=REAL, points=FAKE, w=np.zeros(3))
    np.savez(folder / "w.npz", w=np.zeros(3))
    np.save(folder / "a.npy", REAL)
    np.save(folder / "two.npy", FAKE[:, :2])
    (folder / "twice.csv").write_text("x,x\n1,2\n")
    (folder / "a.html").write_text("<html>")
    for name, rows in {"3.csv": [[3, 4], [5, 5]], "1.csv": [[1, 1], [5, 5]], "12.csv": [[1, 2], [5, 5]]}.items():
        np.savetxt(folder / name, rows, delimiter=",", fmt="%d")
    np.savetxt(folder / "float.csv", REAL, delimiter=",")


NO_VALUE = "has no value in 1 of 10 rows, the first of them row 7 (counted from 0). Repair"
HEADER = " first, where the columns should be named. If it has no header, put one above, such as x0,x1,x2, or save "
LACKING = "two.csv has no column 'x_2', which a.csv has. Name the coordinates: --columns x_0,x_1"


@pytest.mark.parametrize(
    ("files", "options", "sentence"),
    [
        # text and lists
        ("label.csv a.csv", {}, "row 0 (counted from 0) is the text 'cat'. Name the coordinates: --columns 'x_*'"),
        ("a.csv text.csv", {}, "column 'x_1' of text.csv must contain numbers; row 2 (counted from 0) is the text"),
        ("text.csv a.csv", {}, "Leave such cells empty, or name the coordinates: --columns x_0,x_2"),
        ("label.csv label.csv", {"columns": "label"}, "column 'label' of label.csv must contain numbers; row 0"),
        ("mixed.parquet mixed.parquet", {}, "'a'. Name the coordinates: --columns e"),
        ("e.parquet e.parquet", {}, "it contains values of type List(Float64). Name the coordinates: --columns e"),
        ("texts.parquet texts.parquet", {}, "Name a file with columns of numbers"),
        ("ragged.parquet e.parquet", {"columns": "e"}, "lists of one length; row 0 has 2 coordinates and row 1 has 1"),
        # columns that a file lacks, or that are named wrongly
        ("a.csv two.csv", {}, LACKING),
        ("two.csv a.csv", {}, LACKING),
        ("a.csv two.csv", {"columns": "x_*"}, "two.csv has no column 'x_2', which a.csv has"),
        ("a.csv two.csv", {"columns": "x_0,x_2"}, "two.csv has no column 'x_2' (--columns). Its columns are 'x_0',"),
        ("a.csv upper.csv", {}, "upper.csv has no column 'x_2', which a.csv has. Did you mean 'X_2'?"),
        ("a.csv other.csv", {}, "other.csv has no column 'x_0' and 2 more, which a.csv has. "),
        ("a.csv a.csv", {"columns": "z*"}, "no column of a.csv matches 'z*' (--columns)"),
        ("a.csv a.csv", {"columns": "x_3"}, "a.csv has no column 'x_3' (--columns). Its columns are 'x_0', "),
        ("a.csv a.csv", {"columns": "x_0,x_*"}, "is named twice by --columns 'x_0,x_*'"),
        ("a.csv a.csv", {"where": "age > 3"}, "has no column 'age' (--where)"),
        ("a.csv a.csv", {"where": "x_0 > 99"}, "a.csv has nothing to measure: where="),
        ("twice.csv twice.csv", {}, "twice.csv has two columns named 'x'"),
        ("a.html a.html", {}, "a.html seems to contain results, not points"),
        # a header that is none
        ("float.csv float.csv", {}, HEADER),
        ("a.csv float.csv", {}, "the first line of float.csv contains numbers, '2.0"),
        ("3.csv 1.csv", {}, "the first line of 1.csv contains numbers, '1' first"),
        ("3.csv 12.csv", {}, "the first line of 3.csv contains numbers, '3' first"),
        # values
        ("a.csv null.csv", {}, f"column 'x_1' of null.csv {NO_VALUE}"),
        ("a.csv nan.csv", {}, f"column 'x_1' of nan.csv {NO_VALUE}"),
        ("a.csv inf.csv", {}, "column 'x_1' of inf.csv must contain finite numbers; row 7 (counted from 0) is inf."),
        ("gap.parquet gap.parquet", {"columns": "e"}, "row 1, coordinate 1 (counted from 0)"),
        ("far.parquet far.parquet", {"columns": "e"}, "column 'e' of far.parquet must contain finite numbers; row 1 "),
        # arrays
        ("a.npz a.npy", {}, "'y' (12, 3), 'points' (10, 3). Say which: --array y"),
        ("a.npz a.npy", {"array": ("Points",)}, "a.npz has no array 'Points' (--array). Did you mean 'points'?"),
        ("a.npy w.npz", {}, "w.npz contains no array (n, d) of numbers; it has 'w' (3,). Save"),
        ("a.npz a.npy", {"array": ("w",)}, "array 'w' of a.npz must contain points (n, d)"),
        ("a.npz a.npz", {"array": ("y",) * 3}, "of which there are 2; give it once, or once for each"),
        ("a.npy a.npy", {"array": ("y",)}, "--array names an array of an NPZ file, and there is none"),
        ("a.npy two.npy", {}, "the same number of coordinates; a.npy has 3 and two.npy has 2"),
        ("a.csv two.npy", {"columns": "x_*"}, "a.csv has 3 and two.npy has 2"),
        ("a.npy a.npy", {"where": "a = 1"}, "--where keeps rows of tables, and a.npy contains an"),
        ("a.npy a.npy", {"columns": "a,b"}, "--columns names columns of tables, and a.npy contains an"),
        ("a.csv a.npy", {}, "say which ones they are, in the order of a.npy: --columns x_0,x_1,x_2"),
    ],
)
@pytest.mark.usefixtures("wrong")
def test_what_cannot_be_read(folder, files, options, sentence):
    assert sentence in refusal(folder, *files.split(), **options)


def test_missing_values_are_left_out(folder, wrong):
    sets, _ = read(folder, "a.csv", "null.csv", where="x_1 is not null")
    assert [len(points) for points in sets] == [12, 9]


def test_an_index_is_no_coordinate_unless_it_is_named(folder, tables):
    from polars import Series

    tables("a.csv", REAL, index=Series(range(12)))
    assert refusal(folder, "a.csv", "a.csv") == (
        "column 'index' of a.csv counts the rows, from 0 to 11. If it is not a coordinate, name the coordinates: "
        "--columns 'x_*'; if it is, name it with --columns too"
    )
    sets, _ = read(folder, "a.csv", "a.csv", columns="*")
    assert sets[0].shape == (12, 4)
    tables("a.csv", REAL, index=Series(range(1, 13)))
    assert "from 1 to 12" in refusal(folder, "a.csv", "a.csv")
    tables("a.csv", REAL, index=Series(range(12, 0, -1)))
    assert read(folder, "a.csv", "a.csv")[0][0].shape == (12, 4)


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(9), "a.npy must contain points (n, d), one row each; its shape is (9,). For points on a line save"),
        (np.float64(3), "its shape is (). Save one row for each point"),
        (np.zeros((5, 4, 3)), "its shape is (5, 4, 3). For pictures save features of them, or array.reshape(len"),
        (np.zeros((0, 3)), "a.npy has nothing to measure: its shape is (0, 3)"),
        (np.zeros((3, 0)), "a.npy has nothing to measure: its shape is (3, 0)"),
        (np.array([["a", "b"]]), "a.npy must contain numbers; it contains values of type <U1"),
        (np.zeros((3, 2), complex), "a.npy must contain numbers; it contains values of type complex128"),
        (np.zeros((3, 2), bool), "a.npy must contain numbers; it contains values of type bool"),
        (np.array([[{}, 1]], dtype=object), "a.npy cannot be read as NPY: it contains Python objects, which are not"),
        (np.array([[1, 2], [3, np.nan], [np.inf, 3]]), "row 1, column 1 (counted from 0) is nan, and 1 more are not"),
    ],
)
def test_arrays_that_are_no_points(folder, array, sentence):
    np.save(folder / "a.npy", array, allow_pickle=True)
    assert sentence in refusal(folder, "a.npy", "a.npy")


@pytest.mark.parametrize("part", [3, 40, 140])
def test_damaged_arrays(folder, part):
    np.save(folder / "a.npy", REAL)
    (folder / "b.npy").write_bytes((folder / "a.npy").read_bytes()[:part])
    assert refusal(folder, "a.npy", "b.npy").startswith("b.npy cannot be read as NPY: ")
    (folder / "c.npz").write_bytes((folder / "a.npy").read_bytes())
    assert refusal(folder, "a.npy", "c.npz") == "c.npz cannot be read as NPZ: it is NPY, one array without a name"


def test_numbers_may_be_names(folder):
    (folder / "a.csv").write_text("1998,1999\n1.5,2\n3,4.5\n")
    (folder / "b.csv").write_text("1999,1998\n2.5,7\n4,5.5\n")
    check(read(folder, "a.csv", "b.csv"), ("1998", "1999"), [[1.5, 2], [3, 4.5]], [[7.0, 2.5], [5.5, 4.0]])


def test_proposals():
    for names, others, option in [
        (["a"], ["b"], "--columns a"),
        (["a b", "c,d"], ["e"], "--columns 'a b,\"c,d\"'"),
        (["x[0]", "x[1]", "x[2]"], ["id"], "--columns 'x[[]*'"),
        (["x_0", "x_1", "x_3"], ["x_2"], "--columns x_0,x_1,x_3"),
        (["it's"], [], "--columns 'it'\"'\"'s'"),
    ]:
        assert proposed(names, sorted(names + others)) == option
    names = [f"{chr(97 + k % 26)}{k}" for k in range(40)]
    assert proposed(names, names).endswith("a26,b27,c28,d29 and 10 more")
