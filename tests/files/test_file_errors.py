"""What is wrong with a file is said in one sentence that names it."""

import numpy as np
import pytest

from calibrant import brier_score, ece, mmce
from calibrant.errors import NotApplicableError
from calibrant.files.scan import scan


def measure(path, **options):
    return scan(path, **{"y": "y", "prediction": "p", **options}).measure("brier_score")


@pytest.fixture
def three(tmp_path, columns, write, small_batches, monkeypatch):
    """Return a function that writes three files, the second one changed."""
    monkeypatch.chdir(tmp_path)

    def written(change, suffix="parquet"):
        from pathlib import Path

        for k in range(3):
            rows = {name: values[300 * k : 300 * k + 300].copy() for name, values in columns.items()}
            if k == 1:
                change(rows)
            write(tmp_path / "f" / f"{k}.{suffix}", rows)
        return Path("f")

    return written


def test_a_column_that_one_file_lacks(reader, three, refusal):
    folder = three(lambda rows: rows.pop("p"))
    message = refusal(measure, folder)
    assert message.startswith("f/1.parquet has no column 'p'. Its columns are 'y', 'w', 'segment'")
    assert refusal(measure, folder, prediction="score").startswith("f/0.parquet has no column 'score'.")


def test_a_column_of_the_filter(reader, three, refusal):
    folder = three(lambda rows: rows.pop("age"))
    message = refusal(measure, folder, where="age > 3")
    assert message.startswith("f/1.parquet (where=) has no column 'age'.")
    assert refusal(measure, folder, where="age >").startswith("where='age >' is not a filter: ")
    assert "'x' (where=) is not a value of column 'age', which holds numbers" in refusal(measure, folder, where="age=x")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_another_kind_of_values(reader, three, refusal, suffix):
    folder = three(lambda rows: rows.update(y=np.where(rows["y"], "yes", "no")), suffix)
    assert refusal(measure, folder) == (
        f"column 'y' of f/1.{suffix} holds texts, but numbers in f/0.{suffix}; save all files with the same types"
    )


def test_another_kind_of_what_is_filtered_by(reader, three, refusal):
    folder = three(lambda rows: rows.update(age=rows["age"].astype(str)))
    assert refusal(measure, folder, where="age > 30").startswith("column 'age' of f/1.parquet holds texts, but numbers")


def test_another_precision(reader, three, refusal):
    folder = three(lambda rows: rows.update(p=rows["p"].astype(np.float32)))
    assert refusal(measure, folder) == (
        "column 'p' of f/1.parquet holds numbers of 32 bits, but of 64 bits in f/0.parquet: they would not fall into "
        "the same bins. Save all files with the same precision"
    )


def test_a_bad_value(reader, three, refusal):
    def change(rows):
        rows["p"][70] = 1.5

    message = refusal(measure, three(change))
    assert message.startswith("f/1.parquet, rows 64 to 127: ")
    assert "row 70 is 1.5" in message


def test_nan(reader, three, refusal):
    def change(rows):
        rows["p"][70] = np.nan

    folder = three(change)
    assert refusal(measure, folder) == "column 'p' is NaN in row 70 of f/1.parquet (counted from 0)"
    where = refusal(lambda: list(scan(folder, y="y", prediction="p", where="age > 0").batches()))
    assert where == "column 'p' is NaN in row 70 of f/1.parquet (counted from 0 among the rows that where= keeps)"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("column", ["y", "p", "w", "segment"])
def test_missing(reader, three, refusal, suffix, column):
    def change(rows):
        rows[column] = [None if k == 70 else value for k, value in enumerate(rows[column].tolist())]

    folder = three(change, suffix)
    if column == "segment":
        assert list(scan(folder, y="y", prediction="p", groups="segment").batches())
        return
    message = refusal(measure, folder, weights="w")
    assert message == f"column '{column}' has no value in row 70 of f/1.{suffix} (counted from 0)"


@pytest.mark.parametrize("cut", [3, 200, -10])
def test_a_truncated_file(reader, three, refusal, cut):
    folder = three(lambda rows: None)
    content = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(content[:cut])
    message = refusal(measure, folder)
    assert message.startswith("f/1.parquet cannot be read as Parquet: ")
    assert message.endswith("Is it complete? Write it again")


def test_a_file_damaged_inside(reader, three, refusal):
    folder = three(lambda rows: None)
    content = bytearray((folder / "1.parquet").read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    (folder / "1.parquet").write_bytes(content)
    assert refusal(measure, folder).startswith("f/1.parquet cannot be read as Parquet: ")


def test_files_that_are_empty_or_gone(three, refusal):
    folder = three(lambda rows: None)
    found = scan(folder, y="y", prediction="p")
    (folder / "1.parquet").write_bytes(b"")
    assert refusal(found.measure, "ece") == "f/1.parquet is empty (0 bytes); write the predictions to it first"
    (folder / "1.parquet").unlink()
    assert refusal(found.measure, "ece").startswith("there is no file f/1.parquet.")


def test_no_rows_at_all(reader, three, refusal, tmp_path):
    folder = three(lambda rows: None)
    assert refusal(measure, folder, where="age > 1000") == (
        "the 3 files, from f/0.parquet on, have nothing to measure: where='age > 1000' keeps none of their rows"
    )
    (tmp_path / "none.csv").write_text("y,p\n")
    assert refusal(measure, "none.csv") == "none.csv has nothing to measure: there are no rows"


def test_csv_hints_are_keywords(refusal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("y;p\n0;0,5\n")
    assert refusal(measure, "x.csv").endswith("it seems to be split at ';'. Add delimiter=';'")
    assert measure("x.csv", delimiter=";", decimal_comma=True)["brier_score"].value == brier_score([0], [0.5])
    assert refusal(measure, "x.csv", format="xml").startswith("format must be one of 'parquet', 'csv'")


def test_what_needs_all_rows(three, refusal):
    folder = three(lambda rows: None)
    found = scan(folder, y="y", prediction="p")
    assert refusal(found.measure, mmce, error=NotApplicableError).startswith("mmce needs all rows")
    assert refusal(found.measure).startswith("there is nothing to measure")
    assert refusal(found.measure, ece, ece).startswith("every verb is asked for once")
