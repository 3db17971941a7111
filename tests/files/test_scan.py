"""Files of any size: the same numbers as the rows themselves, and the same bits every time."""

import functools
import re
import sys

import numpy as np
import pytest

from calibrant import audit, brier_score, ece, kuiper_test, log_score, mmce, spiegelhalter_test
from calibrant.engines.jobs import Measured
from calibrant.engines.merging import Merging
from calibrant.errors import InputError, MissingExtraError, NotApplicableError
from calibrant.files import reading
from calibrant.files.scan import Scan, scan
from calibrant.inputs.columns import NamedColumns
from calibrant.summaries import fold


def binary(path, **options):
    return scan(path, y="y", prediction="p", **options)


@pytest.fixture
def compiled(monkeypatch):
    """Take the compiled loops for few rows too."""
    from calibrant.core import dispatch

    monkeypatch.setattr(dispatch, "FAST_ROWS", 1)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow", "ndjson", "npz"])
def test_the_same_numbers_as_the_rows(small_batches, tmp_path, columns, write, suffix):
    for k, start in enumerate(range(0, 1000, 300)):
        rows, path = slice(start, start + 300), tmp_path / f"part-{k}.{suffix}"
        np.savez(path, y=columns["y"][rows], p=columns["p"][rows]) if suffix == "npz" else write(path, columns, rows)
    found = binary(tmp_path).measure([ece, "brier_score", functools.partial(ece, bins=10)])
    y, p = columns["y"], columns["p"]
    assert found["ece"].value == pytest.approx(ece(y, p), abs=1e-13)
    assert found["brier_score"].value == pytest.approx(brier_score(y, p), abs=1e-13)
    assert found["ece(bins=10)"].value == pytest.approx(ece(y, p, bins=10), abs=1e-13)
    assert all(isinstance(measured, Measured) for measured in found.values())


def test_nothing_to_read_with(monkeypatch, tmp_path, columns, write):
    path = write(tmp_path / "rows.csv", columns)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"reading files.*pip install 'calibrant\[cli\]'"):
        binary(path).measure(ece)


def test_files_are_read_in_their_order_and_batches_never_span_two(small_batches, parts, columns):
    batches = list(binary(parts, weights="w", groups=["segment"]).batches())
    assert [len(batch.y) for batch in batches] == [64, 36] * 10
    for name, values in (("p", [batch.prediction for batch in batches]), ("w", [batch.weights for batch in batches])):
        assert np.concatenate(values).tolist() == columns[name].tolist()
    assert np.concatenate([batch.groups["segment"] for batch in batches]).tolist() == columns["segment"].tolist()


@pytest.mark.parametrize("row_group_size", [10, 64, 70, 1000])
def test_row_groups_of_any_size_give_the_same_bits(small_batches, tmp_path, columns, write, row_group_size):
    path = write(tmp_path / "rows.parquet", columns, row_group_size=row_group_size)
    assert [len(batch.y) for batch in binary(path).batches()] == [64] * 15 + [40]
    merging = Merging()
    for k in range(0, 1000, 64):
        merging.add(fold(ece, [(columns["y"][k : k + 64], columns["p"][k : k + 64])]))
    assert fold(ece, binary(path).batches()) == merging.total()


def test_filters_weights_and_labels(small_batches, parts, columns):
    kept = (columns["segment"] == "student") & (columns["age"] < 30.5)
    y, P, w = columns["k"], np.column_stack([columns[name] for name in "abc"]), columns["w"]
    given = {"y": "k", "prediction": ["a", "b", "c"], "weights": "w", "where": "segment = student and age < 30.5"}
    found = scan(parts, **given).measure([brier_score, log_score, ece])
    for verb in (brier_score, log_score, ece):
        assert found[verb.__name__].value == pytest.approx(verb(y[kept], P[kept], weights=w[kept]), abs=1e-12)
    found = scan(parts, y="segment", prediction="p", pos_label="student").measure(brier_score)["brier_score"].value
    assert found == pytest.approx(brier_score(columns["segment"] == "student", columns["p"]))


