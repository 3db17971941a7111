"""A real cluster, two executors in processes of their own, gives what the verbs give for arrays.

All tests of Spark are in this file, so that one process of pytest starts one cluster.
"""

import os
import shutil
import socket
import sys
import warnings
from datetime import datetime
from decimal import Decimal
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cb
import calibrant.spark as on_spark
from calibrant import Intervals, Quantiles, Samples
from calibrant.core import dispatch
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.engines.jobs import Summarizing
from calibrant.errors import CalibrantError, InputError, MissingExtraError, NotApplicableError
from calibrant.inputs.columns import NamedColumns, from_columns
from calibrant.spark import partitions
from calibrant.spark.partitions import SentPart, merged, tables
from calibrant.testing.data import numbers

pytestmark = [pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")]
N = 700
PORT = "spark.connect.grpc.binding.port"


@pytest.fixture(scope="module")
def pyspark(require):
    """Return PySpark where there is a Java to run it; nothing is skipped in CI."""
    found = require("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Java, and nothing is skipped in CI")
        pytest.skip("there is no Java")
    return found


@pytest.fixture(scope="module")
def spark(pyspark, tmp_path_factory):
    """Return a session of a cluster with two executors, and end its Java with the tests."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    for item in Path(pyspark.__file__).parent.iterdir():  # a cluster writes to its home, which is not ours
        (home / item.name).symlink_to(item)
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # nothing runs so long that a better compiler pays
    wanted = {
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.extraJavaOptions": quick,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.files.openCostInBytes": "1g",  # a file is a partition
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        PORT: str(_free_port()),
    }
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**python, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}.items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("calibrant")
        for name, value in wanted.items():
            builder = builder.config(name, value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            session = builder.getOrCreate()
        yield session
        gateway = SparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def data():
    """Return columns of everything that can be judged."""
    rng = np.random.default_rng(8)
    p = rng.random(N)
    P = rng.dirichlet(np.ones(3), N)
    label = np.array([rng.choice(3, p=row) for row in P])
    mean, std = rng.normal(size=N), rng.uniform(0.5, 2, N)
    z = rng.normal(mean, std)
    return {
        **{"y": (rng.random(N) < p).astype(np.int64), "p": p, "p32": p.astype(np.float32)},
        **{"P0": P[:, 0], "P1": P[:, 1], "P2": P[:, 2], "probabilities": P},
        **{"label": label, "text": np.array(["red", "green", "blue"], dtype=object)[label]},
        **{"mean": mean, "std": std, "z": z, "low": mean - std, "high": mean + std},
        **{"low2": mean - 2 * std, "high2": mean + 2 * std},
        "draws": rng.normal(mean[:, None], std[:, None], (N, 20)),
        "w": rng.exponential(size=N) * (rng.random(N) < 0.9),
        "group": np.array(["north", "south"], dtype=object)[rng.integers(0, 2, N)],
    }


@pytest.fixture(scope="module")
def table(data, pyspark):
    """Return the columns as an Arrow table."""
    import pyarrow as pa

    plain = {name: column if column.ndim == 1 else column.tolist() for name, column in data.items()}
    found = pa.table(plain)
    decimal = pa.array([Decimal(round(value * 1000)) / 1000 for value in data["p"]], pa.decimal128(10, 3))
    return found.append_column("decimal", decimal).append_column("event", pa.array(data["y"] == 1))


@pytest.fixture(scope="module")
def cut(table, tmp_path_factory):
    """Return a function that writes the table to so many files, two of several without rows, and names the folder."""
    import pyarrow.parquet as pq

    known = {}

    def folder(parts):
        if parts not in known:
            known[parts] = tmp_path_factory.mktemp(f"parts_{parts}")
            full = parts - 2 if parts > 2 else parts
            edges = np.linspace(0, 1, full + 1) ** 1.5 * N  # parts of different sizes
            for k, (start, stop) in enumerate(zip(edges[:-1].astype(int), edges[1:].astype(int), strict=True)):
                pq.write_table(table.slice(start, stop - start), known[parts] / f"part_{k}.parquet")
            for k in range(full, parts):
                pq.write_table(table.slice(0, 0), known[parts] / f"part_{k}.parquet")
        return str(known[parts])

    return folder


@pytest.fixture(scope="module")
def frames(spark, cut):
    return lambda parts: spark.read.parquet(cut(parts))


@pytest.fixture(scope="module")
def halves(spark):
    """Return a function that makes a frame of two partitions from numbers, a half of the rows in each."""

    def made(**columns):
        told = {name: ", ".join("NULL" if v is None else f"{v!r}D" for v in values) for name, values in columns.items()}
        rows = len(next(iter(columns.values())))
        return spark.range(0, rows, 1, 2).selectExpr(*(f"array({v})[int(id)] AS {k}" for k, v in told.items()))

    return made


@pytest.fixture(scope="module")
def few(spark):
    """Return a function that makes a small frame of one partition from columns."""
    import pyarrow as pa

    return lambda **columns: spark.createDataFrame(pa.table(columns)).coalesce(1)


CURVE = partial(cb.reliability_curve, bins=5)
BINARY = ["brier_score", "log_score", partial(cb.ece, bins=10), "spiegelhalter_test", CURVE]
SORTED = ["kuiper_test", partial(cb.ece, bins=7, strategy="mass"), "mmce"]
CLASSES = ["brier_score", "log_score", partial(cb.ece, bins=10, notion="classwise")]
ONE, TWO = (Intervals, "low", "high"), (Intervals, ["low", "low2"], ["high", "high2"])
KINDS = {
    "binary": (BINARY, "y", "p", {}),
    "binary, sorted": (SORTED, "y", "p", {"exact": True}),
    "weights": ([BINARY[0], BINARY[2]], "y", "p", {"weights": "w"}),
    "float32": ([BINARY[0], BINARY[2]], "y", "p32", {}),
    "float32, sorted": (["mmce"], "event", "p32", {"exact": True}),
    "columns of classes": (CLASSES, "label", ["P0", "P1", "P2"], {}),
    "array of classes": (CLASSES, "label", "probabilities", {}),
    "text": (CLASSES[:1], "text", ["P0", "P1", "P2"], {"classes": ["red", "green", "blue"]}),
    "event": ([partial(cb.ece, bins=10)], "text", "P1", {"pos_label": "green"}),
    "interval": (["coverage", "width", "interval_score"], "z", from_columns(*ONE, level=0.68), {}),
    "weighted intervals": (["coverage", "width"], "z", from_columns(*TWO, level=[0.68, 0.95]), {"weights": "w"}),
    "tested intervals": (["coverage_test", "coverage"], "z", from_columns(*ONE, level=0.68), {"exact": True}),
    "quantiles": (["coverage", "quantile_score"], "z", from_columns(Quantiles, ["low", "high"], [0.16, 0.84]), {}),
    "draws": (["crps", "sharpness"], "z", from_columns(Samples, "draws"), {}),
    "law": (["crps", "log_score"], "z", from_columns(cb.Normal, mean="mean", std="std"), {}),
}


def _given(data, prediction):
    """Return a prediction of names as one of arrays."""
    if isinstance(prediction, str):
        return data[prediction]
    if isinstance(prediction, list):
        return np.column_stack([data[name] for name in prediction])
    return prediction.of(data.__getitem__)


def _asked(verb):
    return (verb.func, verb.keywords) if isinstance(verb, partial) else (getattr(cb, verb), {})


@pytest.mark.parametrize(("kind", "parts"), [*((kind, 5) for kind in KINDS), ("binary", 1), ("draws", 1)])
def test_same_as_arrays(data, frames, kind, parts):
    verbs, y, prediction, options = KINDS[kind]
    found = on_spark.measure(verbs, frames(parts), y=y, prediction=prediction, **options)
    given = {name: data[value] if name == "weights" else value for name, value in options.items() if name != "exact"}
    outcome = data["y"] if y == "event" else data[y]
    assert len(found) == len(verbs)
    for verb, measured in zip(verbs, found.values(), strict=True):
        function, own = _asked(verb)
        before = () if function in (cb.width, cb.sharpness) else (outcome,)
        expected = function(*before, _given(data, prediction), **given, **own)
        np.testing.assert_allclose(numbers(measured.value), numbers(expected), rtol=1e-12, atol=1e-12)
        assert isinstance(measured.rounding, dict) or measured.rounding == 0.0


@pytest.mark.parametrize("options", [{"exact": True}, {"exact": True, "weights": "w", "groups": "group"}])
def test_audit(data, frames, options):
    found = on_spark.audit(frames(5), y="y", prediction="p", resamples=99, **options)
    given = {name: data[value] for name, value in options.items() if name != "exact"}
    expected = cb.audit(data["y"], data["p"], resamples=99, **given)
    for name in ("value", "pvalue", "expected"):
        assert found.table["name"] == expected.table["name"]
        told = [np.nan if value is None else value for value in found.table[name]]
        np.testing.assert_allclose(told, [np.nan if v is None else v for v in expected.table[name]], rtol=1e-9)


def test_audit_with_covariates(data, frames, few, refusal):
    names = ["mean", "text", "w"]
    given = {"part": 0.5, "tolerance": 0.05, "resamples": 19}
    found = on_spark.audit(frames(5), y="y", prediction="p", covariates=names, **given)
    expected = cb.audit(data["y"], data["p"], covariates={name: data[name] for name in names}, **given)
    assert found.verdict.lines == expected.verdict.lines
    claims = [claim for claim in found.verdict.claims if claim.subject.kind == "parts"]
    for mine, theirs in zip(claims, [c for c in expected.verdict.claims if c.subject.kind == "parts"], strict=True):
        assert mine.high == pytest.approx(theirs.high, rel=1e-9)
    gap = few(y=[0, 1], p=[0.5, 0.5], x=[1.0, None])
    said = refusal(on_spark.audit, gap, y="y", prediction="p", covariates="x")
    assert "partition 0: column 'x' must not have missing values; row 1 is null" in said


def test_cells_state_their_rounding(data, frames):
    found = on_spark.measure("kuiper_test", frames(5), y="y", prediction="p")["kuiper_test"]
    bound = found.rounding["statistic"] if isinstance(found.rounding, dict) else found.rounding
    assert 0 < bound < 0.1
    assert abs(found.value.statistic - cb.kuiper_test(data["y"], data["p"]).statistic) <= bound


def test_audit_of_cells_and_groups(frames):
    options = {"classes": ["red", "green", "blue"], "groups": ["group"], "resamples": 99}
    found = on_spark.audit(frames(5), y="text", prediction=["P0", "P1", "P2"], **options)
    assert found.findings.n == N
    assert found.verdict.status
    assert "north" in str(found)


def test_a_missing_group_is_a_group(few):
    rng = np.random.default_rng(3)
    p = rng.random(300)
    columns = {"y": (rng.random(300) < p).astype(int), "p": p}
    whole, text = [1, 2, None] * 100, ["north", None, "south"] * 100
    options = {"groups": ["whole", "text"], "resamples": 19, "names": {"outcome": "rain"}}
    found = on_spark.audit(few(**columns, whole=whole, text=text), y="y", prediction="p", **options)
    assert "rain" in str(found.findings)
    for group in ("whole = 1", "whole = 2", "whole = (missing)", "text = north", "text = south", "text = (missing)"):
        assert group in str(found.findings)


def test_decimals_as_groups_are_not_rounded(spark):
    """As float64 the first two would be one group."""
    labels = [Decimal("9007199254740993"), Decimal("9007199254740992"), Decimal("1.50")] * 4
    rows = [(float(k % 2), 0.0, 0.5 + k % 3, label) for k, label in enumerate(labels)]
    frame = spark.createDataFrame(rows, "y double, low double, high double, account decimal(20, 2)")
    bounds = from_columns(Intervals, "low", "high", level=0.5)
    found = on_spark.measure("coverage_gap", frame, y="y", prediction=bounds, groups="account")["coverage_gap"]
    y, low, high, account = (list(column) for column in zip(*rows, strict=True))
    whole = cb.coverage_gap(y, Intervals(low, high, 0.5), groups=account)
    assert found.value == pytest.approx(whole)
    assert whole != cb.coverage_gap(y, Intervals(low, high, 0.5), groups=[float(label) for label in account])


def test_decimals_become_numbers(data, frames):
    found = on_spark.measure(["brier_score", "log_score"], frames(1), y="y", prediction="decimal")
    p = data["p"].round(3)
    assert found["brier_score"].value == pytest.approx(cb.brier_score(data["y"], p), rel=1e-12)
    assert found["log_score"].value == pytest.approx(cb.log_score(data["y"], p), rel=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_the_same_partitions_give_the_same_bits(frames, exact):
    verbs = ["log_score", "ece", "mmce"] if exact else ["log_score", "ece"]
    first, second = (on_spark.measure(verbs, frames(5), y="y", prediction="p", weights="w", exact=exact) for _ in "ab")
    assert first == second


@pytest.mark.parametrize("verb", ["log_score", "mmce"])
def test_workers_merge(spark, verb):
    """More partitions than a worker merges at once: two levels of merges on workers, then one on the driver."""
    frame = spark.range(0, 90, 1, 9).selectExpr("id % 2 AS y", "(id % 31 + 1) / 33D AS p")
    i = np.arange(90)
    y, p = i % 2, (i % 31 + 1) / 33
    job = Summarizing(verb)
    total = job.finish(partitions.total(job, NamedColumns.read("y", "p"), frame, fan_in=2))
    expected = reduce(add, _in_tree([cb.summarize(verb, y[k : k + 10], p[k : k + 10]) for k in range(0, 90, 10)]))
    assert total == expected
    assert getattr(cb, verb)(total) == pytest.approx(getattr(cb, verb)(y, p), rel=1e-12)


def _in_tree(parts):
    """Return the sums of four parts each, made in pairs, as the cluster does."""
    for _ in range(2):
        parts = [reduce(add, parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts


def test_order_is_kept(spark):
    """A test of independence sees the hits in the order of partitions and rows."""
    i = np.arange(300)
    z = np.floor(np.sqrt(i)) % 2
    frame = spark.range(0, 300, 1, 5).selectExpr("floor(sqrt(id)) % 2 AS z", "0.5D AS low", "1.5D AS high")
    options = {"method": "independence", "null": "asymptotic"}
    columns = from_columns(*ONE, level=0.68)
    total = on_spark.summarize("christoffersen_test", frame, y="z", prediction=columns, **options)
    expected = cb.regions.christoffersen_test(z, Intervals(np.full(300, 0.5), np.full(300, 1.5), 0.68), **options)
    np.testing.assert_array_equal(numbers(cb.regions.christoffersen_test(total, **options)), numbers(expected))


def test_ranks(data, frames):
    total = on_spark.summarize(cb.ranks, frames(5), y="z", prediction=from_columns(Samples, "draws"))
    assert total == cb.summarize(cb.ranks, data["z"], Samples(data["draws"]))


def test_names_with_dots(few):
    frame = few(**{"the.y": [0, 1, 1], "a `score`": [0.2, 0.6, 0.9]})
    found = on_spark.measure(["brier_score"], frame, y="the.y", prediction="a `score`")
    assert found["brier_score"].value == pytest.approx(cb.brier_score([0, 1, 1], [0.2, 0.6, 0.9]), rel=1e-12)


def test_partitions_of_weight_zero(halves, refusal):
    frame = halves(y=[0, 1, 1, 1], p=[0.2, 0.6, 0.7, 0.9], w=[0.0, 0.0, 1.0, 3.0])
    found = on_spark.measure("brier_score", frame, y="y", prediction="p", weights="w")
    assert found["brier_score"].value == pytest.approx((0.3**2 + 3 * 0.1**2) / 4, rel=1e-12)
    words = refusal(on_spark.measure, "ece", frame.where("w = 0"), y="y", prediction="p", weights="w")
    assert "all weights in 'w' are 0" in words


def test_bad_rows_are_told_in_their_own_words(halves, refusal):
    def asked(verb="ece", **columns):
        frame = halves(**{"y": [0, 1, 0, 1], "p": [0.2, 0.6, 0.5, 0.5], **columns})
        return refusal(on_spark.measure, verb, frame, y="y", prediction="p")

    words = asked(p=[0.2, 0.6, 0.5, 1.5])
    assert words.startswith("partition 1: prediction must lie in [0, 1]; row 1 is 1.5")
    assert asked("brier_score", p=[0.2, 0.6, 0.5, 1.5]) == words  # also where Spark could have answered alone
    expected = "partition 1: column 'p' must not have missing values; row 1 is null. Drop such rows"
    assert asked(p=[0.2, 0.6, 0.5, None]) == expected
    assert "partition 0: y must be 0 and 1; row 0 is 7" in asked(y=[7, 1, 5, 0])


def test_refusals_of_a_kind(few, frames, refusal):
    frame = frames(5)
    assert "expected a verb" in refusal(on_spark.measure, "kuiper_test_", frame, y="y", prediction="p")
    words = refusal(on_spark.measure, "mmce", frame, y="y", prediction="p", error=NotApplicableError)
    assert words.startswith("partition 0: ")
    assert "exact=True" in words
    nothing = few(y=[0], p=[0.5]).where("p > 1")
    assert "there are no rows" in refusal(on_spark.measure, "ece", nothing, y="y", prediction="p")
    assert "there are no rows" in refusal(on_spark.audit, nothing, y="y", prediction="p")
    nulls = few(y=[0.0], draws=[[0.5, None]])
    words = refusal(on_spark.measure, "crps", nulls, y="y", prediction=from_columns(Samples, "draws"))
    assert "column 'draws' must not have missing values" in words


def test_refusals_before_anything_runs(spark, few, refuses, refusal):
    frame = few(y=[0], p=[0.5], when=[datetime(2026, 1, 1)], b=[b"x"])
    stream = spark.readStream.format("rate").load().selectExpr("value AS y", "0.5D AS p")
    cases = [
        (frame, "y", "pp", "the frame has no column 'pp'. Its columns are 'y', 'p'"),
        (frame, "when", "p", "column 'when' is of Spark's type timestamp"),
        (frame, "b", "p", "column 'b' is of Spark's type binary"),
        (frame.select("y", "p", "p"), "y", "p", "has 2 columns 'p'"),
        (frame.selectExpr("y", "p", "p AS P"), "y", "p", "one name to Spark"),
        ({"y": [0]}, "y", "p", "must be a pyspark.sql.DataFrame"),
        (stream, "y", "p", "is a stream"),
    ]
    refuses(lambda data, y, prediction: on_spark.measure("ece", data, y=y, prediction=prediction), cases)
    assert "has no option" in refusal(on_spark.summarize, "ece", frame, y="y", prediction="p", n_bins=3)


def test_missing_libraries(monkeypatch, require):
    require("pyarrow")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.sql", None)
        with pytest.raises(MissingExtraError, match=r"calibrant\[spark\]"):
            on_spark.measure("ece", None, y="y", prediction="p")

    class Plan:
        def collect(self):
            raise RuntimeError("PythonException: ModuleNotFoundError: No module named 'calibrant'")

    with pytest.raises(CalibrantError, match=r"the Python of Spark's executors has no calibrant.*PYSPARK_PYTHON"):
        partitions._collected(Plan())


def test_spark_connect(data, spark, cut, require):
    """The same through a client that has no Java."""
    require("grpc")
    from pyspark.sql.connect.session import SparkSession

    client = SparkSession.builder.remote(f"sc://127.0.0.1:{spark.conf.get(PORT)}").create()
    try:
        frame = client.read.parquet(cut(5))
        verbs = ["brier_score", partial(cb.ece, bins=10)]
        found = on_spark.measure(verbs, frame, y="y", prediction="p", weights="w")
        assert found == on_spark.measure(verbs, spark.read.parquet(cut(5)), y="y", prediction="p", weights="w")
        alone = on_spark.measure("brier_score", frame, y="y", prediction="p")["brier_score"].value
        assert alone == pytest.approx(cb.brier_score(data["y"], data["p"]), rel=1e-12)
        with pytest.raises(InputError, match=r"^partition 0: column 'y' must not have missing values"):
            on_spark.measure("ece", frame.selectExpr("NULLIF(y, 1) AS y", "p"), y="y", prediction="p")
    finally:
        client.stop()


@pytest.mark.parametrize("many", [1, 4, 10, 12])
def test_tables_do_not_depend_on_the_batches_of_spark(require, many):
    pa = require("pyarrow")
    columns = {"x": list(range(12)), "group": ["a", None, "b"] * 4, "P": [[0.25, 0.75]] * 12}
    schema = pa.table(columns).schema
    parts = ({name: column[k : k + many] for name, column in columns.items()} for k in range(0, 12, many))
    batches = [pa.record_batch(part, schema=schema) for part in parts]
    found = list(tables(iter(batches), rows=5))
    cut = [(start, part.column("x").to_pylist()) for start, part in found]
    assert cut == [(0, [0, 1, 2, 3, 4]), (5, [5, 6, 7, 8, 9]), (10, [10, 11])]
    row = pa.record_batch({name: column[:1] for name, column in columns.items()}).nbytes
    for rows in (1, 3, 7):  # as many as fit, at least one
        assert [start for start, _ in tables(iter(batches), size=rows * row)] == list(range(0, 12, rows))
    assert len(list(tables(iter(batches), size=1))) == 12
    empty, full = pa.record_batch({"x": pa.array([], pa.int64())}), pa.record_batch({"x": [1, 2]})
    assert list(tables(iter([empty, empty]))) == []
    ((start, table),) = tables(iter([empty, full, empty]))
    assert (start, table.num_rows) == (0, 2)


def test_rows_of_a_partition_that_is_large_are_counted_by_compiled_code(require, monkeypatch):
    """The number of rows so far decides; that of all is not known."""
    pa = require("pyarrow")
    monkeypatch.setattr(dispatch, "FAST_ROWS", 7)
    monkeypatch.setattr(dispatch, "has_numba", lambda: True)
    monkeypatch.setattr(partitions, "tables", partial(tables, rows=4))
    seen = []

    class Looking(Summarizing):
        def part(self, batch):
            seen.append((len(batch.y), batch.number, dispatch.takes_fast_body(len(batch.y))))
            return cb.summarize(self.verb, batch.y, batch.prediction)

    batches = iter([pa.record_batch({"column_0": [0, 1] * 5, "column_1": [0.5] * 10})])
    total = partitions._total(Looking("brier_score"), NamedColumns.read("y", "p"), batches, 0)
    assert total.n == 10
    assert seen == [(4, 0, False), (4, 1, True), (2, 2, True)]


def test_the_first_refusal_and_summaries_that_do_not_merge_are_told():
    refused = [SentPart(5, 0, "InputError", "b", None), SentPart(4, 0, "SummaryError", "a", None)]
    assert merged(sorted([SentPart(3, 0, None, None, b""), *refused]), 10).words == "a"
    found = merged([SentPart.of(k, kind.zero(), 10) for k, kind in enumerate((Grid, Ordered))], 10)
    assert found.error == "SummaryError"
    assert found.words.startswith("partitions 0 and later: ")


def test_contract(contract, spark):
    """Every verb of the catalogue gives the same numbers on a cluster as on arrays."""
    frame = spark.createDataFrame(pd.DataFrame(contract.table))  # its partitions keep the order of rows
    names = {"y": contract.y, "prediction": contract.prediction, "groups": contract.groups}
    contract.check(on_spark.measure(contract.verbs, frame, **names, exact=True))


def test_a_map_is_applied_on_partitions(spark, data):
    """`apply` is a pure function of the row: a function of pandas columns is all that Spark needs."""
    from pyspark.sql.functions import pandas_udf

    remedy = cb.recalibrate(data["y"], data["p"], method="beta")

    @pandas_udf("double")
    def better(p: pd.Series) -> pd.Series:
        return pd.Series(remedy.apply(p))

    rows = spark.createDataFrame(pd.DataFrame({"row": np.arange(N), "p": data["p"]})).repartition(3)
    found = rows.withColumn("better", better("p"))
    assert found.columns == ["row", "p", "better"]
    by_row = {row["row"]: row["better"] for row in found.collect()}
    np.testing.assert_array_equal([by_row[i] for i in range(N)], remedy.apply(data["p"]))
    assert rows.where("p > 2").withColumn("better", better("p")).collect() == []
