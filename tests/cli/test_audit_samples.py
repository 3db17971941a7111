"""`calibrant audit` and what follows it, for draws: the numbers of the library, from every kind of file."""

from importlib.resources import files

import numpy as np
import pytest

import calibrant as cb
from calibrant import report

N, M = 60, 19
RNG = np.random.default_rng(12)
CENTRE = RNG.normal(size=(N, 2))
DRAWS = (CENTRE[:, None] + 0.6 * RNG.normal(size=(N, M, 2))).astype(np.float32)
Y = (CENTRE + RNG.normal(size=(N, 2))).astype(np.float32)
LEAD = np.array(["day", "week"])[np.arange(N) % 2]


def as_written(array):
    """Return the numbers that a text file tells: the shortest ones that are these in single precision."""
    return np.array([float(str(value)) for value in array.ravel()]).reshape(array.shape)


@pytest.fixture
def frame(require):
    """Return a frame with two outcomes, lists of their draws, lists of vectors, and a column for each draw."""
    pl = require("polars")
    columns = {"a": Y[:, 0], "b": Y[:, 1], "both": Y.tolist(), "da": DRAWS[..., 0].tolist()}
    columns |= {"db": DRAWS[..., 1].tolist(), "vectors": DRAWS.tolist(), "lead": LEAD.tolist()}
    columns |= {f"member_{j}": DRAWS[:, j, 0] for j in range(M)}
    single = pl.Float32
    types = {"both": pl.List(single), "da": pl.List(single), "db": pl.List(single), "vectors": pl.List(pl.List(single))}
    return pl.DataFrame(columns, schema_overrides=types)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ndjson"])
def test_lists(run, folder, frame, ending):
    writers = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "ndjson": frame.write_ndjson}
    writers[ending](folder / f"a.{ending}")
    done = run("audit", f"a.{ending}", "--y a --draws da --by lead --json")
    assert done.err == ""
    y, draws = (as_written(Y), as_written(DRAWS)) if ending == "ndjson" else (Y, DRAWS)
    assert done.is_audit(cb.audit(y[:, 0], cb.Samples(draws[..., 0]), groups={"lead": LEAD}))
    names = {"source": f"a.{ending}", "outcome": "a", "prediction": "da", "groups": "lead", "made": "2024-05-01"}
    assert done.results["names"] == names


@pytest.mark.parametrize(
    ("options", "coordinates", "told"),
    [
        ("--y a,b --draws da,db", "a, b", "calibrant: draws: da are of a, db are of b\n"),
        ("--y '[ab]' --draws 'd[ab]'", "a, b", ""),
        ("--y a,b --draws vectors", "a, b", ""),
        ("--y both --draws vectors", "both_0, both_1", ""),
    ],
)
def test_vectors(run, folder, frame, options, coordinates, told):
    frame.write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", options, "--json")
    assert done.err == told
    assert done.is_audit(cb.audit(Y, cb.Samples(DRAWS), columns=coordinates.split(", ")))
    assert done.results["names"]["coordinates"] == coordinates


def test_vectors_of_one_coordinate(run, folder):
    np.savez(folder / "a.npz", y=Y[:, 0], z=Y[:, :1], draws=DRAWS[..., :1])
    for y in ("y", "z"):
        expected = cb.audit(Y[:, :1], cb.Samples(DRAWS[..., :1]), columns=[y])
        assert run("audit", "a.npz", "--y", y, "--draws draws --json").is_audit(expected)


def test_a_column_for_each_draw(run, folder, frame):
    frame.drop("both", "da", "db", "vectors").write_csv(folder / "a.csv")
    done = run("audit", "a.csv", "--y a --draw-cols 'member_*' --json")
    assert done.is_audit(cb.audit(as_written(Y)[:, 0], cb.Samples(as_written(DRAWS)[..., 0])))
    assert done.results["names"]["prediction"] == "member_*"


@pytest.mark.parametrize(
    ("options", "y", "draws"),
    [
        ("--y y_0 --draws first", Y[:, 0], DRAWS[..., 0]),
        ("--y y_0 --draw-cols 'first_*'", Y[:, 0], DRAWS[..., 0]),
        ("--y y --draws draws", Y, DRAWS),
        ("--y 'y_*' --draws draws", Y, DRAWS),
        ("--y 'y_*' --draws first,second", Y, DRAWS),
    ],
)
def test_arrays(run, folder, options, y, draws):
    np.savez(folder / "a.npz", y=Y, draws=DRAWS, first=DRAWS[..., 0], second=DRAWS[..., 1], note=np.array(["x"]))
    known = {"columns": ["y_0", "y_1"]} if y.ndim == 2 else {}
    assert run("audit", "a.npz", options, "--json").is_audit(cb.audit(y, cb.Samples(draws), **known))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int16])
def test_arrays_of_other_types(run, folder, dtype):
    y, draws = (10 * Y[:, 0]).astype(dtype), (10 * DRAWS[..., 0]).astype(dtype)
    y[:] = draws[:, 3] + dtype(1)
    np.savez(folder / "a.npz", y=y.astype(np.float64), draws=draws)
    done = run("audit", "a.npz", "--y y --draws draws --json")
    assert done.is_audit(cb.audit(y.astype(np.float64), cb.Samples(draws)))