def test_folders_name_columns(small_batches, tmp_path, columns, write):
    days = ["2024-01-09", "2024-01-10", "2024-02-01"]
    for k, day in enumerate(days):
        write(tmp_path / f"date={day}" / f"hour={k + 8}" / "part-0.parquet", columns, slice(300 * k, 300 * k + 300))
    found = binary(tmp_path, groups=["date", "hour"])
    batches = list(found.batches())
    assert [str(batch.groups["date"][0])[:10] for batch in batches] == [day for day in days for _ in range(5)]
    assert [int(batch.groups["hour"][0]) for batch in batches] == [8] * 5 + [9] * 5 + [10] * 5
    later = list(binary(tmp_path, where="date >= 2024-01-10 and hour < 10").batches())
    assert np.concatenate([batch.prediction for batch in later]).tolist() == columns["p"][300:600].tolist()
    assert list(binary(tmp_path / "date=2024-01-*", where="hour = 9").batches())
    (tmp_path / "date=2024-02-01").rename(tmp_path / "date=__HIVE_DEFAULT_PARTITION__")
    for where, rows in (("date = 2024-01-09", slice(300)), ("date is null", slice(600, 900))):
        kept = np.concatenate([batch.prediction for batch in binary(tmp_path, where=where).batches()])
        assert kept.tolist() == columns["p"][rows].tolist()
    assert len(list(binary(tmp_path / "date=2024-01-*" / "*" / "*.parquet", where="date = 2024-01-10").batches())) == 5


@pytest.mark.parametrize("decimal", [False, True])
def test_long_numbers_as_labels(small_batches, tmp_path, decimal):
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = [None if k == 150 else 2**53 + k % 2 for k in range(200)]
    label = pa.array(labels, pa.int64()).cast(pa.decimal128(20, 0) if decimal else pa.int64())
    for k in range(2):
        table = pa.table({"y": [0, 1] * 50, "p": [0.25, 0.5] * 50, "g": label[100 * k : 100 * k + 100]})
        pq.write_table(table, tmp_path / f"{k}.parquet")
    table = binary(tmp_path, groups="g").audit(resamples=19).findings.groups
    rows = zip(table.columns["group"], table.columns["n"], strict=True)
    assert sorted(rows) == [("g = (missing)", 1), (f"g = {2**53}", 99), (f"g = {2**53 + 1}", 100)]


def test_covariates_are_searched_as_those_of_the_rows(small_batches, tmp_path, columns, write):
    p, segment, age = (columns[name] for name in ("p", "segment", "age"))
    off = np.where(segment == "student", 0.2, -0.2)
    y = (np.random.default_rng(0).random(1000) < p + off).astype(int)
    for k in range(2):
        write(tmp_path / f"{k}.csv", {**columns, "y": y}, slice(500 * k, 500 * k + 500))
    found = binary(tmp_path, covariates=["age", "segment"]).audit(tolerance=0.05, part=0.5, resamples=19)
    given = {"covariates": {"age": age, "segment": segment}, "tolerance": 0.05, "part": 0.5}
    whole = audit(y, p, resamples=19, **given)
    assert found.verdict.claims == whole.verdict.claims
    assert found.verdict.claims[0].subject.name == "segment = business"
    assert found.findings.names["covariates"] == "age, segment"


def test_covariates_that_are_refused(small_batches, tmp_path, columns, write, refusal):
    gap = np.where(np.arange(1000) == 170, np.nan, columns["age"])
    path = write(tmp_path / "a.parquet", {**columns, "gap": gap})
    said = refusal(binary(path, covariates="gap").audit, resamples=19)
    assert said.startswith(f"column 'gap' of {path} has no value in 1 of the 64 rows from row 128 on")
    assert "the first of them row 170" in said
    assert "a.parquet has no column 'agee'" in refusal(binary(path, covariates="agee").audit, resamples=19)
    assert "part= is a share of rows that covariates= cut out" in refusal(binary(path).audit, part=0.5)
    assert refusal(binary, path, covariates=["y"]).startswith("covariates (y) is the outcome")


def test_names_that_polars_takes_for_patterns(small_batches, tmp_path, columns, write):
    strange = {"*": columns["y"], "^p.*$": columns["p"], "p1": columns["age"], "a.b": columns["age"]}
    path = write(tmp_path / "[strange].parquet", strange)
    found = scan(path, y="*", prediction="^p.*$", where="'a.b' > 50").measure(brier_score)
    rows = columns["age"] > 50
    assert found["brier_score"].value == pytest.approx(brier_score(columns["y"][rows], columns["p"][rows]))


def test_whole_numbers_and_truth_values_of_other_sizes_belong_together(small_batches, tmp_path, columns, write):
    kinds = [np.int8, np.int64, bool, np.float64]
    for k, kind in enumerate(kinds):
        table = {**columns, "y": columns["y"].astype(kind), "w": columns["w"].astype(np.float32 if k else np.float64)}
        write(tmp_path / f"{k}.parquet", table, slice(250 * k, 250 * k + 250))
    found = binary(tmp_path, weights="w").measure(brier_score)["brier_score"].value
    assert found == pytest.approx(brier_score(columns["y"], columns["p"], weights=columns["w"]), rel=1e-6)


def test_nothing_is_read_before_it_is_asked_for(tmp_path, parts):
    (tmp_path / "broken.parquet").write_text("nonsense")
    assert isinstance(binary(tmp_path / "broken.parquet"), Scan)
    assert reading.BATCH == 1 << 21  # the size of batches is a promise
    text = repr(binary(parts, where="age > 3"))
    assert re.fullmatch(r"Scan\(11 files, 0\.\d MB, y='y', prediction='p', where='age > 3'\)", text)


@pytest.mark.parametrize(
    ("options", "verbs", "error", "words"),
    [
        ({"format": "xml"}, ece, InputError, "format must be one of 'parquet', 'csv'"),
        ({}, mmce, NotApplicableError, "mmce needs all rows"),
        ({"groups": "segment"}, ece, InputError, "groups were given, 'segment', but none of the verbs compares groups"),
        ({"groups": ["segment", "p"]}, ece, InputError, "groups were given, 'segment', but none of the verbs"),
    ],
)
def test_refusals(parts, refusal, options, verbs, error, words):
    given = {"y": "y", "prediction": "p", **options}
    assert refusal(lambda: scan(parts, **given).measure(verbs), error=error).startswith(words)


class TestPieces:
    """Rows that are counted in cells alone are counted where the reader left them."""

    @pytest.fixture
    def joined(self, monkeypatch):
        """Return the numbers of the batches that were joined."""
        batch, seen = NamedColumns.batch, []

        def noted(columns, frame, number=0):
            seen.append(number)
            return batch(columns, frame, number)

        monkeypatch.setattr(NamedColumns, "batch", noted)
        return seen

    @pytest.mark.parametrize("row_group_size", [7, 64, 1000])
    def test_the_bits_of_joined_batches(
        self, small_batches, compiled, joined, monkeypatch, tmp_path, columns, write, row_group_size
    ):
        file = write(tmp_path / "rows.parquet", columns, row_group_size=row_group_size)
        found = binary(file).measure([ece, brier_score, kuiper_test, spiegelhalter_test])
        assert joined == []
        monkeypatch.setattr(NamedColumns, "pieces", lambda columns, frame: ())
        assert binary(file).measure([ece, brier_score, kuiper_test, spiegelhalter_test]) == found
        assert joined == list(range(16))

    def test_what_cannot_be_counted_so_is_joined(self, small_batches, compiled, joined, tmp_path, columns, write):
        file = write(tmp_path / "rows.parquet", {**columns, "sure": columns["y"] == 1}, row_group_size=7)
        for chosen, verb in (({"weights": "w"}, ece), ({"y": "sure"}, ece), ({}, log_score), ({"pos_label": 1}, ece)):
            scan(file, **{"y": "y", "prediction": "p", **chosen}).measure(verb)
            assert joined == list(range(16))
            joined.clear()

    def test_a_bad_row_is_named(self, small_batches, compiled, tmp_path, columns, write, refusal):
        for name, value, words in (
            ("p", 1.5, "prediction must lie in [0, 1]; row 321 is 1.5"),
            ("p", np.nan, ", the first of them row 321 (counted from 0)"),
            ("y", 2, "y must be 0 and 1; row 321 is 2"),
        ):
            values = columns[name].copy()
            values[321] = value
            file = write(tmp_path / "rows.parquet", {**columns, name: values}, row_group_size=7)
            assert words in refusal(binary(file).measure, ece)


def test_files_of_weight_0(tmp_path, columns, write, refusal):
    write(tmp_path / "a.parquet", columns, slice(0, 500))
    write(tmp_path / "b.parquet", {**columns, "w": np.zeros(1000)}, slice(500, 1000))
    found = binary(tmp_path, weights="w").measure(ece)["ece"].value
    half = {name: column[:500] for name, column in columns.items()}
    assert found == pytest.approx(ece(half["y"], half["p"], weights=half["w"]), rel=1e-12)
    words = "there are no rows, or all of them have the weight 0 in 'w'"
    assert words in refusal(binary(tmp_path / "b.parquet", weights="w").measure, ece)