def test_filter_and_covariates(run, folder, frame):
    frame.write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", "--y a --draws da --where 'lead = week' --json")
    rows = LEAD == "week"
    assert done.is_audit(cb.audit(Y[rows, 0], cb.Samples(DRAWS[rows, :, 0])))
    done = run("audit", "a.parquet", "--y a --draws da --covariates b,member_0 --by lead --json")
    x = {"b": Y[:, 1], "member_0": DRAWS[:, 0, 0]}
    assert done.is_audit(cb.audit(Y[:, 0], cb.Samples(DRAWS[..., 0]), groups={"lead": LEAD}, covariates=x))
    assert done.results["names"]["covariates"] == "b,member_0"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_categories_as_covariates(run, folder, frame, require, ending):
    pl = require("polars")
    late, y, drawn = LEAD == "week", Y.astype(np.float64), DRAWS[..., 0].astype(np.float64)
    columns = {"a": y[:, 0], "b": y[:, 1], "late": late, **{f"d{k}": drawn[:, k] for k in range(drawn.shape[1])}}
    flat = pl.DataFrame(columns).with_columns(frame["lead"].cast(pl.Categorical).alias("kind"))
    flat.write_csv(folder / "a.csv") if ending == "csv" else flat.write_parquet(folder / "a.parquet")
    options = "--y a --draw-cols 'd?*' --covariates kind,b,late --json"
    x = {"kind": LEAD, "b": y[:, 1], "late": late}
    assert run("audit", f"a.{ending}", options).is_audit(cb.audit(y[:, 0], cb.Samples(drawn), covariates=x))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (lambda n: [f"row {i}" for i in range(n)], "covariates (x) has 100 different categories in 100 rows, such as"),
        (lambda n: [*map(str, range(n - 1)), "n/a"], "column 'x' of a.csv must contain numbers; row 99 (counted"),
        (lambda n: [*["a", "b"] * (n // 2 - 1), "a", None], "column 'x' of a.csv has no value in 1 of 100 rows"),
    ],
)
def test_texts_that_are_no_categories(refused, folder, require, column, sentence):
    pl, n = require("polars"), 100
    rng = np.random.default_rng(0)
    draws = {f"d{k}": rng.normal(size=n) for k in range(5)}
    pl.DataFrame({"y": rng.normal(size=n), "x": column(n), **draws}).write_csv(folder / "a.csv")
    assert sentence in refused("audit", "a.csv", "--y y --draw-cols 'd*' --covariates x")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_log_densities(run, folder, require, ending):
    log_density, log_density_y = -(DRAWS**2).sum(axis=2), -(Y**2).sum(axis=1)
    log_density_y[3] = -np.inf
    if ending == "npz":
        np.savez(folder / "a.npz", y=Y, draws=DRAWS, q=log_density, q_y=log_density_y)
    else:
        pl = require("polars")
        columns = {"y": Y.tolist(), "draws": DRAWS.tolist(), "q": log_density.tolist(), "q_y": log_density_y}
        types = {"y": pl.List(pl.Float32), "draws": pl.List(pl.List(pl.Float32)), "q": pl.List(pl.Float32)}
        pl.DataFrame(columns, schema_overrides=types).write_parquet(folder / "a.parquet")
    options = "--y y --draws draws --log-density q --log-density-y q_y --json"
    expected = cb.audit(Y, cb.Samples(DRAWS, log_density), log_density_y=log_density_y, columns=["y_0", "y_1"])
    assert run("audit", f"a.{ending}", options).is_audit(expected)


def test_example_data(run, folder):
    """The files that ship with calibrant can be audited as they are."""
    path, weather, disease = files("calibrant.examples"), cb.examples.ensemble(), cb.examples.posterior()
    given = {"groups": {"lead": weather.lead}, "covariates": {"start": weather.start}}
    done = run("audit", str(path / "ensemble.npz"), "--y y --draws draws --by lead --covariates start --json")
    assert done.is_audit(cb.audit(weather.y, weather.prediction, **given))
    given = {"log_density_y": disease.log_density_y, "columns": ["y_0", "y_1", "y_2"]}
    options = "--y y --draws draws --log-density log_density --log-density-y log_density_y --json"
    assert run("audit", str(path / "posterior.npz"), options).is_audit(cb.audit(disease.y, disease.prediction, **given))


def test_report_check_and_compare(run, folder, frame):
    frame.write_parquet(folder / "a.parquet")
    assert run("audit", "a.parquet", "--y a --draws da -o a.html").code == 0
    assert run("audit", "a.parquet", "--y b --draws db --json b.json").code == 0
    assert report.read("a.html")["kind"] == "samples"
    done = run("check", "a.html", "--fail-if 'crps > 0.01'")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("FAILED  crps = 0.")
    done = run("check", "a.parquet", "--y a --draws da --fail-if 'crps > 10'")
    assert (done.code, done.out[:6]) == (0, "passed")
    done = run("compare", "a.html", "b.json")
    assert (done.code, done.err) == (0, "")
    assert "CRPS" in done.out
